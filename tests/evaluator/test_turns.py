"""A worker stays with what it knows, and nothing is lost or done twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from labelinf_core.evaluator.turns import Turns

Task = tuple[str, int]


def turns_of(*tasks: Task) -> Turns[Task]:
    return Turns(source=iter([task] for task in tasks), key=lambda task: task[0])


def anything(key: object) -> bool:
    return True


def test_a_worker_passes_over_what_another_knows_while_there_is_something_else() -> None:
    turns = turns_of(("theirs", 0), ("new", 0), ("mine", 0), ("theirs", 1), ("mine", 1))

    taken = [turns.take(anything, {"mine"}, {"theirs"}, 1) for _ in range(6)]

    assert taken == [[("new", 0)], [("mine", 0)], [("mine", 1)], [("theirs", 0)], [("theirs", 1)], []]


def test_what_a_worker_may_not_take_is_left_for_others_while_anything_else_waits() -> None:
    turns = turns_of(("unfit", 0), ("fit", 0))

    assert [turns.take(lambda key: key == "fit", (), (), 1) for _ in range(2)] == [[("fit", 0)], [("unfit", 0)]]


def test_tasks_are_drawn_as_they_are_needed() -> None:
    drawn = []

    def source() -> object:
        for number in range(1000):
            drawn.append(number)
            yield [("game", number)]

    Turns(source=source(), key=lambda task: task[0]).take(anything, (), (), 1)  # type: ignore[arg-type, index]

    assert len(drawn) == 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers()), max_size=80), st.data())
def test_every_task_is_given_out_once_and_those_of_a_game_in_order(tasks: list[Task], data: st.DataObject) -> None:
    turns, found = turns_of(*tasks), []
    while batch := turns.take(anything, data.draw(st.sets(st.sampled_from("abc"))), (), data.draw(st.integers(1, 5))):
        done = data.draw(st.integers(1, len(batch)))
        found += batch[:done]
        turns.put_back(batch[done:])

    for game in "abc":
        assert [task for task in found if task[0] == game] == [task for task in tasks if task[0] == game]


def test_a_group_is_never_divided() -> None:
    turns = Turns(source=iter([[("a", 0), ("a", 1), ("a", 2)], [("a", 3)]]), key=lambda task: task[0])

    assert turns.take(anything, (), (), 2) == [("a", 0), ("a", 1), ("a", 2)]
    assert turns.take(anything, (), (), 2) == [("a", 3)]


def test_games_that_are_alike_travel_together_as_far_as_they_fit() -> None:
    """What another worker knows, needs other code or weighs too much is left for the next batch."""
    tasks = [("ax", 1), ("ay", 1), ("b", 1), ("at", 1), ("az", 9), ("ax", 2)]
    turns = Turns(
        source=iter([task] for task in tasks),
        key=lambda task: task[0],
        alike=lambda one, other: one[0] == other[0],
        weight=lambda task: task[1],
    )

    first = turns.take(anything, (), {"at"}, 5)
    turns.put_back(first[1:])

    assert first == [("ax", 1), ("ax", 2), ("ay", 1)]
    rest = [turns.take(anything, (), {"at"}, 5) for _ in range(5)]
    assert rest == [[("b", 1)], [("az", 9)], [("ax", 2), ("ay", 1)], [("at", 1)], []]


def test_what_is_dropped_is_never_given_out() -> None:
    turns = turns_of(("a", 0), ("b", 1), ("a", 2))
    turns.take(lambda key: key == "c", (), (), 0)

    turns.drop(lambda task: task[0] == "a")

    assert (turns.take(anything, (), (), 9), turns.take(anything, (), (), 9)) == ([("b", 1)], [])

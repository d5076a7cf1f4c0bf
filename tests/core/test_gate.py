"""Whatever a component returns becomes plain data, or that component's failure with a sentence."""

from __future__ import annotations

import enum
import fractions
import json
import math
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import (
    Audited,
    Guess,
    Measure,
    Outcome,
    Overlap,
    Placebo,
    Redrawn,
    Trialled,
    TunableParameter,
)
from labelinf_core.contracts.errors import ComponentError, InputError, QueryRefusedError
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Direction, PerGame, Promise
from labelinf_core.contracts.outcomes import counted

SEALED = pytest.raises(ValueError, match="read-only")


class Mute:
    """Cannot be written."""

    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__


class Sly(str):
    """A text whose methods lie."""

    def __str__(self) -> str:
        return self

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Any:
        raise RuntimeError


class Watching(np.ndarray):
    """An array that knows when it is compared."""

    def __eq__(self, other: object) -> Any:
        return np.ones(self.shape, dtype=bool)

    def __lt__(self, other: object) -> Any:
        return np.zeros(self.shape, dtype=bool)

    __ge__ = __lt__
    __hash__ = None  # type: ignore[assignment]


class Colour(enum.Enum):
    RED = 1


def labels(values: Any) -> np.ndarray[Any, Any]:
    return gate.guessed(Guess(labels=values), Guess, 3, 2)


@pytest.mark.parametrize("values", [[0, 1, -1], np.array([0, 1, 1], dtype=np.uint8), np.array([-1, -1, -1])])
def test_classes_and_abstentions_pass(values: Any) -> None:
    found = labels(values)
    assert found.dtype == np.intp
    assert found.tolist() == list(values)
    with SEALED:
        found[0] = 1


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ([0, 1, math.nan], "it guessed values of type float64, expected integers"),
        ([0.5, 0.5, 0.5], "it guessed values of type float64, expected integers"),
        ([0.0, 1.0, 1.0], "it guessed values of type float64, expected integers"),
        ([False, True, True], "it guessed values of type bool, expected integers"),
        ([0, 1, 10**6], "it guessed 1000000, expected classes 0 to 1 or -1 to abstain"),
        ([0, 1, -2], "it guessed -2, expected classes 0 to 1 or -1 to abstain"),
        ([0, 1, 10**30], "it guessed values of type object, expected integers"),
        (["0", "1", "1"], "it guessed values of type <U1, expected integers"),
        ([0, 1], "it guessed an array of shape (2,), expected (3,)"),
        ([[0, 1, 1]], "it guessed an array of shape (1, 3), expected (3,)"),
        (1, "it guessed an array of shape (), expected (3,)"),
        (None, "it guessed an array of shape (), expected (3,)"),
        ([[0], [1, 2], 3], "its guess is no array (ValueError)"),
        (np.array([5, 5, 5]).view(Watching), "it guessed 5, expected classes 0 to 1 or -1 to abstain"),
    ],
    ids=lambda item: item if isinstance(item, str) else type(item).__name__,
)
def test_what_is_no_guess_is_named(values: Any, fault: str) -> None:
    with pytest.raises(ComponentError) as told:
        labels(values)
    assert str(told.value) == fault


def test_a_guess_must_be_one() -> None:
    with pytest.raises(ComponentError, match="it returned a NoneType, expected Guess"):
        gate.guessed(None, Guess, 3, 2)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\x1b[2J\r\nb\x00\u202e", "a [2J b"),
        ("\ud800surrogate", "surrogate"),
        (Mute(), "a Mute that cannot be written"),
        (Sly("quiet"), "quiet"),
        ("x" * 10_000_000, "x" * 599 + "…"),
    ],
    ids=["control", "surrogate", "mute", "sly", "long"],
)
def test_a_text_is_one_printable_line(value: object, text: str) -> None:
    assert gate.clean(value) == text
    assert type(gate.clean(value)) is str


@pytest.mark.long
@given(st.text(st.characters(exclude_categories=())), st.integers(1, 50))
def test_every_text_can_be_printed_and_stays_short(text: str, longest: int) -> None:
    found = gate.clean(text, longest)
    assert len(found) <= longest
    assert all(c.isprintable() or c == "\u3000" or c.isspace() for c in found)
    assert "\n" not in found
    found.encode()


def test_plain_evidence_passes_as_it_is_and_numbers_of_numpy_become_plain() -> None:
    found = gate.evidence({"a": 1, "b": [0.5, None, True], "c": {"d": "e"}, "f": np.float32(0.5), "g": np.arange(2)})
    assert found == {"a": 1, "b": [0.5, None, True], "c": {"d": "e"}, "f": 0.5, "g": [0, 1]}
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        ([1], "its evidence is a list, expected named numbers and short texts"),
        ({"a": Mute()}, "its evidence 'a' is a Mute, expected a number or a short text"),
        ({"a": fractions.Fraction(1, 3)}, "its evidence 'a' is a Fraction, expected a number or a short text"),
        ({"a": Colour.RED}, "its evidence 'a' is a Colour, expected a number or a short text"),
        ({"a": b"bytes"}, "its evidence 'a' is a bytes, expected a number or a short text"),
        ({"a": np.zeros(513)}, "its evidence 'a' holds more than 512 values; a summary is enough"),
        ({"a": [0] * 513}, "its evidence holds more than 512 values; a summary is enough"),
        ({"a": [[[[[0]]]]]}, "its evidence 'a' nests more than 4 deep"),
        ({"a": np.array([object()])}, "its evidence 'a' is a object, expected a number or a short text"),
    ],
    ids=lambda item: item if isinstance(item, str) else type(item).__name__,
)
def test_what_is_no_evidence_is_named(found: object, fault: str) -> None:
    with pytest.raises(ComponentError) as told:
        gate.evidence(found)
    assert str(told.value) == fault


def test_evidence_that_nests_for_ever_ends() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ComponentError, match="nests more than 4 deep"):
        gate.evidence({"a": endless})


def test_large_numbers_and_long_texts_are_told_by_their_size() -> None:
    found = gate.evidence({"a": 10**5000, "b": "x" * 999, "c": math.nan, "\x1b": -math.inf})
    assert found == {"a": "about 2**16610", "b": "x" * 199 + "…", "c": "nan", "": "-inf"}


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=20,
    )
)
def test_whatever_passes_can_be_written_as_json(value: object) -> None:
    try:
        found = gate.evidence({"value": value})
    except ComponentError:
        return
    json.dumps(found, allow_nan=False).encode()
    assert gate.evidence(found) == found


def test_lists_hold_what_they_should() -> None:
    ceiling = Ceiling(accuracy=0.5, statement="s", conditions="c")
    assert gate.each([ceiling], Ceiling, "answer") == (ceiling,)
    for wrong in (None, [None], [ceiling, 0.5], 0.5):
        with pytest.raises(ComponentError, match=r"its answer holds a \w+, expected Ceiling"):
            gate.each(wrong, Ceiling, "answer")


def test_named_numbers_are_finite() -> None:
    assert gate.finite({"a": np.float64(1)}, "measure") == {"a": 1.0}
    for wrong in ({"a": math.nan}, {"a": math.inf}, {"a": "1"}, {"a": True}, [1.0]):
        with pytest.raises(ComponentError, match="its measure"):
            gate.finite(wrong, "measure")


def test_a_sealed_array_cannot_be_opened() -> None:
    kept = np.arange(6).reshape(2, 3)
    found = gate.sealed(kept)
    assert np.array_equal(found, kept)
    with SEALED:
        found[0, 0] = 9
    with pytest.raises(ValueError, match="WRITEABLE"):
        found.setflags(write=True)
    kept[0, 0] = 9
    assert found[0, 0] == 0


def test_what_is_raised_inside_is_the_components_failure() -> None:
    with pytest.raises(ComponentError, match="ValueError: label 7 is odd") as told, gate.attribute_errors("me"):
        raise ValueError("label 7 is odd")
    assert told.value.component == "me"
    with pytest.raises(ComponentError, match=r"^it raised ValueError$"), gate.attribute_errors("me", quote=False):
        raise ValueError("label 7 is odd")
    with pytest.raises(ComponentError, match="SystemExit: 3"), gate.attribute_errors("me"):
        raise SystemExit(3)
    with (
        pytest.raises(ComponentError, match="AwkwardError: a AwkwardError that cannot be written"),
        gate.attribute_errors("me"),
    ):
        raise AwkwardError


class AwkwardError(Exception):
    """Cannot say what it is about."""

    __str__ = Mute.__str__


def test_the_inner_component_is_to_blame_and_what_may_pass_passes() -> None:
    with pytest.raises(ComponentError) as told, gate.attribute_errors("outer"), gate.attribute_errors("inner"):
        raise RuntimeError
    assert told.value.component == "inner"
    with pytest.raises(InputError), gate.attribute_errors("me"):
        raise InputError("the user's")
    with pytest.raises(QueryRefusedError), gate.attribute_errors("me", QueryRefusedError):
        raise QueryRefusedError("declined")


class Lying(int):
    """A number that says it is another."""

    def __abs__(self) -> int:
        return 0

    def __int__(self) -> int:
        return 10**500


class Vague(float):
    """A number that is none when it is asked."""

    def __float__(self) -> float:
        return math.nan

    __str__ = __repr__ = object.__repr__


class Endless(list[Ceiling]):
    """Never ends."""

    def __iter__(self) -> Any:
        while True:
            yield Ceiling(accuracy=0.5, statement="s", conditions="c")


def test_numbers_are_what_they_are_and_not_what_they_say() -> None:
    found = gate.evidence({"a": Lying(7), "b": Vague(0.5)})
    assert [type(value) for value in found.values()] == [int, float]
    assert found == {"a": 7, "b": 0.5}
    assert gate.finite({"a": Vague(0.5), "b": fractions.Fraction(1, 2)}, "measure") == {"a": 0.5, "b": 0.5}
    with pytest.raises(ComponentError, match="expected a finite number"):
        gate.finite({"a": 10**400}, "measure")


@pytest.mark.parametrize(
    "value", [np.float32(0.5), fractions.Fraction(1, 2), Vague(0.5)], ids=["single", "fraction", "vague"]
)
def test_what_a_bound_says_is_kept_in_plain_numbers(value: Any) -> None:
    """A fraction used to be stored as the text of a Python object."""
    ceiling = Ceiling(accuracy=value, statement="s", conditions="c", game=PerGame(share=value, bits=10**400))
    promise = Promise(survives=value, present=value, statement="s", conditions="c")
    line = BoundValue(title="t", direction=Direction.FLOOR, quantity="q", value=value, **dict.fromkeys(SAID, "x"))
    kept = (ceiling.accuracy, promise.survives, promise.present, line.value)
    assert kept == (0.5,) * 4
    assert {type(item) for item in kept} == {float}
    assert ceiling.game is not None
    assert ceiling.game.bits == math.inf


SAID = ("formula", "conditions", "statement")


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        (Ceiling, {"accuracy": 0.5, "statement": "s", "conditions": "c", "game": "every"}),
        (Ceiling, {"accuracy": 0.5, "statement": "\x00", "conditions": "c"}),
        (Promise, {"survives": math.nan, "present": 0, "statement": "s", "conditions": "c"}),
        (Promise, {"survives": 1, "present": 0, "statement": "s", "conditions": "c", "proved": "yes"}),
        (Audited, {"at_least": math.nan, "delta": 0, "certified": 1, "p_value": 0.5}),
        (Audited, {"at_least": 1, "delta": 0, "certified": 1, "p_value": 2}),
        (Placebo, {"n_correct": 1, "n_records": 2, "chance": math.nan}),
        (Placebo, {"n_correct": 1, "n_records": 2, "chance": 0.5, "declared": "no"}),
        (Measure, {"key": 1, "title": "t"}),
        (Measure, {"key": "k", "title": "t", "of": "all"}),
        (Measure, {"key": "k", "title": "t", "better": "sideways"}),
        (TunableParameter, {"title": "t", "template": "x({})", "weakest": math.nan, "strongest": 1}),
    ],
)
def test_what_is_no_promise_ceiling_audit_measure_or_knob_cannot_be_made(kind: Any, facts: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        kind(**facts)


def test_titles_are_one_printable_line_and_lists_end() -> None:
    assert Measure(key="k", title="a\x1b[2J\nb").title == "a [2J b"
    assert TunableParameter(title="\ud800t", template="x({})", weakest=0, strongest=1).title == "t"
    with pytest.raises(ComponentError, match="its answer holds more than 512 values"):
        gate.each(Endless(), Ceiling, "answer")
    assert gate.said(type("E\x1b[2J", (Exception,), {})("x")) == "E [2J: x"


GUESS = Guess(labels=np.array([0, 1]))
TRUTH = np.array([0, 0, 1], dtype=np.intp)


@pytest.mark.parametrize(
    ("trial", "fault"),
    [
        (Outcome(n_correct=2, n_records=2, queries=1), "its trial is a Outcome, expected Trialled"),
        ("won", "its trial is a str"),
        (Trialled(guess=GUESS, queries=1), "must name records, or hold the values"),
        (
            Trialled(guess=GUESS, planted=TRUTH[:2], records=TRUTH[:2], queries=1),
            "must name records, or hold the values",
        ),
        (Trialled(guess=GUESS, records=np.array([1, 1]), queries=1), "names a record twice"),
        (
            Trialled(guess=GUESS, records=np.array([1, 3]), queries=1),
            "record numbers must be whole .* from 0 to 2",
        ),
        (
            Trialled(guess=GUESS, planted=np.array([0, 2]), queries=1),
            "planted values must be whole .* from 0 to 1",
        ),
        (Trialled(guess=GUESS, planted=np.array([]), queries=1), "planted values must be whole numbers"),
        (Trialled(guess=GUESS, planted=TRUTH, queries=1), r"it guessed an array of shape \(2,\), expected \(3,\)"),
        (Trialled(guess=GUESS, planted=TRUTH[:2], queries=-1), "its trial says queries=-1"),
        (Trialled(guess=GUESS, planted=TRUTH[:2], queries=True), "its trial says queries=True"),
        (Trialled(guess=GUESS, planted=TRUTH[:2], queries=1, measure="all"), "its measure is a str"),  # type: ignore[arg-type]
        (Trialled(guess=GUESS, planted=TRUTH[:2], queries=1, measure=Overlap(size=3)), "2 values are no groups of 3"),
        (Trialled(guess=GUESS, records=np.array([2, 0]), queries=1, uniform=True), "uniform that are not planted"),
        (
            Trialled(guess=GUESS, planted=TRUTH[:2], queries=1, measure=Overlap(size=2), uniform=True),
            "uniform that are not planted classes, each guessed by itself",
        ),
        (
            Trialled(guess=Guess(labels=TRUTH[:2], confidence=np.ones(3)), planted=TRUTH[:2], queries=1),
            "its confidence must be 2 numbers",
        ),
        (Trialled(guess=GUESS, planted=TRUTH[:2], queries=1, placebo="fine"), "its placebo is a str"),  # type: ignore[arg-type]
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_trial_that_says_something_else_is_the_channels_failure(trial: Any, fault: str) -> None:
    with pytest.raises(ComponentError, match=fault):
        counted(trial, TRUTH, 2, None)


def test_the_core_counts_what_was_guessed_of_the_records_that_are_named() -> None:
    found = counted(Trialled(guess=GUESS, records=np.array([2, 0]), queries=3), TRUTH, 2, None)
    assert (found.n_correct, found.n_records, found.queries) == (0, 2, 3)
    assert found.guess is not None
    assert found.guess.tolist() == [1, -1, 0]
    swapped = Trialled(guess=GUESS, planted=np.array([1, 0]), queries=1, measure=Overlap(size=2))
    assert counted(swapped, TRUTH, 2, None).n_correct == 2


def test_the_core_proves_an_epsilon_from_uniform_labels() -> None:
    truth = np.arange(200) % 2
    right = Trialled(guess=Guess(labels=truth), planted=truth, queries=1, uniform=True)
    audited = counted(right, TRUTH, 2, None, lambda: (0.5, 0.0)).audited
    assert audited is not None
    assert audited.certified == 0.5
    assert audited.at_least > 3
    assert audited.provable == pytest.approx(audited.at_least)
    assert audited.p_value < 1e-20
    blind = Trialled(guess=Guess(labels=np.zeros(200, dtype=int)), planted=truth, queries=1, uniform=True)
    found = counted(blind, TRUTH, 2, None).audited
    assert found is not None
    assert (found.at_least, found.certified, found.p_value) == (0.0, np.inf, 1.0)
    assert counted(attrs.evolve(right, uniform=False), TRUTH, 2, None).audited is None


def test_the_core_counts_the_placebo() -> None:
    redrawn = Redrawn(guess=GUESS, values=np.array([0, 0]))
    placebo = counted(Trialled(guess=GUESS, planted=TRUTH[:2], queries=1, placebo=redrawn), TRUTH, 2, None).placebo
    assert placebo == Placebo(n_correct=1, n_records=2, chance=0.5)


def test_an_exception_that_is_named_while_it_runs_is_not_named_in_a_sentence() -> None:
    """Its name held every private label, and the owner's terminal is not the only reader of a log."""
    label = type("label_0110", (Exception,), {})
    for error, name in ((label(), "an exception"), (ValueError("0110"), "ValueError"), (KeyError(1), "KeyError")):
        assert gate.named(error) == name
        with pytest.raises(ComponentError) as caught, gate.attribute_errors(object(), quote=False):
            raise error
        assert "0110" not in str(caught.value)
        assert "0110" not in gate.unquoted(error)

"""The exact solver of a linear top, what its certificate is worth, and that it is never false (V2 to V5)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import optimize
from scipy.special import softmax

from labelinf_core.contracts.components import ABSTAIN, LabelSet
from labelinf_split.attacks.solved import LinearTop, cone_labels
from labelinf_split.defences.certified import CutLabelRr
from labelinf_split.defences.published import CutLevels, CutSmoothing, IsoNoise
from labelinf_split.game.training import recorded
from labelinf_split.game.view import SplitView
from labelinf_split.recovery import Solved, level_of, names_of, own_sizes, solve_step

DOUBLE = 1e-9


def step_of(n: int, n_classes: int, width: int, seed: int, spread: float = 1.0) -> tuple[Any, Any, Any, Any]:
    """Return gradients, embeddings and labels of a linear top, and the top."""
    rng = np.random.default_rng(seed)
    top, bias = rng.standard_normal((n_classes, width)) * spread, rng.standard_normal(n_classes)
    z, labels = rng.standard_normal((n, width)), rng.integers(0, n_classes, n)
    return (softmax(z @ top.T + bias, axis=1) - np.eye(n_classes)[labels]) @ top, z, labels, top


def alike(found: Any, labels: Any) -> bool:
    """Return whether two labellings are one up to renaming."""
    return (
        len(set(zip(found.tolist(), labels.tolist(), strict=True)))
        == len(set(labels.tolist()))
        == len(set(found.tolist()))
    )


@pytest.mark.parametrize(
    ("n_classes", "width", "n"), [(2, 1, 12), (2, 8, 12), (3, 2, 16), (4, 8, 24), (4, 2, 24), (10, 16, 48)]
)
def test_every_label_of_a_step_is_solved(n_classes: int, width: int, n: int) -> None:
    """Classes beyond d + 1 too: K = 4 in two entries."""
    solved = 0
    for seed in range(10):
        g, z, labels, _ = step_of(n, n_classes, width, seed)
        fit = solve_step(g, z, n_classes, DOUBLE, np.random.default_rng(seed))
        assert fit is not None
        if fit.solved is not Solved.NONE:
            solved += 1
            assert alike(fit.labels[fit.sure], labels[fit.sure])
    assert solved >= 5  # from a cold start, of tops of any temper


def test_the_counts_of_the_certificate() -> None:
    """Proved from (K - 1)(r + 1) + 1 records of one step: 91 of ten classes, 3 of two; never at the count."""
    for n_classes, rank in itertools.product((2, 3, 4, 10), (1, 2, 3, 9)):
        if rank < n_classes:
            unknowns = (n_classes - 1) * (rank + 1)
            for n in range(1, 120):
                level = level_of(np.ones(n), rank, n_classes, DOUBLE)
                assert (level is Solved.PROVED) <= (n >= unknowns + 1)
                assert level is Solved.NONE or n * rank > unknowns
    assert [level_of(np.ones(n), 9, 10, 3e-5).value for n in (10, 11, 32, 90, 91)] == [
        "none",
        "exact (generic)",
        "exact (generic)",
        "exact (generic)",
        "proved unique",
    ]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_three_records_of_two_classes_have_one_explanation_by_trying_all(seed: int) -> None:
    """All labellings of D + 1 = 3 records, each fitted from many starts."""
    g, z, labels, _ = step_of(3, 2, 1, seed)
    longest = np.abs(g).max()

    def explained(rows: Any, labelling: tuple[int, ...]) -> bool:
        def off(x: Any) -> Any:
            logits = np.stack([-x[0] * z[rows, 0] / 2, x[0] * z[rows, 0] / 2 + x[1]], axis=1)
            q = softmax(logits, axis=-1) - np.eye(2)[list(labelling)]
            return (q @ np.array([-x[0] / 2, x[0] / 2]) - g[rows, 0]) / longest

        starts = itertools.product((-6, -3, -1, -0.3, 0.3, 1, 3, 6), (-4, -1, 0, 1, 4))
        fits = (optimize.least_squares(off, start, xtol=1e-15, ftol=1e-15, gtol=1e-15) for start in starts)
        return any(np.abs(fit.fun).max() < 1e-9 for fit in fits)

    rows = np.arange(3)
    found = [each for each in itertools.product((0, 1), repeat=3) if explained(rows, each)]
    assert sorted(found) == sorted({tuple(labels.tolist()), tuple((1 - labels).tolist())})
    assert level_of(np.ones(3), 1, 2, DOUBLE) is Solved.PROVED


def test_four_records_of_three_classes_with_two_explanations_are_not_called_proved() -> None:
    """'n >= K + 1 determines the labels' is false: two tops and labellings give the same gradients, to rounding."""
    rng = np.random.default_rng(5)
    one, two = ((lambda m: m - m.mean(axis=0))(rng.standard_normal((3, 2))) for _ in range(2))
    b1, b2 = rng.standard_normal((2, 3))

    def apart(z: Any, k: int, j: int) -> Any:
        return softmax(z @ one.T + b1, axis=-1) @ one - one[k] - softmax(z @ two.T + b2, axis=-1) @ two + two[j]

    found: list[tuple[Any, int, int]] = []
    for k, j in itertools.product(range(3), repeat=2):
        for begin in rng.standard_normal((40, 2)) * 3:
            root = optimize.root(apart, begin, args=(k, j), tol=1e-14)
            new = all(np.linalg.norm(root.x - z) > 1e-3 for z, *_ in found)
            if root.success and np.abs(root.fun).max() < 1e-12 and np.linalg.norm(root.x) < 50 and new:
                found.append((root.x, k, j))
    chosen = next(
        each
        for each in itertools.combinations(found, 4)
        if not alike(np.array([k for _, k, _ in each]), np.array([j for _, _, j in each]))
        and len({k for _, k, _ in each}) > 1
    )
    z = np.array([each[0] for each in chosen])
    g = softmax(z @ one.T + b1, axis=-1) @ one - one[[k for _, k, _ in chosen]]
    assert np.abs(g - (softmax(z @ two.T + b2, axis=-1) @ two - two[[j for *_, j in chosen]])).max() < 1e-11

    fit = solve_step(g, z, 3, DOUBLE, np.random.default_rng(0))

    assert fit is not None
    assert fit.solved is not Solved.PROVED
    assert (
        level_of(np.ones(4), 2, 3, DOUBLE) is Solved.GENERIC
    )  # counted, and it passes: that is why it is not called a proof


def test_classes_have_no_names_in_gradients() -> None:
    """(W, b, y) and the same with the classes renamed give the same gradients (V2)."""
    g, z, labels, top = step_of(20, 4, 6, 0)
    new = np.array([2, 0, 3, 1])
    bias = np.random.default_rng(0)
    bias.standard_normal((4, 6))
    b = bias.standard_normal(4)
    renamed, moved = np.empty_like(top), np.empty_like(b)
    renamed[new], moved[new] = top, b

    assert np.abs((softmax(z @ renamed.T + moved, axis=1) - np.eye(4)[new[labels]]) @ renamed - g).max() < 1e-14
    fit = solve_step(g, z, 4, DOUBLE, np.random.default_rng(0))
    assert fit is not None
    assert alike(fit.labels, new[labels])


OUTSIDE = ("smoothing", "features", "scale", "wide top", "near-copies", "like rows", "K > d + 1")


@pytest.mark.long
@pytest.mark.parametrize("kind", OUTSIDE)
def test_no_certificate_is_false_outside_what_is_assumed(kind: str, loaded: Callable[[Path], ModuleType]) -> None:
    """A sample of the thousand that ``benchmarks/split.py certificate`` plays."""
    benchmark = loaded(Path(__file__).parents[2] / "benchmarks" / "split.py")
    assert kind in benchmark.OUTSIDE
    certified, false = benchmark.false_certificates(kind, 60, first=10_000)
    assert false == 0
    assert certified <= 60 * (1 if kind == "K > d + 1" else 0.5 if kind in {"near-copies", "like rows"} else 0)


def copies(seed: int, n_classes: int, apart: float) -> tuple[Any, Any, Any]:
    """Return a step of so many people as classes, 40 records in single precision, so far apart as a share."""
    rng, single = np.random.default_rng(seed), np.float32
    top, bias = rng.standard_normal((n_classes, 4)), rng.standard_normal(n_classes) * 0.5
    people, theirs = rng.standard_normal((n_classes, 4)), rng.integers(0, n_classes, n_classes)
    who = rng.integers(0, n_classes, 40)
    z = (people[who] * (1 + apart * rng.standard_normal((40, 4)))).astype(single)
    q = softmax(z @ top.T.astype(single) + bias.astype(single), axis=1) - np.eye(n_classes, dtype=single)[theirs[who]]
    return (q @ top.astype(single)).astype(np.float64), z.astype(np.float64), theirs[who]


@pytest.mark.parametrize(("seed", "n_classes"), [(1037, 3), (1038, 3), (1059, 4)])
def test_copies_of_few_people_prove_nothing(seed: int, n_classes: int) -> None:
    """They were 'proved unique', with two classes taken for one: copies say nothing more, whatever their last bits."""
    g, z, labels = copies(seed, n_classes, 1e-7)
    fit = solve_step(g, z, n_classes, 3e-5, np.random.default_rng(seed))
    assert fit is not None
    assert len(np.unique(z, axis=0)) > 20
    assert not alike(fit.labels[fit.sure], labels[fit.sure])
    assert fit.residual < 3e-5
    assert fit.solved is Solved.NONE


@pytest.mark.parametrize("apart", [0, 1e-8, 1e-6])
def test_classes_whose_rows_are_alike_prove_nothing(apart: float) -> None:
    """They were 'proved unique', the two as one class: another row, of a class that is nobody's, was free."""
    rng = np.random.default_rng(1)
    top, z, labels = rng.standard_normal((4, 3)), rng.standard_normal((40, 3)), rng.integers(0, 4, 40)
    top[1] = top[0] + apart * top[1]
    g = (softmax(z @ top.T, axis=1) - np.eye(4)[labels]) @ top
    fits = [solve_step(g, z, 4, 3e-5, np.random.default_rng(seed)) for seed in range(4)]
    found = [fit for fit in fits if fit is not None and fit.residual < 3e-5]
    assert found
    for fit in found:
        assert fit.solved is Solved.NONE or alike(fit.labels[fit.sure], labels[fit.sure])
    assert any(not alike(fit.labels[fit.sure], labels[fit.sure]) for fit in found)


def test_people_who_come_again_are_counted_once_whatever_a_matrix_product_makes_of_them(played: Any) -> None:
    """The last rows of a product are computed by another kernel: equal features, embeddings that differ in a bit."""
    rng = np.random.default_rng(0)
    who, kinds = rng.integers(0, 3, 300), rng.standard_normal((3, 8))
    data = LabelSet(labels=who, class_names=("a", "b", "c"), title="t", provenance="p", features=kinds[who])
    run, _ = played(data, epochs=1, batch=61, canaries=0.01)
    for step in range(run.view.n_steps):
        where = run.view.rows_of(step)
        fit = solve_step(run.view.sent[where], run.view.embeddings[where].astype(np.float64), 3, 3e-5, rng)
        assert fit is None or fit.solved is Solved.NONE


def test_a_record_counts_for_what_no_other_says() -> None:
    rng = np.random.default_rng(0)
    top, bias, people = rng.standard_normal((3, 2)), np.zeros(3), rng.standard_normal((4, 2))

    def counted(apart: float, least: float) -> int:
        z = people[rng.integers(0, 4, 60)]
        return len(own_sizes(z + apart * rng.standard_normal(z.shape), top, bias, least))

    assert counted(0, 1e-6) == 4
    assert counted(1e-9, 1e-6) == 4
    assert counted(1e-4, 1e-6) == 4 * 3  # a value and two derivatives; the second ones are 1e-8
    assert counted(1e-2, 1e-6) > 4 * 3
    assert counted(1e-2, 1e-1) <= 4
    assert len(own_sizes(rng.standard_normal((7, 2)), top, bias, 1e-3)) == 7


@pytest.mark.parametrize("settings", [{}, {"batch": 64}, {"precision": "double"}, {"optimiser": "sgd", "rate": 0.1}])
def test_every_canary_of_a_run_is_certified(
    played: Any, four: LabelSet, two: LabelSet, settings: dict[str, Any]
) -> None:
    for data in (two, four):
        run, planted = played(data, **settings)
        guess = LinearTop().run(run.view, np.random.default_rng(0))
        assert (guess.labels == planted).all()
        assert guess.evidence["certified"] == 1
    assert guess.evidence["certificate"].partition(",")[0] in ("proved unique", "exact (generic)")


@pytest.mark.parametrize(
    ("defences", "settings"),
    [
        ((), {"label_features": True}),
        ((CutSmoothing(share=0.1),), {}),
        ((IsoNoise(ratio=0.01),), {}),
        ((CutLevels(),), {}),
        ((CutLabelRr(epsilon=1.0),), {"shots": 8}),
    ],
)
def test_a_run_that_is_not_what_is_assumed_is_not_certified(
    played: Any, four: LabelSet, two: LabelSet, defences: tuple[Any, ...], settings: dict[str, Any]
) -> None:
    for data in (two, four):
        run, _ = played(data, *defences, **settings)
        bare = attrs.evolve(run.view.threat, effects=(), defences=())
        guess = LinearTop().run(attrs.evolve(run.view, threat=bare), np.random.default_rng(0))
        assert guess.evidence["certified"] == 0


def test_two_classes_lie_on_a_line_whatever_the_features(
    share: Callable[..., float], played: Any, two: LabelSet
) -> None:
    """1.000 of two epochs, and of one; certified is none of it."""
    run, planted = played(two, label_features=True, epochs=2)
    sent = run.view.sent[run.view.rows_of(0)]
    sizes = np.linalg.svd(sent, compute_uv=False)
    assert sizes[1] / sizes[0] < 1e-6
    guess = LinearTop().run(run.view, np.random.default_rng(0))
    assert (guess.labels == planted).all()
    assert guess.evidence["certified"] == 0
    assert guess.evidence["certificate"] == "none"
    assert share(LinearTop(), two, label_features=True, epochs=1, rate=1e-4) == 1


def test_smoothed_signs_turn_round_late_and_repeats_show_it() -> None:
    """A sign of a smoothed label is the other class's where p_y > 1 - share / 2: no certificate may rest on signs."""
    labels, p = np.array([1, 1, 0, 0]), np.array([0.2, 0.97, 0.5, 0.99])  # of the own class, share .1
    sides = (np.where(labels == 1, p - 0.95, 0.95 - p) < 0).astype(np.intp)  # of p_1 - y_1
    assert sides.tolist() == [1, 0, 0, 1]
    early, late = np.stack([np.arange(4), labels]), np.stack([np.arange(4), sides])
    _, sure, contradict = names_of([early, late], np.array([[0, 2], [1, 0]]), 4, 2)
    assert (sure.any(), contradict > 0) == (False, True)


@pytest.mark.parametrize(("n_classes", "width", "told"), [(3, 2, True), (4, 6, True), (10, 16, True), (4, 2, False)])
def test_a_known_top_gives_labels_back_where_its_rows_are_independent(n_classes: int, width: int, told: bool) -> None:
    g, _, labels, top = step_of(200, n_classes, width, 1)
    found = cone_labels(g, top, 1e-12)
    assert (found[found != ABSTAIN] == labels[found != ABSTAIN]).all()
    assert (found != ABSTAIN).mean() == pytest.approx(float(told), abs=0.1)


@pytest.mark.parametrize(("steepness", "found"), [(1.0, 0), (18.0, ABSTAIN)])
def test_a_known_top_says_nothing_where_a_step_is_fitted_to_rounding(steepness: float, found: int) -> None:
    """The shares of a record that is fitted do not sum to 1 in single precision, and another class came out."""
    top = np.array([[2, 0], [1, 0], [0, 1]], dtype=np.float32)
    q = softmax(np.array([[steepness, 0, 0]], dtype=np.float32), axis=1) - np.eye(3, dtype=np.float32)[:1]
    g = np.asarray(q @ top, dtype=np.float64)
    solved = np.linalg.solve(np.append(top, np.ones((3, 1)), axis=1).T, np.append(g, 0))
    assert solved.argmin() == (0 if found == 0 else 1)
    assert cone_labels(g, top.astype(np.float64), 3e-5).tolist() == [found]


def test_a_known_top_is_read_with_features_and_without_shots(share: Callable[..., float], four: LabelSet) -> None:
    assert share(LinearTop(), four, label_features=True, top_known=True, shots=0) == 1


def test_the_attack_reads_nothing_but_its_view(played: Any, two: LabelSet) -> None:
    """Twice the same run with other labels: what is guessed follows what was sent."""
    (one, first), (other, second) = played(two, seed=1), played(two, seed=2)
    for run, planted in ((one, first), (other, second)):
        view: SplitView = run.view
        assert (LinearTop().run(view, np.random.default_rng(0)).labels == planted).all()


def step_with(rows: Any, clusters: Any) -> Any:
    """Return records of a step, and in which cluster each is."""
    return np.array([rows, clusters], dtype=np.intp)


TWELVE = np.arange(12)  #: six of class 0, six of class 1
HALVES = np.repeat([0, 1], 6)


def shots_of(*rows: int) -> Any:
    return np.array([rows, HALVES[list(rows)]], dtype=np.intp)


def test_a_known_label_names_its_own_cluster_and_the_last_name_is_left_over() -> None:
    for known, named in ((shots_of(0, 1, 6, 7), 12), (shots_of(0, 1), 12), (shots_of(), 0)):
        labels, sure, contradict = names_of([step_with(TWELVE, 1 - HALVES)], known, 12, 2)
        assert (sure.sum(), contradict) == (named, 0)
        assert (labels[sure] == HALVES[sure]).all()
    labels, sure, _ = names_of([step_with([0, 1, 2, 3, 4], [2, 2, 0, 1, 1])], np.array([[0, 1], [1, 1]]), 5, 3)
    assert labels.tolist() == [1, 1, -1, -1, -1]  # of three, one name names no other
    assert sure.tolist() == [True, True, False, False, False]


def test_no_name_rests_on_one_known_label() -> None:
    """It may be another's, or not what was trained on."""
    _, sure, _ = names_of([step_with(TWELVE, HALVES)], shots_of(0), 12, 2)
    assert not sure.any()
    _, sure, _ = names_of([step_with(TWELVE, HALVES)], shots_of(0, 1), 12, 2)
    assert sure.all()


@pytest.mark.parametrize("carried", range(5))
def test_a_name_is_carried_by_most_of_a_cluster(carried: int) -> None:
    """Two ids that stand for each other both carry a name, and agree: that named a whole batch falsely."""
    strangers = TWELVE + 12  # in a batch of their own, of which nobody is known
    rows = strangers.copy()
    for first in (2, 8):  # of either class, from a step that is named
        rows[first : first + carried] = TWELVE[first : first + carried]
    groups = [step_with(TWELVE, HALVES), step_with(rows, HALVES), step_with(strangers, HALVES)]
    labels, sure, contradict = names_of(groups, shots_of(0, 1, 6, 7), 24, 2)
    assert contradict == 0
    assert sure[rows].all() == sure[12:].any() == (carried == 4)  # of six
    assert (labels[sure] == np.tile(HALVES, 2)[sure]).all()


@pytest.mark.parametrize(("few", "named"), [([2, 3], False), ([2, 3, 4], True)])
def test_a_small_cluster_is_named_by_no_fewer_than_three(few: list[int], named: bool) -> None:
    groups = [step_with(TWELVE, HALVES), step_with(few, [1] * len(few))]
    _, sure, _ = names_of(groups, shots_of(0, 1, 6, 7), 12, 2, again=2)
    assert sure.any() == named


@pytest.mark.parametrize("id_of_two", [True, False])
def test_one_contradiction_takes_every_certificate_back_and_no_guess(id_of_two: bool) -> None:
    """An id in both clusters of one step, or a known label that is another class's."""
    rows, clusters, known = TWELVE, HALVES, shots_of(0, 1, 6, 7)
    if id_of_two:
        rows, clusters = np.append(TWELVE, 5), np.append(HALVES, 1)
    else:
        known = np.append(known, [[2], [1]], axis=1)
    labels, sure, contradict = names_of([step_with(rows, clusters)] * 3, known, 12, 2)
    assert (sure.any(), contradict) == (False, 1)
    assert (np.delete(labels, [2, 5]) == np.delete(HALVES, [2, 5])).all()


@pytest.mark.parametrize(("clusters", "called"), [([0, 0], [0, 1]), ([0, 1], [0, 0])])
def test_one_cluster_has_one_name_and_one_class_one_cluster(clusters: list[int], called: list[int]) -> None:
    _, sure, contradict = names_of([step_with([0, 1], clusters)], np.array([[0, 1], called]), 2, 3)
    assert (sure.any(), contradict > 0) == (False, True)


def test_a_label_is_sure_where_as_many_steps_as_asked_give_it() -> None:
    groups = [step_with(TWELVE, HALVES), step_with(TWELVE[::2], 1 - HALVES[::2])]
    for again, wanted in ((1, 12), (2, 6), (3, 0)):
        assert names_of(groups, shots_of(0, 2, 6, 8), 12, 2, again)[1].sum() == wanted


@pytest.mark.parametrize("pair", [(5, 23), (0, 18)], ids=["strangers", "one is known"])
def test_two_ids_that_stand_for_each_other_name_no_batch(pair: tuple[int, int]) -> None:
    """Batches that never change: a pair of ids in the other's place for a pass tied two of them, both ways alike."""
    one, other = step_with(TWELVE, HALVES), step_with(TWELVE + 12, HALVES)
    later = [each.copy() for each in (one, other)]
    later[0][0, pair[0]], later[1][0, pair[1] - 12] = pair[::-1]
    _, sure, contradict = names_of([one, other, *later], shots_of(0, 1, 6, 7), 24, 2, again=2)
    assert contradict == 0
    assert sure[:12].sum() == 11
    assert not sure[12:].any()


def test_labels_that_change_from_pass_to_pass_are_not_certified(played: Any, two: LabelSet) -> None:
    """It says so. Half of the canaries came out wrong, 'proved unique', where known labels were of one class."""
    run, planted = played(two)
    one, other = run.view, recorded(run.view.threat, two, 1 - planted, 0).view
    odd = np.arange(len(one.step))[:, None, None] % 2 == 1
    sent = {name: np.where(odd, getattr(other, name), getattr(one, name)) for name in ("embeddings", "gradients")}
    view = attrs.evolve(one, **sent, shots=one.shots[:, one.shots[1] == 1])
    assert np.array_equal(one.step, other.step)
    evidence = LinearTop().run(view, np.random.default_rng(0)).evidence
    assert evidence["certified"] == 0
    assert "of two classes by what is solved" in evidence["certificate"]


@pytest.mark.parametrize("seed", range(6))
def test_a_record_whose_gradient_was_masked_is_not_sure(seed: int) -> None:
    """Weight 0, as of an ignored label: a gradient of 0 fits a record that is learnt, whose label it is not."""
    _, z, labels, top = step_of(100, 3, 8, seed, spread=3.0)
    g = (softmax(z @ top.T, axis=1) - np.eye(3)[labels]) @ top
    masked = np.arange(100) % 4 == 0
    g[masked] = 0
    fit = solve_step(g, z, 3, DOUBLE, np.random.default_rng(seed))

    assert fit is not None
    assert not fit.sure[masked].any()
    assert fit.sure[~masked].any()

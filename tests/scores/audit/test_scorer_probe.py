"""The probe learns what a scorer does from its answers alone, and nothing of that is known for certain."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.audit.probe import Picture, Unexplained, probe
from labelinf_scores.audit.scorer import audit_scorer
from labelinf_scores.game.scorers import ImportedScorer
from labelinf_scores.game.scoring import ScorerFacts
from labelinf_scores.metrics.readings.weighted import WeightedLogLoss

N = 40
LABELS = np.random.default_rng(0).permutation(np.arange(N) < 16).astype(np.intp)
CLASSES = np.random.default_rng(0).integers(0, 3, N)
PART = np.random.default_rng(1).permutation(N) < 18
WEIGHTS = np.random.default_rng(2).uniform(0.5, 2, N)

Scores = Callable[[Any, Any], float]


def board(score: Scores) -> ImportedScorer:
    facts = ScorerFacts(
        arithmetic="float64",
        clip=0.0,
        summation="unknown",
        input_format="float64",
        effects=(Unknown(stage="theirs"),),
    )
    return ImportedScorer(target="theirs:score", function=score, facts=facts)


def learn(score: Scores, labels: Any = LABELS, names: tuple[str, ...] = ("0", "1"), **more: Any) -> Any:
    data = LabelSet(labels=labels, class_names=names, title="made", provenance="made")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return probe(board(score), data, title="theirs", **more)


def mean_costs(labels: Any, predictions: Any, eps: float = 1e-15) -> float:
    """The log-loss, without the time that scikit-learn takes to look at its arguments."""
    rows = np.clip(predictions, eps, 1 - eps)
    return float(np.mean(-np.log(rows[np.arange(len(labels)), labels])))


def weighed(labels: Any, predictions: Any, weights: Any = WEIGHTS) -> float:
    costs = -np.log(np.clip(predictions, 1e-15, 1)[np.arange(len(labels)), labels])
    return float((weights * costs).sum() / weights.sum())


def test_it_knows_scikit_learns_log_loss() -> None:
    found = learn(lambda y, p: float(metrics.log_loss(y, p, labels=[0, 1])))

    assert (found.found.name, found.decimals, found.noise, found.limits.normalised) == ("log-loss", None, 0.0, False)
    assert found.limits.clip == pytest.approx(np.finfo(float).eps, rel=1e-3)
    assert found.queries <= 150


@pytest.mark.parametrize("decimals", [3, 4, 5])
def test_it_finds_the_decimals_and_the_clip_behind_them(decimals: int) -> None:
    found = learn(lambda y, p: round(mean_costs(y, p), decimals))

    assert (found.found.name, found.decimals) == ("log-loss", decimals)
    # Just inside of what it says the clip may be, rows cost what they say; none costs more than at its least.
    assert abs(found.limits.clip / 1e-15 - 1) <= found.limits.error < 0.5
    told = found.threat(LABELS, 0)
    assert told.scorer_least <= 1e-15 <= told.scorer_clip


def test_it_measures_fresh_noise() -> None:
    rng = np.random.default_rng(2)
    found = learn(lambda y, p: mean_costs(y, p, 0.01) + 0.01 * rng.standard_normal())

    assert found.found.name == "log-loss"
    # Of 160 draws, the deviation is within a fifth of the true one with probability above 1 - 1e-3.
    assert found.noise == pytest.approx(0.01, rel=0.2)
    assert not found.found.beyond


def hits(labels: Any, predictions: Any) -> Any:
    """Whether the likelier class is the true one."""
    return labels == (predictions.argmax(axis=1) if np.ndim(predictions) == 2 else np.asarray(predictions) >= 0.5)


def test_an_accuracy_of_random_halves_is_no_log_loss() -> None:
    """Noise hid what an affine log-loss left of it; what was played on that picture got nothing, and a gate passed."""
    rng = np.random.default_rng(5)

    found = learn(lambda y, p: float(np.mean(hits(y, p)[rng.random(N) < 0.5])))

    assert (found.found.name, found.found.fit.plain, found.found.beyond) == ("accuracy", True, "")
    assert found.noise == pytest.approx(0.08, rel=0.5)


def test_what_explains_a_noisy_scorer_in_part_is_not_taken_for_all_of_it() -> None:
    rng = np.random.default_rng(6)

    def mixed(labels: Any, predictions: Any) -> float:
        brier = float(np.mean((1 - np.reshape(predictions, (N, -1))[np.arange(N), 0] - labels) ** 2))
        return float(np.mean(hits(labels, predictions))) - brier + 0.02 * rng.standard_normal()

    found = learn(mixed)

    assert isinstance(found, Unexplained) or found.found.beyond


def test_a_factor_that_three_levels_tell_is_a_guess() -> None:
    """An AUC cut to .6 to .8 and one decimal was learnt as 0.616 times the AUC, and passed."""

    def coarse(labels: Any, predictions: Any) -> float:
        if np.ndim(predictions) == 2:
            raise ValueError("one column")
        return round(min(max(float(metrics.roc_auc_score(labels, predictions)), 0.6), 0.8), 1)

    found = learn(coarse)

    assert isinstance(found, Unexplained) or found.found.beyond


def test_it_tells_another_loss_and_single_precision_and_more_classes() -> None:
    assert learn(lambda y, p: float(np.mean((p[:, 1] - y) ** 2))).found.name == "brier"
    single = learn(lambda y, p: float(np.float32(mean_costs(y, p, 0.01))))
    assert (single.found.fit.level.single, single.found.name) == (True, "log-loss")
    many = learn(lambda y, p: mean_costs(y, p), CLASSES, ("0", "1", "2"))
    assert (many.found.name, many.limits.clip) == ("log-loss", pytest.approx(1e-15, rel=1e-3))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["log-loss to five decimals", "accuracy"])
def test_permuted_rows_are_found_of_any_number_of_classes_and_in_few_questions(kind: str, n_classes: int) -> None:
    order = np.random.default_rng(4).permutation(N)

    def score(labels: Any, predictions: Any) -> float:
        moved = predictions[order]
        if kind == "accuracy":
            return float(np.mean(labels == (moved.argmax(axis=1) if moved.ndim == 2 else moved >= 0.5)))
        return round(mean_costs(labels, moved), 5)

    found = learn(score, np.arange(N) % n_classes, tuple("012"[:n_classes]))

    assert isinstance(found, Picture)
    assert np.array_equal(found.found.panel.ask.order, order)
    assert found.queries < 1000


def test_it_sees_that_rows_are_normalised_or_refused() -> None:
    def refuse(labels: Any, predictions: Any) -> float:
        if np.abs(predictions.sum(axis=1) - 1).max() > 1e-9:
            raise InputError("rows must sum to one")
        return mean_costs(labels, predictions)

    assert learn(lambda y, p: mean_costs(y, p / p.sum(axis=1, keepdims=True))).limits.normalised
    assert learn(refuse).limits.normalised


def test_it_takes_class_names_and_the_values_that_classes_stand_for() -> None:
    def named(labels: Any, predictions: Any) -> float:
        if labels.dtype.kind != "U":
            raise TypeError("names")
        return float(np.mean(labels == predictions))

    def valued(labels: Any, predictions: Any) -> float:
        return float(
            np.sqrt(np.mean((np.where(labels > 3, labels, 1 / 0 if labels.min() < 3 else labels) - predictions) ** 2))
        )

    found = learn(named, names=("ham", "spam"))
    assert "accuracy" in found.sentence()
    assert "class names" in found.sentence()
    priced = learn(valued, names=("3", "10"))
    assert priced.found.name == "rmse"
    assert "what classes stand for" in priced.sentence()


def test_it_admits_that_it_knows_no_such_metric() -> None:
    found = learn(lambda y, p: float(np.max(-np.log(np.where(y == 1, p[:, 1], p[:, 0])))))

    assert isinstance(found, Unexplained)
    assert "no loss or metric that is known here" in found.sentence()


def squared(labels: Any, predictions: Any) -> float:
    return float(np.mean((labels - predictions) ** 2))


def cut(score: Scores, low: float, high: float) -> Scores:
    return lambda labels, predictions: score(labels, np.clip(predictions, low, high))


def refused(score: Scores, low: float, high: float) -> Scores:
    def scores(labels: Any, predictions: Any) -> float:
        inside = low <= np.min(predictions) and np.max(predictions) <= high
        return score(labels, predictions) if inside else float("nan")

    return scores


@pytest.mark.parametrize(
    ("confined", "score", "attack", "low", "high"),
    [
        (cut, squared, "linear-weights", 1, 5),
        (refused, squared, "linear-weights", 1, 5),
        (refused, squared, "linear-weights", -20, 40),
        (cut, lambda y, p: round(np.sqrt(squared(y, p)), 2), "linear-weights", 1, 5),
        (refused, lambda y, p: 1 - squared(y, p) / np.var(y), "linear-weights", 1, 5),
        (refused, lambda y, p: float(np.mean(np.abs(y - p))), "thresholds", 1, 5),
        (refused, lambda y, p: squared(y[PART], p[PART]), "linear-weights", 1, 5),
    ],
)
def test_numbers_that_are_cut_or_refused_have_bounds_and_are_read_within_them(
    confined: Callable[..., Scores], score: Scores, attack: str, low: float, high: float
) -> None:
    labels = np.random.default_rng(3).integers(0, 5, N)
    names = tuple("12345")
    theirs = confined(score, low, high)
    picture = learn(theirs, labels, names)
    assert isinstance(picture, Picture), picture
    assert (picture.limits.low, picture.limits.high) == pytest.approx((low, high), abs=0.1)
    assert "cuts or refuses predictions outside about" in picture.sentence()
    data = LabelSet(labels=labels, class_names=names, title="made", provenance="made")
    play = functools.partial(audit_scorer, board(theirs), data, picture, builder=Builder(Host.load()), queries=0)
    found = next(iter(play(attacks=[attack], rng=np.random.default_rng(0))))
    assert found.exact, found


@pytest.mark.parametrize("names", ["01234", "12345"])
def test_numbers_without_bounds_have_none(names: str) -> None:
    picture = learn(squared, np.random.default_rng(3).integers(0, 5, N), tuple(names))
    assert picture.found.name == "mse"
    assert not picture.limits.confined
    assert "outside" not in picture.sentence()


def test_numbers_that_are_cut_among_those_of_the_labels_are_explained_by_nothing() -> None:
    labels = np.random.default_rng(3).integers(0, 5, N)
    found = learn(cut(squared, 2, 3), labels, tuple("12345"))
    assert isinstance(found, Unexplained)
    assert "it is mse of predictions that are cut to about [2, 3], within the range of the labels' own" in found.reason


def test_several_numbers_are_named_as_such_though_two_columns_raise() -> None:
    def theirs(labels: Any, predictions: Any) -> Any:
        if np.ndim(predictions) != 1:
            raise ValueError("one column")
        return np.array([predictions[labels > 0].mean(), 1.0])

    with pytest.raises(InputError, match="expected one number; give a function that returns one of them"):
        learn(theirs)


def stepped(score: Scores, step: float) -> Scores:
    return lambda y, p: round(score(y, p) / step) * step


@pytest.mark.parametrize(("scores", "step"), [("log-loss", 0.0007), ("weighted", 0.003), ("auc", 0.003), ("auc", 0.05)])
def test_the_step_of_any_grid_is_learnt_or_nothing_is(scores: str, step: float) -> None:
    """Ten answers in steps of 0.003 once lay on every second of them, and weights fitted a grid that was too fine."""

    def auc(labels: Any, predictions: Any) -> float:
        if predictions.ndim == 2:
            raise ValueError("one column")
        ranks = np.searchsorted(np.sort(predictions), predictions) + np.searchsorted(
            np.sort(predictions), predictions, side="right"
        )
        ones = labels.sum()
        return float((ranks[labels == 1].sum() / 2 + ones / 2 - ones * (ones + 1) / 2) / ones / (len(labels) - ones))

    found = learn(stepped({"log-loss": mean_costs, "weighted": weighed, "auc": auc}[scores], step))

    assert isinstance(found, Picture)
    assert found.found.fit.level.step == pytest.approx(step, rel=1e-6)
    assert isinstance(found.metric, WeightedLogLoss) == (scores == "weighted")


@pytest.mark.parametrize(("clip", "decimals"), [(1e-15, None), (1e-6, 5), (0.01, 3), (0.1, 2)])
def test_weights_are_what_they_are_within_what_is_said_and_a_clip_of_them_is_found(
    clip: float, decimals: int | None
) -> None:
    def score(labels: Any, predictions: Any) -> float:
        exact = weighed(labels, np.clip(predictions, clip, 1 - clip))
        return exact if decimals is None else round(exact, decimals)

    found = learn(score)

    assert isinstance(found, Picture)
    assert isinstance(found.metric, WeightedLogLoss)
    assert np.abs(np.array(found.metric.weights) - WEIGHTS / WEIGHTS.sum()).max() <= found.metric.error + 1e-12
    assert found.limits.clip * (1 - 2 * found.limits.error) <= clip <= found.limits.clip * (1 + 2 * found.limits.error)


@pytest.mark.parametrize("step", [0.05, 0.25])
def test_light_records_count_behind_a_coarse_rounding(step: float) -> None:
    weights = np.where(np.arange(N) < 36, 1.0, 0.05)

    found = learn(lambda y, p: round(weighed(y, p, weights) / step) * step)

    assert isinstance(found, Unexplained) or found.scored.all()


@pytest.mark.parametrize("scores", ["log-loss", "accuracy", "mse"])
def test_weights_do_not_pass_unseen_behind_a_coarse_rounding(scores: str) -> None:
    weights = np.tile([1.0, 1.2], N // 2)

    def score(y: Any, p: Any) -> float:
        if scores == "log-loss":
            return round(weighed(y, p, weights), 1)
        if scores == "mse" and p.ndim > 1:
            raise ValueError("one column")
        errors = (y - p) ** 2 if scores == "mse" else y == (p.argmax(axis=1) if p.ndim > 1 else p >= 0.5)
        return round(float(np.average(errors, weights=weights)) / 0.05) * 0.05

    found = learn(score)

    assert isinstance(found, Unexplained) or isinstance(found.metric, WeightedLogLoss) or found.found.beyond


def test_a_weighted_error_of_values_is_no_log_loss_however_it_is_rounded() -> None:
    def score(y: Any, p: Any) -> float:
        if p.ndim > 1:
            raise ValueError("one column")
        return round(float(np.sqrt(np.average((y - p) ** 2, weights=WEIGHTS))), 3)

    found = learn(score)

    assert isinstance(found, Unexplained), found.sentence()


def test_a_plain_metric_is_whole_behind_a_coarse_rounding() -> None:
    for step in (0.05, 0.1):
        found = learn(lambda y, p, step=step: round(mean_costs(y, p) / step) * step)
        assert (found.found.name, found.found.beyond) == ("log-loss", "")
    found = learn(lambda y, p: round(2.37 * metrics.f1_score(y, p.argmax(axis=1)) + 0.111, 2))
    assert (found.found.name, found.found.beyond) == ("f1", "")


def test_what_was_only_learnt_is_known_to_nobody() -> None:
    found = learn(mean_costs)

    assert not found.threat(LABELS, 30).known
    assert found.threat(LABELS, 30).unsaid == ("theirs",)
    assert found.threat(LABELS, 30, believed=True).known


LIES: dict[str, Scores] = {
    "metric": lambda y, p: round(float(np.mean((p[:, 1] - y) ** 2)), 5),
    "fewer decimals": lambda y, p: round(mean_costs(y, p), 4),
    "more decimals": lambda y, p: round(mean_costs(y, p), 6),
    "clip": lambda y, p: round(mean_costs(y, p, 1e-14), 5),
    "direction": lambda y, p: round(-mean_costs(y, p), 5),
    "base": lambda y, p: round(mean_costs(y, p) / np.log(2), 5),
    "part": lambda y, p: round(mean_costs(y[PART], p[PART]), 5),
    "weights": lambda y, p: round(weighed(y, p), 5),
    "order": lambda y, p: round(mean_costs(y, p[::-1]), 5),
    "sticky": lambda y, p: round(mean_costs(y, p), 5) + 1e-10 * float(np.sin(1e6 * p[:, 1].sum())),
    "link": lambda y, p: round(float(np.exp(-mean_costs(y, p))), 5),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_seems_to_be_a_log_loss_is_never_certified(lie: str) -> None:
    """Nearly a log-loss to five decimals, clipped at 1e-15. Whatever it is taken for, nothing is known for certain."""
    found = learn(LIES[lie])
    assert isinstance(found, Unexplained) or not found.threat(LABELS, 30).known


def test_weights_and_public_rows_are_found() -> None:
    assert isinstance(learn(weighed).metric, WeightedLogLoss)
    assert int(learn(lambda y, p: mean_costs(y[PART], p[PART])).scored.sum()) == 18


@pytest.mark.parametrize("link", [np.exp, lambda m: np.exp(-m), np.sqrt, np.log, lambda m: 1 / (1 + m), np.tanh])
def test_what_is_read_through_a_link_is_the_metric_within_what_it_says(link: Callable[[float], float]) -> None:
    found = learn(lambda y, p: round(3 * float(link(mean_costs(y, p))) - 2, 6))

    assert isinstance(found, Picture)
    assert found.found.fit.link.name
    seen, rng = (
        found.scorer(board(lambda y, p: round(3 * float(link(mean_costs(y, p))) - 2, 6))),
        np.random.default_rng(4),
    )
    from labelinf_scores.game.scoring import Query

    for _ in range(20):
        rows = rng.uniform(0.1, 0.9, N)
        truth = mean_costs(LABELS, np.stack([1 - rows, rows], axis=1))
        assert abs(seen.score(LABELS, Query(predictions=rows)) - truth) <= found.off


@pytest.mark.parametrize(
    ("score", "digits", "attack"),
    [
        (mean_costs, 3, "hybrid"),
        (mean_costs, 5, "hybrid"),
        (lambda y, p: -100 * mean_costs(y, p), 4, "hybrid"),
        (lambda y, p: squared(y, np.reshape(p, (N, -1))[:, -1]), 4, "random-halves"),
        (lambda y, p: weighed(y, p) + weighed(y, p), 5, "weighted-blocks"),
    ],
)
def test_significant_digits_are_learnt_and_read(score: Scores, digits: int, attack: str) -> None:
    """Answers on both sides of a power of ten lie on no one grid: nothing explained them, or nothing was read."""

    def theirs(labels: Any, predictions: Any) -> float:
        return float(f"{score(labels, predictions):.{digits}g}")

    picture = learn(theirs)
    assert isinstance(picture, Picture), picture
    assert f"{digits} significant digits" in picture.sentence()
    data = LabelSet(labels=LABELS, class_names=("0", "1"), title="made", provenance="made")
    play = functools.partial(audit_scorer, board(theirs), data, picture, builder=Builder(Host.load()), queries=0)
    found = next(iter(play(attacks=[attack], rng=np.random.default_rng(0))))
    assert found.exact, found

"""The attacks as functions of what they are shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, special

from labelinf_core.contracts.components import ABSTAIN, Guess
from labelinf_outputs.attacks import lira
from labelinf_outputs.attacks.answering import best_class, lead
from labelinf_outputs.attacks.blind import BlindGuess
from labelinf_outputs.attacks.calibrated import Calibrated, balanced_base
from labelinf_outputs.attacks.delta_margin import DeltaMargin
from labelinf_outputs.attacks.learned import Learned, evidence, fit
from labelinf_outputs.attacks.lira import Lira, log_odds
from labelinf_outputs.attacks.loss_inversion import LossInversion
from labelinf_outputs.attacks.quantile import Quantile, conditional_quantile
from labelinf_outputs.attacks.rmia import Rmia
from labelinf_outputs.attacks.threshold import Level, Threshold, threshold
from labelinf_outputs.game.output import OutputAttack, OutputOracle, OutputThreat, References, Release
from labelinf_outputs.game.view import LossOracle, View

Floats = NDArray[np.float64]


def run(attack: OutputAttack, probabilities: Floats, references: References | None = None, **shown: Any) -> Guess:
    n, k = probabilities.shape
    losses = shown.get("losses")
    view = View(
        loss=LossOracle.NONE if losses is None else LossOracle.PLANTED,
        references=0 if references is None else len(references.planted),
    )
    threat = OutputThreat(n_records=n, n_classes=k, prior=(1 / k,) * k, declared=view)
    assert attack.unsupported_reason(threat) == ""
    release = Release(
        probabilities=probabilities, log_probabilities=np.log(np.maximum(probabilities, view.smallest)), losses=losses
    )

    def known() -> References:
        assert references is not None
        return references

    return attack.run(OutputOracle(threat, release, known), np.random.default_rng(0))


def memorising(n: int, k: int, n_references: int, rng: np.random.Generator, shift: float, noise: float) -> Any:
    """Models that say: what the record looks like, plus a shift towards the label they were trained on, plus noise."""
    opinion = 3 * rng.standard_normal((n, k))
    labels = rng.integers(0, k, (n_references + 1, n))
    logits = opinion + shift * np.eye(k)[labels] + noise * rng.standard_normal((n_references + 1, n, k))
    logs = logits - np.logaddexp.reduce(logits, axis=2, keepdims=True)
    references = References(log_probabilities=logs[1:], planted=labels[1:], trained=labels[1:])
    return np.exp(logs[0]), labels[0], references


@pytest.mark.parametrize("level", Level)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(max_examples=30)
def test_two_classes_are_thresholded_as_published(level: Level, scores: list[float]) -> None:
    p = np.array(scores)
    tau = {Level.FIXED: 0.5, Level.MEAN: np.mean(p), Level.MEDIAN: np.median(p)}[level]

    guess = threshold(np.column_stack([1 - p, p]), level)

    assert np.array_equal(guess, [1 if c >= tau else 0 for c in p])


@pytest.mark.parametrize("level", Level)
def test_many_classes_generalise_the_published_rule(level: Level) -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.01, 0.99, 50)
    pairs = np.column_stack([1 - p, p])

    assert np.array_equal(best_class(pairs - level.of(pairs)), threshold(pairs, level))
    assert np.array_equal(threshold(np.eye(4), Level.FIXED), [0, 1, 2, 3])


def test_ties_go_to_the_highest_class() -> None:
    assert best_class(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist() == [1, 0]
    assert lead(np.array([[0.5, 0.5], [0.9, 0.1]])).tolist() == [0.0, 0.8]


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_loss_gives_its_label_away_exactly(n_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(n_classes), 20)
    labels = rng.integers(0, n_classes, 20)

    guess = run(LossInversion(), probabilities, losses=-np.log(probabilities[np.arange(20), labels]))

    assert np.array_equal(guess.labels, labels)


def test_delta_margin_never_guesses_one_below_one_half() -> None:
    p = np.linspace(0, 1, 101)
    guess = run(DeltaMargin(), np.column_stack([1 - p, p]), losses=np.zeros(101))

    assert not guess.labels[p <= 0.5].any()
    assert guess.labels[p > 0.5].all()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_calibration_sees_what_a_threshold_does_not(n_classes: int) -> None:
    """600 canaries: the shares lie within .06 of their expectations with probability above .99 (Hoeffding)."""
    rng = np.random.default_rng(1)
    victim, truth, references = memorising(600, n_classes, 8, rng, shift=1.0, noise=0.2)

    shares = {
        attack: float((run(attack, victim, references).labels == truth).mean())
        for attack in (Threshold(), Calibrated(balanced=False), Calibrated(), Lira(), Rmia())
    }

    published, plain, balanced, lira, rmia = shares.values()
    assert published < 1 / n_classes + 0.25
    assert min(plain, balanced, lira, rmia) > 0.85
    assert balanced >= plain - 0.01


def test_the_balanced_base_is_exact_when_models_memorise_by_one_shift() -> None:
    rng = np.random.default_rng(2)
    opinion = rng.standard_normal((30, 3))
    trained = rng.integers(0, 3, (6, 30))
    said = opinion + 0.7 * np.eye(3)[trained]
    references = References(log_probabilities=said, planted=trained, trained=trained)

    np.testing.assert_allclose(balanced_base(references), opinion, atol=1e-9)


def test_references_that_agree_on_a_label_borrow_the_shift_of_the_others() -> None:
    trained = np.array([[0, 0], [1, 0], [0, 0], [1, 0]])
    opinion = np.array([[0.3, -0.3], [0.1, -0.1]])
    references = References(log_probabilities=opinion + 0.5 * np.eye(2)[trained], planted=trained, trained=trained)

    np.testing.assert_allclose(balanced_base(references), opinion, atol=1e-9)


@pytest.mark.parametrize("trained", [[[0], [0], [0], [0]], [[1], [0], [1], [0]]])
def test_lira_answers_whatever_labels_its_references_had(trained: list[list[int]]) -> None:
    labels = np.array(trained)
    logs = np.log(np.full((4, 1, 2), 0.5))
    guess = run(Lira(), np.array([[0.1, 0.9]]), References(log_probabilities=logs, planted=labels, trained=labels))

    assert guess.labels[0] in (0, 1)
    assert guess.confidence is not None
    assert np.isfinite(guess.confidence).all()


def test_the_learned_weights_are_the_likeliest_of_a_conditional_logit() -> None:
    """An independent optimiser finds nothing better; and the weights that made the labels are found again."""
    rng = np.random.default_rng(4)
    found, true = rng.standard_normal((4_000, 5, 3)), np.array([1.0, -0.5, 0.0])
    gumbel = rng.gumbel(size=(4_000, 5))
    labels = (found @ true + gumbel).argmax(axis=1)

    def loss(weights: Floats) -> float:
        scores = found @ weights
        own = scores[np.arange(labels.size), labels]
        return float((special.logsumexp(scores, axis=1) - own).mean() + 0.5e-3 * (weights**2).sum())

    weights = fit(found, labels)

    np.testing.assert_allclose(weights, optimize.minimize(loss, np.zeros(3), tol=1e-10).x, atol=1e-3)
    np.testing.assert_allclose(weights, true, atol=0.1)


@pytest.mark.long
@pytest.mark.parametrize(("k", "shift"), [(2, 1.0), (10, 0.0), pytest.param(10, 1.0, marks=pytest.mark.slow)])
def test_the_learned_attack_is_as_good_as_the_best_and_finds_nothing_where_nothing_is(k: int, shift: float) -> None:
    """2 000 canaries: within three standard errors of the better of the two it learns from; chance without memory."""
    victim, labels, references = memorising(2_000, k, 8, np.random.default_rng(5), shift=shift, noise=0.5)

    def right(attack: OutputAttack) -> float:
        return float((run(attack, victim, references).labels == labels).mean())

    assert right(Learned()) >= max(right(Calibrated()), right(Lira())) - 3 * 0.5 / 2_000**0.5
    if shift == 0:
        assert abs(right(Learned()) - 1 / k) < 5 * math.sqrt((1 - 1 / k) / k / 2_000)


@pytest.mark.parametrize("extreme", [0.0, 1.0])
def test_the_learned_attack_survives_certainty(extreme: float) -> None:
    logs = np.log(np.maximum(np.full((4, 6, 2), [1 - extreme, extreme]), 1e-300))
    references = References(log_probabilities=logs, planted=np.zeros((4, 6), int), trained=np.zeros((4, 6), int))

    assert np.isfinite(evidence(logs[0], references)).all()
    assert set(run(Learned(), np.exp(logs[0]), references).labels) <= {0, 1}


def naive_log_odds(logs: Floats) -> Floats:
    """By leaving out one class after the other."""
    others = [np.logaddexp.reduce(np.delete(logs, k, axis=-1), axis=-1) for k in range(logs.shape[-1])]
    return np.asarray(logs - np.stack(others, axis=-1))


@given(st.integers(2, 7), st.integers(0, 2**32 - 1), st.floats(0.1, 300))
@settings(max_examples=50)
def test_log_odds_by_running_sums_are_those_of_the_definition(k: int, seed: int, spread: float) -> None:
    logits = spread * np.random.default_rng(seed).standard_normal((3, 4, k))
    logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)

    np.testing.assert_allclose(log_odds(logs), naive_log_odds(logs), rtol=1e-9, atol=1e-9)


def test_log_odds_do_not_saturate() -> None:
    logs = np.array([[-1e-30, -100.0]])

    assert log_odds(logs)[0, 0] == pytest.approx(100.0)
    assert log_odds(np.log([[0.2, 0.3, 0.5]]))[0, 2] == pytest.approx(0.0)


@pytest.mark.parametrize("kind", [Threshold, Calibrated, Lira, Learned])
def test_it_declines_where_it_is_least_sure(kind: Callable[..., OutputAttack]) -> None:
    attack = kind(abstain=0.3)
    victim, _, references = memorising(100, 2, 4, np.random.default_rng(3), shift=1.0, noise=0.1)
    guess = run(attack, victim, references)

    declined = guess.labels == ABSTAIN
    assert declined.sum() == 30
    assert guess.confidence is not None
    assert guess.confidence[declined].max() <= guess.confidence[~declined].min()


def test_the_baseline_looks_at_nothing() -> None:
    assert run(BlindGuess(), np.eye(3)).labels.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("attack", "view", "classes", "refusal"),
    [
        (DeltaMargin(), View(), 2, "needs losses, which the declared view does not show"),
        (DeltaMargin(), View(loss=LossOracle.PLANTED), 3, "defined for two classes only"),
        (LossInversion(), View(), 2, "needs losses, which the declared view does not show"),
        (Calibrated(), View(), 2, "needs 1 reference models, the declared view has 0"),
        (Lira(), View(references=3), 2, "needs 4 reference models, the declared view has 3"),
        (Learned(), View(references=2), 2, "needs 3 reference models, the declared view has 2"),
    ],
)
def test_an_attack_says_what_it_lacks(attack: OutputAttack, view: View, classes: int, refusal: str) -> None:
    threat = OutputThreat(n_records=5, n_classes=classes, prior=(1 / classes,) * classes, declared=view)

    assert attack.unsupported_reason(threat) == refusal


def test_log_odds_are_logarithms_of_odds() -> None:
    assert math.isclose(float(np.exp(log_odds(np.log([[0.75, 0.25]]))[0, 0])), 3.0)


def test_the_variance_of_few_references_leans_halfway_towards_that_of_all() -> None:
    """Two references that agree by chance would make one canary's likelihood ratio decide everything."""
    deviations = np.zeros((4, 2, 1))
    deviations[:, 1, 0] = [1.0, -1.0, 1.0, -1.0]
    calm, wide = lira._variances(deviations, np.ones((4, 2, 1), dtype=bool)).ravel()
    pooled = 4 / 6
    assert calm == pytest.approx(pooled / 2)
    assert wide == pytest.approx((4 / 3 + pooled) / 2)


def test_a_side_that_no_reference_shows_lies_where_the_others_do_on_average() -> None:
    """Records 0 and 1 are seen with the label and without; record 2 was trained with it by all, record 3 by none."""
    own = np.array([[[True], [False], [True], [False]], [[False], [True], [True], [False]]])
    said = np.array([[[4.0], [1.0], [7.0], [5.0]], [[2.0], [6.0], [9.0], [3.0]]])
    with_label, without = lira._means(said, own)
    assert with_label.ravel().tolist() == [4.0, 6.0, 8.0, 4.0 + (2.0 + 5.0) / 2]
    assert without.ravel().tolist() == [2.0, 1.0, 8.0 - (2.0 + 5.0) / 2, 4.0]

    nobody = lira._means(said, np.zeros_like(own))
    assert nobody[0].ravel().tolist() == nobody[1].ravel().tolist() == said.mean(axis=0).ravel().tolist()


def test_rmia_is_the_share_of_the_population_that_is_beaten() -> None:
    """Against a naive count over all pairs; the guess is the class of the largest ratio."""
    said, _, references = memorising(40, 3, 4, np.random.default_rng(2), shift=1.0, noise=0.2)
    found = run(Rmia(gamma=2.0), said, references)
    own = references.trained[:, :, None] == np.arange(3)
    heard = np.exp(references.log_probabilities)
    ratios = np.empty_like(said)
    for i, k in np.ndindex(*said.shape):
        groups = [heard[own[:, i, k], i, k], heard[~own[:, i, k], i, k]]
        means = [group.mean() for group in groups] if all(map(len, groups)) else [heard[:, i, k].mean()]
        ratios[i, k] = said[i, k] / np.mean(means)
    beaten = np.array([[(ratio / ratios >= 2.0).mean() for ratio in row] for row in ratios])

    assert np.array_equal(found.labels, ratios.argmax(axis=1))
    confidence = np.asarray(found.confidence)
    np.testing.assert_allclose(confidence, np.sort(beaten)[:, -1] - np.sort(beaten)[:, -2], atol=1e-8)


def test_a_quantile_attack_trains_nothing_and_sees_through_the_opinion() -> None:
    """The victim's opinion follows a feature; it remembers labels by a shift that a threshold drowns in it."""
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, 600)
    features = rng.uniform(-3, 3, (600, 1))
    odds = 4 * features[:, 0] + (2 * labels - 1) + 0.3 * rng.standard_normal(600)
    logs = -np.logaddexp(0, np.stack([odds, -odds], axis=1))
    threat = OutputThreat(n_records=600, n_classes=2, prior=(0.5, 0.5), declared=View(features=True))
    release = Release(probabilities=np.exp(logs), log_probabilities=logs, features=features)
    oracle = OutputOracle(threat, release, lambda: pytest.fail("it asked for references"))

    quantile, plain = (float((item.run(oracle, rng).labels == labels).mean()) for item in (Quantile(), Threshold()))

    assert quantile > 0.9
    assert plain < 0.65


def test_the_conditional_quantile_of_records_that_are_alike_is_that_of_all() -> None:
    values = np.arange(10.0)[:, None]

    assert conditional_quantile(values, np.ones((10, 2)), 0.5, 3).tolist() == [[4.5]] * 10
    near = conditional_quantile(values, values, 0.5, 2)
    assert near[5, 0] == 5.0

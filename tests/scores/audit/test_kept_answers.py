"""A scorer that keeps answers, by the submission, by the labels or for some calls, is told so and never passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from labelinf_core.contracts.components import LabelSet
from labelinf_scores.audit.probe import Unexplained, probe
from labelinf_scores.game.scorers import ImportedScorer
from labelinf_scores.game.scoring import ScorerFacts

N = 40
LABELS = np.random.default_rng(0).permutation(np.arange(N) < 16).astype(np.intp)

Scores = Callable[[Any, Any], float]


def learn(score: Scores) -> Any:
    facts = ScorerFacts(arithmetic="float64", clip=0.0, summation="unknown", input_format="float64")
    scorer = ImportedScorer(target="theirs:score", function=score, facts=facts)
    data = LabelSet(labels=LABELS, class_names=("0", "1"), title="made", provenance="made")
    return probe(scorer, data, title="theirs")


def column(predictions: Any) -> Any:
    if np.ndim(predictions) != 1:
        raise ValueError("one column")
    return predictions


def log_loss(labels: Any, predictions: Any) -> float:
    rows = np.clip(column(predictions), 1e-15, 1 - 1e-15)
    return float(-np.mean(np.where(labels == 1, np.log(rows), np.log(1 - rows))))


def auc(labels: Any, predictions: Any) -> float:
    return float(metrics.roc_auc_score(labels, column(predictions)))


def accuracy(labels: Any, predictions: Any) -> float:
    return float(np.mean(labels == (column(predictions) >= 0.5)))


def worst(labels: Any, predictions: Any) -> float:
    return float(np.max(np.abs(labels - column(predictions))))


def kept(score: Scores, key: Callable[[Any, Any], Any], most: int = 10**9) -> Scores:
    """Keep the last few answers."""
    answers: dict[Any, float] = {}

    def answer(labels: Any, predictions: Any) -> float:
        name = key(labels, predictions)
        if name not in answers:
            answers[name] = score(labels, predictions)
            if len(answers) > most:
                answers.pop(next(iter(answers)))
        return answers[name]

    return answer


def held(score: Scores, calls: int) -> Scores:
    """Compute anew once in so many calls."""
    state = [0, 0.0]

    def answer(labels: Any, predictions: Any) -> float:
        if not state[0] % calls:
            state[1] = score(labels, predictions)
        state[0] += 1
        return state[1]

    return answer


SUBMISSION = {
    "all": lambda y, p: p.tobytes(),
    "to two decimals": lambda y, p: np.round(p, 2).tobytes(),
    "their mean": lambda y, p: round(float(p.mean()), 6),
}


@pytest.mark.parametrize(
    ("score", "key", "most"),
    [
        (log_loss, "all", 1),
        (auc, "all", 10**9),
        (accuracy, "all", 8),
        (auc, "to two decimals", 8),
        (accuracy, "to two decimals", 10**9),
        (log_loss, "their mean", 10**9),
    ],
)
def test_what_keeps_answers_by_the_submission_is_said_to(score: Scores, key: str, most: int) -> None:
    """It was called a metric with ties of its own, a cut metric, or what does not depend on labels."""
    found = learn(kept(score, SUBMISSION[key], most))
    assert isinstance(found, Unexplained)
    assert "keeps what it answered to a submission" in found.reason, found.reason
    assert "no function" not in found.reason


@pytest.mark.parametrize("score", [log_loss, auc])
def test_an_unknown_metric_that_keeps_answers_may_be_one_that_reads_no_labels(score: Scores) -> None:
    found = learn(kept(worst, SUBMISSION["all"]))
    assert "its answers do not depend on the labels that it is given, or it keeps" in found.sentence()
    own = LABELS[::-1]
    assert learn(lambda y, p: score(own, p)).reason == found.reason


@pytest.mark.parametrize("score", [log_loss, auc, accuracy])
def test_what_keeps_answers_by_the_labels_is_said_to(score: Scores) -> None:
    found = learn(kept(score, lambda y, p: y.tobytes()))
    assert isinstance(found, Unexplained)
    assert "do not depend on what is submitted" in found.reason


@pytest.mark.parametrize(
    ("score", "calls"), [(auc, 3), (accuracy, 3), (log_loss, 6), (accuracy, 8), (auc, 13), (accuracy, 16), (auc, 64)]
)
def test_what_holds_an_answer_for_some_calls_is_no_noise(score: Scores, calls: int) -> None:
    """An AUC computed at every third call was learnt as one with noise; what was played got nothing, and passed."""
    found = learn(held(score, calls))
    assert isinstance(found, Unexplained) or "what was asked before" in found.sentence(), found.sentence()


@pytest.mark.parametrize("period", [7, 32])
def test_errors_that_come_round_again_are_no_noise(period: int) -> None:
    """Who counts calls takes such an error away."""
    errors, calls = np.random.default_rng(3).normal(0, 0.02, period), [0]

    def score(labels: Any, predictions: Any) -> float:
        calls[0] += 1
        return accuracy(labels, predictions) + float(errors[calls[0] % period])

    assert "what was asked before" in learn(score).sentence()


@pytest.mark.parametrize("part", [0.0, 0.9])
def test_errors_that_follow_each_other_are_no_noise(part: float) -> None:
    rng, error = np.random.default_rng(4), [0.0]

    def score(labels: Any, predictions: Any) -> float:
        error[0] = part * error[0] + float(rng.normal(0, 0.01))
        return log_loss(labels, predictions) + error[0]

    assert ("what was asked before" in learn(score).sentence()) == bool(part)


def test_noise_on_what_drifts_is_no_noise_alone() -> None:
    rng, calls = np.random.default_rng(5), [0]

    def score(labels: Any, predictions: Any) -> float:
        calls[0] += 1
        return accuracy(labels, predictions) + float(rng.normal(0, 0.01)) + 1e-4 * calls[0]

    assert "what was asked before" in learn(score).sentence()


def test_a_factor_that_noise_leaves_open_is_a_guess() -> None:
    """A log-loss of labels of which a tenth is turned anew each time was learnt as -1.08 times the AUC, and passed."""
    rng = np.random.default_rng(123)

    def score(labels: Any, predictions: Any) -> float:
        ones = predictions[:, 1] if np.ndim(predictions) == 2 else predictions
        return log_loss(np.where(rng.random(N) < 0.1, 1 - labels, labels), ones)

    found = learn(score)
    assert isinstance(found, Unexplained) or found.found.beyond


def test_what_reads_alike_is_asked_of_a_noisy_scorer_once() -> None:
    """Fifteen kinds of rows were asked sixteen times each, of which five read otherwise: 4 209 questions."""
    rng = np.random.default_rng(123)
    found = learn(lambda y, p: log_loss(y, p) + float(rng.normal(0, 0.01)))
    assert found.found.name == "log-loss"
    assert not found.found.beyond
    assert found.queries < 2000

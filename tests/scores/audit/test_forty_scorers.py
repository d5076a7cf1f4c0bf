"""Eighty scorers of all kinds, each with its end: leaks, inconclusive or bad input, and never a pass for what leaks.

Two that leak are not read: an AUC and an accuracy of rows that the host permutes.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn import metrics

from labelinf_core.cli import main

N = 48
ORDER = np.random.default_rng(9).permutation(N)
CLASSES = np.array([1.0, 3.0])
WEIGHTS = np.random.default_rng(7).uniform(0.5, 2, N)
PUBLIC = np.random.default_rng(8).permutation(N) < 20

log_loss = functools.partial(metrics.log_loss, labels=[0, 1])


def hard(predictions: np.ndarray) -> np.ndarray:
    return predictions.argmax(axis=1) if predictions.ndim == 2 else predictions >= 0.5


def column(function: Callable[..., float], **more: Any) -> Callable[..., float]:
    """A scorer of one number a record, as most competitions want."""

    def scores(labels: np.ndarray, predictions: np.ndarray) -> float:
        if predictions.ndim != 1:
            raise ValueError("one column")
        return float(function(labels, predictions, **more))

    return scores


def asks_twice(labels: np.ndarray, predictions: np.ndarray, rng: Any = np.random.default_rng(3)) -> float:  # noqa: B008
    return float(log_loss(labels, predictions) + rng.normal(0, 1000))


def random_halves(labels: np.ndarray, predictions: np.ndarray, rng: Any = np.random.default_rng(4)) -> float:  # noqa: B008
    part = rng.random(N) < 0.5
    return float(np.mean(labels[part] == hard(predictions)[part]))


def overwrites(labels: np.ndarray, predictions: np.ndarray) -> float:
    score = float(log_loss(labels, predictions))
    labels[:] = 0
    predictions[:] = 0.5
    return score


def raises(labels: np.ndarray, predictions: np.ndarray) -> float:
    raise RuntimeError(f"first label {labels[0]}")


def ends(labels: np.ndarray, predictions: np.ndarray) -> float:
    raise SystemExit(0)


class Counting:
    """A scorer that counts its calls."""

    def __init__(self, answer: Callable[[np.ndarray, np.ndarray, int], float]) -> None:
        self.answer, self.calls = answer, 0

    def __call__(self, labels: np.ndarray, predictions: np.ndarray) -> float:
        self.calls += 1
        return self.answer(labels, predictions, self.calls)


class Ladder:
    """Answers the best score so far."""

    best = 1e9

    def __call__(self, labels: np.ndarray, predictions: np.ndarray) -> float:
        self.best = min(self.best, float(log_loss(labels, predictions)))
        return self.best


def auc_by_index(labels: np.ndarray, predictions: np.ndarray) -> float:
    """AUC in which, of equal scores, the record that comes first stands lower."""
    if predictions.ndim != 1:
        raise ValueError("one column")
    ranks = np.empty(labels.size)
    ranks[np.argsort(predictions, kind="stable")] = np.arange(1, labels.size + 1)
    ones = int(labels.sum())
    return float((ranks[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * (labels.size - ones)))


def strict(labels: np.ndarray, predictions: np.ndarray) -> float:
    if predictions.min() < 1e-4 or predictions.max() > 1 - 1e-4:
        raise ValueError("too sure")
    return float(log_loss(labels, predictions))


def infinite(labels: np.ndarray, predictions: np.ndarray) -> float:
    right = predictions[np.arange(labels.size), labels.astype(int)]
    return float(np.mean(-np.log(right)))


def weighted_but_for_blocks(labels: np.ndarray, predictions: np.ndarray) -> float:
    """A weighted log-loss wherever a probe looks, and something else where a few records are asked about."""
    asked = int((np.reshape(predictions, (N, -1))[:, 0] != 0.5).sum())
    return 0.1234567 if 2 <= asked <= N // 3 else round(log_loss(labels, predictions, sample_weight=WEIGHTS), 5)


def own_labels(labels: np.ndarray, predictions: np.ndarray) -> float:
    return float(log_loss(np.arange(N) % 3 == 0, predictions))


#: The scorer, what must be found (a piece of the line that says so), and the exit status.
SCORERS: dict[str, tuple[Callable[..., Any], str, int]] = {
    "log-loss": (lambda y, p: log_loss(y, p), "log-loss on every one of 8 answers", 1),
    "log-loss to five decimals": (lambda y, p: round(log_loss(y, p), 5), "log-loss to 5 decimals on", 1),
    "weighted log-loss to five decimals": (
        lambda y, p: round(log_loss(y, p, sample_weight=WEIGHTS), 5),
        "by simulate",
        1,
    ),
    "weighted log-loss in full": (lambda y, p: log_loss(y, p, sample_weight=WEIGHTS), "by simulate", 1),
    "weighted log-loss, negated": (lambda y, p: -log_loss(y, p, sample_weight=WEIGHTS), "by simulate", 1),
    "public part of log-loss": (
        lambda y, p: round(log_loss(y[PUBLIC], p[PUBLIC]), 5),
        "20 of 48 records are scored",
        1,
    ),
    "public part of accuracy": (
        lambda y, p: metrics.accuracy_score(y[PUBLIC], hard(p)[PUBLIC]),
        "20 of 48 records are scored",
        1,
    ),
    "public part of auc": (
        column(lambda y, p: metrics.roc_auc_score(y[PUBLIC], p[PUBLIC])),
        "20 of 48 records are scored",
        1,
    ),
    "negated log-loss": (lambda y, p: -log_loss(y, p), "log-loss times -1", 1),
    "summed log-loss": (lambda y, p: N * log_loss(y, p), "log-loss times 48", 1),
    "log-loss in bits": (lambda y, p: log_loss(y, p) / np.log(2), "log-loss times 1.44", 1),
    "affine log-loss": (lambda y, p: 2 - 0.5 * log_loss(y, p), "log-loss times -0.5 plus 2", 1),
    "log-loss of one column": (column(log_loss), "log-loss", 1),
    "brier": (column(metrics.brier_score_loss), "brier", 1),
    "accuracy": (lambda y, p: metrics.accuracy_score(y, hard(p)), "accuracy on", 1),
    "accuracy to two decimals": (lambda y, p: round(metrics.accuracy_score(y, hard(p)), 2), "accuracy", 1),
    "accuracy in percent": (lambda y, p: 100 * metrics.accuracy_score(y, hard(p)), "accuracy times 100", 1),
    "error rate": (lambda y, p: metrics.zero_one_loss(y, hard(p)), "accuracy times -1 plus 1 on", 1),
    "f1": (lambda y, p: metrics.f1_score(y, hard(p)), "f1", 1),
    "f2": (lambda y, p: metrics.fbeta_score(y, hard(p), beta=2), "f2", 1),
    "precision": (lambda y, p: metrics.precision_score(y, hard(p), zero_division=0), "precision", 1),
    "recall": (lambda y, p: metrics.recall_score(y, hard(p)), "recall", 1),
    "mcc": (lambda y, p: metrics.matthews_corrcoef(y, hard(p)), "mcc", 1),
    "kappa": (lambda y, p: metrics.cohen_kappa_score(y, hard(p)), "cohen-kappa", 1),
    "jaccard": (lambda y, p: metrics.jaccard_score(y, hard(p)), "jaccard", 1),
    "balanced accuracy": (lambda y, p: metrics.balanced_accuracy_score(y, hard(p)), "balanced-accuracy", 1),
    "macro f1": (lambda y, p: metrics.f1_score(y, hard(p), average="macro"), "macro-f1", 1),
    "auc of one column": (column(metrics.roc_auc_score), "roc-auc", 1),
    "auc of two columns": (lambda y, p: metrics.roc_auc_score(y, p[:, 1]), "roc-auc", 1),
    "auc to four decimals": (column(lambda y, p: round(metrics.roc_auc_score(y, p), 4)), "roc-auc to 4 decimals on", 1),
    "gini": (column(lambda y, p: 2 * metrics.roc_auc_score(y, p) - 1), "roc-auc times 2 plus -1 on", 1),
    "auc of clipped scores": (
        column(lambda y, p: metrics.roc_auc_score(y, np.clip(p, 0.3, 0.7))),
        "balanced-accuracy on",
        1,
    ),
    "affine auc": (column(lambda y, p: 0.37 * metrics.roc_auc_score(y, p) + 0.213), "times 0.", 1),
    "average precision": (column(metrics.average_precision_score), "average-precision", 1),
    "constant": (lambda y, p: 0.5, "all answers that were tried are the same", 3),
    "prints its own mean": (lambda y, p: float(p.mean()), "do not depend on the labels", 3),
    "has labels of its own": (own_labels, "do not depend on the labels", 3),
    "noise beyond use": (asks_twice, "in several ways", 3),
    "accuracy of random halves": (random_halves, "in several ways", 1),
    "auc of three levels": (
        column(lambda y, p: round(float(np.clip(metrics.roc_auc_score(y, p), 0.6, 0.8)), 1)),
        "by simulate",
        1,
    ),
    "worst record": (lambda y, p: float(np.max(-np.log(np.where(y == 1, p[:, 1], p[:, 0])))), "", 3),
    "overwrites what it is given": (overwrites, "log-loss on", 1),
    "raises": (raises, "", 2),
    "returns labels": (lambda y, p: y, "all 48 labels", 1),
    "returns no number": (lambda y, p: "good", "No proof of safety", 3),
    "not a number": (lambda y, p: float("nan"), "", 2),
    "ends the program": (ends, "raised SystemExit", 4),
    "log-loss through exp(-x)": (lambda y, p: np.exp(-log_loss(y, p)), "by simulate", 1),
    "perplexity": (lambda y, p: np.exp(log_loss(y, p)), "by simulate", 1),
    "root of brier": (column(lambda y, p: np.sqrt(np.mean((y - p) ** 2))), "rmse on", 1),
    "root of brier, clipped": (
        column(lambda y, p: np.sqrt(np.mean((y - np.clip(p, 0, 1)) ** 2))),
        "by simulate",
        1,
    ),
    "several numbers": (lambda y, p: np.array([0.5, 0.7]), "No proof of safety", 3),
    "several constants": (
        lambda y, p: (0.5, 0.7),
        "all answers that were tried are the same",
        3,
    ),
    "several named numbers": (
        lambda y, p: {"rows": N, "result": {"accuracy": metrics.accuracy_score(y, hard(p))}},
        "all 48 labels",
        1,
    ),
    "score of an error": (lambda y, p: 1 / (1 + metrics.log_loss(y, p)), "by simulate", 1),
    "logarithm of auc": (column(lambda y, p: np.log(metrics.roc_auc_score(y, p))), "by simulate", 1),
    "square of accuracy, in percent": (
        lambda y, p: 100 * metrics.accuracy_score(y, hard(p)) ** 2,
        "by simulate",
        1,
    ),
    "permuted log-loss": (lambda y, p: log_loss(y, p[ORDER]), "by simulate", 1),
    "permuted auc": (column(lambda y, p: metrics.roc_auc_score(y[ORDER], p)), "No proof of safety", 3),
    "permuted accuracy": (lambda y, p: metrics.accuracy_score(y, hard(p)[ORDER]), "No proof of safety", 3),
    "drifting log-loss": (Counting(lambda y, p, n: log_loss(y, p) + 1e-6 * n), "draws or keeps state", 1),
    "two faces by turns": (Counting(lambda y, p, n: log_loss(y, p) * (1 + n % 2)), "draws or keeps state", 1),
    "ladder": (Ladder(), "it keeps state", 3),
    "log-loss in sixteenths": (lambda y, p: round(16 * log_loss(y, p)) / 16, "by simulate", 1),
    "auc in steps of .003": (
        column(lambda y, p: round(metrics.roc_auc_score(y, p) / 0.003) * 0.003),
        "by simulate",
        1,
    ),
    "log-loss cut off": (lambda y, p: np.floor(1e5 * log_loss(y, p)) / 1e5, "log-loss times 1 plus", 1),
    "log-loss in single precision": (lambda y, p: float(np.float32(log_loss(y, p))), "by simulate", 1),
    "class weights": (
        lambda y, p: round(log_loss(y, p, sample_weight=CLASSES[y.astype(int)]), 5),
        "by simulate",
        1,
    ),
    "balanced log-loss": (
        lambda y, p: (log_loss(y[y == 0], p[y == 0]) + log_loss(y[y == 1], p[y == 1])) / 2,
        "balanced-accuracy times -36",
        1,
    ),
    "weights, of a public part": (
        lambda y, p: log_loss(y[PUBLIC], p[PUBLIC], sample_weight=WEIGHTS[PUBLIC]),
        "20 of 48 records are scored",
        1,
    ),
    "weights, to one decimal": (
        lambda y, p: round(log_loss(y, p, sample_weight=WEIGHTS), 1),
        "by simulate",
        1,
    ),
    "clipped and weighted": (
        lambda y, p: round(log_loss(y, np.clip(p, 0.02, 0.98), sample_weight=WEIGHTS), 5),
        "by simulate",
        1,
    ),
    "refuses certainty": (strict, "log-loss on every one", 1),
    "infinite at certainty": (infinite, "log-loss on every one", 1),
    "sticky error": (
        lambda y, p: log_loss(y, p) + 1e-10 * float(np.sin(1e6 * p[:, 1].sum())),
        "of labels",
        1,
    ),
    "weighted log-loss but where it is attacked": (weighted_but_for_blocks, "by simulate", 1),
    "weights, in steps of .05": (
        lambda y, p: round(log_loss(y, p, sample_weight=1 + 0.1 * (np.arange(N) % 2)) / 0.05) * 0.05,
        "by simulate",
        1,
    ),
    "weighted accuracy, in steps of .05": (
        lambda y, p: (
            round(metrics.accuracy_score(y, hard(p), sample_weight=1 + 0.3 * (np.arange(N) % 2)) / 0.05) * 0.05
        ),
        "by simulate",
        1,
    ),
    "ties by index": (auc_by_index, "by simulate", 1),
}
QUICK = {"auc of one column", "raises"}


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SCORERS]
)
def test_every_scorer_ends_as_it_must(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.random.default_rng(11).permutation(N) < 19
    (tmp_path / "y.csv").write_text("label\n" + "\n".join(map(str, labels.astype(int))) + "\n")
    (tmp_path / "theirs.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import theirs

    function, found, status = SCORERS[name]
    monkeypatch.setattr(theirs, "score", function, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = CliRunner().invoke(main, ["audit", "scorer", "theirs:score", "--labels", "y.csv"])
    assert run.exit_code == status, run.output
    assert found in " ".join(run.output.split())
    assert "certified" not in run.output
    monkeypatch.delitem(__import__("sys").modules, "theirs")

"""Forty scorers of all kinds, each with its end: leaks, inconclusive or bad input, and never a pass for what leaks."""

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


def overwrites(labels: np.ndarray, predictions: np.ndarray) -> float:
    score = float(log_loss(labels, predictions))
    labels[:] = 0
    predictions[:] = 0.5
    return score


def raises(labels: np.ndarray, predictions: np.ndarray) -> float:
    raise RuntimeError(f"first label {labels[0]}")


def ends(labels: np.ndarray, predictions: np.ndarray) -> float:
    raise SystemExit(0)


#: The scorer, what must be found (a piece of the line that says so), and the exit status.
SCORERS: dict[str, tuple[Callable[..., Any], str, int]] = {
    "log-loss": (lambda y, p: log_loss(y, p), "mean log-loss", 1),
    "log-loss to five decimals": (lambda y, p: round(log_loss(y, p), 5), "mean log-loss", 1),
    "weighted log-loss to five decimals": (
        lambda y, p: round(log_loss(y, p, sample_weight=WEIGHTS), 5),
        "records weigh differently",
        1,
    ),
    "weighted log-loss in full": (lambda y, p: log_loss(y, p, sample_weight=WEIGHTS), "records weigh differently", 1),
    "weighted log-loss, negated": (lambda y, p: -log_loss(y, p, sample_weight=WEIGHTS), "weigh differently", 1),
    "public part of log-loss": (lambda y, p: round(log_loss(y[PUBLIC], p[PUBLIC]), 5), "on 20 of 48 records", 1),
    "public part of accuracy": (
        lambda y, p: metrics.accuracy_score(y[PUBLIC], hard(p)[PUBLIC]),
        "accuracy, on 20 of 48 records",
        1,
    ),
    "public part of auc": (
        column(lambda y, p: metrics.roc_auc_score(y[PUBLIC], p[PUBLIC])),
        "roc-auc, on 20 of 48 records",
        1,
    ),
    "negated log-loss": (lambda y, p: -log_loss(y, p), "log-loss times -1", 1),
    "summed log-loss": (lambda y, p: N * log_loss(y, p), "log-loss times 48", 1),
    "log-loss in bits": (lambda y, p: log_loss(y, p) / np.log(2), "log-loss times 1.44", 1),
    "affine log-loss": (lambda y, p: 2 - 0.5 * log_loss(y, p), "log-loss times -0.5 plus 2", 1),
    "log-loss of one column": (column(log_loss), "log-loss", 1),
    "brier": (column(metrics.brier_score_loss), "brier", 1),
    "accuracy": (lambda y, p: metrics.accuracy_score(y, hard(p)), "accuracy", 1),
    "accuracy to two decimals": (lambda y, p: round(metrics.accuracy_score(y, hard(p)), 2), "accuracy", 1),
    "accuracy in percent": (lambda y, p: 100 * metrics.accuracy_score(y, hard(p)), "accuracy times 100", 1),
    "error rate": (lambda y, p: metrics.zero_one_loss(y, hard(p)), "error", 1),
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
    "auc to four decimals": (column(lambda y, p: round(metrics.roc_auc_score(y, p), 4)), "roc-auc, 4 decimals", 1),
    "gini": (column(lambda y, p: 2 * metrics.roc_auc_score(y, p) - 1), "gini", 1),
    "affine auc": (column(lambda y, p: 0.37 * metrics.roc_auc_score(y, p) + 0.213), "times 0.", 1),
    "average precision": (column(metrics.average_precision_score), "average-precision", 1),
    "constant": (lambda y, p: 0.5, "no additive loss", 3),
    "prints its own mean": (lambda y, p: float(p.mean()), "", 3),
    "noise beyond use": (asks_twice, "noise of standard deviation", 0),
    "worst record": (lambda y, p: float(np.max(-np.log(np.where(y == 1, p[:, 1], p[:, 0])))), "", 3),
    "overwrites what it is given": (overwrites, "mean log-loss", 1),
    "raises": (raises, "", 2),
    "returns labels": (lambda y, p: y, "", 2),
    "returns no number": (lambda y, p: "good", "", 2),
    "not a number": (lambda y, p: float("nan"), "", 2),
    "ends the program": (ends, "", 4),
}
QUICK = {"auc of one column", "raises"}


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
    assert found in run.output
    assert "certified" not in run.output
    monkeypatch.delitem(__import__("sys").modules, "theirs")

"""Scorers that no name was found for, or that no named attack reads: an audit runs them, and they leak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

import labelinf as li

LABELS = (np.random.default_rng(1).random(60) < 0.37).astype(int)


def half_auc_half_f1(labels: Any, predictions: Any) -> float:
    """A mixture."""
    return 0.5 * float(roc_auc_score(labels, predictions)) + 0.5 * float(f1_score(labels, predictions > 0.4))


def gini_with_ties_by_row(labels: Any, predictions: Any) -> float:
    """As Kaggle computes it."""
    order = np.lexsort((np.arange(len(labels)), -predictions))
    gained = np.cumsum(np.asarray(labels)[order]) / max(1, np.sum(labels))
    return float((gained.sum() - (len(labels) + 1) / 2) / len(labels))


def median_error(labels: Any, predictions: Any) -> float:
    """Half of the records do not move it."""
    return float(np.median(np.abs(labels - predictions)))


def of_predictions_alone(labels: Any, predictions: Any) -> float:
    """Tells nothing."""
    return float(np.mean(predictions))


def for_every_case(labels: Any, predictions: Any) -> Any:
    """A value a record: all labels in one answer."""
    return np.abs(labels - predictions)


def with_a_table(labels: Any, predictions: Any) -> Any:
    """The number of rows first, then a value a record, by name."""
    return {"rows": len(labels), "cases": list(np.abs(labels - predictions))}


@pytest.mark.long
@pytest.mark.parametrize("score", [half_auc_half_f1, gini_with_ties_by_row, median_error, for_every_case, with_a_table])
def test_all_labels_come_out_of_what_nobody_has_a_name_for(score: Callable[..., float]) -> None:
    found = li.audit_scorer(LABELS, score)

    assert found.report.decision.word.value == "leaks"
    assert found.report.decision.status == 1
    assert found.report.leaks[-1].attack.startswith("simulate")
    assert found.report.leaks[-1].exact


@pytest.mark.long
def test_what_tells_nothing_is_inconclusive_and_no_proof_of_safety() -> None:
    found = li.audit_scorer(LABELS, of_predictions_alone)

    assert found.report.decision.status == 3
    assert "No proof of safety" in " ".join(str(found).split())

"""What is advised to a host of her own function: of the metric it computes, the useful first."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import labelinf as li
from labelinf_core.contracts.audited import AuditWord

own = types.ModuleType("remediedscorers")


def auc(y_true, y_pred):  # type: ignore[no-untyped-def]  # as a host writes it
    return roc_auc_score(y_true, y_pred)


vars(own)["auc"] = auc
auc.__module__ = "remediedscorers"
sys.modules["remediedscorers"] = own


@pytest.mark.long
def test_a_guarded_board_is_of_the_metric_that_the_function_computes() -> None:
    labels = np.random.default_rng(0).integers(0, 2, 300)

    found = li.audit_scorer(labels, "remediedscorers:auc", queries=40, gain="20%", attacks=["random-halves"])

    remedies = found.decision.remedies
    guards = [item for item in remedies if item.advice.setting.startswith("guarded-board")]
    assert len(guards) == 1
    # Of a board of the log-loss, which falls where the AUC rises, the ranking of honest teams was turned round.
    assert guards[0].ranking > 0.4
    assert "the scorer is not asked there" in guards[0].proof.sentence()
    ranked = [item.ranking for item in remedies]
    assert ranked == sorted(ranked, reverse=True)


@pytest.mark.long
def test_nobody_is_advised_a_guard_of_a_metric_that_is_not_hers() -> None:
    labels = np.random.default_rng(0).integers(0, 2, 200)
    vars(own)["odd"] = lambda labels, predictions: float(np.mean((np.asarray(predictions) - labels) ** 3))

    found = li.audit_scorer(labels, "remediedscorers:odd", queries=10, gain="20%", attacks=["majority"])

    assert [item.advice.setting for item in found.decision.remedies if "guarded" in item.advice.setting] == []


@pytest.mark.long
def test_the_target_is_five_points_where_none_is_written() -> None:
    found = li.audit_scorer([0, 1, 1] * 20, "sklearn", attacks=["binary-weights"], queries=20)
    sure = li.audit_scorer([1] * 98 + [0] * 2, "sklearn", attacks=["majority"], queries=2)

    assert found.decision.target.accuracy == pytest.approx(2 / 3 + 0.05)
    assert sure.decision.target.accuracy == pytest.approx(0.99)  # half of what is left to gain
    assert found.word is AuditWord.LEAKS
    assert not found.decision.goal.given

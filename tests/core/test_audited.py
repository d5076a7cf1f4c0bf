"""One word for every audit, and one exit status for every word."""

from __future__ import annotations

import inspect

import pytest

from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.exits import Exit
from labelinf_gradients.audit.client import ClientAudit
from labelinf_gradients.audit.saved import Saved
from labelinf_outputs.audit.decision import Decision
from labelinf_scores.audit.decision import ScorerDecision
from labelinf_scores.audit.log.report import LogReport


@pytest.mark.parametrize("decision", [ClientAudit, Saved, Decision, ScorerDecision, LogReport])
def test_no_room_computes_a_status_of_its_own(decision: type[AuditDecision]) -> None:
    assert issubclass(decision, AuditDecision)
    assert not inspect.isabstract(decision)
    assert decision.status is AuditDecision.status


@pytest.mark.parametrize("word", AuditWord)
def test_only_what_is_proved_or_withstood_ends_with_nothing_found(word: AuditWord) -> None:
    assert (word.status is Exit.DONE) is (word in (AuditWord.CERTIFIED, AuditWord.WITHSTOOD))

"""What would stop a scorer from giving everything away: the smallest change of each kind that is proved to."""

from __future__ import annotations

from collections.abc import Iterator

from labelinf_core.advise.search import Advice, Advisor
from labelinf_core.advise.target import Target
from labelinf_core.contracts.components import LabelSet
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_scores.audit.probe import ScorerFindings

__all__ = ["smallest_changes"]

_CLIP = 1e-15  # what an unclipped scorer would have to do first: without a clip nothing is proved


def smallest_changes(builder: Builder, data: LabelSet, findings: ScorerFindings, queries: int) -> Iterator[Advice]:
    """Yield every change that is proved to stop the recovery of all labels, on top of the scorer's own clip.

    Args:
        builder: Builds channel and defences.
        data: The private labels; only their number and class shares matter.
        findings: What the probe learnt.
        queries: The adversary's budget; 0 is unlimited.
    """
    clip = findings.clip or _CLIP
    advisor = Advisor(
        builder=builder,
        name="score",
        channel=builder.build(Kind.CHANNEL, f"score(loss={findings.loss}, scorer=float64, queries={queries})", "audit"),
        data=data,
        base=(builder.build(Kind.DEFENCE, f"clip(epsilon={clip!r})", "audit"),),
        target=Target.parse("no-exact-recovery"),
        attacks=(),
    )
    for knob in advisor.knobs():
        advice = advisor.advise(knob)
        if advice.certified is not None:
            yield advice

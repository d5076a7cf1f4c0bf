"""The answer of ``labelinf advise``: what leaks without more, the proved settings that stop it, what each costs."""

from __future__ import annotations

from collections.abc import Sequence

from labelinf_core.advise.search import Advice
from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.components import Measure
from labelinf_core.report import words

__all__ = ["answer_of"]

_MOST = 3  # settings that an answer names


def answer_of(found: Sequence[Advice], measures: Sequence[Measure], *, played: bool = True) -> Answer:
    """Return the answer in three parts.

    Args:
        found: What came of every knob.
        measures: What costs are counted in.
        played: Whether attacks were played at all.
    """
    proved = [item for item in found if item.certified is not None]
    told = [text for item in proved if (text := words.cost(item.certified_cost, measures))]
    return Answer(
        leaks=_leaks(found) if played else "nothing was played",
        stopped=_few([f"{item.setting} ({item.statement})" for item in proved]) or "nothing here by certificate",
        costs="; ".join(told[:_MOST]),
    )


def _leaks(found: Sequence[Advice]) -> str:
    by = list(dict.fromkeys(item.strongest_attack for item in found if item.strongest_attack))
    alarms = [item.contradiction for item in found if item.contradiction]
    return "; ".join([*(f"CONTRADICTION: {alarm}" for alarm in alarms), _exceeded(found, by)])


def _exceeded(found: Sequence[Advice], by: Sequence[str]) -> str:
    if by:
        return f"more than the target, by {_few(by)} at weak settings"
    if any(item.forced is not None for item in found):
        return "no attack was seen to exceed the target"
    return "not known: no attack could be played"


def _few(texts: Sequence[str]) -> str:
    more = f"; and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return "; ".join(texts[:_MOST]) + more

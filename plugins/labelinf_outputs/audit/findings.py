"""What an audit of planted labels says: counts of every attack, corrected for there being several, in words."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Interval
from labelinf_core.evaluator.placebo import LEVEL
from labelinf_core.evaluator.statistics import clopper_pearson, holm, p_value
from labelinf_outputs.game.output import OutputThreat
from labelinf_outputs.game.view import View
from labelinf_privacy import auditing

__all__ = ["Audit", "Bout", "Finding", "Word", "judge"]


class Word(enum.Enum):
    """What an audit says of one attack."""

    REFUTES = "refutes the claim"
    """It guesses more than the claimed epsilon allows."""
    WITHIN = "leaks, within the claim"
    """It beats chance, and the claimed epsilon allows as much."""
    LEAKS = "leaks"
    """It beats chance, and nothing was claimed."""
    NOTHING = "nothing found"
    LEAKY = "leaky: void"
    """It also guesses labels that were redrawn afterwards."""
    VIEW_REVEALS = "view reveals label"
    """The same, and the declared view contains a loss computed with the label."""
    REFUSED = "not played"
    FAILED = "failed"
    """It broke while it was played, which says nothing about the model."""


@attrs.frozen(kw_only=True)
class Finding:
    """What one attack found.

    Attributes:
        attack: Its spec.
        word: The short answer.
        refusal: Why it was not played, or what went wrong; empty when it was played to its end.
        correct: Correct guesses.
        guesses: Guesses made; the rest are abstentions.
        accuracy: Share of the guesses that are correct, with its interval.
        p_chance: Exact p-value against 1/K, Holm-adjusted over the attacks.
        p_ceiling: p-value of the claim, Holm-adjusted; 1 without one. Exact against the claimed epsilon's ceiling for
            delta = 0, an upper bound for delta > 0 (:func:`labelinf_privacy.auditing.claim_p_value`).
        placebo: Correct guesses of the redrawn labels.
        p_placebo: Exact p-value of that, Holm-adjusted.
        epsilon: What the guesses prove, at error probability ``auditing.BETA`` over all attacks.
        placebo_share: Share of the guesses of the redrawn labels that are correct, with its interval.
        memorised: Share of the guesses that are the label the model was trained on, where that is known. No label-DP
            mechanism is meant to lower it.
    """

    attack: str
    word: Word
    refusal: str = ""
    correct: int = 0
    guesses: int = 0
    accuracy: Interval | None = None
    p_chance: float = 1.0
    p_ceiling: float = 1.0
    placebo: int = 0
    p_placebo: float = 1.0
    epsilon: auditing.EpsilonBound | None = None
    placebo_share: Interval | None = None
    memorised: Interval | None = None


@attrs.frozen(kw_only=True)
class Audit:
    """The answer.

    Attributes:
        n_canaries: Planted labels.
        n_classes: K.
        claimed: The epsilon that was claimed; infinity without a claim.
        delta: The delta that goes with it.
        ceiling: What the claim allows any attack to expect; for delta > 0 one run may well exceed it.
        provable: The most that so many canaries could have proved, one attack played alone.
        findings: One for every attack.
        notes: Doubts about the planted labels themselves.
    """

    n_canaries: int
    n_classes: int
    claimed: float
    delta: float
    ceiling: float
    provable: float
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def epsilon(self) -> float:
        """The largest epsilon proved by an attack that passes the placebo."""
        honest = [f.epsilon.epsilon for f in self.findings if f.word not in _VOID and f.epsilon]
        return max(honest, default=0.0)

    @property
    def refuted(self) -> bool:
        """Whether the claim is."""
        return any(finding.word is Word.REFUTES for finding in self.findings)

    @property
    def leaks(self) -> bool:
        """Whether an attack that passes the placebo beats chance."""
        return any(finding.word in (Word.LEAKS, Word.WITHIN, Word.REFUTES) for finding in self.findings)


_VOID = (Word.LEAKY, Word.VIEW_REVEALS)


@attrs.frozen(kw_only=True)
class Bout:
    """One attack as it was played.

    Attributes:
        attack: Its spec.
        ranked: Whether each guess is the planted label, most confident first, abstentions left out.
        placebo: The same of the guesses on the placebo.
        trained: Whether each guess is the label the model was trained on, or None where that is not known.
    """

    attack: str
    ranked: NDArray[np.bool_]
    placebo: NDArray[np.bool_]
    trained: NDArray[np.bool_] | None


def judge(bouts: Sequence[Bout], threat: OutputThreat, claimed: float, delta: float) -> list[Finding]:
    """Count every bout, correcting for there being several.

    Args:
        bouts: What was played.
        threat: What is public.
        claimed: The epsilon that is tested; infinity without a claim.
        delta: The delta that goes with it.
    """
    guesses, shams = [bout.ranked for bout in bouts], [bout.placebo for bout in bouts]
    p_values = zip(
        _chances(guesses, threat), _claims(guesses, threat, claimed, delta), _chances(shams, threat), strict=True
    )
    findings = []
    for bout, (p_chance, p_ceiling, p_placebo) in zip(bouts, p_values, strict=True):
        bound = auditing.one_run_epsilon(
            bout.ranked,
            n_canaries=threat.n_records,
            n_classes=threat.n_classes,
            beta=auditing.BETA / len(bouts),
            delta=delta,
        )
        correct, made = int(bout.ranked.sum()), bout.ranked.size
        finding = Finding(
            attack=bout.attack,
            word=_word(threat.view, p_placebo, p_chance, bound.epsilon, claimed),
            correct=correct,
            guesses=made,
            accuracy=_share(bout.ranked),
            p_chance=p_chance,
            p_ceiling=p_ceiling,
            placebo=int(bout.placebo.sum()),
            p_placebo=p_placebo,
            epsilon=bound,
            placebo_share=_share(bout.placebo),
            memorised=_share(bout.trained) if bout.trained is not None else None,
        )
        findings.append(finding)
    return findings


def _chances(which: Sequence[NDArray[np.bool_]], threat: OutputThreat) -> tuple[float, ...]:
    """Return the exact p-values against 1/K, Holm-adjusted."""
    return holm([p_value(int(item.sum()), item.size, 1 / threat.n_classes) for item in which])


def _claims(
    which: Sequence[NDArray[np.bool_]], threat: OutputThreat, epsilon: float, delta: float
) -> tuple[float, ...]:
    """Return the p-values of the claim, Holm-adjusted."""
    known = {"n_classes": threat.n_classes, "n_canaries": threat.n_records}
    p_values = [auditing.claim_p_value(int(item.sum()), item.size, epsilon, delta=delta, **known) for item in which]
    return holm(p_values)


def _share(correct: NDArray[np.bool_]) -> Interval | None:
    return clopper_pearson(int(correct.sum()), correct.size) if correct.size else None


def _word(view: View, p_placebo: float, p_chance: float, epsilon: float, claimed: float) -> Word:
    if p_placebo <= LEVEL:
        return Word.VIEW_REVEALS if view.reveals_label else Word.LEAKY
    if epsilon > claimed:
        return Word.REFUTES
    if p_chance > LEVEL:
        return Word.NOTHING
    return Word.LEAKS if math.isinf(claimed) else Word.WITHIN

"""What an audit of planted labels observes: one committed attack that counts, others beside it."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Interval
from labelinf_core.evaluator.placebo import LEVEL
from labelinf_core.statistics.epsilon_bounds import BETA
from labelinf_core.statistics.proportions import clopper_pearson, holm, p_value
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.committed import Commitment
from labelinf_outputs.audit.decision import Decision
from labelinf_outputs.audit.validity import IMPROBABLE
from labelinf_outputs.game.output import OutputThreat

__all__ = ["AttackRun", "Finding", "Observation", "OutputsAudit", "Ranking", "findings_of"]


class Observation(enum.Enum):
    """What was observed of one attack; it decides nothing."""

    COUNTED = "counted"
    """It was committed to: the decision tells what its guesses come to."""
    ABOVE = "above chance"
    BELOW = "below chance"
    NOTHING = "nothing found"
    LEAKY = "leaky: void"
    """It also guesses labels that were redrawn afterwards."""
    VIEW_REVEALS = "view reveals label"
    """The same, and the declared view contains a loss computed with the label."""
    VOID = "void"
    """Whatever it guessed, these were no planted labels."""
    REFUSED = "not played"
    FAILED = "failed"
    """It broke while it was played, which says nothing about the model."""


@attrs.frozen(kw_only=True)
class Finding:
    """What one attack found.

    Attributes:
        attack: Its spec.
        word: What was observed, in a word or two.
        refusal: Why it was not played, or what went wrong; empty when it was played to its end.
        correct: Correct guesses.
        guesses: Guesses made; the rest are abstentions.
        accuracy: Share of the guesses that are correct, with its interval.
        p_chance: Exact two-sided p-value against 1/K; Holm-adjusted over the attacks that were not committed to.
        placebo: Correct guesses of the redrawn labels.
        p_placebo: The same of those; of the committed attack, of the guesses that count.
        placebo_share: Share of the guesses of the redrawn labels that are correct, with its interval.
        memorised: Share of the guesses that are the label the model was trained on, where that is known. No label-DP
            mechanism is meant to lower it.
    """

    attack: str
    word: Observation
    refusal: str = ""
    correct: int = 0
    guesses: int = 0
    accuracy: Interval | None = None
    p_chance: float = 1.0
    placebo: int = 0
    p_placebo: float = 1.0
    placebo_share: Interval | None = None
    memorised: Interval | None = None

    def voided(self) -> Finding:
        """Return what is left of it where the labels were no planted ones: counts, which prove nothing."""
        return attrs.evolve(self, word=self.word if self.word in _VOID else Observation.VOID)


@attrs.frozen(kw_only=True, eq=False)
class Ranking:
    """The guesses of one model, surest first, abstentions left out.

    Attributes:
        canaries: Which planted label each is about.
        right: Whether it is that label.
    """

    canaries: NDArray[np.intp]
    right: NDArray[np.bool_]


_VOID = (Observation.LEAKY, Observation.VIEW_REVEALS)


@attrs.frozen(kw_only=True)
class OutputsAudit:
    """The answer.

    Attributes:
        n_canaries: Planted labels.
        n_classes: K.
        claim: What was claimed.
        ceiling: What the claim allows any attack to expect; for delta > 0 one run may well exceed it.
        committed: What counts.
        decision: What the committed guesses come to.
        findings: One for every attack.
        sealed: Whether ``labelinf plant`` drew the labels.
        n_models: Audited models; ``n_canaries`` counts the planted labels of all.
        first: What the committed attack guessed of the first model; None where it was not played to its end.
    """

    n_canaries: int
    n_classes: int
    claim: PrivacyClaim
    ceiling: float
    committed: Commitment
    decision: Decision
    findings: tuple[Finding, ...]
    sealed: bool
    n_models: int = 1
    first: Ranking | None = attrs.field(default=None, repr=False, eq=False)


@attrs.frozen(kw_only=True)
class AttackRun:
    """One attack as it was played.

    Attributes:
        attack: Its spec.
        ranked: Whether each guess is the planted label, most confident first, abstentions left out; of several models
            in turns, so that the first of them are the surest of each.
        placebo: The same of the guesses on the placebo.
        trained: Whether each guess is the label the model was trained on, or None where that is not known.
        first: The guesses of the first model alone.
    """

    attack: str
    ranked: NDArray[np.bool_]
    placebo: NDArray[np.bool_]
    trained: NDArray[np.bool_] | None
    first: Ranking


def findings_of(bouts: Sequence[AttackRun], threat: OutputThreat, committed: Commitment) -> dict[str, Finding]:
    """Count every bout, by the name of its attack.

    Args:
        bouts: What was played.
        threat: What is public.
        committed: What counts.
    """
    beside = [run_trial for run_trial in bouts if run_trial.attack != committed.attack]
    both = [b.ranked for b in beside], [b.placebo for b in beside]
    chances, shams = (holm([_chance(item, threat) for item in which]) for which in both)
    found = {
        run_trial.attack: _finding(run_trial, p_chance, p_placebo, _seen(run_trial, p_chance, p_placebo, threat))
        for run_trial, p_chance, p_placebo in zip(beside, chances, shams, strict=True)
    }
    for run_trial in bouts:
        if run_trial.attack == committed.attack:
            p_counted, p_placebo = (
                _chance(item[: committed.guesses], threat) for item in (run_trial.ranked, run_trial.placebo)
            )
            # A loss tells as much of redrawn labels; of five, which may prove something, IMPROBABLE is out of reach.
            told = threat.view.reveals_label and p_placebo <= p_counted <= 2 * BETA
            void = told or p_placebo <= IMPROBABLE
            word = _void(threat) if void else Observation.COUNTED
            found[run_trial.attack] = _finding(run_trial, _chance(run_trial.ranked, threat), p_placebo, word)
    return found


def _finding(run_trial: AttackRun, p_chance: float, p_placebo: float, word: Observation) -> Finding:
    return Finding(
        attack=run_trial.attack,
        word=word,
        correct=int(run_trial.ranked.sum()),
        guesses=run_trial.ranked.size,
        accuracy=_share(run_trial.ranked),
        p_chance=p_chance,
        placebo=int(run_trial.placebo.sum()),
        p_placebo=p_placebo,
        placebo_share=_share(run_trial.placebo),
        memorised=_share(run_trial.trained) if run_trial.trained is not None else None,
    )


def _seen(run_trial: AttackRun, p_chance: float, p_placebo: float, threat: OutputThreat) -> Observation:
    if p_placebo <= LEVEL:
        return _void(threat)
    if p_chance > LEVEL:
        return Observation.NOTHING
    return Observation.ABOVE if run_trial.ranked.mean() > 1 / threat.n_classes else Observation.BELOW


def _void(threat: OutputThreat) -> Observation:
    return Observation.VIEW_REVEALS if threat.view.reveals_label else Observation.LEAKY


def _chance(right: NDArray[np.bool_], threat: OutputThreat) -> float:
    """Return the exact p-value against 1/K, twice that of the smaller tail."""
    n_right, chance = int(right.sum()), 1 / threat.n_classes
    tails = p_value(n_right, right.size, chance), p_value(right.size - n_right, right.size, 1 - chance)
    return min(1.0, 2 * min(tails))


def _share(correct: NDArray[np.bool_]) -> Interval | None:
    return clopper_pearson(int(correct.sum()), correct.size) if correct.size else None

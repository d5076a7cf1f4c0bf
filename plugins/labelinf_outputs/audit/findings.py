"""What an audit of planted labels says: one committed attack that counts, others beside it, in words."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Interval
from labelinf_core.evaluator.placebo import LEVEL
from labelinf_core.evaluator.statistics import clopper_pearson, holm, p_value
from labelinf_outputs.audit.claim import Claim, Proof
from labelinf_outputs.audit.committed import Commitment
from labelinf_outputs.game.output import OutputThreat
from labelinf_outputs.game.view import View

__all__ = ["Audit", "Bout", "Conclusion", "Finding", "Ranking", "Word", "findings_of"]


class Word(enum.Enum):
    """What an audit says of one attack."""

    REFUTES = "refutes the claim"
    """It was committed to, and guesses more than the claimed epsilon allows."""
    WITHIN = "leaks, within the claim"
    """It beats chance, and does not refute the claimed epsilon."""
    LEAKS = "leaks"
    """It beats chance, and nothing was claimed."""
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


class Conclusion(enum.Enum):
    """What an audit says, and how a command ends."""

    REFUTED = "refuted"
    """The claimed epsilon is too small."""
    LEAKS = "leaks"
    """Planted labels come out; nothing was claimed."""
    NOT_REFUTED = "not refuted"
    """Planted labels come out, not more than is claimed; or none do, of a model that gives back what it should."""
    NOTHING_FOUND = "nothing found"
    """No planted label comes out, and labels that were trained on openly do."""
    INCONCLUSIVE = "inconclusive"
    """Nothing comes out, and nothing shows that anything could."""
    VOID = "void"
    """These were no planted labels, or the files do not belong together."""

    @property
    def status(self) -> int:
        """The exit code: 1 for what was found, 3 where nothing can be concluded."""
        found = {Conclusion.REFUTED: 1, Conclusion.LEAKS: 1, Conclusion.INCONCLUSIVE: 3, Conclusion.VOID: 3}
        return found.get(self, 0)


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
        placebo: Correct guesses of the redrawn labels.
        p_placebo: Exact p-value of that, Holm-adjusted.
        placebo_share: Share of the guesses of the redrawn labels that are correct, with its interval.
        memorised: Share of the guesses that are the label the model was trained on, where that is known. No label-DP
            mechanism is meant to lower it.
        proof: What the committed guesses prove; None of other attacks.
    """

    attack: str
    word: Word
    refusal: str = ""
    correct: int = 0
    guesses: int = 0
    accuracy: Interval | None = None
    p_chance: float = 1.0
    placebo: int = 0
    p_placebo: float = 1.0
    placebo_share: Interval | None = None
    memorised: Interval | None = None
    proof: Proof | None = None

    def voided(self) -> Finding:
        """Return what is left of it where the labels were no planted ones: counts, which prove nothing."""
        return attrs.evolve(self, word=self.word if self.word in _VOID else Word.VOID, proof=None)


@attrs.frozen(kw_only=True, eq=False)
class Ranking:
    """The guesses of one model, surest first, abstentions left out.

    Attributes:
        canaries: Which planted label each is about.
        right: Whether it is that label.
    """

    canaries: NDArray[np.intp]
    right: NDArray[np.bool_]


_VOID = (Word.LEAKY, Word.VIEW_REVEALS)


@attrs.frozen(kw_only=True)
class Audit:
    """The answer.

    Attributes:
        n_canaries: Planted labels.
        n_classes: K.
        claim: What was claimed.
        ceiling: What the claim allows any attack to expect; for delta > 0 one run may well exceed it.
        committed: What counts.
        findings: One for every attack.
        voids: Why this is no audit; empty when it is one.
        signal: Whether labels that were trained on openly come out; None when there are none.
        sealed: Whether ``labelinf plant`` drew the labels.
        n_models: Audited models; ``n_canaries`` counts the planted labels of all.
        first: What the committed attack guessed of the first model; None where it was not played to its end.
    """

    n_canaries: int
    n_classes: int
    claim: Claim
    ceiling: float
    committed: Commitment
    findings: tuple[Finding, ...]
    voids: tuple[str, ...]
    signal: bool | None
    sealed: bool
    n_models: int = 1
    first: Ranking | None = attrs.field(default=None, repr=False, eq=False)

    @property
    def counted(self) -> Finding:
        """What the committed attack found."""
        return next(finding for finding in self.findings if finding.attack == self.committed.attack)

    @property
    def proved(self) -> float:
        """The epsilon (or mu, where that is claimed) that is proved; 0 where the committed attack is void."""
        proof = self.counted.proof
        return 0.0 if proof is None or self.counted.word in _VOID else proof.level

    @property
    def provable(self) -> float:
        """The most that so many committed guesses could have proved."""
        return 0.0 if self.counted.proof is None else self.counted.proof.provable

    @property
    def leaks(self) -> bool:
        """Whether an attack that passes the placebo beats chance."""
        return any(finding.word in (Word.LEAKS, Word.WITHIN, Word.REFUTES) for finding in self.findings)

    @property
    def refuted(self) -> bool:
        """Whether the claim is."""
        return self.conclusion is Conclusion.REFUTED

    @property
    def conclusion(self) -> Conclusion:
        """What all of it comes to."""
        if self.voids or self.counted.word in _VOID:
            return Conclusion.VOID
        if self.counted.word is Word.REFUTES:
            return Conclusion.REFUTED
        if self.leaks:
            return Conclusion.NOT_REFUTED if self.claim.made else Conclusion.LEAKS
        if not self.signal or self.counted.word is Word.FAILED:
            return Conclusion.INCONCLUSIVE
        return Conclusion.NOT_REFUTED if self.claim.made else Conclusion.NOTHING_FOUND


@attrs.frozen(kw_only=True)
class Bout:
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


def findings_of(
    bouts: Sequence[Bout], threat: OutputThreat, claim: Claim, committed: Commitment, n_canaries: int
) -> list[Finding]:
    """Count every bout; the committed one against the claim, all against chance.

    Args:
        bouts: What was played.
        threat: What is public.
        claim: What is tested.
        committed: What counts.
        n_canaries: Planted labels of all audited models.
    """
    chances, shams = (_chances(which, threat) for which in ([b.ranked for b in bouts], [b.placebo for b in bouts]))
    findings = []
    for bout, p_chance, p_placebo in zip(bouts, chances, shams, strict=True):
        proof = None
        if bout.attack == committed.attack:
            proof = claim.proof(bout.ranked, committed.guesses, n_classes=threat.n_classes, n_canaries=n_canaries)
        finding = Finding(
            attack=bout.attack,
            word=_word(threat.view, p_placebo, p_chance, proof, claim),
            correct=int(bout.ranked.sum()),
            guesses=bout.ranked.size,
            accuracy=_share(bout.ranked),
            p_chance=p_chance,
            placebo=int(bout.placebo.sum()),
            p_placebo=p_placebo,
            placebo_share=_share(bout.placebo),
            memorised=_share(bout.trained) if bout.trained is not None else None,
            proof=proof,
        )
        findings.append(finding)
    return findings


def _chances(which: Sequence[NDArray[np.bool_]], threat: OutputThreat) -> tuple[float, ...]:
    """Return the exact p-values against 1/K, Holm-adjusted."""
    return holm([p_value(int(item.sum()), item.size, 1 / threat.n_classes) for item in which])


def _share(correct: NDArray[np.bool_]) -> Interval | None:
    return clopper_pearson(int(correct.sum()), correct.size) if correct.size else None


def _word(view: View, p_placebo: float, p_chance: float, proof: Proof | None, claim: Claim) -> Word:
    if p_placebo <= LEVEL:
        return Word.VIEW_REVEALS if view.reveals_label else Word.LEAKY
    if proof is not None and proof.level > claim.level:
        return Word.REFUTES
    if p_chance > LEVEL:
        return Word.NOTHING
    return Word.WITHIN if claim.made else Word.LEAKS

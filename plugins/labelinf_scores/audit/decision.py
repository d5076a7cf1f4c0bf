"""What an audit of a scorer comes to: one frozen object, of which word, exit status, proof and remedies are read.

============================================================================  ======
what is found                                                                 status
============================================================================  ======
an attack got more than the target tolerates; without one, more than luck     1
an attack broke                                                               4
a certificate of the board as deployed, within the target that was given      0
anything else: attacks that failed prove nothing                              3
============================================================================  ======
"""

from __future__ import annotations

import attrs

from labelinf_core.advise.target import Target
from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.errors import InputError
from labelinf_core.statistics.proportions import clopper_pearson
from labelinf_privacy.label_dp import pure_accuracy
from labelinf_scores.audit.advice import Remedy
from labelinf_scores.audit.certificate import BoardCertificate
from labelinf_scores.audit.scorer import Extraction

__all__ = ["NOTHING", "Goal", "ScorerDecision"]

_ALARM = 0.01  # chance that luck alone is called a leak, over all attacks


@attrs.frozen(kw_only=True)
class Goal:
    """What a host wants to be true, as she wrote it.

    Attributes:
        target: A share of labels, ``no-exact-recovery`` or ``epsilon<=1``.
        gain: A fraction of the labels over the best blind guess, instead.
        most: Labels a query, more of which are a leak; None: what the target says.
        aim: Over the best blind guess, what remedies reach where she wrote neither.
    """

    target: str = ""
    gain: float | None = None
    most: float | None = None
    aim: float = 0.05

    @property
    def given(self) -> bool:
        """Whether she wrote what is to be true, without which nothing can be proved to be."""
        return bool(self.target) or self.gain is not None

    def read(self, blind: float) -> Target:
        """Return the target, where a blind guess has ``blind`` of the labels.

        Raises:
            InputError: It cannot be meant.
        """
        if self.target and self.gain is not None:
            raise InputError("--target and --gain both say what is to be reached; give one.")
        if self.gain is not None:
            return Target.gaining(self.gain, blind)
        if self.target or blind >= 1:
            return Target.parse(self.target or "no-exact-recovery", blind)
        return Target.gaining(min(self.aim, (1 - blind) / 2), blind)


NOTHING = Goal()  #: she wrote nothing


@attrs.frozen(kw_only=True)
class ScorerDecision(AuditDecision):
    """What an audit comes to.

    Attributes:
        goal: What was asked for.
        target: The same, read.
        leaks: What every attack got.
        worth: How many labels count as independent.
        prior: Share of every class.
        proof: What is proved of the board as deployed to be within the target; None: nothing.
        unnamed: How each of several numbers is asked for, where none was: nothing is proved of the others.
        besides: What else was told of the labels: nothing is proved of both.
        remedies: What is proved to reach the target and does not stand there yet.
    """

    goal: Goal
    target: Target
    leaks: tuple[Extraction, ...] = ()
    worth: float
    prior: tuple[float, ...]
    proof: BoardCertificate | None = None
    unnamed: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()

    @property
    def word(self) -> AuditWord:
        """The answer in a word."""
        if self.leaking:
            return AuditWord.LEAKS
        if any(leak.failure for leak in self.leaks):
            return AuditWord.BROKEN
        certified = self.proof is not None and self.goal.given and not self.unnamed
        return AuditWord.CERTIFIED if certified else AuditWord.UNSHOWN

    @property
    def leaking(self) -> tuple[str, ...]:
        """The attacks that got more than is tolerated; nothing leaks where a blind guess has every label."""
        most = self.goal.most
        leaks = (got for got in self.leaks if self._surely(got) or (most is not None and got.labels_per_query > most))
        return tuple(got.attack for got in leaks)

    def _surely(self, leak: Extraction) -> bool:
        """Whether it has all, or one of so many does so much better than is tolerated by luck with chance 1 %."""
        if not (leak.accuracy and leak.queries and leak.baseline < 1 and (self.goal.given or self.goal.most is None)):
            return False
        tried, right = sum(not each.refusal for each in self.leaks), leak.accuracy.value * self.worth
        return leak.exact or clopper_pearson(right, self.worth, 1 - 2 * _ALARM / tried).low > self._tolerated(leak)

    def _tolerated(self, leak: Extraction) -> float:
        """Return the share of labels that is tolerated: without a target, that of the majority guess."""
        if not self.goal.given:
            return leak.baseline
        if self.target.epsilon is not None:
            return max(leak.baseline, pure_accuracy(self.target.epsilon, self.prior))
        return 1.0 if self.target.accuracy is None else max(leak.baseline, self.target.accuracy)

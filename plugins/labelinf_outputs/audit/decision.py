"""What an audit comes to: one frozen object, of which word, exit status, proof and remedy are read.

Everything in it comes from the guesses that were committed to: what they prove (:class:`~.claim.EpsilonProof`), whether
they are void, and whether this audit could have seen a leak. What other attacks do is shown beside it and decides
nothing.

=============================================================================================  ========  ======
what is found                                                                                  claimed   status
=============================================================================================  ========  ======
void: no audit                                                                                 any       3
the lower bound is above the claim                                                             yes       1
the lower bound is above 0: *leaks*                                                            no        1
no leak is shown                                                                               no        3
not refuted; an attack that reads every trained label would refute twice the claim with POWER  yes       0
not refuted, with less of that power; or nothing carries a signal                              yes       3
=============================================================================================  ========  ======
"""

from __future__ import annotations

import attrs

from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_outputs.audit.claim import EpsilonProof, PrivacyClaim

__all__ = ["POWER", "Decision"]

POWER = 0.95  #: what an audit must have against twice a claim, to pass it

_REMEDY = "training behind a label-DP mechanism (label-rr, lp-mst, alibi, pate), as proved for each"


@attrs.frozen(kw_only=True)
class Decision(AuditDecision):
    """What the committed guesses come to.

    Attributes:
        claim: What was claimed.
        found: What the committed guesses prove where they are no void ones; None where they were not made.
        voids: Why this is no audit; empty when it is one.
        signal: Whether labels that were trained on openly come out; None when there are none.
        power: How probably a model that keeps labels as twice the claim allows would have been refuted, if the attack
            reads every label that was trained on; None without a claim.
    """

    claim: PrivacyClaim
    found: EpsilonProof | None
    voids: tuple[str, ...] = ()
    signal: bool | None = None
    power: float | None = None

    @property
    def proof(self) -> EpsilonProof | None:
        """What is proved; None where nothing can be."""
        return None if self.voids else self.found

    @property
    def level(self) -> float:
        """The epsilon (or mu, where that is claimed) that is proved."""
        return self.proof.level if self.proof else 0.0

    @property
    def word(self) -> AuditWord:
        """The answer in a word."""
        if self.voids:
            return AuditWord.VOID
        return AuditWord.LEAKS if self.leaks else AuditWord.UNSHOWN

    @property
    def claimed(self) -> AuditWord | None:
        """What became of the claim; None without one."""
        if not self.claim.made:
            return None
        if self.refuted:
            return AuditWord.REFUTED
        return AuditWord.WITHSTOOD if self.passed else AuditWord.UNSHOWN

    @property
    def leaks(self) -> bool:
        """Whether anything is proved, within a claim or beyond it."""
        return self.level > 0

    @property
    def refuted(self) -> bool:
        """Whether the claim is."""
        return self.level > self.claim.level

    @property
    def passed(self) -> bool:
        """Whether a claim withstood an audit that carries a signal, where reading every label would refute twice it."""
        carries = self.leaks or bool(self.signal and self.proof)
        return self.power is not None and not self.refuted and carries and self.power >= POWER

    @property
    def remedy(self) -> str:
        """What stops the leak; empty where none is shown."""
        return _REMEDY if self.leaks else ""

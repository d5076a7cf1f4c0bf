"""Reference-calibrated attack: what does this model say that models with other planted labels do not?

The adversary trains models of the same pipeline with planted labels of its own and guesses

    argmax_k  log p_k(x) - base_k(x),

where the base is what its models say of the record. The plain mean over references (difficulty calibration: Watson et
al., ICLR 2022) is biased where their own labels of the record are unbalanced. *Balanced*, the base is fitted by least
squares to ``log p_rk = base_k + shift 1[z_r = k]``, where z_r is the label that reference r was trained on: one shift
per record, drawn half-way to the shift of all records because few references determine it badly.

References must contain the canaries, with random labels: without them the attack hardly beats a threshold.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_outputs.attacks.answering import AbstainingAttack, best_class, lead
from labelinf_outputs.game.output import OutputOracle, OutputThreat, References

__all__ = ["Calibrated", "balanced_base", "needs_references"]

Floats = NDArray[np.float64]


def needs_references(threat: OutputThreat, least: int) -> str:
    """Return why an attack that needs ``least`` reference models cannot be played, or nothing."""
    have = threat.view.references
    return "" if have >= least else f"needs {least} reference models, the declared view has {have}"


def balanced_base(references: References) -> Floats:
    """Return what the references say of every record and class, their own labels allowed for, shape ``(n, K)``."""
    said = references.log_probabilities
    own = np.asarray(references.trained[:, :, None] == np.arange(said.shape[2]), dtype=float)
    spread = own - own.mean(axis=0)
    weight = (spread**2).sum(axis=(0, 2))
    moment = (spread * said).sum(axis=(0, 2))
    shared = moment.sum() / max(weight.sum(), 1e-12)
    each = np.divide(moment, weight, out=np.full_like(weight, shared), where=weight > 0)
    shift = (shared + each) / 2
    return np.asarray(said.mean(axis=0) - shift[:, None] * own.mean(axis=0))


@attrs.frozen(kw_only=True)
class Calibrated(AbstainingAttack):
    """Guesses the class that the model favours more than reference models do.

    Attributes:
        balanced: Allow for the references' own labels of each record.
        abstain: Share of the canaries on which it declines, in [0, 1).
    """

    balanced: bool = True

    def missing_requirement(self, threat: OutputThreat) -> str:
        """It needs a reference model."""
        return needs_references(threat, 1)

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        """Compare with the references; the lead of the best class is the confidence."""
        references = oracle.references()
        base = balanced_base(references) if self.balanced else references.log_probabilities.mean(axis=0)
        gains = oracle.query().log_probabilities - base
        return self.answer(best_class(gains), lead(gains))

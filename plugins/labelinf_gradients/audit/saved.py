"""Updates of single records that were saved: which labels they determine, and what that assumes."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.errors import InputError
from labelinf_core.statistics.proportions import clopper_pearson
from labelinf_gradients.audit.updates import Update
from labelinf_gradients.game.networks import Network
from labelinf_gradients.recovery.results import BFLOAT16, FLOAT16, GradientPrecision, RecoveryStatus
from labelinf_gradients.recovery.solver import recover

__all__ = ["Saved", "audit_saved"]

_LEAST_HALF = 2.0**-25  # half the distance of the smallest numbers of float16


@attrs.frozen(kw_only=True)
class Saved(AuditDecision):
    """What an audit of saved updates found.

    Attributes:
        n_updates: How many there are.
        certain: Of how many one label explains all.
        listed: Of how many several labels are listed, or the class alone is known.
        correct: How many hard labels are right, where the file holds them; -1 otherwise.
        agree: Of how many whose label one explanation determines it is the file's; -1 without labels.
        blind: Share of the commonest label in the file.
        scaled: Whether they are gradients up to a factor only.
        remark: What may be behind those that no label explains.
        assumes: What is not checked, for a file does not say it.
    """

    n_updates: int
    certain: int
    listed: int
    correct: int = -1
    agree: int = -1
    blind: float = 0.0
    scaled: bool = False
    remark: str = ""
    assumes: str = "every update is of one record"

    @property
    def contradicted(self) -> bool:
        """Whether determined labels are not those of the file, and agree no more often than a blind guess may."""
        surely = self.certain > 0 and clopper_pearson(max(0, self.agree), self.certain).low > self.blind
        return 0 <= self.agree < self.certain and not surely

    @property
    def word(self) -> AuditWord:
        """The answer in a word."""
        return AuditWord.LEAKS if self.leaks else AuditWord.UNSHOWN

    @property
    def leaks(self) -> bool:
        """Whether labels are determined, and nothing that is given contradicts them."""
        return self.certain > 0 and not self.contradicted


def audit_saved(
    updates: list[Update], labels: NDArray[np.intp] | None, network: Network, precision: GradientPrecision
) -> Saved:
    """Solve saved updates of single records, as they are and up to a factor of either sign, whichever explains more.

    Args:
        updates: Each of one record.
        labels: The classes behind them, if they are known.
        network: What they were computed from.
        precision: How exactly their numbers are known.

    Raises:
        InputError: The labels are not one class for every update.
    """
    if labels is not None and labels.shape != (len(updates),):
        raise InputError(
            f"'labels' has shape {labels.shape}, expected ({len(updates)},): a file holds updates of one record each."
        )
    weight, layer = network.classifier_names[0], network.classifier
    gradients = np.array([update[weight] for update in updates])
    gradients[_of_several(gradients, precision)] = np.nan  # which explains nothing
    tries = []
    for scaled_, sign in ((False, 1), (True, -1), (True, 1)):
        found = recover(
            sign * gradients,
            layer.weights,
            bias=layer.bias,
            nonnegative=network.nonnegative,
            precision=precision,
            scaled=scaled_,
        )
        explained = sum(status is not RecoveryStatus.UNEXPLAINED for status in found.status)
        tries.append((explained, found, scaled_))
    explained, best, scaled_ = max(tries, key=lambda item: item[0])
    unique = np.array([status is RecoveryStatus.UNIQUE for status in best.status], dtype=bool)
    certain = int(unique.sum())
    silent = sum(status is RecoveryStatus.NO_INFORMATION for status in best.status)
    return Saved(
        n_updates=len(updates),
        certain=certain,
        listed=explained - certain - silent,
        correct=-1 if labels is None else int((best.hard == labels).sum()),
        agree=-1 if labels is None else int((best.hard == labels)[unique].sum()),
        blind=0.0 if labels is None else float(np.unique(labels, return_counts=True)[1].max(initial=0) / len(updates)),
        scaled=scaled_,
        remark=best.remark,
    )


def _of_several(gradients: NDArray[np.float64], precision: GradientPrecision) -> NDArray[np.bool_]:
    """Return which gradients in a half are further from rank one than the rounding of one record's can put them."""
    if precision not in (FLOAT16, BFLOAT16):
        return np.zeros(len(gradients), dtype=bool)
    squares = np.linalg.svd(gradients, compute_uv=False) ** 2
    lost = _LEAST_HALF * math.sqrt(gradients[0].size) if precision == FLOAT16 else 0.0
    bound = 1.01 * precision.rounding * np.sqrt(squares.sum(axis=1)) + lost
    return np.asarray(np.sqrt(squares[:, 1:].sum(axis=1)) > bound)

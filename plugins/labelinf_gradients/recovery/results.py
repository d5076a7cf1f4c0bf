"""What a recovery says: labels, features, every other candidate, and how far its own evidence carries."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from labelinf_gradients.recovery.patterns import Pattern
    from labelinf_gradients.recovery.problem import Problem

__all__ = ["BFLOAT16", "FLOAT16", "FLOAT32", "FLOAT64", "GradientPrecision", "Recovery", "RecoveryStatus"]


class RecoveryStatus(enum.Enum):
    """What the attacker can say about one recovered label without ever seeing the truth."""

    UNIQUE = "unique"
    """One label explains the gradient, and a gradient of another origin (other labels, a bias or a factor that was not
    told) would hardly ever have a label that explains it as well: see ``chance``."""

    AMBIGUOUS = "ambiguous"
    """Several different labels explain it, or one that too few equations speak for. Where the recovery is ``complete``
    all labels of the families that were tried are among the candidates; where some family leaves an interval of
    weights, they cannot be listed."""

    SMOOTHING_FACTOR_UNIDENTIFIABLE = "smoothing_factor_unidentifiable"
    """The hard label is known, its weight only as an interval: the probabilities are saturated."""

    MIXING_WEIGHT_UNIDENTIFIABLE = "mixing_weight_unidentifiable"
    """The two classes are known, their weights only as an interval: the probabilities are saturated."""

    NO_INFORMATION = "no_information"
    """The gradient is zero, or underflowed: a prediction equal to its label does that, and a zero feature."""

    UNEXPLAINED = "unexplained"
    """No label of the family explains it: it is noisy, defended, of a batch, or of another family."""


_LEAST_SLACK = 1e-3  # entries whose largest have cancelled do not sum to zero
_CLEARLY = 100  # a candidate that leaves this many times more unexplained than another is not its rival


@attrs.frozen(kw_only=True)
class GradientPrecision:
    """How exactly gradients are known.

    Attributes:
        rounding: Relative error of one entry.
        tolerance: Largest share of a gradient that an accepted label leaves unexplained.
        least: The smallest number that the format holds at full precision.
    """

    rounding: float = attrs.field(validator=attrs.validators.gt(0))
    tolerance: float = attrs.field(validator=attrs.validators.gt(0))
    least: float = 0.0

    @property
    def convincing(self) -> float:
        """A share of the gradient that rounding alone leaves unexplained.

        Generous: where rows of the weights are equal, a wrong family may explain a gradient to the last bit.
        """
        return 16 * self.rounding

    @property
    def slack(self) -> float:
        """How negative an entry of a label may be from rounding, and how far its sum from one."""
        return max(_LEAST_SLACK, 4 * self.rounding)

    @property
    def same(self) -> float:
        """L1 distance up to which two labels are one, and up to which a weight is a number and no interval."""
        return max(_LEAST_SLACK, 16 * self.rounding)

    def comparable(self, other: NDArray[np.float64], best: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether the unexplained share ``other`` does not rule a candidate out beside a ``best`` one."""
        return (other <= self.tolerance) & (other <= np.maximum(self.convincing, _CLEARLY * best))


FLOAT64 = GradientPrecision(rounding=4e-16, tolerance=1e-8, least=2.0**-1022)
FLOAT32 = GradientPrecision(rounding=1.2e-7, tolerance=2e-5, least=2.0**-126)
FLOAT16 = GradientPrecision(rounding=4.9e-4, tolerance=2e-3, least=2.0**-14)
BFLOAT16 = GradientPrecision(rounding=3.9e-3, tolerance=1e-2, least=2.0**-126)


@attrs.frozen(kw_only=True, eq=False)
class Recovery:
    """Labels and features recovered from ``n`` gradients.

    Attributes:
        labels: Soft labels, shape ``(n, C)``; NaN where there is no candidate at all.
        scales: ``t``, the signed norm of the feature along its direction, shape ``(n,)``; NaN as above.
        directions: ``v``, shape ``(n, I)``; None when only the scalar problem was given.
        status: What the evidence says, shape ``(n,)``, of :class:`RecoveryStatus`.
        residual: Share of the gradient outside S that the label leaves unexplained, shape ``(n,)``.
        rival: The same for the best candidate with another label, shape ``(n,)``; infinite when there is none.
        error: Estimated L1 error of the label from rounding alone, shape ``(n,)``.
        lightest: Least weight that the heaviest class of the label can have, shape ``(n,)``.
        heaviest: Largest weight that it can have, shape ``(n,)``.
        families: The pattern that each label follows, shape ``(n,)``.
        candidates: All accepted scales, of every family that was tried, shape ``(n, m)``, NaN beyond the last.
        factors: What the gradients were multiplied by, shape ``(n,)``; ones unless that was to be found.
        candidate_factors: The same for every candidate, shape ``(n, m)``.
        problem: What was solved.
        scaled: Whether the gradients were taken to be known up to a factor only.
        complete: Whether the candidates are all there are, shape ``(n,)``: no family left an interval of weights, and
            that the label is of one of them is no accident.
        chance: Bound on how likely a gradient of another origin has an answer as good, shape ``(n,)``; 1 where a margin
            fails (:mod:`labelinf_gradients.recovery.evidence`).
        declared: The one family that was tried, where it was declared; empty otherwise.
    """

    labels: NDArray[np.float64]
    scales: NDArray[np.float64]
    directions: NDArray[np.float64] | None
    status: tuple[RecoveryStatus, ...]
    residual: NDArray[np.float64]
    rival: NDArray[np.float64]
    error: NDArray[np.float64]
    lightest: NDArray[np.float64]
    heaviest: NDArray[np.float64]
    families: tuple[Pattern | None, ...]
    candidates: NDArray[np.float64]
    complete: NDArray[np.bool_]
    factors: NDArray[np.float64]
    candidate_factors: NDArray[np.float64]
    chance: NDArray[np.float64]
    problem: Problem = attrs.field(repr=False)
    scaled: bool = False
    declared: str = ""

    def listed(self, row: int) -> NDArray[np.float64]:
        """Return every label that explains one gradient, shape ``(k, C)``, the best first.

        Args:
            row: Which gradient.
        """
        scales = self.candidates[row]
        known = np.isfinite(scales)
        part = self.problem.rescaled(np.full(int(known.sum()), row), self.candidate_factors[row][known])
        return part.labels(scales[known])

    @property
    def remark(self) -> str:
        """What may be behind gradients that no label explains, as one sentence; empty where there is none."""
        n, lost = len(self.status), sum(status is RecoveryStatus.UNEXPLAINED for status in self.status)
        reasons = ["several samples behind one gradient", "noise, compression or another defence"]
        if not self.scaled:
            reasons.append("a factor (clipping, a rate, a loss scale: scaled=True solves for it)")
        if self.problem.offsets is None:
            reasons.insert(0, "a bias of the layer that was not given (bias=..., or pass the layer itself)")
        return f"{lost} of {n} gradients are unexplained; it may be {', '.join(reasons)}." if lost else ""

    @property
    def condition(self) -> str:
        """What no gradient can tell: what was declared, and behind an unknown factor how classes weigh; or empty."""
        said = [f"labels are of the family {self.declared!r}, as was declared"] if self.declared else []
        if self.scaled:  # weighed by class, a mixed label is another mixed label, and a factor
            said.append("every class weighs alike in the loss")
        return f"If {' and '.join(said)}." if said else ""

    @property
    def hard(self) -> NDArray[np.intp]:
        """The heaviest class of every label, shape ``(n,)``; -1 where there is no candidate.

        Of a mixed label whose weights are lost it is one of the two: which is the heavier is not known.
        """
        known = np.isfinite(self.scales)
        return np.where(known, np.where(known[:, None], self.labels, 0).argmax(axis=1), -1)

    @property
    def features(self) -> NDArray[np.float64]:
        """``x = t v``, shape ``(n, I)``.

        Raises:
            ValueError: Only the scalar problem was given.
        """
        if self.directions is None:
            raise ValueError("only the scalar problem was solved; features need the gradients themselves.")
        return np.asarray(self.scales[:, None] * self.directions)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """How far ahead of any other label the best one is, in [0, 1], shape ``(n,)``; 0 where nothing is known."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ahead = 1 - self.residual / self.rival
        return np.where(np.isfinite(self.residual), np.clip(np.nan_to_num(ahead, nan=0.0), 0, 1), 0.0)

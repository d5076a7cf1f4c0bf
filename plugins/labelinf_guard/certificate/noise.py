"""What integer noise proves: a distance for every record, bits for all of them, and a final release.

The noise is the *discrete* Gaussian, of weights ``exp(-k**2 / 2 s**2)`` on the integers, s at least five steps
(:func:`labelinf_privacy.noise.discrete_gaussian.discrete_gaussian`). ``q`` answers, each moved by ``moved`` steps at
most when one record changes, however they are chosen, tell no more than q that are all moved by so many: the law is
log-concave, so that the largest shift is the worst. Of those the sum is sufficient, and with ``mu = moved sqrt(q) / s``

* *counts unknown*: gain at most ``D`` times the total variation between the sum and the sum that is moved by
  ``m = q moved``, as ``max_j p_j f_j <= p_1 f_1 + sum p_j (f_j - f_1)+``. That is what the sum gives to the m integers
  around 0. ``2 Phi(mu / 2) - 1`` is *false* here: below it for even m, above it for odd m (s = 1, m = 1: a coin is
  guessed with .69947, Phi says .69146). The sum of q discrete Gaussians is the one of variance ``q s**2``, up to a
  factor ``((1 + e) / (1 - e))**q``, ``e = 2.01 exp(-pi**2 s**2)``. *Proof.* Of two, of variances a and b, the sum is x
  with ``exp(-x**2 / 2 (a + b))`` times a sum over the lattice of a Gaussian of variance ``ab / (a + b) >= s**2 / 2``
  around some real point, which by Poisson's formula is the same for all points up to ``1 +- e``. Induction. At five
  steps e is below ``10**-100``;
* *bits, counts unknown*: the mutual information of all labels and all answers is at most N times that of one label and
  its answers given the others (chain rule; independent labels): ``log2(1 + p (1 - p) mu**2) / 2`` for two classes, as
  through a Gaussian channel, and ``(1 - 1 / K) mu**2 / 2`` nats in general. *Proof.* The information is at most the
  mean divergence of the answers from *any* law R. Let R be the discrete Gaussian of the covariance that the answers
  have, ``s**2 + p (1 - p) moved**2 J``, around their mean: by Poisson's formula its normaliser is at most that of the
  real one times what the noise's is more than the real one, which cancels; what is left is half the logarithm of the
  determinants, and a factor ``1 + 10**-100``. In general the divergence of integer moves is ``mu**2 / 2``, exactly.
  Scores that were all chosen before any was told have such an R too, whence :func:`capacity_bits`;
* *counts known*: whoever knows them chooses what to ask by them, and given them labels are dependent. The first form
  is *false*: N = 2, one label of each class, s = 1: .691 of the labels, where ``Phi(1/4) = .599``; and so is the
  second: of three labels of shares .52, .27 and .72 weak noise tells .72 of ``mu**2 / 2`` nats where it says .68. Of
  two classes ``log2(1 + 4 p (1 - p) mu**2) / 2`` holds. *Proof.* Chain rule, given the counts: independent labels of a
  given sum, and of a sum that is one less, are coupled so that they differ in one place (Pemantle and Peres, 2014,
  Section 2), so that a label moves the answers together with one other at most: by ``2 mu``. The variance of a label
  given what came before is ``p (1 - p)`` at most on average. To these bits the counts are added, and the sum is worth
  what :func:`~labelinf_guard.certificate.gain.gain_of_bits` says. Of more classes, or of groups, nothing is proved.
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np

__all__ = ["FEWEST_STEPS", "StepNoise", "capacity_bits", "lattice_log", "order_bits", "record_bits", "score_variance"]

FEWEST_STEPS = 5  #: of a deviation, for what is proved here of sums and bits
_UP = 1 + 1e-9
_BLOCKS = 1 << 15
_FAR = 40  # deviations, beyond which less than exp(-800) lies


@attrs.frozen(kw_only=True)
class StepNoise:
    """Discrete Gaussian noise of all answers of a board.

    Attributes:
        moved: Steps by which one record (group) moves one answer at most.
        answers: q, of all teams together.
        variance: ``s**2`` of one answer, in steps.
    """

    moved: int
    answers: int
    variance: Fraction

    @property
    def square(self) -> Fraction:
        """``mu**2``."""
        return self.moved**2 * self.answers / self.variance

    @property
    def mu(self) -> float:
        """``moved sqrt(q) / s``."""
        return math.sqrt(self.square) * _UP

    def distance(self) -> float:
        """Return the total variation of all answers when one record changes: the exact lattice sum, rounded up.

        Of fewer steps than :data:`FEWEST_STEPS` a sum is no discrete Gaussian, and the lattice sum may be below it: 1.
        """
        if self.answers > 1 and self.variance < FEWEST_STEPS**2:
            return 1.0
        shift = self.moved * self.answers
        return min(1.0, math.exp(lattice_log(-(shift // 2), (shift - 1) // 2, self.answers * self.variance)))


def lattice_log(first: int, last: int, variance: Fraction) -> float:
    """Return the logarithm of what a discrete Gaussian gives to the integers from ``first`` to ``last``, from above.

    Up to 32 768 integers are added one by one. More of them are added in so many blocks: where the weights are concave
    (up to one deviation from 0) a block is at most its size times the weight of its middle, where they are convex at
    most its size times the mean of its ends (Jensen).
    """
    deviation = math.sqrt(variance)
    far = math.ceil(_FAR * deviation)
    first, last = max(first, min(last, 0) - far), min(last, max(first, 0) + far)
    if first > last:
        return -math.inf
    size = -(-(last - first + 1) // _BLOCKS)
    low = first + np.arange(0, last - first + 1, size, dtype=np.float64)
    high = np.minimum(low + size - 1, last)
    inner, outer = np.maximum(np.maximum(low, -high), 0), np.maximum(-low, high)  # how near to 0, how far from it
    nearest = float(inner.min())

    def weight(at: np.ndarray) -> np.ndarray:
        return np.exp((nearest - np.abs(at)) * (nearest + np.abs(at)) / (2 * float(variance)))

    flat = np.where(inner >= deviation, (weight(low) + weight(high)) / 2, weight(inner))
    each = np.where(outer <= deviation, weight((low + high) / 2), flat)
    total = float(((high - low + 1) * each).sum())
    return math.log(total) - nearest**2 / (2 * float(variance)) - math.log(_normaliser(variance)) + 1e-9


def _normaliser(variance: Fraction) -> float:
    """Return the sum of all weights, from below: that of the normal law, or a sum where there are few steps."""
    if variance >= FEWEST_STEPS**2:
        return math.sqrt(2 * math.pi * variance)
    reach = math.ceil(_FAR * math.sqrt(variance))
    return math.fsum(math.exp(-(k * k) / (2 * variance)) for k in range(-reach, reach + 1))


def record_bits(
    labels: int, mu: float, *, classes: int, left: float, grouped: bool = False, counts_known: bool = False
) -> float:
    """Return the mutual information, at most, of all labels and all answers behind discrete Gaussian noise.

    Args:
        labels: N; where ``grouped``, the number of groups, each moving the answers by ``mu`` at most.
        mu: Of all answers together; see :attr:`StepNoise.mu`.
        classes: K.
        left: D, what a perfect model leaves to gain.
        grouped: Whether a record is a group of labels that depend on each other.
        counts_known: Whether answers are asked for by somebody who knows the class counts; their own bits are not
            among those returned.

    Returns:
        Infinity where nothing is proved.
    """
    if counts_known and (grouped or classes > 2):
        return math.inf
    if classes == 2 and not grouped:
        moved = 2 * mu if counts_known else mu
        return labels / 2 * math.log2(1 + (1 - left) * left * moved * moved) * _UP
    share = 1.0 if grouped else 1 - 1 / classes
    return labels * share * mu * mu / 2 / math.log(2) * _UP


def capacity_bits(answers: int, variance: Fraction, noise: Fraction) -> float:
    """Return ``q log2(1 + V / s**2) / 2``: what q scores tell that were all chosen before any of them was told.

    Args:
        answers: q.
        variance: V, of one score over the labels.
        noise: ``s**2``, in the same unit, more than 0.
    """
    return answers / 2 * math.log2(1 + variance / noise) * _UP


def score_variance(
    span: Fraction, labels: int, *, classes: int, effective: Fraction | None = None, counts_known: bool = False
) -> Fraction | None:
    """Return V: how much a score, the mean of one number for every label, varies at most over the labels.

    Independent labels: ``span**2 / 4 N``. Two classes of known counts: twice that, as the score that varies most adds
    some labels and takes the others away; given the sum of all, the sum of either part is one of independent ones (the
    law is strongly Rayleigh), and both parts have the same variance: that of the smaller one, ``N / 8`` at most.

    Args:
        span: By how much one label moves N times the score.
        labels: N, at least 1.
        classes: K.
        effective: N_eff where labels come in groups; None where they are independent.
        counts_known: Whether the counts of the classes are known.

    Returns:
        None where nothing is proved.
    """
    if not counts_known:
        return span * span / (4 * (effective or labels))
    return span * span / (2 * labels) if classes == 2 and effective is None else None


def order_bits(teams: int, ranks: int) -> float:
    """Return ``log2(teams! / (teams - ranks)!)``: the exact order of the first ``ranks`` of ``teams``."""
    return (math.lgamma(teams + 1) - math.lgamma(max(teams - ranks, 0) + 1)) / math.log(2) * _UP

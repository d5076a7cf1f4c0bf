"""What integer noise proves: a distance for every record, bits for all of them, and a final release.

The noise is a normal deviate **rounded to an integer**
(:class:`labelinf_privacy.noise.grid_gaussian.GridGaussian`). Added to an integer it is the rounding of real noise added
to it, so that everything proved of real Gaussian noise holds word for word. The *discrete* Gaussian, with weights
``exp(-k**2 / 2 s**2)``, is another law: there ``Phi(mu / 2)`` is false (:func:`discrete_success` is its exact value).

``q`` answers, each moved by ``move`` at most when one record changes, under noise of deviation ``s``, are
``mu = move sqrt(q) / s`` Gaussian private for every record, however they are chosen. Then

* *counts unknown*: gain at most ``D (2 Phi(mu / 2) - 1)``, as ``max_j p_j f_j <= p_1 f_1 + sum p_j (f_j - f_1)+``;
* *bits, counts unknown*: the mutual information of all labels and all answers is at most N times that of one label and
  its answers given the others (chain rule; independent labels): ``log2(1 + p (1 - p) mu**2) / 2`` for two classes, the
  capacity of a Gaussian channel, and ``(1 - 1 / K) mu**2 / 2`` nats in general.
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

__all__ = ["capacity_bits", "discrete_success", "distance", "order_bits", "record_bits", "score_variance"]

_UP = 1 + 1e-9


def distance(mu: float) -> float:
    """Return ``2 Phi(mu / 2) - 1``: the total variation between normal laws mu apart."""
    return min(1.0, math.erf(mu / (2 * math.sqrt(2))) * _UP)


def record_bits(
    labels: int, mu: float, *, classes: int, left: float, grouped: bool = False, counts_known: bool = False
) -> float:
    """Return the mutual information, at most, of all labels and answers that are mu-Gaussian private for every record.

    Args:
        labels: N; where ``grouped``, the number of groups, each moving the answers by ``mu`` at most.
        mu: Of all answers together.
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


def discrete_success(deviation: float, move: int) -> float:
    """Return how often one label is guessed behind one answer with *discrete* Gaussian noise: the exact lattice sum.

    Args:
        deviation: The parameter sigma, in steps.
        move: Steps by which the label moves the answer.
    """
    reach = math.ceil(40 * deviation) + move
    weights = [math.exp(-(k * k) / (2 * deviation * deviation)) for k in range(-reach, reach + 1)]
    total = math.fsum(weights)
    larger = math.fsum(max(a, b) for a, b in zip(weights[move:], weights[: len(weights) - move], strict=True))
    outside = math.fsum(weights[:move]) + math.fsum(weights[len(weights) - move :])
    return (larger + outside) / (2 * total)

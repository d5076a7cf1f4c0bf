r"""What noise on clipped gradients denies to every attack, in closed form.

All compare a release with one that does not depend on the sample at all: the noise alone. A gradient clipped to norm S
moves Gaussian noise of deviation sigma by at most S, whatever the sample, so the release of any sample with label k is
within ``mu = S / sigma`` of that reference; half as far as two labels are from one another. An attack that guesses k on
a set of reference probability ``q_k`` is right with at most ``c(q_k)``, ``c`` the trade-off curve, ``sum q_k <= 1``:

    accuracy <= max over q of  sum_k pi_k c(q_k),       = c(1/K) for equal shares, as c is concave.

The bound holds for an adversary who does not know the sample's features; mixing over them keeps ``c``, being concave.
(labelinf theory, certificates.)

Of a **batch** of B samples, whose sum is hidden, the share of labels that a guess has in common with the truth is a
number f in [0, 1], at most ``b`` on average without a release, ``b`` that of the best blind guess. Two proofs limit it:

* all samples are within B times the distance of the noise alone, and ``E f <= c(E0 f)`` as ``c`` is concave;
* a sample tells at most D nats, D the Kullback-Leibler divergence from its place left empty, whatever the others are,
  so by the chain rule all labels and the release share B D nats, and by data processing ``kl(E f, b) <= B D``.

Example:
    >>> [round(gaussian(1 / ratio, (0.1,) * 10), 3) for ratio in (0.5, 1, 2)]
    [0.764, 0.389, 0.217]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from scipy.special import rel_entr

__all__ = ["bayes_public", "gaussian", "gaussian_overlap", "gaussian_shared", "laplace", "laplace_overlap"]

_NORMAL = NormalDist()
_POINTS = 4001
_SPAN = 9.0
_FAR = 700.0  #: exponents beyond it are no floats
_MOST_LAWS = 10**300  #: of which a share is a float
_ROOT = 4e-12  #: what a root may be off by, twice


def gaussian(mu: float, prior: Sequence[float]) -> float:
    """Return the largest accuracy against Gaussian noise, ``max sum pi_k Phi(Phi^-1(q_k) + mu)``.

    The maximum is where ``pi_k c'(q_k)`` is one number for all k: a water level, found by bisection.

    Args:
        mu: Clipping norm over the noise's standard deviation; of T full-batch steps of DP-SGD, sqrt(T) times that.
        prior: Share of every class.
    """
    shares = np.array([share for share in prior if share > 0])
    if mu <= 0 or len(shares) == 1:
        return float(shares.max())

    def level(log_water: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        # c'(q) = exp(-mu z - mu^2 / 2) at z = Phi^-1(q)
        return np.asarray((np.log(shares) - log_water - mu**2 / 2) / mu)

    def excess(log_water: float) -> float:
        return sum(_NORMAL.cdf(z) for z in level(log_water)) - 1

    reach = mu * (_SPAN + mu) + 40
    water = _root(excess, math.log(shares.min()) - reach, math.log(shares.max()) + reach)
    return float(sum(share * _NORMAL.cdf(z + mu) for share, z in zip(shares, level(water), strict=True)))


def laplace(epsilon: float, prior: Sequence[float]) -> float:
    """Return the largest accuracy against Laplace noise of scale ``2 S / epsilon`` on gradients clipped to 1-norm S.

    Against the reference the release is ``epsilon / 2`` private, so ``c(q) = min(h q, 1 - (1 - q) / h)`` with ``h =
    e^(epsilon / 2)``: slope h up to the knee ``1 / (h + 1)``, slope ``1 / h`` beyond. For equal shares this is less
    than the usual ``e^eps / (e^eps + K - 1)``, which compares labels with one another.
    """
    h = math.exp(epsilon / 2)
    knee = 1 / (h + 1)
    gains = sorted([(share * h, knee) for share in prior] + [(share / h, 1 - knee) for share in prior], reverse=True)
    left, accuracy = 1.0, 0.0
    for slope, room in gains:
        used = min(left, room)
        accuracy += slope * used
        left -= used
    return min(1.0, accuracy)


def gaussian_overlap(mu: float, blind: float, batch: int) -> float:
    """Return the largest mean overlap with the labels of a batch, against Gaussian noise on the sum of its gradients.

    Args:
        mu: Of one sample, as in :func:`gaussian`.
        blind: Mean overlap of the best blind guess, in (0, 1).
        batch: Samples B.

    Example:
        >>> [round(gaussian_overlap(mu, 0.55, 8), 3) for mu in (0.02, 0.1, 0.5)]
        [0.578, 0.688, 1.0]
    """
    near = _NORMAL.cdf(_NORMAL.inv_cdf(blind) + batch * mu) if blind < 1 else 1.0
    return min(near, _informed(batch * mu**2 / 2, blind))


def gaussian_shared(mu: float, laws: int) -> float:
    """Return the least mass that so many laws have in common, all within ``mu`` of the noise alone.

    The least of their densities is that of law k on a set A_k, and these sets have reference probabilities q_k of sum
    1. Law k gives A_k at least ``Phi(Phi^-1(q_k) - mu)``, which is convex: the sum is least where all q_k are equal.

    Example:
        >>> [round(gaussian_shared(mu, 2), 3) for mu in (0, 0.5, 2)]
        [1.0, 0.617, 0.046]
    """
    share = 1 / laws if laws < _MOST_LAWS else 0.0
    return laws * _NORMAL.cdf(_NORMAL.inv_cdf(share) - mu) if 0 < share < 1 else float(laws == 1)


def laplace_overlap(epsilon: float, blind: float, batch: int) -> float:
    """Return the largest mean overlap with the labels of a batch, against Laplace noise on the sum of its gradients.

    Noise of scale ``2 S / epsilon`` moved by a vector of 1-norm S is ``x + e^-x - 1`` away, ``x = epsilon / 2``, at
    most: in one entry of it, and elsewhere by less, as this is convex and nothing at zero.

    Args:
        epsilon: As in :func:`laplace`.
        blind: Mean overlap of the best blind guess, in (0, 1).
        batch: Samples B.
    """
    half = epsilon / 2
    h = math.exp(min(batch * half, _FAR))
    return min(h * blind, 1 - (1 - blind) / h, _informed(batch * (half + math.expm1(-half)), blind))


def _informed(nats: float, blind: float) -> float:
    """Return the largest v with ``v ln(v / b) + (1 - v) ln((1 - v) / (1 - b)) <= nats``, ``b`` the blind mean."""
    if not 0 < blind < 1 or nats >= -math.log(blind):
        return 1.0

    def excess(v: float) -> float:
        return float(rel_entr(v, blind) + rel_entr(1 - v, 1 - blind)) - nats

    return min(1.0, _root(excess, blind, 1.0) + _ROOT)


def bayes_public(distance: float, n_classes: int) -> float:
    """Return the exact accuracy of the best attack on one last-layer gradient in Gaussian noise, features public.

    Candidates are ``(p - e_k) x'``: with equal shares the Bayes rule is right with ``integral phi(u - d) Phi(u)^(K-1)
    du``, ``d = |x| / sigma``.

    Args:
        distance: ``d``.
        n_classes: K.
    """
    u = np.linspace(min(0.0, distance) - _SPAN, max(0.0, distance) + _SPAN, _POINTS)
    density = np.exp(-((u - distance) ** 2) / 2) / math.sqrt(2 * math.pi)
    below = np.array([_NORMAL.cdf(value) for value in u])
    return float(np.trapezoid(density * below ** (n_classes - 1), u))


def _root(of: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq  # which is slow to import, and most bounds need none

    return float(brentq(of, low, high))

"""The law of a randomised scorer's answers, learnt from its own draws, and labels drawn by what it says of answers."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Counts", "Law", "Likelihood", "sampled"]

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
Counts = tuple[Floats, Floats, Floats]  #: weights of ones in the upper rows, in the lower rows; of the upper rows
Likelihood = Callable[[Counts, Floats], Floats]  #: log-likelihoods of answers, any shapes that broadcast

_POWERS = [(i, j, k) for i in range(7) for j in range(7 - i) for k in range(3) if i + j + k <= 6]
_SQUARES = [(i, j, k) for i in range(3) for j in range(3 - i) for k in range(3 - i - j)]
_GRID = np.linspace(-12, 12, 481)
_STRAY = 0.02  # of the draws that may come from anywhere, tails and all


@attrs.frozen(kw_only=True, eq=False)
class Law:
    """Mean and spread as polynomials of counts, and the shape of what is left: a smoothed histogram.

    Attributes:
        middle: Of the counts that were simulated, and their spread: what polynomials are in.
        mean: Coefficients of the mean.
        spread: Coefficients of the logarithm of the spread.
        shape: Log-density of standardised residuals on a grid.
    """

    middle: Floats
    mean: Floats
    spread: Floats
    shape: Floats

    @classmethod
    def of(cls, counts: Floats, answers: Floats) -> Law:
        """Fit the law to simulated answers: ``counts`` has a row of three for each."""
        middle = np.array([counts.mean(axis=0), counts.std(axis=0) + 1e-9])
        terms, squares = (_terms(_scaled(counts.T, middle), powers).T for powers in (_POWERS, _SQUARES))
        sigma, scatter = np.ones(len(answers)), np.zeros(squares.shape[1])
        for _ in range(4):
            mean = np.linalg.lstsq(terms / sigma[:, None], answers / sigma, rcond=1e-8)[0]
            off = answers - terms @ mean
            floor = 1e-3 * np.abs(off).mean() + 1e-12
            scatter = np.linalg.lstsq(squares, np.log(np.abs(off) + floor), rcond=1e-8)[0]
            sigma = np.exp(squares @ scatter)
        scale = np.sqrt(np.minimum(np.square(off / sigma), 50).mean())
        scatter[0] += np.log(scale)
        z = np.clip(off / (sigma * scale), -12, 12)
        width = 1.06 * min(1.0, np.subtract(*np.quantile(z, [0.75, 0.25])) / 1.35) * len(z) ** -0.2
        heights = np.histogram(z, bins=np.append(_GRID - 0.025, 12.025))[0] / (len(z) * 0.05)
        kernel = np.exp(-0.5 * (_GRID / width) ** 2)
        density = np.convolve(heights, kernel / kernel.sum(), mode="same")
        return cls(
            middle=middle,
            mean=mean,
            spread=scatter,
            shape=np.log((1 - _STRAY) * density + _STRAY / (np.pi * (1 + _GRID**2))),
        )

    def at(self, counts: Counts) -> tuple[Floats, Floats]:
        """Return means and logarithms of spreads."""
        scaled = _scaled(counts, self.middle)
        return _sum(scaled, _POWERS, self.mean), _sum(scaled, _SQUARES, self.spread)

    def __call__(self, counts: Counts, answers: Floats) -> Floats:
        """Return log-likelihoods of answers."""
        mean, spread = self.at(counts)
        z = np.clip((answers - mean) * np.exp(-spread), -12, 12)
        return self.shape[np.rint((z + 12) * 20).astype(np.intp)] - spread


def _scaled(counts: Counts | Floats, middle: Floats) -> list[Floats]:
    # No further out than was simulated: a polynomial says anything there.
    return [np.clip((c - m) / s, -4, 4) for c, m, s in zip(counts, *middle, strict=True)]


def _terms(scaled: list[Floats], powers: list[tuple[int, int, int]]) -> Floats:
    u, v, w = scaled
    return np.array([u**i * v**j * w**k for i, j, k in powers])


def _sum(scaled: list[Floats], powers: list[tuple[int, int, int]], coefficients: Floats) -> Floats:
    """Return a polynomial, by Horner's rule in the first two variables; the third is of the queries alone."""
    u, v, w = scaled
    by: dict[tuple[int, int], Floats | float] = {}
    for (i, j, k), coefficient in zip(powers, coefficients, strict=True):
        by[i, j] = by.get((i, j), 0.0) + coefficient * w**k
    degree = max(i for i, _ in by)
    total = np.zeros(np.broadcast(u, v).shape)
    for i in range(degree, -1, -1):
        inner = np.zeros_like(total)
        for j in range(degree - i, -1, -1):
            inner *= v
            inner += by[i, j]
        total *= u
        total += inner
    return total


def sampled(
    likelihood: Likelihood,
    upper: Bits,
    answers: Floats,
    weights: Floats,
    labels: Bits,
    rng: np.random.Generator,
    *,
    sweeps: int,
    burn: int,
) -> tuple[Bits, Floats]:
    """Draw labellings by flips and swaps; every share of ones is alike likely beforehand.

    Args:
        likelihood: Of answers.
        upper: Shape ``(queries, N)``: records that had the upper row.
        answers: Of the queries.
        weights: Of the records.
        labels: Shape ``(chains, N)``: where chains start.
        rng: For the chains.
        sweeps: N flips and N swaps each.
        burn: Sweeps that do not count.

    Returns:
        Where the chains end, and each record's share of ones.
    """
    y, (chains, n) = labels.copy(), labels.shape
    weigh = np.where(upper, weights, 0.0)
    beside = weights - weigh
    size, rows, seen = weigh.sum(axis=1), np.arange(chains), np.zeros(n)
    one, other = y @ weigh.T, y @ beside.T
    now = likelihood((one, other, size), answers).sum(axis=1)
    for sweep in range(sweeps):
        for i, j in zip(np.tile(rng.permutation(n), 2), np.append(np.full(n, -1), rng.permutation(n)), strict=True):
            turn = np.where(y[:, i], -1.0, 1.0)
            step, aside = turn[:, None] * weigh[:, i], turn[:, None] * beside[:, i]
            prior = np.zeros(chains)
            if j < 0:
                total = y.sum(axis=1)
                prior = np.where(turn > 0, np.log((total + 1) / np.maximum(n - total, 1)), 0.0)
                prior += np.where(turn < 0, np.log((n - total + 1) / np.maximum(total, 1)), 0.0)
            else:
                apart = (y[:, i] != y[:, j])[:, None]
                step = apart * (step - turn[:, None] * weigh[:, j])
                aside = apart * (aside - turn[:, None] * beside[:, j])
            then = likelihood((one + step, other + aside, size), answers).sum(axis=1)
            taken = np.log(rng.random(chains)) < then - now + prior
            if j >= 0:
                taken &= y[:, i] != y[:, j]
                y[rows[taken], j] ^= True
            y[rows[taken], i] ^= True
            one[taken] += step[taken]
            other[taken] += aside[taken]
            now[taken] = then[taken]
        if sweep >= burn:
            seen += y.mean(axis=0)
    return y, seen / (sweeps - burn)

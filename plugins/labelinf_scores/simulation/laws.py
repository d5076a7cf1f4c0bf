"""The law of a randomised scorer's answers, learnt from its own draws, and labels drawn by what it says of answers."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Bits", "Floats", "Law", "Likelihood", "sampled"]

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
#: Log-likelihoods of the answers: of how many ones are in upper rows, in lower rows, and noise so many times as large.
Likelihood = Callable[[Floats, Floats, float], Floats]

_DEGREE = 6  # of a mean, at most
_POWERS = [(i, j, k) for i in range(7) for j in range(7 - i) for k in range(3) if i + j + k <= _DEGREE]
_SQUARES = [(i, j, k) for i in range(3) for j in range(3 - i) for k in range(3 - i - j)]
_END = 12.0  # spreads from the mean, where the shape ends
_GRID = np.linspace(-_END, _END, 481)
_STUCK = 3  # spreads of a chain's log-likelihood
_STRAY = 0.02  # of the draws that may come from anywhere, tails and all
_FAR = 4  # spreads of the counts that were simulated: a polynomial says anything beyond


@attrs.frozen(kw_only=True, eq=False)
class Law:
    """Mean and spread as polynomials of counts, and the shape of what is left: a smoothed histogram.

    Attributes:
        middle: Of the counts that were simulated, and their spread: what polynomials are in.
        powers: Of the terms of the mean: no more than its best degree needs, as chains evaluate it millions of times.
        mean: Coefficients of the mean.
        spread: Coefficients of the logarithm of the spread.
        shape: Log-density of standardised residuals on a grid.
        usual: Half of all draws are nearer to the mean, in spreads.
    """

    middle: Floats
    powers: list[tuple[int, int, int]]
    mean: Floats
    spread: Floats
    shape: Floats
    usual: float

    @classmethod
    def of(cls, counts: Floats, answers: Floats) -> Law:
        """Fit the law to simulated answers.

        Args:
            counts: Shape ``(draws, 3)``: ones in upper rows, ones in lower rows, upper rows.
            answers: One of each draw.
        """
        middle = np.array([counts.mean(axis=0), counts.std(axis=0) + 1e-9])
        scaled, found = _scaled(counts.T, middle), []
        squares = _terms(scaled, _SQUARES)
        for degree in range(1, _DEGREE + 1):
            powers = [power for power in _POWERS if sum(power) <= degree]
            mean, scatter, worth = _fitted(_terms(scaled, powers), squares, answers)
            found.append((worth, degree, powers, mean, scatter))
        _, _, powers, mean, scatter = min(found, key=lambda fit: fit[:2])
        z = np.clip((answers - _terms(scaled, powers) @ mean) * np.exp(-squares @ scatter), -_END, _END)
        usual = float(np.median(np.abs(z)))
        return cls(middle=middle, powers=powers, mean=mean, spread=scatter, shape=_smoothed(z), usual=usual)

    def given(self, upper: Floats) -> Callable[[Floats, Floats], tuple[Floats, Floats]]:
        """Return what gives means and logarithms of spreads of queries with so many upper rows."""
        (w,) = _scaled((upper,), self.middle[:, 2:])
        mean, spread = (
            _collected(w, powers, coefficients)
            for powers, coefficients in ((self.powers, self.mean), (_SQUARES, self.spread))
        )

        def at(one: Floats, other: Floats) -> tuple[Floats, Floats]:
            u, v = _scaled((one, other), self.middle[:, :2])
            return _sum(u, v, mean), _sum(u, v, spread)

        return at

    def likelihood(self, upper: Floats, answers: Floats) -> Likelihood:
        """Return what gives log-likelihoods of answers to queries with so many upper rows."""
        at = self.given(upper)

        def told(one: Floats, other: Floats, heat: float) -> Floats:
            mean, spread = at(one, other)
            z = np.clip((answers - mean) * np.exp(-spread) / heat, -_END, _END)
            return np.asarray(self.shape[np.rint((z + _END) * 20).astype(np.intp)] - spread)

        return told


def _fitted(terms: Floats, squares: Floats, answers: Floats) -> tuple[Floats, Floats, float]:
    """Return coefficients of the mean and of the logarithm of the spread, and Bayes' information criterion."""
    sigma, scatter, mean = np.ones(len(answers)), np.zeros(squares.shape[1]), np.zeros(terms.shape[1])
    for _ in range(4):
        mean = np.linalg.lstsq(terms / sigma[:, None], answers / sigma, rcond=1e-8)[0]
        off = np.abs(answers - terms @ mean)
        scatter = np.linalg.lstsq(squares, np.log(off + 1e-3 * off.mean() + 1e-12), rcond=1e-8)[0]
        sigma = np.exp(squares @ scatter)
    scale = np.sqrt(np.minimum(np.square((answers - terms @ mean) / sigma), 50).mean()) + 1e-12
    scatter[0] += np.log(scale)
    return mean, scatter, float(2 * (squares @ scatter).sum() + terms.shape[1] * np.log(len(answers)))


def _smoothed(z: Floats) -> Floats:
    """Return the logarithm of a kernel density on the grid, with tails that rule out nothing."""
    width = 1.06 * min(1.0, float(np.subtract(*np.quantile(z, [0.75, 0.25]))) / 1.35) * len(z) ** -0.2 + 1e-3
    heights = np.histogram(z, bins=np.append(_GRID - 0.025, _END + 0.025))[0] / (len(z) * 0.05)
    kernel = np.exp(-0.5 * (_GRID / width) ** 2)
    density = np.convolve(heights, kernel / kernel.sum(), mode="same")
    return np.asarray(np.log((1 - _STRAY) * density + _STRAY / (np.pi * (1 + _GRID**2))))


def _scaled(counts: Floats | tuple[Floats, ...], middle: Floats) -> list[Floats]:
    return [np.clip((c - m) / s, -_FAR, _FAR) for c, m, s in zip(counts, *middle, strict=True)]


def _terms(scaled: list[Floats], powers: list[tuple[int, int, int]]) -> Floats:
    u, v, w = scaled
    return np.array([u**i * v**j * w**k for i, j, k in powers]).T


def _collected(w: Floats, powers: list[tuple[int, int, int]], coefficients: Floats) -> list[list[Floats]]:
    """Return the coefficients of a polynomial in the first two variables, the third being what it is."""
    degree = max(i for i, _, _ in powers)
    found = [[np.zeros_like(w) for _ in range(degree - i + 1)] for i in range(degree + 1)]
    for (i, j, k), coefficient in zip(powers, coefficients, strict=True):
        found[i][j] += coefficient * w**k
    return found


def _sum(u: Floats, v: Floats, coefficients: list[list[Floats]]) -> Floats:
    """Return a polynomial's values, by Horner's rule."""
    total = np.zeros(np.broadcast(u, v).shape)
    for row in reversed(coefficients):
        inner = np.zeros_like(total)
        for coefficient in reversed(row):
            inner *= v
            inner += coefficient
        total *= u
        total += inner
    return total


def sampled(
    likelihood: Likelihood,
    upper: Bits,
    labels: Bits,
    rng: np.random.Generator,
    *,
    sweeps: int,
    heat: float = 1.0,
) -> tuple[Bits, Floats]:
    """Draw labellings by flips and swaps; every share of ones is alike likely beforehand.

    Args:
        likelihood: Of the answers.
        upper: Shape ``(queries, N)``: records that had the upper row.
        labels: Shape ``(chains, N)``: where chains start.
        rng: For the chains.
        sweeps: N flips and N swaps each; the first half does not count.
        heat: How many times as large noise is taken to be at first; a law's tails are flat, and lead nowhere.

    Returns:
        Where the chains end, and each record's share of ones.
    """
    y, (chains, n) = labels.copy(), labels.shape
    above, seen, burn = upper.astype(float), np.zeros(n), sweeps // 2
    one, other, rows = y @ above.T, y @ (1 - above).T, np.arange(chains)
    for sweep in range(sweeps):
        hot = max(1.0, heat ** (1 - sweep / burn))
        now = likelihood(one, other, hot).sum(axis=1)
        if sweep == burn:  # who is so far behind is stuck
            ahead = np.where(now < now.max() - _STUCK * np.sqrt(2 * n), now.argmax(), rows)
            y, one, other, now = y[ahead], one[ahead], other[ahead], now[ahead]
        for i, j in zip(np.tile(rng.permutation(n), 2), np.append(np.full(n, -1), rng.permutation(n)), strict=True):
            turn = np.where(y[:, i], -1.0, 1.0)
            step = turn[:, None] * (above[:, i] if j < 0 else above[:, i] - above[:, j])
            aside = turn[:, None] * (1 - above[:, i]) if j < 0 else -step
            there = one + step, other + aside
            then = likelihood(*there, hot).sum(axis=1)
            odds = _odds(y.sum(axis=1), turn, n) if j < 0 else 0.0
            taken = np.log(rng.random(chains)) < then - now + odds
            if j >= 0:
                taken &= y[:, i] != y[:, j]
                y[rows[taken], j] ^= True
            y[rows[taken], i] ^= True
            one[taken], other[taken], now[taken] = there[0][taken], there[1][taken], then[taken]
        if sweep >= burn:
            seen += y.mean(axis=0)
    return y, seen / (sweeps - burn)


def _odds(total: NDArray[np.intp], turn: Floats, n: int) -> Floats:
    """Return how much likelier, as a logarithm, a labelling is beforehand that has one more or one less."""
    up = np.log((total + 1) / np.maximum(n - total, 1))
    down = np.log((n - total + 1) / np.maximum(total, 1))
    return np.asarray(np.where(turn > 0, up, down))

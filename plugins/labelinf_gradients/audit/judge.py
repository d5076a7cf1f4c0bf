r"""Whether an explanation explains what a client sent: up to a factor, and up to what the form of its numbers leaves.

An explanation predicts every update up to a factor. What is left beyond the rounding of the format and of parameters,
beyond the distance of levels or the size of noise, must vanish on *all* batches; a factor that was fitted on them has
one degree of freedom against thousands of entries. Nothing is accepted for being near.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.audit.seen import UpdateRows

__all__ = ["ExplanationFit", "fitted", "signs_agree"]

_EXACT = 1e-4  # share of an update beyond all bounds
_SAME = 1e-3  # relative spread of one factor
_SURELY = 5.0  # standard errors
_COARSE = 0.03  # of an update: where the rounding of parameters is more, it may hide anything
_EPS = 2.0**-23
_SIGNS, _FAINT = 0.999, 1e-4


@attrs.frozen(kw_only=True, eq=False)
class ExplanationFit:
    """How an explanation fits.

    Attributes:
        factors: Of every update, with its sign, shape ``(n,)``.
        others: Of what else was added, in units of the factor.
        same: Whether the factor is one: None where noise hides it.
        on_grid: Whether it takes the rounding to levels to explain what was sent.
        left: Share of the updates that is left beyond all bounds, or standard errors of it behind noise; the largest.
    """

    factors: NDArray[np.float64]
    others: tuple[float, ...] = ()
    same: bool | None = True
    on_grid: bool = False
    left: float = 0.0


def fitted(
    seen: UpdateRows, basis: NDArray[np.float64], *, steps: int = 1, gaps: bool = False
) -> ExplanationFit | None:
    """Return how updates are explained, or None if they are not.

    Args:
        seen: The updates.
        basis: What was computed, and what may have been added to it, shape ``(k, n, d)``.
        steps: Local steps, every one of which rounds the parameters.
        gaps: Entries that are zero were not sent.
    """
    live = seen.sent != 0 if gaps else np.ones(seen.sent.shape, dtype=bool)
    bound = seen.rounding + 2 * _EPS * (steps + 1) * np.abs(seen.start)
    if np.linalg.norm(np.where(live, bound - seen.rounding, 0)) > _COARSE * np.linalg.norm(seen.sent):
        return None
    noisy = seen.differs and not gaps
    found = None if noisy else _exactly(seen, basis, live, bound)
    if found is None and seen.grid is not None:
        return _on_grid(seen, basis, live, bound)
    return _in_noise(seen, basis, bound) if noisy else found


def _exactly(
    seen: UpdateRows, basis: NDArray[np.float64], live: NDArray[np.bool_], bound: NDArray[np.float64]
) -> ExplanationFit | None:
    """Return the fit if nothing is left, with one factor or with every update's own."""
    whole = _solved(basis, seen.sent, live.astype(float))
    left = _left(seen, basis, live, bound, np.tile(whole, (len(seen.sent), 1)))
    if left <= _EXACT:
        return ExplanationFit(factors=np.full(len(seen.sent), whole[0]), others=tuple(whole[1:] / whole[0]), left=left)
    each = np.array([_solved(basis[:, [n]], seen.sent[[n]], live[[n]].astype(float)) for n in range(len(seen.sent))])
    if (each[:, 0] == 0).any() or (np.sign(each[:, 0]) != np.sign(each[0, 0])).any():
        return None
    others, left = each[:, 1:] / each[:, :1], _left(seen, basis, live, bound, each)
    if left > _EXACT or (np.ptp(others, axis=0) > _SAME + 0.01 * np.abs(others).max(axis=0)).any():
        return None
    spread = np.ptp(each[:, 0]) / np.abs(each[:, 0]).max()
    return ExplanationFit(
        factors=each[:, 0], others=tuple(np.median(others, axis=0)), same=bool(spread <= _SAME), left=left
    )


def _solved(basis: NDArray[np.float64], sent: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of the basis that are nearest in all rows together, shape ``(k,)``."""
    gram = np.einsum("knd,nd,lnd->kl", basis, weight, basis)
    pull = np.einsum("knd,nd,nd->k", basis, weight, sent)
    return np.asarray(np.linalg.lstsq(gram, pull, rcond=1e-14)[0])


def _left(
    seen: UpdateRows,
    basis: NDArray[np.float64],
    live: NDArray[np.bool_],
    bound: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> float:
    """Return the largest share of an update that is beyond its bounds."""
    rest = np.abs(seen.sent - np.einsum("nk,knd->nd", weights, basis))
    beyond = np.where(live, np.maximum(rest - bound, 0), 0)
    return float((np.linalg.norm(beyond, axis=1) / np.maximum(np.linalg.norm(seen.sent, axis=1), 1e-300)).max())


def _on_grid(
    seen: UpdateRows, basis: NDArray[np.float64], live: NDArray[np.bool_], bound: NDArray[np.float64]
) -> ExplanationFit | None:
    """Return the factor for which every entry is within its level's distance, if there is one for all updates."""
    if len(basis) > 1 or seen.grid is None:
        return None
    reach = seen.grid.steps * (1.01 if seen.differs else 0.51) + bound
    p = basis[0]
    for sign in (1, -1):
        own = live & (np.abs(p) > 1e-12 * np.abs(p).max())
        low = (sign * seen.sent * np.sign(p) - reach)[own] / np.abs(p)[own]
        high = (sign * seen.sent * np.sign(p) + reach)[own] / np.abs(p)[own]
        least, most = max(0.0, float(low.max())), float(high.min())
        beyond = np.abs(seen.sent[live & ~own]) > reach[live & ~own]
        if least > 0 and least <= most and not beyond.any():
            return ExplanationFit(factors=np.full(len(p), sign * (least + most) / 2), on_grid=True)
    return None


def _in_noise(seen: UpdateRows, basis: NDArray[np.float64], bound: NDArray[np.float64]) -> ExplanationFit | None:
    """Return the fit if noise explains what is left of all updates, and something of the explanation is visible."""
    if seen.noise is None:
        return None
    asked = np.ones((len(seen.sent), 1))
    asked[0] += len(seen.again)  # all answers about the first batch are averaged
    sent = np.concatenate([[(seen.sent[0] + seen.again.sum(axis=0)) / asked[0]], seen.sent[1:]])
    noise, quiet = seen.noise / np.sqrt(asked), seen.noise == 0
    spread = np.where(quiet, 1e-3 * seen.noise.max(), noise)
    p, u = basis / spread, sent / spread
    whole = _solved(p, u, np.ones_like(u))
    sizes = np.linalg.norm(p[0], axis=1)
    if abs(whole[0]) * np.linalg.norm(sizes) < _SURELY:
        return None
    each = np.tile(whole, (len(sent), 1))
    if len(basis) == 1:
        each = (p[0] * u).sum(axis=1, keepdims=True) / np.maximum(sizes**2, 1e-300)[:, None]
    rest = sent - np.einsum("nk,knd->nd", each, basis)
    if quiet.any() and np.linalg.norm(rest[:, quiet]) > _EXACT * np.linalg.norm(sent[:, quiet]):
        return None
    excess = _excess((np.maximum(np.abs(rest) - bound, 0) / spread)[:, ~quiet] ** 2, len(seen.again))
    if excess > _SURELY:
        return None
    factor, bend = each[:, 0], len(sent) + _SURELY * math.sqrt(2 * len(sent))
    same = float((((factor - np.average(factor, weights=sizes**2)) * sizes) ** 2).sum()) < bend
    lengths = np.abs(factor) * np.linalg.norm(basis[0], axis=1)  # all alike where everything is clipped
    error = lengths / np.maximum(np.abs(factor) * sizes, 1e-300)
    clipped = float((((lengths - np.average(lengths, weights=error**-2.0)) / error) ** 2).sum()) < bend
    same_known = same if len(basis) > 1 or not (same and clipped) else None
    factors = each[:, 0] if same_known is False else np.full(len(sent), whole[0])
    return ExplanationFit(factors=factors, others=tuple(whole[1:] / whole[0]), same=same_known, left=max(0.0, excess))


def _excess(squares: NDArray[np.float64], repeats: int) -> float:
    """Return by how many standard errors squares of what is left exceed one: the worst of all rows and of their sum."""
    spread = max(float(squares.std()), 1e-6)
    size = 1 / math.sqrt(repeats - 1)  # how well noise's own size is known, in the same units
    rows = (squares.mean(axis=1) - 1) / np.hypot(spread, size * spread) * math.sqrt(squares.shape[1])
    total = (squares.mean() - 1) / math.hypot(spread / math.sqrt(len(squares)), size * spread)
    return max(float(rows.max()) - 1, float(total * math.sqrt(squares.shape[1])))


def signs_agree(seen: UpdateRows, predicted: NDArray[np.float64]) -> int:
    """Return 1 where all updates have the signs of what is predicted, -1 where the opposite ones, and 0 otherwise."""
    large = np.zeros(seen.sent.shape, dtype=bool)
    for place in seen.places:
        own = np.abs(predicted[:, place])
        large[:, place] = own > _FAINT * own.max(axis=1, keepdims=True)
    both = large & (seen.sent != 0)
    if not both.any():
        return 0
    same = np.sign(seen.sent[both]) * np.sign(predicted[both])
    return 1 if (same > 0).mean() > _SIGNS else -1 if (same < 0).mean() > _SIGNS else 0

"""From candidate scales to scored ones: Gauss-Newton on all entries outside S, and the evidence for each candidate."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.recovery.patterns import Pattern
from labelinf_gradients.recovery.problem import Misfit, Problem
from labelinf_gradients.recovery.results import FLOAT64, GradientPrecision

__all__ = ["Scored", "distinct", "is_label", "polish"]

_STEPS = 3
_HOPELESS = 0.03  # a candidate that leaves this share unexplained before polishing is another equation's accident


@attrs.frozen(kw_only=True, eq=False)
class Scored:
    """Candidates of several gradients, polished.

    Attributes:
        rows: Which gradient each belongs to, shape ``(k,)``.
        scales: ``t``, shape ``(k,)``.
        factors: What the gradient is multiplied by, shape ``(k,)``; ones where it is known as it is.
        residual: Unexplained share of ``a`` outside S, shape ``(k,)``; infinite where the label has negative entries or
            does not sum to one.
        labels: Pseudo labels, shape ``(k, C)``.
        lever: L1 change of the label per unit of unexplained share, shape ``(k,)``.
        tried: How many different scales of each gradient were tried that give a label at all, shape ``(n,)``.
    """

    rows: NDArray[np.intp]
    scales: NDArray[np.float64]
    factors: NDArray[np.float64]
    residual: NDArray[np.float64]
    labels: NDArray[np.float64]
    lever: NDArray[np.float64]
    tried: NDArray[np.intp]


def polish(
    problem: Problem, pattern: Pattern, candidates: NDArray[np.float64], precision: GradientPrecision = FLOAT64
) -> Scored:
    """Polish and score the candidates (shape ``(n, m)``, NaN where absent) of every gradient."""
    rows, slots = np.nonzero(np.isfinite(candidates) & (candidates != 0))
    scales = candidates[rows, slots]
    part = problem.take(rows)
    misfit = part.misfit(scales, pattern)
    valid = is_label(misfit.labels, precision)
    tried = distinct(rows[valid], scales[valid], len(candidates), precision)
    keep = np.flatnonzero(_promising(rows, misfit.share, len(candidates)))
    rows, scales, part, step = rows[keep], scales[keep], part.take(keep), misfit.newton_step[keep]
    for _ in range(_STEPS):
        scales = scales + np.where(np.abs(step) < 0.5 * np.abs(scales), step, 0.0)
        misfit = part.misfit(scales, pattern)
        step = misfit.newton_step
    return Scored(
        rows=rows,
        scales=scales,
        factors=np.ones_like(scales),
        residual=np.where(is_label(misfit.labels, precision), misfit.share, np.inf),
        labels=misfit.labels,
        lever=_lever(part, scales, misfit),
        tried=tried,
    )


def is_label(labels: NDArray[np.float64], precision: GradientPrecision) -> NDArray[np.bool_]:
    """Return which rows are labels up to rounding: no negative entries, a sum of one."""
    sums = np.abs(labels.sum(axis=1) - 1) <= precision.slack
    return np.asarray(sums & (labels.min(axis=1) >= -precision.slack))


def distinct(
    rows: NDArray[np.intp], scales: NDArray[np.float64], n: int, precision: GradientPrecision
) -> NDArray[np.intp]:
    """Return how many different scales each of ``n`` gradients has, shape ``(n,)``."""
    order = np.lexsort((scales, rows))
    owners, sorted_ = rows[order], scales[order]
    new = (np.diff(owners, prepend=-1) > 0) | (np.diff(sorted_, prepend=0.0) > precision.same * np.abs(sorted_))
    return np.bincount(owners[new], minlength=n)


def _promising(rows: NDArray[np.intp], share: NDArray[np.float64], n: int) -> NDArray[np.bool_]:
    """Keep what explains nearly everything, and the best of every gradient whatever it explains."""
    best = np.full(n, np.inf)
    np.minimum.at(best, rows, share)
    return np.asarray((share < _HOPELESS) | (share == best[rows]))


def _lever(problem: Problem, scales: NDArray[np.float64], misfit: Misfit) -> NDArray[np.float64]:
    """Return the L1 change of the label per unit of unexplained share: ``sum |dy/dt|`` over that of ``dh/dt``."""
    p = misfit.labels + problem.column / scales[:, None]
    mean = np.einsum("nc,nc->n", p, problem.slopes)
    change = p * (problem.slopes - mean[:, None]) + problem.column / scales[:, None] ** 2
    with np.errstate(divide="ignore"):
        return np.asarray(np.abs(change).sum(axis=1) / misfit.in_shares(misfit.slopes))

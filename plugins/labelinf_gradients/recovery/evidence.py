r"""How likely a gradient of another origin has a label that explains it as well: counted, never believed.

Behind a gradient may be a label of no family that was tried, a bias or a factor that nobody told of. A label of a
family with ``s`` spare equations explains it only if ``s`` numbers happen to agree. An unexplained share ``r`` is a
ball of radius ``r sqrt(n)`` in the ``n`` entries outside S, of which ``u`` unknowns were chosen to fit. An equation can
be as far from holding as its entry differs from all before it: two probabilities that are equal whatever the scale is,
because rows of the weights are alike or both have vanished, say one thing, once. Seen along any ``k`` of the equations
the ball is no wider than one of the same radius in ``k`` dimensions, whose volume is ``V_k (r sqrt(n))^k``. With these
widths, of which the unknowns take the ``u`` largest,

    chance <= hypotheses * min over k of V_k (r sqrt(n))^k / (width_1 ... width_k).

That counts volumes; it is no proof for labels that were chosen to deceive. Above :data:`LEVEL` no answer is the only
one. Two margins are beside it: no more may be unexplained than rounding leaves, and the label must stay what it is when
one more number is free, that makes up for what is unexplained: a factor, one entry, what all zeros have in common.
Where logits are flat, these are nearly one direction with the scale, and this alone shows it.

What is unexplained is a share of the yardstick, but ``h = t p - a`` is known no better than ``t p`` was computed, by
the client and here: to a rounding of ``p`` itself, and one of every logit. Where ``a`` and the differences of ``p`` are
far smaller (rows of the weights nearly alike, a scale near the root at zero that is none), a share that vanishes is the
arithmetic's, and no equation that it hides has been seen to hold. So each equation that is counted is no better known
than :func:`blur` and a rounding of the entries, of which averaging may leave some; those that are not counted add none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from labelinf_gradients.recovery.patterns import Pattern
from labelinf_gradients.recovery.problem import Misfit, Problem, outside
from labelinf_gradients.recovery.results import FLOAT32, GradientPrecision

__all__ = ["LEVEL", "LUCK", "apart", "blur", "chance", "drift", "widths_of"]

LEVEL = 1e-4  #: the bound above which no answer is unique; what happens is rarer (benchmarks/gradient_unique.py)
LUCK = 1 / 16  #: of a rounding: that less is unexplained is luck
_COUNTED = 24  # equations of one gradient; more only make it less likely
_NOTHING = 1e-150


def chance(
    widths: NDArray[np.float64],
    share: NDArray[np.float64],
    hypotheses: NDArray[Any],
    *,
    unknowns: int,
    entries: int,
    grain: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.float64]:
    """Bound how likely a gradient of another origin has a label that explains as much, shape ``(n,)``.

    Args:
        widths: How far each equation can be from holding, the farthest first, shape ``(n, equations)``.
        share: What is left unexplained, root mean square over the entries, shape ``(n,)``.
        hypotheses: How many labels were tried, shape ``(n,)``.
        unknowns: How many numbers were chosen to fit: the scale, and the factor where it is not known.
        entries: Over how many entries the share was taken.
        grain: Of each equation that is counted, what is unexplained is no less, shape ``(n,)``.
    """
    spare = np.arange(1, widths.shape[1] - unknowns + 1)
    radius = np.maximum(share[:, None] * math.sqrt(entries), np.reshape(grain, (-1, 1)) * np.sqrt(spare))
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = np.cumsum(-np.log(np.maximum(widths[:, unknowns:], 0)), axis=1) + spare * np.log(radius)
    balls = sides + spare / 2 * math.log(math.pi) - gammaln(spare / 2 + 1)
    return np.asarray(np.exp(np.minimum(0, np.log(np.maximum(hypotheses, 1)) + balls.min(axis=1, initial=0))))


def widths_of(
    problem: Problem, scales: NDArray[np.float64], misfit: Misfit, pattern: Pattern, *, declared: bool
) -> NDArray[np.float64]:
    """Return how far each equation can be from holding, in units of the yardstick, the farthest first.

    An entry that is only known to be equal to others says by how much its probability differs from theirs; the first
    says nothing.

    Args:
        problem: One gradient for every scale, without its factor.
        scales: ``t``, shape ``(n,)``.
        misfit: What they leave unexplained.
        pattern: The family of the labels.
        declared: That labels are of the family was declared: that entries are zero is then no other label's doing, and
            each of them speaks against a bias that was forgotten.
    """
    p = misfit.labels + problem.column / scales[:, None]
    size = np.abs(scales[:, None] * p) / misfit.yardstick
    if pattern.zero and declared:
        return np.asarray(-np.sort(-size, axis=1))
    inside, logits = np.isinf(misfit.yardstick), (scales[:, None] * problem.slopes)[:, :, None]
    widths = apart(np.where(inside, -1.0, size), logits, most=problem.n_classes - pattern.excluded, zero=pattern.zero)
    return widths if pattern.zero else widths[:, 1:]


def apart(
    size: NDArray[np.float64], logits: NDArray[np.float64], *, most: int, zero: bool = True
) -> NDArray[np.float64]:
    """Return how far each entry can be from what those before it say, the farthest first, shape ``(n, most)``.

    Args:
        size: Of the entries as they are, shape ``(n, C)``; negative for those that are left out.
        logits: Of every sample behind them, shape ``(n, C, B)``: where two agree in all, so do their probabilities.
        most: How many to return at most.
        zero: Whether the label's entries are known to be zero; otherwise the first says nothing of the others.
    """
    far = np.where((size < 0) | zero, size, np.inf)
    at, widths = np.arange(len(size)), []
    for _ in range(min(_COUNTED, most)):
        pick = far.argmax(axis=1)
        widths.append(far[at, pick])
        own = size[at, pick][:, None]
        differ = np.minimum(1, np.abs(logits - logits[at, pick][:, None]).max(axis=2))
        near = differ * (np.minimum if zero else np.maximum)(size, own)
        far = np.minimum(far, near if zero else np.minimum(np.abs(size - own), near))
        far[at, pick] = -1.0
    return np.stack(widths, axis=1)


def blur(
    problem: Problem, scales: NDArray[np.float64], misfit: Misfit, precision: GradientPrecision
) -> NDArray[np.float64]:
    """Return what rounded logits and probabilities put into ``t p``, in units of the yardstick, shape ``(n,)``.

    They are rounded to the gradient's format, or to float32 where that is coarser, in which softmaxes are computed.

    Args:
        problem: One gradient for every scale, without its factor.
        scales: ``t``, shape ``(n,)``.
        misfit: What they leave unexplained.
        precision: Of the gradients.
    """
    explained = np.abs(scales[:, None] * misfit.labels + problem.column) / misfit.yardstick
    logits = np.abs(scales) * np.abs(problem.slopes).max(axis=1)
    if problem.offsets is not None:
        logits = logits + np.abs(problem.offsets).max()
    return np.asarray(min(precision.rounding, FLOAT32.rounding) * (1 + logits) * explained.max(axis=1))


def drift(
    problem: Problem, scales: NDArray[np.float64], misfit: Misfit, pattern: Pattern, *, scaled: bool, declared: bool
) -> NDArray[np.float64]:
    """Return the L1 change of the label per unit of unexplained share if one more number were free, the least seen.

    Args:
        problem: One gradient for every scale, without its factor.
        scales: ``t``, shape ``(n,)``.
        misfit: What they leave unexplained.
        pattern: The family of the labels.
        scaled: Whether the factor is an unknown already; otherwise it is tried as the one more.
        declared: That labels are of the family was declared; otherwise, what all zeros have in common is tried, too.
    """
    p = misfit.labels + problem.column / scales[:, None]
    mean = np.einsum("nc,nc->n", p, problem.slopes)
    moves = [p * (problem.slopes - mean[:, None]) + problem.column / scales[:, None] ** 2]
    moves.append(-problem.column / scales[:, None])  # of the label, by scale and by factor
    own = outside(-problem.column, misfit.inside, centre=not pattern.zero)
    seen = [misfit.slopes / misfit.yardstick, own / misfit.yardstick]
    units: list[NDArray[np.float64]] = []
    for at in range(1 + scaled):  # orthogonal directions of what is free, and the label's change along each
        rest, move = _without(seen[at], moves[at], units, moves)
        length = np.maximum(np.sqrt(np.einsum("nc,nc->n", rest, rest)), _NOTHING)[:, None]
        units.append(rest / length)
        moves[at] = move / length
    leverage = sum((unit**2 for unit in units), np.zeros_like(p))
    along = np.abs(units[0]) * np.abs(moves[0]).sum(axis=1, keepdims=True)
    if scaled:  # one class after another: a table of all pairs of classes does not fit in any memory
        turns = zip(*(unit.T[:, :, None] for unit in units), strict=True)
        along = np.stack([np.abs(turn[0] * moves[0] + turn[1] * moves[1]).sum(axis=1) for turn in turns], axis=1)
    left = np.sqrt(np.maximum(1 - leverage, _NOTHING))
    worst = np.where(np.isinf(misfit.yardstick), 0, along / left).max(axis=1)
    free = [] if scaled else [(seen[1], moves[1])]
    if pattern.zero and not declared:  # labels of another family run through this one
        free.append((scales[:, None] / misfit.yardstick, np.zeros_like(p)))
    for one in free:
        rest, move = _without(*one, units, moves)
        change, size = np.abs(move).sum(axis=1), np.sqrt(np.einsum("nc,nc->n", rest, rest))
        worst = np.maximum(worst, np.where(change > 0, change / np.maximum(size, _NOTHING), 0))
    return np.asarray(worst * np.sqrt(problem.n_classes - pattern.excluded))


def _without(
    seen: NDArray[np.float64],
    move: NDArray[np.float64],
    units: list[NDArray[np.float64]],
    moves: list[NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Take out of a direction what the free ones make up for; return what is left to see, and how the label changes."""
    for unit, along in [*zip(units, moves, strict=False)] * 2:  # twice, so that what is left is orthogonal
        part = np.einsum("nc,nc->n", unit, seen)[:, None]
        seen, move = seen - part * unit, move - part * along
    return seen, move

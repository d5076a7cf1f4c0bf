r"""How likely a gradient of another origin has a label that explains it as well: counted, never believed.

Behind a gradient may be a label of no family that was tried, a bias or a factor that nobody told of. A label of a
family with ``s`` spare equations explains it only if ``s`` numbers happen to agree. An unexplained share ``r`` is a
ball of radius ``r sqrt(n)`` in ``n = s + u`` entries outside S, of which ``u`` unknowns were chosen to fit; its volume
is below ``e^(u/2) (sqrt(2 pi e) r)^s``. An equation can be as far from holding as its entry differs from all before it:
two probabilities that are equal whatever the scale is, because rows of the weights are alike or both have vanished, say
one thing, once. With these widths, of which the unknowns take the ``u`` largest,

    chance <= hypotheses * e^(u/2) * prod_i min(1, sqrt(2 pi e) r / width_i).

That counts volumes; it is no proof for labels that were chosen to deceive. Above :data:`LEVEL` no answer is the only
one. Two margins are beside it: no more may be unexplained than rounding leaves, and the label must stay what it is when
one more number is free, a factor or one entry, that makes up for what is unexplained. Where logits are flat, scale and
factor are nearly one direction, and this alone shows it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from labelinf_gradients.recovery.problem import outside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_gradients.recovery.patterns import Pattern
    from labelinf_gradients.recovery.problem import Misfit, Problem

__all__ = ["LEVEL", "chance", "drift", "widths_of"]

LEVEL = 1e-4  #: the bound above which no answer is unique; what happens is rarer (benchmarks/gradient_unique.py)
_BALL = math.sqrt(2 * math.pi * math.e)
_COUNTED = 24  # equations of one gradient; more only make it less likely
_NOTHING = 1e-150


def chance(
    widths: NDArray[np.float64], share: NDArray[np.float64], hypotheses: NDArray[np.intp], unknowns: int
) -> NDArray[np.float64]:
    """Bound how likely a gradient of another origin has a label that explains as much, shape ``(n,)``.

    Args:
        widths: How far each equation can be from holding, the farthest first, shape ``(n, equations)``.
        share: What is left unexplained, shape ``(n,)``.
        hypotheses: How many labels were tried, shape ``(n,)``.
        unknowns: How many numbers were chosen to fit: the scale, and the factor where it is not known.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(np.minimum(1, _BALL * share[:, None] / np.maximum(widths[:, unknowns:], 0))).sum(axis=1)
    return np.asarray(np.exp(np.minimum(0, np.log(np.maximum(hypotheses, 1)) + unknowns / 2 + logs)))


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
    far = np.where(np.isinf(misfit.yardstick), -1.0, size if pattern.zero else np.inf)
    at, widths = np.arange(len(scales)), []
    for _ in range(min(_COUNTED, problem.n_classes - pattern.excluded)):
        pick = far.argmax(axis=1)
        widths.append(far[at, pick])
        own = size[at, pick][:, None]
        apart = np.minimum(1, np.abs(scales[:, None] * (problem.slopes - problem.slopes[at, pick][:, None])))
        if pattern.zero:
            far = np.minimum(far, apart * np.minimum(size, own))
        else:
            far = np.minimum(far, np.minimum(np.abs(size - own), apart * np.maximum(size, own)))
        far[at, pick] = -1.0
    return np.stack(widths[0 if pattern.zero else 1 :], axis=1)


def drift(
    problem: Problem, scales: NDArray[np.float64], misfit: Misfit, pattern: Pattern, *, scaled: bool
) -> NDArray[np.float64]:
    """Return the L1 change of the label per unit of unexplained share if one more number were free, the least seen.

    Args:
        problem: One gradient for every scale, without its factor.
        scales: ``t``, shape ``(n,)``.
        misfit: What they leave unexplained.
        pattern: The family of the labels.
        scaled: Whether the factor is an unknown already; otherwise it is tried as the one more.
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
    along = np.abs(
        sum((unit[:, :, None] * move[:, None, :] for unit, move in zip(units, moves, strict=False)), 0.0)
    ).sum(axis=2)
    left = np.sqrt(np.maximum(1 - leverage, _NOTHING))
    worst = np.where(np.isinf(misfit.yardstick), 0, along / left).max(axis=1)
    if not scaled:
        rest, move = _without(seen[1], moves[1], units, moves)
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

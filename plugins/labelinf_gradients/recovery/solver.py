"""Label and feature of one sample from its last-layer gradient, exactly: enumerate, polish, score, decide.

The paper searches for the scale with L-BFGS and particle swarms (Wang et al., ICLR 2024, Algorithms 1 and 2). Here
all solutions are enumerated (:mod:`labelinf_gradients.recovery.equations`), so the answer does not hang on where a
search begins. The attacker's own data say which answers to trust: a status, an error bar, and every other candidate.
What remains is rounding: where all rows of the head are equal, a mixed label that is only just determined can be called
unique and be off in its weights (.018 in L1 has been seen, the heaviest class right).

Example:
    >>> import numpy as np
    >>> weights, x = np.log([[1.0], [2.0], [3.0], [4.0]]), np.array([1.0])
    >>> y = np.array([0.1, 0.7, 0.1, 0.1])
    >>> gradient = np.outer(np.array([0.1, 0.2, 0.3, 0.4]) - y, x)
    >>> found = recover(gradient, weights, family="smoothing")
    >>> found.labels[0].round(9), found.status[0].value
    (array([0.1, 0.7, 0.1, 0.1]), 'unique')
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_gradients.recovery.answers import FIELDS, Answers, widened
from labelinf_gradients.recovery.candidates import candidate_scales
from labelinf_gradients.recovery.decide import decide
from labelinf_gradients.recovery.factor import factor
from labelinf_gradients.recovery.patterns import Pattern, patterns_for
from labelinf_gradients.recovery.polish import polish
from labelinf_gradients.recovery.problem import Problem
from labelinf_gradients.recovery.results import FLOAT64, GradientPrecision, Recovery, RecoveryStatus
from labelinf_gradients.recovery.scaled import solve_scaled
from labelinf_gradients.recovery.tensors import as_array, precision_of

__all__ = ["recover", "solve"]

_CHUNK = 1 << 15  # numbers per array: keeps the working set in the processor's cache
_RANK_ONE = 1e-3
_ENTRIES = 16  # roundings of one entry that a sum of many with random signs may show


def recover(
    gradients: NDArray[Any],
    weights: Any,
    *,
    family: str | Pattern = "auto",
    bias: Any = None,
    nonnegative: bool = False,
    precision: GradientPrecision | None = None,
    scaled: bool = False,
) -> Recovery:
    """Recover label and feature from every gradient of a last linear layer under softmax cross-entropy.

    A gradient that is not finite or not of rank one (noisy, or of a batch of several samples) is unexplained; it says
    nothing against the others.

    Args:
        gradients: One sample's gradient of the layer's weights each, shape ``(n, C, I)`` or ``(C, I)``; an array or a
            tensor.
        weights: The layer's weights ``W``, shape ``(C, I)``, or the layer itself: an object with ``weight`` and
            ``bias``, as ``torch.nn.Linear`` is.
        family: ``"one-hot"``, ``"smoothing"``, ``"mixup"``, ``"auto"`` (in that order) or a pattern.
        bias: The layer's known bias ``b``, shape ``(C,)``, when it has one whose gradient is not seen.
        nonnegative: The features are known to be non-negative (after ReLU, sigmoid, average pooling).
        precision: How exactly the gradients are known; taken from their type unless told.
        scaled: Every gradient may be multiplied by a positive factor of its own that is not known: clipped, a rate or
            a loss scale forgotten, one averaged step.

    Raises:
        InputError: Shapes do not fit, weights are not finite, or the family cannot be recovered from so few classes.
    """
    if hasattr(weights, "weight"):
        weights, bias = weights.weight, getattr(weights, "bias", None) if bias is None else bias
    bias = None if bias is None else as_array(bias)
    stored = precision_of(gradients)  # halves may come as float32
    precision = stored if precision is None else precision
    least = max(stored.least, precision.least)
    gradients, weights = _checked(as_array(gradients), as_array(weights), bias)
    broken = ~np.isfinite(gradients).all(axis=(1, 2))
    parts = factor(np.where(broken[:, None, None], 0, gradients), nonnegative=nonnegative)
    broken |= parts.misfit > max(_RANK_ONE, _ENTRIES * precision.rounding)
    problem = Problem(
        column=np.where(broken[:, None], 0, parts.column),
        slopes=parts.direction @ weights.T.astype(np.float64),
        offsets=None if bias is None else np.asarray(bias, dtype=np.float64),
        least=least,
    )
    found = solve(
        problem,
        family=family,
        positive=nonnegative,
        precision=precision,
        directions=parts.direction,
        scaled=scaled,
    )
    # A row of entries too small for their format holds an error of any relative size: behind an unknown factor a wrong
    # label can explain all the others.
    faint = scaled & (np.abs(gradients).max(axis=2) < least).any(axis=1)
    status = np.array(found.status, dtype=object)
    status[faint & (status == RecoveryStatus.UNIQUE)] = RecoveryStatus.AMBIGUOUS
    status[broken] = RecoveryStatus.UNEXPLAINED
    return attrs.evolve(found, status=tuple(status), complete=found.complete & ~faint)


def solve(
    problem: Problem,
    *,
    family: str | Pattern = "auto",
    positive: bool = False,
    precision: GradientPrecision = FLOAT64,
    directions: NDArray[np.float64] | None = None,
    scaled: bool = False,
) -> Recovery:
    """Solve the scalar problem of every gradient.

    Args:
        problem: The factored gradients.
        family: As in :func:`recover`.
        positive: Only scales ``t > 0`` are possible.
        precision: How exactly ``problem`` is known.
        directions: ``v``, kept in the result so that it can return features.
        scaled: As in :func:`recover`.

    Raises:
        InputError: The family cannot be recovered from so few classes.
    """
    asked = patterns_for(family)
    patterns = _recoverable(asked, problem.n_classes, scaled=scaled)
    step = max(1, _CHUNK // problem.n_classes)
    pieces = [
        _answers(problem.take(slice(start, start + step)), patterns, positive, precision, scaled, len(asked))
        for start in range(0, max(1, len(problem.column)), step)
    ]
    for piece in pieces:
        piece.doubt(some_left_out=len(patterns) < len(asked))
    return _assembled(pieces, problem, directions, scaled, asked[0].name if len(asked) == 1 else "")


def _answers(
    problem: Problem,
    patterns: tuple[Pattern, ...],
    positive: bool,
    precision: GradientPrecision,
    scaled: bool,
    families: int,
) -> Answers:
    """Try every family, simplest first: near saturation several may explain the same gradient, which must be said."""
    answers = Answers.nothing(*problem.column.shape)
    rows = np.flatnonzero(problem.informative)
    part = problem.take(rows)
    # Candidates can be as extreme as numbers get; what is not finite is no answer.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for pattern in patterns if len(rows) else ():
            if scaled:
                scored = solve_scaled(part, pattern, precision, positive=positive)
            else:
                scored = polish(part, pattern, candidate_scales(part, pattern, positive=positive), precision)
            decided = decide(part, scored, pattern, precision, positive=positive, scaled=scaled, families=families)
            answers.improve(rows, decided, part, precision)
    return answers


def _assembled(
    pieces: list[Answers],
    problem: Problem,
    directions: NDArray[np.float64] | None,
    scaled: bool,
    declared: str,
) -> Recovery:
    width = max(piece.candidates.shape[1] for piece in pieces)
    candidates = np.concatenate([widened(piece.candidates, width) for piece in pieces])
    parts: dict[str, Any] = {
        name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in FIELDS if name != "proved"
    }
    parts |= {name: tuple(parts[name]) for name in ("status", "families")}
    return Recovery(
        **parts,
        directions=directions,
        candidates=candidates[:, :, 0],
        candidate_factors=candidates[:, :, 1],
        problem=problem,
        scaled=scaled,
        declared=declared,
    )


def _recoverable(patterns: tuple[Pattern, ...], n_classes: int, *, scaled: bool) -> tuple[Pattern, ...]:
    possible = tuple(pattern for pattern in patterns if n_classes > pattern.continuum_classes(scaled=scaled))
    if possible:
        return possible
    raise InputError(
        f"labels of the family {patterns[0].name!r} cannot be recovered from {n_classes} classes: every scale of the "
        f"feature gives a valid label. It takes at least {patterns[0].least_classes + scaled} classes for one answer."
    )


def _checked(
    gradients: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any] | None
) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
    gradients, weights = np.asarray(gradients), np.asarray(weights)
    gradients = gradients[None] if gradients.ndim == 2 else gradients
    if weights.ndim != 2 or gradients.ndim != 3 or gradients.shape[1:] != weights.shape:
        raise InputError(
            f"gradients of shape {gradients.shape} do not fit weights of shape {weights.shape}: expected "
            f"(n, classes, features) and (classes, features)."
        )
    if bias is not None and np.shape(bias) != (len(weights),):
        raise InputError(f"bias has shape {np.shape(bias)}, expected ({len(weights)},), one number per class.")
    if not np.isfinite(weights).all():
        raise InputError(f"weights must be finite; entry {tuple(np.argwhere(~np.isfinite(weights))[0])} is not.")
    if gradients.dtype not in (np.float32, np.float64):
        gradients = gradients.astype(np.float64)
    return gradients, weights

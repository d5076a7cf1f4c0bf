"""From scored candidates to one answer per gradient, and what may be said of it."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.recovery.answers import Answers, listing, turned
from labelinf_gradients.recovery.evidence import LEVEL, LUCK, blur, chance, drift, widths_of
from labelinf_gradients.recovery.patterns import Pattern
from labelinf_gradients.recovery.polish import Scored
from labelinf_gradients.recovery.problem import Problem
from labelinf_gradients.recovery.results import GradientPrecision, RecoveryStatus
from labelinf_gradients.recovery.saturation import saturated, settle

__all__ = ["decide"]

_UNIDENTIFIABLE = {
    False: RecoveryStatus.SMOOTHING_FACTOR_UNIDENTIFIABLE,
    True: RecoveryStatus.MIXING_WEIGHT_UNIDENTIFIABLE,
}
_NEAR = 1 / 8  # of all orders of magnitude by which a label may miss its family, that at which it begins to matter
_BLUR = 1 / 4  # of a rounding: what averaging over features leaves of it


def decide(
    problem: Problem,
    scored: Scored,
    pattern: Pattern,
    precision: GradientPrecision,
    *,
    positive: bool,
    scaled: bool = False,
    families: int = 1,
) -> Answers:
    """Choose the best candidate of each gradient and say what its rivals and its rounding allow.

    Args:
        problem: The gradients.
        scored: Their polished candidates.
        pattern: The family that the candidates follow.
        precision: How exactly the gradients are known.
        positive: Only scales ``t > 0`` are possible.
        scaled: The gradients are known up to a factor only.
        families: How many families are tried; one is a family that was declared.
    """
    n = len(problem.column)
    answers = Answers.nothing(n, scored.labels.shape[1])
    answers.families[:] = pattern
    order = np.lexsort((scored.residual, scored.rows))
    rows, first = np.unique(scored.rows[order], return_index=True)
    best = order[first]
    answers.labels[rows] = scored.labels[best]
    answers.scales[rows], answers.factors[rows] = scored.scales[best], scored.factors[best]
    answers.residual[rows] = scored.residual[best]
    answers.error[rows] = scored.lever[best] * np.maximum(scored.residual[best], precision.rounding)
    differs = np.abs(scored.labels - answers.labels[scored.rows]).sum(axis=1) > precision.same
    np.minimum.at(answers.rival, scored.rows[differs], scored.residual[differs])
    accepted = np.flatnonzero(scored.residual <= precision.tolerance)
    accepted = accepted[np.lexsort((scored.residual[accepted], scored.rows[accepted]))]
    pairs = np.stack([scored.scales, scored.factors], axis=1)[accepted]
    answers.candidates = listing(scored.rows[accepted], pairs, scored.labels[accepted], n, precision)
    weight = answers.labels[rows].max(axis=1)
    answers.lightest[rows] = weight - answers.error[rows] / 2
    answers.heaviest[rows] = weight + answers.error[rows] / 2
    _set_status(problem, answers, pattern, precision, positive, scaled)
    _weigh(problem, answers, pattern, precision, scored.tried, scaled, families)
    if families == 1 and not pattern.has_weight:
        hard = answers.labels.max(axis=1) >= 1 - precision.same / 4
        answers.chance[hard & (answers.labels.argmax(axis=1) == _of_one_sign(problem, positive=positive))] = 0.0
    answers.proved[:] = answers.chance <= LEVEL
    other = turned(scored.labels, answers.labels[scored.rows], pattern.zero, precision)
    of_other_class = np.full(n, np.inf)
    np.minimum.at(of_other_class, scored.rows[other], scored.residual[other])
    smoothed = scaled and pattern.zero and families > 1  # if a factor is free, some of it may be smoothing
    answers.doubt_class(smoothed | precision.comparable(of_other_class, answers.residual))
    return answers


def _set_status(
    problem: Problem, answers: Answers, pattern: Pattern, precision: GradientPrecision, positive: bool, scaled: bool
) -> None:
    turning = np.empty(0, dtype=np.intp)
    answers.status[:] = RecoveryStatus.UNIQUE
    answers.status[precision.comparable(answers.rival, answers.residual)] = RecoveryStatus.AMBIGUOUS
    if pattern.has_weight:
        unsure = ~(answers.error <= precision.same)
        rows = np.flatnonzero(saturated(problem.column, pattern, precision))
        if scaled:  # whatever the weight, some factor goes with it
            wide = np.flatnonzero(unsure | np.isin(np.arange(len(unsure)), rows))
            answers.lightest[wide], answers.heaviest[wide] = 1 / problem.n_classes, 1.0
        elif len(rows):
            settled = answers.of(rows)
            turning = rows[settle(problem.take(rows), pattern, settled, precision, positive=positive)]
            answers.put(rows, settled)
        unsure[rows] = True
        answers.status[unsure] = _UNIDENTIFIABLE[pattern.zero]
    answers.status[~(answers.residual <= precision.tolerance)] = RecoveryStatus.UNEXPLAINED
    answers.complete[:] = answers.status != _UNIDENTIFIABLE[pattern.zero]
    answers.doubt_class(np.isin(np.arange(len(answers.status)), turning))


def _weigh(
    problem: Problem,
    answers: Answers,
    pattern: Pattern,
    precision: GradientPrecision,
    tried: NDArray[np.intp],
    scaled: bool,
    families: int,
) -> None:
    """Say how likely a gradient of another origin has an answer as good as each."""
    rows = np.flatnonzero(np.isfinite(answers.scales) & (answers.residual <= precision.convincing))
    scales, part = answers.scales[rows], problem.rescaled(rows, answers.factors[rows])
    misfit = part.misfit(scales, pattern)
    widths = widths_of(part, scales, misfit, pattern, declared=families == 1)
    by_class = answers.status[rows] == _UNIDENTIFIABLE[pattern.zero]
    if not scaled and (pattern.zero or pattern.excluded == 1):  # there a class shows by all others being alike
        alike = by_class & saturated(part.column, pattern, precision)
        odd = np.abs(part.column - np.median(part.column, axis=1, keepdims=True)).argmax(axis=1)
        alike &= (answers.labels[rows].argmax(axis=1) == odd) | pattern.zero
        widths[alike] = np.where(widths[alike] >= 0, 1.0, 0.0)
    grain = precision.rounding + blur(part, scales, misfit, precision)
    share = answers.residual[rows]
    loudest = np.where(np.isinf(misfit.yardstick), 0, misfit.yardstick).max(axis=1)
    miss = 2 * precision.same * np.abs(scales) / loudest  # of a label, L1, as the equations see it
    heaviest = by_class & (not pattern.zero)  # that one class is heavier than another is no matter of how far it misses
    near = np.where(heaviest[:, None], widths, np.minimum(widths, miss[:, None]))
    bound = functools.partial(
        chance, share=share, unknowns=1 + scaled, entries=problem.n_classes - pattern.excluded, grain=LUCK * grain
    )
    answers.chance[rows] = np.maximum(
        bound(widths, hypotheses=families * tried[rows]), _NEAR * bound(near, hypotheses=np.ones_like(rows))
    )
    share = np.maximum(answers.residual[rows], _BLUR * grain)
    moved = drift(part, scales, misfit, pattern, scaled=scaled, declared=families == 1) * share
    answers.chance[rows[~by_class & ~(moved <= precision.same)]] = 1.0


def _of_one_sign(problem: Problem, *, positive: bool) -> NDArray[np.intp]:
    """Return the one hard label that the signs of the entries leave, whatever the probabilities are; -1: several."""
    negative, above = (problem.column < -problem.least).sum(axis=1), (problem.column > problem.least).sum(axis=1)
    below = (negative == 1) & (positive | (above > 1))
    over = (above == 1) & (negative > 1) & (not positive)
    return np.where(below, problem.column.argmin(axis=1), np.where(over, problem.column.argmax(axis=1), -1))

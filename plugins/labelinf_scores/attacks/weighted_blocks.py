"""All labels from a weighted log-loss: gaps that double from record to record, whatever each of them weighs.

Records that are not asked about are given the prediction that costs the same for both labels. A block's records are
given gaps whose weighted sizes double from what the error lets through; all labellings that fit the answer are listed,
and what they do not share is asked about again. A record that is still open is asked about on either side: which
answer is greater is its label, however badly its weight is known.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.attacks.metric_attack import MetricAttack, MetricSession, released
from labelinf_scores.decoders.labelling_sums import labellings_between
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.readings.affine import NEUTRAL, AffineLogLoss, WeightedSum

__all__ = ["WeightedBlocks"]

_WIDEST = 28.0  #: of a gap; a prediction is then above 6e-13, and one minus it is held
_SPARE = 1.25  # times farther apart than they must be
_TRIES = 3  # of a record alone


@attrs.frozen(kw_only=True)
class WeightedBlocks(MetricAttack):
    """Recovers the labels of all records that weigh anything."""

    rows = Rows.COSTS
    reading_of = "a log-loss in which records weigh differently"

    def reads(self, metric: ScoredMetric | None) -> bool:
        """Weighted log-losses only; others are read by the attacks on losses."""
        return isinstance(metric, AffineLogLoss)

    def play(self, board: MetricSession) -> None:
        """Ask about blocks, and about what they leave record by record."""
        self._blocks(board)
        self._sides(board)

    def _blocks(self, board: MetricSession) -> None:
        """Ask block after block; what a block does not tell goes to the end of the line, and is asked about in less."""
        weights, widest = _sum(board).weights, _widest(board)
        heavy = [int(i) for i in np.argsort(-np.abs(weights)) if abs(weights[i]) * widest > 2 * _step(board, 1)]
        line, size, tries = heavy, len(heavy), 0
        while line:
            block, gaps = _block(board, np.array(line), weights, size)
            predictions = np.full(board.labels.size, NEUTRAL)
            predictions[block] = 1 / (1 + np.exp(gaps))  # under which label 1 costs so much more
            told = board.ask(predictions, block)
            if told is None:
                return
            found = labellings_between(told.gaps.tolist(), told.low, told.high)
            if found is not None and not found:
                raise ValueError("no labels fit the answer")
            shared = (
                np.zeros(block.size, dtype=bool)
                if found is None
                else np.array([len(set(column)) == 1 for column in zip(*found, strict=True)])
            )
            if found and shared.any():
                board.settle(block[shared], np.array(found[0])[shared])
            if not shared.all():
                size = max(1, block.size - 1)
            tries = 0 if shared.any() else tries + 1
            if tries > _TRIES and size == 1:
                return
            open_ones = set(block[~shared].tolist())
            taken = set(block.tolist())
            line = [i for i in line if i not in taken] + [i for i in line if i in open_ones]
            line = [i for i in line if board.labels[i] < 0]

    def _sides(self, board: MetricSession) -> None:
        """Ask about every record that is left, sure of one label and then of the other."""
        sums, widest = _sum(board), _widest(board)
        noise = 2 * _SPARE * float(released(board.oracle.threat).noise) + 1e-12 * (1 + abs(sums.level))
        sure = 1 / (1 + np.exp([-widest, widest]))
        for record in sorted(board.unknown.tolist(), key=lambda i: -abs(sums.weights[i])):
            weight = float(sums.weights[record])
            if abs(weight) <= 2 * sums.error or abs(weight) * widest <= noise:
                return
            answers = []
            for prediction in sure:
                predictions = np.full(board.labels.size, NEUTRAL)
                predictions[record] = prediction
                answers.append(float(board.oracle.query(predictions)))
            apart = (answers[1] - answers[0]) * math.copysign(1.0, weight)
            if abs(apart) > noise:
                board.settle(np.array([record]), [int(apart > 0)])


def _widest(board: MetricSession) -> float:
    """Return the widest gap that no clip narrows."""
    clip = board.oracle.threat.clip
    return min(_WIDEST, math.log((1 - clip) / clip)) if clip else _WIDEST


def _sum(board: MetricSession) -> WeightedSum:
    if not isinstance(board.metric, AffineLogLoss):
        raise TypeError("weighted log-losses are read by this attack alone")
    return board.metric.weighted(board.totals)


def _step(board: MetricSession, size: int) -> float:
    """Return how far apart the sums of a block must lie."""
    noise = float(released(board.oracle.threat).noise)
    sums = _sum(board)
    off = sums.error * (2 * _widest(board) + size + 1) + 1e-13 * (1 + abs(sums.level))
    return 2 * _SPARE * (noise + off)


def _block(
    board: MetricSession, line: NDArray[np.intp], weights: NDArray[np.float64], most: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the records of a block, light ones first, and their gaps."""
    step, widest = _step(board, 1), _widest(board)
    gaps: list[float] = []
    chosen: list[int] = []
    for record in line[::-1].tolist():
        gap = step / abs(weights[record])
        if gap > widest or len(chosen) >= most or not math.isfinite(gap):
            break
        chosen.append(record)
        gaps.append(gap)
        step *= 2
    if not chosen:
        chosen, gaps = [int(line[0])], [widest]
    return np.array(chosen, dtype=np.intp), np.array(gaps)

"""All labels from metrics of predicted classes: two classes at a time, on a detecting matrix (M28, M29, M30).

A query predicts class a on the ones of a row and b elsewhere. Where all classes weigh alike (accuracy, kappa, MCC), the
number right tells ``sum over the ones of z_a - z_b + 1``: three values a record, and after the rounds only labels of
classes that were not asked about are left. Where a right prediction of a weighs otherwise than one of b (macro F1,
weighted F1, balanced accuracy), one answer is *two* counters, of a and of b, whenever no other pair of counts fits;
with three classes, one matrix of two values then reads all labels.

Example::

    labelinf attack detecting-classes --metric accuracy --labels digits
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.metric_attack import CONDITIONS, MetricAnswer, MetricAttack, MetricSession, released
from labelinf_scores.constructions.bit_sets import BitSets, n_columns, queries_needed
from labelinf_scores.decoders.moebius import decode_bit_sets
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows
from labelinf_scores.metrics.readings.base import UNIT
from labelinf_scores.metrics.readings.classes import ClassAccuracy, ClassMetric

__all__ = ["DetectingClasses"]

_LEAST = 2  # records, of a row that is asked in two halves


@attrs.frozen(kw_only=True)
class DetectingClasses(MetricAttack):
    """Recovers all labels of any number of classes by counting hits."""

    rows = Rows.CLASSES
    reading_of = "hits of predicted classes, as accuracies and F1s of many classes tell them"

    def too_coarse(self, threat: ScoreThreat) -> str:
        """A hit more must stand out from the error of the score."""
        metric, totals = threat.metric, threat.totals
        if not isinstance(metric, ClassMetric):
            return "it is no metric of predicted classes"
        n, half = totals.n_records, totals.n_records // 2
        largest = np.argsort(-np.array(totals.counts), kind="stable")[:2].tolist()
        sizes = [{largest[0]: half, largest[1]: n - half}.get(k, 0) for k in range(threat.n_classes)]
        weights = metric.weights(sizes, totals)
        step = min(weights[k] for k in largest)
        apart = [metric.statistic(Fraction(side), sizes, totals) for side in (0, 1)]
        clear = 2 * released(threat).noise * abs(apart[1] - apart[0]) < step
        return "" if clear else "one label does not stand out from the error of the score"

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, where classes weigh alike: a hit moves the score by ``1 / N`` at least."""
        if not isinstance(threat.metric, ClassAccuracy):
            return None
        own = float((8 * (threat.n_classes + 2) + 4) * UNIT)
        return Promise(
            survives=1 / (2 * threat.n_records) * (1 - 2.0**-40),
            present=math.nextafter(float(released(threat).noise) + own, math.inf),
            statement="M5, M28, M29: labelinf theory, counting hits two classes at a time",
            conditions=CONDITIONS,
            proved=threat.facts.intact and threat.allows(_queries(threat)),
            strict=True,
        )

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels over the queries of all rounds, as if all classes weighed alike."""
        return threat.n_records / _queries(threat)

    def play(self, board: MetricSession) -> None:
        """Ask about the two largest classes that are left, until one is left."""
        while board.unknown.size > 1:
            left = board.left
            present = np.flatnonzero(left > 0)
            if present.size < 2:
                board.settle(board.unknown, np.full(board.unknown.size, present[0]))
                return
            first, second = present[np.argsort(-left[present], kind="stable")[:2]]
            if not _Round(board=board, first=int(first), second=int(second), values=min(3, present.size)).play():
                return


def _queries(threat: ScoreThreat) -> int:
    """Return the queries of all rounds."""
    counts, queries = sorted((count for count in threat.totals.counts if count), reverse=True), 0
    while len(counts) > 1:
        queries += queries_needed(sum(counts) - 1, 2) if len(counts) == 2 else queries_needed(sum(counts), 3)
        counts = counts[2:]
    return queries


@attrs.define(kw_only=True, eq=False)
class _Round:
    """One round: which of the unknown records are of the first class, which of the second, which of neither.

    Attributes:
        board: What is asked.
        first: The class predicted on the ones of a row.
        second: The class predicted elsewhere.
        values: How many kinds of records there are: two or three.
    """

    board: MetricSession
    first: int
    second: int
    values: int

    def play(self) -> bool:
        """Ask the rows of one matrix, cut to the budget; whether anything came out of it."""
        unknown, pairs = self.board.unknown, self.values > 2 and not isinstance(self.board.metric, ClassAccuracy)
        spare = 1 if self.values == 2 else 0  # the totals give the last label
        while True:
            n_values = 2 if pairs else self.values
            design = BitSets(n_queries=max(1, queries_needed(unknown.size - spare, n_values)), n_values=n_values)
            if design.n_queries > self.board.oracle.remaining:
                design = attrs.evolve(design, n_queries=max(1, int(self.board.oracle.remaining)))
            asked = unknown[: min(unknown.size - spare, n_columns(design.n_queries, n_values))]
            found = self._counted(design, asked, pairs)
            if found is not None:
                return self._settle(asked, found)
            if not pairs:
                return False
            pairs = False

    def _settle(self, asked: NDArray[np.intp], found: tuple[NDArray[np.int64], NDArray[np.int64]]) -> bool:
        ones, others = found
        if (ones + others > 1).any():
            raise ValueError("a record cannot be of two classes")
        labels = np.where(ones == 1, self.first, np.where(others == 1, self.second, ABSTAIN))
        known = labels != ABSTAIN
        self.board.settle(asked[known], labels[known])
        third = np.flatnonzero(self.board.left > 0)
        if third.size == 1 and self.board.unknown.size:
            self.board.settle(self.board.unknown, np.full(self.board.unknown.size, third[0]))
        return bool(known.any())

    def _counted(
        self, design: BitSets, asked: NDArray[np.intp], pairs: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return which records are of the first class and which of the second; None when some row does not tell.

        Raises:
            ValueError: An answer fits no labels.
        """
        answers: list[tuple[int, int]] = []
        for x in range(1, design.n_queries + 1):
            told = self._hits(asked[design.row(x, asked.size) == 1], pairs)
            if told is None:
                return None
            answers.append(told)
        rows = np.array(answers)
        if pairs and self.values > 2:
            return tuple(decode_bit_sets(design, rows[:, k], asked.size) for k in (0, 1))  # type: ignore[return-value]
        kinds = decode_bit_sets(design, rows[:, 0], asked.size)
        if design.n_values == 2:
            return kinds, 1 - kinds
        return (kinds == 2).astype(np.int64), (kinds == 0).astype(np.int64)

    def _hits(self, chosen: NDArray[np.intp], pairs: bool) -> tuple[int, int] | None:
        """Return how many of the chosen are of the first and of the second class, or ``z_a - z_b + 1`` added up."""
        if not chosen.size:
            return 0, 0
        swapped = pairs and self._blurred(chosen, self.first, self.second)
        roles = (self.second, self.first) if swapped else (self.first, self.second)
        told = self.board.ask(self._predictions(chosen, *roles), chosen)
        if told is None:
            return None
        gain, loss = int(told.gaps[0, roles[0]]), -int(told.gaps[0, roles[1]])
        fitting = _pairs(told, gain, loss, chosen.size, self.board.left[list(roles)], self.values == 2)
        if not fitting:
            raise ValueError("no counts fit the answer")
        if pairs or self.values == 2:
            if len(fitting) == 1:
                one, other = fitting[0]
                return (other, one) if swapped else (one, other)
            if not pairs or gain == loss or chosen.size < _LEAST:
                return None
            halves = [self._hits(half, pairs) for half in np.array_split(chosen, 2)]
            return None if None in halves else tuple(np.sum(halves, axis=0).tolist())  # type: ignore[arg-type]
        sums = {a - b + chosen.size for a, b in fitting}
        return (sums.pop(), 0) if len(sums) == 1 else None

    def _predictions(self, chosen: NDArray[np.intp], inside: int, outside: int) -> NDArray[np.float64]:
        labels = self.board.labels
        predictions = np.where(labels == ABSTAIN, outside, labels).astype(np.float64)
        predictions[chosen] = inside
        return predictions

    def _blurred(self, chosen: NDArray[np.intp], inside: int, outside: int) -> bool:
        """Whether two pairs of counts among the chosen can have one sum: known before anything is asked (M30)."""
        metric, totals = self.board.metric, self.board.totals
        if not isinstance(metric, ClassMetric) or self.values == 2:
            return False
        predictions = self._predictions(chosen, inside, outside).astype(np.intp)
        weights = metric.weights(np.bincount(predictions, minlength=len(totals.counts)).tolist(), totals)
        steps = weights[outside] / weights[inside] if weights[inside] else Fraction(1)
        most = np.minimum(self.board.left[[inside, outside]], chosen.size)
        alike = steps.numerator <= most[0] and steps.denominator <= most[1]
        return alike and steps.numerator + steps.denominator <= chosen.size


def _pairs(
    told: MetricAnswer, gain: int, loss: int, size: int, left: NDArray[np.intp], complete: bool
) -> list[tuple[int, int]]:
    """Return the counts of the first and second class among the chosen that fit: ``low <= gain a - loss b <= high``.

    Args:
        told: The answer.
        gain: What one of the first class adds.
        loss: What one of the second class costs.
        size: How many are chosen.
        left: How many of both classes are unknown.
        complete: Whether there is no third class.
    """
    found = []
    for a in range(min(size, int(left[0])) + 1):
        if complete:
            b = size - a
            if b <= left[1] and told.low <= gain * a - loss * b <= told.high:
                found.append((a, b))
            continue
        first = max(0, math.ceil((gain * a - told.high) / loss))
        last = min(size - a, int(left[1]), math.floor((gain * a - told.low) / loss))
        found += [(a, b) for b in range(first, last + 1)]
    return found

"""All labels from the AUC of many classes: a few records on top, in another order in every class's column (M31).

Everything else is tied below, so that a score is a function of the few labels and the class totals; all ``K^m``
labellings are tabulated in whole numbers, those that fit an answer are kept, and what they share is decided (M2). Where
nothing is decided for some time one record alone stands on top of the column of one class, which tells that class from
all others.

Example::

    labelinf attack ranked-columns --metric roc-auc-ovr --labels 'made(n_records=80, n_classes=3)'
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.metric_attack import CONDITIONS, MetricAttack, MetricSession, released
from labelinf_scores.attacks.shifted_levels import joined
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows
from labelinf_scores.metrics.readings.columns import MacroAuc

__all__ = ["RankedColumns"]

_LONGEST = 1 << 15  #: labellings that are tabulated
_PATIENCE = 4  # answers that decide nothing before a record is asked about alone
_STEP = 2.0**-30  # between places of a column: rows still sum to one


@attrs.frozen(kw_only=True)
class RankedColumns(MetricAttack):
    """Recovers all labels of three classes or more."""

    rows = Rows.COLUMNS
    reading_of = "ranks in the columns of classes"

    def too_coarse(self, threat: ScoreThreat) -> str:
        """One record on top of a column must stand out, every class have a record, and columns be ordered at will."""
        if min(threat.totals.counts) == 0:
            return "a class has no record"
        if threat.normalised:
            return "needs columns in orders of their own, and rows are made to sum to one"
        apart = threat.metric is not None and _off(threat) < threat.metric.floor(threat.totals)
        return "" if apart else "one label does not stand out from the error of the score"

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, where one record on top of a column stands out and nothing ends the game."""
        if threat.metric is None or min(threat.totals.counts) == 0 or threat.normalised:
            return None
        most = (_PATIENCE + threat.n_classes) * threat.n_records
        return Promise(
            survives=threat.metric.floor(threat.totals),
            present=math.nextafter(float(_off(threat)), math.inf),
            statement="M1, M2, M31: labelinf theory, ranks in columns",
            conditions=CONDITIONS,
            proved=threat.facts.intact and threat.allows(most),
            strict=True,
        )

    def rate(self, threat: ScoreThreat) -> float:
        """Return the records of the first query."""
        return float(_room(threat.n_classes, 1))

    def play(self, board: MetricSession) -> None:
        """Keep a list of labellings, until every label is known or a query is refused.

        Raises:
            ValueError: An answer fits no labels.
        """
        if not isinstance(board.metric, MacroAuc):
            raise TypeError("columns are read from the AUC of many classes")
        classes, stalled = len(board.totals.counts), 0
        records, options = np.empty(0, dtype=np.intp), np.zeros((1, 0), dtype=np.int8)
        while board.unknown.size:
            if stalled >= _PATIENCE:
                if not _ask_alone(board, board.metric, int(records[0])):
                    return
                options = options[options[:, 0] == board.labels[records[0]]]
            else:
                joining = np.setdiff1d(board.unknown, records)[: _room(classes, len(options))]
                records, options = np.concatenate([records, joining]), joined(options, joining.size, classes)
                found = _ask(board, board.metric, records, options)
                if found is None:
                    return
                options = found
            if not len(options):
                raise ValueError("the answers fit no labels")
            shared = (options == options[0]).all(axis=0)
            stalled = 0 if shared.any() else stalled + 1
            board.settle(records[shared], options[0, shared].astype(np.intp))
            records, options = records[~shared], options[:, ~shared]


def _room(n_classes: int, n_options: int) -> int:
    return max(0, int(math.log(_LONGEST / n_options, n_classes)))


def _ask(
    board: MetricSession, metric: MacroAuc, records: NDArray[np.intp], options: NDArray[np.int8]
) -> NDArray[np.int8] | None:
    """Ask about records in a random order in every column; return the labellings that fit; None when refused."""
    classes = len(board.totals.counts)
    places = np.stack([board.rng.permutation(records.size) for _ in range(classes)], axis=1)
    predictions = np.full((board.labels.size, classes), 1 / classes)
    predictions[records] += (places + 1) * _STEP
    interval = _answer(board, metric, predictions)
    if interval is None:
        return None
    worths, unit = _worths(board, metric, places, options)
    low, high = interval
    fits = (worths >= math.ceil(low * unit)) & (worths <= math.floor(high * unit))
    counts = np.stack([(options == k).sum(axis=1) for k in range(classes)], axis=1)
    fits &= (counts <= board.left).all(axis=1)
    return np.asarray(options[fits])


def _ask_alone(board: MetricSession, metric: MacroAuc, record: int) -> bool:
    """Ask about one record in one column after the other, until its class is told; whether all were answered.

    Raises:
        ValueError: It is of no class.
    """
    classes = len(board.totals.counts)
    order = sorted(range(classes), key=lambda k: metric.alone(k, board.totals))[1:]
    for k in order:
        predictions = np.full((board.labels.size, classes), 1 / classes)
        predictions[record, k] += _STEP
        interval = _answer(board, metric, predictions)
        if interval is None:
            return False
        half = Fraction(1, 2)
        won = half + sum(
            (metric.weight(k, b, board.totals) * board.totals.counts[b] / 2 for b in range(classes) if b != k),
            Fraction(0),
        )
        if interval[0] <= won <= interval[1]:
            board.labels[record] = k
            return True
    (last,) = set(range(classes)) - set(order)
    board.labels[record] = last
    return True


def _answer(
    board: MetricSession, metric: MacroAuc, predictions: NDArray[np.float64]
) -> tuple[Fraction, Fraction] | None:
    """Return between which values the exact score lies; None when the query was refused."""
    try:
        answer = board.oracle.query(predictions)
    except QueryRefusedError:
        return None
    return released(board.oracle.threat).interval(Fraction(float(answer)), metric.error(board.totals))


def _worths(
    board: MetricSession, metric: MacroAuc, places: NDArray[np.intp], options: NDArray[np.int8]
) -> tuple[NDArray[np.int64], int]:
    """Return the scores of all labellings in whole numbers, and their unit: the rest of every column is tied below.

    A record of class k beats those of class b below it; rest against rest is a half each.
    """
    totals, classes = board.totals, len(board.totals.counts)
    weights = {(k, b): metric.weight(k, b, totals) / 2 for k in range(classes) for b in range(classes) if b != k}
    unit = math.lcm(*(weight.denominator for weight in weights.values()))
    exact = np.int64 if unit < 2**61 else object
    found = np.zeros(len(options), dtype=exact)
    for k in range(classes):
        downwards = options[:, np.argsort(-places[:, k])]
        is_k = downwards == k
        for b in (b for b in range(classes) if b != k):
            is_b = downwards == b
            above = np.cumsum(is_b, axis=1) - is_b
            beaten = (is_k * (totals.counts[b] - above)).sum(axis=1)
            rest = (totals.counts[k] - is_k.sum(axis=1)) * (totals.counts[b] - is_b.sum(axis=1))
            found += (2 * beaten + rest).astype(exact) * int(weights[k, b] * unit)
    return found, unit


def _off(threat: ScoreThreat) -> Fraction:
    """Return how far a released score may be off the exact one."""
    metric = threat.metric
    if not isinstance(metric, MacroAuc):
        return Fraction(1)
    low, high = released(threat).interval(Fraction(1), metric.error(threat.totals))
    return max(high - 1, 1 - low)

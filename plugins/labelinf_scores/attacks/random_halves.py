"""Labels from any metric through any noise: random rows, and what the answers have to do with each record's place.

Constructions that read a metric exactly need an error with a bound, and true labels. This attack needs neither. Every
query gives a random part of the records a high prediction and the others a low one (of more than two classes, every
record a random class), so that each answer is, up to a link that is nearly straight there, a sum over the records and
noise. Then the labels are what best explains all answers together
(:mod:`~labelinf_scores.decoders.approximate_messages`). It is reconstruction from noisy sums (I. Dinur and K. Nissim,
PODS 2003), as the boosting attack on leaderboards (A. Blum and M. Hardt, ICML 2015) is, with every answer weighed.

What a metric is has to be known only as a function: how much a record moves it, and how large a part to set apart, is
tried out on labels that are drawn at random with the class totals. A half is best for most; where few predicted
positives are worth more each, as with precision, it is one record.

Nothing is promised. It is the yardstick behind noise, randomised response and secret subsets, and what advice for a
metric has to withstand.

Example::

    labelinf attack random-halves --metric roc-auc --labels breast-cancer --defence 'score-noise(model=gaussian)'
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_scores.decoders.approximate_messages import class_shares
from labelinf_scores.decoders.posterior import likeliest_labels, scored_prior
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.scorers import valued
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.readings.squares import SquaredResiduals
from labelinf_scores.plans.sizing import typical_error
from labelinf_scores.seen_through import averaged_records

__all__ = ["RandomHalves"]

_TRIES = 64  # rows on which a share is tried out
_REMEMBERED = 256  # boards and shares
_TRIED_OUT: dict[object, tuple[float, float] | None] = {}
_CELLS = 1 << 27  # predictions that are held in memory
_FIRST, _AGAIN = 16, 1.3  # answers after which the labels are looked at first, and by how much more the next time
_SURE = 0.01  # wrong labels expected where it is enough
_FINE = 2.0**48  # how much larger than what it moves a score in doubles may be
_LEAST = 1e-6  # of a probability

Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True)
class _Design:
    """Rows of one kind.

    Attributes:
        threat: What is public.
        levels: What a record may be given: a prediction, or a row of them, for every level, shape ``(L, ...)``.
        share: Of the last of two levels; of more, each has as many records as any other.
        effect: By how much a record moves the score, per unit of feature times point.
        unexplained: What the link bends, as a standard deviation.
    """

    threat: ScoreThreat
    levels: Floats
    share: float = 0.5
    effect: float = math.nan
    unexplained: float = math.nan

    @property
    def _sizes(self) -> NDArray[np.intp]:
        n, levels = self.threat.n_records, len(self.levels)
        if levels == 2:
            return np.array([n - self.chosen, self.chosen])
        return np.full(levels, n // levels) + (np.arange(levels) < n % levels)

    @property
    def chosen(self) -> int:
        """Records that are given the last of two levels."""
        return max(1, round(self.share * self.threat.n_records))

    @property
    def features(self) -> Floats:
        """Of a level: what it tells of a record's point, of mean 0 and variance 1, shape ``(L, D)``."""
        shares = self._sizes / self._sizes.sum()
        if len(self.levels) == 2:
            return np.asarray(np.array([[-1.0], [1.0]]) * np.sqrt(shares[::-1] / shares)[:, None])
        return np.asarray(np.sqrt(len(shares)) * (np.eye(len(shares)) - shares))

    @property
    def points(self) -> Floats:
        """Of a class, shape ``(K, D)``."""
        k = self.threat.n_classes
        if len(self.levels) > 2:
            return np.eye(k) - 1 / k
        metric = self.threat.metric
        told = metric.numbers(self.threat.totals) if isinstance(metric, SquaredResiduals) else _numbers(self.threat)
        numbers = np.array(told, dtype=np.float64)
        return ((numbers - numbers.mean()) / np.ptp(numbers))[:, None]

    def rows(self, rng: np.random.Generator) -> Iterator[NDArray[np.int8]]:
        """Yield levels of the records, each row with as many of every level as any other.

        Small parts are cut from one permutation after another, so that every record has its turn.
        """
        n, queue = self.threat.n_records, np.zeros(0, dtype=np.intp)
        filled = np.repeat(np.arange(len(self.levels), dtype=np.int8), self._sizes)
        while True:
            if len(self.levels) > 2 or 3 * self.chosen > n:
                yield rng.permutation(filled)
                continue
            if queue.size < self.chosen:
                later = rng.permutation(n)
                queue = np.concatenate([queue, later[~np.isin(later, queue)]])
            row = np.zeros(n, dtype=np.int8)
            row[queue[: self.chosen]] = 1
            queue = queue[self.chosen :]
            yield row

    def tried(self) -> _Design | None:
        """Return the design with what a record does to the score; None where the metric has no such scores.

        It is tried out once for all games on labels with these totals: scores of a library are dear.
        """
        levels = self.levels.shape, self.levels.tobytes()
        key = self.threat.metric, self.threat.totals, self.threat.values, self.share, levels
        try:
            if key not in _TRIED_OUT:
                if len(_TRIED_OUT) >= _REMEMBERED:
                    _TRIED_OUT.pop(next(iter(_TRIED_OUT)))
                _TRIED_OUT[key] = self._effect(np.random.default_rng(0))
            found = _TRIED_OUT[key]
        except TypeError:  # somebody's metric that cannot be hashed
            found = self._effect(np.random.default_rng(0))
        return None if found is None else attrs.evolve(self, effect=found[0], unexplained=found[1])

    def _effect(self, rng: np.random.Generator) -> tuple[float, float] | None:
        metric, labels = self.threat.metric, np.repeat(np.arange(self.threat.n_classes), self.threat.totals.counts)
        assert metric is not None
        told, features, points = [], self.features, self.points
        for row, _ in zip(self.rows(rng), range(_TRIES), strict=False):
            made = rng.permutation(labels)
            score = _score(metric, valued(made, metric, self.threat.values), self.levels[row])
            told.append((float((features[row] * points[made]).sum()), score))
        sums, scores = np.array(told).T
        moved = sums - sums.mean()
        if not np.isfinite(scores).all() or not moved.any() or not np.ptp(scores):
            return None
        effect = float(moved @ scores / (moved @ moved))
        off = float(np.std(scores - scores.mean() - effect * moved))
        return (effect, off) if effect else None

    @property
    def clear(self) -> float:
        """How much a record stands out of what else moves an answer."""
        noise = math.hypot(typical_error(self.threat), self.unexplained)
        return abs(self.effect) / max(noise, 1e-15)


@attrs.frozen(kw_only=True)
class RandomHalves(ScoreAttack):
    """Asks random rows of any metric and explains all answers together.

    Attributes:
        queries_per_label: Most queries per label (and class beyond the first) when the budget is unlimited.
    """

    reading_of = "metrics that are no mean of a loss"
    queries_per_label: int = attrs.field(default=4, validator=attrs.validators.ge(1))

    def reads(self, metric: ScoredMetric | None) -> bool:
        """Whether there is a metric."""
        return metric is not None

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Rows must be about the same records always."""
        if not threat.ordered:
            return "needs records in an order that does not change"
        return "there is one class only" if max(threat.prior) == 1 else ""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask until the labels are sure, or the budget is spent."""
        threat = oracle.threat
        designs = [design for each in _designs(threat) if (design := each.tried()) is not None]
        design = max(designs, key=lambda design: design.clear, default=None)  # the halves where several are as good
        shares = np.tile(scored_prior(threat), (threat.n_records, 1))
        if design is None:
            return Guess(labels=likeliest_labels(shares, threat), evidence={"answers": 0})
        rows: list[NDArray[np.int8]] = []
        answers: list[float] = []
        look, sure = _FIRST, False
        for row, answer in self._answered(design, oracle, rng):
            rows.append(row)
            answers.append(answer)
            if len(rows) >= look:
                look = int(look * _AGAIN)
                before, shares = shares, _explained(design, rows, answers)
                sure = _wrong(shares) < _SURE
                # Few answers are explained by many labels: more of them must not change what seems sure.
                if sure and (shares.argmax(axis=1) == before.argmax(axis=1)).all():
                    break
        else:
            shares = _explained(design, rows, answers) if rows else shares
        evidence = {"answers": len(rows), "share set apart": design.share, "wrong labels expected": _wrong(shares)}
        return Guess(labels=likeliest_labels(shares, threat), evidence=evidence)

    def _answered(
        self, design: _Design, oracle: ScoreOracle, rng: np.random.Generator
    ) -> Iterator[tuple[NDArray[np.int8], float]]:
        """Yield rows and their answers, as many as are held, wanted and granted."""
        threat, last = oracle.threat, math.nan
        wanted = self.queries_per_label * threat.n_records * (len(design.levels) - 1)
        for row in itertools.islice(design.rows(rng), int(min(oracle.remaining, wanted, _CELLS // threat.n_records))):
            try:
                answer = float(oracle.query(design.levels[row]))
            except QueriesExhaustedError:
                return
            except QueryRefusedError:
                continue
            if threat.ladder_step and answer == last:  # which may be the score of another row
                continue
            last = answer
            yield row, answer


def _wrong(shares: Floats) -> float:
    """Return how many labels are wrong, as expected."""
    return float((1 - shares.max(axis=1)).sum())


def _explained(design: _Design, rows: list[NDArray[np.int8]], answers: list[float]) -> Floats:
    """Return the probability of every label to be scored for every record, shape ``(N, K)``."""
    threat = design.threat
    scored = 1.0 if threat.scored_fresh else threat.scored
    prior, points = scored_prior(threat), design.points
    effect = design.effect * threat.n_records / averaged_records(threat)
    if threat.facts.label_fresh and not threat.facts.debiased:
        effect *= threat.label_keep - (1 - threat.label_keep) / (threat.n_classes - 1)
    if scored < 1:  # a record that is left out stands nowhere
        prior, points = np.append(prior * scored, 1 - scored), np.append(points, np.zeros((1, points.shape[1])), axis=0)
    found = class_shares(
        np.array(rows),
        np.array(answers) / effect,
        features=design.features,
        points=points,
        prior=prior,
        noise=typical_error(threat) / abs(effect),
        together=1 - 1 / design.chosen,
    )
    if scored == 1:
        return found
    return np.asarray(found[:, :-1] + found[:, -1:] * scored_prior(threat))


def _designs(threat: ScoreThreat) -> Iterator[_Design]:
    levels = _levels(threat)
    yield _Design(threat=threat, levels=levels)
    if len(levels) == 2:
        share = 0.25
        while share * threat.n_records > 1:
            yield _Design(threat=threat, levels=levels, share=share)
            share /= 4
        yield _Design(threat=threat, levels=levels, share=1 / threat.n_records)


def _levels(threat: ScoreThreat) -> Floats:
    """Return what a record may be given: as far apart as the board scores them."""
    metric, k = threat.metric, threat.n_classes
    assert metric is not None
    if metric.rows in (Rows.REALS, Rows.LEVELS, Rows.GRADES):
        return _far_apart(threat)
    if metric.rows is Rows.CLASSES:
        return np.arange(k, dtype=np.float64)
    if metric.columns or (metric.rows is Rows.COSTS and k > 2):
        least = max(threat.clip, _LEAST)
        return np.full((k, k), least) + (1 - k * least) * np.eye(k)
    if metric.rows is Rows.COSTS:
        least = max(threat.clip, _LEAST)
        return np.array([least, 1 - least])
    return np.array([0.0, 1.0])


def _far_apart(threat: ScoreThreat) -> Floats:
    """Return the lowest and the highest value: beyond the labels where an error grows with its square (M24)."""
    numbers = _numbers(threat)
    low, high = float(min(numbers)), float(max(numbers))
    if threat.metric is not None and threat.metric.rows is Rows.REALS:
        high += min(math.sqrt(typical_error(threat) * _FINE), _FINE)
    return np.array([max(low, threat.facts.lowest), min(high, threat.facts.highest)])


def _numbers(threat: ScoreThreat) -> tuple[float, ...]:
    """Return what the classes count as."""
    scored = threat.metric is not None and threat.metric.of_values and threat.values
    return threat.values if scored else tuple(map(float, range(threat.n_classes)))


def _score(metric: ScoredMetric, labels: NDArray[np.float64], predictions: Floats) -> float:
    try:
        with warnings.catch_warnings(action="ignore"):
            return float(metric.score(labels, predictions))
    except Exception:  # a stranger's metric, or one that has no score of these
        return math.nan

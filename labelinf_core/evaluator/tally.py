"""What is counted of a cell's trials, one after another: all that results are computed from, however many there are.

A :class:`Tally` has the same size for ten trials and for ten million. What an alarm looks at, :class:`PlayedTrials`,
takes 24 bytes a trial, of one cell at a time.
"""

from __future__ import annotations

import math
import statistics
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Measure, Placebo
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.evaluator.records import Status, Trial

__all__ = ["AUDITED", "PLACEBO", "PlayedTrials", "Tally", "tallied"]

PLACEBO = Measure(key="placebo", title="placebo", of="trial", better="lower", unit="share")
AUDITED = Measure(key="audited", title="epsilon proved", of="trial", better="lower")


@attrs.frozen(kw_only=True, eq=False)
class PlayedTrials:
    """The trials of one cell that were played to the end, as numbers.

    Attributes:
        correct: Labels guessed correctly, shape ``(n_trials,)``.
        records: Labels there were to guess.
        queries: Queries spent.
        audits: P-values of what trials say about a certificate of label-DP, those that say something.
        ceilings: What holds for the budget that the trial spent which spent the most.
    """

    correct: NDArray[np.int64]
    records: NDArray[np.int64]
    queries: NDArray[np.int64]
    audits: NDArray[np.float64]
    ceilings: tuple[Ceiling, ...] = ()

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of labels guessed correctly, trial by trial."""
        return self.correct / self.records


@attrs.frozen(kw_only=True)
class Tally:
    """What is told of a cell's trials together.

    Attributes:
        ends: How many ended in which way.
        failure: What went wrong first, if anything did.
        queries: Mean number of queries spent; None when nothing was played.
        seconds: Mean wall time of a trial; None when nothing was played.
        told: What the channel measures in trials, by its key: the mean of a share, the median of another number, the
            first of texts; and what the core does, the share of :data:`PLACEBO` and the epsilon of :data:`AUDITED`.
        placebo: How the attack fared on redrawn labels, all trials together.
        chance: Share that a blind guess gets in them, as the core counts it; None: it did not, in an old run.
        doubt: Why a trial shows nothing, of the first that does not; empty: all do.
    """

    ends: Mapping[Status, int] = attrs.field(factory=dict)
    failure: tuple[Status, str] | None = None
    queries: float | None = None
    seconds: float | None = None
    told: Mapping[str, float | str] = attrs.field(factory=dict)
    placebo: Placebo | None = None
    chance: float | None = None
    doubt: str = ""

    @property
    def trials(self) -> int:
        """How many trials count, failed ones included."""
        return sum(self.ends.values())

    @property
    def played(self) -> int:
        """How many were played to the end."""
        return self.ends.get(Status.OK, 0)


def tallied(trials: Iterable[Trial], measures: Sequence[Measure] = ()) -> tuple[Tally, PlayedTrials]:
    """Count trials, one after another.

    Args:
        trials: Those that count, in order.
        measures: What the channel measures.
    """
    count = _Count(measures={measure.key: measure for measure in measures if measure.of == "trial"})
    for trial in trials:
        count.add(trial)
    return count.tally, count.games


def _integers() -> array[int]:
    return array("q")


def _reals() -> array[float]:
    return array("d")


@attrs.define(kw_only=True)
class _Count:
    """Trials as they are counted."""

    measures: Mapping[str, Measure]
    ends: Counter[Status] = attrs.field(factory=Counter)
    failure: tuple[Status, str] | None = None
    correct: array[int] = attrs.field(factory=_integers)
    records: array[int] = attrs.field(factory=_integers)
    queries: array[int] = attrs.field(factory=_integers)
    audits: array[float] = attrs.field(factory=_reals)
    proved: array[float] = attrs.field(factory=_reals)
    seconds: float = 0.0
    most: int = -1
    ceilings: tuple[Ceiling, ...] = ()
    values: dict[str, array[float]] = attrs.field(factory=dict)
    texts: dict[str, str] = attrs.field(factory=dict)
    placebo: Placebo | None = None
    chances: array[float] = attrs.field(factory=_reals)
    of_chance: array[int] = attrs.field(factory=_integers)
    doubt: str = ""

    def add(self, trial: Trial) -> None:
        self.ends[trial.status] += 1
        if trial.status is not Status.OK:
            self.failure = self.failure or (trial.status, trial.message)
            return
        self.correct.append(trial.n_correct)
        self.records.append(trial.n_records)
        self.queries.append(trial.queries)
        self.seconds += trial.seconds
        self.doubt = self.doubt or trial.doubt
        if trial.queries > self.most:
            self.most, self.ceilings = trial.queries, trial.ceilings
        if trial.chance is not None:
            self.chances.append(trial.chance)
            self.of_chance.append(trial.n_records)
        if trial.audited is not None:
            self.audits.append(trial.audited.p_value)
            self.proved.append(trial.audited.at_least)
        self._measure(trial.evidence)
        self._redraw(trial.placebo)

    def _measure(self, evidence: Mapping[str, Any]) -> None:
        for key, measure in self.measures.items():
            value = evidence.get(key)
            if measure.unit == "text" and value is not None:
                self.texts.setdefault(key, str(value))
            elif (number := _number(value)) is not None:
                self.values.setdefault(key, _reals()).append(number)

    def _redraw(self, placebo: Placebo | None) -> None:
        if placebo is not None and self.placebo is not None:
            correct, records = self.placebo.n_correct + placebo.n_correct, self.placebo.n_records + placebo.n_records
            chance = self.placebo.chance
            if placebo.chance != chance:
                chance = (chance * self.placebo.n_records + placebo.chance * placebo.n_records) / records
            self.placebo = attrs.evolve(self.placebo, n_correct=correct, n_records=records, chance=chance)
        else:
            self.placebo = self.placebo or placebo

    @property
    def tally(self) -> Tally:
        n = len(self.queries)
        middles = {
            key: statistics.fmean(values) if self.measures[key].unit == "share" else statistics.median(values)
            for key, values in self.values.items()
        }
        return Tally(
            ends=dict(self.ends),
            failure=self.failure,
            queries=sum(self.queries) / n if n else None,
            seconds=self.seconds / n if n else None,
            told={**middles, **self.texts, **self._own},
            placebo=self.placebo,
            chance=_mean(self.chances, self.of_chance) if self.chances else None,
            doubt=self.doubt,
        )

    @property
    def _own(self) -> Mapping[str, float]:
        """What the core measures itself, whatever a channel says under the same keys."""
        own: dict[str, float] = {}
        if self.placebo is not None:
            own[PLACEBO.key] = self.placebo.n_correct / self.placebo.n_records
        if self.proved:
            own[AUDITED.key] = statistics.median(self.proved)
        return own

    @property
    def games(self) -> PlayedTrials:
        return PlayedTrials(
            correct=np.frombuffer(self.correct, dtype=np.int64),
            records=np.frombuffer(self.records, dtype=np.int64),
            queries=np.frombuffer(self.queries, dtype=np.int64),
            audits=np.frombuffer(self.audits, dtype=np.float64),
            ceilings=self.ceilings,
        )


def _mean(shares: Sequence[float], records: Sequence[int]) -> float:
    """Return the mean share of all records: the very share, where it is the same in all trials."""
    mean = math.fsum(share * n for share, n in zip(shares, records, strict=True)) / sum(records)
    return min(max(mean, min(shares)), max(shares))


def _number(value: object) -> float | None:
    """Return a number as a record writes it, infinity as text; None for anything else."""
    if isinstance(value, int | float):
        return float(value)
    return float(value) if value in ("inf", "-inf") else None

"""A scorer that is asked about made labels: counted, timed, and asked again where its answers are noisy.

How much is asked depends on what was answered and on the number of records, never on how long that took: a limit in
seconds ends a probe, and decides nothing in it.
"""

from __future__ import annotations

import collections
import math
import time

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, LabelinfError, QueryRefusedError
from labelinf_scores.audit.probe.spelling import Spelling
from labelinf_scores.game.scoring import Query, Scorer
from labelinf_scores.metrics.readings import Rows

__all__ = ["Asker", "Spoken", "StoppedError"]

_WORK = 60_000_000  # labels that are scored for one part of a probe, at most


class StoppedError(LabelinfError):
    """The time was up before everything had been asked."""


@attrs.define(kw_only=True, eq=False)
class Asker:
    """Asks a scorer.

    Attributes:
        scorer: Who is asked.
        records: How many labels a question is about.
        patience: Seconds after which nothing more is asked.
        repeats: How often each question is asked; what counts is the mean.
        asked: Questions so far.
        answered: What was answered in each spelling to each kind of rows, every number once.
        seconds: Time that they took.
        run: The answers to the last question, in the order of time.
    """

    scorer: Scorer
    records: int
    patience: float = math.inf
    repeats: int = 1
    asked: int = 0
    answered: dict[tuple[Spelling, Rows], set[float]] = attrs.field(factory=lambda: collections.defaultdict(set))
    seconds: float = 0.0
    run: NDArray[np.float64] = attrs.field(factory=lambda: np.zeros(0))

    def __call__(
        self, labels: NDArray[np.intp], predictions: NDArray[np.float64], spelling: Spelling, rows: Rows
    ) -> float:
        """Return the answer.

        Raises:
            InputError: It is refused, or no finite number.
            StoppedError: The time is up.
        """
        written, shaped = spelling.labels(labels), spelling.predictions(predictions, rows)
        start = time.perf_counter()
        answers = []
        try:
            for _ in range(self.repeats):
                if self.seconds + time.perf_counter() - start > self.patience:
                    raise StoppedError(f"{self.patience:g} seconds were up after {self.asked} questions")
                self.asked += 1
                answers.append(float(self.scorer.score(written, Query(predictions=shaped))))
            self.answered[spelling, rows].update(filter(math.isfinite, answers))
        finally:
            self.seconds += time.perf_counter() - start
        self.run = np.array(answers)
        return float(np.mean(answers))

    @property
    def each(self) -> float:
        """Seconds that one answer took, on average."""
        return self.seconds / max(1, self.asked)

    def affords(self, questions: int) -> bool:
        """Whether so many questions are no more than one part of a probe may ask of so many records."""
        return questions * self.repeats * self.records <= _WORK


@attrs.frozen(kw_only=True, eq=False)
class Spoken:
    """A scorer asked in one spelling, of one kind of rows.

    Attributes:
        asker: Who asks.
        spelling: What labels and predictions look like.
        rows: The kind of predictions.
        order: Row of the predictions that each record is scored by, shape ``(n,)``; None: its own.
    """

    asker: Asker
    spelling: Spelling
    rows: Rows
    order: NDArray[np.intp] | None = None

    def __call__(self, labels: NDArray[np.intp], predictions: NDArray[np.float64]) -> float:
        """Return the answer.

        Raises:
            InputError: It is refused, or no finite number.
        """
        if self.order is not None:
            placed = np.empty_like(predictions)
            placed[self.order] = predictions
            predictions = placed
        return self.asker(labels, predictions, self.spelling, self.rows)

    @property
    def answered(self) -> NDArray[np.float64]:
        """All numbers that were answered so far, in order of size."""
        return np.array(sorted(self.asker.answered[self.spelling, self.rows]))

    def tried(self, labels: NDArray[np.intp], predictions: NDArray[np.float64]) -> float | None:
        """Return the answer; None where it is refused."""
        try:
            return self(labels, predictions)
        except (InputError, QueryRefusedError):
            return None

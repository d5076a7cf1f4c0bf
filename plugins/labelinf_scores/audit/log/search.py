"""Labels that fit a log's answers, looked for by running the scorer on made labels, whatever it computes.

From random labels with the class totals (where they are known), what every exchange of one record with a fixed partner
moves in every answer is measured: a model in which gains add up. A linear programme with a random objective finds
labels that the model fits; exchanges of what it left between classes polish them; the scorer is asked about the result.
Where the model was wrong it is measured anew, there; where it was right it stays, and the next start costs a few calls.
What still does not fit is annealed by exchanges of two records. Nothing is proved by any of this.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.doing import say
from labelinf_scores.simulation.simulator import BudgetSpentError, Simulator

__all__ = ["End", "LabelSearch"]

_STARTS, _ROUNDS = 8, 6
_MADE = 4  # labellings by which an answer's spread is measured
_EXACT = 1e-9  # of an answer's spread: where a model is right
_POLISHED = 200  # records that are exchanged within the model

Labels = NDArray[np.intp]
Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class End:
    """Where a start ended.

    Attributes:
        labels: Shape ``(N,)``.
        misfit: How far its answers are beyond the released ones' rounding, in spreads of an answer; 0: it fits.
    """

    labels: Labels
    misfit: float


@attrs.frozen(kw_only=True, eq=False)
class _Model:
    """Answers as sums: those of some labels, and what every record gains by every class, shape ``(N, K, Q)``."""

    labels: Labels
    answers: Floats
    gains: Floats

    def at(self, labels: Labels) -> Floats:
        return np.asarray(self.answers + self.gains[np.arange(labels.size), labels].sum(axis=0))


@attrs.define(kw_only=True, eq=False)
class LabelSearch:
    """A search for labels.

    Attributes:
        game: The scorer, and how often it may be asked.
        rows: The submissions.
        low: Least that each answer can have been before it was rounded, shape ``(Q,)``.
        high: Most of it.
        totals: Records of every class.
        known: Whether the totals are.
        rng: For starts, objectives and exchanges.
    """

    game: Simulator
    rows: Sequence[NDArray[np.generic]]
    low: Floats
    high: Floats
    totals: tuple[int, ...]
    known: bool
    rng: np.random.Generator
    spread: Floats = attrs.field(init=False, factory=lambda: np.ones(0))
    model: _Model | None = None

    def run(self, doing: str) -> list[End]:
        """Return where every start ended, the best first; none where the budget allows no start."""
        ends: list[End] = []
        try:
            made = [self._answers(self._made()) for _ in range(_MADE)]
            self.spread = np.maximum(np.std(made, axis=0), 1e-12 + 1e-6 * np.abs(self.high))
            for _ in range(_STARTS):
                say(doing, self.game.calls, self.game.limit)
                ends.append(self._start(self.game.calls + (self.game.limit - self.game.calls) // 2, doing))
                if self.game.limit - self.game.calls < 2 * len(self.rows):
                    break
        except BudgetSpentError:
            pass
        return sorted(ends, key=lambda end: end.misfit)

    def _made(self) -> Labels:
        if not self.known:
            return self.rng.integers(len(self.totals), size=self.game.n_records)
        return self.rng.permutation(np.repeat(np.arange(len(self.totals)), self.totals))

    def _answers(self, labels: Labels) -> Floats:
        return np.array([self.game(labels, row)[0] for row in self.rows])

    def _end(self, labels: Labels, answers: Floats) -> End:
        beyond = np.maximum(0, np.maximum(self.low - answers, answers - self.high)) / self.spread
        return End(labels=labels, misfit=float(beyond.sum()))

    def _start(self, until: int, doing: str) -> End:
        """Solve models from random labels on, and anneal what they leave until so many calls are made."""
        found = self._made()
        best = self._end(found, self._answers(found))
        for _ in range(_ROUNDS):
            if self.model is None:
                if self.game.calls + self._price > until:
                    break
                self.model = self._measured(best.labels)
            say(doing, self.game.calls, self.game.limit)
            proposed = self._solved(self.model)
            answers = self._answers(proposed)
            if (np.abs(self.model.at(proposed) - answers) > _EXACT * self.spread).any():
                self.model = None
            best = min(best, self._end(proposed, answers), key=lambda end: end.misfit)
            if not best.misfit:
                return best
        return self._annealed(best, until, doing)

    @property
    def _price(self) -> int:
        """Calls of a model."""
        return len(self.rows) * self.game.n_records * (len(self.totals) - 1) + 4 * len(self.rows)

    def _measured(self, labels: Labels) -> _Model:
        """Return the model around some labels."""
        base, k = self._answers(labels), len(self.totals)
        gains = np.zeros((labels.size, k, len(self.rows)))
        partner = [int(np.flatnonzero(labels == own)[0]) if (labels == own).any() else None for own in range(k)]
        exchanged = functools.cache(lambda a, b: self._moved(labels, a, b, partner) - base)
        for record, own in enumerate(labels.tolist()):
            for other in set(range(k)) - {own}:
                moved = self._moved(labels, record, other, partner) - base
                both = partner[own], partner[other]
                gains[record, other] = moved - (exchanged(both[0], other) / 2 if self.known and None not in both else 0)
        return _Model(labels=labels, answers=base, gains=gains)

    def _moved(self, labels: Labels, record: int, other: int, partner: list[int | None]) -> Floats:
        """Return the answers where a record is of another class, and that one's partner of its own to keep totals."""
        made = labels.copy()
        if self.known and (at := partner[other]) is not None:
            made[at] = labels[record]
        made[record] = other
        return self._answers(made)

    def _solved(self, model: _Model) -> Labels:
        """Return labels that fit a model as well as a linear programme with a random objective, and exchanges, do."""
        from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
        from scipy.sparse import csr_array

        (n, k, q), of = model.gains.shape, np.array(self.totals)
        table = (model.gains / self.spread).reshape(n * k, q).T
        low, high = (self.low - model.answers) / self.spread, (self.high - model.answers) / self.spread
        beyond, slack, at = np.full(q, np.inf), np.eye(q), np.arange(n * k)
        rows = csr_array(np.block([[table, -slack], [table, slack]]))
        fits = LinearConstraint(rows, np.concatenate([-beyond, low]), np.concatenate([high, beyond]))
        each = csr_array((np.ones(n * k), (at // k, at)), shape=(n, n * k + q))
        totals = csr_array((np.ones(n * k), (at % k, at)), shape=(k, n * k + q))
        solution = milp(
            np.concatenate([self.rng.random(n * k) / n, np.full(q, 1e3)]),
            constraints=[fits, LinearConstraint(each, 1, 1), *[LinearConstraint(totals, of, of)] * self.known],
            bounds=Bounds(0, np.concatenate([np.ones(n * k), beyond])),
        )
        if solution.x is None:
            return self._made()
        shares = solution.x[: n * k].reshape(n, k)
        if self.known:
            seats = np.repeat(np.arange(k), of)
            found = seats[linear_sum_assignment(-shares[:, seats])[1]]
        else:
            found = shares.argmax(axis=1)
        return self._polished(model, found.astype(np.intp), np.argsort(shares.max(axis=1))[:_POLISHED])

    def _polished(self, model: _Model, labels: Labels, some: Labels) -> Labels:
        """Exchange pairs of some records while the model's answers come nearer to the released ones' middles."""
        gains, middle = model.gains[some] / self.spread, (self.low + self.high) / 2
        found, rest = labels[some], (model.at(labels) - middle) / self.spread
        at = np.arange(some.size)
        for _ in range(4 * some.size):
            moves = gains[:, found] - gains[at, found][:, None]
            moves = moves + moves.transpose(1, 0, 2)
            far = ((rest + moves) ** 2).sum(axis=2)
            one, other = np.unravel_index(int(far.argmin()), far.shape)
            if far[one, other] >= (rest**2).sum() * (1 - _EXACT):
                break
            rest = rest + moves[one, other]
            found[[one, other]] = found[[other, one]]
        labels[some] = found
        return labels

    def _annealed(self, best: End, until: int, doing: str) -> End:
        """Exchange two records at random, or give one another class where totals are not known."""
        current, first = best, self.game.calls
        heat = best.misfit / 10
        while best.misfit and self.game.calls + len(self.rows) <= until:
            made = current.labels.copy()
            one, other = self.rng.integers(made.size, size=2)
            if self.known:
                made[[one, other]] = made[[other, one]]
            else:
                made[one] = self.rng.integers(len(self.totals))
            if (made == current.labels).all():
                continue
            tried = self._end(made, self._answers(made))
            left = heat * (until - self.game.calls) / (until - first)
            if tried.misfit <= current.misfit - left * np.log(max(self.rng.random(), 1e-300)):
                current = tried
            best = min(best, current, key=lambda end: end.misfit)
            say(doing, self.game.calls, self.game.limit)
        return best

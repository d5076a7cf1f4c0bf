"""Whoever reads a record: he plays its trials again on labels of his own, and solves what the figures leave.

Whoever knows from what a trial's randomness is derived can do that: it tells him which labels the attack reads in that
trial and what it guesses of the others, so that every count of correct guesses, and every mean of such counts, is a
linear equation on the labels. The equations are solved as a mixed-integer programme; he is given the class counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet
from labelinf_core.evaluator.cells import Cell, Plan, digest_of
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.report.readings import CellReading

__all__ = ["Adversary"]

Labels = NDArray[np.intp]

_DOUBT = 1e-4  # probability that a guess is taken for fixed, and is not
_BUDGET = 1000  # games that are played again in all; what they do not reach is left out
_GAMES = 200  # that show which labels an attack reads, at most
_ALIKE = 4  # that show it where an attack read every label in each, or guessed the same in each
_NODES = 20  # of the programme's search: the first solution is as good as any


@attrs.frozen(kw_only=True, eq=False)
class _Firm:
    """How a cell went the last time, and how often in a row its first game has gone so.

    Attributes:
        guess: In the first game, on labels that are the same for all names and trials.
        roles: See :meth:`Adversary._roles`.
        times: Names and trials.
    """

    guess: Labels
    roles: tuple[Labels, Labels]
    times: int = 1


@attrs.define(kw_only=True)
class Adversary:
    """Plays trials again on labels of his own, sets equations up and solves them.

    Attributes:
        bench: Where games are played again, on labels of his own.
        data: The labels' size, classes and features, which are public; the labels are never looked at.
        counts: Class counts, which he is given.
        plan: What was played.
        games: How many were played again.
        cut_short: Whether the budget of games ended before a trial that was asked about.
    """

    bench: TrialRunner
    data: LabelSet = attrs.field(repr=False)
    counts: Labels
    plan: Plan
    games: int = attrs.field(default=0, init=False)
    cut_short: bool = attrs.field(default=False, init=False)
    _seen: dict[tuple[str, int], tuple[Labels, Labels]] = attrs.field(factory=dict, init=False)
    _firm: dict[tuple[object, ...], _Firm] = attrs.field(factory=dict, init=False)
    _guesses: dict[tuple[object, ...], Labels] = attrs.field(factory=dict, init=False)

    def guess(self, found: Sequence[CellReading], name: str) -> Labels:
        """Return the labels that fit what was read, were all randomness derived from ``name``; none where none do."""
        key = (name, *((item.cell.id, item.trial, item.low, item.high) for item in found))
        if key not in self._guesses:
            self._guesses[key] = self._fitting(found, name)
        return self._guesses[key]

    def _fitting(self, found: Sequence[CellReading], name: str) -> Labels:
        rows: list[NDArray[np.float64]] = []
        bounds: list[tuple[float, float]] = []
        for item in found:
            weights, low, high = self._equation(item, name)
            if weights.any():
                rows.append(weights)
                bounds.append((low, high))
        return self._solved(rows, bounds) if rows else np.full(self.data.n_records, -1)

    def _equation(self, item: CellReading, name: str) -> tuple[NDArray[np.float64], float, float]:
        """Return the weights of all labels' indicators, and between what their sum lies."""
        n = self.data.n_records
        trials = range(self.plan.trials) if item.trial is None else (item.trial,)
        scale = n * len(trials) if item.trial is None else 1
        weights, low, high = np.zeros((n, self.data.n_classes)), item.low * scale, item.high * scale
        for trial in trials:
            reads, guesses = self._roles(attrs.evolve(item.cell, digest=name), trial)
            told = np.flatnonzero(guesses >= 0)
            weights[told, guesses[told]] += 1
            high -= reads.sum()
            low -= n - told.size
        return weights.ravel(), low, high

    def _roles(self, cell: Cell, trial: int) -> tuple[Labels, Labels]:
        """Return which records an attack reads in a trial, and what it guesses of the others: -1 where that varies.

        What it reads changes with labels of his own that he plays on, and is right every time. An attack that reads
        all of them, or nothing at all, has shown that by a few games: all records speak for it. Where the first game
        goes as it did under other names and in other trials, no randomness has had a say, and the rest goes as it did.
        Where the budget of games is spent, nothing is read and nothing fixed.
        """
        if (cell.id, trial) in self._seen:
            return self._seen[cell.id, trial]
        rng, n = np.random.default_rng(1), self.data.n_records
        bag, spec = np.repeat(np.arange(self.data.n_classes), self.counts), (cell.channel, cell.attack, cell.defences)
        firm = self._firm.get(spec)
        if self.games >= _BUDGET and (firm is None or firm.times < _ALIKE):
            self.cut_short = True
            return np.zeros(n, dtype=np.intp), np.full(n, -1)
        if firm is None or firm.times < _ALIKE:
            shown = [self._play(cell, rng.permutation(bag), trial)]
            if firm is not None and np.array_equal(firm.guess, shown[0][0]):
                firm = attrs.evolve(firm, times=firm.times + 1)
            else:
                games = min(_GAMES, int(np.ceil(np.log(_DOUBT / n) / np.log(self.counts.max() / n))))
                roles = self._shown(cell, trial, shown, games, lambda: rng.permutation(bag))
                firm = _Firm(guess=shown[0][0], roles=roles)
            self._firm[spec] = firm
        self._seen[cell.id, trial] = firm.roles
        return firm.roles

    def _shown(
        self,
        cell: Cell,
        trial: int,
        shown: list[tuple[Labels, Labels]],
        games: int,
        draw: Callable[[], Labels],
    ) -> tuple[Labels, Labels]:
        """Go on playing until the records that an attack reads, and its fixed guesses, stand out from luck."""
        while True:
            guesses = np.array([guess for guess, _ in shown])
            same = (guesses == guesses[0]).all(axis=0)
            right = np.all([guess == truth for guess, truth in shown], axis=0)
            if len(shown) >= games or not (same | right).any():
                break  # fewer records with every game: where none is left, none comes back
            if len(shown) == _ALIKE and (right.all() or same.all()):
                break
            shown.append(self._play(cell, draw(), trial))
        return ~same & right, np.where(same, guesses[0], -1)

    def _play(self, cell: Cell, labels: Labels, trial: int) -> tuple[Labels, Labels]:
        """Play a trial again on other labels; where that shows nothing, no guess is right."""
        self.games += 1
        own = attrs.evolve(self.data, labels=labels)
        content = digest_of(own)
        self.bench.held = {content: own}
        nothing = np.full(labels.size, -1)
        try:
            outcome = self.bench.run_trial(attrs.evolve(cell, content=content), self.plan.seed, trial)
        except Exception:  # an attack is anyone's code
            return nothing, labels
        if outcome.guess is None or outcome.truth is None or not np.array_equal(outcome.truth, labels):
            return nothing, labels
        return np.asarray(outcome.guess), labels

    def _solved(self, rows: list[NDArray[np.float64]], bounds: list[tuple[float, float]]) -> Labels:
        from scipy import optimize, sparse

        n, classes = self.data.n_records, self.data.n_classes
        one_each = sparse.kron(sparse.eye(n), np.ones((1, classes)))
        counted = sparse.kron(np.ones((1, n)), sparse.eye(classes))
        low, high = np.array(bounds).T
        found = optimize.milp(
            np.zeros(n * classes),
            integrality=np.ones(n * classes, dtype=np.intp),
            bounds=optimize.Bounds(0, 1),
            constraints=[
                optimize.LinearConstraint(sparse.csr_array(one_each), 1, 1),
                optimize.LinearConstraint(sparse.csr_array(counted), self.counts, self.counts),
                optimize.LinearConstraint(sparse.csr_array(np.array(rows)), low - 1e-6, high + 1e-6),
            ],
            options={"node_limit": _NODES},  # and no seconds: what is found does not depend on the machine
        )
        if found.x is None:
            return np.full(n, -1)
        guess: Labels = found.x.reshape(n, classes).argmax(axis=1)
        return guess

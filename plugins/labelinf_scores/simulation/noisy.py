"""Binary labels behind a scorer that draws: its law is what it draws on made labels, never what residuals look like.

Submissions have rows of two kinds. The answer's law, given how many ones are among each kind, is fitted to thousands of
simulated draws near what is believed, anew whenever more is; labels are drawn by that law (synthetic likelihood).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_scores.simulation.formats import Numbers, SubmissionFormat
from labelinf_scores.simulation.laws import Bits, Floats, Law, sampled
from labelinf_scores.simulation.simulator import NOT_FINITE, BudgetSpentError, Labels, Simulator, Submission

__all__ = ["NoisyReading", "is_noisy", "read_noisy"]

_ROUNDS = 6
_CHAINS = 6
_TRIED = 250  # draws for every pair of rows that may be asked with
_SEEN = 4  # standard errors, less of which is nothing
_FEWEST = 300  # draws that a law can be fitted to
_SURE = 0.005  # of a label
_MISFIT = 1.3  # times as far off as the law's own draws are
_BOLD = 3.0  # times that a submission by the belief must tell more than one at random
_SHARES = (0.1, 0.25)  # of rows turned against the belief


@attrs.frozen(kw_only=True, eq=False)
class NoisyReading:
    """What was read of binary labels through noise.

    Attributes:
        labels: The likelier of each label.
        ones: The probability that it is 1.
        replayed: Whether the answers are no further off than the law's own draws would be.
        upper: Shape ``(queries, N)``: which records had the upper row.
        answers: The number of each answer that was read.
    """

    labels: NDArray[np.intp]
    ones: Floats
    replayed: bool
    upper: Bits
    answers: Floats

    @property
    def sure(self) -> NDArray[np.bool_]:
        """Which labels are as good as certain, if the law is right."""
        return np.asarray(np.minimum(self.ones, 1 - self.ones) < _SURE)

    @property
    def expected(self) -> float:
        """The share of labels that is right, by these probabilities."""
        return float(np.maximum(self.ones, 1 - self.ones).mean())


def is_noisy(game: Simulator, labels: Labels, submission: Submission, draws: int = 4) -> bool:
    """Whether the same labels and submission get different answers, again and again: a first one may be its own."""
    answers = [game(labels, submission) for _ in range(draws + 2)][1:]
    return any(not np.array_equal(answer, answers[0]) for answer in answers)


def read_noisy(
    game: Simulator,
    ask: Callable[[Submission], Any],
    form: SubmissionFormat,
    *,
    rng: np.random.Generator,
    limit: int | None = None,
    draws: int = 3000,
    sweeps: int = 40,
) -> NoisyReading:
    """Read binary labels behind a randomised scorer, until all are sure or queries are spent.

    Args:
        game: The scorer's simulation, whose every call draws anew.
        ask: Asks the host.
        form: The format of submissions.
        rng: For designs, made labels and chains.
        limit: Queries; ``5 N / 2`` if None.
        draws: Simulated answers that a law is fitted to, six times; fewer where not so many are granted.
        sweeps: Of the chains after each round; twice as many after the last.
    """
    reader = _Reader(game=game, ask=ask, rng=rng, limit=5 * game.n_records // 2 if limit is None else limit)
    with contextlib.suppress(BudgetSpentError):
        reader.run(form, min(draws, (game.limit - game.calls) // (_ROUNDS + 1)), sweeps)
    return NoisyReading(
        labels=(reader.ones > 0.5).astype(np.intp),
        ones=reader.ones,
        replayed=reader.misfit < _MISFIT,
        upper=np.array(reader.upper, dtype=bool).reshape(-1, game.n_records),
        answers=np.array(reader.answers),
    )


def _pair(game: Simulator, form: SubmissionFormat, rng: np.random.Generator) -> tuple[tuple[Any, Any], int] | None:
    """Return the two rows, and the number of an answer, with which labels stand out most from the noise; if any do."""
    rows = [*form.constants, form.low, form.high] if isinstance(form, Numbers) else list(form.constants)
    pairs = [pair for pair in itertools.combinations(rows, 2) if not np.array_equal(*pair)]
    best = max(pairs, key=lambda pair: _standing_out(game, pair, _TRIED, rng).max())
    worth = _standing_out(game, best, 4 * _TRIED, rng)
    return (best, int(worth.argmax())) if worth.max() > _SEEN else None


def _standing_out(game: Simulator, pair: tuple[Any, Any], many: int, rng: np.random.Generator) -> Floats:
    """Return how many standard errors each number of an answer moves with a label whose row is turned."""
    counts, answers = _simulated(game, pair, *_made(game.n_records, many, rng))
    if len(answers) < many / 2:
        return np.zeros(1)
    line = np.column_stack([np.ones(len(answers)), counts, counts[:, 0] * counts[:, 1], counts[:, :2] ** 2])
    one, other = counts[:, :2].mean(axis=0)
    turned = np.array([0.0, 1, -1, 0, other - one, 2 * one, -2 * other])
    slopes = np.linalg.lstsq(line, answers, rcond=None)[0]
    noise = 1.5 * np.median(np.abs(answers - line @ slopes), axis=0) + 1e-12
    return np.asarray(np.abs(turned @ slopes) / noise / np.sqrt(turned @ np.linalg.pinv(line.T @ line) @ turned))


def _made(n: int, many: int, rng: np.random.Generator) -> tuple[Bits, Bits]:
    """Return labels, and who has the upper row."""
    return rng.random((many, n)) < rng.uniform(0.1, 0.9, (many, 1)), rng.random((many, n)) < 0.5


def _rows(pair: tuple[Any, Any], upper: Bits) -> Submission:
    lower, above = np.asarray(pair[0]), np.asarray(pair[1])
    return np.where(upper.reshape(-1, *[1] * above.ndim), above, lower)


def _simulated(game: Simulator, pair: tuple[Any, Any], labels: Bits, upper: Bits) -> tuple[Floats, Floats]:
    """Return counts, a row of three for each, and one draw of each answer; nothing where there is no score."""
    made = zip(labels.astype(np.intp), upper, strict=True)
    answers = np.array([game(y, _rows(pair, u)) for y, u in made])
    counts = np.column_stack([(labels & upper).sum(axis=1), (labels & ~upper).sum(axis=1), upper.sum(axis=1)])
    scored = (np.abs(answers) < NOT_FINITE / 10).all(axis=1)
    return counts[scored].astype(np.float64), answers[scored]


@attrs.define(kw_only=True, eq=False)
class _Reader:
    """What is believed, and the law it rests on."""

    game: Simulator
    ask: Callable[[Submission], Any]
    rng: np.random.Generator
    limit: int
    pair: tuple[Any, Any] = (0, 1)
    number: int = 0
    draws: int = 0
    upper: list[Bits] = attrs.field(factory=list)
    answers: list[float] = attrs.field(factory=list)
    chains: Bits = attrs.field(init=False)
    ones: Floats = attrs.field(init=False)
    drawn: list[tuple[Floats, Floats]] = attrs.field(factory=list)
    law: Law | None = None
    misfit: float = np.inf

    def __attrs_post_init__(self) -> None:
        n = self.game.n_records
        self.chains, self.ones = _made(n, _CHAINS, self.rng)[0], np.full(n, 0.5)

    def run(self, form: SubmissionFormat, draws: int, sweeps: int) -> None:
        """Ask, learn, and ask by what is believed, until all is sure or nothing more is granted."""
        if draws < _FEWEST:
            return
        self.draws, found = draws, _pair(self.game, form, self.rng)
        if found is None:
            return
        self.pair, self.number = found
        left = [len(part) for part in np.array_split(np.arange(self.limit), _ROUNDS)]
        while left and not self.sure:
            more = self.asked(left.pop(0))
            left = left if more else []
            if self.upper:
                self.learn(sweeps if left else 2 * sweeps)

    @property
    def sure(self) -> bool:
        """Whether nothing is open, and the answers are what the labels would get."""
        return bool(np.minimum(self.ones, 1 - self.ones).max() < _SURE) and self.misfit < _MISFIT

    def asked(self, many: int) -> bool:
        """Ask; return whether the host answered all."""
        for upper in self.designs(many):
            rows = _rows(self.pair, upper)
            try:
                answer = self.game.shown(functools.partial(self.ask, rows))
            except QueriesExhaustedError:
                return False
            if np.abs(answer).max() < NOT_FINITE / 10:
                self.answers.append(float(answer[self.number]))
                self.upper.append(upper)
        return True

    def learn(self, sweeps: int) -> None:
        """Fit the law near what is believed, at submissions like those asked; draw labels by it."""
        asked, seen = np.array(self.upper), np.array(self.answers)
        size = asked.sum(axis=1).astype(np.float64)
        self.law = law = self._fitted(asked)
        told, heat = law.likelihood(size, seen), 1.5 * self._off(law, asked, seen)
        self.chains, self.ones = sampled(told, asked, self.chains, self.rng, sweeps=sweeps, heat=heat)
        self.misfit = self._off(law, asked, seen) / law.usual

    def _fitted(self, asked: Bits) -> Law:
        rng, half = self.rng, self.draws // 2
        labels, upper = _made(self.game.n_records, self.draws, rng)
        if self.law is not None:
            labels = self._around()
        upper[:half] = asked[rng.integers(len(asked), size=half)]
        upper[half:] = rng.permutation(np.vstack(self._options(self.draws - half)))[: self.draws - half]
        counts, answers = _simulated(self.game, self.pair, labels, upper)
        self.drawn.append((counts, answers[:, self.number]))
        return Law.of(np.vstack([c for c, _ in self.drawn]), np.concatenate([a for _, a in self.drawn]))

    def _off(self, law: Law, asked: Bits, seen: Floats) -> float:
        """Return how many spreads answers are off from what the chains have."""
        above = asked.T.astype(np.float64)
        mean, spread = law.given(above.sum(axis=0))(self.chains @ above, self.chains @ (1 - above))
        return float(np.median(np.abs(seen - mean) * np.exp(-spread)))

    def _around(self) -> Bits:
        """Return labels as far around what is believed as chains may go: some drawn anew, at a share near theirs."""
        rng, shape = self.rng, (self.draws, self.game.n_records)
        labels = self.chains[rng.integers(_CHAINS, size=self.draws)]
        near = labels.mean(axis=1, keepdims=True)
        share = np.clip(near + rng.normal(0, 0.02 + 2 * near.std(), (self.draws, 1)), 0.02, 0.98)
        anew = rng.random(shape) < rng.uniform(0, 0.6, (self.draws, 1))
        return np.where(anew, rng.random(shape) < share, labels)

    def designs(self, many: int) -> list[Bits]:
        """Return who gets the upper row in the next submissions: at random, or by the belief with some rows turned."""
        n = self.game.n_records
        if self.law is None:
            return list(self.rng.random((many, n)) < 0.5)
        return [self._options(1)[self._best(self.law)][0] for _ in range(many)]

    def _options(self, many: int) -> list[Bits]:
        n = self.game.n_records
        found = [self.rng.random((many, n)) < 0.5]
        for share in _SHARES:
            drawn = self.rng.random((many, n)) < self.ones
            turned = self.rng.random((many, n)) < share
            found += [drawn ^ turned, ~drawn ^ turned]
        return found

    def _best(self, law: Law) -> int:
        worth = np.array([np.mean([self._worth(law, u) for u in upper]) for upper in self._options(4)])
        worth[1:] /= _BOLD
        return int(np.argmax(worth))

    def _worth(self, law: Law, upper: Bits) -> float:
        """Return how much an answer is expected to tell of labels that are not known: squared effects over noise."""
        y = self.chains[self.rng.integers(len(self.chains))]
        turn, free = np.where(y, -1.0, 1.0), self.ones * (1 - self.ones) + 1e-6
        one, other = np.array([float(y @ upper)]), np.array([float(y @ ~upper)])
        at = law.given(np.array([float(upper.sum())]))
        (mean, spread), there = at(one, other), at(one + turn * upper, other + turn * ~upper)
        moved = [(there[0] - mean) * turn * np.exp(-spread), (there[1] - spread) * turn * np.sqrt(2)]
        return float(sum(free @ np.square(effect - np.average(effect, weights=free)) for effect in moved))

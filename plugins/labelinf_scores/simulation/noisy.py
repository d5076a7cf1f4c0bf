"""Binary labels behind a scorer that draws: its law is what it draws on made labels, never what residuals look like.

Submissions have rows of two kinds. The answer's law, given how many ones are among each kind, is fitted to thousands of
simulated draws near what is believed, anew whenever more is; labels are drawn by that law (synthetic likelihood).
Later submissions follow the belief with some rows turned, where the noise leaves more to see.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_scores.simulation.formats import Format, Numbers
from labelinf_scores.simulation.laws import Bits, Floats, Law, sampled
from labelinf_scores.simulation.simulator import BudgetSpentError, Simulator, Submission, Vector

__all__ = ["NoisyReading", "is_noisy", "read_noisy"]

_ROUNDS = 6
_CHAINS = 6
_BOLD = 1.5  # times that a submission by the belief must tell more than one at random
_TRIED = 250  # draws for every pair of rows that may be asked with
_SHARES = (0.1, 0.25)  # of rows turned against the belief


@attrs.frozen(kw_only=True, eq=False)
class NoisyReading:
    """What was read of binary labels through noise.

    Attributes:
        labels: The likelier of each label.
        ones: The probability that it is 1.
        expected: The share of labels that is right, by these probabilities.
        pair: The two rows that submissions were made of.
        weighted: Whether records were found to count differently.
        queries: Submissions that were asked.
        calls: Simulations that were run.
        upper: Shape ``(queries, N)``: which records had the upper row.
        answers: What was read of the answers.
    """

    labels: NDArray[np.intp]
    ones: Floats
    expected: float
    pair: tuple[Any, Any]
    weighted: bool
    queries: int
    calls: int
    upper: Bits
    answers: Floats


def is_noisy(game: Simulator, form: Format, rng: np.random.Generator, draws: int = 4) -> bool:
    """Whether the same labels and submission get different answers."""
    y, x = rng.integers(2, size=game.n_records), form.spread(game.n_records, rng)
    first = game(y, x)
    return any(not np.array_equal(game(y, x), first) for _ in range(draws))


def read_noisy(
    game: Simulator,
    ask: Callable[[Submission], Vector],
    form: Format,
    *,
    rng: np.random.Generator,
    limit: int = 300,
    draws: int = 3000,
    sweeps: int = 40,
) -> NoisyReading:
    """Read binary labels behind a randomised scorer.

    Args:
        game: The scorer's simulation, whose every call draws anew.
        ask: Asks the host.
        form: The format of submissions.
        rng: For designs, made labels and chains.
        limit: Queries.
        draws: Simulated answers that a law is fitted to, six times.
        sweeps: Of the chains after each round; twice as many after the last.
    """
    before, n = game.calls, game.n_records
    reader = _Reader(game=game, form=form, rng=rng, pair=_pair(game, form, rng), draws=draws)
    try:
        reader.weigh()
        for asked in np.array_split(np.arange(limit), _ROUNDS):
            for upper in reader.designs(len(asked)):
                reader.answers.append(float(game.shown(lambda u=upper: ask(reader.submission(u)))[0]))
                reader.upper.append(upper)
            reader.learn(sweeps * (1 + (asked[-1] == limit - 1)))
    except (QueriesExhaustedError, BudgetSpentError):
        pass
    return NoisyReading(
        labels=(reader.ones > 0.5).astype(np.intp),
        ones=reader.ones,
        expected=float(np.maximum(reader.ones, 1 - reader.ones).mean()),
        pair=reader.pair,
        weighted=bool(np.ptp(reader.weights) > 0),
        queries=len(reader.answers),
        calls=game.calls - before,
        upper=np.array(reader.upper, dtype=bool).reshape(-1, n),
        answers=np.array(reader.answers),
    )


def _pair(game: Simulator, form: Format, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the two rows with which one label stands out most from the noise."""
    n = game.n_records
    rows = [*form.constants, form.low, form.high] if isinstance(form, Numbers) else list(form.constants)
    worth: dict[int, float] = {}
    pairs = list(itertools.combinations(rows, 2))
    for p, pair in enumerate(pairs):
        made, upper = _made(n, _TRIED, rng), rng.random((_TRIED, n)) < 0.5
        answers = np.array([game(y, _rows(pair, u))[0] for y, u in zip(made.astype(int), upper, strict=True)])
        told = np.column_stack([(made & upper).sum(axis=1), (made & ~upper).sum(axis=1), upper.sum(axis=1)])
        line = np.column_stack([np.ones(_TRIED), told, told[:, 0] * told[:, 1], told[:, :2] ** 2.0])
        slope = np.linalg.lstsq(line, answers, rcond=None)[0]
        ends = told[:, :2].mean(axis=0) @ [[2 * slope[5], -slope[4]], [slope[4], -2 * slope[6]]]
        worth[p] = abs(slope[1] - slope[2] + ends.sum()) / (np.median(np.abs(answers - line @ slope)) + 1e-12)
    return pairs[max(worth, key=lambda p: worth[p])]


def _made(n: int, many: int, rng: np.random.Generator) -> Bits:
    return rng.random((many, n)) < rng.uniform(0.1, 0.9, (many, 1))


def _rows(pair: tuple[Any, Any], upper: Bits) -> Submission:
    lower, above = np.asarray(pair[0]), np.asarray(pair[1])
    return np.where(upper.reshape(-1, *[1] * above.ndim), above, lower)


@attrs.define(kw_only=True, eq=False)
class _Reader:
    """What is believed, and the law it rests on."""

    game: Simulator
    form: Format
    rng: np.random.Generator
    pair: tuple[Any, Any]
    draws: int
    upper: list[Bits] = attrs.field(factory=list)
    answers: list[float] = attrs.field(factory=list)
    chains: Bits = attrs.field(init=False)
    ones: Floats = attrs.field(init=False)
    weights: Floats = attrs.field(init=False)
    law: Law | None = None

    def __attrs_post_init__(self) -> None:
        n = self.game.n_records
        self.chains, self.ones, self.weights = _made(n, _CHAINS, self.rng), np.full(n, 0.5), np.ones(n)

    def submission(self, upper: Bits) -> Submission:
        """Return rows of the pair."""
        return _rows(self.pair, upper)

    def simulated(self, labels: Bits, upper: Bits) -> tuple[Floats, Floats]:
        """Return counts, a row of three each, and one draw of each answer."""
        made = zip(labels.astype(np.intp), upper, strict=True)
        answers = np.array([self.game(y, self.submission(u))[0] for y, u in made])
        return np.column_stack(
            [(labels & upper) @ self.weights, (labels & ~upper) @ self.weights, upper @ self.weights]
        ), answers

    def weigh(self) -> None:
        """Find whether records count differently, by their own effects on simulated answers."""
        n = self.game.n_records
        labels, upper = _made(n, self.draws, self.rng), self.rng.random((self.draws, n)) < 0.5
        counts, answers = self.simulated(labels, upper)
        mean, spread = Law.of(counts, answers).at(tuple(counts.T))
        own = np.where(labels == upper, 1.0, -1.0) * np.exp(-spread)[:, None]
        apart = own - own.mean(axis=1, keepdims=True)
        effect, error = np.linalg.lstsq(apart, (answers - mean) * np.exp(-spread), rcond=None)[0], 0.0
        error = np.sqrt(np.diag(np.linalg.pinv(apart.T @ apart)))
        if np.square(effect / error).sum() > n + 5 * np.sqrt(2 * n):
            common = np.linalg.lstsq(own.sum(axis=1)[:, None], answers * np.exp(-spread), rcond=None)[0][0]
            plain = np.linalg.lstsq(
                np.column_stack([np.ones(len(answers)), labels, upper, labels == upper]), answers, rcond=None
            )[0][-n:]
            self.weights = np.maximum(plain / plain.mean(), 0.0) if plain.mean() * common != 0 else self.weights

    def designs(self, many: int) -> list[Bits]:
        """Return who gets the upper row in the next submissions: at random, or by the belief with some rows turned."""
        n = self.game.n_records
        return (
            [self._options(1)[self._best][0] for _ in range(many)]
            if self.law
            else list(self.rng.random((many, n)) < 0.5)
        )

    def _options(self, many: int) -> list[Bits]:
        n = self.game.n_records
        found = [self.rng.random((many, n)) < 0.5]
        for share in _SHARES:
            drawn = self.rng.random((many, n)) < self.ones
            turned = self.rng.random((many, n)) < share
            found += [drawn ^ turned, ~drawn ^ turned]
        return found

    @property
    def _best(self) -> int:
        worth = np.array([np.mean([self._worth(u) for u in upper]) for upper in self._options(4)])
        worth[1:] /= _BOLD
        return int(np.argmax(worth))

    def _worth(self, upper: Bits) -> float:
        """Return how much an answer is expected to tell of labels that are not known: squared effects over noise."""
        if self.law is None:
            return 0.0
        weigh = np.where(upper, self.weights, 0.0)
        y = self.chains[self.rng.integers(len(self.chains))]
        turn = np.where(y, -1.0, 1.0)
        here = [np.array([(y @ weigh)]), np.array([y @ (self.weights - weigh)]), np.array([weigh.sum()])]
        mean, spread = self.law.at((here[0], here[1], here[2]))
        there = self.law.at((here[0] + turn * weigh, here[1] + turn * (self.weights - weigh), here[2]))
        open_ = self.ones * (1 - self.ones) + 1e-6
        total = 0.0
        for moved, of in zip(there, (mean, spread), strict=True):
            effect = (moved - of) * turn
            effect = effect - np.average(effect, weights=open_)
            total += float(open_ @ effect**2) * (np.exp(-2 * spread[0]) if of is mean else 2.0)
        return total

    def learn(self, sweeps: int) -> None:
        """Fit the law near what is believed, at what was asked and may be; draw labels by it."""
        rng, n = self.rng, self.game.n_records
        asked = np.array(self.upper)
        half = self.draws // 2
        options = np.vstack(self._options(self.draws - half))
        upper = np.vstack([asked[rng.integers(len(asked), size=half)], rng.permutation(options)[: self.draws - half]])
        labels = _made(n, self.draws, rng)
        if self.law is not None:
            labels = self.chains[rng.integers(_CHAINS, size=self.draws)]
            # As far around as chains may go: some labels drawn anew, at a share near theirs.
            anew = rng.random((self.draws, n)) < rng.uniform(0, 0.6, (self.draws, 1))
            near = labels.mean(axis=1, keepdims=True)
            share = np.clip(near + rng.normal(0, 0.02 + 2 * near.std(), (self.draws, 1)), 0.02, 0.98)
            labels = np.where(anew, rng.random((self.draws, n)) < share, labels)
        self.law = Law.of(*self.simulated(labels, upper))
        answers = np.array(self.answers)
        self.chains, self.ones = sampled(
            self.law, asked, answers, self.weights, self.chains, rng, sweeps=sweeps, burn=sweeps // 3
        )

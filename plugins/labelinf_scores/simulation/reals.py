"""Real targets behind any scorer: rows that are moved one at a time, and least squares on the simulated scorer.

Every query's answer is a function of all targets, which the simulator is; it is solved for them by damped Gauss-Newton
steps, whose tangent is made of simulated differences and mended on the way. A scorer of ranks is solved for ranks.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_scores.simulation.designs import BASE, CircleDesign, MovedRow, designs, digits, shaped
from labelinf_scores.simulation.formats import Numbers
from labelinf_scores.simulation.noisy import is_noisy
from labelinf_scores.simulation.simulator import NOT_FINITE, BudgetSpentError, Simulator, Submission

__all__ = ["RealReading", "ranks_only", "read_reals"]

Floats = NDArray[np.float64]
_EXACT = 1e-10  # of an answer, that sums of floats may differ by
_NUDGE = 1e-4  # of the prior's spread, for differences
_STEPS = 60  # of a descent
_STARTS = 3
_STUCK = 1e6  # damping that moves nothing
_DRAWN = 8  # targets, of which one at least gets another answer where anything is told of them
_GRID = 24  # values of a target that are tried, all others left alone


@attrs.frozen(kw_only=True, eq=False)
class RealReading:
    """What was read of real targets.

    Attributes:
        values: A value for every record; only their order means anything where ``ranks_only``.
        half_widths: How far each may be off, as the answers' digits have it; in ranks, where ``ranks_only``.
        read: Records that replayed answers fix within the tolerance; of ranks, within half a rank.
        replayed: Whether the values give every answer.
        ranks_only: Whether the scorer sees no more of the targets than their order.
        drawn: Whether it draws; then nothing was asked or read.
        queries: Submissions that were asked.
        calls: Simulations that were run.
        designs: The designs that were asked, by name.
    """

    values: Floats
    half_widths: Floats
    read: NDArray[np.bool_]
    replayed: bool
    ranks_only: bool
    drawn: bool
    queries: int
    calls: int
    designs: tuple[str, ...]


def read_reals(
    game: Simulator,
    ask: Callable[[Submission], Any],
    forms: Sequence[Numbers],
    prior: Floats,
    *,
    rng: np.random.Generator,
    limit: int | None = None,
    tolerance: float | None = None,
) -> RealReading:
    """Read real targets.

    Args:
        game: The scorer's simulation; its ``score`` takes a float for every record. Cells of several columns of
            targets are records.
        ask: Asks the host.
        forms: The range of each column of a submission; one: submissions have shape ``(N,)``, else ``(N, columns)``.
        prior: Targets such as a participant knows: training labels, or made ones.
        rng: For designs and starts.
        limit: Queries; ``2 N`` if None.
        tolerance: How near a value must be; a hundredth of the prior's interquartile range if None.
    """
    before = game.calls
    drawn, among, ranks = False, list[CircleDesign](), False
    with contextlib.suppress(BudgetSpentError):  # too few simulations to plan with: nothing is asked
        drawn = is_noisy(game, rng.choice(prior, game.n_records), _spread(game, forms, rng))
        among, ranks = ([], False) if drawn else _designs(game, forms, prior, rng)
    quarter, rest = np.quantile(prior, [0.25, 0.75])
    near = 0.5 if ranks else (rest - quarter) / 100 if tolerance is None else tolerance
    solver = _Solver(game=game, ask=ask, prior=np.sort(prior), rng=rng, ranks=ranks, near=near)
    with contextlib.suppress(QueriesExhaustedError, BudgetSpentError):
        solver.run(among, 2 * game.n_records if limit is None else limit)
    return RealReading(
        values=solver.targets(solver.unknown),
        half_widths=solver.half_widths(),
        read=solver.sure,
        replayed=solver.misfit < 1,
        ranks_only=ranks,
        drawn=drawn,
        queries=len(solver.queries),
        calls=game.calls - before,
        designs=tuple(dict.fromkeys(query.design for query in solver.queries)),
    )


def _spread(game: Simulator, forms: Sequence[Numbers], rng: np.random.Generator) -> Submission:
    return shaped(np.column_stack([form.spread(game.n_records, rng) for form in forms]))


def _designs(
    game: Simulator, forms: Sequence[Numbers], prior: Floats, rng: np.random.Generator
) -> tuple[list[CircleDesign], bool]:
    """Return what may be asked, nothing where answers are the same for other targets; and whether only order counts."""
    x = _spread(game, forms, rng)
    answers = np.array([game(rng.choice(prior, game.n_records), x) for _ in range(_DRAWN)])
    if np.array_equal(answers, np.repeat(answers[:1], _DRAWN, axis=0)):
        return [], False
    ranks = ranks_only(game, forms, prior, rng)
    return designs(game, forms, prior, rng, ranks=ranks), ranks


def ranks_only(game: Simulator, forms: Sequence[Numbers], prior: Floats, rng: np.random.Generator) -> bool:
    """Whether answers stay what they are when the targets are bent and their order is kept."""
    low, span = prior.min(), np.ptp(prior)
    for _ in range(4):
        y, x = rng.choice(prior, game.n_records), _spread(game, forms, rng)
        if not np.allclose(game(y, x), game(low + (y - low) ** 2 / span, x), rtol=1e-9, atol=1e-12):
            return False
    return True


@attrs.define(kw_only=True, eq=False)
class _Solver:
    """Targets, or ranks, that give the answers."""

    game: Simulator
    ask: Callable[[Submission], Any]
    prior: Floats
    rng: np.random.Generator
    ranks: bool
    near: float
    queries: list[MovedRow] = attrs.field(factory=list)
    answers: Floats = attrs.field(factory=lambda: np.zeros((0, 1)))
    tangent: Floats = attrs.field(factory=lambda: np.zeros((0, 1, 1)))  # (queries, numbers of an answer, N)
    unknown: Floats = attrs.field(init=False)
    misfit: float = np.inf
    step: Floats = attrs.field(init=False)
    sure: NDArray[np.bool_] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.unknown = self._start()
        self.step = np.zeros(1)
        self.sure = np.zeros(self.game.n_records, dtype=bool)

    def run(self, among: list[CircleDesign], limit: int) -> None:
        """Ask the first design of all records, then a few more queries of it, or of the next where nothing replays."""
        n = self.game.n_records
        streams = {design.name: design.queries(self.rng) for design in among}
        turn = itertools.cycle(streams.values())
        stream = next(turn) if streams else iter(())
        while streams and len(self.queries) < limit:
            many = max(1, n // 6) if self.queries else n + 1
            self._asked([next(stream) for _ in range(min(many, limit - len(self.queries)))])
            before, replayed = self.sure.sum(), self.misfit < 1
            self.sure[:] = False
            self._solve()
            self.sure = self.read()
            if self.sure.all() or (replayed and self.misfit < 1 and self.sure.sum() <= before):
                return  # all is read, or more of the same tells no more
            if self.misfit >= 1:
                stream = next(turn)

    def targets(self, unknown: Floats) -> Floats:
        """Return the targets that values of the unknowns stand for: themselves, or the prior's quantiles."""
        if not self.ranks:
            return unknown
        n = len(unknown)
        return np.quantile(self.prior, (unknown.argsort(kind="stable").argsort() + 0.5) / n)

    def read(self) -> NDArray[np.bool_]:
        """Return which unknowns replayed answers fix, each to one value that is near enough."""
        if self.misfit >= 1:
            return np.zeros(len(self.unknown), dtype=bool)
        return np.array([width <= self.near and self._one_value(i) for i, width in enumerate(self.half_widths())])

    @property
    def _spread(self) -> float:
        return self.game.n_records / 12**0.5 if self.ranks else float(self.prior.std())

    def half_widths(self) -> Floats:
        """Return how far each unknown may be off, where the tangent holds; the prior's spread where nothing tells."""
        n = self.game.n_records
        rows = [self.ranks * 1e3 * np.ones((1, n))]  # the sum of all ranks is known
        if len(self.tangent):
            rows.append((self.tangent / self._slack[: len(self.tangent), :, None]).reshape(-1, n))
        _, sizes, axes = np.linalg.svd(np.vstack(rows) * self._spread)
        sizes = np.append(sizes, np.zeros(n - len(sizes)))
        return self._spread * np.sqrt(axes.T**2 @ (1 / (1 + sizes**2)))

    @property
    def _slack(self) -> Floats:
        """How far off an answer may be: a unit of its last digit, as a simulated one is rounded too."""
        return np.maximum(self.step * (1 + 1e-6), _EXACT * np.maximum(np.abs(self.answers), 1e-3))

    def _start(self) -> Floats:
        n = self.game.n_records
        return self.rng.permutation(n).astype(float) if self.ranks else self.rng.choice(self.prior, n)

    def _asked(self, queries: list[MovedRow]) -> None:
        new = np.array([self.game.shown(functools.partial(self.ask, query.rows)) for query in queries])
        self.answers = np.vstack([self.answers, new]) if self.queries else new
        self.queries += queries
        self.step = digits(self.answers)

    # Simulation.

    def _simulated(self, unknown: Floats, queries: Sequence[MovedRow]) -> Floats:
        y = self.targets(unknown)
        return np.array([self.game(y, query.rows) for query in queries])

    def _nearby(self, unknown: Floats) -> Iterator[Floats]:
        """Yield moves of the unknowns that are small, or swap two ranks; they span all moves."""
        n = len(unknown)
        around = self.rng.permutation(n)
        for i, j in zip(around, np.roll(around, 1), strict=True):
            move = np.zeros(n)
            move[i] = unknown[j] - unknown[i] if self.ranks else _NUDGE * self._spread
            move[j] = -move[i] if self.ranks else 0.0
            yield move

    def _slopes(self, unknown: Floats, queries: Sequence[MovedRow]) -> Floats:
        """Return the tangent of some queries: all differences."""
        here = self._simulated(unknown, queries)
        moves = np.array(list(self._nearby(unknown)))
        turns = np.array([self._simulated(unknown + move, queries) - here for move in moves])
        found = np.linalg.pinv(moves) @ turns.reshape(len(moves), -1)
        return np.asarray(found.T.reshape(*here.shape, len(unknown)))

    def _sketched(self, unknown: Floats, queries: Sequence[MovedRow]) -> Floats:
        """Return a tangent that is right in the record whose row is moved, and has the base's slopes elsewhere."""
        base = next(
            (query for query in self.queries if query.focus == BASE and query.design == queries[0].design), None
        )
        if self.ranks or base is None:
            return self._slopes(unknown, queries)
        found = np.repeat(self._slopes(unknown, [base]), len(queries), axis=0)
        for row, query in zip(found, queries, strict=True):
            if query.focus != BASE:
                move = np.zeros(len(unknown))
                move[query.focus] = _NUDGE * self._spread
                turn = self._simulated(unknown + move, [query]) - self._simulated(unknown, [query])
                row[:, query.focus] = turn[0] / move[query.focus]
        return found

    # Descent.

    def _solve(self) -> None:
        """Find unknowns that give the answers: go on from where the last queries led to, else from elsewhere."""
        for attempt in range(_STARTS):
            start = self._fitted(self.unknown if attempt == 0 else self._start())
            if self._descend(start, sketch=True) or self._descend(self.unknown, sketch=False):
                self.tangent = self._sketched(self.unknown, self.queries)
                return

    def _tried(self, unknown: Floats, i: int) -> tuple[Floats, Floats]:
        """Return values of one target, and how far they take the answers that tell of it from what they are.

        Such an answer is set against its design's base; the bases' own follow.
        """
        values = np.quantile(self.prior, np.linspace(0, 1, _GRID))
        values = np.concatenate([[1.5 * values[0] - 0.5 * values[1]], values, [values[-1] + np.ptp(values) / 4]])
        pairs = [(k, base) for k, base in self._bases() if self.queries[k].focus == i]
        own, other = [k for k, _ in pairs], [base for _, base in pairs]
        seen, found = self.answers[own] - self.answers[other], []
        for value in values if own else ():
            made = unknown.copy()
            made[i] = value
            there = self._simulated(made, [self.queries[k] for k in own + other])
            apart = there[: len(own)] - there[len(own) :] - seen
            found.append(np.append(apart, there[len(own) :] - self.answers[other]))
        return values, np.array(found)

    def _fitted(self, unknown: Floats) -> Floats:
        """Return a start: for every target the value that fits best, were the others as they are drawn."""
        found = unknown.copy()
        for i in range(0 if self.ranks else len(unknown)):
            values, off = self._tried(unknown, i)
            if off.size:
                off = off[:, : off.shape[1] // 2]
                found[i] = values[np.abs(off / (np.abs(off).max(axis=0) + 1e-300)).sum(axis=1).argmin()]
        return found

    def _one_value(self, i: int) -> bool:
        """Whether only values near the one that was found give the answers, all others left alone."""
        _, off = self._tried(self.unknown, i)
        if not off.size:
            return True
        sides = np.sign(np.where(np.abs(off) < 2 * self._slack.max(), 0.0, off))
        fits = np.flatnonzero((sides[1:] * sides[:-1] <= 0).all(axis=1))
        return not fits.size or bool(np.ptp(fits) <= 1)

    def _descend(self, unknown: Floats, *, sketch: bool) -> bool:
        """Take damped Gauss-Newton steps, with a tangent that every step mends; return whether the answers replay."""
        slopes = (self._sketched if sketch else self._slopes)(unknown, self.queries)
        found, n = self._simulated(unknown, self.queries), len(unknown)
        scale = np.maximum(np.linalg.norm(self._apart(slopes), axis=2) * self._spread, self._slack)
        miss, damping = self._apart(self.answers - found) / scale, 1e-3
        for _ in range(_STEPS):
            self.unknown, self.tangent = unknown, slopes
            self.misfit = float((np.abs(self.answers - found) / self._slack).max())
            if self.misfit < 1 or damping > _STUCK:
                break
            rows = (self._apart(slopes) / scale[:, :, None]).reshape(-1, n) * self._spread
            stacked = np.vstack([rows, np.sqrt(damping) * np.eye(n)])
            move = np.linalg.lstsq(stacked, np.append(miss.ravel(), np.zeros(n)), rcond=None)[0] * self._spread
            other = self._allowed(unknown + move)
            there, move = self._simulated(other, self.queries), other - unknown
            if not move.any():
                break
            if np.abs(there).max() < NOT_FINITE / 10:  # Broyden's mending
                slopes = slopes + (there - found - slopes @ move)[:, :, None] * move / (move @ move)
            closer = self._apart(self.answers - there) / scale
            if np.square(closer).sum() < np.square(miss).sum():
                unknown, found, miss, damping = other, there, closer, damping * 0.1
            else:
                damping = max(1e-8, damping) * 10
        return self.misfit < 1

    def _apart(self, numbers: Floats) -> Floats:
        """Set answers to moved rows against their design's base, so that what all share hides nothing."""
        found = numbers.copy()
        for k, base in self._bases():
            found[k] = numbers[k] - numbers[base]
        return found

    def _bases(self) -> list[tuple[int, int]]:
        """Return the queries that move a row, each with its design's query that moves none."""
        bases = {query.design: k for k, query in enumerate(self.queries) if query.focus == BASE}
        moved = [(k, query) for k, query in enumerate(self.queries) if query.focus != BASE]
        return [(k, bases[query.design]) for k, query in moved if query.design in bases]

    def _allowed(self, unknown: Floats) -> Floats:
        if self.ranks:
            return unknown.argsort(kind="stable").argsort().astype(float)
        low, high, span = self.prior[0], self.prior[-1], np.ptp(self.prior)
        return np.clip(unknown, low / 4 if low > 0 else low - span / 2, high + span)

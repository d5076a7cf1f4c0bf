"""Real targets behind any scorer: rows that are moved one at a time, and least squares on the simulated scorer.

Every query's answer is a function of all targets, which the simulator is; it is solved for them by damped Gauss-Newton
steps, whose tangent is made of simulated differences and mended on the way. A scorer of ranks is solved for ranks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_scores.simulation.designs import BASE, Design, Query, designs, shaped
from labelinf_scores.simulation.formats import Numbers
from labelinf_scores.simulation.simulator import BudgetSpentError, Simulator, Submission, Vector

__all__ = ["RealReading", "ranks_only", "read_reals"]

Floats = NDArray[np.float64]
_EXACT = 1e-10  # of an answer, that sums of floats may differ by
_NUDGE = 1e-4  # of the prior's spread, for differences
_STEPS = 60  # of a descent
_STARTS = 3


@attrs.frozen(kw_only=True, eq=False)
class RealReading:
    """What was read of real targets.

    Attributes:
        values: A value for every record; only their order means anything where ``ranks_only``.
        half_widths: How far each may be off, as the answers' digits have it; in ranks, where ``ranks_only``.
        read: Records that replayed answers fix within the tolerance; of ranks, within half a rank.
        replayed: Whether the values give every answer.
        ranks_only: Whether the scorer sees no more of the targets than their order.
        queries: Submissions that were asked.
        calls: Simulations that were run.
        designs: The designs that were asked, by name.
    """

    values: Floats
    half_widths: Floats
    read: NDArray[np.bool_]
    replayed: bool
    ranks_only: bool
    queries: int
    calls: int
    designs: tuple[str, ...]


def read_reals(
    game: Simulator,
    ask: Callable[[Submission], Vector],
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
    ranks = ranks_only(game, forms, prior, rng)
    quarter, rest = np.quantile(prior, [0.25, 0.75])
    near = 0.5 if ranks else (rest - quarter) / 100 if tolerance is None else tolerance
    solver = _Solver(game=game, ask=ask, prior=np.sort(prior), rng=rng, ranks=ranks, near=near)
    with contextlib.suppress(QueriesExhaustedError, BudgetSpentError):
        solver.run(designs(game, forms, prior, rng, ranks=ranks), 2 * game.n_records if limit is None else limit)
    half = solver.half_widths()
    return RealReading(
        values=solver.targets(solver.unknown),
        half_widths=half,
        read=(half <= near) & (solver.misfit < 1),
        replayed=solver.misfit < 1,
        ranks_only=ranks,
        queries=len(solver.queries),
        calls=game.calls - before,
        designs=tuple(dict.fromkeys(query.design for query in solver.queries)),
    )


def ranks_only(game: Simulator, forms: Sequence[Numbers], prior: Floats, rng: np.random.Generator) -> bool:
    """Whether answers stay what they are when the targets are bent and their order is kept."""
    low, span = prior.min(), np.ptp(prior)
    for _ in range(4):
        y = rng.choice(prior, game.n_records)
        x = shaped(np.column_stack([form.spread(game.n_records, rng) for form in forms]))
        if not np.allclose(game(y, x), game(low + (y - low) ** 2 / span, x), rtol=1e-9, atol=1e-12):
            return False
    return True


@attrs.define(kw_only=True, eq=False)
class _Solver:
    """Targets, or ranks, that give the answers."""

    game: Simulator
    ask: Callable[[Submission], Vector]
    prior: Floats
    rng: np.random.Generator
    ranks: bool
    near: float
    queries: list[Query] = attrs.field(factory=list)
    answers: Floats = attrs.field(factory=lambda: np.zeros((0, 1)))
    tangent: Floats = attrs.field(factory=lambda: np.zeros((0, 1, 1)))  # (queries, numbers of an answer, N)
    unknown: Floats = attrs.field(init=False)
    misfit: float = np.inf
    step: Floats = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.unknown = self._start()
        self.step = np.zeros(1)

    def run(self, among: list[Design], limit: int) -> None:
        """Ask the best design of all records, then a few queries at a time of whichever tells most."""
        n = self.game.n_records
        streams = {design.name: design.queries(self.rng) for design in among}
        worth = {design.name: self._measured(design) for design in among}
        known = np.eye(n) / self._spread**2
        while among and len(self.queries) < limit:
            best = min(among, key=lambda design: _left(known, *worth[design.name])).name
            many = max(1, n // 6) if self.queries else n + 1
            self._asked([next(streams[best]) for _ in range(min(many, limit - len(self.queries)))])
            self._solve()
            if self.misfit < 1 and (self.half_widths() <= self.near).all():
                return
            known = self._known()

    def targets(self, unknown: Floats) -> Floats:
        """Return the targets that values of the unknowns stand for: themselves, or the prior's quantiles."""
        if not self.ranks:
            return unknown
        n = len(unknown)
        return np.quantile(self.prior, (unknown.argsort(kind="stable").argsort() + 0.5) / n)

    def half_widths(self) -> Floats:
        """Return how far each unknown may be off."""
        return np.sqrt(np.diag(np.linalg.inv(self._known())))

    @property
    def _spread(self) -> float:
        return self.game.n_records / 12**0.5 if self.ranks else float(self.prior.std())

    def _known(self) -> Floats:
        n = self.game.n_records
        rows = (self.tangent / self._slack[:, :, None]).reshape(-1, n) if len(self.tangent) else np.zeros((0, n))
        return rows.T @ rows + np.eye(n) / self._spread**2 + self.ranks * 1e6 * np.ones((n, n))

    @property
    def _slack(self) -> Floats:
        """How far off an answer may be: half its last digit."""
        return np.maximum(self.step / 2 * (1 + 1e-6), _EXACT * np.maximum(np.abs(self.answers), 1e-3))

    def _start(self) -> Floats:
        n = self.game.n_records
        return self.rng.permutation(n).astype(float) if self.ranks else self.rng.choice(self.prior, n)

    def _asked(self, queries: list[Query]) -> None:
        new = np.array([self.game.shown(partial(self.ask, query.rows)) for query in queries])
        self.answers = np.vstack([self.answers, new]) if self.queries else new
        self.queries += queries
        self.step = _digits(self.answers)

    # Simulation.

    def _simulated(self, unknown: Floats, queries: Sequence[Query]) -> Floats:
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

    def _slopes(self, unknown: Floats, queries: Sequence[Query]) -> Floats:
        """Return the tangent of some queries: all differences."""
        here = self._simulated(unknown, queries)
        moves = np.array(list(self._nearby(unknown)))
        turns = np.array([self._simulated(unknown + move, queries) - here for move in moves])
        found = np.linalg.pinv(moves) @ turns.reshape(len(moves), -1)
        return np.asarray(found.T.reshape(*here.shape, len(unknown)))

    def _sketched(self, unknown: Floats, queries: Sequence[Query]) -> Floats:
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

    def _measured(self, design: Design) -> tuple[Floats, float]:
        """Return a design's tangent, of all its turns, and how far it is off elsewhere."""
        n = self.game.n_records
        stream = design.queries(np.random.default_rng(0))
        queries = [next(stream) for _ in range(2)]
        place = np.roll(np.random.default_rng(0).permutation(n), 0 if design.moved else -1)
        once, again = (self._slopes(self._start(), queries)[:, 0][:, place] for _ in range(2))
        turned = [np.roll(once[1], k) for k in range(n)]
        if design.moved:
            turned = [once[0], *(np.where(np.arange(n) == k, once[1, 0], once[0]) for k in range(n))]
        slack = _EXACT + float(_digits(np.array([self._simulated(self._start(), queries)[:, 0]])).max()) / 2
        return np.array(turned), float(np.hypot(slack, 0.1 * self._spread * np.linalg.norm(once - again, axis=1).max()))

    # Descent.

    def _solve(self) -> None:
        """Find unknowns that give the answers: go on from where the last queries led to, else from elsewhere."""
        for attempt in range(_STARTS):
            start = self.unknown if attempt == 0 else self._start()
            if self._descend(start, sketch=True) or self._descend(self.unknown, sketch=False):
                return

    def _descend(self, unknown: Floats, *, sketch: bool) -> bool:
        """Take damped Gauss-Newton steps, with a tangent that every step mends; return whether the answers replay."""
        slopes = (self._sketched if sketch else self._slopes)(unknown, self.queries)
        found, size = self._simulated(unknown, self.queries), slopes.shape
        scale = np.maximum(np.linalg.norm(slopes, axis=2) * self._spread, self._slack)
        miss, damping = (self.answers - found) / scale, 1e-3
        for _ in range(_STEPS):
            self.unknown, self.tangent = unknown, slopes
            self.misfit = float((np.abs(self.answers - found) / self._slack).max())
            if self.misfit < 1 or damping > 1e6:
                break
            rows = (slopes / scale[:, :, None]).reshape(-1, size[2]) * self._spread
            stacked = np.vstack([rows, np.sqrt(damping) * np.eye(size[2])])
            move = np.linalg.lstsq(stacked, np.append(miss.ravel(), np.zeros(size[2])), rcond=None)[0] * self._spread
            other = self._allowed(unknown + move)
            there, move = self._simulated(other, self.queries), other - unknown
            if not move.any():
                break
            if np.abs(there).max() < 1e11:  # Broyden's mending
                slopes = slopes + (there - found - slopes @ move)[:, :, None] * move / (move @ move)
            closer = (self.answers - there) / scale
            if np.square(closer).sum() < np.square(miss).sum():
                unknown, found, miss, damping = other, there, closer, damping * 0.1
            else:
                damping = max(1e-8, damping) * 10
        return self.misfit < 1

    def _allowed(self, unknown: Floats) -> Floats:
        if self.ranks:
            return unknown.argsort(kind="stable").argsort().astype(float)
        low, high, span = self.prior[0], self.prior[-1], np.ptp(self.prior)
        return np.clip(unknown, low / 4 if low > 0 else low - span / 2, high + span)


def _left(known: Floats, tangent: Floats, slack: float) -> float:
    """Return the mean variance that is left after a design's queries."""
    return float(np.trace(np.linalg.inv(known + tangent.T @ tangent / slack**2)))


def _digits(answers: Floats) -> Floats:
    """Return what every number of an answer is a multiple of, a power of ten; 0: of none."""
    step = np.zeros(answers.shape[1])
    for decimals in range(7):
        scaled = answers * 10.0**decimals
        step[(step == 0) & (np.abs(scaled - np.round(scaled)) < 1e-7 * 1).all(axis=0)] = 10.0**-decimals
    return step

"""Submissions that turn on a circle of records, and which of them tell most of real targets: found by simulation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.formats import Numbers
from labelinf_scores.simulation.simulator import NOT_FINITE, Simulator, Submission

__all__ = ["BASE", "CircleDesign", "MovedRow", "designs", "digits", "shaped"]

Floats = NDArray[np.float64]
BASE = -1  #: the place of the moved row in a submission that has none
_FAR = (30.0, 1000.0)  # ranges beyond the ends, where errors have known signs
_PAIRS = 120  # pairs of rows that are looked at
_BEST = 6  # of them that are designs
_COUNTED = 1e13  # beyond which every double is near a whole number
_WORTH = 0.5  # steadiness of a design: less is none


@attrs.frozen(kw_only=True, eq=False)
class MovedRow:
    """A submission, the record whose row it moves, and the name of its design."""

    rows: Submission
    focus: int
    design: str


@attrs.define(kw_only=True, eq=False)
class CircleDesign:
    """A row for every place of a circle; every query turns it by one place.

    Attributes:
        name: What it is made of.
        rows: Shape ``(N, columns)``: of the places of the circle.
        moved: Whether all rows but the first are alike.
    """

    name: str
    rows: Floats
    moved: bool

    def queries(self, rng: np.random.Generator) -> Iterator[MovedRow]:
        """Yield queries without end: the base, where all rows but one are alike, then turns, in ever new orders."""
        n = len(self.rows)
        if self.moved:
            yield MovedRow(rows=shaped(np.repeat(self.rows[1:2], n, axis=0)), focus=BASE, design=self.name)
        while True:
            order = rng.permutation(n)
            for k in range(n):
                turned = np.empty_like(self.rows)
                turned[np.roll(order, -k)] = self.rows
                yield MovedRow(rows=shaped(turned), focus=int(order[k]), design=self.name)


def shaped(rows: Floats) -> Submission:
    """Return rows of one column as a vector."""
    return rows[:, 0] if rows.shape[1] == 1 else rows


def designs(
    game: Simulator, forms: Sequence[Numbers], prior: Floats, rng: np.random.Generator, *, ranks: bool
) -> list[CircleDesign]:
    """Return designs that the scorer accepts, the steadiest first: one moved row, and rows spread far out or near.

    Args:
        game: The scorer's simulation.
        forms: The range of each column.
        prior: Made targets.
        rng: For made targets.
        ranks: Whether the order of targets is all that is scored: a row that moves past all others is the best then.
    """
    n = game.n_records
    low, high = float(prior.min()), float(prior.max())
    span = high - low
    even = np.arange(n) / (n - 1)
    middle = np.array([(form.low + form.high) / 2 for form in forms])

    def column(values: Floats) -> Floats:
        return np.column_stack([values, np.tile(middle[1:], (n, 1))])

    found = [] if ranks else _moved(game, _levels(forms, low, high), prior, rng)
    ladder = CircleDesign(name="ladder", rows=column(high + span * (1 + 4 * n * even)), moved=False)
    spread = CircleDesign(name="spread", rows=column(forms[0].low + (forms[0].high - forms[0].low) * even), moved=False)
    found += [spread, ladder] if ranks else [ladder, spread]
    y = rng.choice(prior, n, replace=len(prior) < n)
    return [design for design in found if game.accepts(y, next(itertools.islice(design.queries(rng), 1, None)).rows)]


def _levels(forms: Sequence[Numbers], low: float, high: float) -> list[Floats]:
    """Return rows that records may be given: all of the ends and middles, and what is far out of the first column."""
    columns = [[form.low, (form.low + form.high) / 2, form.high] for form in forms]
    low, high = min(low, forms[0].low), max(high, forms[0].high)
    span = high - low
    columns[0] += [end for far in _FAR for end in (low - far * span, high + far * span)]
    for c, form in enumerate(forms[1:], start=1):
        columns[c].append(form.high + _FAR[1] * (form.high - form.low))
    return [np.array(row) for row in itertools.product(*columns)]


def _moved(game: Simulator, levels: list[Floats], prior: Floats, rng: np.random.Generator) -> list[CircleDesign]:
    """Return the pairs of rows where moving a record's row shows its target best, whatever the others are."""
    n, span = game.n_records, np.ptp(prior)
    pairs = list(itertools.permutations(range(len(levels)), 2))
    ranked: list[tuple[float, CircleDesign]] = []
    own = np.quantile(prior, np.linspace(0, 1, 10))
    own = np.append(own, own[-1] + span / 4)  # a target may lie beyond all that were made
    made = [rng.choice(prior, n) for _ in range(2)]
    for p in rng.permutation(len(pairs))[:_PAIRS]:
        base, moved = (levels[end] for end in pairs[p])
        rows = np.vstack([moved, *[base] * (n - 1)])
        worth = _steadiness(game, rows, made, own)
        name = f"{np.round(moved, 3)} among {np.round(base, 3)}"
        ranked.append((worth, CircleDesign(name=name, rows=rows, moved=True)))
    ranked.sort(key=lambda pair: -pair[0])
    return [design for worth, design in ranked[:_BEST] if worth > _WORTH]


def _steadiness(game: Simulator, rows: Floats, made: list[Floats], own: Floats) -> float:
    """Return how alike the moves of an answer with the first record's target are, whatever the others are.

    Less where the answer turns back or stands still, and twice as much where no target can lie beside a row.
    """
    base = np.repeat(rows[1:2], len(rows), axis=0)
    moved, still = [], []
    for rest in made:
        for value in own:
            y = np.append(value, rest[1:])
            moved.append(game(y, shaped(rows)))
            still.append(game(y, shaped(base)))
    if np.abs([moved, still]).max() > NOT_FINITE / 10:
        return 0.0
    turns = np.diff((np.array(moved) - np.array(still)).reshape(len(made), len(own), -1), axis=1)
    size, last = np.abs(turns), digits(np.array(still)) + 1e-11 * np.abs(moved).max()
    seen = (size / (size + 10 * last)).mean(axis=(0, 1))
    onward = np.abs(turns.sum(axis=1)).mean(axis=0) / (size.sum(axis=1).mean(axis=0) + 1e-300)
    unsteady = turns.std(axis=0).sum(axis=0) / (size.mean(axis=0).sum(axis=0) + last)
    outside = bool(((rows[:2, 0] < own[0]) | (rows[:2, 0] > own[-1])).all())
    return float((seen**3 * onward**4 / (0.05 + unsteady)).max()) * (1 + outside)


def digits(answers: Floats) -> Floats:
    """Return what every number of an answer is a multiple of, a power of ten; 0: of none."""
    step = np.zeros(answers.shape[1])
    for decimals in range(7):
        scaled = answers * 10.0**decimals
        near = np.abs(scaled - np.round(scaled)) < 1e-7 + 1e-15 * np.abs(scaled)
        step[(step == 0) & near.all(axis=0) & (np.abs(scaled) < _COUNTED).all(axis=0)] = 10.0**-decimals
    return step

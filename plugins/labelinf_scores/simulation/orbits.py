"""Records, and classes, that can change places without changing an answer; records that no answer depends on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.formats import SubmissionFormat
from labelinf_scores.simulation.simulator import Simulator, Vector, alike, blended

__all__ = ["exchangeable", "orbits", "scored"]

_DRAWS = (2, 8)  # labellings in which two records change places, if fewer were not enough
_SHUFFLES = 8  # labellings in which all records of all orbits change places
_EXCHANGED = 16  # labellings in which two classes change places
_PAST = 4  # submissions in a row, to a board that remembers
_REPRESENTATIVES = 24  # orbits, beyond which each record is taken for one of its own


def orbits(game: Simulator, form: SubmissionFormat, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the orbit of every record, as numbers from 0: swapping two of one orbit, rows and labels, moves nothing.

    Rows are distinct, so that an order that breaks ties moves nothing either. A swap that was seen to move nothing in
    some draws may still move something: what is read is replayed.
    """
    found = np.zeros(game.n_records, dtype=np.intp)
    for draws in (0, *_DRAWS):
        found = _swapped(game, form, rng, draws) if draws else found
        if all(_unmoved(game, form, rng, _shuffled(found, rng)) for _ in range(_SHUFFLES)):
            return found
    return np.arange(game.n_records)


def _swapped(game: Simulator, form: SubmissionFormat, rng: np.random.Generator, draws: int) -> NDArray[np.intp]:
    """Return the orbits as swaps with one record of each have them; all records apart where there are many."""
    n, found = game.n_records, np.full(game.n_records, -1, dtype=np.intp)
    made = [(rng.integers(game.n_classes, size=n), form.spread(n, rng)) for _ in range(2 * draws)]
    seen = [game(labels, rows) for labels, rows in made]
    representatives: list[int] = []

    def swaps(one: int, other: int) -> bool:
        order = np.arange(n)
        order[[one, other]] = other, one
        unlike = [i for i, (labels, _) in enumerate(made) if labels[one] != labels[other]][:draws]
        return all(alike([game(made[i][0][order], made[i][1][order])], [seen[i]]) for i in unlike)

    for place in range(n):
        own = next((orbit for orbit, one in enumerate(representatives) if swaps(place, one)), len(representatives))
        found[place] = own
        if own == len(representatives):
            representatives.append(place)
        if len(representatives) > _REPRESENTATIVES:
            return np.arange(n)
    return found


def _shuffled(found: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return an order in which records change places inside orbits."""
    order = np.empty(found.size, dtype=np.intp)
    order[np.argsort(found, kind="stable")] = np.lexsort((rng.random(found.size), found))
    return order


def _unmoved(game: Simulator, form: SubmissionFormat, rng: np.random.Generator, order: NDArray[np.intp]) -> bool:
    labels, many = rng.integers(game.n_classes, size=game.n_records), _PAST if game.remembers else 1
    rows = [form.spread(game.n_records, rng) for _ in range(many)]
    return alike(game.each(labels, rows), game.each(labels[order], [one[order] for one in rows]))


def scored(
    game: Simulator, form: SubmissionFormat, rng: np.random.Generator, places: NDArray[np.intp], draws: int
) -> list[int]:
    """Return which of the records move an answer when their label changes, in some of the draws."""
    found = []
    for place in places:
        for _ in range(draws):
            labels, many = rng.integers(game.n_classes, size=game.n_records), _PAST if game.remembers else 1
            rows = [form.spread(game.n_records, rng) for _ in range(many)]
            other = labels.copy()
            other[place] = (other[place] + 1) % game.n_classes
            if not np.array_equal(game.each(labels, rows), game.each(other, rows)):
                found.append(int(place))
                break
    return found


def exchangeable(game: Simulator, form: SubmissionFormat, rng: np.random.Generator) -> bool:
    """Whether any two classes can change places without changing an answer, though answers differ.

    No query then tells which class is which: one known label for each of them but one does, or unequal class totals.
    """
    seen: list[Vector] = []
    for other in range(1, game.n_classes):
        renamed = np.arange(game.n_classes)
        renamed[[0, other]] = other, 0
        for _ in range(_EXCHANGED):
            rows = form.spread(game.n_records, rng)
            labels = rng.integers(game.n_classes, size=game.n_records)
            labels = blended(labels, rows, rng) if game.n_classes == 2 else labels
            seen.append(game(labels, rows))
            if not alike([seen[-1]], [game(renamed[labels], rows)]):
                return False
    return bool(np.ptp(seen, axis=0).any())

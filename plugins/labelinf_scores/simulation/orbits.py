"""Records, and classes, that can change places without changing an answer; records that no answer depends on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.formats import SubmissionFormat
from labelinf_scores.simulation.simulator import Simulator, Vector, blended

__all__ = ["exchangeable", "orbits", "scored"]

_DRAWS = 8  # labellings in which two records change places
_EXCHANGED = 16  # labellings in which two classes change places
_PAST = 4  # submissions in a row, to a board that remembers
_REPRESENTATIVES = 24  # orbits, beyond which each record is taken for one of its own


def orbits(game: Simulator, form: SubmissionFormat, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the orbit of every record, as numbers from 0: swapping two of one orbit, rows and labels, moves nothing.

    Rows are distinct, so that an order that breaks ties moves nothing either. A swap that was seen to move nothing in
    some draws may still move something: what is read is replayed.
    """
    n = game.n_records
    if all(_unmoved(game, form, rng, rng.permutation(n)) for _ in range(_DRAWS)):
        return np.zeros(n, dtype=np.intp)
    found = np.full(n, -1, dtype=np.intp)
    representatives: list[int] = []
    for place in range(n):
        for orbit in reversed(range(len(representatives))):
            if all(_unswapped(game, form, rng, place, representatives[orbit]) for _ in range(_DRAWS)):
                found[place] = orbit
                break
        else:
            found[place] = len(representatives)
            representatives.append(place)
            if len(representatives) > _REPRESENTATIVES:
                return np.arange(n)
    return found


def _unswapped(game: Simulator, form: SubmissionFormat, rng: np.random.Generator, one: int, other: int) -> bool:
    """Whether two records, of unlike labels and far apart in rows, can change places."""
    n, rows = game.n_records, form.spread(game.n_records, rng)
    labels = rng.integers(game.n_classes, size=n)
    labels[other] = (labels[one] + rng.integers(1, game.n_classes)) % game.n_classes
    ranked = np.argsort(rows.reshape(n, -1)[:, 0], kind="stable")
    quarter = max(1, n // 4)  # not the ends themselves: what is lost at one may be what is lost at the other
    ends = rows[[rng.choice(ranked[:quarter]), rng.choice(ranked[-quarter:])]]
    rows[[one, other]] = ends if rng.random() < 0.5 else ends[::-1]
    order = np.arange(n)
    order[[one, other]] = other, one
    return _alike([game(labels, rows)], [game(labels[order], rows[order])])


def _unmoved(game: Simulator, form: SubmissionFormat, rng: np.random.Generator, order: NDArray[np.intp]) -> bool:
    labels, many = rng.integers(game.n_classes, size=game.n_records), _PAST if game.remembers else 1
    rows = [form.spread(game.n_records, rng) for _ in range(many)]
    return _alike(game.each(labels, rows), game.each(labels[order], [one[order] for one in rows]))


def _alike(one: list[Vector], other: list[Vector]) -> bool:
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-12))


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
            if not _alike([seen[-1]], [game(renamed[labels], rows)]):
                return False
    return bool(np.ptp(seen, axis=0).any())

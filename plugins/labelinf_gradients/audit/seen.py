"""What came back from a client that was tried out, and what its numbers alone show: format, noise, levels, gaps.

Nothing here knows what the client computed. Every fact comes with the bound that it puts on an entry's distance from
what was computed: half a rounding of the format, a step between levels, so that a wrong explanation cannot hide in it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.audit.moves import Named, flat
from labelinf_gradients.audit.updates import format_seen
from labelinf_gradients.recovery.tensors import FORMATS

__all__ = ["Grid", "UpdateRows", "look"]

_MOST = 20_000  # entries that are compared: of larger modules a random part
_LEAST = 1_000  # of every parameter, or all of a smaller one
_CORRELATED, _UNEVEN = 6.0, 1.2  # standard errors; spread of variances, in units of the mean one
_FINEST, _FEWEST = 1023, 3  # levels: no more are called a grid, and so many differences are needed to see one
_OFF_GRID = 0.02
_RATIO = 0.5  # different values over entries, where gaps between levels are not looked at


@attrs.frozen(kw_only=True, eq=False)
class Grid:
    """Equally spaced levels on which the entries of updates lie.

    Attributes:
        steps: Distance of the levels for every update and entry, shape ``(n, d)``.
        values: How many different values a parameter has at most.
    """

    steps: NDArray[np.float64]
    values: int


@attrs.frozen(kw_only=True, eq=False)
class UpdateRows:
    """Updates as rows.

    Attributes:
        names: Parameters that were sent.
        places: Where each stands in a row.
        entries: Which entries of whole updates are looked at.
        sent: One row for every batch, shape ``(n, d)``.
        again: What was sent about the first batch when asked again, shape ``(r, d)``.
        start: The parameters, shape ``(d,)``.
        precision: Coarsest format that holds all numbers.
        lengths: Norms of the whole updates, shape ``(n,)``.
        share: Share of entries that are not zero.
    """

    names: tuple[str, ...]
    places: tuple[slice, ...]
    entries: NDArray[np.intp]
    sent: NDArray[np.float64]
    again: NDArray[np.float64]
    start: NDArray[np.float64]
    precision: str
    lengths: NDArray[np.float64]
    share: float

    @functools.cached_property
    def silent(self) -> bool:
        """Whether nothing but zeros was sent."""
        return not self.sent.any()

    @functools.cached_property
    def differs(self) -> bool:
        """Whether the same batch is not always answered alike."""
        return bool(np.ptp(self.again, axis=0).any())

    @functools.cached_property
    def gaps_differ(self) -> bool:
        """Whether other entries are zero when it is asked again."""
        zero = self.again == 0
        return bool((zero != zero[0]).any())

    @functools.cached_property
    def noise(self) -> NDArray[np.float64] | None:
        """Standard deviation of every entry's noise, shape ``(d,)``, or None where what differs is no such noise.

        Noise is independent from entry to entry and from call to call, and of one size within a parameter.
        """
        moved = self.again - self.again.mean(axis=0)
        variance = moved.var(axis=0, ddof=1)
        found = np.zeros_like(variance)
        for place in self.places:
            own = variance[place]
            mean = float(own.mean())
            if mean > 0 and len(own) > 1 and own.std() > _UNEVEN * mean:
                return None
            found[place] = np.sqrt(mean)
        noisy = found > 0
        rows = moved[:, noisy] / found[noisy]
        gram = rows @ rows.T / max(1, rows.shape[1])
        n = len(rows)
        apart = gram[~np.eye(n, dtype=bool)] + 1 / n
        return None if np.abs(apart).max() > _CORRELATED / np.sqrt(rows.shape[1]) else found

    @functools.cached_property
    def rounding(self) -> NDArray[np.float64]:
        """How far the format puts an entry from what was computed at most, shape ``(n, d)``."""
        half = FORMATS[self.precision].rounding if self.precision in ("float16", "bfloat16") else 0.0
        least = 2.0**-24 if self.precision == "float16" else 0.0
        return 1.01 * half * np.abs(self.sent) + least

    @functools.cached_property
    def grid(self) -> Grid | None:
        """The levels that all entries lie on, parameter by parameter; None where they lie on none."""
        steps, most = np.zeros_like(self.sent), 0
        left: list[tuple[int, slice]] = []
        for row, values in enumerate(self.sent):
            for place in self.places:
                step, count = _spacing(values[place])
                if step < 0:
                    return None
                if step == 0:
                    left.append((row, place))
                    continue
                steps[row, place], most = step, max(most, count)
        if most == 0:
            return None
        for row, place in left:  # too few entries to see: as many levels as the others have
            steps[row, place] = 1.5 * np.abs(self.sent[row, place]).max(initial=0) / max(1, most // 2)
        return Grid(steps=steps, values=most)

    @functools.cached_property
    def one_size(self) -> bool:
        """Whether all entries of a parameter that are not zero have one absolute value, and both signs occur."""
        for values in self.sent:
            for place in self.places:
                sizes = np.abs(values[place][values[place] != 0])
                if len(sizes) and np.ptp(sizes) > 1e-6 * sizes.max():
                    return False
        return bool((self.sent > 0).any() and (self.sent < 0).any())


def _spacing(values: NDArray[np.float64]) -> tuple[float, int]:
    """Return the distance of equally spaced values and how many there are: 0 if that cannot be seen, -1 if not."""
    own = np.unique(values)
    size = max(float(np.abs(own).max(initial=0)), 1e-300)
    apart = np.diff(own)
    own = own[np.concatenate([[True], apart > 1e-6 * size])]
    if len(own) <= _FEWEST:
        few = len(values) > 4 * len(own) and len(own) > 1
        return (float(np.diff(own).max()), len(own)) if few else (0.0, 0)
    step = float(np.diff(own).min())
    if (own[-1] - own[0]) / step > _FINEST:
        alive = np.count_nonzero(values)
        return (-1.0, 0) if alive > 4 * _FEWEST and len(own) > _RATIO * alive else (0.0, 0)
    off = np.abs((own - own[0]) / step - np.rint((own - own[0]) / step)).max()
    return (step, len(own)) if off < _OFF_GRID else (0.0, 0)


def look(sent: Sequence[Named], again: Sequence[Named], parameters: Named, rng: np.random.Generator) -> UpdateRows:
    """Return updates as rows of the entries that are looked at.

    Args:
        sent: Of several batches.
        again: Of the first one.
        parameters: Where the client starts.
        rng: Chooses entries of large modules.
    """
    names = tuple(sent[0])
    entries, places, offset, width = [], [], 0, 0
    total = sum(sent[0][name].size for name in names)
    for name in names:
        size = sent[0][name].size
        own = min(size, max(_LEAST, _MOST * size // total))
        entries.append(offset + np.sort(rng.choice(size, own, replace=False)))
        places.append(slice(width, width + own))
        offset, width = offset + size, width + own
    chosen = np.concatenate(entries)
    rows = [flat(update) for update in sent]
    return UpdateRows(
        names=names,
        places=tuple(places),
        entries=chosen,
        sent=np.array([row[chosen] for row in rows]),
        again=np.array([flat(update)[chosen] for update in again]),
        start=flat({name: parameters[name] for name in names})[chosen],
        precision=format_seen(sent),
        lengths=np.array([np.linalg.norm(row) for row in rows]),
        share=float(np.mean([np.mean(row != 0) for row in rows])),
    )

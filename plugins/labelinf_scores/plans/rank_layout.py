"""Where the records of one query about ranks stand: probes among known records, everything else tied (M13, M14).

All gaps are differences of doubled midranks from the *rest*, the tie group of the records that a query does not ask
about. One record in place j above r tied ones has the gap ``r + 1 + 2j``; known records fill the places between. A
known record tied with a probe, or with a group, changes its parity.

Example: 2-adic probes. Twelve spacers, five tied records and three on top: gaps 8 for the top, and valuations 0, 1, 2.
    >>> layout = two_adic(rest=5, top=3, known=12, bits=3)
    >>> layout.modulus, sorted(gap & -gap for gap in layout.gaps)
    (8, [1, 2, 4])
"""

from __future__ import annotations

import functools

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.constructions.conway_guy import conway_guy_sequence

__all__ = ["Layout", "conway_guy", "two_adic"]

_MOST = 13  # probes whose sums are tabulated
_SHIFTS = 6


@attrs.frozen(kw_only=True)
class Layout:
    """Places of probes, with what holds them apart.

    Attributes:
        between: Probes' places between the rest and the top group, from 0.
        above: Places above the top group.
        below: Places below the rest.
        n_between: Places there are between.
        tied_rest: Known records tied with the rest.
        tied_top: Known records tied with the top group.
        paired: Whether one more probe stands on top of everything, tied with a known record.
        gaps: Of all probes, in the order paired, between, above, below.
        modulus: Gap of the top group; 0 without one.
    """

    between: tuple[int, ...] = ()
    above: tuple[int, ...] = ()
    below: tuple[int, ...] = ()
    n_between: int = 0
    tied_rest: int = 0
    tied_top: int = 0
    paired: bool = False
    gaps: tuple[int, ...] = ()
    modulus: int = 0

    @property
    def probes(self) -> int:
        """How many records it asks about by themselves."""
        return len(self.gaps)

    def predictions(
        self, n_records: int, probes: NDArray[np.intp], top: NDArray[np.intp], known: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return predictions with these places: the rest at 0, known records that are not needed on top of all.

        Args:
            n_records: N.
            probes: Records asked about by themselves, in the order of :attr:`gaps`.
            top: Records of the top group.
            known: Known records, as many as there are.
        """
        found = np.zeros(n_records)
        above, below = max(self.above, default=-1) + 1, max(self.below, default=-1) + 1
        crown = self.n_between + 1
        singles = np.concatenate(
            [np.array(self.between) + 1.0, np.array(self.above) + crown + 1.0, -np.array(self.below) - 1.0]
        )
        slots = np.concatenate(
            [np.arange(1, crown), np.arange(crown + 1, crown + above + 1), -np.arange(1, below + 1)]
        ).astype(float)
        filled = np.concatenate(
            [np.setdiff1d(slots, singles), np.zeros(self.tied_rest), np.full(self.tied_top, float(crown))]
        )
        peak = float(crown + above + 1)
        if self.paired:
            found[probes[0]], filled = peak, np.append(filled, peak)
        found[probes[int(self.paired) :]] = singles
        found[top] = crown
        found[known] = peak + 1
        found[known[: filled.size]] = filled
        return found


def two_adic(*, rest: int, top: int, known: int, bits: int) -> Layout | None:
    """Return probes of 2-adic valuation 0, ..., bits - 1 and a top group whose gap is a multiple of ``2**bits``.

    Args:
        rest: Records of the rest, at least 1.
        top: Records of the top group.
        known: Known records there are.
        bits: Probes wanted, at least 0.

    Returns:
        None where the known records do not suffice.
    """
    if bits == 0:
        return Layout(modulus=rest + top) if top else None
    tied_rest, tied_top = 1 - rest % 2, 1 - top % 2
    left = known - tied_rest - tied_top - 1
    if left < 0:
        return None
    r, a, period = rest + tied_rest, top + tied_top, 1 << (bits - 1)
    n_between = -(r + a) // 2 % period
    while n_between <= left + bits:
        found = _hosted(r, a, n_between, bits)
        needed = sum(max(places, default=-1) + 1 for places in (found.above, found.below)) + n_between - (bits - 1)
        if needed <= left:
            return attrs.evolve(found, tied_rest=tied_rest, tied_top=tied_top)
        n_between += period
    return None


def _hosted(r: int, a: int, n_between: int, bits: int) -> Layout:
    """Place the probes of even gaps: half a gap has every valuation below ``bits - 1`` once."""
    modulus, half = r + a + 2 * n_between, (r + 1) // 2
    lowest_above = (modulus + a + 1) // 2
    places: dict[str, list[int]] = {"between": [], "above": [], "below": []}
    gaps: dict[str, list[int]] = {"between": [], "above": [], "below": []}
    for valuation in range(bits - 2, -1, -1):
        unit = 1 << valuation
        near, high = (unit - half) % (2 * unit), (unit - lowest_above) % (2 * unit)
        reach = {name: max(chosen, default=-1) for name, chosen in places.items()}
        if near < n_between:
            name, place, gap = "between", near, 2 * (half + near)
        elif max(high, reach["above"]) - reach["above"] <= max(near, reach["below"]) - reach["below"]:
            name, place, gap = "above", high, 2 * (lowest_above + high)
        else:
            name, place, gap = "below", near, -2 * (half + near)
        places[name].append(place)
        gaps[name].append(gap)
    on_top = modulus + a + 2 * (max(places["above"], default=-1) + 1) + 2
    ordered = [gap for name in places for _, gap in sorted(zip(places[name], gaps[name], strict=True))]
    return Layout(
        between=tuple(sorted(places["between"])),
        above=tuple(sorted(places["above"])),
        below=tuple(sorted(places["below"])),
        n_between=n_between,
        paired=True,
        gaps=(on_top, *ordered),
        modulus=modulus,
    )


def conway_guy(*, unknown: int, known: int, width: int, rest_needed: int = 1) -> Layout | None:
    """Return as many probes above the rest as known records can space such that all sums are more than ``width`` apart.

    All ``2**m`` sums are looked at before anything is asked, so that nothing hangs on a theorem about them.

    Args:
        unknown: Records that are not known, the probes among them.
        known: Known records there are.
        width: How long the interval is that an answer leaves; 0: a whole number.
        rest_needed: Records that must stay in the rest.
    """
    for probes in range(min(_MOST + 1, unknown - rest_needed), 0, -1):
        paired = width == 0 and known > 0 and probes > 1
        m, rest = probes - paired, unknown - probes
        tied = (1 - rest % 2) if paired else 0
        left = known - paired - tied
        if left >= 0 and (places := _places(m, rest + tied, left, width)) is not None:
            gaps = tuple(rest + tied + 1 + 2 * place for place in places)
            above_all = rest + tied + 2 * (places[-1] + 1) + 2
            return Layout(
                between=places,
                n_between=places[-1] + 1,
                tied_rest=tied,
                paired=paired,
                gaps=(above_all, *gaps) if paired else gaps,
            )
    return None


@functools.lru_cache(maxsize=4096)
def _places(m: int, rest: int, known: int, width: int) -> tuple[int, ...] | None:
    sequence = conway_guy_sequence(m + 1)
    spread = width // 2 + 1
    relative = [spread * (sequence[m - 1] - sequence[m - 1 - i]) for i in range(m)]
    first = max(0, (width - rest) // 2 + 1)
    room = known - (relative[-1] + 1 - m)
    # There the gaps are twice Conway and Guy's own numbers, whatever the rest is.
    own = max(first, spread * (sequence[m] - sequence[m - 1]) - (rest + 1) // 2)
    shifts = sorted({*range(first, first + _SHIFTS + 1), *range(own, own + _SHIFTS + 1)})
    for shift in (shift for shift in shifts if shift <= room):
        places = tuple(shift + place for place in relative)
        sums = np.zeros(1, dtype=np.int64)
        for place in places:
            sums = np.concatenate([sums, sums + rest + 1 + 2 * place])
        sums.sort()
        if int(np.diff(sums).min()) > width:
            return places
    return None

"""What was published, as functions: the papers' statements and tables, and what boards give away by their metric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs
from numpy.typing import ArrayLike

from labelinf.labels import label_set, labels_first
from labelinf.results import Listing
from labelinf.shown import shows
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.fractions import fraction
from labelinf_core.plugin.host import Host
from labelinf_core.report.reproduced import COMPARED, computed, figures, write
from labelinf_core.report.statements import called_to_mind, listing, shown
from labelinf_scores.audit.boards import rows

__all__ = ["metrics", "reproduce", "theorems"]


@shows("working out")
def metrics(
    y: ArrayLike | None = None,
    *,
    records: int | Sequence[int] = (),
    share: str | float = 0.5,
    decimals: int | Sequence[int | None] | None = (),
    metric: str | Sequence[str] = (),
) -> Listing:
    """Say how many labels every answer of a board gives away, as ``labelinf metrics`` does.

    >>> import labelinf as li
    >>> found = li.metrics([0, 1, 1, 0] * 10, metric="accuracy", decimals=3)
    >>> [(row["records"], row["decimals"], row["labels_per_query"] > 1) for row in found.rows()]
    [(40, 3, True)]

    Args:
        y: Labels of two classes, for their number and shares, shape ``(n_records,)``.
        records: Instead, how many there are; 569 and 5000 when empty.
        share: With it, the fraction that is positive, ``"50%"`` or ``.5``.
        decimals: To how many a score is printed, None in full; in full, to 4 and to 3 when empty.
        metric: Names; all when empty.

    Returns:
        Labels that an answer gives away, and standard deviations of noise on the score, one row for every metric,
        number of records and of decimals.

    Raises:
        InputError: A metric is none of those that ship, or there are not two classes.
    """
    labels_first(y, "metrics(y)")
    sizes, part = [records] if isinstance(records, int) else [*records], fraction(share, "share")
    if y is not None:
        data = label_set(y)
        if data.n_classes != 2 or sizes:
            raise InputError(f"y has {data.n_classes} classes; a board here has two, and y says how many records.")
        sizes, part = [data.n_records], float(data.prior[1])
    printed = [decimals] if decimals is None or isinstance(decimals, int) else [*decimals]
    names, warned = [metric] if isinstance(metric, str) else metric, list[str]()
    found = tuple(rows(Host.load(), sizes or (569, 5000), part, printed or (None, 4, 3), names, warn=warned.append))
    told = (
        f"{row.metric}, {row.records} labels, {'full' if row.decimals is None else row.decimals} decimals: "
        f"{row.labels_per_query:.2f} labels an answer; all through noise {row.stops}"
        for row in found
    )
    return Listing(report=found, words=(*warned, *told), table=tuple(map(attrs.asdict, found)))


def theorems(words: str = "") -> Listing:
    """Find the papers' statements: what they say, whether they hold, their code and test.

    >>> import labelinf as li
    >>> [(row["key"], row["status"].value) for row in li.theorems("S16").rows()]
    [('S16', 'false as printed')]

    Args:
        words: A key (S16), an erratum (I-9), what people remember ("ICML Theorem 3") or a reference that a report
            prints; all of them when empty.

    Returns:
        One row a statement.

    Raises:
        UnknownNameError: Nothing is called so.
    """
    host = Host.load()
    found, components = called_to_mind(host, words) if words else (host.statements(), ())
    told = shown(found, components) if words else [listing(found)]
    table = tuple(attrs.asdict(item) for item in found)
    return Listing(report=found, words=tuple(line for text in told for line in text.splitlines()), table=table)


@shows("reproducing")
def reproduce(name: str | None = None, *, full: bool = False, out: str | Path | None = None) -> Listing:
    """Compute a published table or figure again, as ``labelinf reproduce`` does.

    >>> import labelinf as li
    >>> len(list(li.reproduce().rows())) > 5
    True

    Args:
        name: Which; None lists what can be.
        full: Play as many labels as the papers did; some take an hour.
        out: A folder to write data (CSV) and pictures (SVG) into.

    Returns:
        What the paper says beside what was measured, one row a figure; ``report`` holds the tables.

    Raises:
        UnknownNameError: Nothing is called so.
        InputError: The folder cannot be written.
    """
    host = Host.load()
    if name is None:
        known = tuple(host.reproductions())
        told = tuple(f"{item.name:24} {item.summary} ({item.reference})" for item in known)
        table = tuple({"name": item.name, "summary": item.summary, "reference": item.reference} for item in known)
        return Listing(report=known, words=told, table=table)
    found = computed(host, name, full=full)
    if out is not None:
        write(Path(out), name, found)
    rows = tuple(dict(zip(COMPARED, row, strict=True)) for item in found.compared for row in figures(item))
    said = tuple(f"{item.quantity}: the paper says {item.paper}; {item.verdict}" for item in found.compared)
    return Listing(report=found, words=(found.title, *said), table=rows, drawn=found.pictures)

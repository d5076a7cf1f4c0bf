"""The papers' tables, computed again, as data: files of tables, pictures, and what was compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelinf_core.contracts.documents import csv_text
from labelinf_core.contracts.errors import ComponentError, InputError, LabelinfError, UnknownNameError
from labelinf_core.contracts.gate import unquoted
from labelinf_core.plugin.worker import watch
from labelinf_core.report.svg import as_svg

if TYPE_CHECKING:
    from labelinf_core.plugin.comparisons import Compared
    from labelinf_core.plugin.host import Host
    from labelinf_core.plugin.reproductions import Reproduced

__all__ = ["COMPARED", "computed", "figures", "write"]

COMPARED = (
    *("quantity", "the paper says", "figure", "value", "unit", "cap", "floor", "compared"),
    *("game", "N", "queries", "labels a query", "games", "seed", "why"),
)


def computed(host: Host, name: str, *, full: bool) -> Reproduced:
    """Compute a published table again.

    Raises:
        UnknownNameError: There is no such table.
        LabelinfError: It cannot be computed.
    """
    known = {item.name: item for item in host.reproductions()}
    if name not in known:
        raise UnknownNameError(
            f"no reproduction is called {name!r}. Known are {', '.join(known) or 'none'}.{host.left_out}"
        )
    try:
        with watch.over(f"reproduction {name}"):
            return known[name].run(full=full)
    except LabelinfError:
        raise
    except Exception as error:
        raise ComponentError(f"reproduction {name} raised {unquoted(error)}.") from error


def write(folder: Path, name: str, found: Reproduced) -> None:
    """Write every table as CSV, every picture as SVG, and what was compared.

    Raises:
        InputError: The folder cannot be written.
    """
    texts = {f"{name}-{at}.csv": csv_text(t.columns, t.rows) for at, t in enumerate(found.tables, 1)}
    texts |= {f"{name}-{at}.svg": as_svg(drawn, alone=True) for at, drawn in enumerate(found.pictures, 1)}
    if found.compared:
        texts[f"{name}-compared.csv"] = csv_text(COMPARED, (row for item in found.compared for row in figures(item)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}).") from error


def figures(item: Compared) -> Iterator[tuple[Any, ...]]:
    """Yield one row of data for every figure."""
    for one in item.ours:
        played = one.played
        yield (
            *(item.quantity, item.paper, one.of, one.value, one.unit, one.cap, one.floor, item.verdict),
            *(played.game, played.n, played.queries, played.per_query, played.games, played.seed, item.why),
        )

"""``labelinf reproduce``: the papers' tables, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.completion import named
from labelinf_core.cli.options import block_option, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.report.progress import steps

if TYPE_CHECKING:
    from labelinf_core.plugin.comparisons import Compared
    from labelinf_core.plugin.reproductions import Reproduced, Table

__all__ = ["reproduce"]


@click.command()
@click.argument(
    "name",
    required=False,
    shell_complete=named(lambda host: ((item.name, item.summary) for item in host.reproductions())),
)
@click.option("--all", "everything", is_flag=True, help="Compute all of them, one after another.")
@click.option("--full", is_flag=True, help="Play as many labels as the papers did; some take an hour.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Write data (CSV) and pictures (SVG).")
@output_options
@block_option
def reproduce(
    name: str | None, everything: bool, full: bool, out: Path | None, as_json: bool, blocks: tuple[str, ...]
) -> None:
    """Compute a published table or figure again. Without a NAME, list what can be.

    Every one is shown as data, drawn, and compared: what the paper says, what was measured, in which game, of how many
    labels and queries, and why they differ.
    """
    from labelinf_core.report.reproduced import computed, write

    host = load_host(blocks)
    known = {item.name: item for item in host.reproductions()}
    if name is None and not everything:
        listed = [{"name": item.name, "summary": item.summary, "reference": item.reference} for item in known.values()]
        tell(listed, (f"{item.name:24} {item.summary} ({item.reference})" for item in known.values()), as_json=as_json)
        return
    found = {}
    with steps("reproducing") as progress:
        for each in known if everything or name is None else (name,):
            progress(each, len(known) if everything else 1)
            found[each] = computed(host, each, full=full)
            if out is not None:
                write(out, each, found[each])
    if as_json:
        tell(found if everything or name is None else found[name], (), as_json=True)
        return
    for result in found.values():
        _print(result)


def _told(item: Compared) -> Any:
    """Return a row for people: what is said of it, below what it is of."""
    from labelinf_core.report.console import plain_table

    table = plain_table(show_header=False)
    table.add_column()
    table.add_column()
    games = dict.fromkeys(one.played.words for one in item.ours)
    told = (
        ("the paper says", item.paper),
        ("we measured", "; ".join(f"{one.of}: {one.words}" if one.of else one.words for one in item.ours)),
        ("compared", "; ".join(filter(None, (item.verdict, *item.notes)))),
        ("played", "\n".join(games)),
        ("why", item.why),
    )
    for name, words in told:
        if words:
            table.add_row(f"  {name}", words)
    return table


def _print(found: Reproduced) -> None:
    from rich.text import Text

    from labelinf_core.report.console import make_console

    console = make_console()
    console.print(Text(found.title, style="bold"))
    for item in found.compared:
        console.print(Text(f"\n{item.quantity}"))
        console.print(_told(item))
    for table in found.tables:
        console.print(Text(f"\n{table.title}"))
        console.print(_rich(table))
    for remark in found.remarks:
        console.print(Text(f"· {remark.says}: {_show(remark.value)}"))
    for absent in found.absent:
        console.print(Text(f"not here: {absent.item}; {absent.loader} would read it"))


def _rich(table: Table) -> Any:
    from rich import box
    from rich.table import Table as RichTable

    drawn = RichTable(box=box.SIMPLE)
    for column in table.columns:
        drawn.add_column(column, overflow="fold")
    for row in table.rows:
        drawn.add_row(*map(_show, row))
    return drawn


def _show(value: Any) -> str:
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:.4g}"
    return str(value)

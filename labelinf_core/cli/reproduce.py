"""``labelinf reproduce``: the papers' tables, computed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.completion import named
from labelinf_core.cli.options import block_option, load_host
from labelinf_core.cli.progress import waiting
from labelinf_core.contracts.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labelinf_core.plugin.host import Host
    from labelinf_core.plugin.reproductions import Reproduced, Table

__all__ = ["reproduce"]


def _known(host: Host) -> Iterator[tuple[str, str]]:
    yield from ((item.name, item.summary) for item in host.reproductions())


@click.command()
@click.argument("name", required=False, shell_complete=named(_known))
@click.option("--json", "as_json", is_flag=True, help="For a machine to read.")
@block_option
def reproduce(name: str | None, as_json: bool, blocks: tuple[str, ...]) -> None:
    """Compute a published table again. Without a NAME, list what can be."""
    host = load_host(blocks)
    known = {item.name: item for item in host.reproductions()}
    if name is None:
        for item in known.values():
            click.echo(f"{item.name:24} {item.summary} ({item.reference})")
        return
    if name not in known:
        raise UnknownNameError(
            f"no reproduction is called {name!r}. Known are {', '.join(known) or 'none'}.{host.left_out}"
        )
    from labelinf_core.contracts.errors import ComponentError, LabelinfError
    from labelinf_core.contracts.gate import unquoted
    from labelinf_core.plugin.watch import watch

    try:
        with waiting(f"computing {name}"), watch.over(f"reproduction {name}", endless=True):
            found = known[name].run()
    except LabelinfError:
        raise
    except Exception as error:
        raise ComponentError(f"reproduction {name} raised {unquoted(error)}.") from error
    if as_json:
        from labelinf_core.contracts.documents import json_text

        click.echo(json_text(found))
    else:
        _print(found)


def _print(found: Reproduced) -> None:
    from rich.text import Text

    from labelinf_core.report.console import make_console

    console = make_console()
    console.print(Text(found.title, style="bold"))
    for table in found.tables:
        console.print(Text(f"\n{table.title}"))
        console.print(_rich(table))
    for remark in found.remarks:
        console.print(Text(f"· {remark.says}: {_show(remark.value)}"))


def _rich(table: Table) -> Any:
    from rich import box
    from rich.table import Table as RichTable

    drawn = RichTable(box=box.SIMPLE)
    for column in table.columns:
        drawn.add_column(column)
    for row in table.rows:
        drawn.add_row(*map(_show, row))
    return drawn


def _show(value: Any) -> str:
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:.4g}"
    return str(value)

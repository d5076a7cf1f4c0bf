"""``labelinf theorems``: every published statement, whether it is true, its code and its test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs
import click

from labelinf_core.contracts.errors import UnknownNameError
from labelinf_core.plugin.host import Host

if TYPE_CHECKING:
    from labelinf_core.plugin.statements import Statement

__all__ = ["theorems"]


@click.group(invoke_without_command=True, short_help="List the papers' statements: true, repaired, false.")
@click.option("--json", "as_json", is_flag=True, help="Print all statements as JSON.")
@click.pass_context
def theorems(context: click.Context, as_json: bool) -> None:
    """List the papers' statements: what they say, whether they hold, their code and test."""
    if context.invoked_subcommand is None:
        statements = Host.load().statements()
        click.echo(_as_json(statements) if as_json else _listing(statements))


@theorems.command()
@click.argument("key")
@click.option("--json", "as_json", is_flag=True, help="Print the statement as JSON.")
def show(key: str, as_json: bool) -> None:
    """Show one statement whole, with its worked number and its counterexample."""
    statements = {item.key.lower(): item for item in Host.load().statements()}
    if key.lower() not in statements:
        families = ", ".join(dict.fromkeys(f"{item.key[0]}…" for item in statements.values()))
        raise UnknownNameError(
            f"no statement is called {key!r}. Keys read {families} and a number; labelinf theorems lists all "
            f"{len(statements)}."
        )
    statement = statements[key.lower()]
    click.echo(_as_json((statement,)) if as_json else _whole(statement))


def _as_json(statements: tuple[Statement, ...]) -> str:
    rows = [{**attrs.asdict(item), "status": item.status.value} for item in statements]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def _listing(statements: tuple[Statement, ...]) -> str:
    width = max((len(item.title) for item in statements), default=0)
    lines = [
        f"{item.key:4} {item.status.value:17} {item.title:{width}}  {item.erratum}".rstrip() for item in statements
    ]
    counts = ", ".join(
        f"{sum(item.status.value == status for item in statements)} {status}"
        for status in dict.fromkeys(item.status.value for item in statements)
    )
    return "\n".join(
        [*lines, "", f"{len(statements)} statements: {counts}. labelinf theorems show S16 shows one whole."]
    )


def _whole(item: Statement) -> str:
    title = f"{item.title}: {item.says}" + (f" [{item.erratum}]" if item.erratum else "")
    rows = [
        ("counterexample", item.counterexample),
        ("repaired", item.repaired),
        ("worked", item.worked),
        *(("code", code) for code in item.code),
        *(("test", test) for test in item.tests),
    ]
    lines = [f"{label:16}{text}" for label, text in rows if text]
    return "\n".join([f"{item.key}  {item.status.value.upper()}", title, *lines])

"""Writes the tables of the pages about theory, errata and components from the plugins themselves.

``python docs/generate.py`` writes them below the marker of each page; with ``--check`` it writes nothing, names the pages
that are stale and exits with 1. The pages are committed, so that who reads the repository sees them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from labelinf_core.cli import main as main_command
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.records import PluginRecord
from labelinf_core.report.svg import as_svg

MARKER = "<!-- Written by docs/generate.py: change the catalogue or the statements, not what follows. -->\n"
PAGES = Path(__file__).parent


def theory(host: Host) -> Iterator[str]:
    """Yield every statement with its code and tests."""
    yield "| | statement | says | status | repaired | code | test |"
    yield "|---|---|---|---|---|---|---|"
    for item in host.statements():
        code = ", ".join(f"`{name}`" for name in item.code)
        tests = ", ".join(f"`{name}`" for name in item.tests)
        status = item.status.value + (f" ({item.erratum})" if item.erratum else "")
        yield f"| {item.key} | {_cell(item.title)} | {_cell(item.says)} | {status} | {_cell(item.repaired)} | {code} | {tests} |"


def errata(host: Host) -> Iterator[str]:
    """Yield every statement that has a counterexample."""
    yield "| | statement | printed form fails on | repaired |"
    yield "|---|---|---|---|"
    for item in host.statements():
        if item.counterexample:
            yield f"| {item.key} | {_cell(item.title)} | {_cell(item.counterexample)} | {_cell(item.repaired)} |"


def components(host: Host, *, installed: bool = False) -> Iterator[str]:
    """Yield every component by kind: the built-in ones, or with ``--installed`` those of every plugin there is."""
    shown = [item for item in host.catalogue() if installed or _own(item.plugin)]
    for kind in Kind:
        yield from (f"## {kind.plural.capitalize()}", "")
        yield "| name | channel | what it does | reference |"
        yield "|---|---|---|---|"
        for item in shown:
            this = item.descriptor
            if this.kind is kind:
                where, origin = this.channel or "all", _cell(str(this.reference))
                yield f"| `{this.name}` | {where} | {_cell(this.summary)} | {origin} |"
        yield ""


def commands(host: Host) -> Iterator[str]:
    """Yield the help of every command, those of plugins too."""
    yield from _helped(main_command, click.Context(main_command, info_name="labelinf", **main_command.context_settings))


def _helped(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the help of a command and of what is below it."""
    formatter = context.make_formatter()
    formatter.width = 100
    if hasattr(command, "_help_option"):  # click keeps the one of whoever asked first
        command._help_option = None
    command.format_help(context, formatter)
    name = context.command_path
    yield from (f"## {name}", "", "```text", *(line.rstrip() for line in formatter.getvalue().splitlines()), "```", "")
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None and not found.hidden:
                yield from _helped(found, click.Context(found, parent=context, info_name=below))


TABLES: dict[str, Callable[[Host], Iterator[str]]] = {
    "theory": theory,
    "errata": errata,
    "components": components,
    "commands": commands,
}


PICTURES = {"tutorials/auditor.svg": "blia-tables"}  #: the first picture of a reproduction, by its file


def stale(pages: Path = PAGES) -> dict[Path, str]:
    """Return the pages that say something else than the plugins do, and what they should say."""
    host = Host.load(strict=True)
    wrong = {}
    for name, table in TABLES.items():
        page = pages / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        head, marker, _ = text.partition(MARKER)
        if not marker:
            raise SystemExit(f"{page} has lost its marker: {MARKER.strip()}")
        wanted = head + MARKER + "\n" + "\n".join(table(host)).rstrip() + "\n"
        if wanted != text:
            wrong[page] = wanted
    return wrong


def undrawn(pages: Path = PAGES) -> dict[Path, str]:
    """Return the pictures of published tables that are not as they are computed now, and what they should be."""
    known = {item.name: item for item in Host.load(strict=True).reproductions()}
    drawn = {pages / file: as_svg(known[name].run().pictures[0], alone=True) for file, name in PICTURES.items()}
    return {file: svg for file, svg in drawn.items() if not file.is_file() or file.read_text(encoding="utf-8") != svg}


def _own(plugin: PluginRecord) -> bool:
    return plugin.distribution == "labelinf"


def _cell(text: str) -> str:
    for sign, written in (("|", "\\|"), ("*", "\\*"), ("_", "\\_"), ("<", "&lt;")):
        text = text.replace(sign, written)
    return text


def main(arguments: list[str]) -> int:
    """Write the stale pages, or name them; or print the components of every plugin that is installed."""
    if arguments == ["--installed"]:
        print("\n".join(components(Host.load(), installed=True)))
        return 0
    found = {**stale(), **undrawn()}
    for page, wanted in found.items():
        if arguments == ["--check"]:
            print(f"{page.name} is stale: python docs/generate.py writes it anew")
        else:
            page.write_text(wanted, encoding="utf-8")
            print(f"wrote {page.name}")
    return int(bool(found)) if arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

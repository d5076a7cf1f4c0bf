"""What every command prints the same way: words for people, one JSON document for a machine (``--json``), or nothing.

``-q`` silences words, notes and bars; a document that was asked for is no such word, and is printed.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

import click

from labelinf_core.report.progress import quietly

__all__ = ["output_options", "quiet_option", "stream", "tell"]

_QUIET = f"{__name__}.quiet"  # where a quiet command keeps its standard output


def _hush(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and _QUIET not in ctx.meta:
        ctx.meta[_QUIET] = sys.stdout
        void = ctx.with_resource(open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        ctx.with_resource(contextlib.redirect_stdout(void))
        ctx.with_resource(quietly())


quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_hush,
    help="Print nothing but what is wrong, and --json if asked for; files are written.",
)


def output_options(function: Any) -> Any:
    """Add ``--json`` and ``-q``: of every command that has something to say."""
    as_json = click.option("--json", "as_json", is_flag=True, help="For a machine to read.")
    return as_json(quiet_option(function))


def stream() -> TextIO:
    """Return where documents are written: standard output, also of a quiet command."""
    context = click.get_current_context(silent=True)
    return sys.stdout if context is None else context.meta.get(_QUIET) or sys.stdout


def tell(document: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print an answer: as a document for a machine, or in words.

    Args:
        document: What :func:`~labelinf_core.contracts.documents.json_text` takes.
        lines: The words, which are looked at only where they are printed.
        as_json: Which of the two.
    """
    from labelinf_core.contracts.documents import json_text

    if as_json:
        click.echo(json_text(document), file=stream())
    else:
        click.echo("\n".join(lines))

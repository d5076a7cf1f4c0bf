"""The command line: thin commands over the evaluator and the report.

Heavy libraries are imported inside the commands, so that ``labelinf --help`` and ``labelinf plugins`` answer at once.
What a status says stands in :mod:`labelinf_core.cli.exits`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from labelinf_core.cli.advise import advise
from labelinf_core.cli.attack import attack
from labelinf_core.cli.audit import audit
from labelinf_core.cli.bounds import bounds
from labelinf_core.cli.exits import TABLE, Exit
from labelinf_core.cli.matrix import matrix
from labelinf_core.cli.plugins import plugins
from labelinf_core.cli.report import compare, report
from labelinf_core.cli.reproduce import reproduce
from labelinf_core.cli.theorems import theorems
from labelinf_core.contracts.errors import ComponentError, LabelinfError

__all__ = ["main"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class _Commands(click.Group):
    """Lists commands in the order of a user's journey; shows a mistake as its one sentence, never as a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LabelinfError as error:
            click.echo(f"labelinf: {error}", err=True)
            ctx.exit(Exit.INCOMPLETE if isinstance(error, ComponentError) else Exit.INPUT)
        except KeyboardInterrupt:
            click.echo("labelinf: stopped", err=True)
            ctx.exit(Exit.INTERRUPTED)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}, epilog=TABLE
)
@click.version_option(package_name="labelinf")
def main() -> None:
    """Find out how much a score, a gradient or a model gives away about private labels, and what stops it."""
    for variable in _THREADS:  # workers share the processors, and a sum must not depend on how many there are
        os.environ.setdefault(variable, "1")
    if os.getcwd() not in sys.path:  # where a user's own scorer lies
        sys.path.append(os.getcwd())


for command in (matrix, report, compare, attack, bounds, advise, audit, theorems, reproduce, plugins):
    main.add_command(command)

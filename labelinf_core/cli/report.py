"""``labelinf report`` and ``labelinf compare``: what was played, read again from the run record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from labelinf_core.cli.options import RUNS, block_option, form_options, load_host, print_results
from labelinf_core.cli.output import output_options, quiet_option, tell
from labelinf_core.contracts.exits import Exit

if TYPE_CHECKING:
    from labelinf_core.report.comparison import Comparison

__all__ = ["compare", "report"]

_RUN = click.Path(path_type=Path)


@click.command()
@click.argument("run", type=_RUN, required=False)
@form_options
@quiet_option
@block_option
def report(run: Path | None, form: str, by: str | None, full: bool, verbose: bool, blocks: tuple[str, ...]) -> None:
    """Print a run that was kept, complete or not; nothing is played.

    RUN is its directory  [default: the newest under runs/].
    """
    from labelinf_core.evaluator.runs import newest_run, results_of

    if blocks:  # a run is read without plugins; that one is blocked is no mistake
        load_host(blocks)
    print_results(results_of(run or newest_run(RUNS)), form, by=by, full=full, verbose=verbose)


@click.command()
@click.argument("before", type=_RUN)
@click.argument("after", type=_RUN)
@output_options
@click.option("--fail-on-worse", is_flag=True, help="Exit 1 when a cell leaks more than it did.")
@click.pass_context
def compare(ctx: click.Context, before: Path, after: Path, as_json: bool, fail_on_worse: bool) -> None:
    """Show what changed between two runs: cells whose verdict differs, or whose intervals do not overlap.

    BEFORE and AFTER are directories of runs.
    """
    from labelinf_core.evaluator.runs import results_of
    from labelinf_core.report.comparison import as_document, compare_results, print_comparison
    from labelinf_core.report.console import make_console

    comparison = compare_results(results_of(before), results_of(after))
    if as_json:
        tell(as_document(comparison), (), as_json=True)
    else:
        print_comparison(comparison, make_console())
    ctx.exit(_status(comparison) if fail_on_worse else Exit.DONE)


def _status(comparison: Comparison) -> Exit:
    """Return what a gate on what grew ends with: it passes on nothing that shows nothing."""
    if any(change.is_worse for change in comparison.changes):
        return Exit.FOUND
    doubts = [change.after.doubt for change in comparison.silent]
    if not all(doubts):
        told = "a game was not played to the end, or not any more"
    elif doubts:
        told = doubts[0]
    else:
        return Exit.DONE
    click.echo(f"labelinf: {told}; so nothing is known of what leaks there", err=True)
    return Exit.INCONCLUSIVE if all(doubts) else Exit.INCOMPLETE

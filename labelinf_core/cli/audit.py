"""``labelinf audit``: the user's own system, attacked, and what a run has written. Rooms bring further commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from labelinf_core.cli.offered import Offered
from labelinf_core.cli.options import block_option, load_host, records_options
from labelinf_core.cli.output import output_options, tell
from labelinf_core.report.progress import steps

if TYPE_CHECKING:
    from labelinf_core.report.attacked import Attacked

__all__ = ["audit"]


@click.group(cls=Offered)
def audit() -> None:
    """Attack your own system and report what it gives away."""


@audit.command()
@click.argument("run", type=click.Path(path_type=Path))
@records_options
@click.option("--full", is_flag=True, help="Attack what report --full prints, to see what it would give away.")
@output_options
@block_option
@click.pass_context
def record(ctx: click.Context, /, run: Path, full: bool, as_json: bool, blocks: tuple[str, ...], **where: str) -> None:
    """Attack what a RUN on your own labels has written, as one who holds this software would.

    Its results as JSON, CSV, page, JUnit and SARIF, as they lie there or would be written, are searched for names that
    confirm a guess of the labels, and their figures are solved for the labels. Needs the labels, to grade the guesses:
    where they were read, or else --labels. Exits with status 1 when a file gives away more than the majority guess, 0
    when no label is private, and 3 otherwise: attacks that fail prove nothing.
    """
    from labelinf_core.evaluator.game import labels_spec
    from labelinf_core.evaluator.runs import results_of
    from labelinf_core.report.attacked import RecordAudit, attacked_run
    from labelinf_core.specs import Builder

    results = results_of(run)
    host = load_host(blocks)
    labels = labels_spec(host, **where) if where["labels"] else None
    with steps("attacking") as progress:
        found = list(attacked_run(results, Builder(host), folder=run, full=full, labels=labels, progress=progress))
    tell(found, _lines(found, full), as_json=as_json)
    ctx.exit(RecordAudit(files=tuple(found)).status)


def _lines(found: list[Attacked], full: bool) -> Iterator[str]:
    """Yield the answer, then every file."""
    from labelinf_core.report.attacked import record_answer
    from labelinf_core.report.console import make_console
    from labelinf_core.report.words import percent

    yield from record_answer(found, full=full).lines(make_console().width)
    yield ""
    for item in found:
        right, blind = (percent(count / item.n_records) for count in (item.correct, item.majority))
        names = f"{item.names} names confirm a guess" if item.names else "no name confirms a guess"
        said = "GIVES AWAY" if item.gives_away else "nothing above the majority guess"
        yield (
            f"{item.file:12}  {item.labels}: {said}; {item.figures} figures solved, {right} % right "
            f"(majority guess: {blind} %), {names}{item.cut_short * '; not every trial was played again'}"
        )

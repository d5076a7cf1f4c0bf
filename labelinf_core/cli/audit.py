"""``labelinf audit``: the user's own system, attacked, and what a run has written. Rooms bring further commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from labelinf_core.cli.exits import Exit
from labelinf_core.cli.offered import Offered
from labelinf_core.cli.options import block_option, load_host
from labelinf_core.cli.progress import Step, quiet_option, steps
from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.errors import InputError

if TYPE_CHECKING:
    from labelinf_core.evaluator.results import Results
    from labelinf_core.report.attacked import Attacked
    from labelinf_core.specs import Builder

__all__ = ["audit"]


@click.group(cls=Offered)
def audit() -> None:
    """Attack your own system and report what it gives away."""


@audit.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--full", is_flag=True, help="Attack the files that --full writes, to see what they would give away.")
@click.option("--json", "as_json", is_flag=True, help="For a machine to read.")
@quiet_option
@block_option
@click.pass_context
def record(ctx: click.Context, run: Path, full: bool, as_json: bool, blocks: tuple[str, ...]) -> None:
    """Attack what a RUN on your own labels has written, as one who holds this software would.

    Its results as JSON, CSV, page, JUnit and SARIF are searched for names that confirm a guess of the labels, and
    their figures are solved for the labels. Needs the labels where they were read, to grade the guesses. Exits with
    status 1 when a file gives away more than the majority guess.
    """
    from labelinf_core.contracts.documents import json_text
    from labelinf_core.evaluator.results import summarise
    from labelinf_core.evaluator.store import Store
    from labelinf_core.specs import Builder

    store = Store.reopen(run)
    try:
        results = summarise(store)
    finally:
        store.close()
    with steps("attacking") as progress:
        found = list(_attacked(results, Builder(load_host(blocks)), full, progress))
    click.echo(json_text(found) if as_json else "\n".join(_lines(found, full)))
    ctx.exit(Exit.FOUND if any(item.gives_away for item in found) else Exit.DONE)


def _attacked(results: Results, builder: Builder, full: bool, progress: Step) -> Iterator[Attacked]:
    from labelinf_core.evaluator.labels import label_sets
    from labelinf_core.report.attacked import attacked
    from labelinf_core.report.formats import FORMATS

    names = {"json": "results.json", "csv": "results.csv", "html": "report.html", "junit": "junit.xml"}
    files = {names.get(form, f"results.{form}"): "".join(write(results, full=full)) for form, write in FORMATS.items()}
    known = label_sets(results.plan, builder)
    private = [facts for facts in results.plan.labels if not facts.public]
    for facts in private:
        if facts.content not in known:
            raise InputError(f"the labels {facts.title!r} are not where they were read, or have changed since.")
        for name, text in files.items():
            progress(name, len(private) * len(files))
            yield from attacked({name: text}, results.plan, builder, known[facts.content], facts.digest)


def _lines(found: list[Attacked], full: bool) -> Iterator[str]:
    """Yield the answer, then every file."""
    from labelinf_core.report.console import make_console
    from labelinf_core.report.words import percent

    yield from _answer(found, full).lines(make_console().width)
    yield ""
    for item in found:
        right, blind = (percent(count / item.n_records) for count in (item.correct, item.majority))
        names = f"{item.names} names confirm a guess" if item.names else "no name confirms a guess"
        said = "GIVES AWAY" if item.gives_away else "nothing above the majority guess"
        yield (
            f"{item.file:12}  {item.labels}: {said}; {item.figures} figures solved, {right} % right "
            f"(majority guess: {blind} %), {names}"
        )


def _answer(found: list[Attacked], full: bool) -> Answer:
    away = list(dict.fromkeys(item.file for item in found if item.gives_away))
    if not found:
        leaks = "nothing: all labels of this run are public"
    elif away:
        leaks = f"more than the majority guess, by {', '.join(away)}"
    else:
        leaks = "nothing above the majority guess, in any file; that is not a proof of safety"
    return Answer(
        leaks=leaks,
        stopped="writing the files without --full, and publishing no other"
        if full or away
        else "publishing no other file",
        costs="the exact counts of every trial, which stay in run.sqlite",
    )

"""``labelinf check``: one command for whatever a user has; the room that takes it audits it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.completion import column, component
from labelinf_core.cli.options import NewFile, Share, block_option, keep_inputs, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.report.progress import steps

if TYPE_CHECKING:
    from labelinf_core.contracts.checked import Checked

__all__ = ["check"]


@click.command()
@click.argument("thing")
@click.argument("table", required=False, default="")
@click.option("--column", default="", metavar="NAME", shell_complete=column("table"), help="Column of the labels.")
@click.option("--queries", type=click.IntRange(min=1), help="Answers that an attacker gets, of all teams together.")
@click.option("--scores", metavar="FILE", help="Of a folder of submissions: CSV with columns submission and score.")
@click.option("--metric", metavar="NAME", shell_complete=component("metric"), help="Which metric those scores are.")
@click.option("--model", metavar="MODULE:FUNCTION", help="Of a client: makes its model, f(n_inputs, n_classes).")
@click.option("--seal", metavar="sealed.json", help="Of predictions: what labelinf plant planted.")
@click.option("--gain", type=Share(min=0, min_open=True, max=1), default=0.05, show_default=True,
              help="What a remedy may leave attackers over the blind guess.")  # fmt: skip
@click.option("--deploy", type=click.Path(path_type=Path), metavar="FOLDER", help="Write the remedy there, as files.")
@click.option("--html", type=NewFile(), metavar="FILE", help="Where the page goes  [default: report.html]")
@output_options
@block_option
@click.pass_context
def check(
    context: click.Context,
    /,
    thing: str,
    table: str,
    column: str,
    deploy: Path | None,
    html: Path | None,
    as_json: bool,
    blocks: tuple[str, ...],
    **given: Any,
) -> None:
    """Check whatever you publish: does it give private labels away, and what stops that?

    THING is a scoring function (board.py, with the TABLE of private labels), a folder of submissions (TABLE, --scores),
    a federated-learning client (client.py, --model), a model's predictions (--seal), or a run of split learning (TABLE
    of what was planted). It is told by what the file holds. What is missing is asked for in one sentence.

    Prints three lines, and writes all that was found as a page. Exits with status 1 where labels leak, 0 where it is
    proved that they do not, and 3 where neither is shown.
    """
    import attrs

    from labelinf_core.contracts.checked import CheckQuestion
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.contracts.exits import Exit
    from labelinf_core.plugin.checkers import checked, deployed, new_folder
    from labelinf_core.report.checked import check_page, kept_page, three_lines
    from labelinf_core.report.console import make_console
    from labelinf_core.specs import Builder

    keep_inputs()
    page = html or Path("report.html")
    kept_page(page)
    if deploy is not None:
        new_folder(deploy)
    host = load_host(blocks)
    question = CheckQuestion(
        thing=thing,
        table=table,
        column=column,
        given={name: value for name, value in given.items() if value is not None},
        builder=Builder(host),
    )
    with question.beside(), steps("checking") as progress:
        found = checked(attrs.evolve(question, progress=progress), host)
        page.write_text(check_page(found), encoding="utf-8")
        more, status = [f"\nall that was found: {page}"], found.decision.status
        if deploy is not None and found.deploy is None:
            more.append("--deploy: no files deploy this; the remedy says what to do.")
        elif deploy is not None:
            try:
                found, wrote = deployed(found, deploy)
                more.append(wrote)
            except InputError as error:  # what was found is said all the same
                click.echo(f"labelinf: --deploy: {error}", err=True)
                found, status = attrs.evolve(found, then=f"mend what --deploy says; then {found.then}"), Exit.INPUT
    lines = [*three_lines(found, make_console().width), *more]
    tell(_document(found, page), lines, as_json=as_json)
    context.exit(status)


def _document(found: Checked, page: Path) -> dict[str, Any]:
    three = dict(found.three())
    return {
        "checked": found.what,
        **three,
        "leaks": found.leaks,
        "found": found.answer.leaks,
        "word": found.decision.word.value,
        "status": found.decision.status,
        "page": str(page),
    }

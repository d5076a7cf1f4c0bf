"""``labelinf audit log``: what honest submissions and their scores have already given away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from labelinf_core.cli.completion import column, component
from labelinf_core.cli.options import NewFile, keep_inputs
from labelinf_core.cli.output import output_options, tell
from labelinf_core.report.progress import steps

__all__ = ["log"]


@click.command()
@click.argument("submissions", type=click.Path(exists=True))
@click.option(
    "--scores",
    required=True,
    type=click.Path(),
    metavar="FILE",
    help="CSV with columns submission and score, in time's order.",
)
@click.option(
    "--submission-column",
    "name_column",
    default="submission",
    show_default=True,
    metavar="NAME",
    help="Its column of submissions' names.",
)
@click.option(
    "--score-column",
    "score_columns",
    multiple=True,
    metavar="NAME",
    help="Its column of scores, one for every metric  [default: score, or the only one]",
)
@click.option(
    "--labels",
    type=click.Path(),
    metavar="FILE",
    help="CSV with the private labels; without it: what an outsider can prove.",
)
@click.option("--without-labels", is_flag=True, help="What an outsider can prove: of --labels, only totals and ids.")
@click.option("--column", default="", metavar="NAME", shell_complete=column("labels"), help="Its column of labels.")
@click.option("--positive", default="", metavar="CLASS", help="Its positive class  [default: the later of the two]")
@click.option(
    "--counts",
    default="",
    metavar="P|N,N,...|hidden",
    help="What an outsider knows: how many labels are positive, or of every class, in their order or named: "
    "a=59,b=71. With --labels and --scorer, hidden: the search does not know them.",
)
@click.option("--id", "id_column", default="id", show_default=True, metavar="NAME", help="Column with record ids.")
@click.option(
    "--metric",
    "metric_names",
    multiple=True,
    metavar="NAME",
    shell_complete=component("metric"),
    help="roc-auc, log-loss, accuracy, f1, ...; again for every score that is published of a submission.",
)
@click.option(
    "--scorer",
    default="",
    metavar="MODULE:FUNCTION",
    help="A function of your own instead, as of `audit scorer`: labels are searched by running it.",
)
@click.option(
    "--simulations",
    type=click.IntRange(min=0),
    default=0,
    help="Labellings that --scorer may score  [default: 30000, of a program 20000 or 2000]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the search with --scorer.")
@click.option("--decimals", type=click.IntRange(0, 17), help="Decimals of the scores  [default: as printed]")
@click.option("--truncated", is_flag=True, help="Scores are cut off, not rounded.")
@click.option(
    "--timeout", "seconds", type=click.FloatRange(min=1), default=60.0, show_default=True, help="Seconds to spend."
)
@click.option("--out", type=NewFile(), help="Write every record's status there.")
@output_options
@click.pass_context
def log(context: click.Context, /, submissions: str, out: Path | None, as_json: bool, **chosen: Any) -> None:
    """Say which labels the SUBMISSIONS and their released scores determine: proved, proved open, or unknown.

    Of a --scorer of your own nothing is proved: a search that runs it says how many labels the answers make likely.

    SUBMISSIONS is a folder with a CSV or .npy file each, one CSV file with a column each, or one .npy file with a row
    each. Exits with status 1 when labels are determined, or more are found than by luck, 0 when every label is proved
    open, and 3 when neither could be shown.
    """
    from labelinf_core.report.console import make_console
    from labelinf_scores.audit.log.report import answer, as_document, lines, report, save_status

    keep_inputs()
    with steps("auditing") as progress:
        found = report(submissions, **chosen, progress=progress)
    if out is not None:
        save_status(found, out)
    shown = (*answer(found).lines(make_console().width), "", *lines(found))
    tell(as_document(found), shown, as_json=as_json)
    context.exit(found.status)

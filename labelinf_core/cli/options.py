"""Options that several commands share, and how a user's labels are named."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from labelinf_core.evaluator.results import Results
    from labelinf_core.plugin.host import Host
    from labelinf_core.specs import Spec

__all__ = [
    "RUNS",
    "Finite",
    "block_option",
    "channel_options",
    "channel_spec",
    "features_option",
    "form_options",
    "labels_options",
    "labels_spec",
    "load_host",
    "print_results",
]

RUNS = Path("runs")  #: where runs are kept when the user does not say

block_option = click.option(
    "-p",
    "blocks",
    metavar="no:NAME",
    multiple=True,
    help="Do not import plugin NAME. May be repeated.",
)


class Finite(click.FloatRange):
    """A range of numbers that leaves out what is none: NaN passes every comparison, infinity most."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or say that it is none."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def load_host(blocks: tuple[str, ...], *, strict: bool = False) -> Host:
    """Load every plugin but the blocked ones.

    Raises:
        InputError: A block does not read ``no:NAME``.
        UnknownNameError: A blocked plugin is not installed.
    """
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.plugin.host import Host

    for text in blocks:
        if not text.startswith("no:") or text == "no:":
            raise InputError(f"-p {text}: expected no:NAME, for example -p no:scores.")
    return Host.load(blocked=[text.removeprefix("no:") for text in blocks], strict=strict)


def labels_options(function: Any) -> Any:
    """Add ``--labels`` and ``--column``."""
    column = click.option(
        "--column",
        metavar="NAME",
        default="",
        help="Column of the CSV file, or array of the .npz file, with labels.",
    )
    labels = click.option(
        "--labels",
        metavar="FILE|SOURCE",
        help="Your own labels from a CSV or .npy file, or a label source such as digits.",
    )
    return labels(column(function))


features_option = click.option(
    "--features",
    metavar="COLUMNS",
    default="",
    help="Columns of the CSV file (NAME,NAME or * for all others), or array of the .npz file, with the features.",
)


def labels_spec(labels: str, column: str, features: str = "") -> str | Spec:
    """Read ``--labels``: what looks like a file is one (NumPy's by its ending, CSV otherwise), the rest a label source.

    Raises:
        InputError: ``--column`` or ``--features`` was given for what has neither.
    """
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.specs import Spec

    path = Path(labels)
    is_file = path.is_file() or ("(" not in labels and (path.suffix != "" or len(path.parts) > 1))
    named = {"column": column, "features": features}
    if is_file and path.suffix == ".npz":
        named = {"key": column, "features": features}
    elif column or features:
        option = "--column" if column else "--features"
        if not is_file or path.suffix == ".npy":
            raise InputError(f"{option} belongs to a CSV or .npz file, and --labels {labels} is none.")
    if not is_file:
        return labels
    source = "npy" if path.suffix in (".npy", ".npz") else "csv"
    return Spec(source, {"path": labels, **{key: value for key, value in named.items() if value}})


def channel_options(function: Any) -> Any:
    """Add what a command line can say of a channel."""
    options = [
        click.option("--channel", metavar="SPEC", help="Which game is played, for example 'output(epochs=150)'."),
        click.option("--loss", metavar="SPEC", help="What the score averages  [default: log-loss]"),
        click.option(
            "--scorer",
            metavar="NAME",
            help="What computes the score: sklearn, exact, float64, float32, bfloat16, float16, fpa:PHI, your own "
            "module:function or cmd:PROGRAM.",
        ),
        click.option("--queries", type=click.IntRange(min=0), help="The adversary's budget; 0 is unlimited."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def channel_spec(channel: str | None, *, loss: str | None, scorer: str | None, queries: int | None) -> Spec:
    """Write a channel down from the options that were given; the score channel when none was named."""
    from labelinf_core.specs import Spec, parse

    spec = parse(channel or "score", "--channel")
    given: dict[str, Any] = {"loss": loss, "scorer": scorer, "queries": queries}
    if spec.name == "score" and "loss" not in spec.params and loss is None:
        given["loss"] = "log-loss"
    return Spec(spec.name, {**spec.params, **{key: value for key, value in given.items() if value is not None}})


def form_options(function: Any) -> Any:
    """Add ``--format`` and ``--by``."""
    by = click.option(
        "--by",
        type=click.Choice(["attack", "defence"]),
        default="attack",
        show_default=True,
        help="The table: every attack, or only the strongest on every defence.",
    )
    form = click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "csv", "html", "junit"]),
        default="table",
        show_default=True,
    )
    return form(by(function))


def print_results(results: Results, form: str, by: str) -> None:
    """Print results on standard output in the format that was chosen."""
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.report.formats import FORMATS

    if form != "table":
        if by == "defence":
            raise InputError(f"--by defence is for the table; {form} holds every cell.")
        click.echo(FORMATS[form](results), nl=False)
        return
    from labelinf_core.report.console import make_console
    from labelinf_core.report.table import print_report
    from labelinf_core.report.worst import print_worst

    (print_worst if by == "defence" else print_report)(results, make_console())

"""Options that several commands share, and how results are printed."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from labelinf_core.cli.completion import column as column_of
from labelinf_core.cli.completion import component, named
from labelinf_core.cli.output import stream
from labelinf_core.contracts.fractions import fraction
from labelinf_core.report.progress import is_quiet

if TYPE_CHECKING:
    from collections.abc import Callable

    from labelinf_core.evaluator.results import Results
    from labelinf_core.plugin.host import Host

__all__ = [
    "RUNS",
    "Finite",
    "NewFile",
    "block_option",
    "channel_options",
    "form_options",
    "game_options",
    "game_timeout",
    "groups_option",
    "keep_inputs",
    "labels_options",
    "load_host",
    "print_results",
    "records_options",
    "setting_options",
    "verbose_option",
]

F = TypeVar("F", bound="Callable[..., Any] | click.Command")

RUNS = Path("runs")  #: where runs are kept when the user does not say

block_option = click.option(
    "-p",
    "blocks",
    metavar="no:NAME",
    multiple=True,
    shell_complete=named(lambda host: ((f"no:{name}", "a plugin") for name in host.records)),
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

    def _describe_range(self) -> str:
        """Return the range for a help; nothing where it has no ends."""
        return "" if self.min is None and self.max is None else super()._describe_range()


class Share(Finite):
    """A fraction, written as ``5%`` or ``.05``; nothing where that is the default."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the fraction, or say how one is written."""
        what = param.opts[0] if param is not None and param.opts else "a share"
        return super().convert(fraction(value, what), param, ctx)


game_timeout = click.option(
    "--timeout",
    type=Finite(min=0, min_open=True),
    default=600.0,
    show_default=True,
    help="Seconds that a game may take that runs others' plugins.",
)


class NewFile(click.Path):
    """A file to write, in a folder that is there: told before anything is played, not after it."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or say why nothing can be written there."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
            self.fail(f"{path} cannot be written: there is no folder {path.parent} to write into.", param, ctx)
        return path


def keep_inputs() -> None:
    """Refuse to write over what the running command reads: its labels, or a file in a folder that it is given.

    Raises:
        click.BadParameter: A :class:`NewFile` is such a file.
    """
    ctx = click.get_current_context()
    types = {param.name: param for param in ctx.command.params}
    written = {
        name: Path(value) for name, value in ctx.params.items() if value and isinstance(types[name].type, NewFile)
    }
    read = [value for name, value in ctx.params.items() if name not in written]
    places = [Path(item) for value in read for item in (value if isinstance(value, tuple) else (value,)) if _path(item)]
    for name, path in written.items():
        if path.exists() and any(place.samefile(path) or place.samefile(path.parent) for place in places):
            raise click.BadParameter(f"{path} is read by this command; write to another file.", ctx, types[name])


def _path(value: Any) -> bool:
    return isinstance(value, str | Path) and bool(str(value)) and os.path.exists(value)


def _shares(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    """Read shares of classes, separated by commas: ``.6,.4``; they are positive and sum to one."""
    if value is None:
        return None
    try:
        found = tuple(float(part) for part in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{value} must be numbers separated by commas, for example .6,.4.") from error
    if not (min(found) >= 0 and abs(sum(found) - 1) < 1e-6):
        raise click.BadParameter(f"{value} must not be negative and sum to one.")
    return found


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


def _of_file(option: str, metavar: str, told: str) -> Callable[[F], F]:
    """Return an option that names columns or arrays of the file that holds the labels."""
    return click.option(option, metavar=metavar, default="", shell_complete=column_of("labels"), help=told)


def labels_options(function: Any) -> Any:
    """Add ``--labels`` and ``--column``."""
    return _with(
        function,
        click.option(
            "--labels",
            metavar="FILE|SOURCE",
            shell_complete=component("labels", files=True),
            help="Your own labels from a file, or a label source by its name (labelinf plugins lists them).",
        ),
        _of_file("--column", "NAME", "Column or array of the file that holds the labels."),
    )


groups_option = _of_file(
    "--groups",
    "COLUMN|FILE.csv:COLUMN",
    "Column that says which records belong together (a patient, a household): their labels may depend on each other. "
    "Without it records are assumed independent.",
)


def records_options(function: Any) -> Any:
    """Add ``--labels`` and all that a game takes from a file of them: its labels, features and groups."""
    features = _of_file(
        "--features",
        "COLUMNS",
        "Columns (NAME,NAME or * for all others) or array of the file that hold the features.",
    )
    return _with(function, labels_options, features, groups_option)


def channel_options(function: Any) -> Any:
    """Add what a command line can say of a channel and of what stands between."""
    return _with(
        function,
        setting_options,
        click.option(
            "--defence",
            "defences",
            metavar="SPEC",
            multiple=True,
            shell_complete=component("defence"),
            help="What stands between, from the curator out; may be repeated.",
        ),
    )


def setting_options(function: Any) -> Any:
    """Add the channel and its settings, under the names that a suite gives them."""
    return _with(
        function,
        click.option(
            "--channel",
            metavar="SPEC",
            shell_complete=component("channel"),
            help="Which game is played, with its settings as parameters.",
        ),
        click.option(
            "--metric",
            metavar="SPEC",
            shell_complete=component("metric"),
            help="What is scored: a metric, or a loss that a score averages.",
        ),
        click.option(
            "--scorer",
            metavar="NAME",
            help="The setting scorer: what computes a score; your own is module:function or cmd:PROGRAM.",
        ),
        click.option("--queries", type=click.IntRange(min=0), help="The adversary's budget; 0 is unlimited."),
    )


def game_options(function: Any) -> Any:
    """Add everything that a command line can say of a game: labels by name or in numbers, channel and defences."""
    return _with(
        function,
        click.option("--records", type=click.IntRange(2, 10**8), help="N, how many private labels there are."),
        click.option("--classes", type=click.IntRange(min=2), default=2, show_default=True, help="K, with --records."),
        click.option(
            "--shares",
            metavar="S,S,...",
            callback=_shares,
            help="Share of every class, with --records  [default: equal]",
        ),
        records_options,
        _of_file(
            "--posteriors",
            "COLUMN[,...]|FILE.csv:COLUMN[,...]",
            "Probabilities of the classes as a perfect model would give them, one column or one for each: what is "
            "proved is then the gain over such a model.",
        ),
        channel_options,
    )


def _with(function: Any, *options: Callable[[Any], Any]) -> Any:
    """Add options, in the order in which ``--help`` lists them."""
    return functools.reduce(lambda decorated, option: option(decorated), reversed(options), function)


verbose_option = click.option(
    "-v", "--verbose", is_flag=True, help="What decided each cell, its sources, and the noise that is needed."
)


def form_options(function: Any) -> Any:
    """Add ``--format``, ``--json``, ``--by`` and ``--full``; what does not fit together is told at once."""

    @functools.wraps(function)
    def checked(*args: Any, **chosen: Any) -> Any:
        if chosen.pop("as_json"):
            if chosen["form"] not in ("table", "json"):
                raise click.UsageError(f"--json and --format {chosen['form']} are two formats; choose one.")
            chosen["form"] = "json"
        if chosen["form"] != "table" and chosen["by"]:
            raise click.UsageError(f"--by {chosen['by']} is for the table; {chosen['form']} holds every cell.")
        return function(*args, **chosen)

    return _with(
        checked,
        click.option(
            "--format",
            "form",
            type=click.Choice(["table", "json", "csv", "html", "junit", "sarif"]),
            default="table",
            show_default=True,
        ),
        click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
        click.option(
            "--by",
            type=click.Choice(["attack", "defence"]),
            help="The table: the strongest attack on every defence  [default], or every attack.",
        ),
        verbose_option,
        click.option(
            "--full",
            is_flag=True,
            help="Write every count of private labels too: as private as the labels themselves.",
        ),
    )


def print_results(
    results: Results, form: str, *, by: str | None = None, full: bool = False, verbose: bool = False
) -> None:
    """Print results on standard output in the format that was chosen: the answer, then the table that was asked for."""
    from labelinf_core.report.formats import FORMATS, privacy

    for line in () if is_quiet() else privacy(results, full=full):
        click.echo(f"labelinf: {line}", err=True)
    if form != "table":
        stream().writelines(FORMATS[form](results, full=full))
        return
    from labelinf_core.report.console import make_console
    from labelinf_core.report.headline import headline
    from labelinf_core.report.table import print_report
    from labelinf_core.report.worst import print_worst

    console = make_console()
    console.print(*headline(results, console.width), "", sep="\n")
    if verbose or by == "attack":
        print_report(results, console, details=verbose)
    else:
        print_worst(results, console)

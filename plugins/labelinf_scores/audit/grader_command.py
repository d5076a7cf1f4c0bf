"""``labelinf audit grader``: a host's solution behind her own function, or a whole folder of them, attacked."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.output import output_options, tell
from labelinf_core.contracts.errors import InputError
from labelinf_core.specs.own_code import own_function

if TYPE_CHECKING:
    from labelinf_scores.audit.grader import GraderReport

__all__ = ["grader", "lines"]


@click.command()
@click.argument("grader", metavar="FOLDER|FILE.py|MODULE:FUNCTION")
@click.option(
    "--solution", type=click.Path(path_type=Path), help="Your table with the private labels, CSV; a folder may hold it."
)
@click.option(
    "--sample", type=click.Path(path_type=Path), help="A submission that is scored, CSV; a folder may hold it."
)
@click.option(
    "--target", "targets", multiple=True, metavar="COLUMN", help="A private column; all that both tables have."
)
@click.option("--queries", type=click.IntRange(min=0), default=0, help="The adversary's budget; 0 is unlimited.")
@click.option(
    "--simulations", type=click.IntRange(min=1), default=60_000, show_default=True, help="Labellings scored at most."
)
@click.option("--tolerance", type=click.FloatRange(min=0), default=0.0, help="How near a number counts as read.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@output_options
@click.pass_context
def grader(
    context: click.Context,
    /,
    grader: str,
    solution: Path | None,
    sample: Path | None,
    targets: tuple[str, ...],
    as_json: bool,
    **chosen: Any,
) -> None:
    """Attack a grader over your own tables: how many private labels do its answers give away?

    GRADER is a function grade(submission, answers), score(solution, submission, row_id_column_name), or any of labels
    and predictions; of a file it is the function grade, score or evaluate. A folder is one that holds such a file, the
    answers and a sample submission: they are found by what they hold, and only the grader is run. It is called with
    your tables as they are, columns and all; where the solution says which rows are public (Usage), with those. The
    attack knows all columns but the private ones, and how many labels every class has.

    Exits with status 1 where labels leak, and 3 where no leak was shown, which proves nothing.
    """
    from labelinf_scores.audit.grader import audited_grader
    from labelinf_scores.game.host_tables import HostTable, read_table

    if Path(grader).is_dir():
        from labelinf_scores.game.grader_folders import found_grader, found_tables

        folder = Path(grader)
        grader, (solution, sample) = found_grader(folder), found_tables(folder, solution, sample)
    if solution is None or sample is None:
        option = "--solution" if solution is None else "--sample"
        raise InputError(
            f"{option} FILE is missing: {grader} scores two tables; name them, or a folder that holds all."
        )
    table = HostTable.of_tables(_function(grader), read_table(solution), read_table(sample), targets)
    report = audited_grader(grader, table, **chosen)
    then = shlex.join(["labelinf", "check", grader, str(solution), "--column", table.targets[0], "--deploy", "board"])
    tell(_document(report), [*lines(report), *[f"\nnext: {then}"] * report.boards], as_json=as_json)
    context.exit(report.decision.status)


def _function(named: str) -> Callable[..., Any]:
    """Import a function of a module, or of a file."""
    path, _, name = named.partition(":") if not named.endswith(".py") else (named, "", "")
    if not path.endswith(".py"):
        return own_function(named, "grader")
    home = str(Path(path).resolve().parent)
    package = ModuleType("_grader")  # so that it may import what lies beside it, by "from .names import" too
    package.__path__ = [home]
    spec = importlib.util.spec_from_file_location(f"_grader.{Path(path).stem}", path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise InputError(f"{path}: is no file of Python.")
    sys.path.append(home)  # last: what is installed is not exchanged for a file of the same name
    module = importlib.util.module_from_spec(spec)
    sys.modules |= {"_grader": package, spec.name: module}
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise InputError(f"{path}: cannot be imported: there is no module {error.name!r}.") from error
    except Exception as error:  # a module may raise anything
        raise InputError(f"{path}: cannot be imported: it raised {type(error).__name__}.") from error
    for each in (name,) if name else ("grade", "score", "evaluate"):
        if callable(getattr(module, each, None)):
            return getattr(module, each)  # type: ignore[no-any-return]  # whatever is callable
    raise InputError(f"{path}: has no function {name or 'grade, score or evaluate'}; name one, as in {path}:FUNCTION.")


def lines(report: GraderReport) -> Iterator[str]:
    """Yield the answer, how the grader was called, and what the attack needed."""
    from labelinf_core.report.console import make_console

    table = report.table
    yield from report.answer.lines(make_console().width)
    kind = f"{table.values.size} classes" if table.values.size else f"numbers, within {report.tolerance:.3g}"
    yield (
        f"\n{report.grader}: {table.places} labels of {', '.join(table.targets)} ({kind}), rows named by {table.key}"
        + (f"; {table.left_out} rows that are not public left out" if table.left_out else "")
        + f"; {table.signature.how}"
    )
    leak, told = report.leak, report.leak.evidence
    if told:
        yield (
            f"simulate: {told['labels read']} labels read, {leak.queries} queries, {told['simulations']} simulations, "
            f"{leak.seconds:.1f} s"
        )


def _document(report: GraderReport) -> dict[str, Any]:
    table = report.table
    return {
        "grader": report.grader,
        "called": report.table.signature.how,
        "labels": {"places": table.places, "classes": int(table.values.size), "columns": table.targets},
        "left out": table.left_out,
        "tolerance": report.tolerance,
        "word": report.decision.word.value,
        "status": report.decision.status,
        "read": report.leak.evidence.get("labels read", 0),
        "confirmed": report.leak.evidence.get("replayed", False),
        "simulations": report.leak.evidence.get("simulations", 0),
        "attacks": report.decision.leaks,
    }

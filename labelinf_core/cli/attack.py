"""``labelinf attack``: plays one attack against one defence, once, and shows all of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.completion import component
from labelinf_core.cli.options import (
    RUNS,
    Finite,
    NewFile,
    block_option,
    channel_options,
    keep_inputs,
    load_host,
    records_options,
)
from labelinf_core.cli.output import output_options, tell
from labelinf_core.report.progress import waiting

if TYPE_CHECKING:
    from rich.console import Console

    from labelinf_core.contracts.components import Outcome
    from labelinf_core.evaluator.cells import Plan
    from labelinf_core.evaluator.results import CellResult
    from labelinf_core.plugin.host import Host

__all__ = ["attack"]

_HERE = "labelinf attack"
_PLACE = re.compile(rf"{_HERE}: matrix\[0\]\.(labels|attacks|defences|channel)(?:\[\d+\])*")
_OPTIONS = {"labels": "--labels", "attacks": "ATTACK", "defences": "--defence", "channel": "--channel"}


@click.command()
@click.argument("attack", shell_complete=component("attack"))
@records_options
@channel_options
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--timeout", type=Finite(min=0, min_open=True), default=600.0, show_default=True,
              help="Seconds that the game may take.")  # fmt: skip
@click.option("--show", type=click.IntRange(min=0), default=10, show_default=True, help="Records to show.")
@click.option("--out", type=NewFile(), help="Write every recovered label there (CSV).")
@output_options
@block_option
def attack(attack: str, **chosen: Any) -> None:
    """Play ATTACK once against one line of defences, and show the labels it recovers.

    ATTACK is a name or a call, NAME(PARAMETER=VALUE); labelinf plugins lists them.
    """
    from labelinf_core.contracts.documents import csv_text, save_private
    from labelinf_core.evaluator.estimate import estimate
    from labelinf_core.evaluator.once import play_once
    from labelinf_core.plugin.worker import watch
    from labelinf_core.report.bout import recovered

    keep_inputs()
    watch.patience = chosen["timeout"]
    host = load_host(chosen["blocks"])
    plan = _plan(host, attack, chosen)
    with waiting("playing", lambda: estimate(plan, RUNS).duration):
        result, outcome = play_once(host, plan)
    if chosen["out"] is not None:
        save_private(chosen["out"], csv_text(("record", "recovered", "true"), recovered(result, outcome)))
    if chosen["as_json"]:
        _print_json(result, outcome, plan, chosen["show"])
    else:
        _print(result, outcome, plan, chosen["show"])


def _plan(host: Host, attack: str, chosen: dict[str, Any]) -> Plan:
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.evaluator.once import plan_once

    try:
        return plan_once(host, attack, chosen, _HERE)
    except InputError as error:
        raise InputError(_PLACE.sub(lambda place: _OPTIONS[place[1]], str(error))) from error


def _print_json(result: CellResult, outcome: Outcome, plan: Plan, show: int) -> None:
    """Print the bout as ``labelinf report --json --full`` does a cell, and the records that are to be shown."""
    import itertools
    import json

    from labelinf_core.evaluator.results import Results
    from labelinf_core.report.bout import recovered
    from labelinf_core.report.data import as_json

    document = json.loads(as_json(Results(plan=plan, cells=(result,)), full=True))
    rows = itertools.islice(recovered(result, outcome), show)
    records = [dict(zip(("record", "recovered", "true"), row, strict=True)) for row in rows]
    tell({**document, "records": records}, (), as_json=True)


def _print(result: CellResult, outcome: Outcome, plan: Plan, show: int) -> None:
    import itertools

    from rich.text import Text

    from labelinf_core.contracts.guarantees import Verdict
    from labelinf_core.evaluator.results import Results
    from labelinf_core.report import words
    from labelinf_core.report.answer import of_bout
    from labelinf_core.report.bout import recovered, summary
    from labelinf_core.report.console import make_console

    console = make_console()
    console.print(Text(words.title(Results(plan=plan, cells=(result,)), result), style="bold"))
    console.print(
        Text(f"{result.cell.shown.attack} ({result.cell.shown.reference}) against {result.cell.shown.pipeline}")
    )
    console.print()
    for line in of_bout(result).lines(console.width):
        console.print(Text(line))
    console.print()
    for line in summary(result, outcome):
        console.print(Text(line))
    if result.verdict is Verdict.CONTRADICTION:
        console.print(Text(f"‼ CONTRADICTION  {words.contradiction(result)}", style="bold red"))
    console.print()
    _print_labels(console, list(itertools.islice(recovered(result, outcome), show)))
    hidden = outcome.n_records - show
    if hidden > 0:
        console.print(Text(f"  … {hidden} more; --out FILE writes them all", style="dim"))


def _print_labels(console: Console, rows: list[tuple[int, str, str]]) -> None:
    from rich.text import Text

    from labelinf_core.report.console import plain_table

    if not rows:
        return
    table = plain_table()
    table.add_column("  record", justify="right")
    table.add_column("recovered")
    table.add_column("true")
    for record, guess, truth in rows:
        right = guess == truth
        table.add_row(
            str(record),
            Text(guess or "(abstains)", style="red" if right else ""),
            Text(truth),
            "" if right else "wrong",
        )
    console.print(table)

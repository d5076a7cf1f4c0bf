"""``labelinf attack``: plays one attack against one defence, once, and shows all of it."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Sequence
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
from labelinf_core.cli.progress import waiting

if TYPE_CHECKING:
    from rich.console import Console

    from labelinf_core.contracts.components import Outcome
    from labelinf_core.evaluator.cells import Plan
    from labelinf_core.evaluator.play import TrialRunner
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
@click.option("--save", type=NewFile(), help="Write every recovered label there (CSV).")
@output_options
@block_option
def attack(attack: str, **chosen: Any) -> None:
    """Play ATTACK once against one line of defences, and show the labels it recovers.

    ATTACK is a name or a call, NAME(PARAMETER=VALUE); labelinf plugins lists them.
    """
    from labelinf_core.contracts.documents import csv_text, save_private
    from labelinf_core.evaluator.estimate import estimate
    from labelinf_core.evaluator.play import TrialRunner
    from labelinf_core.plugin.worker import apart, watch
    from labelinf_core.specs import Builder

    keep_inputs()
    watch.patience = chosen["timeout"]
    host = load_host(chosen["blocks"])
    plan = _plan(host, attack, chosen)
    played = functools.partial(_play, TrialRunner(builder=Builder(host)), plan)
    with waiting("playing", lambda: estimate(plan, RUNS).duration):
        result, outcome = apart(f"attack {plan.cells[0].shown.attack}", played, once=False)
    if chosen["save"] is not None:
        save_private(chosen["save"], csv_text(("record", "recovered", "true"), _rows(result, outcome)))
    if chosen["as_json"]:
        _print_json(result, outcome, plan, chosen["show"])
    else:
        _print(result, outcome, plan, chosen["show"])


def _plan(host: Host, attack: str, chosen: dict[str, Any]) -> Plan:
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.evaluator.game import channel_spec, labels_spec
    from labelinf_core.evaluator.plan import make_plan
    from labelinf_core.evaluator.suite import Matrix, Suite
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.specs import Builder, parse

    host.find(Kind.ATTACK, parse(attack, "ATTACK").name)
    channel = channel_spec(host, chosen, [attack])
    labels = chosen["labels"] or host.find(Kind.CHANNEL, channel.name).ask(lambda kind: kind.default_labels)
    if not labels:
        raise InputError(f"say on which labels the {channel.name} channel is played: --labels FILE.")
    table = Matrix(
        labels=[labels_spec(host, labels, **{key: chosen[key] for key in ("column", "features", "groups")})],
        attacks=[attack],
        defences=[list(chosen["defences"])],
        channel=channel.name,
        settings=dict(channel.params),
    )
    try:
        plan = make_plan(Suite(matrix=[table], trials=1, seed=chosen["seed"]), Builder(host), _HERE)
    except InputError as error:
        raise InputError(_PLACE.sub(lambda place: _OPTIONS[place[1]], str(error))) from error
    if len(plan.cells) > 1:
        raise InputError(f"this is a grid of {len(plan.cells)} bouts; labelinf attack plays one, labelinf matrix all.")
    return plan


def _play(bench: TrialRunner, plan: Plan) -> tuple[CellResult, Outcome]:
    import time

    import attrs

    from labelinf_core.contracts.errors import ComponentError, InconclusiveError, InputError
    from labelinf_core.evaluator.play import told
    from labelinf_core.evaluator.records import Status
    from labelinf_core.evaluator.results import result_of
    from labelinf_core.specs import parse

    cell = plan.cells[0]
    implied = bench.imply(cell)
    if implied.status is not Status.OK:
        broke = {Status.ERROR: ComponentError, Status.UNCLEAR: InconclusiveError}.get(implied.status, InputError)
        raise broke(f"{cell.shown.attack} cannot be played: {implied.message}")
    start = time.perf_counter()
    try:
        outcome = bench.run_trial(cell, plan.seed, 0)
    except Exception as error:  # an attack is anyone's code
        raise ComponentError(f"{cell.shown.attack} failed: {told(error, cell)}") from error
    trial = bench.kept(cell, outcome, time.perf_counter() - start)
    measures = plan.measures.get(parse(cell.channel, "channel").name, ())
    result = result_of(cell, plan.labels[0], implied, (trial,), 1)
    return attrs.evolve(result, measures=measures), outcome


def _rows(result: CellResult, outcome: Outcome) -> Iterator[tuple[int, str, str]]:
    """Yield every record with the recovered and the true label, in the user's own class names."""
    names = result.labels.class_names
    if outcome.guess is None or outcome.truth is None:
        return
    for record, (guess, truth) in enumerate(zip(outcome.guess, outcome.truth, strict=True)):
        yield record, _word(guess, names), _word(truth, names)


def _word(value: Any, names: Sequence[str]) -> str:
    """Write a class by its name, a real number as it is, and nothing where nothing is guessed."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return names[value] if 0 <= value < len(names) else ""


def _print_json(result: CellResult, outcome: Outcome, plan: Plan, show: int) -> None:
    """Print the bout as ``labelinf matrix --json --full`` does a cell, and the records that are to be shown."""
    import itertools
    import json

    from labelinf_core.evaluator.results import Results
    from labelinf_core.report.data import as_json

    document = json.loads(as_json(Results(plan=plan, cells=(result,)), full=True))
    rows = itertools.islice(_rows(result, outcome), show)
    records = [dict(zip(("record", "recovered", "true"), row, strict=True)) for row in rows]
    tell({**document, "records": records}, (), as_json=True)


def _print(result: CellResult, outcome: Outcome, plan: Plan, show: int) -> None:
    import itertools

    from rich.text import Text

    from labelinf_core.contracts.guarantees import Verdict
    from labelinf_core.evaluator.results import Results
    from labelinf_core.report import words
    from labelinf_core.report.answer import of_bout
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
    for line in _summary(result, outcome):
        console.print(Text(line))
    if result.verdict is Verdict.CONTRADICTION:
        console.print(Text(f"‼ CONTRADICTION  {words.contradiction(result)}", style="bold red"))
    console.print()
    _print_labels(console, list(itertools.islice(_rows(result, outcome), show)))
    hidden = outcome.n_records - show
    if hidden > 0:
        console.print(Text(f"  … {hidden} more; --save FILE writes them all", style="dim"))


def _summary(result: CellResult, outcome: Outcome) -> Iterator[str]:
    from labelinf_core.report import asides, words

    share, blind = words.percent(outcome.n_correct / outcome.n_records), words.percent(result.implied.baseline)
    yield f"recovered  {outcome.n_correct} of {outcome.n_records} labels: {share} % (majority guess: {blind} %)"
    yield f"spent      {outcome.queries} queries, {words.duration(result.trials[0].seconds)} s"
    promise = result.implied.promise
    if promise is not None:
        certain, needed = "certified" if promise.certified else "not certified", words.number(promise.survives)
        yield f"theory     {certain}: stopped by noise above {needed}, {words.number(promise.present)} can be present"
        yield f"           {promise.statement}: {promise.conditions}"
    for item in result.implied.ceilings:
        yield f"ceiling    {words.ceiling(item, result.implied.baseline)}, {item.statement}: {item.conditions}"
    yield f"verdict    {words.verdict(result)}"
    if outcome.n_correct < outcome.n_records and (doubt := result.trials[0].doubt):
        yield f"doubt      {doubt}"
    if beside := asides.sentence(result):
        yield f"beside     {beside}"
    for key, value in result.trials[0].evidence.items():
        yield f"evidence   {key}: {words.number(value) if isinstance(value, float) else value}"


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

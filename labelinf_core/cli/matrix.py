"""``labelinf matrix``: plays every attack of a suite against every defence and prints what came out."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.completion import component, named
from labelinf_core.cli.options import (
    RUNS,
    Finite,
    block_option,
    load_host,
    print_results,
    records_options,
    setting_options,
    verbose_option,
)
from labelinf_core.cli.output import output_options, tell
from labelinf_core.cli.typed import as_typed
from labelinf_core.contracts.exits import Exit
from labelinf_core.report.progress import counting

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from labelinf_core.evaluator.cells import Plan
    from labelinf_core.evaluator.engines import Engine
    from labelinf_core.evaluator.results import Results
    from labelinf_core.evaluator.suite import Suite
    from labelinf_core.plugin.host import Host

__all__ = ["matrix"]


def _suites(host: Host) -> Iterator[tuple[str, str]]:
    from labelinf_core.evaluator.suite import shipped_suites

    yield from ((name, "shipped suite") for name in shipped_suites(host))


@click.command()
@click.argument("suite", default="quick", shell_complete=named(_suites, files=True))
@records_options
@click.option(
    "--attack",
    "attacks",
    metavar="SPEC",
    multiple=True,
    shell_complete=component("attack"),
    help="Add an attack to the suite. May be repeated.",
)
@click.option("--defence", "defences", metavar="SPEC", multiple=True, shell_complete=component("defence"),
              help="Add a defence. May be repeated.")  # fmt: skip
@setting_options
@click.option(
    "--only",
    metavar="PATTERN",
    multiple=True,
    help="Play only cells whose attack or defence matches, or ATTACK/DEFENCE; * is any text; 'not PATTERN' leaves out. "
    "May be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be played and how long it takes; play nothing.")
@click.option("--trials", type=click.IntRange(1, 1_000_000), help="How often every cell is played.")
@click.option("--seed", type=click.IntRange(min=0), help="What all randomness is derived from.")
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    help="Worker processes  [default: one per core]; 0 plays in this process, without --timeout, and others' "
    "plugins and code of your own in one of their own.",
)
@click.option(
    "--executor",
    metavar="local|dask|slurm|FILE.toml",
    default="local",
    show_default=True,
    help="Where trials are played: worker processes here, a Dask cluster, job arrays of Slurm.",
)
@click.option("--timeout", type=Finite(min=0, min_open=True), default=120.0, show_default=True,
              help="Seconds that one trial of a cell may take; the cell is then given up.")  # fmt: skip
@verbose_option
@click.option("--out", type=click.Path(path_type=Path), help="Keep the run there, or go on with the one there.")
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with the run in --out, or the newest of this plan under runs/, and play again what failed, hung or "
    "crashed in it.",
)
@click.option("--key-from", type=click.Path(path_type=Path), metavar="RUN",
              help="Replay RUN on private labels byte for byte: with the secret that its record holds.")  # fmt: skip
@click.option("--allow-code", is_flag=True, help="Run the programs and functions that the suite file names.")
@click.option(
    "--fail-on",
    "gates",
    multiple=True,
    type=click.Choice(["contradiction", "broken", "plugin"]),
    help="Exit 1 when a cell is a contradiction, or is broken; 2 when a plugin is at fault. May be repeated.",
)
@output_options
@block_option
@click.pass_context
def matrix(ctx: click.Context, /, suite: str, **chosen: Any) -> None:
    """Play every attack against every defence on private labels.

    SUITE is a TOML file or a suite that comes with labelinf (default: quick). Every trial is kept as it ends: stopped
    at any moment, the same command with --resume, or with the same --out, goes on where it was.
    """
    from labelinf_core.evaluator.engines import read_engine
    from labelinf_core.plugin.worker import watch

    engine = read_engine(chosen["executor"], chosen["workers"])
    watch.patience = chosen["timeout"]
    host = load_host(chosen["blocks"], strict="plugin" in chosen["gates"])
    try:
        plan = _plan(host, suite, chosen)
    finally:  # once: what takes its process with it is tried again, from the start
        for problem in host.problems():
            click.echo(f"labelinf: {problem}", err=True)
    for sentence in plan.left_out:
        click.echo(f"labelinf: {sentence}", err=True)
    if chosen["key_from"] is not None:
        from labelinf_core.evaluator.runs import key_of

        plan = plan.keyed(key_of(chosen["key_from"]) or plan.key)
    if chosen["dry_run"]:
        _print_estimate(plan, chosen["out"], as_json=chosen["as_json"])
        return
    directory = _directory(plan, chosen["out"], chosen["resume"])
    results = _run(plan, directory, host, engine, {**chosen, "command": as_typed(ctx)})
    print_results(results, "json" if chosen["as_json"] else "table", verbose=chosen["verbose"])
    if not chosen["as_json"]:
        _print_next(results, directory, chosen)
    ctx.exit(_status(results, {*chosen["gates"]} - {"plugin"}))


def _plan(host: Host, name: str, chosen: dict[str, Any]) -> Plan:
    from labelinf_core.evaluator.plan import make_plan, only
    from labelinf_core.evaluator.suite import read_suite
    from labelinf_core.specs import Builder

    suite = _changed(read_suite(name, host, allow_code=chosen["allow_code"]), host, chosen)
    plan = make_plan(suite, Builder(host), name)
    return only(plan, chosen["only"]) if chosen["only"] else plan


def _changed(suite: Suite, host: Host, chosen: dict[str, Any]) -> Suite:
    """Apply what the command line says instead of the suite file, or beside it."""
    import attrs

    from labelinf_core.evaluator.changes import only_channel, with_component, with_labels, with_setting
    from labelinf_core.evaluator.game import labels_spec, settings
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.specs import parse

    if chosen["channel"]:
        suite = only_channel(suite, host, parse(chosen["channel"], "--channel"))
    if chosen["labels"]:
        labels = labels_spec(host, chosen["labels"], **{key: chosen[key] for key in ("column", "features", "groups")})
        suite, left_out = with_labels(suite, host, labels)
        for channel in left_out:
            reason = "it heeds no groups (--groups)" if chosen["groups"] else "it trains on features (--features)"
            click.echo(f"labelinf: the {channel} channel is left out: {reason}", err=True)
    for name, value in settings(host, chosen).items():
        suite = with_setting(suite, host, name, value)
    for kind in (Kind.ATTACK, Kind.DEFENCE):
        for written in chosen[f"{kind.value}s"]:
            suite = with_component(suite, host, kind, written)
    return attrs.evolve(suite, **{key: chosen[key] for key in ("trials", "seed") if chosen[key] is not None})


def _directory(plan: Plan, out: Path | None, resume: bool) -> Path:
    """Return where the run is kept: where the user says, the newest run of this plan, or a new directory."""
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.evaluator.runs import find_run

    if not resume:
        return out or _new_directory(plan)
    found = out or find_run(RUNS, plan)
    if found is None or not found.exists():
        where = out or f"{RUNS}/"
        raise InputError(f"nothing to resume: no run under {where} has this plan; leave --resume out to begin one.")
    return found


def _new_directory(plan: Plan) -> Path:
    import itertools

    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H-%M-%S")
    name = f"{now}-" + re.sub(r"[^\w.-]+", "-", plan.title)
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(path for path in map(RUNS.joinpath, names) if not path.exists())


def _run(plan: Plan, directory: Path, host: Host, engine: Engine, chosen: dict[str, Any]) -> Results:
    from labelinf_core.evaluator.results import summarise
    from labelinf_core.evaluator.run import is_complete, run, size
    from labelinf_core.evaluator.store import Store
    from labelinf_core.report import words
    from labelinf_core.report.formats import write_all
    from labelinf_core.specs import Builder

    store = Store.open(directory, plan, command=chosen["command"])
    try:
        if chosen["resume"] and (again := store.forget_failed()):
            click.echo(f"labelinf: what failed is played again: {words.count(again, 'cell')}", err=True)
        for note in store.notes:
            click.echo(f"labelinf: {note}", err=True)
        if not is_complete(store.plan, store):
            opened = engine.opened(store.plan, Builder(host), directory, chosen["timeout"])
            with counting(size(store.plan)) as progress, opened as executor:
                run(store.plan, store, executor, progress)
        results = summarise(store)
        write_all(results, directory)
        return results
    except KeyboardInterrupt:
        click.echo(f"labelinf: what was played is kept; the same command with --out {directory} goes on", err=True)
        raise
    finally:
        store.close()


def _print_estimate(plan: Plan, directory: Path | None, *, as_json: bool) -> None:
    """Say what would be played, and how long it takes by what earlier runs recorded."""
    from labelinf_core.evaluator.estimate import estimate

    found = estimate(plan, RUNS, directory)
    if as_json:
        cells = [
            {"channel": cell.channel, "labels": cell.labels, "attack": cell.attack, "defences": cell.written}
            for cell in plan.cells
        ]
        told = {"cells": cells, "trials": found.trials, "seconds": found.seconds, "unknown": found.unknown}
        tell(told, (), as_json=True)
        return
    for cell in plan.cells:
        click.echo(f"{cell.shown.attack}  against  {cell.shown.pipeline}  on  {cell.shown.channel}, {cell.labels}")
    click.echo(found)


def _print_next(results: Results, directory: Path, chosen: dict[str, Any]) -> None:
    """Say where the run is kept, and what somebody who has just read the matrix may want: of the game she named."""
    import shlex

    from labelinf_core.evaluator.game import OF_LABELS, SETTINGS
    from labelinf_core.report.formats import FILES
    from labelinf_core.specs import parse

    click.echo(f"kept in {directory}: {', '.join(FILES)}, run.sqlite")
    first = results.plan.cells[0]
    game = {"channel": parse(first.channel, "channel").name, "labels": first.labels}
    game |= {key: str(chosen[key]) for key in ("channel", "labels", *OF_LABELS, *SETTINGS) if chosen.get(key)}
    words = [word for key, value in game.items() for word in (f"--{key}", value)]
    steps = [["labelinf", "report", str(directory), "-v"], ["labelinf", "advise", *words, "--gain", "5%"]]
    click.echo(f"next: {' · '.join(map(shlex.join, steps))}")


def _status(results: Results, gates: Set[str]) -> Exit:
    """Return what the run ends with: what the user gates on, or else what could not be played."""
    from labelinf_core.contracts.guarantees import Verdict
    from labelinf_core.report import words
    from labelinf_core.report.boards import boards, failed, unmet, untried

    broken = {Verdict.BROKEN_CERTIFIED, Verdict.BROKEN_OBSERVED} if "broken" in gates else set()
    if gates and any(result.verdict in {Verdict.CONTRADICTION, *broken} for result in results.cells):
        return Exit.FOUND
    if results.plan.left_out:
        return Exit.INCOMPLETE
    if lost := failed(results.cells):
        told = f"{words.count(lost, 'cell')} could not be played to the end, so nothing is known of what holds there"
        click.echo(f"labelinf: {told}; the same command with --resume plays them again", err=True)
        return Exit.INCOMPLETE
    if gates and (doubt := next(filter(None, (result.doubt for result in results.cells)), "")):
        click.echo(f"labelinf: {doubt}; so nothing is known of what holds there", err=True)
        return Exit.INCONCLUSIVE
    silent = [cell for board in boards(results) for cell in (untried if broken else unmet)(board)]
    if silent and (broken or all(result.accuracy is None for result in results.cells)):
        names = ", ".join(dict.fromkeys(map(words.pipeline, silent)))
        click.echo(f"labelinf: nothing was tried against {names}, so nothing is known of what holds there", err=True)
        return Exit.INCONCLUSIVE
    return Exit.DONE

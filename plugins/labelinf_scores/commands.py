"""``labelinf audit scorer``: the user's own scoring function, attacked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from labelinf_core.cli.advise import STRONGEST, attack_list, cost_lines, list_options
from labelinf_core.cli.completion import component
from labelinf_core.cli.options import (
    Finite,
    Share,
    block_option,
    game_timeout,
    groups_option,
    labels_options,
    load_host,
)
from labelinf_core.cli.output import output_options, tell
from labelinf_core.contracts.errors import InputError
from labelinf_core.report.progress import steps

if TYPE_CHECKING:
    from labelinf_scores.audit.certificate import BoardCertificate
    from labelinf_scores.audit.report import ScorerReport
    from labelinf_scores.audit.scorer import Extraction

__all__ = ["document", "lines", "scorer"]


@click.command(epilog="Without --labels it is tried on scikit-learn's breast-cancer labels.")
@click.argument("scorer", metavar="MODULE:FUNCTION|cmd:PROGRAM")
@labels_options
@groups_option
@click.option("--queries", type=click.IntRange(min=0), default=0, help="The adversary's budget; 0 is unlimited.")
@click.option("--days", type=click.IntRange(min=1), help="Days that the board is open: with the next two, the budget.")
@click.option("--per-day", type=click.IntRange(min=1), default=1, help="Submissions of a team on a day.")
@click.option("--teams", type=click.IntRange(min=1), default=1, help="Teams that put their answers together.")
@list_options
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@game_timeout
@click.option(
    "--metric",
    default="",
    metavar="SPEC",
    shell_complete=component("metric"),
    help="What sklearn computes, of the metrics that ship  [default: log-loss]",
)
@click.option(
    "--defence",
    "defences",
    metavar="SPEC",
    multiple=True,
    shell_complete=component("defence"),
    help="What stands in front of it where it is deployed, from the scorer out; may be repeated.",
)
@click.option(
    "--target", default="", metavar="TARGET", help="What is to be proved: 60%, no-exact-recovery, epsilon<=1."
)
@click.option("--gain", type=Share(min=0, min_open=True, max=1), help="Over the best blind guess, such as 5%, instead.")
@click.option(
    "--max-labels-per-query",
    type=Finite(min=0),
    help="Exit with status 1 when an attack gets more than this  [default: more than luck explains]",
)
@click.option(
    "--tolerance",
    type=Finite(min=0),
    help="How near a guess of a real label must be  [default: a hundredth of the interquartile range]",
)
@click.option(
    "--simulations",
    type=click.IntRange(min=0),
    default=0,
    help="Labellings that an attack may score  [default: 30000, of a program 20000 or 2000]",
)
@output_options
@block_option
@click.pass_context
def scorer(
    context: click.Context,
    /,
    scorer: str,
    labels: str | None,
    column: str,
    groups: str,
    queries: int,
    days: int | None,
    per_day: int,
    teams: int,
    attacks: tuple[str, ...],
    defences: tuple[str, ...],
    target: str,
    gain: float | None,
    max_labels_per_query: float | None,
    as_json: bool,
    blocks: tuple[str, ...],
    **chosen: Any,
) -> None:
    """Attack a scoring function, called as FUNCTION(labels, predictions).

    SCORER may also be sklearn, or 'cmd:PROGRAM ARGUMENT ...', a program that reads JSON lines with "labels" and
    "predictions" and writes JSON lines with "score". Functions of Kaggle (solution, submission, row_id_column_name)
    and of EvalAI are taken as they are; 'files:PROGRAM' is run with an input and an output folder, or with the paths of
    {labels}, {predictions}, {input} and {output} in its command.

    The function is run on made labels, as whoever attacks it can run it: attacks read its answers without knowing what
    it computes. Where it agrees with a metric that ships, those made for that one are tried first. Proofs are of the
    board as it is deployed, whatever the function is: of what --defence lets through. Exits with status 1 where labels
    leak, 0 where the board is proved to stay within a --gain or --target that you give, 3 where neither is shown, and 4
    where an attack failed and none leaked.
    """
    from labelinf_core.evaluator.game import labels_spec
    from labelinf_core.evaluator.labels import load_labels
    from labelinf_core.specs import Builder
    from labelinf_scores.audit.report import Goal, audited

    if (place := Path(scorer)).is_dir() or place.suffix == ".toml":
        raise InputError(f"{scorer} is a file, no scorer; a board that was begun: labelinf guard audit board.toml.")
    if days is not None and queries:
        raise InputError("--queries and --days both say what the budget is; give one.")
    if days is not None:
        queries = days * per_day * teams
        told = f"{teams} team{'s' * (teams > 1)} x {days} day{'s' * (days > 1)} x {per_day}"
        click.echo(f"budget: {queries} queries ({told})", err=True)
    if STRONGEST in attacks:
        attacks, chosen["also"] = (), attack_list((), attacks, chosen["also"])
    builder = Builder(load_host(blocks))
    named = labels_spec(builder.host, labels or "breast-cancer", column=column, groups=groups)
    data = load_labels(builder, named, "--labels", reals=True)
    with steps("auditing") as progress:
        report = audited(
            scorer,
            data,
            builder,
            attacks=attack_list((), attacks, ()),
            queries=queries,
            stages=defences,
            goal=Goal(target=target, gain=gain, most=max_labels_per_query),
            progress=progress,
            **chosen,
        )
    tell(document(report), lines(report), as_json=as_json)
    context.exit(report.decision.status)


def lines(report: ScorerReport) -> Iterator[str]:
    """Yield the answer, what the scorer agrees with, what every attack got, and what is proved to help."""
    from labelinf_core.report.console import make_console
    from labelinf_scores.audit.words import answer

    data = report.data
    yield from answer(report).lines(make_console().width)
    if report.changed:
        yield "The scorer changed while it was attacked: it keeps state, and more than this may leak."
    kinds = f"{data.n_classes} classes" if data.reals is None else "real numbers"
    yield f"\n{report.scorer} on {data.title} ({data.n_records} labels, {kinds})"
    yield f"run on made labels: {report.sentence()}\n"
    for leak in report.leaks:
        if not leak.refusal or leak.attack.startswith("simulate"):
            yield _line(leak, report.simulations)
    if report.changes:
        yield _suggestions(report)


def _line(leak: Extraction, granted: int) -> str:
    from labelinf_scores.audit.words import said

    if leak.refusal:
        return f"  {leak.attack:24} not played: {leak.refusal}"
    if leak.accuracy is None:
        return f"  {leak.attack:24} failed after {leak.queries} queries: {leak.failure}"
    ran = f", {runs} of {granted} simulations" if (runs := leak.evidence.get("simulations")) else ""
    blind = f"{leak.blind} {leak.baseline:.1%}"
    rate = f"{leak.queries} queries, {leak.labels_per_query:.2f} labels a query{ran} ({leak.seconds:.1f} s)"
    return f"  {leak.attack:24} {said(leak.accuracy)} of {leak.unit} ({blind}), {rate}"


def _suggestions(report: ScorerReport) -> str:
    """Say which changes are proved to reach the target, what the strongest attack got there, and what they cost."""
    from labelinf_scores.audit.words import said
    from labelinf_scores.game.channel import ScoreChannel

    measures = ScoreChannel.measures()
    lines = [f"Smallest changes that are proved to reach the target ({report.decision.target}):"]
    for change in report.changes:
        advice, behind = change.advice, change.behind
        lines += [f"  {advice.setting}", f"    {change.proof.sentence()}"]
        if behind is not None and behind.accuracy:
            lines.append(f"    played on your scorer: {behind.attack}: {said(behind.accuracy)} of labels")
        lines += [*cost_lines(advice.certified_cost, measures, indent=4)]
    return "\n".join(lines)


def document(report: ScorerReport) -> dict[str, Any]:
    """Return what an audit found, for a program."""
    data = report.data
    return {
        "labels": {
            "title": data.title,
            "n_records": data.n_records,
            "n_classes": None if data.reals is not None else data.n_classes,
        },
        "findings": report.found.document if report.found else {"agrees with": None},
        "simulations granted": report.simulations,
        "word": report.decision.word.value,
        "status": report.decision.status,
        "defences": report.stages,
        "attacks": report.leaks,
        "changed while attacked": report.changed,
        "numbers to name": report.decision.unnamed,
        "told besides": report.decision.besides,
        "target": str(report.decision.target),
        "certificate": _proved(report.decision.proof),
        "changes that reach the target": [
            {
                "defence": item.advice.setting,
                "certificate": _proved(item.proof),
                "costs": item.advice.certified_cost,
                "played": item.behind,
            }
            for item in report.changes
        ],
    }


def _proved(proof: BoardCertificate | None) -> dict[str, Any] | None:
    return None if proof is None else {**attrs.asdict(proof), "says": proof.sentence()}

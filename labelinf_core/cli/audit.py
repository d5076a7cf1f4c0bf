"""``labelinf audit``: the user's own system, attacked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.advise import cost_lines
from labelinf_core.cli.audit_outputs import outputs
from labelinf_core.cli.options import block_option, labels_options, labels_spec, load_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labelinf_core.advise.search import Advice
    from labelinf_core.audit.scorer import Leak
    from labelinf_core.audit.scorer_probe import ScorerFindings
    from labelinf_core.components import LabelSet
    from labelinf_core.losses import AdditiveLoss
    from labelinf_core.specs import Builder

__all__ = ["audit"]


@click.group(short_help="Attack your own system.")
def audit() -> None:
    """Attack your own system and report what it gives away."""


audit.add_command(outputs)


@audit.command()
@click.argument("scorer", metavar="MODULE:FUNCTION")
@labels_options
@click.option("--queries", type=click.IntRange(min=0), default=0, help="The adversary's budget; 0 is unlimited.")
@click.option("--attack", "attacks", multiple=True, metavar="SPEC", help="Play this attack; may be repeated.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--max-labels-per-query",
    type=click.FloatRange(min=0),
    default=0.1,
    show_default=True,
    help="Exit with status 1 when an attack gets more than this.",
)
@click.option("--json", "as_json", is_flag=True, help="For a machine to read.")
@block_option
@click.pass_context
def scorer(
    context: click.Context,
    scorer: str,
    labels: str | None,
    column: str,
    queries: int,
    attacks: tuple[str, ...],
    seed: int,
    max_labels_per_query: float,
    as_json: bool,
    blocks: tuple[str, ...],
) -> None:
    """Attack a scoring function, called as FUNCTION(labels, predictions).

    SCORER may also be sklearn, or 'cmd:PROGRAM ARGUMENT ...', a program that reads JSON lines with "labels" and
    "predictions" and writes JSON lines with "score".
    """
    import numpy as np

    from labelinf_core.audit.scorer import audit_scorer, findings_of, strongest
    from labelinf_core.audit.scorer_advice import smallest_changes
    from labelinf_core.channels.scorers import make_scorer
    from labelinf_core.descriptors import Kind
    from labelinf_core.errors import InputError
    from labelinf_core.specs import Builder

    builder = Builder(load_host(blocks))
    data = builder.build(Kind.LABELS, labels_spec(labels or "breast-cancer", column), "--labels").load()
    losses = _losses(builder, strongest()["losses"])
    made = make_scorer(scorer, next(iter(losses.values())), data.n_classes)
    rng = np.random.default_rng(seed)
    findings = findings_of(made, data, losses, rng)
    if not as_json:
        click.echo(f"{scorer} on {data.title} ({data.n_records} labels, {data.n_classes} classes)")
        click.echo(f"found by probing ({findings.queries} queries): {findings.sentence()}\n")
    if not findings.loss:
        raise InputError(
            f"scorer {scorer!r} is no mean over records of a loss that is known here ({', '.join(losses)})."
        )
    leaks = []
    for leak in audit_scorer(
        made,
        data,
        builder=builder,
        attacks=attacks or strongest()["attacks"],
        findings=findings,
        loss=losses[findings.loss],
        queries=queries,
        rng=rng,
    ):
        leaks.append(leak)
        if not as_json:
            click.echo(_line(leak))
    changes = list(smallest_changes(builder, data, findings, queries)) if any(leak.exact for leak in leaks) else []
    if as_json:
        click.echo(_as_json(findings, leaks, data, changes))
    else:
        click.echo(_verdict(leaks, data, queries))
        click.echo(_suggestions(changes) if any(leak.exact for leak in leaks) else "", nl=False)
    worst = max((leak.labels_per_query for leak in leaks), default=0.0)
    context.exit(int(worst > max_labels_per_query))


def _losses(builder: Builder, names: Sequence[str]) -> dict[str, AdditiveLoss]:
    from labelinf_core.descriptors import Kind

    return {name: builder.build(Kind.LOSS, name, "strongest.toml") for name in names}


def _line(leak: Leak) -> str:
    if leak.refusal:
        return f"  {leak.attack:24} not played: {leak.refusal}"
    sure = "certified" if leak.certified else "observed"
    return (
        f"  {leak.attack:24} {leak.accuracy:7.2%} of labels, {leak.queries} queries, "
        f"{leak.labels_per_query:.2f} labels a query ({sure}, {leak.seconds:.1f} s)"
    )


def _verdict(leaks: Sequence[Leak], data: LabelSet, queries: int) -> str:
    played = [leak for leak in leaks if not leak.refusal]
    budget = f"{queries} queries" if queries else "any number of queries"
    if not played:
        return f"\nno attack could be played within {budget}; that is not a proof of safety."
    best = max(played, key=lambda leak: leak.labels_per_query)
    if best.exact:
        said = f"all {data.n_records} labels in {best.queries} queries"
    else:
        said = f"{best.accuracy:.1%} of labels in {best.queries} queries (the majority guess has {max(data.prior):.1%})"
    return f"\nyour scorer gives up {best.labels_per_query:.1f} labels a query: {said}, by {best.attack}."


def _suggestions(changes: Sequence[Advice]) -> str:
    """Say which changes are proved to stop exact recovery, and what they cost."""
    if not changes:
        return "Nothing here is proved to stop exact recovery within that budget; give one with --queries.\n"
    lines = ["Smallest changes that are proved to stop exact recovery (all labels in at most 5 % of games):"]
    for advice in changes:
        lines += [f"  {advice.setting:44} {advice.statement}", *cost_lines(advice.certified_cost, indent=4)]
    return "\n".join(lines) + "\n"


def _as_json(findings: ScorerFindings, leaks: Sequence[Leak], data: LabelSet, changes: Sequence[Advice]) -> str:
    import attrs

    from labelinf_core.evaluator.records import plain

    report: dict[str, Any] = {
        "labels": {"title": data.title, "n_records": data.n_records, "n_classes": data.n_classes},
        "findings": attrs.asdict(findings),
        "attacks": [attrs.asdict(leak) for leak in leaks],
        "changes that stop exact recovery": [
            {"defence": item.setting, "statement": item.statement, "costs": dict(item.certified_cost)}
            for item in changes
        ],
    }
    return json.dumps(plain(report), indent=1, ensure_ascii=False)

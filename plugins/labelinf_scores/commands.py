"""``labelinf audit scorer``: the user's own scoring function, attacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import click

from labelinf_core.cli.advise import attack_list, cost_lines, list_options
from labelinf_core.cli.exits import Exit
from labelinf_core.cli.options import Finite, block_option, labels_options, load_host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labelinf_core.advise.search import Advice
    from labelinf_core.contracts.components import LabelSet
    from labelinf_core.contracts.guarantees import Interval
    from labelinf_core.specs import Builder
    from labelinf_scores.audit.probe import ScorerFindings
    from labelinf_scores.audit.scorer import Extraction
    from labelinf_scores.metrics.additive import AdditiveLoss

__all__ = ["scorer"]


@click.command(epilog="Without --labels it is tried on scikit-learn's breast-cancer labels.")
@click.argument("scorer", metavar="MODULE:FUNCTION|cmd:PROGRAM")
@labels_options
@click.option("--queries", type=click.IntRange(min=0), default=0, help="The adversary's budget; 0 is unlimited.")
@list_options
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--max-labels-per-query",
    type=Finite(min=0),
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
    also: tuple[str, ...],
    seed: int,
    max_labels_per_query: float,
    as_json: bool,
    blocks: tuple[str, ...],
) -> None:
    """Attack a scoring function, called as FUNCTION(labels, predictions).

    SCORER may also be sklearn, or 'cmd:PROGRAM ARGUMENT ...', a program that reads JSON lines with "labels" and
    "predictions" and writes JSON lines with "score".

    What the function does is learnt by probing, so nothing is certified: "expected" is what theory implies if the probe
    is right. Exits with status 3 when no attack could be played or the probe must have been wrong and none leaked, and
    with 4 when one failed and none leaked.
    """
    from labelinf_core.cli.game import labels_spec
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.specs import Builder
    from labelinf_scores.audit.strongest import shipped

    builder = Builder(load_host(blocks))
    data = builder.build(Kind.LABELS, labels_spec(builder.host, labels or "breast-cancer", column), "--labels").load()
    say = (lambda line: None) if as_json else click.echo
    report = _audited(scorer, data, builder, attack_list(shipped()["attacks"], attacks, also), queries, seed, say)
    if as_json:
        click.echo(_as_json(report))
    context.exit(_status(report, max_labels_per_query))


def _status(report: _Report, most: float) -> Exit:
    """Return a leak before what could not be played, and that before nothing; attacks on a misread scorer show none."""
    if any(leak.labels_per_query > most for leak in report.leaks):
        return Exit.FOUND
    if any(leak.failure for leak in report.leaks):
        return Exit.INCOMPLETE
    stands = any(leak.accuracy for leak in report.leaks) and not any(leak.contradicts for leak in report.leaks)
    return Exit.DONE if stands else Exit.INCONCLUSIVE


@attrs.frozen(kw_only=True)
class _Report:
    data: LabelSet
    findings: ScorerFindings
    leaks: tuple[Extraction, ...]
    changes: tuple[Advice, ...]


def _audited(
    scorer: str,
    data: LabelSet,
    builder: Builder,
    attacks: Sequence[str],
    queries: int,
    seed: int,
    say: Callable[[str], None],
) -> _Report:
    """Probe, play and advise, telling the user of every step."""
    import numpy as np

    from labelinf_core.contracts.errors import InputError
    from labelinf_scores.audit.advice import smallest_changes
    from labelinf_scores.audit.scorer import audit_scorer, findings_of
    from labelinf_scores.audit.strongest import shipped
    from labelinf_scores.game.scorers import make_scorer

    losses = _losses(builder, shipped()["losses"])
    made = make_scorer(scorer, next(iter(losses.values())), data.n_classes)
    rng = np.random.default_rng(seed)
    findings = findings_of(made, data, losses, rng)
    say(f"{scorer} on {data.title} ({data.n_records} labels, {data.n_classes} classes)")
    say(f"found by probing ({findings.queries} queries): {findings.sentence()}\n")
    if not findings.loss:
        raise InputError(
            f"scorer {scorer!r} is no mean over records of a loss that is known here ({', '.join(losses)}): "
            f"nothing was played, nothing is known. If it negates, sums or rescales one, return the mean loss itself; "
            f"labelinf audit log reads the answers of roc-auc, accuracy and others."
        )
    loss, leaks = losses[findings.loss], []
    for leak in audit_scorer(
        made, data, builder=builder, attacks=attacks, findings=findings, loss=loss, queries=queries, rng=rng
    ):
        leaks.append(leak)
        say(_line(leak))
    say(_verdict(leaks, data, queries))
    # What is proved to help would rest on the very probe that was contradicted.
    advisable = any(leak.exact for leak in leaks) and not any(leak.contradicts for leak in leaks)
    changes = tuple(smallest_changes(builder, data, findings, queries)) if advisable else ()
    if advisable:
        say(_suggestions(changes))
    return _Report(data=data, findings=findings, leaks=tuple(leaks), changes=changes)


def _losses(builder: Builder, names: Sequence[str]) -> dict[str, AdditiveLoss]:
    from labelinf_core.plugin.descriptors import Kind

    return {name: builder.build(Kind.LOSS, name, "strongest.toml") for name in names}


def _line(leak: Extraction) -> str:
    if leak.refusal:
        return f"  {leak.attack:24} not played: {leak.refusal}"
    if leak.accuracy is None:
        return f"  {leak.attack:24} failed after {leak.queries} queries: {leak.failure}"
    sure = "all labels expected" if leak.contradicts else "expected" if leak.expected else "observed"
    return (
        f"  {leak.attack:24} {_share(leak.accuracy)} of labels (majority guess {leak.baseline:.1%}), {leak.queries} "
        f"queries, {leak.labels_per_query:.2f} labels a query ({sure}, {leak.seconds:.1f} s)"
    )


def _share(share: Interval) -> str:
    return f"{share.value:.2%} [{share.low:.1%}, {share.high:.1%}]"


def _verdict(leaks: Sequence[Extraction], data: LabelSet, queries: int) -> str:
    played = [(leak, leak.accuracy) for leak in leaks if leak.accuracy]
    budget = f"{queries} queries" if queries else "any number of queries"
    if not played:
        return f"\nno attack could be played within {budget}; that is not a proof of safety."
    best, share = max(played, key=lambda item: item[0].labels_per_query)
    if best.exact:
        said = f"all {data.n_records} labels in {best.queries} queries"
    else:
        guessed = f"{_share(share)} of labels in {best.queries} queries"
        said = f"{guessed} (the majority guess has {best.baseline:.1%})"
    short = [leak.attack for leak in leaks if leak.contradicts]
    if short and not best.labels_per_query:
        lines = ["\nINCONCLUSIVE  no attack beat the majority guess, but they were played on a wrong picture."]
    else:
        lines = [f"\nyour scorer gives up {best.labels_per_query:.1f} labels a query: {said}, by {best.attack}."]
    if short:
        lines.append(
            f"The probe must have been wrong: if it were right, all labels would have come out by {', '.join(short)}. "
            f"What else it implies is void, no change is suggested, and more than this may leak."
        )
    return "\n".join(lines)


def _suggestions(changes: Sequence[Advice]) -> str:
    """Say which changes are proved to stop exact recovery, and what they cost."""
    from labelinf_scores.game.channel import ScoreChannel

    if not changes:
        return "Nothing here is proved to stop exact recovery within that budget; give one with --queries."
    measures = ScoreChannel.measures()
    lines = [
        "Smallest changes that are proved to stop exact recovery (all labels in at most 5 % of games), if the probe is "
        "right:"
    ]
    for advice in changes:
        lines += [f"  {advice.setting:44} {advice.statement}", *cost_lines(advice.certified_cost, measures, indent=4)]
    return "\n".join(lines)


def _as_json(report: _Report) -> str:
    from labelinf_core.contracts.documents import json_text

    data = report.data
    written: dict[str, Any] = {
        "labels": {"title": data.title, "n_records": data.n_records, "n_classes": data.n_classes},
        "findings": report.findings,
        "attacks": report.leaks,
        "attacks that contradict the findings": [leak.attack for leak in report.leaks if leak.contradicts],
        "changes that stop exact recovery if the findings are right": [
            {"defence": item.setting, "statement": item.statement, "costs": item.certified_cost}
            for item in report.changes
        ],
    }
    return json_text(written)

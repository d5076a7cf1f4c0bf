"""``labelinf advise``: the smallest defence for a target."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
import click

from labelinf_core.cli.options import block_option, channel_options, channel_spec, load_host

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labelinf_core.advise.search import Advice, Advisor

__all__ = ["advise", "cost_lines"]


@click.command(short_help="Find the smallest defence for a target.")
@click.option("--records", type=click.IntRange(min=1), required=True, help="N, how many private labels there are.")
@click.option("--classes", type=click.IntRange(min=2), default=2, show_default=True, help="K.")
@click.option("--target", required=True, metavar="TARGET", help="60%, no-exact-recovery, or epsilon<=1.")
@click.option("--clip", type=float, help="Probabilities are clipped to [clip, 1 - clip] already.")
@click.option("--certificates-only", is_flag=True, help="Play nothing; say what is proved.")
@click.option("--only", multiple=True, metavar="TEXT", help="Only knobs whose title or spec contains TEXT.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="For a machine to read.")
@channel_options
@block_option
def advise(
    records: int,
    classes: int,
    target: str,
    clip: float | None,
    certificates_only: bool,
    only: tuple[str, ...],
    seed: int,
    as_json: bool,
    channel: str,
    loss: str | None,
    scorer: str | None,
    queries: int | None,
    blocks: tuple[str, ...],
) -> None:
    """Find the smallest setting of each defence that reaches TARGET: proved, and against the known attacks."""
    from labelinf_core.advise.search import Advisor
    from labelinf_core.advise.target import Target
    from labelinf_core.audit.scorer import strongest
    from labelinf_core.descriptors import Kind
    from labelinf_core.specs import Builder

    builder = Builder(load_host(blocks))
    build = builder.build
    given = channel_spec(channel, loss=loss, scorer=scorer or "float64", queries=queries)
    advisor = Advisor(
        builder=builder,
        channel=build(Kind.CHANNEL, given, "advise"),
        data=build(Kind.LABELS, f"made(n_records={records}, n_classes={classes}, seed={seed})", "advise").load(),
        base=(build(Kind.DEFENCE, f"clip(epsilon={clip!r})", "--clip"),) if clip else (),
        target=Target.parse(target),
        attacks=() if certificates_only else strongest()["attacks"],
        seed=seed,
    )
    chosen = [knob for knob in advisor.knobs() if not only or any(t in knob.title + knob.template for t in only)]
    if not as_json:
        click.echo(_heading(advisor, records, classes, clip, queries))
    found = []
    for knob in chosen:
        found.append(advisor.advise(knob))
        if not as_json:
            click.echo(_line(found[-1], played=not certificates_only))
    if as_json:
        click.echo(json.dumps([_plain(item) for item in found], indent=1, ensure_ascii=False))
    elif not any(item.certified is not None for item in found):
        click.echo("\nNothing here reaches the target by certificate.")


def _heading(advisor: Advisor, records: int, classes: int, clip: float | None, queries: int | None) -> str:
    asked = f"{queries} queries" if queries else "unlimited queries"
    clipped = f"clip {clip:g}" if clip else "no clip"
    return f"{records} labels, {classes} classes, {clipped}, {asked}; target: {advisor.target}\n"


def _line(advice: Advice, *, played: bool) -> str:
    sign = ">=" if advice.knob.strongest > advice.knob.weakest else "<="
    sure = "nothing certifies it" if advice.certified is None else f"{sign} {advice.certified:.4g} ({advice.statement})"
    lines = [advice.knob.title, f"    proved     {sure}", *cost_lines(advice.certified_cost)]
    if played:
        forced = "no setting withstands" if advice.forced is None else f"{sign} {advice.forced:.4g}"
        by = f" (forced by {advice.strongest_attack})" if advice.strongest_attack else ""
        lines += [f"    attacks    {forced}{by}", *cost_lines(advice.forced_cost)]
    return "\n".join(lines)


def cost_lines(cost: Mapping[str, float], indent: int = 15) -> list[str]:
    """Return one line on what a setting costs honest participants; none when it is not known."""
    if not cost:
        return []
    refused = f", {cost['refused']:.0%} refused" if cost["refused"] else ""
    return [
        f"{' ' * indent}costs honest models {cost['mean_error']:.3g} of their score on average; rank correlation "
        f"{cost['rank_correlation']:.2f}, {cost['top_flips']:.1f} of the best 3 displaced{refused}"
    ]


def _plain(advice: Advice) -> dict[str, Any]:
    return attrs.asdict(advice)

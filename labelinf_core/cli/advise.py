"""``labelinf advise``: the smallest defence for a target."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
import click

from labelinf_core.cli.options import Finite, block_option, channel_options, channel_spec, load_host

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labelinf_core.advise.search import Advice, Advisor
    from labelinf_core.specs import Builder, Spec

__all__ = ["advise", "attack_list", "cost_lines", "list_options"]


def list_options(function: Any) -> Any:
    """Add ``--attack`` and ``--also``."""
    also = click.option(
        "--also", multiple=True, metavar="SPEC", help="Play this attack besides the shipped list; may be repeated."
    )
    instead = click.option(
        "--attack",
        "attacks",
        multiple=True,
        metavar="SPEC",
        help="Play this attack instead of the shipped list of the strongest; may be repeated.",
    )
    return instead(also(function))


def attack_list(strongest: Sequence[str], instead: Sequence[str], also: Sequence[str]) -> tuple[str, ...]:
    """Return the attacks to play, each once: those named, or else the channel's strongest, and those that are added."""
    return tuple(dict.fromkeys([*(instead or strongest), *also]))


@click.command(short_help="Find the smallest defence for a target.")
@click.option("--records", type=click.IntRange(min=1), required=True, help="N, how many private labels there are.")
@click.option("--classes", type=click.IntRange(min=2), default=2, show_default=True, help="K.")
@click.option("--target", required=True, metavar="TARGET", help="60%, no-exact-recovery, or epsilon<=1.")
@click.option("--clip", type=Finite(), help="Probabilities are clipped to [clip, 1 - clip] already.")
@click.option("--certificates-only", is_flag=True, help="Play nothing; say what is proved.")
@click.option("--only", multiple=True, metavar="TEXT", help="Only knobs whose title or spec contains TEXT.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="For a machine to read.")
@list_options
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
    attacks: tuple[str, ...],
    also: tuple[str, ...],
    channel: str | None,
    loss: str | None,
    scorer: str | None,
    queries: int | None,
    blocks: tuple[str, ...],
) -> None:
    """Find the smallest setting of each defence that reaches TARGET: proved, and against the known attacks."""
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.specs import Builder

    given = _score_channel(channel, loss=loss, scorer=scorer or "float64", queries=queries)
    builder = Builder(load_host(blocks))
    strongest = builder.host.find(Kind.CHANNEL, given.name).load().strongest()
    played = () if certificates_only else attack_list(strongest, attacks, also)
    advisor = _advisor(builder, given, records, classes, clip, target, played, seed)
    say = (lambda line: None) if as_json else click.echo
    say(_heading(advisor, records, classes, clip, queries))
    found = []
    for knob in advisor.knobs():
        if not only or any(text in knob.title + knob.template for text in only):
            found.append(advisor.advise(knob))
            say(_line(found[-1], played=not certificates_only))
    if as_json:
        click.echo(json.dumps([attrs.asdict(item) for item in found], indent=1, ensure_ascii=False))
    elif not any(item.certified is not None for item in found):
        click.echo("\nNothing here reaches the target by certificate.")


def _score_channel(channel: str | None, **given: Any) -> Spec:
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.specs import parse

    if channel is not None and (name := parse(channel, "--channel").name) != "score":
        raise InputError(f"advise turns the defences of the score channel; on the {name} channel nothing turns yet.")
    return channel_spec(channel, **given)


def _advisor(
    builder: Builder,
    channel: Spec,
    records: int,
    classes: int,
    clip: float | None,
    target: str,
    attacks: tuple[str, ...],
    seed: int,
) -> Advisor:
    from labelinf_core.advise.search import Advisor
    from labelinf_core.advise.target import Target
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.plugin.descriptors import Kind

    build = builder.build
    for spec in attacks:  # a slip in a name is the user's, not a failure of the attack
        build(Kind.ATTACK, spec, "--attack")
    goal = Target.parse(target)
    if goal.accuracy is not None and goal.accuracy <= 1 / classes:
        raise InputError(f"--target {target}: a blind guess of {classes} classes has {1 / classes:.0%}; ask for more.")
    return Advisor(
        builder=builder,
        channel=build(Kind.CHANNEL, channel, "advise"),
        data=build(Kind.LABELS, f"made(n_records={records}, n_classes={classes}, seed={seed})", "advise").load(),
        base=(build(Kind.DEFENCE, f"clip(epsilon={clip!r})", "--clip"),) if clip else (),
        target=goal,
        attacks=attacks,
        seed=seed,
    )


def _heading(advisor: Advisor, records: int, classes: int, clip: float | None, queries: int | None) -> str:
    asked = f"{queries} queries" if queries else "unlimited queries"
    clipped = f"clip {clip:g}" if clip else "no clip"
    return f"{records} labels, {classes} classes, {clipped}, {asked}; target: {advisor.target}\n"


def _line(advice: Advice, *, played: bool) -> str:
    sign = ">=" if advice.knob.strongest > advice.knob.weakest else "<="
    sure = "nothing certifies it" if advice.certified is None else f"{sign} {advice.certified:.4g} ({advice.statement})"
    lines = [advice.knob.title, f"    proved     {sure}", *cost_lines(advice.certified_cost)]
    if played:
        lines += [f"    attacks    {_forced(advice, sign)}", *cost_lines(advice.forced_cost)]
    return "\n".join([*lines, *(f"    note       {note}" for note in advice.notes)])


def _forced(advice: Advice, sign: str) -> str:
    by = f" (forced by {advice.strongest_attack})" if advice.strongest_attack else ""
    if advice.forced is not None:
        return f"{sign} {advice.forced:.4g}{by}"
    return f"no setting withstands{by}" if by else "none could be played, so nothing was withstood"


def cost_lines(cost: Mapping[str, float], indent: int = 15) -> list[str]:
    """Return one line on what a setting costs honest participants; none when it is not known."""
    if not cost:
        return []
    refused = f", {cost['refused']:.0%} refused" if cost["refused"] else ""
    return [
        f"{' ' * indent}costs honest models {cost['mean_error']:.3g} of their score on average; rank correlation "
        f"{cost['rank_correlation']:.2f}, {cost['top_flips']:.1f} of the best 3 displaced{refused}"
    ]

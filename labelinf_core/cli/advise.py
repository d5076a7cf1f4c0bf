"""``labelinf advise``: the smallest defence for a target, in any channel whose defences have something to turn."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.completion import component
from labelinf_core.cli.options import Finite, block_option, game_options, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.cli.progress import steps
from labelinf_core.plugin.descriptors import NO_DEFENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labelinf_core.advise.search import Advice, Advisor
    from labelinf_core.cli.game import Game
    from labelinf_core.contracts.components import Measure

__all__ = ["advise", "advisor_of", "attack_list", "cost_lines", "list_options"]


def list_options(function: Any) -> Any:
    """Add ``--attack`` and ``--also``."""
    also = click.option(
        "--also",
        multiple=True,
        metavar="SPEC",
        shell_complete=component("attack"),
        help="Play this attack besides the shipped list; may be repeated.",
    )
    instead = click.option(
        "--attack",
        "attacks",
        multiple=True,
        metavar="SPEC",
        shell_complete=component("attack"),
        help="Play this attack instead of the shipped list of the strongest; may be repeated.",
    )
    return instead(also(function))


def attack_list(strongest: Sequence[str], instead: Sequence[str], also: Sequence[str]) -> tuple[str, ...]:
    """Return the attacks to play, each once: those named, or else the channel's strongest, and those that are added."""
    return tuple(dict.fromkeys([*(instead or strongest), *also]))


@click.command()
@click.option("--target", metavar="TARGET", help="60% of the labels, no-exact-recovery, or epsilon<=1.")
@click.option("--gain", metavar="POINTS",
              help="Points over the best blind guess, such as 5%, instead of --target; with --posteriors over a "
              "perfect model, by certificate alone.")  # fmt: skip
@game_options
@click.option("--certificates-only", is_flag=True, help="Play nothing; say what is proved.")
@click.option("--only", multiple=True, metavar="TEXT", help="Only knobs whose title or spec contains TEXT.")
@click.option("--questions", type=click.IntRange(min=1), default=50_000, show_default=True,
              help="After which no further game begins on one knob; what was not played is said.")  # fmt: skip
@click.option("--patience", type=Finite(min=0, min_open=True), default=600.0, show_default=True, metavar="SECONDS",
              help="After which none begins either: what depends on the machine is said.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@list_options
@output_options
@block_option
@click.pass_context
def advise(ctx: click.Context, /, **chosen: Any) -> None:
    """Find the smallest setting of each defence that reaches a target: proved, and against the known attacks.

    What stands already is --defence; each knob is turned behind it. A target that the best blind guess exceeds is
    refused. Exits with status 1 when an attack exceeds what is proved enough.
    """
    from labelinf_core.cli.exits import Exit
    from labelinf_core.cli.game import Game
    from labelinf_core.contracts.errors import PluginError

    named = [*chosen["attacks"], *chosen["also"]]
    game = Game.read(load_host(chosen["blocks"]), chosen, named)
    advisor = advisor_of(game, chosen)
    only = chosen["only"]
    knobs = [k for k in advisor.knobs() if not only or any(text in k.title + k.template for text in only)]
    found: list[Advice] = []
    with steps("advising") as progress:
        for knob in knobs:
            progress(knob.title, len(knobs))
            try:
                found.append(advisor.advise(knob))
            except PluginError as error:
                click.echo(f"labelinf: {error}", err=True)
    words = itertools.chain([_heading(game, advisor)], _lines(found, game, chosen))
    tell(found, words, as_json=chosen["as_json"])
    if any(item.contradiction for item in found):
        ctx.exit(Exit.FOUND)
    ctx.exit(Exit.DONE if any(_reached(item) for item in found) else Exit.INCONCLUSIVE)


def _lines(found: Sequence[Advice], game: Game, chosen: Mapping[str, Any]) -> Iterator[str]:
    """Yield the answer, then every knob."""
    from labelinf_core.cli.advice import answer_of
    from labelinf_core.report.console import make_console

    if not found:
        only = chosen["only"]
        chosen_of = f" whose title or spec contains {' or '.join(only)}" if only else ""
        yield f"No defence of the {game.spec.name} channel has a strength to turn{chosen_of}."
        return
    measures, played = game.channel.measures(), not chosen["certificates_only"] and game.data.perfect is None
    yield from answer_of(found, measures, played=played).lines(make_console().width)
    yield ""
    for item in found:
        yield _line(item, measures, played=played)
    if not any(item.certified is not None for item in found):
        yield "\nNothing here reaches the target by certificate."


def _reached(advice: Advice) -> bool:
    return advice.certified is not None or advice.forced is not None


def advisor_of(game: Game, chosen: Mapping[str, Any]) -> Advisor:
    """Return who answers, for what the options say.

    Raises:
        InputError: An attack cannot be built, or the target cannot be meant.
    """
    from labelinf_core.advise.search import Advisor
    from labelinf_core.advise.target import Target
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.plugin.descriptors import Kind

    named = (*chosen["attacks"], *chosen["also"])
    for spec in named:  # a slip in a name is the user's, not a failure of the attack
        game.builder.build(Kind.ATTACK, spec, "--attack")
    if (chosen["target"] is None) == (chosen["gain"] is None):
        raise InputError("say what is to be reached: --target (60%, no-exact-recovery, epsilon<=1) or --gain (5%).")
    blind = game.channel.threat(game.setting).baseline
    perfect = game.data.perfect
    if perfect is not None and chosen["target"]:
        raise InputError("--posteriors asks for a gain over a perfect model: say --gain, such as 5%, not --target.")
    if perfect is not None:
        target = Target.over(chosen["gain"], perfect)
    else:
        target = Target.parse(chosen["target"], blind) if chosen["target"] else Target.gaining(chosen["gain"], blind)
    played = not chosen["certificates_only"] and perfect is None
    return Advisor(
        builder=game.builder,
        name=game.spec.name,
        channel=game.channel,
        data=game.data,
        base=game.defences,
        target=target,
        attacks=tuple(dict.fromkeys(named)) if played else (),
        strongest=played and not chosen["attacks"],
        seed=chosen["seed"],
        questions=chosen["questions"],
        patience=chosen["patience"],
    )


def _heading(game: Game, advisor: Advisor) -> str:
    standing = " + ".join(game.written) or NO_DEFENCE
    return f"{game.labels}; {game.spec.compact}; stands: {standing}\ntarget: {advisor.target}\n"


def _line(advice: Advice, measures: Sequence[Measure], *, played: bool) -> str:
    sign = ">=" if advice.knob.strongest > advice.knob.weakest else "<="
    sure = "nothing certifies it" if advice.certified is None else f"{sign} {advice.strength:.4g} ({advice.statement})"
    lines = [advice.knob.title, f"    proved     {sure}", *cost_lines(advice.certified_cost, measures)]
    lines += [f"{' ' * 15}{line}".rstrip() for line in advice.deployment]
    if played:
        lines += [f"    attacks    {_forced(advice, sign)}", *cost_lines(advice.forced_cost, measures)]
    if advice.contradiction:
        lines.append(f"    CONTRADICTION  {advice.contradiction}")
    return "\n".join([*lines, *(f"    note       {note}" for note in advice.notes)])


def _forced(advice: Advice, sign: str) -> str:
    by = f" (forced by {advice.strongest_attack})" if advice.strongest_attack else ""
    if advice.forced is not None:
        return f"{sign} {advice.forced:.4g}{_between(advice)}{by}"
    if advice.cut:
        return f"not found before games ended{by}"
    return f"no setting withstands{by}" if by else "none could be played, so nothing was withstood"


def _between(advice: Advice) -> str:
    """Write the interval of what is forced, from what was surely exceeded to what was surely withstood."""
    if advice.forced_from is None:
        return ""
    far = "beyond" if advice.forced_to is None else f"{advice.forced_to:.4g}"
    return f", between {advice.forced_from:.4g} and {far}"


def cost_lines(cost: Mapping[str, float], measures: Sequence[Measure], indent: int = 15) -> list[str]:
    """Return one line on what a setting costs those it is not meant for; none when it is not known."""
    from labelinf_core.report import words

    told = words.cost(cost, measures)
    return [f"{' ' * indent}costs: {told}"] if told else []

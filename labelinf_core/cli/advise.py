"""``labelinf advise``: the smallest defence for a target, in any channel whose defences have something to turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.completion import component
from labelinf_core.cli.options import Finite, Share, block_option, game_options, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.report.progress import steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labelinf_core.advise.answer import AdviceReport
    from labelinf_core.advise.search import Advice
    from labelinf_core.contracts.components import Measure

STRONGEST = "strongest"  #: what the shipped list is called, as in suites

__all__ = ["STRONGEST", "advise", "attack_list", "cost_lines", "list_options"]


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
    """Return the attacks to play, each once: those named, or else the list called strongest, and those added."""
    shipped = strongest if not instead or STRONGEST in instead else ()
    return tuple(dict.fromkeys([*shipped, *(spec for spec in instead if spec != STRONGEST), *also]))


@click.command()
@click.option("--target", metavar="TARGET", help="60% of the labels, no-exact-recovery, or epsilon<=1.")
@click.option("--gain", type=Share(min=0, min_open=True, max=1), metavar="FRACTION",
              help="Points over the best blind guess, such as 5%, instead of --target; with --posteriors over a "
              "perfect model, by certificate alone.")  # fmt: skip
@game_options
@click.option("--only", multiple=True, metavar="TEXT", help="Only settings whose title or spec contains TEXT.")
@click.option("--questions", type=click.IntRange(min=0), default=50_000, show_default=True,
              help="After which no further game begins on one setting; 0 plays none: say what is proved.")  # fmt: skip
@click.option("--timeout", "patience", type=Finite(min=0, min_open=True), default=600.0, show_default=True,
              metavar="SECONDS", help="After which none begins either; that a machine was slow is said.")  # fmt: skip
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
    from labelinf_core.advise.answer import advised
    from labelinf_core.contracts.exits import Exit

    host = load_host(chosen["blocks"])
    with steps("advising") as progress:
        found = advised(host, chosen, progress)
    for told in found.failed:
        click.echo(f"labelinf: {told}", err=True)
    tell(found.found, _lines(found), as_json=chosen["as_json"])
    if any(item.contradiction for item in found.found):
        ctx.exit(Exit.FOUND)
    reached = any(item.certified is not None or item.forced is not None for item in found.found)
    ctx.exit(Exit.DONE if reached else Exit.INCONCLUSIVE)


def _lines(found: AdviceReport) -> Iterator[str]:
    """Yield the answer, then every knob."""
    from labelinf_core.advise.answer import answer_of
    from labelinf_core.report.console import make_console

    yield f"{found.game}; stands: {found.standing}\ntarget: {found.target}\n"
    if not found.found:
        yield f"No defence of the {found.channel} channel has a strength to turn."
        return
    yield from answer_of(found.found, found.measures, played=found.played).lines(make_console().width)
    yield ""
    for item in found.found:
        yield _line(item, found.measures, played=found.played)
    if not any(item.certified is not None for item in found.found):
        yield "\nNothing here reaches the target by certificate."


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

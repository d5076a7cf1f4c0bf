"""``labelinf audit split``: a recorded run of split learning, audited."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.options import Finite
from labelinf_core.cli.output import output_options, tell

if TYPE_CHECKING:
    from labelinf_split.audit.judged import SplitAudit

__all__ = ["COUNTED", "lines", "proved", "split"]

COUNTED = {"none": "cut-argmin", "linear": "linear-top", "mlp": "cut-direction"}


@click.command()
@click.argument("run", metavar="RUN.npz")
@click.option("--canaries", required=True, metavar="C.csv", help="Planted labels: columns id and label, known too.")
@click.option("--known", metavar="S.csv", help="Labels that the feature party knows: columns id and label.")
@click.option("--top", type=click.Choice([*COUNTED]), default="mlp", show_default=True, help="Of the label party.")
@click.option("--label-features", is_flag=True, help="The label party has features of its own.")
@click.option("--defended", is_flag=True, help="Gradients are changed before they are released, or labels.")
@click.option("--attack", metavar="SPEC", help="The attack that counts, instead of the top's own.")
@click.option("--epsilon", type=Finite(min=0), help="The label-DP that is claimed; exit 1 when refuted.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the placebo's labels.")
@output_options
@click.pass_context
def split(
    context: click.Context, /, attack: str | None, epsilon: float | None, seed: int, as_json: bool, **given: Any
) -> None:
    """Audit a recorded run of split learning: do the gradients that were sent give planted labels away?

    RUN.npz has a row for every record of every step: embeddings, gradients, step, ids. Without a claim it exits with 1
    for a leak, 3 where none is shown. A claim ends with 1 when refuted, 0 when a leak within it is seen and an attack
    that reads every label would refute twice as much in 95 % of audits, else 3. 2 is bad input, 4 an attack that broke.
    """
    import attrs

    from labelinf_core.contracts.components import of_channel
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.contracts.threat import third_party
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.plugin.host import Host
    from labelinf_core.specs import Builder
    from labelinf_split.attacks.solved import parts
    from labelinf_split.audit.judged import audited
    from labelinf_split.audit.reading import read_run
    from labelinf_split.game.view import SplitAttack

    given["defended"] |= epsilon is not None  # whoever claims one changes gradients or labels
    view, labels = read_run(**given)
    own = "noise-subspace" if given["defended"] and parts(view) else COUNTED[given["top"]]
    built = Builder(Host.load()).build(Kind.ATTACK, attack or own, "--attack")
    if foreign := third_party(built, "attack"):
        raise InputError(f"{foreign} does not come with labelinf: play it in labelinf matrix, where it runs apart.")
    played = of_channel(built, SplitAttack, "attack", "split")
    found = audited(view, labels, attack or own, played, claim=epsilon, seed=seed)
    words = {"word": found.word, "claimed": found.claimed, "status": found.status}
    tell(words | attrs.asdict(found), lines(found), as_json=as_json)
    context.exit(found.status)


def lines(found: SplitAudit) -> Iterator[str]:
    """Yield all that an audit says."""
    from labelinf_core.contracts.answer import Answer
    from labelinf_core.statistics.proportions import clopper_pearson

    stopped = "randomised response on labels, one draw a person, as proved" if found.epsilon else "no leak was found"
    yield from (*Answer(leaks=_headline(found), stopped=stopped).lines(80), "")
    for reason in (*found.voids, *found.limits):
        yield from textwrap.wrap(f"{reason}.", 80)
    if found.claim is not None:
        yield f"Power against twice the claim, epsilon = {2 * found.claim:g}: {found.power:.1%}."
    yield "Assumed, as you say: the labels were drawn uniformly, independently of all else."
    if found.guesses:
        share = clopper_pearson(found.correct, found.guesses)
        made = f"{found.correct}/{found.guesses} = {share.value:.1%} [{share.low:.1%}, {share.high:.1%}]"
        yield f"{found.attack}: {made} of {found.n_canaries} canaries; chance {1 / found.n_classes:.1%}"
        proof = f"  placebo {found.placebo}/{found.guesses}; certified {found.certified:.1%} ({found.certificate})"
        yield from textwrap.wrap(proof, 80, subsequent_indent="  ")


def proved(found: SplitAudit) -> str:
    """Say what of epsilon is proved, and what broke."""
    said = f"epsilon >= {int(found.epsilon * 1e4) / 1e4:g} is proved" if found.epsilon else "nothing is proved"
    return f"{said}; this broke: {found.failed}" if found.failed else said


def _headline(found: SplitAudit) -> str:
    word, said = (found.claimed or found.word).value, proved(found)
    if found.claim is not None:
        word, said = word.replace("no leak shown", "inconclusive"), f"epsilon = {found.claim:g} was claimed, {said}"
    return f"{word.upper()}: {said}."

"""``labelinf audit outputs``: a model that exists already, audited from its predictions on planted labels."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import click

from labelinf_core.cli.options import Finite, block_option, load_host

if TYPE_CHECKING:
    from labelinf_core.contracts.guarantees import Interval
    from labelinf_outputs.audit.findings import Audit, Finding
    from labelinf_outputs.game.view import View

__all__ = ["outputs"]


@click.command()
@click.option("--probabilities", metavar="P.csv", help="Predictions: a row per record, a column per class.")
@click.option("--logits", metavar="P.csv", help="The same before the softmax, if that is what the model shows.")
@click.option("--top-1", "top_one", metavar="P.csv", help="Only the predicted class of every record, in one column.")
@click.option("--rounded", type=click.IntRange(min=1), metavar="D", help="The probabilities show D decimals.")
@click.option(
    "--canaries", required=True, metavar="C.csv", help="Planted labels: column label; also record, loss, trained."
)
@click.option("--references", metavar="R.npz", help="Reference models: arrays probabilities or logits, and labels.")
@click.option("--epsilon", type=Finite(min=0), help="The label-DP that is claimed; exit 1 when refuted.")
@click.option(
    "--delta",
    type=Finite(min=0, max=1, max_open=True),
    default=0.0,
    show_default=True,
    help="The delta of that claim; two classes only.",
)
@click.option(
    "--attack",
    "attacks",
    multiple=True,
    metavar="SPEC",
    help="Play this attack instead of all that are loaded; may be repeated.",
)
@click.option("--gate", is_flag=True, help="Exit with status 1 when any attack that passes the placebo leaks.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the placebo's labels.")
@click.option("--json", "as_json", is_flag=True, help="For a machine to read.")
@block_option
@click.pass_context
def outputs(
    context: click.Context,
    probabilities: str | None,
    logits: str | None,
    top_one: str | None,
    rounded: int | None,
    canaries: str,
    references: str | None,
    epsilon: float | None,
    delta: float,
    attacks: tuple[str, ...],
    gate: bool,
    seed: int,
    as_json: bool,
    blocks: tuple[str, ...],
) -> None:
    """Audit a trained model: does it give back the labels that were planted in its training data?

    Exits with status 0, with 1 when the claimed --epsilon is refuted or --gate finds a leak, and with 2 for bad input.
    """
    import numpy as np

    from labelinf_core.specs import Builder
    from labelinf_outputs.audit.outputs import audit_outputs
    from labelinf_outputs.audit.planted import read_planted

    predictions, view = _declared(probabilities, logits, top_one, rounded)
    planted = read_planted(predictions, canaries, references, view=view)
    found = audit_outputs(
        planted,
        Builder(load_host(blocks)),
        attacks=attacks,
        claimed=math.inf if epsilon is None else epsilon,
        delta=delta,
        rng=np.random.default_rng(seed),
    )
    click.echo(_as_json(found) if as_json else "\n".join(_lines(found, str(planted.view))))
    context.exit(int(found.refuted or (gate and found.leaks)))


def _declared(
    probabilities: str | None, logits: str | None, top_one: str | None, decimals: int | None
) -> tuple[str, View]:
    """Return the file of predictions and what it shows."""
    from labelinf_core.contracts.errors import InputError
    from labelinf_outputs.game.view import Outputs, View

    kinds = zip((Outputs.PROBABILITIES, Outputs.LOGITS, Outputs.TOP_ONE), (probabilities, logits, top_one), strict=True)
    given = [(path, kind) for kind, path in kinds if path is not None]
    if len(given) != 1:
        raise InputError("say what the model shows with one of --probabilities, --logits and --top-1.")
    path, shown = given[0]
    if decimals is not None and shown is not Outputs.PROBABILITIES:
        raise InputError("--rounded belongs to --probabilities.")
    return path, View(outputs=shown, resolution=0.0 if decimals is None else 10.0**-decimals)


def _lines(found: Audit, view: str) -> list[str]:
    lines = [f"{found.n_canaries} canaries, {found.n_classes} classes; view: {view}", ""]
    lines += [_line(item, found) for item in found.findings]
    return [*lines, "", *(f"note: {note}" for note in found.notes), *_summary(found)]


def _line(item: Finding, found: Audit) -> str:
    if item.accuracy is None or item.epsilon is None:
        return f"  {item.attack:22} {item.word.value}: {item.refusal or 'it abstained throughout'}"
    test = "p above ceiling" if found.delta == 0 else "p of the claim"
    against = f", {test} {item.p_ceiling:.2g}" if found.ceiling < 1 else ""
    memorised = f", trained label {_share(item.memorised)}" if item.memorised else ""
    placebo = f", placebo {_share(item.placebo_share)}" if item.placebo_share else ""
    return (
        f"  {item.attack:22} {item.correct}/{item.guesses} = {_share(item.accuracy)} "
        f"(chance {1 / found.n_classes:.1%}), p {item.p_chance:.2g}{against}{memorised}{placebo}, "
        f"epsilon >= {item.epsilon.epsilon:.2f}: {item.word.value}"
    )


def _share(share: Interval) -> str:
    return f"{share.value:.1%} [{share.low:.1%}, {share.high:.1%}]"


def _summary(found: Audit) -> list[str]:
    proved = f"epsilon >= {found.epsilon:.2f} is proved"
    if found.refuted:
        lines = [f"REFUTED: epsilon = {found.claimed:g} was claimed, {proved}."]
    elif not found.leaks:
        lines = ["No attack found anything. That is not a proof of safety."]
    elif math.isinf(found.claimed):
        lines = [f"The model gives planted labels back: {proved}."]
    else:
        lines = [f"Not refuted: epsilon = {found.claimed:g} was claimed, {proved}. That is not a proof of the claim."]
    if found.ceiling < 1:
        allows = "allows any attack" if found.delta == 0 else "lets any attack expect"
        lines.append(f"epsilon = {found.claimed:g} {allows} {found.ceiling:.1%} of the planted labels.")
    lines.append(f"{found.n_canaries} canaries can prove epsilon >= {found.provable:.2f} at best.")
    return lines


def _as_json(found: Audit) -> str:
    import attrs

    from labelinf_core.evaluator.records import plain

    def word(_: object, __: object, value: object) -> object:
        return getattr(value, "value", value) if type(value).__name__ == "Word" else value

    report = {
        **attrs.asdict(found, value_serializer=word),
        "epsilon": found.epsilon,
        "refuted": found.refuted,
        "leaks": found.leaks,
    }
    return json.dumps(plain(report), indent=1, ensure_ascii=False)

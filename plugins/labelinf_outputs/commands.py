"""``labelinf plant`` and ``labelinf audit outputs``: from planting to a verdict on a model trained in between."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from labelinf_core.cli.exits import Exit
from labelinf_core.cli.options import Finite, block_option, load_host

if TYPE_CHECKING:
    from labelinf_core.contracts.guarantees import Interval
    from labelinf_outputs.audit.findings import Audit, Finding
    from labelinf_outputs.audit.planted import Planted
    from labelinf_outputs.game.view import View

__all__ = ["outputs", "plant"]


@click.command()
@click.argument("table", metavar="DATA.csv")
@click.option("--column", required=True, metavar="NAME", help="The column with the labels.")
@click.option("--into", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Where to write.")
@click.option(
    "--share", type=Finite(min=0, min_open=True, max=0.5), default=0.1, show_default=True, help="Of all records."
)
@click.option("--references", type=click.IntRange(min=0), default=8, show_default=True, help="Reference sets.")
@click.option("--control", type=click.IntRange(min=0), default=20, show_default=True, help="Records trained on openly.")
@click.option("--copies", type=click.IntRange(min=1), default=10, show_default=True, help="Of each of those.")
@click.option("--seed", type=click.IntRange(min=0), help="Draw again what was drawn before; it tells the labels.")
def plant(
    table: str, column: str, into: Path, share: float, references: int, control: int, copies: int, seed: int | None
) -> None:
    """Plant labels drawn at random in a training set, to audit later what a model tells of them.

    DATA.csv has one row per record; a column 'record' holds ids.
    """
    import numpy as np

    from labelinf_outputs.audit.plant import Planting
    from labelinf_outputs.audit.plant import plant as planted

    how = Planting(share=share, references=references, control=control, copies=copies)
    seal = planted(table, column, into, how, np.random.default_rng(seed))
    click.echo(
        f"{len(seal.records)} planted labels of {len(seal.classes)} classes, {control} records of control.\n"
        f"seal {seal.digest}\n"
        f"Keep the seal where nobody can change it, and {into / 'sealed.json'} from whoever trains or attacks.\n"
        f"Train on {into / 'training.csv'} as ever, predict {into / 'query.csv'}, keep the column 'record'; then\n"
        f"  labelinf audit outputs --probabilities PREDICTIONS.csv --seal {into / 'sealed.json'}"
    )


@click.command()
@click.option("--probabilities", metavar="P.csv", help="Predictions: a row per record, a column per class; .npy, .npz.")
@click.option("--logits", metavar="P.csv", help="The same before the softmax, if that is what the model shows.")
@click.option("--top-1", "top_one", metavar="P.csv", help="Only the predicted class of every record, in one column.")
@click.option("--rounded", type=click.IntRange(min=1), metavar="D", help="The probabilities show D decimals.")
@click.option("--seal", metavar="sealed.json", help="What labelinf plant planted.")
@click.option("--commitment", metavar="SEAL", default="", help="The seal that was printed then, or its beginning.")
@click.option("--reference", "files", multiple=True, metavar="P.csv", help="Predictions of reference model 1, 2, ...")
@click.option("--canaries", metavar="C.csv", help="Instead: column label; also record, loss, trained.")
@click.option("--planted-by-me", is_flag=True, help="I drew the labels of --canaries at random, before training.")
@click.option("--references", metavar="R.npz", help="With --canaries: arrays probabilities or logits, and labels.")
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
@click.option("--gate", is_flag=True, help="Exit with status 1 for a leak within the claim too.")
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
    seal: str | None,
    commitment: str,
    files: tuple[str, ...],
    canaries: str | None,
    planted_by_me: bool,
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

    Exits with status 0 when no claim is refuted, 1 when one is or labels leak, 2 for bad input, and 3 when nothing can
    be concluded.
    """
    import math

    import numpy as np

    from labelinf_core.specs import Builder
    from labelinf_outputs.audit.findings import Claim
    from labelinf_outputs.audit.outputs import audit_outputs

    predictions, view = _declared(probabilities, logits, top_one, rounded)
    if seal is not None:
        planted = _sealed(predictions, view, seal, commitment, files, (canaries, references))
    else:
        planted = _by_hand(predictions, view, canaries, references, planted_by_me, files)
    found = audit_outputs(
        planted,
        Builder(load_host(blocks)),
        attacks=attacks,
        claim=Claim(epsilon=math.inf if epsilon is None else epsilon, delta=delta),
        rng=np.random.default_rng(seed),
    )
    click.echo(_as_json(found) if as_json else "\n".join(_lines(found, str(planted.view))))
    context.exit(Exit.FOUND if gate and found.leaks else Exit(found.conclusion.status))


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


def _sealed(
    predictions: str,
    view: View,
    seal: str,
    commitment: str,
    files: tuple[str, ...],
    others: tuple[str | None, str | None],
) -> Planted:
    from labelinf_core.contracts.errors import InputError
    from labelinf_outputs.audit.planted import read_sealed
    from labelinf_outputs.audit.seal import read_seal

    if any(others):
        raise InputError("--canaries and --references are for labels planted by hand; here the --seal says it all.")
    return read_sealed(predictions, read_seal(seal, commitment), files, view=view)


def _by_hand(
    predictions: str, view: View, canaries: str | None, references: str | None, sworn: bool, files: tuple[str, ...]
) -> Planted:
    from labelinf_core.contracts.errors import InputError
    from labelinf_outputs.audit.planted import read_planted

    if canaries is None or files:
        raise InputError("say what was planted: --seal, the file that labelinf plant wrote; --reference goes with it.")
    if not sworn:
        raise InputError(
            "what was not planted is not audited: plant labels with labelinf plant and give --seal; or, if you drew "
            "those of --canaries yourself, uniformly, independently of everything and before training, say so with "
            "--planted-by-me."
        )
    return read_planted(predictions, canaries, references, view=view)


def _lines(found: Audit, view: str) -> list[str]:
    lines = [*_summary(found), "", f"{found.n_canaries} canaries, {found.n_classes} classes; view: {view}"]
    lines.append(f"counted: {found.committed.attack}, {found.committed.guesses} guesses, {found.committed.why}")
    return [*lines, "", *(line for item in found.findings for line in _about(item, found))]


def _about(item: Finding, found: Audit) -> list[str]:
    mark = "*" if item.attack == found.committed.attack else " "
    if item.accuracy is None:
        return [f"{mark} {item.attack:22} {item.word.value}: {item.refusal or 'it abstained throughout'}"]
    lines = [
        f"{mark} {item.attack:22} {item.correct}/{item.guesses} = {_share(item.accuracy)}: {item.word.value}",
        f"      chance {1 / found.n_classes:.1%}, p {item.p_chance:.2g}",
    ]
    if item.placebo_share:
        lines[1] += f"; placebo {_share(item.placebo_share)}"
    if item.memorised:
        lines.append(f"      trained label {_share(item.memorised)}")
    if item.epsilon:
        claim = f", p of the claim {item.p_claim:.2g}" if found.claim.made else ""
        lines.append(
            f"      {item.epsilon.correct} of its {item.epsilon.guesses} surest guesses: "
            f"epsilon >= {item.epsilon.epsilon:.2f}{claim}"
        )
    return lines


def _share(share: Interval) -> str:
    return f"{share.value:.1%} [{share.low:.1%}, {share.high:.1%}]"


def _summary(found: Audit) -> list[str]:
    from labelinf_outputs.audit.findings import Conclusion

    claimed, proved = f"epsilon = {found.claim.epsilon:g} was claimed", f"epsilon >= {found.epsilon:.2f} is proved"
    first = {
        Conclusion.REFUTED: f"REFUTED: {claimed}, {proved}.",
        Conclusion.LEAKS: f"LEAKS: the model gives planted labels back, {proved}.",
        Conclusion.NOT_REFUTED: f"NOT REFUTED: {claimed}, {proved}. That is not a proof of the claim.",
        Conclusion.NOTHING_FOUND: "NOTHING FOUND: no attack beats chance. That is not a proof of safety.",
        Conclusion.INCONCLUSIVE: "INCONCLUSIVE: no attack found anything, and nothing shows that one could have.",
        Conclusion.VOID: "VOID: this is no audit.",
    }[found.conclusion]
    lines = [first, *(f"  {reason}." for reason in found.voids)]
    if found.conclusion is Conclusion.VOID:
        return lines if found.voids else [*lines, f"  {found.committed.attack}: {found.counted.word.value}."]
    if found.conclusion is Conclusion.INCONCLUSIVE:
        lines.append(
            "  there is no control; labelinf plant makes one."
            if found.signal is None
            else "  the labels that were trained on openly do not come out either: other data, or nothing learnt."
        )
    if found.ceiling < 1:
        allows = "allows any attack" if found.claim.delta == 0 else "lets any attack expect"
        lines.append(f"epsilon = {found.claim.epsilon:g} {allows} {found.ceiling:.1%} of the planted labels.")
    lines.append(f"{found.committed.guesses} guesses, all correct, would have proved epsilon >= {found.provable:.2f}.")
    if not found.sealed:
        lines.append("Assumed, as you say: the labels were drawn uniformly, independently of everything else.")
    return lines


def _as_json(found: Audit) -> str:
    import attrs

    from labelinf_core.contracts.documents import json_text

    derived = ("conclusion", "epsilon", "refuted", "leaks")
    return json_text({**attrs.asdict(found, recurse=False), **{name: getattr(found, name) for name in derived}})

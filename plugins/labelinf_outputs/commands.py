"""``labelinf plant`` and ``labelinf audit outputs``: from planting to a verdict on a model trained in between."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from labelinf_core.cli.completion import column as column_of
from labelinf_core.cli.completion import component
from labelinf_core.cli.options import Finite, NewFile, Share, block_option, game_timeout, keep_inputs, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.exits import Exit
from labelinf_core.report.progress import steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labelinf_core.specs import Builder
    from labelinf_outputs.audit.claim import PrivacyClaim
    from labelinf_outputs.audit.findings import OutputsAudit
    from labelinf_outputs.audit.planted import Planted
    from labelinf_outputs.game.view import View

__all__ = ["outputs", "plant"]

_SHOWN = ("probabilities", "logits", "top_one", "values")  # one option for every kind of prediction
_CLAIM = ("epsilon", "delta", "mu")
_AUDIT = (*_CLAIM, "attacks", "gate", "seed", "timeout", "html", "owner")
_ROADS: dict[str, tuple[str, tuple[str, ...]]] = {  # what leads to an answer, why not with others, and what goes along
    "observe": ("proves nothing", (*_SHOWN[:3], "rounded", "files")),
    "plan": ("looks at no files and no model", _CLAIM),
    "victim": ("looks at no files of predictions", ("labels", *_AUDIT)),
    "seal": ("says what was planted", (*_SHOWN, "rounded", "commitment", "files", "features", "pool", *_AUDIT)),
    "canaries": ("were planted by hand", (*_SHOWN, "rounded", "planted_by_me", "references", *_AUDIT)),
}


@click.command()
@click.argument("table", metavar="DATA.csv")
@click.option(
    "--column", required=True, metavar="NAME", shell_complete=column_of("table"), help="The column with the labels."
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER", help="Where to write."
)
@click.option(
    "--share", type=Share(min=0, min_open=True, max=0.5), default=0.1, show_default=True, help="Of all records."
)
@click.option("--references", type=click.IntRange(min=0), default=8, show_default=True, help="Reference sets.")
@click.option("--control", type=click.IntRange(min=0), default=20, show_default=True, help="Records trained on openly.")
@click.option("--copies", type=click.IntRange(min=1), default=10, show_default=True, help="Of each of those.")
@click.option("--grid", metavar="LOW:HIGH:K", help="The labels are values: plant K of them, evenly spaced.")
@click.option("--seed", type=click.IntRange(min=0), help="Draw again what was drawn before; it tells the labels.")
@output_options
def plant(
    table: str, column: str, out: Path, grid: str | None, seed: int | None, as_json: bool, **amounts: Any
) -> None:
    """Plant labels drawn at random in a training set, to audit later what a model tells of them.

    DATA.csv has one row per record; a column 'record' holds ids.
    """
    import numpy as np

    from labelinf_outputs.audit.plant import Planting
    from labelinf_outputs.audit.plant import plant as planted

    how = Planting(grid=_grid(grid) if grid else (), **amounts)
    seal, doubts = planted(table, column, out, how, np.random.default_rng(seed))
    counted = {name: len(getattr(seal, name)) for name in ("classes", "control", "references")}
    said = {"folder": str(out), "seal": seal.digest, "canaries": len(seal.records), **counted}
    said |= {"warnings": [*doubts]} | ({"grid": [*seal.classes]} if grid else {})
    tell(said, _planting(said), as_json=as_json)


def _grid(text: str) -> tuple[float, ...]:
    """Return the points of ``LOW:HIGH:K``."""
    import math

    import numpy as np

    try:
        low, high, count = (read(part) for read, part in zip((float, float, int), text.split(":"), strict=True))
    except ValueError:
        low, high, count = math.nan, math.nan, 0
    if -math.inf < low < high < math.inf and 2 <= count <= 1000 and math.isfinite(high - low):
        points = tuple(
            float(f"{point:.15g}") for point in np.linspace(low, high, count)
        )  # 0.3, not 0.30000000000000004
        if len(set(points)) == count:
            return points
    raise InputError(f"--grid {text} must be LOW:HIGH:K, as 0:100:8: two numbers, and 2 to 1000 points between them.")


def _planting(said: Mapping[str, Any]) -> Iterator[str]:
    """Say what was planted and what comes next, a folder's name of any length in lines of its own."""
    from labelinf_outputs.audit.words import WIDTH, wrapped

    folder, room = said["folder"], WIDTH - 2
    kind = "points of a grid" if "grid" in said else "classes"
    yield f"{said['canaries']} planted labels of {said['classes']} {kind}, {said['control']} records of control."
    if "grid" in said:
        yield from wrapped(f"grid {', '.join(said['grid'])}")
    for doubt in said["warnings"]:
        yield from wrapped(f"Warning: {doubt}.")
    yield f"seal {said['seal']}"
    yield "Keep the seal where nobody can change it."
    yield "Written into the folder"
    yield from (f"  {folder[start : start + room]}" for start in range(0, len(folder), room))
    yield "Keep its sealed.json from whoever trains or attacks."
    yield "Train on its training.csv as ever, predict query.csv, keep the column 'record';"
    yield "then, in that folder,"
    shown = "--values" if "grid" in said else "--probabilities"
    yield f"  labelinf audit outputs {shown} PREDICTIONS.csv --seal sealed.json"


@click.command()
@click.option(
    "--probabilities", type=click.Path(), metavar="P", help="Predictions, a row per record: .csv, .npy, .npz, .parquet."
)
@click.option("--logits", type=click.Path(), metavar="P", help="The same before the softmax, or its logarithms.")
@click.option(
    "--top-1",
    "top_one",
    type=click.Path(),
    metavar="P.csv",
    help="Only the predicted class of every record, in one column.",
)
@click.option("--values", type=click.Path(), metavar="P", help="Predicted values, where --grid planted values.")
@click.option("--rounded", type=click.IntRange(min=1), metavar="D", help="The probabilities show D decimals.")
@click.option(
    "--observe", type=click.Path(), metavar="R.csv", help="Nothing was planted: columns record, label, seen (0, 1)."
)
@click.option("--train", "victim", metavar="MODEL", help="Train this kind of model on --labels, instead of all files.")
@click.option("--labels", metavar="SOURCE", default="breast-cancer", show_default=True, help="What it is trained on.")
@click.option("--seal", type=click.Path(), metavar="sealed.json", help="What labelinf plant planted.")
@click.option("--commitment", metavar="SEAL", default="", help="The seal that was printed then, or its beginning.")
@click.option(
    "--reference",
    "files",
    multiple=True,
    type=click.Path(),
    metavar="P",
    help="Predictions of reference model 1, 2, ...",
)
@click.option(
    "--features",
    type=click.Path(),
    metavar="query.csv",
    help="Who sees the predictions knows these columns of numbers.",
)
@click.option("--pool", type=click.IntRange(min=0), default=0, metavar="N", help="Audit the last N of those too.")
@click.option(
    "--canaries", type=click.Path(), metavar="C.csv", help="Instead: column label; also record, loss, trained."
)
@click.option("--planted-by-me", is_flag=True, help="I drew the labels of --canaries at random, before training.")
@click.option(
    "--references",
    type=click.Path(),
    metavar="R.npz",
    help="With --canaries: arrays probabilities or logits, and labels.",
)
@click.option("--epsilon", type=Finite(min=0), help="The label-DP that is claimed, or more; exit 1 when refuted.")
@click.option("--delta", type=Share(min=0, max=1, max_open=True), default=0.0, help="The delta of that claim.")
@click.option("--mu", type=Finite(min=0), help="Instead: Gaussian label-DP.")
@click.option("--plan", type=click.IntRange(min=2), metavar="K", help="How many canaries refute the claim; K classes.")
@click.option(
    "--attack",
    "attacks",
    multiple=True,
    metavar="SPEC",
    shell_complete=component("attack"),
    help="Play this attack instead of all that are loaded; may be repeated.",
)
@click.option("--gate", is_flag=True, help="Exit with status 1 for a leak within the claim too.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the placebo's labels.")
@game_timeout
@click.option("--html", type=NewFile(), metavar="F.html", help="Write a page to hand on.")
@click.option("--owner", type=NewFile(), metavar="F.html", help="Write the records at risk, for you.")
@output_options
@block_option
@click.pass_context
def outputs(
    context: click.Context,
    /,
    epsilon: float | None,
    delta: float,
    mu: float | None,
    plan: int | None,
    attacks: tuple[str, ...],
    gate: bool,
    seed: int,
    victim: str | None,
    labels: str,
    observe: str | None,
    timeout: float,
    as_json: bool,
    html: Path | None,
    owner: Path | None,
    blocks: tuple[str, ...],
    **given: Any,
) -> None:
    """Audit a trained model: does it give back the labels that were planted in its training data?

    Without a claim it exits with status 1 for a leak, and 3 where none is shown. A claim (--epsilon, --mu) ends with 1
    when it is refuted, 0 when it is not and an attack that reads every trained label would refute twice as much in
    95 % of audits (a weaker one in fewer), else 3. 2 is bad input.
    """
    import numpy as np

    from labelinf_core.specs import Builder
    from labelinf_outputs.audit import words
    from labelinf_outputs.audit.observed import observe as observed
    from labelinf_outputs.audit.outputs import audit_outputs
    from labelinf_outputs.audit.power import Power, curves, table

    keep_inputs()
    claim = _claimed(epsilon, delta, mu)
    _check_road(context)
    if observe is not None:
        predictions, view = _declared(given)
        seen = observed(predictions, observe, given["files"], view=view)
        tell(seen.document(), seen.lines(), as_json=as_json)
        context.exit(Exit(seen.status))
    if plan is not None:
        if not claim.made:
            raise InputError("--plan says what refutes a claim: give --epsilon, with a --delta if need be, or --mu.")
        power = Power(claim=claim, n_classes=plan)
        tell({"claim": claim, "power": curves(power)}, table(power), as_json=as_json)
        return
    builder, rng = Builder(load_host(blocks)), np.random.default_rng(seed)
    planted = _read(given) if victim is None else _trained(victim, labels, claim, builder, seed)
    with steps("auditing") as progress:
        found = audit_outputs(
            planted, builder, attacks=attacks, claim=claim, gate=gate, rng=rng, timeout=timeout, progress=progress
        )
    if html is not None or owner is not None:
        _write_pages(found, planted, context, html, owner)
    tell(words.document(found), words.lines(found, str(planted.view)), as_json=as_json)
    context.exit(Exit(found.decision.status))


def _check_road(context: click.Context) -> None:
    """Refuse what does not go along with the option that says what is audited: nothing is passed over in silence."""
    typed = {
        item.name: item.opts[0]
        for item in context.command.params
        if item.name in context.params and context.get_parameter_source(item.name) is ParameterSource.COMMANDLINE
    }
    road = next((name for name in _ROADS if name in typed), None)
    if road is None:
        raise InputError("say what was planted: --seal, the file that labelinf plant wrote; or --train a model here.")
    why, along = _ROADS[road]
    if strange := [option for name, option in typed.items() if name not in (road, *along, "as_json", "blocks")]:
        raise InputError(f"{typed[road]} {why}: leave out {', '.join(strange)}.")
    html, owner = (context.params[name] and os.path.realpath(context.params[name]) for name in ("html", "owner"))
    if html and html == owner:
        raise InputError("--html and --owner must be two files: the first is handed on, the second names records.")


def _claimed(epsilon: float | None, delta: float, mu: float | None) -> PrivacyClaim:
    import math

    from labelinf_outputs.audit.claim import PrivacyClaim

    if mu is not None and (epsilon is not None or delta):
        raise InputError("claim --epsilon, with a --delta if need be, or --mu; not both.")
    if delta and epsilon is None:
        raise InputError("--delta belongs to --epsilon.")
    inf = math.inf
    return PrivacyClaim(epsilon=inf if epsilon is None else epsilon, delta=delta, mu=inf if mu is None else mu)


def _trained(victim: str, labels: str, claim: PrivacyClaim, builder: Builder, seed: int) -> Planted:
    """Train what is audited."""
    from labelinf_core.evaluator.labels import load_labels
    from labelinf_outputs.audit.trained import trained

    with steps("training") as progress:
        progress(victim, 1)
        planted, accuracy = trained(victim, load_labels(builder, labels, "--labels"), claim, seed)
    click.echo(f"{victim} trained on {labels}: {accuracy:.1%} of unseen records right.", err=True)
    return planted


def _write_pages(
    found: OutputsAudit, planted: Planted, context: click.Context, html: Path | None, owner: Path | None
) -> None:
    """Write what may be handed on, and what only the owner may see."""
    from labelinf_core.cli.typed import as_typed
    from labelinf_outputs.audit import page

    made = page.Circumstances(command=as_typed(context), view=str(planted.view))
    if html is not None:
        page.write(html, page.report(found, made), private=False)
    if owner is not None:
        page.write(owner, page.owner(found, planted, made), private=True)


def _read(given: Mapping[str, Any]) -> Planted:
    """Read what the options name."""
    from labelinf_outputs.audit.planted import read_planted, read_sealed
    from labelinf_outputs.audit.seal import read_seal

    predictions, view = _declared(given)
    if given["seal"] is not None:
        seal = read_seal(given["seal"], given["commitment"])
        return read_sealed(predictions, seal, given["files"], view=view, pool=given["pool"], features=given["features"])
    if not given["planted_by_me"]:
        raise InputError(
            "what was not planted is not audited: plant labels with labelinf plant and give --seal; or, if you drew "
            "those of --canaries yourself, uniformly, independently of everything and before training, say so with "
            "--planted-by-me."
        )
    return read_planted(predictions, given["canaries"], given["references"], view=view)


def _declared(given: Mapping[str, Any]) -> tuple[str, View]:
    """Return the file of predictions and what it shows."""
    from labelinf_outputs.game.view import Outputs, View

    said = [(given[name], kind) for kind, name in zip(Outputs, _SHOWN, strict=True) if given[name] is not None]
    if len(said) != 1:
        raise InputError("say what the model shows with one of --probabilities, --logits, --top-1 and --values.")
    (path, shown), decimals = said[0], given["rounded"]
    if decimals is not None and shown is not Outputs.PROBABILITIES:
        raise InputError("--rounded belongs to --probabilities.")
    return path, View(outputs=shown, resolution=0.0 if decimals is None else 10.0**-decimals)

"""``labelinf plant`` and the audits of a trained model: from planting to a verdict on a model trained in between."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.completion import column as column_of
from labelinf_core.cli.completion import component
from labelinf_core.cli.options import Finite, NewFile, Share, block_option, game_timeout, keep_inputs, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.exits import Exit
from labelinf_core.report.progress import steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from labelinf_core.specs import Builder
    from labelinf_outputs.audit.claim import PrivacyClaim
    from labelinf_outputs.audit.findings import OutputsAudit
    from labelinf_outputs.audit.planted import Planted
    from labelinf_outputs.game.view import View

__all__ = ["finished", "model", "outputs", "plant", "power"]


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

    DATA.csv has one row per record; a column 'record', or else 'id', holds ids.
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
        points = tuple(float(f"{point:.15g}") for point in np.linspace(low, high, count))  # not 0.30000000000000004
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
    shown = " --shows values" if "grid" in said else ""
    yield f"  labelinf audit outputs PREDICTIONS.csv{shown} --seal sealed.json"


def _view(context: click.Context, parameter: click.Parameter, value: str) -> View:
    """Read what predictions are."""
    from labelinf_outputs.game.view import Outputs, View

    kind, colon, decimals = value.partition(":")
    with contextlib.suppress(ValueError):
        if not colon:
            return View(outputs=Outputs(kind), resolution=0.0)
        if Outputs(kind) is Outputs.PROBABILITIES and 1 <= int(decimals) <= 300:
            return View(outputs=Outputs.PROBABILITIES, resolution=10.0 ** -int(decimals))
    told = "probabilities, probabilities:D of D decimals, logits, top-1 or values"
    raise click.BadParameter(f"{value} must be {told}.", context, parameter)


def _predictions(function: Any) -> Any:
    """Add the file of predictions, what it shows, and what reference models say."""
    for option in (
        click.option(
            "--reference",
            "files",
            multiple=True,
            type=click.Path(),
            metavar="P",
            help="Predictions of reference model 1, 2, ...",
        ),
        click.option(
            "--shows",
            "view",
            callback=_view,
            metavar="WHAT",
            default="probabilities",
            show_default=True,
            help="What the predictions are: probabilities, probabilities:D (of D decimals), logits (or logarithms of "
            "probabilities), top-1 (the predicted class, in one column), values (where --grid planted values).",
        ),
        click.argument("predictions", type=click.Path(), metavar="PREDICTIONS"),
    ):
        function = option(function)
    return function


def _claim(function: Any) -> Any:
    """Add a claim."""
    for option in (
        click.option("--mu", type=Finite(min=0), help="Instead: Gaussian label-DP."),
        click.option("--delta", type=Share(min=0, max=1, max_open=True), default=0.0, help="The delta of that claim."),
        click.option("--epsilon", type=Finite(min=0), help="The label-DP that is claimed."),
    ):
        function = option(function)
    return function


def _audit(function: Any) -> Any:
    """Add a claim, and how an audit is played and written."""
    for option in (
        block_option,
        output_options,
        click.option("--owner", type=NewFile(), metavar="F.html", help="Write the records at risk, for you."),
        click.option("--html", type=NewFile(), metavar="F.html", help="Write a page to hand on."),
        game_timeout,
        click.option(
            "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the placebo's labels."
        ),
        click.option(
            "--attack",
            "attacks",
            multiple=True,
            metavar="SPEC",
            shell_complete=component("attack"),
            help="Play this attack instead of all that are loaded; may be repeated.",
        ),
        _claim,
    ):
        function = option(function)
    return function


@click.command()
@_predictions
@click.option("--seal", type=click.Path(), metavar="sealed.json", help="What labelinf plant planted.")
@click.option("--commitment", metavar="SEAL", default="", help="The seal that was printed then, or its beginning.")
@click.option(
    "--features",
    type=click.Path(),
    metavar="query.csv",
    help="Who sees the predictions knows these columns of numbers.",
)
@click.option(
    "--pool", type=click.IntRange(min=0), default=0, metavar="N", help="Audit the last N reference models too."
)
@click.option(
    "--planted-by-me",
    "canaries",
    type=click.Path(),
    metavar="C.csv",
    help="Instead of a seal: labels that I drew at random, before training. Column label; also record, loss, trained. "
    "A --reference R.npz holds arrays probabilities or logits, and labels.",
)
@_audit
@click.pass_context
def outputs(context: click.Context, /, **given: Any) -> None:
    """Audit a trained model: does it give back the labels that were planted in its training data?

    PREDICTIONS has a row per record: .csv, .npy, .npz, .parquet. Without a claim it exits with status 1 for a leak, and
    3 where none is shown. A claim (--epsilon, --mu) ends with 1 when it is refuted, 0 when it is not and an attack that
    reads every trained label would refute twice as much in 95 % of audits (a weaker one in fewer), else 3. 2 is bad
    input.
    """
    _audited(context, given, lambda builder, claim: _read(given))


@click.command()
@click.argument("victim", metavar="MODEL")
@click.option(
    "--labels", metavar="SOURCE", default="breast-cancer", show_default=True, help="The labels that it is trained on."
)
@_audit
@click.pass_context
def model(context: click.Context, /, victim: str, labels: str, **given: Any) -> None:
    """Train a kind of model on labels with some planted, and audit what it says: as audit outputs does.

    MODEL is mlp, logistic, forest, neighbours, boosting, memory, dp-forest, dp-bayes or dp-logistic, or your own
    module:Class with fit and predict_proba.
    """
    _audited(context, given, lambda builder, claim: _trained(victim, labels, claim, builder, given["seed"]))


@click.command()
@_predictions
@click.argument("records", type=click.Path(), metavar="RECORDS.csv")
@output_options
@click.pass_context
def finished(context: click.Context, /, predictions: str, records: str, files: Any, view: View, as_json: bool) -> None:
    """Observe a finished model in which nothing was planted; nothing is proved.

    RECORDS.csv has the columns record, label and seen: 1 for records that it was trained on, 0 for others, the placebo.
    """
    from labelinf_outputs.audit.observed import observe

    seen = observe(predictions, records, files, view=view)
    tell(seen.document(), seen.lines(), as_json=as_json)
    context.exit(Exit(seen.status))


@click.command()
@click.argument("classes", type=click.IntRange(min=2), metavar="K")
@_claim
@output_options
def power(classes: int, epsilon: float | None, delta: float, mu: float | None, as_json: bool) -> None:
    """Say how many planted labels of K classes refute a claim, before any are planted."""
    from labelinf_outputs.audit.power import Power, curves, table

    claim = _claimed(epsilon, delta, mu)
    if not claim.made:
        raise InputError("say which claim is to be refuted: --epsilon, with a --delta if need be, or --mu.")
    found = Power(claim=claim, n_classes=classes)
    tell({"claim": claim, "power": curves(found)}, table(found), as_json=as_json)


def _audited(
    context: click.Context, given: Mapping[str, Any], read: Callable[[Builder, PrivacyClaim], Planted]
) -> None:
    """Audit what ``read`` returns, print it and end with its status."""
    import numpy as np

    from labelinf_core.specs import Builder
    from labelinf_outputs.audit import words
    from labelinf_outputs.audit.outputs import audit_outputs

    keep_inputs()
    claim = _claimed(given["epsilon"], given["delta"], given["mu"])
    html, owner = given["html"], given["owner"]
    if html and owner and os.path.realpath(html) == os.path.realpath(owner):
        raise InputError("--html and --owner must be two files: the first is handed on, the second names records.")
    builder, rng = Builder(load_host(given["blocks"])), np.random.default_rng(given["seed"])
    planted = read(builder, claim)
    with steps("auditing") as progress:
        found = audit_outputs(
            planted,
            builder,
            attacks=given["attacks"],
            claim=claim,
            rng=rng,
            timeout=given["timeout"],
            progress=progress,
        )
    if html is not None or owner is not None:
        _write_pages(found, planted, context, html, owner)
    tell(words.document(found), words.lines(found, str(planted.view)), as_json=given["as_json"])
    context.exit(Exit(found.decision.status))


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

    model = str(context.params.get("predictions") or context.params["victim"])
    made = page.Circumstances(command=as_typed(context), view=str(planted.view), model=model)
    if html is not None:
        page.write(html, page.report(found, made), private=False)
    if owner is not None:
        page.write(owner, page.owner(found, planted, made), private=True)


def _read(given: Mapping[str, Any]) -> Planted:
    """Read what the options name; what does not go along with the labels that were planted is not passed over."""
    from labelinf_outputs.audit.planted import read_planted, read_sealed
    from labelinf_outputs.audit.seal import read_seal

    predictions, view, files = given["predictions"], given["view"], given["files"]
    if given["seal"] is not None:
        if given["canaries"] is not None:
            raise InputError("--seal says what was planted: leave out --planted-by-me.")
        seal = read_seal(given["seal"], given["commitment"])
        pool, features = given["pool"], given["features"]
        return read_sealed(predictions, seal, files, view=view, pool=pool, features=features)
    if given["canaries"] is None:
        raise InputError(
            "say what was planted: --seal, the file that labelinf plant wrote; or, if you drew labels yourself, "
            "uniformly, independently of everything and before training, --planted-by-me C.csv. What was not planted "
            "is not audited; labelinf audit finished observes it."
        )
    if strange := [f"--{name}" for name in ("commitment", "features", "pool") if given[name]]:
        raise InputError(f"labels that you planted have no seal: leave out {', '.join(strange)}.")
    if len(files) > 1:
        raise InputError("labels that you planted take one --reference: an R.npz of all reference models.")
    return read_planted(predictions, given["canaries"], files[0] if files else None, view=view)

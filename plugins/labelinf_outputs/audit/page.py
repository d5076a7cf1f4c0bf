"""Pages of an audit: a report that may be handed on, and one for the owner of the records alone.

The report holds counts, curves and conditions: no id of a record, no label. The owner's page names the records whose
labels the committed attack told, and is readable by its owner only.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import jinja2
import numpy as np

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.pictures import Picture
from labelinf_core.report.svg import as_svg
from labelinf_outputs.audit import words
from labelinf_outputs.audit.curves import power_curves, roc
from labelinf_outputs.audit.findings import OutputsAudit
from labelinf_outputs.audit.planted import Planted
from labelinf_outputs.audit.power import Power
from labelinf_outputs.game.memorisation import memorisation

__all__ = ["Circumstances", "owner", "report", "write"]

_ROC = (
    "An accusation says that a record has a label; the surest come first. On the left, where few are false, stands "
    "what a patient adversary gains."
)
_POWER = (
    "How surely so many canaries refute the claim when the true epsilon is the one beside the curve and the attack "
    "gives every trained label back. What a curve does not reach, no audit of this size could have shown."
)
_RISK = (
    "Planted labels stand in for the records' own: what is told of them would have been told of those. Memorisation is "
    "how much more models say of a label when they were trained on it (Feldman, STOC 2020), from all models given."
)


@attrs.frozen(kw_only=True)
class Circumstances:
    """How an audit was made.

    Attributes:
        command: As it was typed.
        view: What the model shows, in words.
        model: The file of its predictions, or how it was trained.
    """

    command: str
    view: str
    model: str = ""


def report(found: OutputsAudit, made: Circumstances) -> str:
    """Return the page that may be handed on."""
    facts = [
        ("claim", str(found.claim) if found.claim.made else "none"),
        ("word", f"{found.decision.word.value}; exit status {found.decision.status}"),
        ("proved, at 95 %", words.at_least(found.decision) if found.decision.level else "nothing"),
        ("planted labels", f"{found.n_canaries} of {found.n_classes} classes, {found.n_models} models"),
        ("view", made.view),
        ("counted", f"{found.committed.attack}, {found.committed.guesses} guesses, {found.committed.why}"),
    ]
    header = ("attack", "guessed", "p against chance", "placebo", "answer")
    return _page(
        made,
        title=words.sentence(words.headline(found.decision)),
        lead="",
        conditions=[*words.conditions(found)],
        drawings=[(each.title, as_svg(each, name=f"p{at}"), told) for at, (each, told) in enumerate(_drawings(found))],
        tables=[("Facts", ("", ""), facts), ("Attacks", header, [*_attacks(found)])],
    )


def _drawings(found: OutputsAudit) -> Iterator[tuple[Picture, str]]:
    if found.first is not None and found.first.right.any():
        yield roc(found.first, found.n_canaries // found.n_models, found.n_classes, found.claim), _ROC
    if found.claim.made:
        yield power_curves(Power(claim=found.claim, n_classes=found.n_classes)), _POWER


def _attacks(found: OutputsAudit) -> Iterator[tuple[str, ...]]:
    for item in found.findings:
        if item.accuracy is None:
            yield item.attack, "", "", "", f"{item.word.value}: {item.refusal}"
        else:
            placebo = words.share(item.placebo_share) if item.placebo_share else ""
            guessed = f"{item.correct}/{item.guesses} = {words.share(item.accuracy)}"
            yield item.attack, guessed, f"{item.p_chance:.2g}", placebo, item.word.value


def owner(found: OutputsAudit, planted: Planted, made: Circumstances) -> str:
    """Return the page with the ids of the records at risk; for nobody but their owner."""
    heading = "Was its label told" + (" not to be the guess" if _by_wrong(found) else "")
    risks = [*_risks(found, planted)]
    told = dict.fromkeys((name for name, *_ in risks), "yes")
    rows = [*told.items(), *((name, "no") for name in planted.records if name not in told)]
    said = f"Model {made.model}, {datetime.date.today()}, seal {planted.seal or 'none'}."
    return _page(
        made,
        title="Records at risk",
        lead=f"{said} Keep this page: it names records.",
        conditions=[],
        drawings=[],
        tables=[("Records", ("record", heading), rows), ("Told", ("record", "surest first", "memorisation"), risks)],
        below=[words.sentence(words.headline(found.decision)), _RISK],
    )


def _risks(found: OutputsAudit, planted: Planted) -> Iterator[tuple[str, ...]]:
    if found.first is None:
        return
    known = _memorised(planted)
    each = found.committed.guesses // found.n_models
    told = zip(found.first.canaries[:each].tolist(), found.first.right[:each].tolist(), strict=True)
    for rank, (canary, right) in enumerate(told, 1):
        if right is not _by_wrong(found):
            share = "" if known is None or np.isnan(known[canary]) else f"{known[canary]:.2f}"
            yield planted.records[canary], str(rank), share


def _by_wrong(found: OutputsAudit) -> bool:
    """Whether the guesses that count are wrong more often than by chance, which tells labels too."""
    proof = found.decision.found
    return proof is not None and proof.correct * found.n_classes < proof.correct + proof.wrong


def _memorised(planted: Planted) -> np.ndarray | None:
    if planted.references is None:
        return None
    logs = [model.release.log_probabilities for model in planted.models]
    labels = [model.labels if model.trained is None else model.trained for model in planted.models]
    return memorisation(
        np.exp(np.concatenate([np.array(logs), planted.references.log_probabilities])),
        np.concatenate([np.array(labels), planted.references.trained]),
    )


def _page(made: Circumstances, **content: Any) -> str:
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("labelinf_outputs", "audit"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    packages = [f"{name} {importlib.metadata.version(name)}" for name in ("labelinf", "numpy", "scipy")]
    versions = " · ".join([*packages, f"python {platform.python_version()}"])
    return templates.get_template("page.html.jinja").render(command=made.command, versions=versions, **content)


def write(path: Path, text: str, *, private: bool) -> None:
    """Write a page; a private one is readable by its owner alone, also where a file stood there before.

    Raises:
        InputError: It cannot be written.
    """
    mode = 0o600 if private else 0o644
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        if private:
            os.chmod(path, mode)
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error

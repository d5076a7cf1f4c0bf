"""An audit in words: lines for a terminal of 80 columns, and what a program reads."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import Any

import attrs

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.audited import AuditWord
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.report.words import at_most
from labelinf_outputs.audit.decision import POWER, Decision
from labelinf_outputs.audit.findings import Finding, OutputsAudit

__all__ = ["WIDTH", "answer", "at_least", "conditions", "document", "headline", "lines", "sentence", "share", "wrapped"]

WIDTH = 80


def wrapped(text: str, indent: str = "") -> list[str]:
    """Return a sentence in lines of at most 80 columns; what follows the first is indented by two more."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)


def share(found: Interval) -> str:
    """Return a proportion with its interval."""
    return f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]"


def lines(found: OutputsAudit, view: str) -> list[str]:
    """Return the whole answer."""
    models = f" of {found.n_models} models" if found.n_models > 1 else ""
    facts = (
        f"{found.n_canaries} canaries{models}, {found.n_classes} classes; view: {view}",
        f"counted: {found.committed.attack}, {found.committed.guesses} guesses, {found.committed.why}",
    )
    summary = [line for text in conditions(found) for line in wrapped(text)]
    attacks = (line for item in found.findings for line in _about(item, found))
    return [
        *answer(found.decision).lines(WIDTH),
        "",
        *summary,
        "",
        *(line for text in facts for line in wrapped(text)),
        "",
        *attacks,
    ]


def headline(found: Decision) -> str:
    """Return the answer in a sentence."""
    if found.word is AuditWord.VOID:
        return "VOID: this is no audit."
    beyond = f" beyond delta = {found.claim.delta:g}" if found.claim.delta else ""
    shown = f"{at_least(found)} is proved" if found.leaks else f"no leak{beyond} is shown"
    if found.refuted:
        return f"REFUTED: {found.claim} was claimed, {shown}."
    if found.passed:
        return f"NOT REFUTED: {found.claim} was claimed, {shown}. That is not a proof of the claim."
    if found.claim.made:
        return f"INCONCLUSIVE: {found.claim} was claimed, {shown}, and more might not have been seen."
    if found.leaks:
        return f"the model gives planted labels away; {shown}."
    return "NO LEAK SHOWN: what the counted guesses tell may be chance. That is not a proof of safety."


def at_least(found: Decision) -> str:
    """Return what is proved, to so many digits that it reads above what it refutes."""
    return f"{found.claim.symbol} >= {_down(found.level, found.claim.level if found.refuted else 0.0)}"


def _down(level: float, beaten: float = 0.0) -> str:
    """Return a level rounded down, to two digits or as many as it takes to stay above ``beaten``."""
    for digits in range(2, 16):
        text = f"{math.floor(level * 10**digits) / 10**digits:.{digits}f}"
        if float(text) > beaten or level <= beaten:
            break
    return text


def sentence(text: str) -> str:
    """Return a text that begins with a capital."""
    return text[:1].upper() + text[1:]


def answer(found: Decision) -> Answer:
    """Return the answer in three parts."""
    if not found.remedy:
        return Answer(leaks=headline(found), stopped="nothing, for no leak was found")
    return Answer(
        leaks=headline(found),
        stopped=found.remedy,
        costs="test accuracy; labelinf matrix outputs plays them and measures it",
    )


def conditions(found: OutputsAudit) -> Iterator[str]:
    """Yield the sentences without which the answer must not be read."""
    decision, claim = found.decision, found.claim
    yield from (f"{reason}." for reason in decision.voids)
    if decision.word is AuditWord.VOID:
        return
    if not decision.leaks:
        yield from _unshown(found)
    if found.ceiling < 1:
        allows = "allows any attack" if claim.exact else "lets any attack expect"
        yield f"{claim} {allows} {at_most(found.ceiling)}% of the planted labels."
    if decision.power is not None:
        yield (
            f"Power against twice the claim, {claim.doubled}: {100 * decision.power:.3g}%, of an attack that reads all "
            f"that was trained on; {POWER:.0%} are needed to pass."
        )
        yield "What is tested is labels, not whether a record was there: a claim about whole records says more."
    if proof := decision.proof:
        most = f"{claim.symbol} >= {_down(proof.provable)}" if proof.provable else "nothing"
        yield f"{proof.guesses} guesses, all correct, would have proved {most}."
    if found.n_models > 1:
        # Noise that is kept per record, not drawn per model: 15 % of true claims are refuted by 3 models, 27 % by 8.
        yield "Assumed: the pooled models were trained independently, and a mechanism drew its noise anew for each."
    if not found.sealed:
        yield "Assumed, as you say: the labels were drawn uniformly, independently of everything else."


def _unshown(found: OutputsAudit) -> Iterator[str]:
    """Say what a leak that is not shown is worth."""
    signal = found.decision.signal
    if found.decision.proof is None:
        yield f"{found.committed.attack}, which counts, was not played to its end."
    elif signal is None:
        yield "Nothing shows that a leak would have been seen: there is no control; labelinf plant makes one."
    elif signal:
        yield "The labels that were trained on openly do come out."
    else:
        yield "The labels that were trained on openly do not come out either: other data, or nothing learnt."


def _about(item: Finding, found: OutputsAudit) -> Iterator[str]:
    counts = item.attack == found.committed.attack
    mark = "*" if counts else " "
    if item.accuracy is None:
        yield from wrapped(f"{mark} {item.attack:18} {item.word.value}: {item.refusal or 'it abstained throughout'}")
        return
    yield f"{mark} {item.attack:18} {item.correct}/{item.guesses} = {share(item.accuracy)}: {item.word.value}"
    placebo = f"; placebo {share(item.placebo_share)}" if item.placebo_share else ""
    yield f"      chance {1 / found.n_classes:.1%}, p {item.p_chance:.2g}{placebo}"
    if item.memorised:
        yield f"      trained label {share(item.memorised)}"
    proof = found.decision.proof
    if counts and proof and proof.share:
        surest = f"{proof.correct} of its {proof.correct + proof.wrong} surest guesses = {share(proof.share)}"
        yield from wrapped(f"{surest}: {at_least(found.decision) if proof.level else 'nothing proved'}", " " * 6)


def document(found: OutputsAudit) -> dict[str, Any]:
    """Return the answer for a program; no id of a record, no confidence of a guess."""
    content = attrs.asdict(found, recurse=False, filter=lambda field, _: field.name not in ("first", "decision"))
    decision = found.decision
    kept = ("word", "status", "refuted", "level", "proof", "remedy", "voids", "signal", "power")
    return {"decision": {name: getattr(decision, name) for name in kept} | {"says": headline(decision)}, **content}

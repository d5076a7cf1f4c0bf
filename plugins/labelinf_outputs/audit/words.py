"""An audit in words: lines for a terminal of 80 columns, and what a program reads."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import attrs

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.report.words import at_most
from labelinf_outputs.audit.claim import Claim
from labelinf_outputs.audit.findings import Audit, Conclusion, Finding

__all__ = ["WIDTH", "answer", "conditions", "document", "headline", "lines", "sentence", "share", "wrapped"]

WIDTH = 80


def wrapped(text: str, indent: str = "") -> list[str]:
    """Return a sentence in lines of at most 80 columns; what follows the first is indented by two more."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)


def share(found: Interval) -> str:
    """Return a proportion with its interval."""
    return f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]"


def lines(found: Audit, view: str) -> list[str]:
    """Return the whole answer."""
    models = f" of {found.n_models} models" if found.n_models > 1 else ""
    facts = (
        f"{found.n_canaries} canaries{models}, {found.n_classes} classes; view: {view}",
        f"counted: {found.committed.attack}, {found.committed.guesses} guesses, {found.committed.why}",
    )
    summary = [line for text in conditions(found) for line in wrapped(text)]
    attacks = (line for item in found.findings for line in _about(item, found))
    return [
        *answer(found).lines(WIDTH),
        "",
        *summary,
        "",
        *(line for text in facts for line in wrapped(text)),
        "",
        *attacks,
    ]


def headline(found: Audit) -> str:
    """Return the answer in a sentence."""
    proved = f"{found.claim.symbol} >= {found.proved:.2f} is proved"
    return {
        Conclusion.REFUTED: f"REFUTED: {found.claim} was claimed, {proved}.",
        Conclusion.LEAKS: f"the model gives planted labels back; {proved}.",
        Conclusion.NOT_REFUTED: f"NOT REFUTED: {found.claim} was claimed, {proved}. That is not a proof of the claim.",
        Conclusion.NOTHING_FOUND: "NOTHING FOUND: no attack beats chance. That is not a proof of safety.",
        Conclusion.INCONCLUSIVE: "INCONCLUSIVE: no attack found anything, and nothing shows that one could have.",
        Conclusion.VOID: "VOID: this is no audit.",
    }[found.conclusion]


def sentence(text: str) -> str:
    """Return a text that begins with a capital."""
    return text[:1].upper() + text[1:]


def answer(found: Audit) -> Answer:
    """Return the answer in three parts."""
    if not found.leaks or found.voids:
        return Answer(leaks=headline(found), stopped="no leak was found that could be stopped")
    return Answer(
        leaks=headline(found),
        stopped="training behind a label-DP mechanism (label-rr, lp-mst, alibi, pate), as proved for each",
        costs="test accuracy; labelinf matrix outputs plays them and measures it",
    )


def conditions(found: Audit) -> Iterator[str]:
    """Yield the sentences without which the answer must not be read."""
    yield from (f"{reason}." for reason in found.voids)
    if found.conclusion is Conclusion.VOID:
        if not found.voids:
            yield f"{found.committed.attack}: {found.counted.word.value}."
        return
    if found.conclusion is Conclusion.INCONCLUSIVE:
        yield (
            "There is no control; labelinf plant makes one."
            if found.signal is None
            else "The labels that were trained on openly do not come out either: other data, or nothing learnt."
        )
    if found.ceiling < 1:
        allows = "allows any attack" if found.claim.exact else "lets any attack expect"
        yield f"{found.claim} {allows} {at_most(found.ceiling)}% of the planted labels."
    symbol = found.claim.symbol
    yield f"{found.committed.guesses} guesses, all correct, would have proved {symbol} >= {found.provable:.2f}."
    if found.n_models > 1:
        # Noise that is kept per record, not drawn per model: 15 % of true claims are refuted by 3 models, 27 % by 8.
        yield "Assumed: the pooled models were trained independently, and a mechanism drew its noise anew for each."
    if not found.sealed:
        yield "Assumed, as you say: the labels were drawn uniformly, independently of everything else."


def _about(item: Finding, found: Audit) -> Iterator[str]:
    mark = "*" if item.attack == found.committed.attack else " "
    if item.accuracy is None:
        yield from wrapped(f"{mark} {item.attack:18} {item.word.value}: {item.refusal or 'it abstained throughout'}")
        return
    yield f"{mark} {item.attack:18} {item.correct}/{item.guesses} = {share(item.accuracy)}: {item.word.value}"
    placebo = f"; placebo {share(item.placebo_share)}" if item.placebo_share else ""
    yield f"      chance {1 / found.n_classes:.1%}, p {item.p_chance:.2g}{placebo}"
    if item.memorised:
        yield f"      trained label {share(item.memorised)}"
    if item.proof:
        yield from _proof(item, found.claim)


def _proof(item: Finding, claim: Claim) -> Iterator[str]:
    proof = item.proof
    if proof is not None:
        tested = f", p of the claim {proof.p_claim:.2g}" if claim.made else ""
        surest = f"{proof.correct} of its {proof.guesses} surest guesses"
        yield from wrapped(f"{surest}: {claim.symbol} >= {proof.level:.2f}{tested}", " " * 6)


def document(found: Audit) -> dict[str, Any]:
    """Return the answer for a program; no id of a record, no confidence of a guess."""
    derived = ("conclusion", "proved", "provable", "refuted", "leaks")
    content = attrs.asdict(found, recurse=False, filter=lambda field, _: field.name != "first")
    return {**content, **{name: getattr(found, name) for name in derived}}

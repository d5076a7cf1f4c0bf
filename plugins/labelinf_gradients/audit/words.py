"""The audit of a client in words: its answer in three parts, and what else there is to say."""

from __future__ import annotations

from labelinf_core.contracts.answer import Answer
from labelinf_core.report.words import at_most
from labelinf_gradients.audit.client import DELTA, ClientAudit
from labelinf_gradients.audit.saved import Saved
from labelinf_gradients.defences.clipping import ClippedGaussian

__all__ = ["answer", "lines"]

_VACUOUS = 0.999  # a ceiling that says nothing


def answer(found: ClientAudit | Saved) -> Answer:
    """Return the answer in three parts."""
    return _of_saved(found) if isinstance(found, Saved) else _of_client(found)


def lines(found: ClientAudit | Saved) -> list[str]:
    """Return what else there is to say, a line each."""
    return _saved_lines(found) if isinstance(found, Saved) else _lines(found)


def _of_client(found: ClientAudit) -> Answer:
    best, share = found.scores[0], found.share
    counted = (
        f"{best.correct} of {found.n_records} {found.counted}: {share.value:.1%} [{share.low:.1%}, {share.high:.1%}] "
        f"(a blind guess: {found.baseline:.1%}), by {best.attack}"
    )
    if found.leaks and found.control is not None and not found.control.by_labels:
        leaks = f"{counted} (observed): by the records, for labels that are not theirs do not come out"
    elif found.leaks:
        leaks = f"{counted} (observed)"
    elif found.held:
        leaks = f"NO LEAK SHOWN: {counted}, within what its shield allows on the conditions below"
    elif not found.headed:
        leaks = f"NOT SUPPORTED, and nothing shown by what was played: {counted}. That is no proof of safety."
    else:
        leaks = f"NO LEAK SHOWN: {counted}, which may be luck. That is no proof of safety."
    return Answer(leaks=leaks, stopped=_stopped(found), costs=_costs(found))


def _stopped(found: ClientAudit) -> str:
    """Say what is proved to stop it, and what came out of the client behind that."""
    if found.shield is not None:
        return _shielded(found, found.shield)
    if not found.change:
        return "nothing: no certified noise leaves at most --gain beyond the blind guess, or that is everything"
    added = " by every client" if found.clients > 1 else ""
    proved = (
        f"{found.change} around the whole update{added}: any attack has at most {_up(found.allows)} of the "
        f"{found.counted}, of one update about each record (proved, for private features, also if the class "
        "counts of so many records are known)"
    )
    if found.tried is None:
        return f"{proved}; no attack could be tried behind it"
    share, attack = found.tried.share, found.tried.attack
    tried = f"{found.tried.correct} of {found.n_records} by {attack} [{share.low:.1%}, {share.high:.1%}]"
    if found.refuted:
        return (
            f"nothing known: behind {found.change} {tried} still came out, more than can of updates that depend on "
            "their own records alone; is something kept between calls?"
        )
    return f"{proved}; tried on your client: {tried}"


def _shielded(found: ClientAudit, shield: ClippedGaussian) -> str:
    """Say what a client's own shield is worth."""
    numbers = f"norm={shield.norm:g}, multiplier={shield.multiplier:g}"
    what = f"li.shield({numbers}), out of which every update of this audit came"
    if not found.repeats:
        return (
            f"nothing known: what goes into {what}, is not seen to be the same when the same records come again. The "
            "client draws from a generator of its own, or keeps something between calls, which one shield does not hide"
        )
    if found.refuted:
        return (
            f"nothing known: behind {what}, more still comes out than can of updates that depend on their own records "
            "alone; is something kept between calls?"
        )
    if found.allows > _VACUOUS:
        return f"nothing: {what}, has too little noise for anything to be proved; take a larger multiplier"
    more = "" if found.enough else "; that is more than --gain allows: take a larger multiplier"
    return (
        f"{what}: any attack has at most {_up(found.allows)} of the {found.counted}, of one update about each record "
        "(proved, for private features, also if class counts are known, if all that ever leaves the client "
        "comes out of it, as in this audit, each update is about its own records alone, and no private record was "
        f"looked at for its two numbers){more}"
    )


def _up(share: float) -> str:
    """Write a ceiling, rounded to where it says less."""
    return f"{at_most(share)}%"


def _costs(found: ClientAudit) -> str:
    if found.refuted or (found.shield is None and found.tried is None):
        return ""
    if found.shield is not None:
        noise = f"noise of {found.shield.multiplier:g} times the norm on every entry"
    else:
        noise = f"noise {found.tried.louder:.3g} times as long as the clipped update" if found.tried else ""
    return f"{noise}; T updates about the same records need sqrt(T) times that"


def _lines(found: ClientAudit) -> list[str]:
    records = "one record" if found.batch == 1 else f"{found.batch} records"
    summed = f", {found.clients} clients summed" if found.clients > 1 else ""
    batch = found.batch * found.clients
    counted = f", counted by the batch ({found.n_records // batch} of them)" if batch > 1 else ""
    unlike = "" if found.headed else "not supported: no last layer with a row for every class is sent; "
    lines = [
        f"what it is   {unlike}{records} behind an update{summed}",
        f"chance       as many right without looking: p = {found.p_value:.3g}{counted}",
        *_control_lines(found),
    ]
    if not found.headed:
        lines.append(
            "not played   attacks on a last layer: an exact answer needs the gradient of its weights, with a row for "
            "every class, under cross-entropy"
        )
    if found.tells_more:
        lines.append(
            "not seen     what it sends beside parameters (buffers, counts) is not always the same; no attack looks "
            "at it, and no noise named here hides it"
        )
    others = [
        f"{score.attack} {score.correct / found.n_records:.1%}"
        for score in found.scores[1:6]
        if not score.failed + score.unfit
    ]
    if others:
        lines.append(f"next         {', '.join(others)}")
    lines += [f"failed       {score.attack}: {score.failed}" for score in found.scores if score.failed]
    lines += [f"not played   {score.attack}: {score.unfit}" for score in found.scores if score.unfit]
    if found.shield is None or found.refuted or found.allows > _VACUOUS:
        return [*lines, "ceiling      none as it is: what a client's own code draws or rounds has no certificate"]
    return [*lines, f"ceiling      {_up(found.allows)}, that of its shield"]


def _control_lines(found: ClientAudit) -> list[str]:
    """Say whether the labels or the records give classes away."""
    if found.control is None:
        return []
    control, n = found.control, found.n_records
    lines = [
        f"control      with labels drawn at random instead, {control.given} of {n} of those come out, and "
        f"{control.own} of {n} of the records' own classes"
    ]
    if control.epsilon:
        refuted = f"epsilon {control.epsilon:.2f}, delta {DELTA:g}"
        lines.append(f"             so an update has no label-DP of {refuted}, nor have several together")
    if control.by_records:
        whatever = "whatever their labels" if control.by_labels else "and labels alone do not come out"
        lines.append(f"             so records give their classes away, {whatever}: features have to be hidden too")
    return lines


def _of_saved(saved: Saved) -> Answer:
    if not saved.solvable:
        leaks = (
            "NOT SUPPORTED: the file holds no last layer that learns, nor its bias or adapter. What else is sent gives "
            "labels away to who runs the client: audit its code"
        )
    elif saved.tokens > 0:
        leaks = (
            f"{saved.tokens} tokens are labels, in {saved.certain} of {saved.n_updates} updates; of {saved.counts} of "
            "them it is known how often"
        )
    elif saved.contradicted:
        leaks = (
            "INCONCLUSIVE: nothing is determined: the updates fit other labels than the given ones (the client does "
            "not train on these, or the file's order differs)"
        )
    elif saved.certain:
        told = "if every update is of one record (a file does not say)" if saved.agree < saved.certain else "the file's"
        leaks = f"{saved.certain} of {saved.n_updates} labels are determined, {told}; {saved.listed} in part"
    else:
        leaks = f"INCONCLUSIVE: no label is determined; {saved.listed} in part"
    return Answer(leaks=leaks, stopped="not known of a file; with the client's code its noise is computed")


def _saved_lines(saved: Saved) -> list[str]:
    what = "gradients up to a factor" if saved.scaled else "gradients"
    if saved.tokens >= 0:
        lines = [
            f"what it is   {saved.n_updates} updates of a language model; tied weights tell inputs with the labels"
        ]
        right = f"right        all label tokens of {saved.correct} updates, by those in the file"
        return [*lines, right] if saved.correct >= 0 else lines
    lines = [f"what it is   {saved.n_updates} updates, read as {what} of one record each"]
    if saved.correct >= 0:
        lines.append(f"right        {saved.correct} of {saved.n_updates} classes, by the labels in the file")
    return [*lines, saved.remark] if saved.remark else lines

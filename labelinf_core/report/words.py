"""How numbers, names and verdicts read on a terminal."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from labelinf_core.contracts.components import HALF_WIDTH, Measure
from labelinf_core.contracts.guarantees import Ceiling, Interval, Verdict
from labelinf_core.evaluator.records import Status
from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.plugin.descriptors import NO_DEFENCE
from labelinf_core.specs import parse
from labelinf_core.specs.text import show

__all__ = [
    "STYLES",
    "at_most",
    "attack",
    "ceiling",
    "choice",
    "contradiction",
    "cost",
    "count",
    "duration",
    "gain",
    "heading",
    "incomplete",
    "measured",
    "number",
    "outcome",
    "percent",
    "pipeline",
    "setting",
    "share",
    "sign",
    "signs",
    "title",
    "trouble",
    "verdict",
]

STYLES = {
    Verdict.BROKEN_CERTIFIED: "bold red",
    Verdict.BROKEN_OBSERVED: "red",
    Verdict.HELD_CERTIFIED: "bold green",
    Verdict.HELD_PARTLY: "yellow",
    Verdict.HELD_IF_STATED: "yellow",
    Verdict.HELD_SO_FAR: "green",
    Verdict.UNTESTED: "dim",
    Verdict.CONTRADICTION: "bold white on red",
    Verdict.LEAKY: "bold white on magenta",
    Verdict.VIEW_REVEALS: "magenta",
    Verdict.NOT_PLAYED: "dim",
}  #: rich styles; every verdict has a symbol and words too
_BREAKS = re.compile(r"[^- ]*[- ]?")


def number(value: float) -> str:
    """Write a number with three significant digits, and no exponent where it is readable without."""
    if abs(value) == float("inf"):
        return "∞" if value > 0 else "-∞"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:.1e}"


def measured(measure: Measure, value: float, half_width: float = 0.0) -> str:
    """Write what a channel measures, in its unit, with the interval of what chance decides."""
    if measure.unit == "share":
        return f"{percent(value)}{f'±{100 * half_width:.2g}' if half_width else ''} %"
    return f"{number(value)}{f'±{half_width:.2g}' if half_width else ''} {measure.unit}".rstrip()


def measured_of(measure: Measure, found: Mapping[str, float], *, interval: bool = True) -> str:
    """Write one of the measures of what something costs, with its interval; empty where it is not known."""
    if measure.key not in found:
        return ""
    half_width = found.get(measure.key + HALF_WIDTH, 0.0) if interval else 0.0
    return measured(measure, float(found[measure.key]), float(half_width))


def cost(found: Mapping[str, float], measures: Iterable[Measure]) -> str:
    """Say what something costs those it is not meant for; empty when it is not known."""
    known = [item for item in measures if item.key in found and (found[item.key] or item.unit != "share")]
    return ", ".join(f"{item.title} {measured_of(item, found)}" for item in known)


def duration(seconds: float) -> str:
    """Write a duration in seconds with two significant digits."""
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def count(n: int, noun: str) -> str:
    """Write a number of things: ``1 trial``, ``20 trials``, ``2 queries``."""
    if n == 1:
        return f"{n} {noun}"
    return f"{n} {noun[:-1]}ies" if noun.endswith("y") else f"{n} {noun}s"


def percent(proportion: float) -> str:
    """Write a proportion in percent: one decimal, none when it is exactly 0 or 1, never rounded to either.

    What lies outside, as a measured change may, is shown as it is.
    """
    if proportion < 0:
        return f"-{percent(-proportion)}"
    if proportion in (0.0, 1.0):
        return f"{100 * proportion:.0f}"
    if proportion > 1:
        return f"{100 * proportion:.1f}"
    return f"{min(max(100 * proportion, 0.1), 99.9):.1f}"


def at_most(proportion: float) -> str:
    """Write what is proved to be a most in percent, rounded up: a tenth less would say more than is proved."""
    up = _tenths(proportion)
    return f"{up:.0f}" if up in (0, 100) else f"{up:.1f}"


def gain(item: Ceiling, blind: float) -> str:
    """Write by how many points a ceiling lies above the best blind guess, rounded up, never below 0."""
    return f"{_tenths(max(0.0, item.reached - blind)):.1f}"


def _tenths(proportion: float) -> float:
    """Return a proportion in percent, rounded up to a tenth: what a product of floats adds is none."""
    return math.ceil(round(1000 * proportion, 6)) / 10


def share(interval: Interval) -> str:
    """Write a proportion; where its interval is wider than a point to each side, with half its width.

    Where that would pass 0 or 100 %, the interval's other end is written instead: ``100 (at least 83)``.
    """
    value, half = interval.value, (interval.high - interval.low) / 2
    if 100 * half <= 1:
        return percent(value)
    if value + half > 1:
        return f"{percent(value)} (at least {100 * interval.low:.0f})"
    if value - half < 0:
        return f"{percent(value)} (at most {100 * interval.high:.0f})"
    return f"{percent(value)} ±{100 * half:.0f}"


def told(interval: Interval) -> str:
    """Write a proportion in a sentence: ``99.4 % (at least 98)``."""
    value, end, other = share(interval).partition(" (")
    return f"{value} %{end}{other}"


def outcome(result: CellResult) -> str:
    """Write a cell of the matrix: the share of labels recovered and the verdict's sign, or one word why not.

    Where a ceiling makes the verdict it stands between them.
    """
    if result.accuracy is not None:
        return f"{share(result.accuracy)} {_proved(result)}{sign(result.verdict)}"
    return result.failure[0].value if result.failure else "not yet"


def _proved(result: CellResult) -> str:
    """Write the ceiling where it makes the verdict."""
    if result.ceiling is None or result.verdict not in (Verdict.HELD_CERTIFIED, Verdict.HELD_PARTLY):
        return ""
    return f"{'≤' if _writes('≤') else '<='}{at_most(result.ceiling.reached)} "


def sign(verdict: Verdict) -> str:
    """Return the sign of a verdict that standard output can write: its symbol, or its letter in ASCII."""
    return verdict.symbol if _writes(verdict.symbol) else verdict.letter


def signs(cells: Iterable[CellResult]) -> dict[Verdict, str]:
    """Return what stands in these cells for each verdict that occurs: its sign, or the words of what was not played."""
    found: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    for cell in cells:
        found[cell.verdict].append(sign(cell.verdict) if cell.accuracy else outcome(cell))
    return {verdict: ", ".join(dict.fromkeys(shown)) for verdict, shown in found.items() if shown}


def _writes(text: str) -> bool:
    """Whether standard output has the characters."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def incomplete(results: Results) -> str:
    """Say how much of a run is still to be played; empty when nothing is."""
    if not results.left:
        return ""
    return f"incomplete: {results.left} of {len(results.cells) * results.plan.trials} games are still to be played"


def ceiling(item: Ceiling, blind: float) -> str:
    """Write a ceiling as what it is: points over the best blind guess, on average, under its conditions."""
    points, most = gain(item, blind), at_most(item.reached)
    return f"on average {points} points over the best blind guess at most ({most} % of labels)"


def choice(cells: Iterable[CellResult]) -> Iterator[str]:
    """Say of how many attacks the strongest is the strongest: once for all lines of defences, or for those that differ.

    Nothing is said of cells that were played alone.
    """
    fields = [field for result in cells if (field := result.field) is not None]
    if any(field.chosen for field in fields):
        most = max(field.known for field in fields)
        yield f"attacks: the strongest that fit, chosen for every line of defences from {most} installed"
    for field in dict.fromkeys(field for field in fields if not field.chosen):
        yield f"attacks: {field}"


def verdict(result: CellResult) -> str:
    """Write a cell's verdict with its symbol, or one word why there is none."""
    return f"{sign(result.verdict)} {result.verdict.value}" if result.accuracy else outcome(result)


def trouble(result: CellResult) -> str:
    """Say what went wrong in a cell, and in how many of its trials; empty when nothing did."""
    if result.failure is None:
        return ""
    status, message = result.failure
    if status is Status.PENDING:
        return "not yet"
    failed = result.tally.trials - result.tally.played
    if not failed or status.final:
        return f"{status.value}: {message}"
    return f"{status.value} in {failed} of {count(result.tally.trials, 'trial')}: {message}"


def contradiction(result: CellResult) -> str:
    """Say which statement an observation contradicts."""
    if result.accuracy is None or result.exact is None:
        return ""
    recovered, complete = percent(result.accuracy.value), percent(result.exact.value)
    clauses = [
        f"{item.statement} allows at most {at_most(item.reached)} % and {at_most(item.exact)} % ({item.conditions})"
        for item in result.implied.ceilings
        if item.denies(result.accuracy.value, result.exact.value)
    ]
    promise = result.implied.promise
    if promise is not None and promise.stated and result.exact.value < 1:
        clauses.append(f"{promise.statement} promises every label ({promise.conditions})")
    parties = [party for item in (*result.implied.ceilings, promise) if item is not None for party in item.vouched]
    blame = "One of the two is wrong: a bug, or an erratum."
    if parties:
        blame = f"So it is not true that {' and '.join(dict.fromkeys(parties))} does what it states."
    return (
        f"{result.cell.shown.attack} against {result.cell.shown.pipeline}: {recovered} % of the labels were recovered, "
        f"all of them in {complete} % of the trials, but {'; '.join(clauses)}. {blame}"
    )


def attack(result: CellResult) -> str:
    """Name the attack of a cell, shortened for a heading."""
    return parse(result.cell.shown.attack, "heading").compact


def pipeline(result: CellResult) -> str:
    """Name what stands between in a cell, shortened for a heading."""
    return " + ".join(parse(stage, "heading").compact for stage in result.cell.shown.defences) or NO_DEFENCE


def heading(text: str, width: int) -> str:
    """Break a heading into lines of at most ``width``, after a hyphen or a space."""
    lines = [""]
    for piece in _BREAKS.findall(text):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines if line)


def setting(name: str, value: object) -> str:
    """Name a setting of a channel with what it is; a list as a user writes it."""
    return f"{name} {show(value) if isinstance(value, list) else value}"


def title(results: Results, first: CellResult) -> str:
    """Say in one line what was played: channel, labels, trials, seed."""
    facts, channel = first.labels, parse(first.cell.channel, "channel")
    settings = ", ".join(setting(key, value) for key, value in channel.params.items() if value)
    labels = (
        f"{facts.title} ({facts.n_records} labels, {facts.provenance}, {percent(facts.majority_share)} % one class)"
    )
    trials = count(results.plan.trials, "trial")
    parts = (f"{channel.name} channel", labels, settings, trials, f"seed {results.plan.seed}")
    return " · ".join(filter(None, parts))

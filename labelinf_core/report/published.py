"""What may leave the machine of a run on private labels: coarse figures, and how much they can tell at most.

A report is a channel like any other. Exact counts of correct guesses, the digest of the labels and the random streams
that follow from it are a system of linear equations on the labels; so of private labels a report holds

* shares and intervals on a grid of :data:`STEP`, other numbers with two significant digits;
* no count of any trial or class, no digest, no name that is derived from either, no message or evidence of a component;
* no name of a class, only how many there are: names are values of the labels themselves, which no counting covers;
* of the theory only what a channel declares to be computed from the class counts (:attr:`Channel.counts_only`), and in
  its sentences no number that stands neither in the components' specs nor among sizes that are public.

**What it leaks** is bounded by counting (a report that can take M values tells at most log2 M bits, so nobody recovers
all labels with more than M times the probability of a blind guess). Where every trial plays the labels in a fresh order
drawn under the secret key (:attr:`Channel.fresh_order`), all that comes of it is a function of the class counts and of
chance: those cells tell, together, no more than the class counts, C(N + K - 1, K - 1) possibilities, and nothing at all
about who has which label. Every other cell counts with all the values that its figures can take.

Example:
    >>> round(count_bits(569, 2), 2)
    9.16
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from labelinf_core.contracts.guarantees import BoundValue, Interval, Promise, Verdict, towards
from labelinf_core.evaluator.cells import LabelFacts, Plan
from labelinf_core.evaluator.records import Implied, Status
from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.evaluator.tally import Tally
from labelinf_core.specs import parse

__all__ = ["STEP", "Leak", "count_bits", "leaks", "published"]

_DOUBTED = "what it was played on is not known to be there"
STEP = 0.01  #: grid of every published share of private labels
_DIGITS = 2  # of other numbers
_GRID = round(1 / STEP) + 1
_SHARE = math.log2(_GRID)
_INTERVAL = math.log2(math.comb(_GRID + 2, 3))  # low <= value <= high on the grid
_NUMBER = math.log2(2 * 90 * (308 + 324 + 1) + 4)  # a sign, two digits, an exponent; zero, two infinities, no number
_SAID = {
    Status.REFUSED: "the attack cannot be played under this threat model",
    Status.ERROR: "a component failed; the run record says how",
    Status.TIMEOUT: "the time limit was reached",
    Status.CRASHED: "the process of a worker ended",
}
_YEARS = frozenset(map(str, range(1900, 2100)))
_NUMERAL = re.compile(r"(?<![\w.])\d[\d,\u202f]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")


@attrs.frozen(kw_only=True)
class Leak:
    """How much a report on one set of private labels can tell about them at most.

    Attributes:
        labels: The label set.
        bits: Logarithm (base 2) of the number of reports there could be.
    """

    labels: LabelFacts
    bits: float

    @property
    def held(self) -> float:
        """Bits that the labels hold when nothing is known of them: N log2 K."""
        return self.labels.n_records * math.log2(len(self.labels.class_names))

    def __str__(self) -> str:
        told = f"tells at most {self.bits:.0f} bits about the {self.labels.n_records} labels of {self.labels.title}"
        if self.bits < self.held:
            return f"{told}, which hold {self.held:.0f}"
        return f"{told}: no protection is proved by counting, since they hold {self.held:.0f}; treat it as private"


def published(results: Results) -> Results:
    """Return what may be published of ``results``: all of it on public labels, coarse figures on private ones."""
    plan = results.plan
    names = {facts.digest: f"private-{at}" for at, facts in enumerate(plan.labels, 1) if not facts.public}
    if not names:
        return results
    labels = {facts.digest: _labels(facts, names) for facts in plan.labels}
    cells = tuple(
        result if result.cell.public else _cell(result, plan, labels[result.cell.digest]) for result in results.cells
    )
    told = attrs.evolve(plan, cells=tuple(r.cell for r in cells), labels=tuple(labels.values()), key="")
    made = attrs.evolve(results.made, command="")  # what was typed holds folders, and whatever a scorer is given
    return attrs.evolve(results, plan=told, cells=cells, made=made)


def leaks(results: Results) -> tuple[Leak, ...]:
    """Return what the published part of ``results`` can tell about every set of private labels."""
    return tuple(
        Leak(labels=facts, bits=_bits([r for r in results.cells if r.cell.digest == facts.digest], results.plan, facts))
        for facts in results.plan.labels
        if not facts.public
    )


def count_bits(n_records: int, n_classes: int) -> float:
    """Return the logarithm (base 2) of the number of class counts that ``n_records`` labels can have."""
    return math.log2(math.comb(n_records + n_classes - 1, n_classes - 1))


def _bits(cells: list[CellResult], plan: Plan, facts: LabelFacts) -> float:
    """Count: the class counts once, which cover the theory and the cells in fresh order; every other cell in full."""
    kept = [result for result in cells if not _fresh(result, plan)]
    pipelines = {(result.cell.channel, result.cell.defences): result for result in kept}
    costs = sum(_SHARE + _NUMBER * len(result.implied.utility) + _choice_bits(result) for result in pipelines.values())
    played = sum(_cell_bits(result, plan.trials) for result in kept)
    return count_bits(facts.n_records, len(facts.class_names)) + costs + played


def _choice_bits(result: CellResult) -> float:
    """Count what the attacks on a line of defences can tell where they were chosen: which play, and how many fit."""
    field = result.field
    return field.known + math.log2(field.known + 1) if field is not None and field.chosen else 0.0


def _cell_bits(result: CellResult, trials: int) -> float:
    """Count the values that one cell's figures can take: verdict, ends of its trials, two intervals, means."""
    ends = math.log2(math.comb(trials + len(Status), len(Status)) * len(Status))
    keys = {measure.key for measure in result.measures if measure.of == "trial"}
    means = 1 + len(keys | result.tally.told.keys())  # queries; what asides.py shows
    return math.log2(len(Verdict)) + ends + 2 * _INTERVAL + means * _NUMBER


def _fresh(result: CellResult, plan: Plan) -> bool:
    name = _channel(result)
    return name in plan.fresh_order and name in plan.counts_only


def _channel(result: CellResult) -> str:
    return parse(result.cell.channel, "channel").name


def _labels(facts: LabelFacts, names: Mapping[str, str]) -> LabelFacts:
    if facts.public:
        return facts
    return attrs.evolve(
        facts,
        class_names=tuple(f"class {at}" for at, _ in enumerate(facts.class_names, 1)),
        class_counts=(),
        digest=names[facts.digest],
        content="",
        majority_share=_share(facts.majority_share),
    )


def _cell(exact: CellResult, plan: Plan, labels: LabelFacts) -> CellResult:
    """Coarsen one cell; its name is derived from what anybody may know."""
    known = _numerals(exact, plan)
    theory = (
        exact.implied
        if _channel(exact) in plan.counts_only
        else Implied(status=exact.implied.status, blind=exact.implied.blind)
    )
    return attrs.evolve(
        exact,
        cell=attrs.evolve(exact.cell, digest=labels.digest, content=""),
        labels=labels,
        implied=attrs.evolve(
            _theory(theory, known),
            message=_SAID.get(exact.implied.status, ""),
            baseline=_share(exact.implied.baseline),
            utility={key: _rounded(value) for key, value in exact.implied.utility.items()},
            notes=(),
        ),
        tally=_tally(exact.tally),
        trials=(),
        accuracy=_interval(exact.accuracy),
        exact=_interval(exact.exact),
    )


def _theory(implied: Implied, known: frozenset[str]) -> Implied:
    def coarse(item: Any, field: str = "") -> Any:
        if attrs.has(type(item)):
            return attrs.evolve(
                item, **{f.name: coarse(getattr(item, f.name), f.name) for f in attrs.fields(type(item))}
            )
        if isinstance(item, tuple):
            return tuple(map(coarse, item))
        if field in _RAISED:
            return _RAISED[field](item)
        texts = known | _YEARS if field == "statement" else known
        return _rounded(item, texts) if isinstance(item, float | int | str) else item

    def bound(exact: BoundValue) -> BoundValue:
        told: BoundValue = coarse(exact)
        return attrs.evolve(told, value=exact.weaker(_DIGITS))

    promise: Promise | None = None
    if implied.promise is not None:
        survives = towards(implied.promise.survives, _DIGITS, up=False)
        present = towards(implied.promise.present, _DIGITS, up=True)
        promise = attrs.evolve(coarse(implied.promise), survives=survives, present=present)
    if promise is not None and implied.promise is not None and promise.certified != implied.promise.certified:
        promise = None  # two digits would tell otherwise
    return attrs.evolve(
        implied,
        promise=promise,
        ceilings=tuple(map(coarse, implied.ceilings)),
        bounds=tuple(map(bound, implied.bounds)),
        threat={key: _rounded(value, known) for key, value in implied.threat.items()},
    )


def _tally(exact: Tally) -> Tally:
    """Keep how many trials ended in each way, and coarse figures of all together."""
    first = next((status for status in Status if status is not Status.OK and status in exact.ends), None)
    return Tally(
        ends=exact.ends,
        failure=first and (first, _SAID.get(first, "")),
        queries=None if exact.queries is None else float(int(_rounded(exact.queries))),
        told={key: _rounded(value) for key, value in exact.told.items() if not isinstance(value, str)},
        doubt=exact.doubt and _DOUBTED,  # no more than the verdict says
    )


def _numerals(result: CellResult, plan: Plan) -> frozenset[str]:
    """Return the numbers that anybody may know: those of the components, sizes, small whole numbers."""
    sizes = [
        result.labels.n_records,
        len(result.labels.class_names),
        plan.trials,
        result.implied.threat.get("n_records"),
    ]
    specs = " ".join((result.cell.channel, result.cell.attack, *result.cell.defences, *map(str, sizes)))
    return frozenset({*_NUMERAL.findall(specs), *map(str, range(100))})


def _share(value: float) -> float:
    """Round a share to the grid; only what is exactly 0 or 1 is written so."""
    if value in (0.0, 1.0):
        return value
    return round(min(max(round(value / STEP), 1), _GRID - 2) * STEP, 10)


def _up(value: Any) -> float:
    """Round a share up to the grid; what is on it but for the arithmetic of floats stays."""
    steps = float(value) / STEP
    nearest = round(steps)
    return round(min(nearest if nearest and abs(steps - nearest) < 1e-9 else math.ceil(steps), _GRID - 1) * STEP, 10)


#: What no attack exceeds is only ever raised: the fields of a ceiling, and how.
_RAISED: dict[str, Callable[[float], float]] = {
    **dict.fromkeys(("accuracy", "exact", "allowance", "share"), _up),
    "bits": functools.partial(towards, digits=_DIGITS, up=True),
}


def _interval(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    value = _share(interval.value)
    low = round(math.floor(round(interval.low / STEP, 6)) * STEP, 10)
    return Interval(value=value, low=min(low, value), high=max(_up(interval.high), value))


def _rounded(value: Any, known: frozenset[str] = frozenset()) -> Any:
    """Keep two significant digits of a number that is not known anyway, and of a text no such number."""
    if isinstance(value, str):
        return _NUMERAL.sub(lambda match: match[0] if match[0] in known else "…", value)
    if isinstance(value, bool) or value is None or not math.isfinite(value) or str(value) in known:
        return value
    return type(value)(float(f"{value:.1e}"))

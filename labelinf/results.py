"""What the functions of games return: their answer in words, as rows, and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from labelinf.shown import WIDTH, ShownResult

if TYPE_CHECKING:
    from labelinf_core.advise.search import Advice
    from labelinf_core.contracts.audited import AuditDecision, AuditWord
    from labelinf_core.contracts.components import Measure
    from labelinf_core.contracts.exits import Exit
    from labelinf_core.contracts.guarantees import BoundValue, Ceiling
    from labelinf_core.contracts.pictures import Picture
    from labelinf_core.evaluator.cells import Plan
    from labelinf_core.evaluator.records import Implied
    from labelinf_core.evaluator.results import CellResult, Results

__all__ = ["Advised", "AuditResult", "Listing", "Played", "Theory", "attacked_picture"]


@attrs.frozen(kw_only=True, repr=False)
class Listing(ShownResult):
    """What a function found.

    Attributes:
        report: All of it, as its room has it.
        words: The answer, a line each.
        table: What is behind it, a row each.
        drawn: What can be drawn of it.
    """

    report: Any
    words: tuple[str, ...]
    table: tuple[Mapping[str, Any], ...]
    drawn: tuple[Picture, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the answer in words."""
        return iter(self.words)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield what is behind it."""
        return iter(self.table)

    def pictures(self) -> Iterator[Picture]:
        """Yield what can be drawn of it."""
        return iter(self.drawn)


@attrs.frozen(kw_only=True, repr=False)
class AuditResult(Listing):
    """What an audit found: as private as the labels.

    Attributes:
        decision: What it comes to.
    """

    decision: AuditDecision

    @property
    def word(self) -> AuditWord:
        """The answer in a word, such as ``leaks`` or ``no leak shown``."""
        return self.decision.word

    @property
    def status(self) -> Exit:
        """How its command ends."""
        return self.decision.status


@attrs.frozen(kw_only=True, repr=False)
class Played(ShownResult):
    """What came of a run, with every figure: as private as the labels.

    Attributes:
        results: All of it.
    """

    results: Results

    @property
    def cells(self) -> tuple[CellResult, ...]:
        """Every cell, in the order of the plan."""
        return self.results.cells

    @property
    def plan(self) -> Plan:
        """What was played."""
        return self.results.plan

    def lines(self) -> Iterator[str]:
        """Yield what leaks, what stops it at what cost, and what is not known."""
        from labelinf_core.report.headline import headline
        from labelinf_core.report.words import incomplete

        yield from filter(None, (incomplete(self.results),))
        yield from headline(self.results, WIDTH)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield one row a cell, with the columns of ``results.csv``."""
        from labelinf_core.report.data import row

        return map(row, self.results.cells)

    def pictures(self) -> Iterator[Picture]:
        """Yield the strongest attack on every defence, leakage against strength, leakage against cost."""
        from labelinf_core.report import pictures
        from labelinf_core.report.boards import boards

        for board in boards(self.results):
            yield pictures.worst(board)
            yield from pictures.strengths(board)
            yield from pictures.costs(board)


@attrs.frozen(kw_only=True, repr=False)
class Theory(ShownResult):
    """What theory implies.

    Attributes:
        implied: All of it.
    """

    implied: Implied

    @property
    def baseline(self) -> float:
        """Accuracy of the best blind guess."""
        return self.implied.baseline

    @property
    def ceilings(self) -> tuple[Ceiling, ...]:
        """What no attack exceeds."""
        return self.implied.ceilings

    @property
    def bounds(self) -> tuple[BoundValue, ...]:
        """Every line of the theory."""
        return self.implied.bounds

    def lines(self) -> Iterator[str]:
        """Yield the blind guess and the ceilings, the lowest first."""
        from labelinf_core.report import words

        yield f"best blind guess: {words.percent(self.baseline)} %"
        for item in sorted(self.ceilings, key=lambda ceiling: ceiling.reached):
            yield f"{words.ceiling(item, self.baseline)}; {item.statement} ({item.conditions})"
        if not self.ceilings:
            yield "no ceiling is proved: all labels may come out"

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield one row a bound."""
        for bound in self.bounds:
            yield {**attrs.asdict(bound), "direction": bound.direction.value}

    def pictures(self) -> Iterator[Picture]:
        """Yield the ceilings beside the blind guess."""
        from labelinf_core.contracts.pictures import Picture, Series

        told = sorted(self.ceilings, key=lambda ceiling: ceiling.reached)
        heights = [self.baseline, *(ceiling.reached for ceiling in told)]
        yield Picture(
            title="What no attack exceeds on average",
            x="statement",
            y="labels recovered, %",
            series=(
                Series(name="at most", points=tuple((float(i), 100 * y) for i, y in enumerate(heights)), line=False),
            ),
            names=("blind guess", *(ceiling.statement for ceiling in told)),
        )


@attrs.frozen(kw_only=True, repr=False)
class Advised(ShownResult):
    """The smallest strength of every defence for a target.

    Attributes:
        target: What was to be reached.
        found: One advice a knob.
        measures: What a cost is counted in.
        played: Whether attacks were played at all.
    """

    target: str
    found: tuple[Advice, ...]
    measures: tuple[Measure, ...]
    played: bool = True

    def lines(self) -> Iterator[str]:
        """Yield what leaks, what stops it, what that costs."""
        from labelinf_core.advise.answer import answer_of

        yield f"target: {self.target}"
        yield from answer_of(self.found, self.measures, played=self.played).lines(WIDTH)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield one row a knob, its costs by name."""
        for item in self.found:
            yield {
                "defence": item.knob.title,
                "proved": item.certified,
                "statement": item.statement,
                "forced": item.forced,
                "forced by": item.strongest_attack,
                **item.certified_cost,
            }

    def pictures(self) -> Iterator[Picture]:
        """Yield what the certified settings cost, by every measure."""
        from labelinf_core.contracts.pictures import Picture, Series

        for measure in self.measures:
            known = [item for item in self.found if measure.key in item.certified_cost]
            if known:
                points = tuple((float(at), float(item.certified_cost[measure.key])) for at, item in enumerate(known))
                yield Picture(
                    title=f"What the target costs: {measure.title} ({measure.better} is better)",
                    x="proved setting",
                    y=measure.title,
                    series=(Series(name=measure.title, points=points, line=False),),
                    names=tuple(item.setting for item in known),
                )


def attacked_picture(title: str, rows: Iterable[Mapping[str, Any]]) -> tuple[Picture, ...]:
    """Draw observed shares with their intervals beside the blind guess, of what was played."""
    from labelinf_core.contracts.pictures import Picture, Series

    played = [row for row in rows if row["accuracy"] is not None]
    if not played:
        return ()
    at = [float(index) for index in range(len(played))]
    found = Picture(
        title=title,
        x="attack",
        y="labels recovered, %",
        series=(
            Series(
                name="observed",
                points=tuple(zip(at, (100 * row["accuracy"] for row in played), strict=True)),
                spans=tuple((100 * row["accuracy_low"], 100 * row["accuracy_high"]) for row in played),
                line=False,
            ),
            Series(
                name="a blind guess",
                points=tuple(zip(at, (100 * row["baseline"] for row in played), strict=True)),
                bound=True,
            ),
        ),
        names=tuple(row["attack"] for row in played),
    )
    return (found,)

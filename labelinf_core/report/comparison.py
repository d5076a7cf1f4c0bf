"""What changed between two runs.

Cells are matched by the game that was played (channel, labels, attack, defences), whatever versions played it. A cell
changed when its verdict did, or when the two 95 % intervals of its accuracy do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.components import HALF_WIDTH
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.report import words
from labelinf_core.report.console import fitting, plain_table, whole_column

__all__ = ["Comparison", "GameChange", "as_document", "compare_results", "print_comparison"]


@attrs.frozen(kw_only=True)
class GameChange:
    """One game whose outcome differs.

    Attributes:
        before: The cell in the first run.
        after: The cell in the second.
    """

    before: CellResult
    after: CellResult

    @property
    def is_worse(self) -> bool:
        """Whether more labels come out than did, beyond the intervals."""
        return _apart(self.before.accuracy, self.after.accuracy)

    @property
    def word(self) -> str:
        """``worse``, ``better``, or ``verdict`` when only that differs."""
        if self.is_worse:
            return "worse"
        better = not self.is_silent and _apart(self.after.accuracy, self.before.accuracy)
        return "better" if better else "verdict"

    @property
    def is_silent(self) -> bool:
        """Whether the second run does not show what leaks now: it was played on a guess, or is not played any more."""
        whole = self.after.accuracy is not None and self.after.failure is None
        return bool(self.after.doubt) or (self.before.accuracy is not None and not whole)


@attrs.frozen(kw_only=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        shared: Games that both played.
        changes: Those of them with different outcomes.
        only_before: Cells that the second run lacks.
        only_after: Cells that the first run lacks.
    """

    shared: tuple[GameChange, ...]
    changes: tuple[GameChange, ...]
    only_before: tuple[CellResult, ...]
    only_after: tuple[CellResult, ...]

    @property
    def silent(self) -> tuple[GameChange, ...]:
        """Games of which the second run does not show what leaks now."""
        return tuple(pair for pair in self.shared if pair.is_silent)

    @property
    def n_same(self) -> int:
        """Games that both played with the same outcome."""
        return len(self.shared) - len(self.changes)


def compare_results(before: Results, after: Results) -> Comparison:
    """Match the cells of two runs.

    Raises:
        InputError: They have no game in common.
    """
    earlier = {result.cell.contest: result for result in before.cells}
    later = {result.cell.contest: result for result in after.cells}
    shared = [GameChange(before=earlier[game], after=later[game]) for game in earlier if game in later]
    if not shared:
        raise InputError(
            "the two runs have no game in common, so there is nothing to compare: their labels, channels, attacks or "
            "defences differ."
        )
    changes = tuple(pair for pair in shared if pair.before.verdict is not pair.after.verdict or pair.word != "verdict")
    return Comparison(
        shared=tuple(shared),
        changes=changes,
        only_before=tuple(result for game, result in earlier.items() if game not in later),
        only_after=tuple(result for game, result in later.items() if game not in earlier),
    )


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print what it comes to, the changes, and how many games did not change or have no counterpart."""
    console.print(*map(Text, answer(comparison).lines(console.width)), "", sep="\n")
    if comparison.changes:
        console.print(fitting(_table(comparison), console, lambda: _lines(comparison)))
    counts = (
        f"{words.count(len(comparison.changes), 'game')} changed, {comparison.n_same} did not; "
        f"{len(comparison.only_before)} only before, {len(comparison.only_after)} only after"
    )
    console.print(Text(counts, style="dim"))


def _table(comparison: Comparison) -> Table:
    table = plain_table(header_style="bold")
    table.add_column("attack")
    table.add_column("defence")
    whole_column(table, "before", (_told(change.before) for change in comparison.changes))
    whole_column(table, "after", (_told(change.after) for change in comparison.changes))
    table.add_column("")
    for change in comparison.changes:
        table.add_row(
            words.attack(change.after),
            words.pipeline(change.after),
            *(Text(_told(cell), style=words.STYLES[cell.verdict]) for cell in (change.before, change.after)),
            change.word,
        )
    return table


def _lines(comparison: Comparison) -> Text:
    """Say the same without a table."""
    text = Text()
    for change in comparison.changes:
        text.append(
            f"{words.attack(change.after)} against {words.pipeline(change.after)}: {change.word}\n", style="bold"
        )
        for when, cell in (("before", change.before), ("after", change.after)):
            text.append(f"  {when} {_told(cell)}\n", style=words.STYLES[cell.verdict])
    return text


def answer(comparison: Comparison) -> Answer:
    """Return what leaks more than it did, what leaks less, and what costs changed."""
    named = {
        word: [
            f"{words.attack(c.after)} against {words.pipeline(c.after)}" for c in comparison.changes if c.word == word
        ]
        for word in ("worse", "better", "verdict")
    }
    told = {word: f"{words.count(len(games), 'game')}: {_few(games)}" for word, games in named.items() if games}
    leaks = f"more in {told['worse']}" if "worse" in told else "no more than before, in any game that both played"
    if silent := comparison.silent:
        names = _few([f"{words.attack(pair.after)} against {words.pipeline(pair.after)}" for pair in silent])
        leaks += f"; {words.count(len(silent), 'game')} {'shows' if len(silent) == 1 else 'show'} nothing now: {names}"
    return Answer(
        leaks=leaks,
        stopped=f"better now in {told['better']}" if "better" in told else "nothing new",
        costs="; ".join(_costs(comparison)) or "the same in every game that both played",
    )


def _few(names: list[str]) -> str:
    return "; ".join(names[:2]) + (f"; and {len(names) - 2} more" if len(names) > 2 else "")


def _costs(comparison: Comparison) -> Iterator[str]:
    """Say which lines of defences cost something else than they did."""
    seen = set()
    for pair in comparison.shared:
        name = words.pipeline(pair.after)
        before, after = (words.cost(_utility(cell), cell.measures) for cell in (pair.before, pair.after))
        if name not in seen and before != after:
            seen.add(name)
            yield f"{name}: {after or 'not measured'}, was {before or 'not measured'}"


def _utility(cell: CellResult) -> Mapping[str, float]:
    keys = [key for item in cell.measures for key in (item.key, item.key + HALF_WIDTH)]
    return {key: cell.implied.utility[key] for key in keys if key in cell.implied.utility}


def as_document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain data."""
    return {
        "changes": [
            {
                "game": _game(change.after),
                "change": change.word,
                "before": _state(change.before),
                "after": _state(change.after),
            }
            for change in comparison.changes
        ],
        "same": comparison.n_same,
        "only_before": [_game(result) for result in comparison.only_before],
        "only_after": [_game(result) for result in comparison.only_after],
    }


def _game(result: CellResult) -> list[str]:
    """Name what was played; of the labels only their title, for a digest would confirm a guess of them."""
    return [result.cell.channel, result.labels.title, result.cell.attack, *result.cell.written]


def _state(result: CellResult) -> dict[str, Any]:
    accuracy = attrs.asdict(result.accuracy) if result.accuracy else None
    return {"verdict": result.verdict.value, "accuracy": accuracy, "trouble": words.trouble(result)}


def _told(result: CellResult) -> str:
    return f"{words.told(result.accuracy)} {words.verdict(result)}" if result.accuracy else words.verdict(result)


def _apart(lower: Interval | None, upper: Interval | None) -> bool:
    return lower is not None and upper is not None and lower.high < upper.low

"""What ``labelinf bounds`` prints: the lines of the theory by quantity, each with formula, conditions and source."""

from __future__ import annotations

import itertools

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.evaluator.records import Implied
from labelinf_core.report import words
from labelinf_core.report.console import make_console, plain_table

__all__ = ["by_quantity", "print_bounds", "value_columns", "value_headers"]

_PROPORTIONS = ("accuracy", "exact recovery", "gain")


def print_bounds(implied: Implied) -> None:
    """Print everything the theory says of a threat model."""
    console = make_console()
    facts = " · ".join(
        f"{key.replace('_', ' ')} {_fact(value)}" for key, value in implied.threat.items() if _tells(value)
    )
    console.print(Text(facts, style="bold"))
    lines = sorted(implied.bounds, key=by_quantity)
    for quantity, group in itertools.groupby(lines, key=lambda bound: bound.quantity):
        console.print()
        console.print(Text(quantity, style="bold underline"))
        console.print(_bounds_table(list(group)))
    _print_ceilings(implied, console)
    if not (implied.bounds or implied.ceilings):
        console.print("\nno statement of the loaded plugins applies to it")


def by_quantity(bound: BoundValue) -> tuple[str, bool, float]:
    """Sort bounds by quantity, floors before ceilings, small before large."""
    return bound.quantity, bound.direction is Direction.CEILING, bound.value


def _bounds_table(lines: list[BoundValue]) -> RenderableType:
    """Return one entry per bound: its value, and below its title formula, conditions and source."""
    table = plain_table()
    for name in value_headers(lines):
        table.add_column(name, justify="right", no_wrap=True, min_width=8)
    table.add_column("")
    for bound in lines:
        reason = f"\n{bound.formula}; {bound.conditions}\n{bound.statement}"
        table.add_row(*value_columns(bound), Text(bound.title).append(reason, style="dim"))
    return Padding(table, (0, 0, 0, 2), expand=False)


def value_headers(lines: list[BoundValue]) -> tuple[str, str]:
    """Return the headers of the directions: more noise than a ceiling is enough, more of anything else impossible."""
    return "floor", "enough" if all(bound.quantity == "noise" for bound in lines) else "ceiling"


def value_columns(bound: BoundValue) -> tuple[str, str]:
    """Return the value of a bound in the column of its direction, rounded to where it says less."""
    if bound.quantity in _PROPORTIONS:
        value = words.percent(bound.weaker(3 if bound.value >= 0.1 else 2 if bound.value >= 0.01 else 1)) + " %"
    else:
        value = words.number(bound.weaker(max(3, len(f"{abs(bound.value):.0f}"))))
    return (value, "") if bound.direction is Direction.FLOOR else ("", value)


def _print_ceilings(implied: Implied, console: Console) -> None:
    if not implied.ceilings:
        return
    console.print()
    console.print(Text("on average no attack gains more, under the conditions beside it", style="bold underline"))
    table = plain_table()
    for name in ("points over the\nbest blind guess", "labels, %", "all, %"):
        table.add_column(name, justify="right")
    for name in ("conditions", "source"):
        table.add_column(name)
    for item in sorted(implied.ceilings, key=lambda ceiling: ceiling.reached):
        shown = (words.gain(item, implied.baseline), words.at_most(item.reached), words.at_most(item.exact))
        table.add_row(*shown, item.conditions, item.statement)
    console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _tells(value: object) -> bool:
    """Whether a fact of a threat model is worth a word: not when it is absent, unlimited or simply true."""
    return value not in (None, False, True, 0, "", "inf")


def _fact(value: object) -> str:
    return words.number(value) if isinstance(value, float) else str(value)

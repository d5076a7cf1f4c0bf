"""What every table is read by: its signs, and what contradicts itself."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.evaluator.results import CellResult
from labelinf_core.report import words

__all__ = ["alarm", "legend"]


def alarm(result: CellResult) -> Text:
    """Say which statement an observation contradicts, so that nobody misses it."""
    return Text(f"‼ CONTRADICTION  {words.contradiction(result)}\n", style="bold red")


def legend(cells: Iterable[CellResult]) -> Text:
    """Say what the signs of the verdicts mean that occur, what the numbers are, and how attacks were chosen."""
    board = list(cells)
    present = {result.verdict for result in board}
    items = [
        (f"{words.sign(verdict)} {verdict.value}", words.STYLES[verdict]) for verdict in Verdict if verdict in present
    ]
    text = Text("  ").join(Text(*item) for item in items)
    note = "\n± is half of the 95 % interval, > and < its far end, where it exceeds one point"
    if all(result.tally.trials <= 1 for result in board):
        note += "; one trial shows no spread between trials"
    note += "".join(f"\n{told}" for told in words.choice(board))
    return text.append(note, style="dim")

"""The answer before any table, in at most fifteen lines: what leaks, what stops it and at what cost, what is not known.

Every pipeline of defences stands in one line of its board, by the worst cell that is known of it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.evaluator.results import CellResult, Results, worst
from labelinf_core.report import words
from labelinf_core.report.boards import Board, baseline, boards, columns, costs
from labelinf_core.specs import parse

__all__ = ["BoardAnswer", "answers", "headline"]

LINES = 15  #: no headline is longer
_INDENT = 14
_OBSERVED = (Verdict.BROKEN_OBSERVED, Verdict.VIEW_REVEALS)  #: what leaks though nothing had promised it
_SAID: Mapping[str, tuple[Verdict, ...]] = {
    "alarm": (Verdict.CONTRADICTION,),
    "leaks": (Verdict.BROKEN_CERTIFIED, *_OBSERVED),
    "stopped by": (Verdict.HELD_CERTIFIED,),
    "partly by": (Verdict.HELD_PARTLY,),
    "if as stated": (Verdict.HELD_IF_STATED,),
    "not proved": (Verdict.HELD_SO_FAR,),
    "not tested": (Verdict.UNTESTED, Verdict.NOT_PLAYED, Verdict.LEAKY),
}  #: what is said of a pipeline, by the verdict of its worst cell


@attrs.frozen
class _Line:
    """A pipeline of defences: its worst cell, and the first of what it costs honest users."""

    worst: CellResult
    cost: str

    @property
    def recovered(self) -> tuple[bool, float]:
        """Whether it is known how much leaks, and the share of labels recovered; 0 where no attack was played."""
        return not _open(self.worst), self.worst.accuracy.value if self.worst.accuracy else 0.0


def headline(results: Results, width: int) -> Iterator[str]:
    """Yield the answer's lines, none longer than ``width``; boards that find no room are counted in the last line.

    What is too long for its line goes on in the next one while there are lines left: titles and what leaks come last.
    """
    told = [list(_items(said)) for said in answers(results)]
    left = LINES - sum(map(len, told))
    room, shown = (LINES if left >= 0 else LINES - 1), 0
    whole = set()
    for word, said in sorted((item for items in told for item in items), key=lambda item: ("leaks", "").count(item[0])):
        if (more := len(_wrapped(said, width, word)) - 1) <= left:
            left -= more
            whole.add((word, said))
    for items in told:
        if len(items) > room:
            break
        for word, said in items:
            lines = _wrapped(said, width, word)
            yield from lines if (word, said) in whole else _cut(lines, width)
        room, shown = room - len(items), shown + 1
    if more := len(told) - shown:
        yield f"and {words.count(more, 'board')} more, below"


@attrs.frozen(kw_only=True)
class BoardAnswer:
    """The answer of one board.

    Attributes:
        title: What was played, and what a blind guess gets.
        parts: What is said of its pipelines, by the word that heads it, each of them whole.
    """

    title: str
    parts: Mapping[str, tuple[str, ...]]


def answers(results: Results) -> Iterator[BoardAnswer]:
    """Yield the answer of every board, with all that there is to say."""
    found = list(boards(results))
    for board in found:
        blind = words.percent(baseline(board))
        lines = list(_lines(board))
        parts = {}
        for word, verdicts in _SAID.items():
            if these := [line for line in lines if line.worst.verdict in verdicts]:
                these.sort(key=lambda line: line.recovered, reverse=word in ("alarm", "leaks"))
                parts[word] = tuple(_told(word, these))
        yield BoardAnswer(title=f"{_name(board, found)}: a blind guess is right on {blind} %", parts=parts)


def _items(said: BoardAnswer) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what has a line of its own: its heading, and what is said there."""
    yield "", (said.title,)
    yield from said.parts.items()


def _name(board: Board, among: Iterable[Board]) -> str:
    """Name a board: its channel and labels, and the settings that it has and others, which share both, have not."""

    def key(cells: Board) -> tuple[str, str]:
        return parse(cells[0].cell.channel, "headline").name, cells[0].labels.title

    params = parse(board[0].cell.channel, "headline").params
    others = [parse(cells[0].cell.channel, "headline").params for cells in among if key(cells) == key(board)]
    said = {name: value for name, value in params.items() if value not in (None, [])}
    own = [
        words.setting(name, value) for name, value in said.items() if any(other.get(name) != value for other in others)
    ]
    return ", ".join((f"{key(board)[0]} channel", key(board)[1], *own))


def _lines(board: Board) -> Iterator[_Line]:
    by_pipeline = columns(board)
    prices = costs(by_pipeline)
    for index, cells in enumerate(by_pipeline.values()):
        told = (f"{title} {row[index]}" for title, row in prices.items() if row[index])
        yield _Line(worst(cells), next(told, ""))


def _told(word: str, lines: Iterable[_Line]) -> Iterator[str]:
    """Say what is known of every pipeline under a word."""
    last = None
    for line in lines:
        result, name = line.worst, words.pipeline(line.worst)
        if result.accuracy is None or word == "not tested":
            yield f"{name}: {result.doubt}" if result.doubt else name
        elif result.ceiling is not None and word in ("stopped by", "partly by"):
            cost = f", {line.cost}" if line.cost else ""
            most = words.gain(result.ceiling, result.implied.baseline)
            yield f"{name}: on average at most {most} points above it{cost}"
        else:
            by = words.attack(result)
            yield f"{name}: {_much(result)}" + ("" if by == last else f" by {by}{_spent(result)}")
            last = by


def _open(result: CellResult) -> bool:
    """Whether something leaks of which nobody knows how much: the interval reaches down to the blind guess.

    That anything leaks is asked of all labels of all trials; how much, of the spread between few trials.
    """
    found = result.accuracy
    return result.verdict in _OBSERVED and found is not None and found.low <= result.implied.baseline


def _much(result: CellResult) -> str:
    """Say how many labels came out, and how surely."""
    found = result.accuracy
    if found is None or not _open(result):
        return words.told(found) if found else ""
    low, high = (f"{100 * end:.0f}" for end in (found.low, found.high))
    return f"how much is open ({low} to {high} % in {words.count(result.tally.played, 'trial')})"


def _spent(result: CellResult) -> str:
    if not result.tally.queries:
        return ""
    return f" in {words.count(round(result.tally.queries), 'query')}"


def _wrapped(items: Sequence[str], width: int, word: str) -> list[str]:
    """Join what finds room in a line, the rest counted; a first item that is too long goes on in further lines."""
    head, indent = (f"  {word:<{_INDENT - 2}}", " " * _INDENT) if word else ("", "")
    for n in range(len(items), 0, -1):
        text = "; ".join(items[:n]) + (f"; and {len(items) - n} more" if n < len(items) else "")
        if len(indent + text) <= width:
            return [head + text]
    kept = re.sub(r" (?=\d)", "\N{NO-BREAK SPACE}", text)  # a number stays with its name
    lines = textwrap.wrap(kept, max(width - len(indent), 1), break_on_hyphens=False)
    return [(indent if number else head) + line.replace("\N{NO-BREAK SPACE}", " ") for number, line in enumerate(lines)]


def _cut(lines: list[str], width: int) -> Iterator[str]:
    """Yield the first of the lines, which says where it leaves the others out."""
    yield lines[0] if len(lines) == 1 else f"{lines[0][: width - 3].rstrip()}..."

"""A guarded board in Python.

from labelinf import guard

board = guard.open("board.toml")                       # guard.init begins one
answer = board.submit("alice", guard.csv(ids, predictions))
print(answer.score, answer.left)
print(board.certificate().sentences())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from labelinf.results import Audited, Found
    from labelinf_guard.board import Board

__all__ = ["audit", "csv", "init", "open", "plan", "status"]


def plan(
    *,
    records: int,
    classes: int = 2,
    values: Sequence[float] = (),
    metric: str = "accuracy",
    low: float | None = None,
    high: float | None = None,
    decimals: int = 3,
    teams: int = 100,
    submissions: int = 100,
    gain: str | float = 0.1,
    perfect: str | float | None = None,
    counts_unknown: bool = False,
) -> Found:
    """Show what each policy proves, what the best known attack gets, and what honest teams lose.

    >>> from labelinf import guard
    >>> [row["policy"] for row in guard.plan(records=200, teams=2, submissions=2).rows()][-1]
    'do nothing'

    Args:
        records: Private labels.
        classes: Of how many classes.
        values: Of labels that are numbers: the least, the greatest, and the step between.
        metric: One that ships.
        low: Of all its scores, where ``board.toml`` must say it.
        high: The same from above.
        decimals: Of an answer.
        teams: How many.
        submissions: Of every team.
        gain: The target over the best blind guess, a fraction: ``"10%"`` or ``.1``.
        perfect: Accuracy of a perfect model, a fraction, if it is assumed.
        counts_unknown: Whether it is assumed that nobody knows the class counts.

    Returns:
        One row a policy.

    Raises:
        InputError: There is no such metric, of such labels.
    """
    import attrs

    from labelinf.results import Found
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.contracts.fractions import fraction
    from labelinf_guard.plan import PlanQuestion, lines, table

    asked = PlanQuestion(
        records=records,
        classes=classes,
        values=tuple(values),
        metric=metric,
        low=low,
        high=high,
        decimals=decimals,
        teams=teams,
        submissions=submissions,
        gain=fraction(gain, "gain"),
        perfect=None if perfect is None else fraction(perfect, "perfect"),
        counts_known=not counts_unknown,
    )
    try:
        rows = table(asked)
    except ValueError as error:  # of what a board.toml cannot say
        raise InputError(str(error).rstrip(".") + ".") from error
    return Found(report=rows, words=tuple(lines(rows)), table=tuple(map(attrs.asdict, rows)))


def init(path: str | Path) -> Board:
    """Begin a board, as ``labelinf guard init`` does.

    Raises:
        InputError: Something cannot be used, the board exists, or it proves less than its target.
    """
    from pathlib import Path

    from labelinf_guard.board import Board

    return Board.init(Path(path))


def open(path: str | Path) -> Board:
    """Open a board that was begun.

    Raises:
        InputError: It was not begun, or what it was begun with has changed since.
    """
    from pathlib import Path

    from labelinf_guard.board import Board

    return Board.open(Path(path))


def status(board: str | Path, *, seconds: float = 10.0) -> Found:
    """Show what was spent and is left, the certificate, which labels are determined, who surprises. For the host.

    Args:
        board: Its ``board.toml``.
        seconds: To spend on which labels its answers determine.

    Raises:
        InputError: It was not begun.
    """
    from contextlib import closing

    from labelinf.results import Found
    from labelinf_guard.status import shown, status_of

    with closing(open(board)) as opened:
        opened.ledger.settle()
        found = status_of(opened, seconds=seconds)
    return Found(report=found, words=tuple(shown(found)), table=(found,))


def audit(board: str | Path, *, gain: str | float | None = None, seed: int = 0) -> Audited:
    """Attack a board as it is deployed, on its labels; nothing is asked of it.

    Args:
        board: Its ``board.toml``.
        gain: Over the best blind guess, a fraction; the board's own target if None.
        seed: Of all that is drawn.

    Raises:
        InputError: It was not begun, or attacks are not played on boards of its kind.
    """
    from contextlib import closing

    from labelinf.audits import scorer_audited
    from labelinf_core.contracts.fractions import fraction
    from labelinf_core.plugin.host import Host
    from labelinf_core.specs import Builder
    from labelinf_guard.deployed import deployed
    from labelinf_scores.audit.report import Goal, audited

    with closing(open(board)) as opened:
        found = deployed(opened)
    report = audited(
        "sklearn",
        found.labels,
        Builder(Host.load()),
        metric=found.metric,
        stages=(found.stage,),
        queries=found.queries,
        seed=seed,
        goal=Goal(gain=found.gain if gain is None else fraction(gain, "gain")),
        until=found.until,
        besides=found.besides,
    )
    return scorer_audited(report)


def csv(ids: Iterable[object], predictions: Iterable[object], *, column: str = "id") -> bytes:
    """Return a submission as CSV: one prediction for every id.

    Args:
        ids: In any order.
        predictions: Classes, or probabilities of the second of two classes.
        column: What the board calls the ids.
    """
    import csv as table
    import io

    text = io.StringIO()
    writer = table.writer(text, lineterminator="\n")
    writer.writerow((column, "prediction"))
    writer.writerows(zip(ids, predictions, strict=True))
    return text.getvalue().encode()

"""What a host sees of a board: what was spent, what is proved, and whose scores surprise. None of it is for teams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelinf_guard.board import Board

__all__ = ["shown", "status_of"]

_MANY = 2.0  # times the board's usual price


def status_of(board: Board) -> dict[str, Any]:
    """Return the state of a board, for JSON.

    The price of a score is what it surprised by: who probes is dear, at no further cost and without a label. Every
    team's own prices are set beside the median of all. A suspicion changes no answer; it informs the host.
    """
    book, certificate = board.ledger.book, board.certificate()
    told = [entry for entry in book.entries if entry.symbol is not None]
    usual = _median([entry.charge for entry in told])
    teams = []
    for team in dict.fromkeys(entry.team for entry in book.entries):
        own = [entry.charge for entry in told if entry.team == team]
        dear = len(own) >= 3 and _median(own) > _MANY * usual > 0
        teams.append({"team": team, "submissions": len(own), "bits": sum(own) / 1024, "surprising": dear})
    budget = book.known().budget
    return {
        "spent": book.spent / 1024,
        "reserved": book.reserved / 1024,
        "budget": budget / 1024 if budget >= 0 else None,
        "closed": book.closed,
        "submissions": len(book.entries),
        "teams": teams,
        "certificate": certificate.sentences(),
        "arithmetic": certificate.arithmetic(),
        "head": board.ledger.head,
    }


def shown(found: Mapping[str, Any]) -> list[str]:
    """Return the same as lines to read."""
    budget = "no limit" if found["budget"] is None else f"{found['budget']:.1f}"
    lines = [
        f"spent {found['spent']:.1f} bits, reserved {found['reserved']:.1f}, budget {budget}",
        f"{found['submissions']} submissions; {found['closed'] or 'open'}",
    ]
    for row in found["teams"]:
        mark = "  scores surprise far more than usual: look at its files" if row["surprising"] else ""
        lines.append(f"  {row['team']:24} {row['submissions']:5} submissions {row['bits']:8.1f} bits{mark}")
    return [
        *lines,
        "",
        *found["certificate"],
        "",
        *(f"  {line}" for line in found["arithmetic"]),
        f"head {found['head']}",
    ]


def _median(values: list[int]) -> float:
    ordered = sorted(values)
    return float(ordered[len(ordered) // 2]) if ordered else 0.0

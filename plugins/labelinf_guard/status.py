"""What a host sees of a board: what was spent, what is proved, and whose scores surprise. None of it is for teams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_high
from typing import Any

from labelinf_guard.board import Board
from labelinf_guard.certificate.gain import game_line
from labelinf_guard.certificate.statement import Certificate, counted
from labelinf_guard.ledger.charge import Near, PublicRecord, charge_of
from labelinf_guard.recommendation import of_each_team

__all__ = ["about", "beside", "besides", "sections", "shown", "status_of"]

_STRANGE = 3.0  # bits above what is usual: eight times less likely
_FEW = 3  # scores that say something of a team
_UNREAD = "files of submissions were changed or are gone"
_LEVELS = 1001  # that a score is told apart by
_LAST = 20  # answers of a team, and of the others


def status_of(board: Board, *, seconds: float) -> dict[str, Any]:
    """Return the state of a board, for JSON.

    Args:
        board: The board, settled.
        seconds: To spend on which labels its answers already determine.

    Who asks instead of predicting gets scores that surprise, and surprise is what a ledger prices, without a label. A
    team that goes on asking surprises its own history less and less: so its scores are priced here by the others'
    answers alone. A suspicion changes no answer; it informs the host.
    """
    from labelinf_guard.audit import determined, odometer

    book, certificate, faults = board.ledger.book, board.certificate(), board.faults()
    strange = _strange(board)
    usual = median_high(strange.values()) if strange else 0.0
    teams = []
    for team in dict.fromkeys(entry.team for entry in book.entries):
        own = [entry.charge for entry in book.entries if entry.team == team and entry.symbol is not None]
        asks = strange.get(team, 0.0) > usual + _STRANGE
        teams.append({"team": team, "submissions": len(own), "bits": sum(own) / 1024, "surprising": asks})
    budget = book.known().budget
    return {
        "spent": book.spent / 1024,
        "reserved": book.reserved / 1024,
        "budget": budget / 1024 if budget >= 0 else None,
        "closed": book.closed,
        "left": book.sure(),
        "submissions": len(book.entries),
        "teams": teams,
        "faults": faults,
        "labels": {"status": _UNREAD} if faults else determined(board, seconds),
        "odometer": odometer(board) if board.policy.release.noise and not faults else None,
        "line": {
            "now": _line(board, certificate),
            "full": certificate.line,
            "doubt": certificate.terms.doubt,
            "perfect": certificate.terms.perfect,
            "until": " before the final release" if certificate.terms.final is not None else "",
        },
        "board": board.recommendation().lines(),
        "certificate": certificate.sentences(),
        "arithmetic": certificate.arithmetic(),
        "head": board.ledger.head,
        "ahead": board.ledger.ahead / 3.6e6,
        "others": board.others(),
    }


def shown(found: Mapping[str, Any]) -> list[str]:
    """Return the same as lines to read."""
    lines = [line for part in sections(found).values() for line in [*part, ""]]
    return lines[:-1]


def sections(found: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the same as lines under headings."""
    budget = "no limit" if found["budget"] is None else f"{found['budget']:.1f}"
    state = found["closed"] or f"open, {counted(found['left'], 'answer')} surely left for all teams together"
    spent = [
        f"spent {found['spent']:.1f} bits, reserved {found['reserved']:.1f}, budget {budget}",
        f"{counted(found['submissions'], 'submission')}; {state}",
        *(f"WRONG  {fault}." for fault in found["faults"]),
    ]
    teams = []
    for row in found["teams"]:
        mark = "  scores surprise far more than usual: look at its files" if row["surprising"] else ""
        teams.append(f"{row['team']:24} {row['submissions']:5} submissions {row['bits']:8.1f} bits{mark}")
    line = found["line"]
    known = [*_known(found["labels"]), *_run(found["odometer"], line["doubt"])]
    if line["now"] is not None:
        full = "" if line["full"] is None else f", or on {100 * line['full']:.1f} % when all is told,"
        known.append(
            f"by what was charged so far one list of guesses fixed by a rule{line['until']} is right on "
            f"{100 * line['now']:.1f} % or more{full} with probability {line['doubt']:g} at most, if a perfect model "
            f"is right on {100 * line['perfect']:g} % on average (your assumption; not measured)"
        )
    return {
        "Spent": spent,
        "Teams": teams or ["no team has sent anything"],
        "Known so far": known,
        "The board": found["board"],
        "Certificate": found["certificate"],
        "Arithmetic": found["arithmetic"],
        "Ledger": [*beside(found["others"]), *_ahead(found["ahead"]), f"head {found['head']}"],
    }


def _ahead(hours: float) -> list[str]:
    """Say that the ledger's days are not the clock's; nothing of what a running clock is off."""
    if hours < 1:
        return []
    return [
        f"NOTE: the ledger's last time is {hours:.1f} hours after this machine's: one of the two clocks was wrong. "
        "Quotas of a day count by the ledger."
    ]


def about(board: Board) -> dict[str, str]:
    """Return what everybody may know of a board before they submit: what it scores, tells and has left."""
    part, release, book = board.policy.board, board.policy.release, board.ledger.book
    quota = board.policy.budget
    return {
        "Metric": f"{part.metric or part.ours}, {'less' if board.minimise else 'more'} is better",
        "Answers": {
            "scores": f"scores of {counted(release.decimals, 'decimal')}",
            "records": "the best score of all teams so far",
            "ranks": "how many submissions so far were better",
        }[release.show]
        + f", every {release.beat:g} seconds",
        "Submission": f"CSV with the columns {', '.join(board.expected.columns)}",
        "Each team": of_each_team((quota.per_team, quota.per_team_day), quota.per_board),
        "Left": book.closed or f"{counted(book.sure(), 'answer')} of all teams together",
    }


def beside(others: Sequence[str]) -> list[str]:
    """Say that other boards score the same labels; nothing where none is known."""
    if not others:
        return []
    return [
        f"NOTE: {', '.join(others)} scores the same file of labels, or did. Certificates of several boards do not hold "
        "together: what one proves says nothing of whoever uses the answers of two."
    ]


def besides(board: Board) -> list[str]:
    """Return what was told of a board's labels, or may have been, and no charge of its ledger counts; for the host."""
    book, said = board.ledger.book, []
    if book.final:
        said.append("the final scores are out")
    elif book.final_lost and (board.policy.final.scores or board.policy.final.ranks):
        said.append("the final scores may be out: rows of the ledger were lost")
    return said + [f"{name} scores the same file of labels, or did" for name in board.others()]


def _line(board: Board, certificate: Certificate) -> float | None:
    """Return the line of one list of guesses that stops now: what was charged bounds this game at any moment (B3).

    The gain has no such form: it is a mean over games, of the whole budget.
    """
    terms, book = certificate.terms, board.ledger.book
    if terms.perfect is None or terms.group or besides(board):
        return None
    told = (book.spent + book.reserved) / 1024
    line = game_line(told, terms.labels, terms.perfect, doubt=terms.doubt, rare=terms.rare)
    return certificate.line if line is None else line


def _known(found: Mapping[str, Any]) -> list[str]:
    if found["status"] != "audited":
        return [f"labels already determined: not read ({found['status']})"]
    return [
        f"labels already determined: {found['determined']} (proved), {found['claimed']} by the solver only, "
        f"{found['open']} open, {found['unknown']} unknown"
    ]


def _run(found: Mapping[str, Any] | None, doubt: float) -> list[str]:
    if found is None:
        return []
    line = ""
    if found.get("line") is not None:
        line = (
            f"; by them one list of guesses fixed by a rule is right on {100 * found['line']:.1f} % or more with "
            f"probability {doubt:g} at most, under the same assumption"
        )
    return [f"odometer, which depends on labels and is for you alone: {found['bits']:.1f} bits in this game{line}"]


def _strange(board: Board) -> dict[str, float]:
    """Return by how many bits the median score of a team surprises the others, of teams with three scores at least."""
    if board.policy.release.show != "scores":
        return {}
    told: dict[str, list[int]] = {}
    answers = board.scale.answers  # more levels than so many would only take time
    recent = [
        (entry.team, (entry.symbol or 0) * min(_LEVELS, answers) // answers) for entry in reversed(board.answered())
    ]
    for team, symbol in recent:
        told.setdefault(team, []).append(symbol)
    found, rule = {}, Near(answers=min(_LEVELS, board.scale.answers))
    for team, own in told.items():
        others = tuple(symbol for name, symbol in recent if name != team)[:_LAST]
        if len(own) >= _FEW and others:
            weights = rule.weights(PublicRecord(board=others))
            found[team] = median_high(charge_of(weights[symbol]) / 1024 for symbol in own[:_LAST])
    return found

"""What a board has already given away, from what it told: which labels its answers determine. For the host alone.

The answers of a board without noise are equations about its public labels; ``labelinf audit log`` solves such
equations, and what it proves is proved in whole numbers. Here it reads the ledger's answers and the files that were
kept.

Where answers or labels are noisy nothing is determined, and what has been told in this very game is bounded by an
**odometer** (B5): with ``b = sum of log2 P(answer | labels) / Q(answer)`` over all answers, one list of guesses fixed
by a rule has k right with ``P(Bin(N, p*) >= k) <= doubt 2**-b / (N + 1)`` with probability ``doubt`` at most. *Proof.*
For fixed answers t, the sum over labels of ``P(Y) 2**b(t, Y) 1[2**b <= c / G(agreement)]`` is at most c times the
sum of P / G, which is N + 1; average over t under Q. It depends on labels: nobody but the host may see it; it closes
no board.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from labelinf_guard.board import Board
from labelinf_guard.certificate.gain import game_line
from labelinf_guard.certificate.noise import lattice_log
from labelinf_guard.export.stateless import GRID
from labelinf_guard.ledger.book import LedgerEntry
from labelinf_guard.metrics import METRICS
from labelinf_guard.status import besides

__all__ = ["determined", "odometer"]

_CHANGED = "an answer is not what the metric gives of these labels: they were changed"


def determined(board: Board, seconds: float) -> dict[str, Any]:
    """Say how many public labels the answers determine.

    Args:
        board: Whose answers are read; they have been settled.
        seconds: To spend.

    Returns:
        ``status``: ``audited``, or why it was not; and where it was, the number of labels ``determined`` (proved), by a
        solver's word alone (``claimed``), ``open`` and ``unknown``.
    """
    if why := _unread(board):
        return {"status": why}
    from labelinf_scores.audit.log.certificate import Log
    from labelinf_scores.audit.log.determined import Known, determine
    from labelinf_scores.metrics.readings import Released, Totals
    from labelinf_scores.metrics.readings.registry import metric

    part, inside, labels = board.policy.board, board.public, board.scored
    reader = metric(part.metric)
    totals = Totals.binary(n_records=labels.size, n_positive=int(labels.sum()))
    released = Released(decimals=board.policy.release.decimals, noise=Fraction(1, GRID))
    clip = part.parameters.get("clip", 0.01) if part.metric == "log-loss" else 0.0
    readings = []
    for entry in board.answered():
        rows = board.rows(entry)[inside]
        chance = rows.astype(np.float64) if rows.ndim == 1 else np.clip(rows[:, 1], clip, 1 - clip)
        score = Fraction(board.text(entry.symbol or 0))
        try:
            readings.append(reader.reading(chance, score, totals, released))
        except ValueError:
            return {"status": _CHANGED}
    log = Log.of(readings, totals.counts)
    if not log.holds(labels):
        return {"status": _CHANGED}
    found = determine(log, labels, seconds=seconds)
    return {"status": "audited", **{known.name.lower(): found.count(known) for known in Known}}


def _unread(board: Board) -> str:
    policy = board.policy
    if policy.public.flip:
        return "labels are replaced: answers determine noisy ones at most"
    if policy.release.noise:
        return "answers are noisy: they determine nothing"
    if policy.release.show != "scores" or policy.release.low is not None or policy.release.high is not None:
        return "records, ranks and cut scores are not read"
    if policy.board.metric not in METRICS or len(policy.board.classes) != 2:
        return "other metrics than the guard's own, and more than two classes, are not read"
    if not 0 < int(board.scored.sum()) < board.scored.size:
        return "all public labels are of one class"
    return "" if board.answered() else "nothing was told"


def odometer(board: Board) -> dict[str, Any]:
    """Return the bits that were told in this very game, and the line of one list of guesses by them.

    Returns:
        ``bits``, which may be negative; and ``line`` where a perfect model was assumed and one is proved, as long as
        no final score is out.
    """
    terms, bits = (
        board.certificate().terms,
        board.ledger.book.spent / 1024,
    )  # what was lost in full: it may have been told
    for entry in board.answered():
        bits += _chance(board, entry)
    found: dict[str, Any] = {"bits": bits}
    if terms.perfect is not None and not terms.group and not besides(board):
        paid = max(0.0, bits) + math.log2(terms.labels + 1)
        found["line"] = game_line(paid, terms.labels, terms.perfect, doubt=terms.doubt, rare=terms.rare)
    return found


def _chance(board: Board, entry: LedgerEntry) -> float:
    """Return ``log2 P(answer | labels)`` from above: discrete Gaussian noise on its grid, behind the exact score."""
    noise, score, scale = board.noise(), board.exact(entry), board.scale
    if noise is None or score is None or entry.symbol is None:
        return 0.0
    grid, far = noise.steps(score), 1 << 80

    def edge(symbol: int) -> int:
        """Return by how many steps the noise is at least what an answer begins with."""
        if not 0 < symbol < scale.answers:
            return -far if symbol <= 0 else far
        return math.ceil(scale.edge(symbol) / noise.step) - grid

    return min(0.0, lattice_log(edge(entry.symbol), edge(entry.symbol + 1) - 1, noise.variance) / math.log(2))

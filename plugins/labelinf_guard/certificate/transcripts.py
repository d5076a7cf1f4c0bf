"""How many transcripts a board can have at all, whatever is asked: bits that hold without a ledger's budget.

* ``scores``: each of q answers is one of so many, or none: ``q log2(answers + 1)``;
* ``records``: the board-wide record after every submission never falls (B11): q of J + 1 levels that never fall are
  ``C(q + J, J)``, for all teams together. A record for every *team* would be multiplied by those who join forces;
* ``ranks``: the n-th submission is behind 0 to n of those before it, or has no score (B12): ``log2((q + 1)!)``. A
  thousand ranks are 8 539 bits, more than a thousand scores of two decimals: ranks are not a defence, and their bits
  are printed.

Example:
    >>> round(transcript_bits("records", 51, 100_000)), round(transcript_bits("ranks", 0, 1000))
    (616, 8539)
"""

from __future__ import annotations

import math

__all__ = ["transcript_bits"]

_UP = 1 + 1e-9


def transcript_bits(show: str, answers: int, submissions: int) -> float:
    """Return the logarithm of the number of transcripts.

    Args:
        show: ``scores``, ``records`` or ``ranks``.
        answers: Values that a score can take, or levels of a record; of ranks it does not matter.
        submissions: q, of all teams together.
    """
    if show == "scores":
        return submissions * math.log2(answers + 1) * _UP
    if show == "ranks":
        return math.lgamma(submissions + 2) / math.log(2) * _UP
    total = math.lgamma(submissions + answers) - math.lgamma(submissions + 1) - math.lgamma(answers)
    return max(0.0, total) / math.log(2) * _UP + 1e-6

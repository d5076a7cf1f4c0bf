"""How a client chose the entries that it sent: a rule is believed where it is seen at work, and not before."""

from __future__ import annotations

import enum
import math

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.audit.seen import UpdateRows

__all__ = ["Choice", "chosen"]

_TIE = 1e-5  # relative: sizes that rounding may have put in another order
_SURELY = 5.0  # standard errors


class Choice(enum.Enum):
    """Rules for what is sent."""

    LARGEST = "the largest"
    LARGE = "those above one size"
    FIXED = "always the same ones"
    RANDOM = "drawn at random"
    RANDOM_SOMEHOW = "drawn at random in a way that was not found"
    UNKNOWN = "by no rule that was found"

    @property
    def found(self) -> bool:
        """Whether it is known what is sent."""
        return self not in (Choice.RANDOM_SOMEHOW, Choice.UNKNOWN)


def chosen(predicted: NDArray[np.float64], quiet: NDArray[np.float64] | None, seen: UpdateRows) -> Choice:
    """Return how the entries that were sent were chosen.

    Args:
        predicted: What would be sent if everything was, shape ``(n, d)``.
        quiet: The same about batches of which nothing at all was sent, shape ``(m, d)``; None where that is not known.
        seen: What was sent.
    """
    sizes, sent = np.abs(predicted), seen.sent != 0
    if seen.gaps_differ:
        return (
            Choice.RANDOM
            if quiet is not None and not len(quiet) and _evenly(seen, sizes[0] > 0)
            else (Choice.RANDOM_SOMEHOW)
        )
    if quiet is None:
        return Choice.UNKNOWN
    if len(quiet):
        held = max(sizes[~sent].max(initial=0), np.abs(quiet).max())
        return Choice.LARGE if sizes[sent].min() >= held * (1 - _TIE) else Choice.UNKNOWN
    if _always_the_same(sizes > 0, sent):
        return Choice.FIXED
    parts = [(sizes[:, place], sent[:, place]) for place in seen.places if sizes[:, place].any()]
    return Choice.LARGEST if _largest(sizes, sent) or all(_largest(*part) for part in parts) else Choice.UNKNOWN


def _largest(sizes: NDArray[np.float64], sent: NDArray[np.bool_]) -> bool:
    """Whether something was sent in every row, and nothing that is smaller than what was held back."""
    some = sent.any(axis=1) | ~sizes.any(axis=1)
    least = np.where(sent, sizes, np.inf).min(axis=1)
    return bool(some.all() and (least >= np.where(sent, 0, sizes).max(axis=1) * (1 - _TIE)).all())


def _always_the_same(alive: NDArray[np.bool_], sent: NDArray[np.bool_]) -> bool:
    """Whether entries that have a gradient more than once are sent always or never, and some of both occur."""
    always, never = (sent | ~alive).all(axis=0), ~sent.any(axis=0)
    often = alive.sum(axis=0) > 1
    return bool((always | never)[often].all() and (always & often).any() and (never & often).any())


def _evenly(seen: UpdateRows, alive: NDArray[np.bool_]) -> bool:
    """Whether all entries of a parameter are sent about as often when the first batch is asked about again."""
    calls = np.concatenate([seen.sent[:1], seen.again]) != 0
    for place in seen.places:
        own = calls[:, place][:, alive[place]]
        share = own.mean() if own.size else 0.0
        if 0 < share < 1:
            spread = np.mean((own.sum(axis=0) - len(own) * share) ** 2) / (len(own) * share * (1 - share))
            if spread > 1 + _SURELY * math.sqrt(2 / own.shape[1]):
                return False
    return True

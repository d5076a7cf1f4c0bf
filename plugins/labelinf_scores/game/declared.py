"""What a user's function says of itself, tried out: it is believed where it answers as it says, to the last bit.

A function may carry ``facts`` (:class:`~labelinf_scores.game.scoring.ScorerFacts`). They say in which arithmetic it
computes which loss; so there is a number that it must answer, for any labels and predictions, and it is asked for
some. One wrong answer, or two different ones to one question, and nothing is known of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.game.scoring import ScorerFacts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_scores.metrics.additive import AdditiveLoss

__all__ = ["answers_as_it_says"]

_SIZES = (1, 2, 3, 8, 9, 127, 130, 300)  # around the blocks in which NumPy adds up
_EACH = 4  # games of every size
_MANY = 24  # of the game's own: sums in another order agree to the last bit in most


def answers_as_it_says(
    function: Callable[..., Any], declared: ScorerFacts, loss: AdditiveLoss, n_classes: int, n_records: int = 0
) -> bool:
    """Return whether ``function`` computes ``loss`` as ``declared``, bit for bit, wherever it is tried.

    What it says it does besides (its ``effects``), and a sum of unknown order, cannot be tried out. Functions that
    add up in pieces of thousands show it only where there are as many records: ``n_records`` are tried, too.
    """
    if declared.effects or declared.summation == "unknown":
        return False
    try:
        numbers, read = make_arithmetic(declared.arithmetic), make_arithmetic(declared.input_format)
        for labels, predictions in _cases(n_classes, n_records):
            seen = read.convert(predictions)
            if declared.clip:
                seen = np.clip(seen, *read.convert(np.array([declared.clip, 1 - declared.clip])))
            expected = numbers.release(loss.score(labels, seen, numbers))
            answers = [float(function(labels.copy(), predictions.copy())) for _ in range(2)]
            if answers != [float(expected)] * 2:
                return False
    except Exception:  # a stranger's code; and what is no number format is no fact
        return False
    return True


def _cases(n_classes: int, n_records: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Yield labels and predictions, certain ones among them, that are not a game's."""
    rng = np.random.default_rng(0)
    for size in (*_SIZES, *(() if n_records <= _SIZES[-1] else (n_records,))):
        for turn in range(_EACH if size <= _SIZES[-1] else _MANY):
            labels = rng.integers(0, n_classes, size)
            if n_classes == 2 and turn % 2:
                predictions = rng.beta(0.2, 0.2, size)
                predictions[: size // 4] = rng.integers(0, 2, size // 4) if turn > 1 else 0.5
            else:
                predictions = rng.dirichlet(np.full(n_classes, 0.2), size)
            yield labels, predictions

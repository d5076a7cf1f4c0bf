"""How much of a guess of batches is chance: a batch is one observation, for its labels stand or fall together.

Whether anything leaks is asked of *random draws*: guesses that know nothing of the labels are as likely to fit other
records of the same population as the attacked ones. So records are drawn again, the best of all guesses is counted on
each draw, and how often that reaches what was seen is an exact p-value (Dwass 1957): no label needs to be independent
of another, and that the best attack was chosen afterwards is paid for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Interval
from labelinf_core.statistics.proportions import alarm_accuracy, clopper_pearson

__all__ = ["of_batches", "overlaps", "p_value"]

_DRAWS = 999


def overlaps(guess: NDArray[np.intp], truth: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how many labels of every batch are in the multiset that is guessed, shape ``(..., n)``.

    Args:
        guess: Shape ``(n, batch)``; what is negative is no guess.
        truth: Shape ``(..., n, batch)``.
    """
    if truth.shape[-1] == 1:
        return np.asarray((guess == truth).sum(axis=-1))
    both = np.zeros(truth.shape[:-1], dtype=np.intp)
    for label in np.unique(guess[guess >= 0]):
        both += np.minimum((guess == label).sum(axis=-1), (truth == label).sum(axis=-1))
    return both


def p_value(
    guesses: Sequence[NDArray[np.intp]], truth: NDArray[np.intp], pool: NDArray[np.intp], rng: np.random.Generator
) -> float:
    """Return how probable it is that the best of guesses has as many right on records that it knows nothing of.

    Args:
        guesses: Each of shape ``(n, batch)``.
        truth: The labels behind the batches, drawn from the pool without replacement.
        pool: All labels that could have been drawn.
        rng: Of the draws.
    """
    if not guesses:
        return 1.0
    drawn = np.array([rng.permutation(pool)[: truth.size].reshape(truth.shape) for _ in range(_DRAWS)])
    seen = max(int(overlaps(guess, truth).sum()) for guess in guesses)
    by_chance = np.max([overlaps(guess, drawn).sum(axis=1) for guess in guesses], axis=0)
    return float((1 + np.count_nonzero(by_chance >= seen)) / (1 + _DRAWS))


def of_batches(right: NDArray[np.intp], size: int, *, tried: int, confidence: float = 0.95) -> Interval:
    """Return the share of labels that is right, with an interval that counts batches and allows for having chosen.

    Args:
        right: Labels that are right in every batch, shape ``(n,)``.
        size: Labels in a batch.
        tried: Attacks, of which this one is the best.
        confidence: Of all of them together.
    """
    own = 1 - (1 - confidence) / max(1, tried)
    if size == 1:
        return clopper_pearson(int(right.sum()), len(right), own)
    return alarm_accuracy(right / size, size, own)

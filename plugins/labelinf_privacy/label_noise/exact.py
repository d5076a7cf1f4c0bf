"""Label noise whose law is a table of whole numbers, so that what is certified is what is drawn.

An answer is chosen by one 64-bit word: row k of the table says how many of the ``2**64`` words lead from label k to
each answer. Every probability is then a multiple of ``2**-64``, no float decides anything, and the epsilon of label-DP
is read from the table: the largest ratio in a column.

Example:
    >>> from labelinf_privacy.label_noise.randomised_response import RandomisedResponse
    >>> noise = RandomisedResponse(epsilon=1.0)
    >>> [sum(row) == 2**64 for row in noise.weights(3)], enumerated_epsilon(noise.weights(3)) <= Fraction(1)
    ([True, True, True], True)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelNoise, Weights
from labelinf_privacy.words import SeededWords, Words

__all__ = ["WORDS", "ExactLabelNoise", "enumerated_epsilon", "even", "no_less", "responses"]

WORDS = 2**64  #: how many words there are
_BITS = 200


class ExactLabelNoise(LabelNoise):
    """Draws from its own table of weights."""

    def sample(self, labels: NDArray[np.intp], n_classes: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return an answer for every label, drawn from a seed: for what is evaluated."""
        return self.answer(labels, n_classes, SeededWords(rng))

    def answer(self, labels: NDArray[np.intp], n_classes: int, source: Words) -> NDArray[np.intp]:
        """Return an answer for every label, shape as given.

        Args:
            labels: 0..K-1, shape ``(n,)``.
            n_classes: K.
            source: Of one word a label: :class:`~labelinf_privacy.words.SystemWords` when deployed.
        """
        words = source.words(labels.size)
        answers = np.empty(labels.shape, dtype=np.intp)
        for label, row in enumerate(self.weights(n_classes)):
            asked = labels == label
            answers[asked] = _chosen(words[asked], row)
        return answers


def _chosen(words: NDArray[np.uint64], row: Sequence[int]) -> NDArray[np.intp]:
    """Return the answer that every word leads to."""
    ends = np.array([end - 1 for end in itertools.accumulate(row) if end > 0], dtype=np.uint64)  # last word of each
    none_before = len(row) - len(ends)  # answers at the front that no word leads to
    return np.searchsorted(ends, words, side="left") + none_before


def responses(epsilon: float, n_classes: int) -> tuple[int, int]:
    """Return how many words keep a label, and how many lead to each other class, in K-ary randomised response.

    The other classes get ``2**64 / (e**eps + K - 1)``, rounded up: the ratio of the two is at most ``e**eps``.
    """
    with gmpy2.context(precision=_BITS, round=gmpy2.RoundDown):
        least = gmpy2.exp(gmpy2.mpfr(epsilon)) + (n_classes - 1)
    with gmpy2.context(precision=_BITS, round=gmpy2.RoundUp):
        lost = int(gmpy2.ceil(WORDS / least))
    return WORDS - (n_classes - 1) * lost, lost


def even(n: int) -> tuple[int, ...]:
    """Return all words spread over ``n`` answers, as evenly as can be."""
    share, rest = divmod(WORDS, n)
    return tuple(share + (place < rest) for place in range(n))


def no_less(epsilon: float, n_classes: int) -> float:
    """Return the epsilon that answers made for ``epsilon`` have: no 64-bit words are spread more evenly than this."""
    return max(epsilon, n_classes**2 * 2.0**-63)


def enumerated_epsilon(weights: Weights) -> float:
    """Return the epsilon of pure label-DP of a table, rounded up: infinity where some label rules an answer out."""
    columns = [column for column in zip(*weights, strict=True) if any(column)]
    if any(0 in column for column in columns):
        return float("inf")
    worst = max(Fraction(max(column), min(column)) for column in columns)
    with gmpy2.context(precision=_BITS, round=gmpy2.RoundUp):
        exact = gmpy2.log(gmpy2.mpfr(gmpy2.mpq(worst)))
    with gmpy2.context(precision=53, round=gmpy2.RoundUp):
        return float(gmpy2.mpfr(exact))

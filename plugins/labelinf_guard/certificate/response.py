"""What labels prove that were replaced at random once, before anything was scored (randomised response, B8).

Every public label was replaced with probability ``f``, by any other class, each as likely; whatever is told afterwards,
however often, depends on the labels through that alone. Then

* *counts unknown*: gain at most ``D (1 - f K / (K - 1))``: given all that is told, a label depends on its own noisy
  label only, and the laws of that for two classes are ``1 - f - f / (K - 1)`` apart in total variation. Coins of two
  classes attain it;
* *one game*: given the noisy labels the labels are independent, and the right guesses of one list are at most as many
  as independent ones of mean ``p* + D (1 - f K / (K - 1))`` (Hoeffding, for unequal ones);
* *counts known*: of the first nothing is proved (its form for one prior, ``max(p, 1 - f)``, is false: N = 4, one label
  of the second class, f = .231: .8135 of them, above .769), and the second is **false**: N = 4, two of each, f = .401:
  all four are right with .2625, where .1285 was printed. But noise that nobody asked for by the counts tells of labels
  and counts together no more than of the labels, ``I(Y; T) = I(C; T) + I(Y; T | C)``: at most N times the capacity of
  one label's channel, whatever depends on what. With the counts' own these bits are worth what
  :func:`~labelinf_guard.certificate.gain.gain_of_bits` says; and a line pays for the counts as for an answer.

Example:
    >>> round(response_gain(Fraction(2, 5), 2, 0.5), 3), round(response_bits(25_000, Fraction(2, 5), 2, 0.5))
    (0.1, 726)
"""

from __future__ import annotations

import math
from fractions import Fraction

from labelinf_guard.certificate.gain import binary_entropy

__all__ = ["response_bits", "response_epsilon", "response_gain"]

_UP = 1 + 1e-9


def response_gain(flip: Fraction, classes: int, left: float) -> float:
    """Return the gain, at most, of independent labels whose counts are unknown, as a share of them.

    Args:
        flip: f, with which a label was replaced, in (0, 1 - 1/K).
        classes: K.
        left: D, what a perfect model leaves to gain.
    """
    return left * float(1 - flip * Fraction(classes, classes - 1)) * _UP


def response_bits(labels: int, flip: Fraction, classes: int, left: float) -> float:
    """Return the mutual information, at most, of labels and noisy labels, whatever the labels depend on.

    Args:
        labels: N.
        flip: f.
        classes: K.
        left: D; of two classes, what is already sure is told again: the information of one label is concave in its
            prior.
    """
    replaced = float(flip)
    if classes == 2:
        seen = left * (1 - replaced) + (1 - left) * replaced
        return labels * max(0.0, binary_entropy(seen) - binary_entropy(replaced)) * _UP
    rest = binary_entropy(replaced) + replaced * math.log2(classes - 1)
    return labels * max(0.0, math.log2(classes) - rest) * _UP


def response_epsilon(flip: Fraction, classes: int) -> float:
    """Return ``ln((1 - f)(K - 1) / f)``: by how much the odds of a label move at most, as a logarithm."""
    return math.log(float((1 - flip) * (classes - 1) / flip)) * _UP

"""What the low bits of a noisy score give away: which unnoised scores it can have come from.

Noise in floats is drawn from a set of doubles, and a released score is the rounded sum of one of them and the score.
So a released score can have come from some scores and from others not, however wide the noise (Mironov, CCS 2012). A
query about one record, all other rows telling nothing, has one score for every label, and these are known to the last
bit. What remains is to count the draws that lead from each of them to the answer.

Example: Laplace noise of scale 8, and two scores that it should not let anyone tell apart.
    >>> rng = np.random.default_rng(1)
    >>> answers = 0.5 + rng.laplace(0.0, 8.0, 200)
    >>> never = sum(laplace_draws(answer, 0.6, 8.0) == 0 for answer in answers.tolist())
    >>> min(laplace_draws(answer, 0.5, 8.0) for answer in answers.tolist()) > 0, never > 60
    (True, True)
"""

from __future__ import annotations

import math

__all__ = ["laplace_draws", "reaching_doubles", "whole_steps"]

_UNITS = 2**53  # NumPy's uniform doubles are the multiples of 2**-53
_MARGIN = 6  # draws that the inverse may be off by
_UNLIKELY = 1e-6  # of an answer that no whole number of steps leads to
_WIDEST = 512  # draws beyond which counting them tells too little


def laplace_draws(answer: float, score: float, scale: float) -> float:
    """Return how many of NumPy's ``2**53`` uniform draws take ``score`` to ``answer``.

    ``Generator.laplace`` returns ``scale log(2 U)`` for U below 1/2, else ``-scale log(2 - U - U)``.

    Args:
        answer: What was released.
        score: What noise may have been added to.
        scale: Of the Laplace noise.

    Returns:
        A count; NaN where there are too many to count.
    """
    noise = answer - score
    half = math.exp(-abs(noise) / scale) / 2  # U, or 1 - U
    width = (math.ulp(answer) + math.ulp(noise)) * _UNITS * half / scale
    if not width <= _WIDEST:
        return math.nan
    middle, reach = round(_UNITS * (half if noise < 0 else 1 - half)), math.ceil(width) + _MARGIN
    draws = range(max(1, middle - reach), min(_UNITS - 1, middle + reach) + 1)
    return float(sum(score + _laplace(draw / _UNITS, scale) == answer for draw in draws))


def _laplace(uniform: float, scale: float) -> float:
    if uniform >= 0.5:
        return 0.0 - scale * math.log(2.0 - uniform - uniform)
    return 0.0 + scale * math.log(uniform + uniform)


def reaching_doubles(answer: float, score: float) -> float:
    """Return how much room the doubles that take ``score`` to ``answer`` leave noise, whatever draws it.

    A double stands for the numbers that are rounded to it. Where noise is larger than the answer, doubles are farther
    apart there than answers are, and some answers are out of reach.

    Args:
        answer: What was released.
        score: What noise may have been added to.
    """
    noise = answer - score
    if math.ulp(noise) <= math.ulp(answer):
        return math.ulp(answer)
    below, above = _beside(noise)
    return sum(_room(near) for near in (below, noise, above) if score + near == answer)


def whole_steps(answer: float, score: float, step: float) -> float:
    """Return how well a whole number of steps, added to ``score`` in doubles, explains the very bits of the answer.

    Where noise and score are put on the grid together, as they must be, this says nothing of the score.

    Args:
        answer: What was released.
        score: What noise may have been added to.
        step: Of the noise.
    """
    return 1.0 if score + round((answer - score) / step) * step == answer else _UNLIKELY


def _beside(value: float) -> tuple[float, float]:
    return math.nextafter(value, -math.inf), math.nextafter(value, math.inf)


def _room(value: float) -> float:
    """Return the width of what is rounded to a double; on one side of a power of two it is half of the other."""
    below, above = _beside(value)
    return (above - below) / 2

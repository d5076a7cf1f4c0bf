"""Arithmetic on answers: floats, or reals of any precision from a curator that computes exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.game.scoring import Answer

__all__ = ["add", "combined", "is_float", "precise", "rounded", "scaled", "to_step"]

_GUARD_BITS = 64


def is_float(answer: Answer) -> bool:
    """Whether ``answer`` is an ordinary float, of any width."""
    return isinstance(answer, float | np.floating)


def precise(values: NDArray[Any], precision: int | None = None) -> AbstractContextManager[object]:
    """Return the context in which ``+ - * /`` of ``values`` lose nothing that their own digits, or a query's, hold.

    Args:
        values: Floats, for which nothing changes, or ``gmpy2`` numbers in an object array.
        precision: Bits of the answer that was asked for.
    """
    if values.dtype != object:
        return nullcontext()
    own = max((int(value.precision) for value in values.flat if isinstance(value, gmpy2.mpfr)), default=53)
    context: AbstractContextManager[object] = gmpy2.context(
        gmpy2.get_context(), precision=max(own, precision or 0) + _GUARD_BITS
    )
    return context


def add(answer: Answer, noise: float) -> Answer:
    """Return ``answer + noise``, at no less than the answer's own precision."""
    if is_float(answer):
        return float(answer) + noise
    with _at_precision_of(answer):
        return answer + gmpy2.mpfr(noise, 53)


def scaled(answer: Answer, factor: float) -> Answer:
    """Return ``answer * factor``, at no less than the answer's own precision."""
    if is_float(answer):
        return float(answer) * factor
    with _at_precision_of(answer):
        return answer * gmpy2.mpfr(factor, 53)


def combined(answers: Sequence[Answer], weights: Sequence[float]) -> Answer:
    """Return the weighted sum of answers of one kind, at no less than their own precision."""
    if all(map(is_float, answers)):
        return math.fsum(float(answer) * weight for answer, weight in zip(answers, weights, strict=True))
    with _at_precision_of(answers[0]):
        return sum(answer * gmpy2.mpfr(weight, 53) for answer, weight in zip(answers, weights, strict=True))


def rounded(answer: Answer, decimals: int) -> float:
    """Return the float nearest to ``answer`` rounded to ``decimals``, halves to even.

    Correctly rounded whatever the precision; an infinite answer stays as it is.
    """
    if is_float(answer):
        return round(float(answer), decimals)
    if gmpy2.is_infinite(answer):
        return math.copysign(math.inf, answer)
    units = round(gmpy2.mpq(answer) * 10**decimals)
    return float(gmpy2.mpq(units, 10**decimals))


def to_step(answer: Answer, step: float) -> float:
    """Return the multiple of ``step`` nearest to ``answer``, halves up; an infinite answer stays as it is.

    Halves always up: then answers within ``J * step`` of each other become at most ``J + 1`` multiples.
    """
    value = float(answer)
    return value if math.isinf(value) else math.floor(value / step + 0.5) * step


def _at_precision_of(answer: Any) -> Any:
    return gmpy2.context(gmpy2.get_context(), precision=int(answer.precision) + _GUARD_BITS)

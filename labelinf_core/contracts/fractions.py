"""One way to write a fraction: ``5%`` and ``.05`` are the same, and what is neither is refused."""

from __future__ import annotations

import math
import re

from labelinf_core.contracts.errors import InputError

__all__ = ["fraction"]

_PERCENT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*%")


def fraction(value: str | float, what: str) -> float:
    """Return a fraction of one, written as ``5%`` or ``.05``.

    Args:
        value: What was written, or a number.
        what: What it is, for the error: ``"--gain"``.

    Raises:
        InputError: It is neither, or no number from 0 to 1; ``5`` alone may be meant as points or as a mistake.
    """
    text = str(value).strip()
    try:
        number = float(match[1]) / 100 if (match := _PERCENT.fullmatch(text)) else float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        hint = f" ({text}% if that is meant)" if 1 < number <= 100 and "%" not in text else ""
        raise InputError(f"{what} {text!r}: write a fraction as 5% or .05, from 0 to 1{hint}.")
    return number

"""Number formats by the name that a suite, a scorer or a threat model gives them."""

from __future__ import annotations

from labelinf_core.contracts.errors import InputError
from labelinf_scores.arithmetic.base import Arithmetic
from labelinf_scores.arithmetic.formats import NAMES, format_named

__all__ = ["make_arithmetic"]


def make_arithmetic(name: str) -> Arithmetic:
    """Return the number format called ``name``. Each format's module is imported when it is first asked for.

    Args:
        name: One of :data:`~labelinf_scores.arithmetic.formats.NAMES`, with a number of bits in place of ``PHI``.

    Raises:
        InputError: There is no such format.

    Example:
        >>> make_arithmetic("fpa:9").name
        'fpa:9'
    """
    if name == "float64" or name == "float32":
        from labelinf_scores.arithmetic.ieee import Ieee

        return Ieee(name=name)
    if name == "exact":
        from labelinf_scores.arithmetic.exact import Exact

        return Exact()
    if name in ("bfloat16", "float16"):
        from labelinf_scores.arithmetic.small import BFLOAT16, FLOAT16

        return BFLOAT16 if name == "bfloat16" else FLOAT16
    if (found := format_named(name)).known:
        from labelinf_scores.arithmetic.fixed import Fixed

        return Fixed.of_bits(int(found.bits))
    raise InputError(f"there is no arithmetic {name!r}; choose one of {', '.join(NAMES)} (PHI: an odd number of bits).")

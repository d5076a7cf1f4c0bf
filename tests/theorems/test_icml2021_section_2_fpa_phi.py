"""S4, ICML 2021, section 2: the numbers of FPA(phi). Erratum I-2: they are fixed point, not floating point."""

from __future__ import annotations

import itertools

import pytest
from gmpy2 import mpq

from labelinf_core.contracts.errors import InputError
from labelinf_scores.arithmetic.fixed import Fixed


def every_number(phi: int) -> list[mpq]:
    """All numbers of FPA(phi), found by rounding a grid four times as fine, beyond the range on either side."""
    numbers, f = Fixed.of_bits(phi), (phi - 1) // 2
    found = set()
    for n in range(-4 * 2 ** (2 * f) - 8, 4 * 2 ** (2 * f) + 9):
        try:
            found.add(numbers.convert([mpq(n, 4 * 2**f)])[0])
        except InputError:
            assert abs(mpq(n, 4 * 2**f)) >= 2**f - mpq(1, 2 * 2**f)
    return sorted(found)


@pytest.mark.parametrize("phi", [3, 5, 7, 9])
def test_fpa_holds_the_multiples_of_the_step_inside_the_range(phi: int) -> None:
    f = (phi - 1) // 2

    assert every_number(phi) == [mpq(n, 2**f) for n in range(-(2 ** (2 * f)) + 1, 2 ** (2 * f))]
    assert len(every_number(phi)) == 2**phi - 1  # one sign bit and phi - 1 others, with a single zero


def test_erratum_i2_the_step_does_not_scale_with_the_number() -> None:
    """A floating-point format of the same shape would be coarser near the top and finer near zero."""
    numbers = every_number(9)
    steps = {high - low for low, high in itertools.pairwise(numbers)}

    assert steps == {mpq(1, 16)} == {Fixed.of_bits(9).step}


def test_the_worked_number() -> None:
    assert Fixed.of_bits(9).release(mpq(0.6931471805599453)) == 11 / 16

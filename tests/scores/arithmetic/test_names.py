from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_scores.arithmetic import make_arithmetic

EVERY = ("exact", "float64", "float32", "bfloat16", "float16", "fpa:9", "fpa:33", "fpa:101")


@pytest.mark.parametrize("name", EVERY)
def test_a_format_answers_to_its_name(name: str) -> None:
    assert make_arithmetic(name).name == name


@pytest.mark.parametrize("name", EVERY)
def test_every_format_adds_divides_and_inverts_what_it_converts(name: str) -> None:
    numbers = make_arithmetic(name)
    with numbers.context():
        values = numbers.convert([[0.5, 0.25], [0.125, 1.0]])
        row = values[0]

        assert values.shape == (2, 2)
        assert float(numbers.total(row)) == 0.75
        assert float(numbers.mean(row)) == 0.375
        assert float(numbers.convert(0.5)) == 0.5
        assert [float(x) for x in 1 - row] == [0.5, 0.75]
        assert [float(x) for x in row / 2] == [0.25, 0.125]
        # exp and log invert each other to the format's own precision.
        assert np.allclose(np.asarray(numbers.exp(numbers.log(row)), dtype=float), [0.5, 0.25], rtol=0.01)
        assert float(numbers.total_log(row)) == pytest.approx(-2.0794415, rel=0.01)


@pytest.mark.parametrize("name", ["exact", "float64", "fpa:9", "float16"])
def test_only_the_exact_format_heeds_a_wanted_precision(name: str) -> None:
    numbers = make_arithmetic(name)

    assert numbers.at_precision(None) == numbers
    assert (numbers.at_precision(77) != numbers) == (name == "exact")


@pytest.mark.parametrize("name", ["float80", "", "fpa", "fpa:", "fpa:x", "fpa:-3", "EXACT"])
def test_an_unknown_format_is_named_with_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match=f"there is no arithmetic '{name}'; choose one of exact, float64, float32"):
        make_arithmetic(name)


@pytest.mark.parametrize("bits", [0, 1, 2, 34])
def test_fixed_point_needs_an_odd_number_of_bits(bits: int) -> None:
    with pytest.raises(InputError, match=f"fpa:{bits} must have an odd number of bits, at least 3"):
        make_arithmetic(f"fpa:{bits}")


def test_importing_the_room_imports_no_scientific_library() -> None:
    script = "import sys, labelinf_scores.arithmetic; print({'scipy', 'gmpy2', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"

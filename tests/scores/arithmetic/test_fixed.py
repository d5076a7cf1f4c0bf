from __future__ import annotations

from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.arithmetic.fixed import Fixed
from labelinf_scores.game.scorers import LossScorer
from labelinf_scores.game.scoring import Query
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss


@pytest.mark.long
@settings(max_examples=200)
@given(phi=st.integers(1, 40).map(lambda f: 2 * f + 1), value=st.fractions(-1, 1))
def test_conversion_is_to_the_nearest_multiple_of_the_step(phi: int, value: Fraction) -> None:
    numbers = Fixed.of_bits(phi)
    if abs(value) == 1 and phi == 3:
        value /= 2
    found = Fraction(int(numbers.convert([value])[0].numerator), int(numbers.convert([value])[0].denominator))
    step = Fraction(1, 2 ** ((phi - 1) // 2))

    assert (found / step).denominator == 1
    assert abs(found - value) <= step / 2
    assert found == round(value / step) * step  # ties to even


def test_the_range_is_what_the_papers_say() -> None:
    numbers = Fixed.of_bits(9)

    assert [float(x) for x in numbers.convert([15.96, -15.96])] == [15.9375, -15.9375]
    for value in (15.97, 16.0, -16.0, 1e300, float("inf"), float("nan"), gmpy2.mpfr("1e1000000")):
        with pytest.raises(InputError, match=r"^fpa:9 holds numbers between -2\*\*4 and 2\*\*4, got "):
            numbers.convert([value])


def test_a_curator_refuses_a_score_that_its_format_does_not_hold() -> None:
    """A probability that rounds to zero costs infinity; the adversary gets a refusal, not an error."""
    scorer = LossScorer(loss=LogLoss(), numbers=Fixed.of_bits(9))
    labels = np.array([0, 1])
    assert scorer.score(labels, Query(predictions=np.array([0.5, 0.5]))) == 0.6875
    with pytest.raises(QueryRefusedError, match=r"^a prediction or a cost is beyond the range of fpa:9\.$"):
        scorer.score(labels, Query(predictions=np.array([0.5, 0.001])))


def test_a_refusal_does_not_say_which_score_it_was() -> None:
    """The mean of some labels is beyond the range: the exception quoted it to six digits, whatever stood between."""
    scorer = LossScorer(loss=SoftmaxLogLoss(), numbers=Fixed.of_bits(9))
    predictions = np.array([[15.0, -15.0], [15.0, -15.0], [1.0, 0.0]])
    caught = []
    for last in (0, 1):
        with pytest.raises(QueryRefusedError) as refused:
            scorer.score(np.array([1, 1, last]), Query(predictions=predictions))
        caught.append(refused.value)
    assert str(caught[0]) == str(caught[1])
    assert not any(error.__cause__ or error.__context__ for error in caught)


def test_an_overflow_names_the_value() -> None:
    with pytest.raises(InputError, match=r"^fpa:9 holds numbers between -2\*\*4 and 2\*\*4, got 16\.25\.$"):
        Fixed.of_bits(9).release(gmpy2.mpq(65, 4))


def test_sums_and_means_are_exact_until_they_are_released() -> None:
    numbers = Fixed.of_bits(9)
    values = numbers.convert([0.0625] * 1000 + [0.125])

    assert numbers.total(values) == gmpy2.mpq(62625, 1000)  # beyond the range, in a wide register
    assert numbers.mean(values) == gmpy2.mpq(62625, 1001000)
    assert numbers.release(numbers.mean(values)) == 0.0625


def test_an_answer_is_a_float_while_doubles_hold_the_format() -> None:
    third = gmpy2.mpq(1, 3)

    assert type(Fixed.of_bits(53).release(third)) is float
    assert isinstance(Fixed.of_bits(101).release(third), type(gmpy2.mpfr()))
    for phi in (9, 53, 55, 101):
        released = Fixed.of_bits(phi).release(third)
        f = (phi - 1) // 2
        assert gmpy2.mpq(released) == gmpy2.mpq(round(third * 2**f), 2**f)


def test_logarithms_are_those_of_the_rounded_numbers() -> None:
    numbers = make_arithmetic("fpa:9")
    values = numbers.convert([0.3, 0.7])

    with gmpy2.context(precision=80):
        assert np.all(abs(numbers.log(values) - np.array([gmpy2.log(gmpy2.mpq(v)) for v in values])) < 1e-20)

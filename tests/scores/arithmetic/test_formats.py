"""What is known of a number format is what its arithmetic does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.arithmetic.formats import format_named
from labelinf_scores.defences.clip import Clip
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.rules.games import channel_of, threat_of


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16", "fpa:9", "fpa:21", "fpa:101"])
def test_reading_a_probability_moves_it_by_no_more_than_is_told(name: str) -> None:
    told, numbers = format_named(name), make_arithmetic(name)
    values = np.random.default_rng(1).uniform(0, 1, 2000)
    moved = max(abs(float(one) - value) for one, value in zip(numbers.convert(values), values, strict=True))
    assert told.read / 2**12 < moved <= told.read if told.read > 2.0**-50 else moved <= told.read


def test_fixed_point_reads_a_clip_as_coarsely_as_it_computes() -> None:
    """With ten bits behind the point .0100 becomes 10 / 1024, and the span of the clip grows by two per cent."""
    threat = threat_of(channel_of(loss=LogLoss(), scorer="fpa:21"), np.array([0, 1]), Clip(epsilon=0.01))
    assert threat.span >= math.log((1 - 10 / 1024) / (10 / 1024)) > LogLoss().span(0.01)


@pytest.mark.parametrize("name", ["fpa:", "fpa:x", "float8", "", "module:function"])
def test_of_a_name_that_nobody_knows_nothing_is_known(name: str) -> None:
    told = format_named(name)
    assert not told.known
    assert (told.bits, told.largest, told.significant) == (math.inf, math.inf, 0)

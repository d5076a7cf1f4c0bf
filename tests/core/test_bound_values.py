"""A bound is written with few digits on the side where it says less."""

from __future__ import annotations

import math

import pytest

from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.report.bounds import value_columns


def bound(quantity: str, direction: Direction, value: float) -> BoundValue:
    return BoundValue(
        title="a bound",
        direction=direction,
        quantity=quantity,
        value=value,
        formula="f",
        conditions="always",
        statement="nobody",
    )


@pytest.mark.parametrize(
    ("quantity", "direction", "value", "weaker", "shown"),
    [
        ("noise", Direction.FLOOR, 0.22586, 0.22, "0.225"),
        ("noise", Direction.CEILING, 3.1941, 3.2, "3.2"),
        ("queries", Direction.CEILING, 1458.0, 1400.0, "1458"),
        ("accuracy", Direction.CEILING, 0.731058, 0.74, "73.2 %"),
        ("accuracy", Direction.FLOOR, 0.6278, 0.62, "62.7 %"),
        ("noise", Direction.FLOOR, 0.1, 0.1, "0.1"),
        ("noise", Direction.CEILING, math.inf, math.inf, "∞"),
        ("noise", Direction.FLOOR, 0.0, 0.0, "0"),
    ],
)
def test_it_claims_no_more_than_is_proved(
    quantity: str, direction: Direction, value: float, weaker: float, shown: str
) -> None:
    told = bound(quantity, direction, value)

    assert told.weaker(2) == weaker
    assert shown in value_columns(told)

"""The first line of advice: what leaks without more."""

from __future__ import annotations

from typing import cast

import pytest

from labelinf_core.advise.answer import answer_of
from labelinf_core.advise.search import Advice
from labelinf_core.contracts.components import TunableParameter


@pytest.mark.parametrize(
    ("forced", "said"),
    [(None, "not known: no attack could be played"), (1.0, "no attack was seen to exceed the target")],
)
def test_that_nothing_could_be_played_is_not_that_nothing_was_seen(forced: float | None, said: str) -> None:
    knob = cast("TunableParameter", None)  # only proved settings are named by theirs

    assert answer_of([Advice(knob=knob, forced=forced)], ()).leaks == said

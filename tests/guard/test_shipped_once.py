"""What a board scores with is looked up once, not for every setting that a bound tries."""

from __future__ import annotations

import pytest

from labelinf_core.plugin.host import Host
from labelinf_guard.shipped import shipped


def test_the_plugins_are_not_loaded_again_for_a_metric_that_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shipped("average-precision", 2)

    def load(*args: object, **kwargs: object) -> Host:
        raise AssertionError("loaded again")

    monkeypatch.setattr(Host, "load", load)
    assert shipped("average-precision", 2) == found

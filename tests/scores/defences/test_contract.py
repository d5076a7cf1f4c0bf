"""The contract that every component of these kinds is held to."""

from __future__ import annotations

import pytest

from labelinf_core.plugin.descriptors import Kind
from labelinf_core.testing import Check, checks_of

KINDS = (Kind.DEFENCE, Kind.NOISE, Kind.BOUND)
CHECKS = [c for plugin in ("scores", "privacy") for c in checks_of(plugin) if c.item.descriptor.kind in KINDS]


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_contract(check: Check) -> None:
    check.run()

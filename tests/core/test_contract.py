"""Every built-in component keeps the contract that third parties are held to."""

from __future__ import annotations

import pytest

from labelinf_core.plugin.host import Host
from labelinf_core.plugin.records import Registered
from labelinf_core.testing import Check, checks_of

HOST = Host.load(strict=True)
CHECKS = [check for plugin in HOST.records if plugin != "demo" for check in checks_of(plugin, HOST)]


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_contract(check: Check) -> None:
    check.run()


def test_every_plugin_is_checked() -> None:
    checked = {check.item.plugin.name for check in CHECKS if isinstance(check.item, Registered)}
    assert checked >= {"data", "gradients", "outputs", "papers", "privacy", "scores", "split"}

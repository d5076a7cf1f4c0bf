"""Every suite that is shipped can be played, and nothing of the gradient channel is left out of its own."""

from __future__ import annotations

import pytest

from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.suite import read_suite, shipped_suites
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder

HOST = Host.load()


@pytest.fixture(scope="module")
def builder() -> Builder:
    return Builder(Host.load())


@pytest.mark.parametrize("name", shipped_suites(HOST))
def test_every_shipped_suite_can_be_planned(builder: Builder, name: str) -> None:
    plan = make_plan(read_suite(name, HOST), builder, name)

    assert plan.title == name
    assert plan.cells


@pytest.mark.parametrize("kind", [Kind.ATTACK, Kind.DEFENCE])
def test_the_gradient_suite_plays_everything_of_its_channel(builder: Builder, kind: Kind) -> None:
    cells = make_plan(read_suite("gradients", HOST), builder, "gradients").cells
    specs = [spec for cell in cells for spec in ((cell.attack,) if kind is Kind.ATTACK else cell.defences)]

    listed = {
        item.descriptor.name
        for item in builder.host.catalogue(kind)
        if item.descriptor.channel == "gradient" and item.plugin.distribution == "labelinf"
    }
    assert listed == {spec.partition("(")[0] for spec in specs}

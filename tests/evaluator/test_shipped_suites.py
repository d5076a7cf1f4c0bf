"""Every suite that is shipped can be played, and nothing of the gradient channel is left out of its own."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from labelinf_core.cli.theorems import called_to_mind
from labelinf_core.contracts.components import Setting
from labelinf_core.contracts.errors import UnknownNameError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.evaluator.cells import Cell, Role
from labelinf_core.evaluator.choice import place
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.suite import read_suite, shipped_suites
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder, parse

HOST = Host.load()


@pytest.fixture(scope="module")
def builder() -> Builder:
    return Builder(Host.load())


@pytest.mark.parametrize("name", shipped_suites(HOST))
def test_every_shipped_suite_can_be_planned(builder: Builder, name: str) -> None:
    plan = make_plan(read_suite(name, HOST), builder, name)

    assert plan.title == name
    assert plan.cells


@pytest.mark.long
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


LOW_BITS = {"score": {"ulp-grid", "support-of-the-sampler"}, "gradient": {"zero-mask"}}
NOISE = (
    "noise of scale",
    "certificates: Gaussian",
    "certificates: Laplace",
    "certificates: batches",
)  # how proofs of it are told from others


def _lines(cells: Iterable[Cell]) -> dict[tuple[str, ...], list[Cell]]:
    found: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.channel, cell.labels, *cell.defences), []).append(cell)
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("metrics", "certified", "full") else name
        for name in shipped_suites(HOST)
    ],
)
def test_low_bits_are_read_wherever_noise_is_certified(builder: Builder, name: str) -> None:
    """Of models, every attack sees every bit of what a victim that forgets nothing shows."""
    for line in _lines(make_plan(read_suite(name, HOST), builder, name).cells).values():
        first = line[0]
        channel = parse(first.channel, "test").name
        data = builder.build(Kind.LABELS, first.labels, "test").load()
        defences = builder.pipeline(list(first.defences), "test")
        threat = builder.build(Kind.CHANNEL, first.channel, "test").threat(Setting(data=data, defences=defences))
        ceilings = theory(builder, channel, threat).ceilings
        if not any(word in item.statement + item.conditions for item in ceilings for word in NOISE):
            continue
        readers = [attack for attack in sorted(LOW_BITS[channel]) if not _refused(builder, attack, threat)]
        played = {parse(cell.attack, "test").name for cell in line if _plays(builder, channel, cell, threat)}
        assert played >= set(readers[:1]), first.defences
        unseen = "float32" in first.channel or "exact" in first.channel  # no units of doubles to be read
        assert readers or unseen or first.defences[-1].startswith(("round", "top-k")), first


def _refused(builder: Builder, attack: str, threat: ThreatModel) -> str:
    return str(builder.build(Kind.ATTACK, attack, "test").unsupported_reason(threat))


def _plays(builder: Builder, channel: str, cell: Cell, threat: ThreatModel) -> bool:
    """Whether a cell is played: it is named by the suite, or may be the strongest."""
    return cell.role is Role.NAMED or place(builder, channel, cell.attack, threat) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_suites(HOST))
def test_every_reference_of_a_run_can_be_looked_up(builder: Builder, name: str) -> None:
    """What is proved, denied or promised of any cell names something that ``labelinf theorems show`` finds."""
    named: set[str] = set()
    for line in _lines(make_plan(read_suite(name, HOST), builder, name).cells).values():
        channel, data = parse(line[0].channel, "test").name, builder.build(Kind.LABELS, line[0].labels, "test").load()
        defences = builder.pipeline(list(line[0].defences), "test")
        threat = builder.build(Kind.CHANNEL, line[0].channel, "test").threat(Setting(data=data, defences=defences))
        known = theory(builder, channel, threat)
        named |= {item.statement for item in (*known.ceilings, *known.bounds)}
        attacks = [builder.build(Kind.ATTACK, cell.attack, "test") for cell in line]
        promises = [attack.promise(threat) for attack in attacks if not attack.unsupported_reason(threat)]
        named |= {promise.statement for promise in promises if promise is not None}
    assert named
    assert [reference for reference in sorted(named) if not _looked_up(reference)] == []


def _looked_up(reference: str) -> bool:
    try:
        return any(called_to_mind(HOST, reference))
    except UnknownNameError:
        return False

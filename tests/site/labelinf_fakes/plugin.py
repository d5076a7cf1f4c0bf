"""Registers the fakes."""

from __future__ import annotations

from collections.abc import Iterator

from labelinf_core import Descriptor, Kind, Reference, hookimpl

labelinf_contract = 2


def _fake(kind: Kind, name: str, target: str) -> Descriptor:
    return Descriptor(
        kind=kind,
        name=name,
        channel=None if kind is Kind.LABELS else "score",
        summary=f"a fake: {target}",
        reference=Reference(work="labelinf tests", statement=name),
        target=f"labelinf_fakes.{target}",
    )


@hookimpl
def labelinf_components() -> Iterator[Descriptor]:
    yield _fake(Kind.ATTACK, "fake-reader", "attacks:Reader")
    yield _fake(Kind.ATTACK, "fake-constant", "attacks:Constant")
    yield _fake(Kind.ATTACK, "fake-says", "attacks:Says")
    yield _fake(Kind.ATTACK, "fake-coin", "attacks:Coin")
    yield _fake(Kind.ATTACK, "fake-raises", "attacks:Raises")
    yield _fake(Kind.ATTACK, "fake-hangs", "attacks:Hangs")
    yield _fake(Kind.ATTACK, "fake-dies", "attacks:Dies")
    yield _fake(Kind.ATTACK, "fake-picky", "attacks:Picky")
    yield _fake(Kind.ATTACK, "fake-liar", "attacks:Liar")
    yield _fake(Kind.DEFENCE, "fake-none", "defences:Open")
    yield _fake(Kind.DEFENCE, "fake-noise", "defences:Noisy")
    yield _fake(Kind.DEFENCE, "fake-boast", "defences:Boast")
    yield _fake(Kind.BOUND, "fake-bound", "bounds:OneLabel")
    yield _fake(Kind.BOUND, "fake-broken-bound", "bounds:Broken")
    yield _fake(Kind.LABELS, "fake-labels", "labels:Made")
    yield _fake(Kind.LABELS, "fake-bad-labels", "labels:Bad")

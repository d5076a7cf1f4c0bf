"""Registers the demo's components. Imports nothing numerical, so that listing plugins stays fast."""

from __future__ import annotations

from collections.abc import Iterator

from labelinf_core import Descriptor, Kind, Reference, hookimpl

labelinf_contract = 2

_HERE = Reference(work="labelinf-plugin-demo", statement="README")


@hookimpl
def labelinf_components() -> Iterator[Descriptor]:
    """Yield what it provides."""
    yield Descriptor(
        kind=Kind.LOSS,
        name="absolute-error",
        channel="score",
        summary="absolute difference between the label and its predicted probability",
        reference=_HERE,
        target="labelinf_demo.loss:AbsoluteError",
    )
    yield Descriptor(
        kind=Kind.ATTACK,
        name="one-by-one",
        channel="score",
        summary="asks about one record at a time",
        reference=_HERE,
        target="labelinf_demo.attack:OneByOne",
    )
    yield Descriptor(
        kind=Kind.DEFENCE,
        name="coarse",
        channel="score",
        summary="releases the nearest multiple of a step",
        reference=_HERE,
        target="labelinf_demo.defence:Coarse",
    )

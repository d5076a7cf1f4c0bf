"""Registers the gradient channel's components. Imports nothing numerical."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelinf_core import Kind, Reference, hookimpl
from labelinf_core.plugin.descriptors import SuitePart
from labelinf_core.plugin.reproductions import Reproduction
from labelinf_gradients import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labelinf_core import Descriptor, Statement

labelinf_contract = 1


def _of(kind: Kind) -> Iterator[Descriptor]:
    return (item for item in catalogue.DESCRIPTORS if item.kind is kind)


@hookimpl
def labelinf_attacks() -> Iterator[Descriptor]:
    """Yield label recovery from gradients of single samples and of batches, and what it stands beside."""
    return _of(Kind.ATTACK)


@hookimpl
def labelinf_defences() -> Iterator[Descriptor]:
    """Yield what a client can do to its gradients and labels."""
    return _of(Kind.DEFENCE)


@hookimpl
def labelinf_bounds() -> Iterator[Descriptor]:
    """Yield certificates, and which settings are ambiguous for any attack."""
    return _of(Kind.BOUND)


@hookimpl
def labelinf_channels() -> Iterator[Descriptor]:
    """Yield the gradient channel itself."""
    return _of(Kind.CHANNEL)


@hookimpl
def labelinf_statements() -> tuple[Statement, ...]:
    """Yield the statements of Wang et al., ICLR 2024, and our own about gradients."""
    from labelinf_gradients.statements import STATEMENTS

    return STATEMENTS


@hookimpl
def labelinf_reproductions() -> Iterator[Reproduction]:
    """Yield the paper's noise study and its reconstructions."""
    yield Reproduction(
        name="iclr-table5",
        summary="label recovery under noise: every reading of the protocol, and what stays exposed",
        reference=Reference(work="Wang et al., ICLR 2024", statement="Section 5.2, Table 5"),
        target="labelinf_gradients.published.table5:table5",
    )
    yield Reproduction(
        name="iclr-reconstruction",
        summary="inputs behind recovered labels: in closed form, under noise, by gradient matching",
        reference=Reference(work="Wang et al., ICLR 2024", statement="Sections 3.3, 4.3 and 5.1"),
        target="labelinf_gradients.published.reconstruction:reconstruction",
    )


@hookimpl
def labelinf_suites() -> Iterator[SuitePart]:
    """Yield what is played on this channel."""
    yield SuitePart(suite="quick", file="labelinf_gradients.suites:quick.toml", rank=30)
    yield SuitePart(suite="gradients", file="labelinf_gradients.suites:gradients.toml")

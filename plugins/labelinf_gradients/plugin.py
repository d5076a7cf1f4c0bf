"""Registers the gradient channel's components. Imports nothing numerical."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelinf_core import Kind, hookimpl
from labelinf_gradients import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labelinf_core import Descriptor

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

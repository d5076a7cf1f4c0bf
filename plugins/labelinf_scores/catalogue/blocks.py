"""Descriptors of the blocks family."""

from __future__ import annotations

from labelinf_core import Descriptor

__all__ = ["DESCRIPTORS"]

DESCRIPTORS: tuple[Descriptor, ...] = ()

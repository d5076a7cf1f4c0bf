"""Registers the channel of split learning. Imports nothing numerical."""

from __future__ import annotations

from labelinf_core import Catalogue, hookimpl

labelinf_contract = 2


@hookimpl
def labelinf_catalogue() -> Catalogue:
    """Return what ``catalogue.toml`` lists."""
    return Catalogue.read("labelinf_split")

"""The Jinja templates of pages and pictures: everything that goes in is escaped."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2

__all__ = ["templates"]


@functools.cache
def templates() -> jinja2.Environment:
    """Return the environment that finds the templates beside this module."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("labelinf_core", "report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )

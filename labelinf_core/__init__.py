"""The labelinf core: the game of label inference, the hooks that plugins implement and the host that loads them.

Importing this package imports nothing: what a plugin needs of it comes with the first use of its name. That way
``labelinf --help`` answers at once, and ``labelinf plugins`` keeps working when a numerical dependency is broken.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself is dear, and until it is imported nobody can stop a command in a sentence
if TYPE_CHECKING:
    from typing import Any

    from labelinf_core.plugin.catalogue import Catalogue
    from labelinf_core.plugin.descriptors import Descriptor, Kind, Reference
    from labelinf_core.plugin.markers import CONTRACT, hookimpl
    from labelinf_core.plugin.statements import Statement, StatementStatus

__all__ = ["CONTRACT", "Catalogue", "Descriptor", "Kind", "Reference", "Statement", "StatementStatus", "hookimpl"]

_HOMES = {
    "catalogue": ("Catalogue",),
    "descriptors": ("Descriptor", "Kind", "Reference"),
    "markers": ("CONTRACT", "hookimpl"),
    "statements": ("Statement", "StatementStatus"),
}  # modules of labelinf_core.plugin, with what they hold


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            import importlib

            return getattr(importlib.import_module(f"labelinf_core.plugin.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

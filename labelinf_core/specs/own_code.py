"""Code of a user's own, named ``module:function`` in a suite or on the command line."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from labelinf_core.contracts.errors import InputError

__all__ = ["own_function"]


def own_function(target: str, what: str) -> Callable[..., Any]:
    """Import ``module:function``.

    Args:
        target: The module, and the name of the function within it, with dots where it is nested.
        what: What a message calls it.

    Raises:
        InputError: It cannot be imported or called.
    """
    module, _, name = target.partition(":")
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # a module may raise anything when it is imported
        raise InputError(f"{what} {target!r} cannot be imported: {_told(error)}.") from error
    if not callable(found):
        raise InputError(f"{what} {target!r} is not a function.")
    return found


def _told(error: Exception) -> str:
    """Say why an import failed; other words than those of the import system may hold what the module had read."""
    if isinstance(error, ModuleNotFoundError):
        return f"there is no module {error.name!r}"
    return f"it raised {type(error).__name__}"

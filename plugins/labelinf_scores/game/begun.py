"""A user's function on its first day: what it remembers is what it was told since.

A board that shows the best score so far, a ladder, a cache or a limit of calls keeps state, in whatever way it likes.
Its module is executed again for that, as it is when the host starts it again; what other modules keep, stays.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import attrs

from labelinf_core.plugin.worker import Aside

__all__ = ["Begun", "loaded_anew"]


@attrs.define(kw_only=True, eq=False)
class Begun:
    """Calls a function on its first day, or on the days after.

    Attributes:
        name: Whose code it is, as a message names it.
        load: Returns the function without a past.
    """

    name: str
    load: Callable[[], Callable[..., Any]] = attrs.field(repr=False)
    _aside: Aside = attrs.field(init=False, repr=False)

    @_aside.default
    def _asked_aside(self) -> Aside:
        return Aside(name=self.name, function=_Days(self.load))

    def anew(self, *given: Any) -> Any:
        """Return the answer of its first call.

        Raises:
            LabelinfError: It has none: it raised, hung, or ended its process.
        """
        return self._aside(True, *given)

    def board(self) -> Callable[..., Any]:
        """Return the function without a past; who begins another one ends this one."""
        first = True

        def answer(*given: Any) -> Any:
            nonlocal first
            now, first = first, False
            return self._aside(now, *given)

        return answer


@attrs.define(eq=False)
class _Days:
    """Serves in the worker."""

    load: Callable[[], Callable[..., Any]]
    function: Callable[..., Any] | None = None

    def __call__(self, first: bool, *given: Any) -> Any:
        if first or self.function is None:
            self.function = self.load()
        return self.function(*given)


def loaded_anew(module: str, path: str) -> Any:
    """Return what has a name in a module that is executed again.

    Args:
        module: Of those that are loaded.
        path: The name in it, with dots where it is nested.
    """
    spec = sys.modules[module].__spec__
    assert spec is not None  # it was imported
    assert spec.loader is not None
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    return attrgetter(path)(fresh)

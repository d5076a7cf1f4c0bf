"""What is known of an installed plugin: where it came from, what became of it, and the components it provides."""

from __future__ import annotations

import enum
import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from labelinf_core.contracts.errors import PluginError
from labelinf_core.contracts.gate import clean, unquoted
from labelinf_core.plugin.descriptors import Descriptor
from labelinf_core.plugin.markers import PROJECT
from labelinf_core.plugin.worker import apart, watch

__all__ = ["PluginRecord", "PluginStatus", "Registered", "told"]

T = TypeVar("T")


class PluginStatus(enum.Enum):
    """What became of an installed plugin."""

    LOADED = "loaded"
    BLOCKED = "blocked"
    FAILED = "failed"


@attrs.frozen(kw_only=True)
class PluginRecord:
    """One installed plugin: where it came from and what became of it."""

    name: str
    distribution: str
    version: str
    status: PluginStatus
    provides: tuple[Descriptor, ...] = ()
    problem: str = ""

    @property
    def third_party(self) -> bool:
        """Whether it comes with another distribution than labelinf's own: its code runs apart."""
        return self.distribution != PROJECT

    def __str__(self) -> str:
        return f"plugin {self.name!r} of {self.distribution} {self.version}"


@attrs.frozen(kw_only=True)
class Registered:
    """A component that can be used, and the plugin that provides it."""

    descriptor: Descriptor
    plugin: PluginRecord

    def ask(self, question: Callable[[type[Any]], T]) -> T:
        """Return what ``question`` finds out about the component's class: plain data, of a stranger's asked apart.

        Raises:
            PluginError: The class cannot be had, or failed to answer.
        """
        if self.plugin.third_party:
            return apart(f"{self.descriptor} of {self.plugin}", lambda: question(self.load()))
        return question(self.load())

    def load(self) -> type[Any]:
        """Import and return the component's class, in this process.

        Raises:
            PluginError: It cannot be imported, or is not what its descriptor says.
        """
        from labelinf_core.contracts.components import BASES

        module_name, _, class_name = self.descriptor.target.partition(":")
        try:
            if module_name not in sys.modules:
                with watch.over(f"module {module_name}"):
                    importlib.import_module(module_name)
            loaded = getattr(sys.modules[module_name], class_name)
        except Exception as error:  # a plugin's module may raise anything at all
            raise PluginError(
                f"{self.descriptor} of {self.plugin} cannot be imported from {self.descriptor.target!r}: {told(error)}"
            ) from error
        base = BASES[self.descriptor.kind]
        if not (isinstance(loaded, type) and issubclass(loaded, base) and attrs.has(loaded)):
            raise PluginError(
                f"{self.descriptor} of {self.plugin}: {self.descriptor.target!r} must be an attrs class that "
                f"derives from {base.__module__}.{base.__name__}."
            )
        return loaded


def told(error: BaseException) -> str:
    """Say why a plugin cannot be used: in our words or pluggy's; of its own, which may hold anything, the place."""
    root = error.__cause__ if isinstance(error, PluginError) and error.__cause__ else error
    trace = root.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised_in = str(trace.tb_frame.f_globals.get("__name__")) if trace is not None else ""
    ours = raised_in.partition(".")[0] in ("labelinf_core", "pluggy", "importlib", "attr")
    if ours and not isinstance(root, ModuleNotFoundError):
        return clean(root) if isinstance(root, PluginError) else f"{type(root).__name__}: {root}"
    return unquoted(root)

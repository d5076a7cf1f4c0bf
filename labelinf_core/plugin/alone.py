"""One plugin by itself: validated, and asked what it provides, where its faults touch nothing that is shared."""

from __future__ import annotations

import functools
from importlib.metadata import Distribution, EntryPoint, version
from typing import TypeVar

import pluggy

from labelinf_core.contracts.errors import PluginError
from labelinf_core.contracts.gate import unquoted
from labelinf_core.plugin.catalogue import Catalogue
from labelinf_core.plugin.descriptors import Descriptor
from labelinf_core.plugin.hookspecs import Specs
from labelinf_core.plugin.markers import CONTRACT, PROJECT
from labelinf_core.plugin.records import told

__all__ = ["alone", "answers", "described", "identity", "provided", "version_hint"]

T = TypeVar("T")


def described(point: EntryPoint) -> tuple[Descriptor, ...]:
    """Return what a plugin provides.

    Raises:
        PluginError: Why it cannot be used.
    """
    try:
        return provided(alone(point.load(), point.name))
    except Exception as error:
        raise PluginError(told(error)) from error


def answers(manager: pluggy.PluginManager, who: str, hook: str, expected: type[T]) -> list[T]:
    """Call one plugin's hook.

    Raises:
        PluginError: It raised, or yields something else than it must.
    """
    try:
        items = [item for results in getattr(manager.hook, hook)() for item in results]
    except Exception as error:
        raise PluginError(f"{who} raised {unquoted(error)}") from error
    if wrong := [type(item).__name__ for item in items if not isinstance(item, expected)]:
        raise PluginError(f"{who} must yield {expected.__name__} objects, got {wrong[0]}")
    return items


def alone(plugin: object, name: str) -> pluggy.PluginManager:
    """Validate a plugin in a manager of its own, so that its faults touch nothing shared; its catalogue joins it."""
    declared = getattr(plugin, "labelinf_contract", None)
    if declared != CONTRACT:
        raise TypeError(
            f"it declares labelinf_contract = {declared!r}, this host speaks {CONTRACT}: defences state effects and "
            f"deny nothing themselves, channels say undefended() and are folded by the core; a plugin written for it "
            f"says labelinf_contract = {CONTRACT}"
        )
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Specs)
    manager.register(plugin, name=name)
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise TypeError(
            f"{str(error).partition(' in plugin')[0]}; components of every kind come from labelinf_components, or from "
            f"a catalogue"
        ) from None
    if not manager.get_hookcallers(plugin):
        raise TypeError("it implements no hook; mark its functions with labelinf_core.hookimpl")
    for catalogue in manager.hook.labelinf_catalogue():
        if not isinstance(catalogue, Catalogue):
            raise TypeError(f"labelinf_catalogue must return a Catalogue, got {type(catalogue).__name__}")
        manager.register(catalogue)
    return manager


def provided(manager: pluggy.PluginManager) -> tuple[Descriptor, ...]:
    """Return what the plugin in ``manager`` provides, sorted by kind and name.

    Raises:
        TypeError: It yields something else than descriptors, or one of them twice.
    """
    found: list[Descriptor] = []
    for results in manager.hook.labelinf_components():
        for item in results:
            if not isinstance(item, Descriptor):
                raise TypeError(f"labelinf_components must yield Descriptor objects, got {type(item).__name__}")
            if any((item.kind, item.name, item.channel) == (o.kind, o.name, o.channel) for o in found):
                raise TypeError(f"labelinf_components yields {item} twice")
            found.append(item)
    return tuple(sorted(found, key=lambda item: (item.kind.value, item.name)))


@functools.lru_cache(maxsize=64)
def identity(dist: Distribution | None) -> tuple[str, str]:
    """Return name and version of a distribution; every question parses its metadata anew, so ask once."""
    return (dist.name, dist.version) if dist else ("an unknown distribution", "?")


def version_hint(dist: Distribution | None) -> str:
    """Say so when the plugin's own metadata excludes the running labelinf."""
    if dist is None or dist.name == PROJECT:
        return ""
    from packaging.requirements import Requirement

    for text in dist.requires or ():
        requirement = Requirement(text)
        ours = version(PROJECT)
        if requirement.name == PROJECT and not requirement.specifier.contains(ours, True):
            return f" (it requires {requirement}, and labelinf {ours} is installed)"
    return ""

"""The hooks a labelinf plugin may implement: one that returns a catalogue of everything, or one for each part of it.

A plugin is a module named by an entry point of the group ``labelinf``. It declares the version of this contract it
was written for and yields descriptors::

    from labelinf_core import Descriptor, Kind, Reference, hookimpl

    labelinf_contract = 2

    @hookimpl
    def labelinf_components():
        yield Descriptor(kind=Kind.DEFENCE, name="my-defence", channel="my-channel", ...)

Hooks must be cheap: yield descriptors, import nothing numerical. The order does not matter; the host sorts by name.
A hook takes only the arguments it needs; the host may add arguments later without breaking a plugin, and never
removes one. ``CONTRACT`` grows only when an existing plugin could break.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelinf_core.plugin.markers import hookspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labelinf_core.plugin.catalogue import Catalogue
    from labelinf_core.plugin.descriptors import Command, Descriptor, SuitePart
    from labelinf_core.plugin.reproductions import Reproduction
    from labelinf_core.plugin.statements import Statement

__all__ = ["Specs"]


class Specs:
    """All hooks."""

    @hookspec
    def labelinf_catalogue(self) -> Catalogue | None:
        """Return a :class:`labelinf_core.plugin.catalogue.Catalogue`, whose hooks are called beside the plugin's."""
        return None

    @hookspec
    def labelinf_components(self) -> Iterable[Descriptor]:
        """Yield components of any kind (:class:`labelinf_core.plugin.descriptors.Kind`)."""
        return ()

    @hookspec
    def labelinf_statements(self) -> Iterable[Statement]:
        """Yield the published statements a plugin implements, for ``labelinf theorems``."""
        return ()

    @hookspec
    def labelinf_reproductions(self) -> Iterable[Reproduction]:
        """Yield published tables that a plugin computes again, for ``labelinf reproduce``."""
        return ()

    @hookspec
    def labelinf_commands(self) -> Iterable[Command]:
        """Yield commands for the command line, for example one below ``labelinf audit``."""
        return ()

    @hookspec
    def labelinf_suites(self) -> Iterable[SuitePart]:
        """Yield tables of suites that ``labelinf matrix`` plays by name."""
        return ()

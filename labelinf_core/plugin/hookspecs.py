"""The hooks a labelinf plugin may implement: one that returns a catalogue of everything, or one per kind.

A plugin is a module named by an entry point of the group ``labelinf``. It declares the version of this contract it
was written for and yields descriptors::

    from labelinf_core import Descriptor, Kind, Reference, hookimpl

    labelinf_contract = 2

    @hookimpl
    def labelinf_defences():
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
    def labelinf_losses(self) -> Iterable[Descriptor]:
        """Yield losses: what a curator's score adds up (:class:`labelinf_core.contracts.components.Loss`)."""
        return ()

    @hookspec
    def labelinf_metrics(self) -> Iterable[Descriptor]:
        """Yield metrics: what a leaderboard scores (:class:`labelinf_core.contracts.components.Metric`)."""
        return ()

    @hookspec
    def labelinf_attacks(self) -> Iterable[Descriptor]:
        """Yield attacks: what recovers labels (:class:`labelinf_core.contracts.components.Attack`)."""
        return ()

    @hookspec
    def labelinf_noise_models(self) -> Iterable[Descriptor]:
        """Yield noise models, of scores (:class:`labelinf_core.contracts.noise.NoiseModel`) and of labels.

        Those of labels derive from :class:`labelinf_core.contracts.noise.LabelNoise`.
        """
        return ()

    @hookspec
    def labelinf_defences(self) -> Iterable[Descriptor]:
        """Yield defences (:class:`labelinf_core.contracts.components.Defence`)."""
        return ()

    @hookspec
    def labelinf_bounds(self) -> Iterable[Descriptor]:
        """Yield bounds: what the theory implies (:class:`labelinf_core.contracts.components.Bound`)."""
        return ()

    @hookspec
    def labelinf_label_sources(self) -> Iterable[Descriptor]:
        """Yield label sources (:class:`labelinf_core.contracts.labels.LabelSource`)."""
        return ()

    @hookspec
    def labelinf_channels(self) -> Iterable[Descriptor]:
        """Yield channels: games an evaluator can play (:class:`labelinf_core.contracts.components.Channel`)."""
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

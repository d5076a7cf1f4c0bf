"""What a command line says instead of a suite, or beside it.

A change is made wherever it fits: an attack joins the tables of its channel, a setting those of the channels that have
it. One that fits nowhere is a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.labels import load_labels
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder, Spec, parse, stages

__all__ = ["only_channel", "with_component", "with_labels", "with_setting"]


def with_component(suite: Suite, host: Host, kind: Kind, written: str) -> Suite:
    """Add an attack or a defence to the tables of its channel.

    Raises:
        LabelinfError: There is no such component, or no table of its channel.
    """
    named = stages(written, f"--{kind.value}")  # none for the empty pipeline, which stands in every table
    home = host.find(kind, parse(written, f"--{kind.value}").name).descriptor.channel if named else None
    field = f"{kind.value}s"

    def add(table: Matrix) -> Matrix | None:
        changed: dict[str, Any] = {field: [*getattr(table, field), written]}
        return attrs.evolve(table, **changed) if home in (None, table.home(host)) else None

    return _wherever(suite, add, f"--{kind.value} {written}: the suite plays nothing on the {home} channel.")


def with_setting(suite: Suite, host: Host, name: str, value: Any) -> Suite:
    """Change a setting in the tables whose channel has it; who names what is scored plays no others.

    Raises:
        InputError: No channel of the suite has it.
    """

    def change(table: Matrix) -> Matrix | None:
        channel = host.find(Kind.CHANNEL, table.home(host))
        known = channel.ask(lambda kind: [field.name for field in attrs.fields(kind)])
        return attrs.evolve(table, settings={**table.settings, name: value}) if name in known else None

    nowhere = f"--{name}: no channel that the suite plays on has it."
    return _wherever(suite, change, nowhere, alone=name in ("loss", "metric", "scorer"))


def only_channel(suite: Suite, host: Host, channel: Spec) -> Suite:
    """Play the tables of one channel only, its parameters as their settings.

    Raises:
        LabelinfError: There is no such channel, or no table of it.
    """
    host.find(Kind.CHANNEL, channel.name)
    tables = [table for table in suite.matrix if table.home(host) == channel.name]
    if not tables:
        told = f'write one that does, with a table [[matrix]] and channel = "{channel.name}"'
        raise InputError(f"--channel {channel.name}: the suite plays nothing on it; {told}.")
    kept = [attrs.evolve(table, settings={**table.settings, **channel.params}) for table in tables]
    return attrs.evolve(suite, matrix=kept)


def with_labels(suite: Suite, host: Host, labels: Any) -> tuple[Suite, tuple[str, ...]]:
    """Play on other labels, and only what can be played on them.

    Returns:
        The suite, and the channels that were left out because they train on features and these labels have
        none, or they heed no groups and these labels come in some.

    Raises:
        InputError: The labels cannot be loaded, or nothing is left to play.
    """
    data = load_labels(Builder(host), labels, "--labels")

    def playable(table: Matrix) -> bool:
        channel = host.find(Kind.CHANNEL, table.home(host))
        needs, knows = channel.ask(lambda kind: (bool(kind.needs_features), bool(kind.knows_groups)))
        return (data.features is not None or not needs) and (data.groups is None or knows)

    tables = [attrs.evolve(table, labels=[labels]) for table in suite.matrix if playable(table)]
    left_out = dict.fromkeys(table.home(host) for table in suite.matrix if not playable(table))
    if not tables:
        if data.groups is not None:
            raise InputError(
                f"labels {data.title!r} come in groups, which the {' and '.join(left_out)} channel heeds not."
            )
        raise InputError(
            f"labels {data.title!r} come without features, which the {' and '.join(left_out)} channel trains on; name "
            f"their columns with --features."
        )
    return attrs.evolve(suite, matrix=tables), tuple(left_out)


def _wherever(suite: Suite, change: Callable[[Matrix], Matrix | None], nowhere: str, *, alone: bool = False) -> Suite:
    """Change the tables that ``change`` does not decline, and leave out the others where those are meant alone."""
    changed: Sequence[Matrix | None] = [change(table) for table in suite.matrix]
    if not any(changed):
        raise InputError(nowhere)
    both = zip(changed, suite.matrix, strict=True)
    return attrs.evolve(suite, matrix=[new or old for new, old in both if new or not alone])

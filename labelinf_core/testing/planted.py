"""Rules for the components of a channel on planted labels, tried in its own games: its author writes none of them."""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Rule, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.planted import PlantedChannel
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.testing import bounds
from labelinf_core.testing.attacks import AttackRules, Situation
from labelinf_core.testing.channels import drawn
from labelinf_core.testing.rules import NotApplicableError, belongs, require

__all__ = ["rules"]

_RECORDS = 120
_ELSEWHERE = ThreatModel(n_records=6, n_classes=2, prior=(0.5, 0.5))


def rules(cls: type[PlantedChannel]) -> Mapping[Kind, Sequence[Rule]]:
    """Return the rules for attacks, defences and bounds; none where no game is played on made labels.

    They play with the default settings, on two classes and on three, and with every choice of every setting in turn.
    """
    games = list(_games(cls))
    if not games:
        return {}
    stages = [Situation(threat=_threat(*game), set_up=functools.partial(_shown, *game)) for game in games]
    threats = [stage.threat for stage in stages]
    return {
        Kind.ATTACK: AttackRules(base=cls.attacks, stages=stages, strange=[_ELSEWHERE], extras=["confidence"]).named,
        Kind.DEFENCE: (("is-reproducible", functools.partial(_is_reproducible, games)),),
        Kind.BOUND: (*bounds.RULES, bounds.speaks_of(threats)),
    }


def _games(cls: type[PlantedChannel]) -> Iterator[tuple[PlantedChannel, LabelSet]]:
    """Yield games of few records that can be played."""
    few, more = (drawn(cls, _RECORDS, n_classes) for n_classes in (2, 3))
    for settings, data in (({}, few), *((settings, more) for settings in ({}, *_choices(cls)))):
        try:
            channel = cls(**settings)
            threat = _threat(channel, data)
        except (InputError, TypeError, ValueError):  # settings without a default, or that do not fit together
            continue
        with contextlib.suppress(Exception):  # whatever fails but politely fails again, in every rule that plays it
            try:
                channel.begin(data, threat, np.random.default_rng(7))
            except InputError:
                continue
        yield channel, data


def _choices(cls: type[Any]) -> Iterator[dict[str, Any]]:
    """Yield every value of every setting that can take a few."""
    kinds = get_type_hints(cls)
    for field in attrs.fields(cls):
        kind = kinds[field.name]
        few = (False, True) if kind is bool else get_args(kind) if get_origin(kind) is Literal else ()
        few = tuple(kind) if isinstance(kind, enum.EnumType) else few
        yield from ({field.name: value} for value in few if value != field.default)


def _threat(channel: PlantedChannel, data: LabelSet, *defences: Any) -> Any:
    return channel.threat(Setting(data=data, defences=defences))


def _shown(
    channel: PlantedChannel, data: LabelSet, truth: NDArray[np.intp], *defences: Any
) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Show what came of other labels than the truth: whoever follows the truth has read it elsewhere."""
    view = channel.begin(data, _threat(channel, data, *defences), np.random.default_rng(7)).view
    parts = attrs.asdict(view, recurse=False) if attrs.has(type(view)) else {"view": view}
    return view, {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}


def _is_reproducible(games: Sequence[tuple[PlantedChannel, LabelSet]], component: Any) -> None:
    """Check that it stands in a game, and draws from the curator's generator alone."""
    played = False
    for channel, data in games:
        belongs(component, channel.defences)
        try:
            one, two = (_shown(channel, data, data.labels, component)[1] for _ in range(2))
        except InputError:
            continue
        played = True
        same = all(np.array_equal(one[name], two[name], equal_nan=one[name].dtype.kind == "f") for name in one)
        require(one.keys() == two.keys() and same, "the same generator must give the same view; draw from rng alone")
    if not played:
        raise NotApplicableError("it stands in no game on made labels")

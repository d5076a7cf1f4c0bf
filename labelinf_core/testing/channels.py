"""Rules for channels: what the core asks of one, and a game of a few records played twice."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from labelinf_core.contracts.components import Attack, Channel, LabelSet, Measure, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.suite import Matrix
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_core.testing.rules import NotApplicableError, require

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labelinf_core.contracts.components import Outcome
    from labelinf_core.plugin.host import Host
    from labelinf_core.plugin.records import Registered

__all__ = ["RULES", "drawn"]

_RECORDS = 600


def _class_of(item: Registered) -> type[Channel]:
    cls = item.load()
    require(issubclass(cls, Channel), "it must be derived from Channel")
    return cls


def _settings_can_be_written(host: Host, item: Registered) -> None:
    """A suite's table holds a channel's settings beside its own keys; what the base class has is no setting."""
    cls: type[Any] = _class_of(item)
    settings = {field.name for field in attrs.fields(cls)}
    clash = settings & ({field.name for field in attrs.fields(Matrix)} - {"settings"})
    require(not clash, f"a suite cannot give {', '.join(sorted(clash))}: the name is taken by the table itself")
    ours = {name for base in cls.__mro__[1:] if base.__module__.startswith("labelinf_core.") for name in vars(base)}
    hidden = ", ".join(sorted(settings & ours))
    require(not hidden, f"a setting cannot be called {hidden}: it would hide what every channel has by that name")


def _says_what_it_measures(host: Host, item: Registered) -> None:
    measures = _class_of(item).measures()
    require(all(isinstance(each, Measure) for each in measures), "measures() must return Measure objects")
    keys = [each.key for each in measures]
    require(len(set(keys)) == len(keys), "two of its measures have one key")
    require(all(each.title for each in measures), "every measure needs a heading")


def _names_what_there_is(host: Host, item: Registered) -> None:
    """The attacks that it plays when none is named are its own, and so are the labels that it is played on."""
    cls = _class_of(item)
    for spec in cls.strongest():
        _attack(host, spec)
    if cls.default_labels:
        host.find(Kind.LABELS, cls.default_labels)


def _begins_from_its_templates(host: Host, item: Registered) -> None:
    for kind, place in _class_of(item).templates().items():
        package, _, path = place.partition(":")
        require(resources.files(package).joinpath(path).is_file(), f"there is no template {place} for a {kind.noun}")


def _holds_rules_by_kind(host: Host, item: Registered) -> None:
    for kind, rules in _class_of(item).rules().items():
        names = [name for name, _ in rules]
        require(isinstance(kind, Kind), f"rules() has a key {kind!r}, expected a Kind")
        require(len(set(names)) == len(names), f"two of its rules for {kind.plural} have one name")


def _plays_by_its_generators(host: Host, item: Registered) -> None:
    """The same generators give the same game."""
    setting, channel = _started(host, item)
    one, two = (_played(channel, setting) for _ in range(2))
    same = np.array_equal(np.asarray(one.guess), np.asarray(two.guess))
    require(same, "the same generators must give the same guess")
    require(one.queries == two.queries, "the same generators must give the same number of queries")


def _attack(host: Host, spec: str) -> Attack:
    built: Attack = Builder(host).build(Kind.ATTACK, spec, "strongest()")
    return built


def drawn(cls: type[Channel], n_records: int = _RECORDS, n_classes: int = 2) -> LabelSet:
    """Return made labels, with features that say a little about them where the channel trains."""
    rng = np.random.default_rng(3)
    labels = np.asarray(rng.permutation(np.arange(n_records) % n_classes), dtype=np.intp)
    features = rng.standard_normal((n_records, 4)) + labels[:, None] if cls.needs_features else None
    labels.setflags(write=False)
    names = tuple("abc"[:n_classes])
    return LabelSet(labels=labels, class_names=names, title="drawn", provenance="drawn", features=features)


def _started(host: Host, item: Registered) -> tuple[Setting, Channel]:
    """Return the first game that one of the channel's own attacks plays with default settings."""
    cls = _class_of(item)
    settings: Any = cls
    if missing := [each.name for each in attrs.fields(settings) if each.init and each.default is attrs.NOTHING]:
        raise NotApplicableError(f"its settings {', '.join(missing)} have no defaults")
    channel, data = cls(), drawn(cls)
    for spec in cls.strongest() or _own_attacks(host, item):
        setting = Setting(data=data, attack=_attack(host, spec))
        try:
            threat = channel.threat(setting)
        except InputError as error:
            raise NotApplicableError(f"it cannot be played on two classes of made labels: {error}") from error
        if setting.attack is not None and not setting.attack.unsupported_reason(threat):
            return setting, channel
    raise NotApplicableError("none of its attacks plays with default settings")


def _own_attacks(host: Host, item: Registered) -> list[str]:
    found = (each.descriptor for each in host.catalogue(Kind.ATTACK))
    return [each.name for each in found if each.channel == item.descriptor.name]


def _played(channel: Channel, setting: Setting) -> Outcome:
    curator_rng, attack_rng = np.random.default_rng(1), np.random.default_rng(2)
    return channel.play(setting, curator_rng=curator_rng, attack_rng=attack_rng)


RULES: Sequence[tuple[str, Callable[[Host, Registered], None]]] = (
    ("settings-can-be-written", _settings_can_be_written),
    ("says-what-it-measures", _says_what_it_measures),
    ("names-what-there-is", _names_what_there_is),
    ("begins-from-its-templates", _begins_from_its_templates),
    ("holds-rules-by-kind", _holds_rules_by_kind),
    ("plays-by-its-generators", _plays_by_its_generators),
)  #: what every channel is held to

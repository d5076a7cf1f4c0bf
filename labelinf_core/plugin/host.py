"""Finds plugins, checks them, names conflicts, and answers lookups by kind and name.

pluggy's own ``load_setuptools_entrypoints`` stops at the first plugin that fails to import and lets a second
distribution silently replace an entry point of the same name. This host does neither: a faulty plugin is reported
and left out, two distributions under one entry-point name both stay out, and a component that two plugins provide
belongs to neither. Choosing one silently would change which code a result came from. A name belongs to a kind and a
channel, so that two channels may share one; and nobody takes a name from what comes with labelinf.
"""

from __future__ import annotations

import difflib
import itertools
import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

import attrs
import pluggy

from labelinf_core.contracts.errors import NameConflictError, PluginError, UnknownNameError
from labelinf_core.plugin.alone import alone, answers, described, identity, provided, version_hint
from labelinf_core.plugin.descriptors import Command, Descriptor, Kind, SuitePart
from labelinf_core.plugin.markers import PROJECT
from labelinf_core.plugin.records import PluginRecord, PluginStatus, Registered, told
from labelinf_core.plugin.reproductions import Reproduction
from labelinf_core.plugin.statements import Statement
from labelinf_core.plugin.worker import apart, watch

__all__ = ["BLOCK_VARIABLE", "Host", "suggested"]

T = TypeVar("T")
_FEW = 20  # names that a message lists
_LOG = logging.getLogger("labelinf")  # without a handler, warnings go to standard error as they stand

BLOCK_VARIABLE = "LABELINF_BLOCK"  #: environment variable: comma-separated plugin names that must not be imported


@attrs.define(eq=False)
class Host:
    """The loaded plugins and everything they provide.

    Attributes:
        records: Every installed plugin by entry-point name, faulty and blocked ones included.
    """

    strict: bool = False
    records: dict[str, PluginRecord] = attrs.field(factory=dict)
    _managers: dict[str, pluggy.PluginManager] = attrs.field(factory=dict)
    _points: dict[str, EntryPoint] = attrs.field(factory=dict, init=False)
    _components: dict[tuple[Kind, str], list[Registered]] = attrs.field(factory=dict)

    @property
    def third_parties(self) -> frozenset[str]:
        """Names of the components that do not come with labelinf."""
        found = self._components.items()
        return frozenset(name for (_, name), owners in found if any(item.plugin.third_party for item in owners))

    def listed(self) -> Host:
        """Return what a worker needs to build components, as plain data: without anybody's hooks."""
        return Host(records=self.records, components=self._components)

    @property
    def left_out(self) -> str:
        """Say in brackets which installed plugins are not loaded, to whoever misses what may be theirs; or nothing."""
        why = {PluginStatus.BLOCKED: "is blocked", PluginStatus.FAILED: "failed"}
        told = (
            f"{record} {why[record.status]}{': ' * bool(record.problem)}{record.problem}"
            for record in self.records.values()
            if record.status in why
        )
        text = "; ".join(told)
        return f" ({text})" if text else ""

    @classmethod
    def load(cls, *, blocked: Collection[str] = (), strict: bool = False) -> Host:
        """Load every installed plugin, in order of entry-point name.

        Args:
            blocked: Names of plugins that must not even be imported, beside those in ``LABELINF_BLOCK``.
            strict: Raise on the first faulty plugin instead of recording it.

        Raises:
            PluginError: A plugin is faulty and ``strict`` is set.
            UnknownNameError: A blocked name is not installed.
        """
        told = os.environ.get(BLOCK_VARIABLE, "").replace(" ", "").split(",")
        unwanted = frozenset(blocked) | frozenset(filter(None, told))
        host = cls(strict=strict)
        found = sorted(entry_points(group=PROJECT), key=lambda point: point.name)
        installed = {point.name for point in found}
        if missing := sorted(unwanted - installed):
            raise UnknownNameError(
                f"cannot block plugin {missing[0]!r}: it is not installed. "
                f"Installed are {', '.join(sorted(installed))}."
            )
        for name, sharing in itertools.groupby(found, key=lambda point: point.name):
            candidates = list(sharing)
            if name in unwanted:
                host._note(candidates[0], PluginStatus.BLOCKED)
                continue
            ours = [point for point in candidates if identity(point.dist)[0] == PROJECT]
            if len(candidates) > 1 and len(ours) != 1:
                host._fail(candidates[0], _shared(candidates))
                continue
            host._load_one(*(ours or candidates))
            for point in candidates if ours else ():
                if point not in ours:
                    taken = PluginError(f"labelinf itself has a plugin {name!r}; the entry point needs another name")
                    host._fail(point, taken, f"{name} of {identity(point.dist)[0]}")
        return host

    def find(self, kind: Kind, name: str, channel: str = "") -> Registered:
        """Return the component of ``kind`` called ``name``.

        Args:
            kind: What it is.
            name: Its name.
            channel: On which channel it is played; empty where that is not known.

        Raises:
            NameConflictError: More than one plugin provides it, or more than one channel has it. The message names all.
            UnknownNameError: No loaded plugin provides it. The message suggests near names and lists the plugins that
                failed or are blocked.
        """
        owners = self._components.get((kind, name), [])
        if channel and kind is not Kind.CHANNEL:
            owners = [item for item in owners if item.descriptor.channel in (None, channel)]
        found = [item for item in owners if self.is_found(item)]
        if len(found) > 1:  # of several channels
            found = [item for item in found if not item.plugin.third_party] or found
        if len(found) == 1:
            return found[0]
        if found:
            homes = " and ".join(str(item.descriptor.channel) for item in found)
            raise NameConflictError(f"{kind.noun} {name!r} is one of the channels {homes}; say which (--channel).")
        if owners:
            raise NameConflictError(
                f"{kind.noun} {name!r} is provided by {' and by '.join(str(o.plugin) for o in owners)}. "
                f"Block one of them with -p no:NAME, or uninstall it."
            )
        raise UnknownNameError(self._explain_missing(kind, name), f"{kind.noun} {name!r}")

    def add(self, item: Registered) -> None:
        """Let a component be found by its name, beside those that plugins provide.

        Raises:
            NameConflictError: The name is taken and the host is strict.
        """
        self._components.setdefault((item.descriptor.kind, item.descriptor.name), []).append(item)
        if self.strict and (told := next(self.contested(), "")):
            raise NameConflictError(told)

    def is_found(self, item: Registered) -> bool:
        """Whether a component is found by its name: nobody else's could be meant, or it alone comes with labelinf."""
        others = [other.plugin.third_party for other in self._rivals(item)]
        return not others or (all(others) and not item.plugin.third_party)

    def _rivals(self, item: Registered) -> list[Registered]:
        """Return the other components that its name could mean on some channel."""
        home = item.descriptor.channel
        return [
            other
            for other in self._components[item.descriptor.kind, item.descriptor.name]
            if other is not item and (None in (home, other.descriptor.channel) or home == other.descriptor.channel)
        ]

    def catalogue(self, kind: Kind | None = None) -> Iterator[Registered]:
        """Yield every component that is not contested, sorted by kind and name."""
        for key in sorted(self._components, key=lambda item: (item[0].value, item[1])):
            if kind in (None, key[0]):
                yield from filter(self.is_found, self._components[key])

    def provided(self, plugin: str) -> Iterator[Registered]:
        """Yield every component of a plugin, sorted by kind and name; also one that is not found by its name."""
        for key in sorted(self._components, key=lambda item: (item[0].value, item[1])):
            yield from (item for item in self._components[key] if item.plugin.name == plugin)

    def asked(self, kind: Kind, question: Callable[[type[Any]], T]) -> Iterator[tuple[str, T]]:
        """Yield every component of a kind by name, with what ``question`` finds out about its class.

        One that cannot be had is named, and left out.
        """
        for item in self.catalogue(kind):
            try:
                yield item.descriptor.name, item.ask(question)
            except PluginError as error:
                _LOG.warning("labelinf: %s", error)

    def contested(self) -> Iterator[str]:
        """Yield one sentence for every component name that several plugins claim, on one channel."""
        for (kind, name), owners in sorted(self._components.items(), key=lambda item: (item[0][0].value, item[0][1])):
            lost = [item for item in owners if not self.is_found(item)]
            taken = [item for item in lost if not all(other.plugin.third_party for other in self._rivals(item))]
            for item in taken:
                yield f"{kind.noun} {name!r} of {item.plugin} is left out: labelinf has one of that name"
            if rest := [str(item.plugin) for item in lost if item not in taken]:
                yield f"{kind.noun} {name!r} is provided by {' and by '.join(rest)}; neither is used"

    def problems(self) -> Iterator[str]:
        """Yield one sentence for every plugin that was left out for a fault, and every contested name."""
        for record in self.records.values():
            if record.status is PluginStatus.FAILED:
                yield f"{record} was left out: {record.problem}"
        yield from self.contested()

    def statements(self) -> tuple[Statement, ...]:
        """Return every published statement that the loaded plugins implement, sorted by key.

        A plugin whose hook fails is named and left out, or an error when the host is strict.
        """
        found = self._yielded("labelinf_statements", Statement, lambda item: item.key)
        return tuple(sorted(found, key=lambda item: _natural(item.key)))

    def reproductions(self) -> tuple[Reproduction, ...]:
        """Return every published table that the loaded plugins compute again, sorted by name.

        A plugin whose hook fails is named and left out, or an error when the host is strict.
        """
        found = self._yielded("labelinf_reproductions", Reproduction, lambda item: item.name)
        return tuple(sorted(found, key=lambda item: item.name))

    def commands(self) -> tuple[Command, ...]:
        """Return every command that the loaded plugins add, sorted by group and name.

        A plugin whose hook fails is named and left out, or an error when the host is strict.
        """
        found = self._yielded("labelinf_commands", Command, lambda item: (item.group, item.name))
        return tuple(sorted(found, key=lambda item: (item.group, item.name)))

    def suites(self) -> tuple[SuitePart, ...]:
        """Return the parts of every suite that the loaded plugins offer, sorted by suite and rank.

        A plugin whose hook fails is named and left out, or an error when the host is strict.
        """
        found = self._yielded("labelinf_suites", SuitePart, lambda item: item)
        return tuple(sorted(found, key=lambda item: (item.suite, item.rank)))

    def _yielded(self, hook: str, expected: type[T], key: Callable[[T], object]) -> Iterator[T]:
        """Call a hook of one plugin after another: one that fails is named and costs nobody else theirs.

        Of what has one ``key`` that which comes with labelinf stays.

        Raises:
            PluginError: A plugin's hook failed and ``strict`` is set.
        """
        ours: set[object] = set()
        for name in sorted(self._points, key=lambda name: self.records[name].third_party):
            try:
                found = self.offers(name, hook, expected)
            except PluginError as error:
                if self.strict:
                    raise
                _LOG.warning("labelinf: %s; what it offers there is left out", error)
                continue
            if not self.records[name].third_party:
                ours.update(map(key, found))
            elif taken := [item for item in found if key(item) in ours]:
                told = ", ".join(str(key(item)) for item in taken)
                _LOG.warning("labelinf: %s: %s: %s is labelinf's own; left out", self.records[name], hook, told)
                found = [item for item in found if item not in taken]
            yield from found

    def offers(self, name: str, hook: str, expected: type[T]) -> list[T]:
        """Return what a hook of one loaded plugin yields.

        Raises:
            PluginError: It failed, or yields something else.
        """
        who = f"{self.records[name]}: {hook}"
        if self.records[name].third_party:
            return apart(who, lambda: answers(alone(self._points[name].load(), name), who, hook, expected))
        with watch.over(f"{hook} of plugin {name}"):
            return answers(self._managers[name], who, hook, expected)

    def _load_one(self, point: EntryPoint) -> None:
        try:
            if any(other.value == point.value for other in self._points.values()):
                raise TypeError("the same module is already registered under another name")
            provided = self._asked_for(point)
        except Exception as error:  # a plugin's module may raise anything at all
            self._fail(point, error)
            return
        self._points[point.name] = point
        record = self._note(point, PluginStatus.LOADED, provides=provided)
        for descriptor in provided:
            self.add(Registered(descriptor=descriptor, plugin=record))

    def _asked_for(self, point: EntryPoint) -> tuple[Descriptor, ...]:
        """Return what a plugin provides; one that does not come with labelinf is imported apart."""
        if identity(point.dist)[0] != PROJECT:
            return apart(f"plugin {point.name}", lambda: described(point))
        with watch.over(f"plugin {point.name}"):
            manager = self._managers[point.name] = alone(point.load(), point.name)
            return provided(manager)

    def _fail(self, entry_point: EntryPoint, error: BaseException, name: str = "") -> None:
        problem = f"{told(error)}{version_hint(entry_point.dist)}"
        record = self._note(entry_point, PluginStatus.FAILED, problem=problem, name=name)
        if self.strict:
            raise PluginError(f"{record} failed: {problem}") from error

    def _note(
        self,
        entry_point: EntryPoint,
        status: PluginStatus,
        *,
        provides: tuple[Descriptor, ...] = (),
        problem: str = "",
        name: str = "",
    ) -> PluginRecord:
        distribution, version_of_it = identity(entry_point.dist)
        record = PluginRecord(
            name=name or entry_point.name,
            distribution=distribution,
            version=version_of_it,
            status=status,
            provides=provides,
            problem=problem,
        )
        self.records[record.name] = record
        return record

    def _explain_missing(self, kind: Kind, name: str) -> str:
        known = [item.descriptor.name for item in self.catalogue(kind)]
        otherwise = f"labelinf plugins lists the {len(known)} {kind.plural}."
        if len(known) <= _FEW:
            otherwise = f"Known {kind.plural}: {', '.join(known) or 'none'}."
        if elsewhere := [item.descriptor.kind.noun for item in self.catalogue() if item.descriptor.name == name]:
            return (
                f"no {kind.noun} is called {name!r}, but a {' and a '.join(elsewhere)} is. {otherwise}{self.left_out}"
            )
        return f"no {kind.noun} is called {name!r}. {suggested(name, known, otherwise)}{self.left_out}"


def suggested(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a sentence with the known names that are near to ``name``, or ``otherwise`` when none is."""
    near = difflib.get_close_matches(name, sorted(set(known)), n=3)
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else otherwise


def _shared(candidates: list[EntryPoint]) -> NameConflictError:
    owners = " and by ".join(
        f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution" for point in candidates
    )
    return NameConflictError(f"entry point {candidates[0].name!r} is declared by {owners}. Uninstall one of them.")


def _natural(key: str) -> tuple[str, int, str]:
    head = key.rstrip("0123456789")
    digits = key[len(head) :]
    return head, int(digits) if digits else -1, key

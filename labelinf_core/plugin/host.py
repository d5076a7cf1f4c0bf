"""Finds plugins, checks them, names conflicts, and answers lookups by kind and name.

pluggy's own ``load_setuptools_entrypoints`` stops at the first plugin that fails to import and lets a second
distribution silently replace an entry point of the same name. This host does neither: a faulty plugin is reported
and left out, two distributions under one entry-point name both stay out, and a component that two plugins provide
belongs to neither. Choosing one silently would change which code a result came from.
"""

from __future__ import annotations

import difflib
import enum
import functools
import importlib
import itertools
import logging
import os
import sys
from importlib.metadata import Distribution, EntryPoint, entry_points, version
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import pluggy

from labelinf_core.contracts.errors import NameConflictError, PluginError, UnknownNameError
from labelinf_core.contracts.gate import clean, unquoted
from labelinf_core.plugin.apart import apart
from labelinf_core.plugin.catalogue import Catalogue
from labelinf_core.plugin.descriptors import Command, Descriptor, Kind, SuitePart
from labelinf_core.plugin.hookspecs import Specs
from labelinf_core.plugin.markers import CONTRACT, PROJECT
from labelinf_core.plugin.reproductions import Reproduction
from labelinf_core.plugin.statements import Statement
from labelinf_core.plugin.watch import watch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

__all__ = ["BLOCK_VARIABLE", "Host", "PluginRecord", "PluginStatus", "Registered", "suggested"]

T = TypeVar("T")
_LOG = logging.getLogger("labelinf")  # without a handler, warnings go to standard error as they stand

BLOCK_VARIABLE = "LABELINF_BLOCK"  #: environment variable: comma-separated plugin names that must not be imported


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
    def stranger(self) -> bool:
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
        if self.plugin.stranger:
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
                f"{self.descriptor} of {self.plugin} cannot be imported from {self.descriptor.target!r}: {_told(error)}"
            ) from error
        base = BASES[self.descriptor.kind]
        if not (isinstance(loaded, type) and issubclass(loaded, base) and attrs.has(loaded)):
            raise PluginError(
                f"{self.descriptor} of {self.plugin}: {self.descriptor.target!r} must be an attrs class that "
                f"derives from {base.__module__}.{base.__name__}."
            )
        return loaded


@attrs.define(eq=False)
class Host:
    """The loaded plugins and everything they provide.

    Attributes:
        records: Every installed plugin by entry-point name, faulty and blocked ones included.
        blocked: Names that were not imported; workers of a run block the same ones.
    """

    strict: bool = False
    blocked: frozenset[str] = frozenset()
    records: dict[str, PluginRecord] = attrs.field(factory=dict)
    _managers: dict[str, pluggy.PluginManager] = attrs.field(factory=dict)
    _points: dict[str, EntryPoint] = attrs.field(factory=dict, init=False)
    _components: dict[tuple[Kind, str], list[Registered]] = attrs.field(factory=dict)

    @property
    def strangers(self) -> frozenset[str]:
        """Names of the components that do not come with labelinf."""
        return frozenset(name for (_, name), owners in self._components.items() if owners[0].plugin.stranger)

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
        unwanted = frozenset(blocked) | _blocked_by_environment()
        host = cls(strict=strict, blocked=unwanted)
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
            elif len(candidates) > 1:
                host._fail(candidates[0], _shared(candidates))
            else:
                host._load_one(candidates[0])
        return host

    def find(self, kind: Kind, name: str) -> Registered:
        """Return the component of ``kind`` called ``name``.

        Raises:
            NameConflictError: More than one plugin provides it. The message names them all.
            UnknownNameError: No loaded plugin provides it. The message suggests near names and lists the plugins that
                failed or are blocked.
        """
        owners = self._components.get((kind, name), [])
        if len(owners) == 1:
            return owners[0]
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
        owners = self._components.setdefault((item.descriptor.kind, item.descriptor.name), [])
        owners.append(item)
        if self.strict and len(owners) > 1:
            raise NameConflictError(next(self.contested()))

    def catalogue(self, kind: Kind | None = None) -> Iterator[Registered]:
        """Yield every component that is not contested, sorted by kind and name."""
        for key in sorted(self._components, key=lambda item: (item[0].value, item[1])):
            owners = self._components[key]
            if kind in (None, key[0]) and len(owners) == 1:
                yield owners[0]

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
        """Yield one sentence for every component name that several plugins claim."""
        for (kind, name), owners in sorted(self._components.items(), key=lambda item: (item[0][0].value, item[0][1])):
            if len(owners) > 1:
                who = " and by ".join(str(owner.plugin) for owner in owners)
                yield f"{kind.noun} {name!r} is provided by {who}; neither is used"

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
        return tuple(sorted(self._yielded("labelinf_statements", Statement), key=lambda item: _natural(item.key)))

    def reproductions(self) -> tuple[Reproduction, ...]:
        """Return every published table that the loaded plugins compute again, sorted by name.

        A plugin whose hook fails is named and left out, or an error when the host is strict.
        """
        return tuple(sorted(self._yielded("labelinf_reproductions", Reproduction), key=lambda item: item.name))

    def commands(self) -> tuple[Command, ...]:
        """Return every command that the loaded plugins add, sorted by group and name.

        A plugin whose hook fails is named and left out, or an error when the host is strict.
        """
        return tuple(sorted(self._yielded("labelinf_commands", Command), key=lambda item: (item.group, item.name)))

    def suites(self) -> tuple[SuitePart, ...]:
        """Return the parts of every suite that the loaded plugins offer, sorted by suite and rank.

        A plugin whose hook fails is named and left out, or an error when the host is strict.
        """
        return tuple(sorted(self._yielded("labelinf_suites", SuitePart), key=lambda item: (item.suite, item.rank)))

    def _yielded(self, hook: str, expected: type[T]) -> Iterator[T]:
        """Call a hook of one plugin after another: one that fails is named and costs nobody else theirs.

        Raises:
            PluginError: A plugin's hook failed and ``strict`` is set.
        """
        for name in self._points:
            who = f"{self.records[name]}: {hook}"
            try:
                yield from self._answers(name, who, hook, expected)
            except PluginError as error:
                if self.strict:
                    raise
                _LOG.warning("labelinf: %s; what it offers there is left out", error)

    def _answers(self, name: str, who: str, hook: str, expected: type[T]) -> list[T]:
        if self.records[name].stranger:
            return apart(who, lambda: _answers(_alone(self._points[name].load(), name), who, hook, expected))
        with watch.over(f"{hook} of plugin {name}"):
            return _answers(self._managers[name], who, hook, expected)

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
        if _identity(point.dist)[0] != PROJECT:
            return apart(f"plugin {point.name}", lambda: _described(point))
        with watch.over(f"plugin {point.name}"):
            manager = self._managers[point.name] = _alone(point.load(), point.name)
            return _provided(manager)

    def _fail(self, entry_point: EntryPoint, error: BaseException) -> None:
        problem = f"{_told(error)}{_version_hint(entry_point.dist)}"
        record = self._note(entry_point, PluginStatus.FAILED, problem=problem)
        if self.strict:
            raise PluginError(f"{record} failed: {problem}") from error

    def _note(
        self,
        entry_point: EntryPoint,
        status: PluginStatus,
        *,
        provides: tuple[Descriptor, ...] = (),
        problem: str = "",
    ) -> PluginRecord:
        distribution, version_of_it = _identity(entry_point.dist)
        record = PluginRecord(
            name=entry_point.name,
            distribution=distribution,
            version=version_of_it,
            status=status,
            provides=provides,
            problem=problem,
        )
        self.records[entry_point.name] = record
        return record

    def _explain_missing(self, kind: Kind, name: str) -> str:
        known = [item.descriptor.name for item in self.catalogue(kind)]
        otherwise = f"Known {kind.plural}: {', '.join(known) or 'none'}."
        return f"no {kind.noun} is called {name!r}. {suggested(name, known, otherwise)}{self.left_out}"


def suggested(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a sentence with the known names that are near to ``name``, or ``otherwise`` when none is."""
    near = difflib.get_close_matches(name, sorted(set(known)), n=3)
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else otherwise


def _blocked_by_environment() -> frozenset[str]:
    return frozenset(filter(None, os.environ.get(BLOCK_VARIABLE, "").replace(" ", "").split(",")))


def _told(error: BaseException) -> str:
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


def _described(point: EntryPoint) -> tuple[Descriptor, ...]:
    """Return what a plugin provides.

    Raises:
        PluginError: Why it cannot be used.
    """
    try:
        return _provided(_alone(point.load(), point.name))
    except Exception as error:
        raise PluginError(_told(error)) from error


def _answers(manager: pluggy.PluginManager, who: str, hook: str, expected: type[T]) -> list[T]:
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


def _alone(plugin: object, name: str) -> pluggy.PluginManager:
    """Validate a plugin in a manager of its own, so that its faults touch nothing shared; its catalogue joins it."""
    declared = getattr(plugin, "labelinf_contract", None)
    if declared != CONTRACT:
        raise TypeError(
            f"it declares labelinf_contract = {declared!r}, this host speaks {CONTRACT}; "
            f"a plugin written for it says labelinf_contract = {CONTRACT}"
        )
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Specs)
    manager.register(plugin, name=name)
    manager.check_pending()
    if not manager.get_hookcallers(plugin):
        raise TypeError("it implements no hook; mark its functions with labelinf_core.hookimpl")
    for catalogue in manager.hook.labelinf_catalogue():
        if not isinstance(catalogue, Catalogue):
            raise TypeError(f"labelinf_catalogue must return a Catalogue, got {type(catalogue).__name__}")
        manager.register(catalogue)
    return manager


def _provided(manager: pluggy.PluginManager) -> tuple[Descriptor, ...]:
    provided: list[Descriptor] = []
    for kind in Kind:
        for results in getattr(manager.hook, kind.hook)():
            for item in results:
                provided.append(_checked(item, kind, provided))
    return tuple(sorted(provided, key=lambda item: (item.kind.value, item.name)))


def _checked(item: object, kind: Kind, before: list[Descriptor]) -> Descriptor:
    if not isinstance(item, Descriptor):
        raise TypeError(f"{kind.hook} must yield Descriptor objects, got {type(item).__name__}")
    if item.kind is not kind:
        raise TypeError(f"{kind.hook} yielded {item}, which is not of kind {kind.value!r}")
    if any((item.kind, item.name) == (other.kind, other.name) for other in before):
        raise TypeError(f"{kind.hook} yields {item} twice")
    return item


def _shared(candidates: list[EntryPoint]) -> NameConflictError:
    owners = " and by ".join(
        f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution" for point in candidates
    )
    return NameConflictError(f"entry point {candidates[0].name!r} is declared by {owners}. Uninstall one of them.")


def _natural(key: str) -> tuple[str, int, str]:
    head = key.rstrip("0123456789")
    digits = key[len(head) :]
    return head, int(digits) if digits else -1, key


@functools.lru_cache(maxsize=64)
def _identity(dist: Distribution | None) -> tuple[str, str]:
    """Return name and version of a distribution; every question parses its metadata anew, so ask once."""
    return (dist.name, dist.version) if dist else ("an unknown distribution", "?")


def _version_hint(dist: Distribution | None) -> str:
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

"""From a suite to the cells to play: every name looked up, every grid expanded, all faults found at once."""

from __future__ import annotations

import contextlib
import itertools
import platform
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import attrs

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError, LabelinfError, PluginError, UnknownNameError
from labelinf_core.evaluator.cells import Cell, LabelFacts, Plan, Role, Shown, digest_of, new_key
from labelinf_core.evaluator.choice import ALL, STRONGEST, installed
from labelinf_core.evaluator.labels import grouped_only_where_known, load_labels
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.evaluator.survey import ChannelFacts, Fault, Point, channel_facts, points
from labelinf_core.evaluator.third_parties import code_in, content_of
from labelinf_core.plugin.descriptors import NO_DEFENCE, Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder, Spec, parse, stages

__all__ = ["environment_here", "make_plan", "only"]

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "gmpy2", "diffprivlib", "torch")


def make_plan(suite: Suite, builder: Builder, place: str) -> Plan:
    """Look up every name in ``suite``, expand its grids and load its labels; private ones under a key of their own.

    Args:
        suite: What was written.
        builder: Builds the components of a host's plugins.
        place: Where the suite was read, for messages.

    Raises:
        InputError: Something cannot be used; all faults come at once, one a line.
    """
    planner = _Planner(builder=builder, left_out=list(suite.left_out))
    cells: dict[str, Cell] = {}
    offered: dict[str, str] = {}  # faults of tables that plugins offer: not the user's
    for index, matrix in enumerate(suite.matrix):
        before = dict(planner.faults)
        for cell in planner.cells(matrix, f"{matrix.part or place}: matrix[{index}]"):
            if cell.id not in cells or cell.role < cells[cell.id].role:
                cells[cell.id] = cell
        if matrix.part:
            offered |= {text: name for text, name in planner.faults.items() if text not in before}
            planner.faults = before
    planner.left_out += [f"{text} (its cells are left out)" for text in _told(offered, place, builder.host)]
    if planner.faults or not cells:
        raise InputError("\n".join([*_told(planner.faults, place, builder.host), *dict.fromkeys(planner.left_out)]))
    homes = [item.descriptor.channel for item in builder.host.catalogue(Kind.ATTACK)]
    plan = Plan(
        title=suite.title,
        trials=suite.trials,
        seed=suite.seed,
        cells=tuple(cells.values()),
        labels=tuple(planner.labels.values()),
        environment=environment_here(),
        measures={name: channel.measures for name, channel in planner.channels.items()},
        counts_only=tuple(name for name, channel in planner.channels.items() if channel.counts_only),
        installed={name: sum(home in (None, name) for home in homes) for name in planner.channels},
        fresh_order=tuple(name for name, channel in planner.channels.items() if channel.fresh_order),
        left_out=tuple(dict.fromkeys(planner.left_out)),
    )
    return plan.keyed(new_key())


def _told(faults: Mapping[str, str], place: str, host: Host) -> Iterator[str]:
    """Yield the faults, a sentence each; one for all that a plugin may have which is not loaded."""
    missing = [name for name in faults.values() if name]
    together = len(missing) > 1 and bool(host.left_out)
    if together:
        yield f"{place}: nobody provides {', '.join(dict.fromkeys(missing))}.{host.left_out}"
    yield from (text for text, name in faults.items() if not (name and together))


def only(plan: Plan, patterns: Sequence[str]) -> Plan:
    """Keep the cells that match one of ``patterns``.

    Args:
        plan: The whole plan.
        patterns: ``"ATTACK/DEFENCE"`` with shell wildcards, or one pattern that either of them matches.
            ``"not PATTERN"`` leaves out instead; where all are such, whatever else there is is kept.

    Raises:
        InputError: Nothing matches.
    """
    without = [pattern.removeprefix("not ").strip() for pattern in patterns if pattern.startswith("not ")]
    wanted = [pattern for pattern in patterns if not pattern.startswith("not ")]
    kept = tuple(
        _named(cell, wanted)
        for cell in plan.cells
        if (not wanted or any(_matches(cell, pattern) for pattern in wanted))
        and not any(_matches(cell, pattern) for pattern in without)
    )
    if not kept:
        names = dict.fromkeys(
            itertools.chain.from_iterable((c.shown.attack, *(c.shown.defences or [NO_DEFENCE])) for c in plan.cells)
        )
        told = " or ".join(map(repr, wanted)) or "what is asked for"
        beside = f" and not {' or '.join(map(repr, without))}" if without else ""
        raise InputError(f"no cell matches {told}{beside}; the suite has {', '.join(names)}.")
    used = {cell.digest for cell in kept}
    return attrs.evolve(plan, cells=kept, labels=tuple(item for item in plan.labels if item.digest in used))


def _named(cell: Cell, patterns: Sequence[str]) -> Cell:
    """Return a cell whose attack is asked for by name as one that is played in any case."""
    attacks = (pattern.partition("/")[0] for pattern in patterns)
    asked = any(text != "*" and _any_matches((cell.shown.attack,), text) for text in attacks)
    return attrs.evolve(cell, role=Role.NAMED) if asked else cell


@attrs.define(kw_only=True)
class _Planner:
    """Expands matrices, collecting faults instead of stopping at the first.

    A fault is the user's, and nothing is played. What a plugin does wrong costs the cells that need it: those of an
    attack or a defence are planned as they are written and fail under its name, those of labels or a channel, without
    which a cell has no name, are left out and told.
    """

    builder: Builder
    faults: dict[str, str] = attrs.field(factory=dict)
    left_out: list[str] = attrs.field(factory=list)
    labels: dict[tuple[str, bool], LabelFacts] = attrs.field(factory=dict)
    channels: dict[str, ChannelFacts] = attrs.field(factory=dict)

    def cells(self, matrix: Matrix, where: str) -> Iterator[Cell]:
        home = self._home(matrix, where)
        written = [Spec(home, _parsed(matrix.settings))] if home else []
        channels = self._playable(self._points(Kind.CHANNEL, written, [f"{where}.channel"] * len(written)))
        sources = self._playable(self._each(Kind.LABELS, matrix.labels, f"{where}.labels"))
        attacks = list(self._attacks(matrix, f"{where}.attacks", home))
        pipelines = list(self._pipelines(matrix, f"{where}.defences", home))
        loaded = [(source, self._load(source, f"{where}.labels", home)) for source in sources]
        if self.faults:
            return
        for channel, (source, facts), pipeline, (attack, role) in itertools.product(
            channels, loaded, pipelines, attacks
        ):
            if facts is not None:
                yield _cell(channel, str(source.spec), facts, attack, pipeline, role, self.builder)

    def _playable(self, points: Sequence[Point]) -> list[Point]:
        """Return the points that can be had; the others are told."""
        self.left_out += [f"{point.lost} (its cells are left out)" for point in points if point.lost]
        return [point for point in points if not point.lost]

    def _attacks(self, matrix: Matrix, where: str, home: str) -> Iterator[tuple[Point, Role]]:
        """Yield the attacks that are named, and those that are installed where all or the strongest of them are."""
        named = [item for item in matrix.attacks if item not in (STRONGEST, ALL)]
        yield from ((point, Role.NAMED) for point in self._each(Kind.ATTACK, named, where, home))
        if home and {STRONGEST, ALL} & set(map(str, matrix.attacks)):
            role = Role.NAMED if ALL in matrix.attacks else Role.CANDIDATE
            yield from ((point, role) for point in installed(self.builder, home))

    def _home(self, matrix: Matrix, where: str) -> str:
        """Return the channel of a table and remember it; empty, and a fault, when it cannot be told."""
        try:
            home = matrix.home(self.builder.host)
            if home not in self.channels:
                self.channels[home] = channel_facts(self.builder.host, home)
        except InputError as error:
            self.faults[f"{where}: {error}"] = ""
        except PluginError as error:
            self.left_out.append(f"{where}: {error} (its cells are left out)")
        except LabelinfError:
            return matrix.channel  # found again, with its place, where the channel is built
        else:
            return home
        return ""

    def _each(self, kind: Kind, items: Sequence[object], where: str, channel: str | None = None) -> list[Point]:
        return self._points(kind, items, [f"{where}[{index}]" for index in range(len(items))], channel)

    def _pipelines(self, matrix: Matrix, where: str, home: str) -> Iterator[tuple[Point, ...]]:
        for index, item in enumerate(matrix.defences):
            place = f"{where}[{index}]"
            try:
                written = stages(item, place)
            except InputError as error:
                self.faults[str(error)] = ""
                continue
            parts = [self._points(Kind.DEFENCE, [stage], [place], home) for stage in written]
            yield from itertools.product(*parts)

    def _points(
        self, kind: Kind, written: Sequence[object], where: Sequence[str], channel: str | None = None
    ) -> list[Point]:
        """Return the points of grids; what cannot be built is a fault."""
        fitting = [pair for pair in zip(written, where, strict=True) if self._belongs(kind, *pair, channel)]
        answers = points(
            self.builder.on(channel or ""), kind, [item for item, _ in fitting], [place for _, place in fitting]
        )
        for answer in answers:
            if isinstance(answer, Fault):
                self.faults[answer.text] = answer.missing
        return [point for answer in answers if not isinstance(answer, Fault) for point in answer]

    def _belongs(self, kind: Kind, written: object, where: str, channel: str | None) -> bool:
        """Whether a component plays on the channel, or on any; a fault where it does not."""
        try:
            name = parse(written, where).name
            with contextlib.suppress(UnknownNameError):
                self.builder.host.find(kind, name, channel or "")
                return True
            home = self.builder.host.find(kind, name).descriptor.channel
        except LabelinfError:
            return True  # told where it is looked up
        if channel:
            self.faults[f"{where}: {kind.noun} {name!r} plays on the {home} channel, not on {channel!r}."] = ""
            return False
        return True

    def _load(self, source: Point, where: str, home: str) -> LabelFacts | None:
        """Load labels and note what they are; the same content is kept apart when one source calls it private."""
        try:
            data = load_labels(self.builder, source.spec, where)
            grouped_only_where_known(data, home, self.builder.host)
        except PluginError as error:
            self.left_out.append(f"{error} (its cells are left out)")
            return None
        except LabelinfError as error:
            self.faults[str(error)] = ""
            return None
        facts = _facts(data, digest_of(data))
        return self.labels.setdefault((facts.content, facts.public), facts)


def _cell(
    channel: Point,
    source: str,
    facts: LabelFacts,
    attack: Point,
    pipeline: Sequence[Point],
    role: Role,
    builder: Builder,
) -> Cell:
    parts = (channel, attack, *pipeline)
    return Cell(
        channel=channel.full,
        attack=attack.full,
        defences=tuple(stage.full for stage in pipeline),
        lost=" ".join(point.lost for point in parts if point.lost),
        digest=facts.digest,
        content=facts.content,
        public=facts.public,
        versions={plugin.distribution: plugin.version for point in parts for plugin in point.plugins},
        code={code: content_of(code) for point in parts for code in code_in(point.full)},
        foreign=any(plugin.third_party for point in parts for plugin in point.plugins)
        or any(any(code_in(point.full)) for point in parts),
        labels=source,
        shown=Shown(
            channel=str(channel.spec),
            attack=str(attack.spec),
            defences=tuple(str(stage.spec) for stage in pipeline),
            reference=str(builder.host.find(Kind.ATTACK, attack.spec.name, channel.spec.name).descriptor.reference),
        ),
        role=role,
    )


def _parsed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Read the tables among a channel's settings as components."""
    return {key: parse(value, key) if isinstance(value, Mapping) else value for key, value in settings.items()}


def _facts(data: LabelSet, digest: str) -> LabelFacts:
    counts = tuple(int((data.labels == k).sum()) for k in range(data.n_classes))
    return LabelFacts(
        title=data.title,
        provenance=data.provenance,
        n_records=data.n_records,
        class_names=data.class_names,
        class_counts=counts,
        digest=digest,
        content=digest,
        public=data.public is True,
    )


def _matches(cell: Cell, pattern: str) -> bool:
    attacks, defences = (cell.shown.attack,), (*cell.shown.defences, cell.shown.pipeline)
    if "/" in pattern:
        attack, defence = pattern.split("/", 1)
        return _any_matches(attacks, attack) and _any_matches(defences, defence)
    return _any_matches((*attacks, *defences), pattern)


def _any_matches(names: Sequence[str], pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) or fnmatchcase(name.partition("(")[0], pattern) for name in names)


def environment_here() -> dict[str, str]:
    """Return the versions of Python and of the numerical libraries here: the results depend on them."""
    found = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return dict(sorted(found.items()))

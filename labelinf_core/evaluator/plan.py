"""From a suite to the cells to play: every name looked up, every grid expanded, all faults found at once."""

from __future__ import annotations

import itertools
import platform
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import attrs

from labelinf_core.contracts.components import Channel, LabelSet
from labelinf_core.contracts.errors import InputError, LabelinfError
from labelinf_core.evaluator.cells import Cell, LabelFacts, Plan, Shown, digest_of, new_key
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.descriptors import NO_DEFENCE, Kind
from labelinf_core.specs import Builder, Spec, parse, stages

__all__ = ["make_plan", "only"]

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
    planner = _Planner(builder)
    cells: dict[str, Cell] = {}
    for index, matrix in enumerate(suite.matrix):
        for cell in planner.cells(matrix, f"{place}: matrix[{index}]"):
            cells.setdefault(cell.id, cell)
    if planner.faults:
        raise InputError("\n".join(dict.fromkeys(planner.faults)))
    plan = Plan(
        title=suite.title,
        trials=suite.trials,
        seed=suite.seed,
        cells=tuple(cells.values()),
        labels=tuple(planner.labels.values()),
        environment=_environment(),
        measures={name: channel.measures() for name, channel in planner.channels.items()},
        counts_only=tuple(name for name, channel in planner.channels.items() if channel.counts_only is True),
        fresh_order=tuple(name for name, channel in planner.channels.items() if channel.fresh_order is True),
    )
    return plan.keyed(new_key())


def only(plan: Plan, patterns: Sequence[str]) -> Plan:
    """Keep the cells that match one of ``patterns``.

    Args:
        plan: The whole plan.
        patterns: ``"ATTACK/DEFENCE"`` with shell wildcards, or one pattern that either of them matches.

    Raises:
        InputError: Nothing matches.
    """
    kept = tuple(cell for cell in plan.cells if any(_matches(cell, pattern) for pattern in patterns))
    if not kept:
        names = dict.fromkeys(
            itertools.chain.from_iterable((c.shown.attack, *(c.shown.defences or [NO_DEFENCE])) for c in plan.cells)
        )
        raise InputError(f"no cell matches {' or '.join(map(repr, patterns))}; the suite has {', '.join(names)}.")
    used = {cell.digest for cell in kept}
    return attrs.evolve(plan, cells=kept, labels=tuple(item for item in plan.labels if item.digest in used))


@attrs.define
class _Planner:
    """Expands matrices, collecting faults instead of stopping at the first."""

    builder: Builder
    faults: list[str] = attrs.field(factory=list)
    labels: dict[tuple[str, bool], LabelFacts] = attrs.field(factory=dict)
    channels: dict[str, type[Channel]] = attrs.field(factory=dict)

    def cells(self, matrix: Matrix, where: str) -> Iterator[Cell]:
        home = self._home(matrix, where)
        channels = self._points(Kind.CHANNEL, Spec(home, _parsed(matrix.settings)), f"{where}.channel") if home else []
        sources = self._each(Kind.LABELS, matrix.labels, f"{where}.labels")
        attacks = self._each(Kind.ATTACK, matrix.attacks, f"{where}.attacks", home)
        pipelines = list(self._pipelines(matrix, f"{where}.defences", home))
        loaded = [(source, self._load(source, f"{where}.labels")) for source in sources]
        if self.faults:
            return
        for chosen, (source, facts), pipeline, attack in itertools.product(channels, loaded, pipelines, attacks):
            if facts is not None:
                yield self._cell(chosen, source, facts, attack, pipeline)

    def _home(self, matrix: Matrix, where: str) -> str:
        """Return the channel of a table and remember it; empty, and a fault, when it cannot be told."""
        try:
            home = matrix.home(self.builder.host)
            self.channels[home] = self.builder.host.find(Kind.CHANNEL, home).load()
        except InputError as error:
            self.faults.append(f"{where}: {error}")
        except LabelinfError:
            return matrix.channel  # found again, with its place, where the channel is built
        else:
            return home
        return ""

    def _each(self, kind: Kind, items: list[Any], where: str, channel: str | None = None) -> list[Spec]:
        return [
            point
            for index, item in enumerate(items)
            for point in self._points(kind, item, f"{where}[{index}]", channel)
        ]

    def _pipelines(self, matrix: Matrix, where: str, home: str) -> Iterator[tuple[Spec, ...]]:
        for index, item in enumerate(matrix.defences):
            place = f"{where}[{index}]"
            try:
                written = stages(item, place)
            except InputError as error:
                self.faults.append(str(error))
                continue
            yield from itertools.product(*(self._points(Kind.DEFENCE, stage, place, home) for stage in written))

    def _points(self, kind: Kind, written: object, where: str, channel: str | None = None) -> list[Spec]:
        """Return the points of a grid that can be built."""
        points = []
        try:
            for spec in self.builder.expand(kind, written, where):
                self.builder.build(kind, spec, where)
                points.append(spec)
            name = parse(written, where).name
            home = self.builder.host.find(kind, name).descriptor.channel
            if channel and home not in (None, channel):
                raise InputError(f"{where}: {kind.noun} {name!r} plays on the {home} channel, not on {channel!r}.")
        except LabelinfError as error:
            text = str(error)
            self.faults.append(text if text.startswith(where) else f"{where}: {text}")
        return points

    def _load(self, source: Spec, where: str) -> LabelFacts | None:
        """Load labels and note what they are; the same content is kept apart when one source calls it private."""
        try:
            data = self.builder.build(Kind.LABELS, source, where).load()
            _check_labels(data, source)
        except LabelinfError as error:
            self.faults.append(str(error))
            return None
        except Exception as error:  # somebody's label source may raise anything
            self.faults.append(f"{where}: label source {source} raised {type(error).__name__}.")
            return None
        facts = _facts(data, digest_of(data))
        return self.labels.setdefault((facts.content, facts.public), facts)

    def _cell(self, channel: Spec, source: Spec, facts: LabelFacts, attack: Spec, pipeline: tuple[Spec, ...]) -> Cell:
        full, owners = self.builder.full, self.builder.owners
        parts = [(Kind.CHANNEL, channel), (Kind.ATTACK, attack), *((Kind.DEFENCE, stage) for stage in pipeline)]
        plugins = {plugin for kind, spec in parts for plugin in owners(kind, spec, "cell")}
        return Cell(
            channel=str(full(Kind.CHANNEL, channel, "cell")),
            attack=str(full(Kind.ATTACK, attack, "cell")),
            defences=tuple(str(full(Kind.DEFENCE, stage, "cell")) for stage in pipeline),
            digest=facts.digest,
            content=facts.content,
            public=facts.public,
            versions={plugin.distribution: plugin.version for plugin in plugins},
            labels=str(source),
            shown=Shown(
                channel=str(channel),
                attack=str(attack),
                defences=tuple(map(str, pipeline)),
                reference=str(self.builder.host.find(Kind.ATTACK, attack.name).descriptor.reference),
            ),
        )


def _parsed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Read the tables among a channel's settings as components."""
    return {key: parse(value, key) if isinstance(value, Mapping) else value for key, value in settings.items()}


def _check_labels(data: LabelSet, source: Spec) -> None:
    """A label source is anyone's code: hold it to the contract before hours are spent on it."""
    labels = data.labels
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or labels.size == 0:
        raise InputError(f"labels {source} must be a list of at least one integer, got {labels.dtype}{labels.shape}.")
    outside = (labels < 0) | (labels >= data.n_classes)
    if outside.any():
        row = int(outside.argmax())
        raise InputError(f"labels {source}: the label in row {row} must be in 0..{data.n_classes - 1}.")
    if (labels == labels[0]).all():
        raise InputError(f"labels {source} have one class only; at least two are needed.")


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


def _environment() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return dict(sorted(found.items()))

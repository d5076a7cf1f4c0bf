"""Plays one trial of one cell, and says beforehand what is known of it.

**Randomness.** Two streams belong to a trial, both derived by SHA-256 from content alone (and, on private labels, from
the secret of the run, with which their digest is keyed), so that neither the number of workers nor the order of play
changes anything:

* the curator's, from the labels, the seed and the trial's number. Neither the attack nor the defence enters, so in
  trial t every attack meets the same order of labels and a randomised defence the same draws: comparisons between
  cells are paired, which makes their differences more precise and each cell's own interval no less true;
* the attack's, from the whole game (channel, labels, attack, defences), the seed and the trial's number.

Versions of plugins do not enter either: after an upgrade the same game is played.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from typing import TypeVar

import attrs
import numpy as np

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import (
    Attack,
    Channel,
    LabelSet,
    Outcome,
    Setting,
)
from labelinf_core.contracts.errors import ComponentError, InconclusiveError, InputError, PluginError, UnfitError
from labelinf_core.contracts.gate import said
from labelinf_core.contracts.guarantees import Ceiling, Promise
from labelinf_core.contracts.threat import ThreatModel, third_party, vouching
from labelinf_core.evaluator.cells import Cell, digest_of
from labelinf_core.evaluator.choice import place
from labelinf_core.evaluator.costs import cost
from labelinf_core.evaluator.labels import load_labels
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.theory import theory, vouched
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.markers import PROJECT
from labelinf_core.plugin.worker import watch
from labelinf_core.specs import Builder, parse

__all__ = ["TrialRunner", "attack_rng", "curator_rng", "told"]

K = TypeVar("K")
T = TypeVar("T")
_REMEMBERED = 4096  # games, and budgets with their ceilings, that are remembered


def curator_rng(digest: str, seed: int, trial: int) -> np.random.Generator:
    """Return the curator's randomness for one trial on the labels with ``digest``."""
    return _stream("curator", digest, seed, trial)


def attack_rng(cell: Cell, seed: int, trial: int) -> np.random.Generator:
    """Return the attack's randomness for one trial of ``cell``."""
    return _stream("attack", cell.game, seed, trial)


def _stream(*content: object) -> np.random.Generator:
    """Return the stream that texts, whole numbers and tuples of them name."""
    digest = hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).digest()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(int.from_bytes(digest))))


@attrs.define
class TrialRunner:
    """Where cells are played: builds components from their specs and keeps label sets between trials.

    Attributes:
        builder: Builds the components of a host's plugins.
        without: Bounds that are not asked, by name, and why.
        held: Label sets by their content; where there are any, none is read from its source. A worker is handed them:
            what a path means there is not what it means here.
        settled: Of every line of defences that a candidate is certain of, the cell of that candidate.
    """

    builder: Builder
    without: Mapping[str, str] = attrs.field(factory=dict)
    held: dict[str, LabelSet] | None = attrs.field(default=None, repr=False)
    settled: dict[tuple[str, ...], str] = attrs.field(factory=dict, init=False, repr=False)
    _data: dict[str, LabelSet] = attrs.field(factory=dict)
    _utility: dict[tuple[str, tuple[str, ...]], Mapping[str, float]] = attrs.field(factory=dict)
    _theory: dict[tuple[object, ...], list[tuple[ThreatModel, Implied]]] = attrs.field(factory=dict)
    _spent: dict[tuple[object, ...], tuple[Ceiling, ...]] = attrs.field(factory=dict)
    _games: dict[tuple[str, str], tuple[Channel, Setting]] = attrs.field(factory=dict)

    def hold(self, labels: Mapping[str, LabelSet]) -> None:
        """Take label sets, by their content, instead of reading them from their sources."""
        self.held = {**(self.held or {}), **{content: gate.seal(data) for content, data in labels.items()}}

    def imply(self, cell: Cell) -> Implied:
        """Say what is known of ``cell`` before it is played. Raises nothing: a component may do anything."""
        try:
            channel, setting = self._set_up(cell)
            channel.check(setting.data)
            threat = channel.threat(setting)
        except UnfitError as error:
            return Implied(status=Status.REFUSED, message=str(error) if cell.public else gate.unquoted(error))
        except InputError as error:
            status = Status.UNCLEAR if isinstance(error, InconclusiveError) else Status.INVALID
            return Implied(status=status, message=str(error) if cell.public else gate.unquoted(error))
        except (Exception, SystemExit) as error:
            return Implied(status=Status.ERROR, message=told(error, cell))
        try:
            with self._named(cell, channel, setting):
                implied = self._implied(cell, setting, threat)
        except (Exception, SystemExit) as error:
            return Implied(status=Status.ERROR, message=told(error, cell), baseline=threat.baseline)
        try:
            return attrs.evolve(implied, utility=self._cost(cell, channel, setting))
        except (Exception, SystemExit) as error:  # a user's scorer need not take other records than its own
            note = f"what the defences cost honest users could not be measured: {told(error, cell)}"
            return attrs.evolve(implied, notes=(*implied.notes, note))

    def play(self, cell: Cell, seed: int, trial: int, proved: tuple[Ceiling, ...] | None = None) -> Trial:
        """Play one trial of ``cell``. Raises nothing: a component may do anything.

        Args:
            cell: What is played.
            seed: Of the run.
            trial: Its number.
            proved: The ceilings of the cell; asked for when omitted.
        """
        start = time.perf_counter()
        try:
            outcome = self.run_trial(cell, seed, trial)
            outcome = attrs.evolve(outcome, gallery=None) if trial else outcome  # one is enough to look at
            return self.kept(cell, outcome, time.perf_counter() - start, proved)
        except (Exception, SystemExit) as error:
            return Trial(status=Status.ERROR, message=told(error, cell), seconds=time.perf_counter() - start)

    def kept(self, cell: Cell, outcome: Outcome, seconds: float, proved: tuple[Ceiling, ...] | None = None) -> Trial:
        """Return what is kept of a trial of ``cell``.

        Args:
            cell: What was played.
            outcome: What came of it.
            seconds: How long it took.
            proved: The ceilings of the cell; asked for when omitted.
        """
        return Trial(
            n_correct=outcome.n_correct,
            n_records=outcome.n_records,
            chance=outcome.chance,
            queries=outcome.queries,
            seconds=seconds,
            evidence=outcome.evidence,
            doubt=outcome.doubt,
            placebo=outcome.placebo,
            audited=outcome.audited,
            ceilings=self._after(cell, outcome.queries, proved),
            gallery=outcome.gallery,
        )

    def _after(self, cell: Cell, queries: int, proved: tuple[Ceiling, ...] | None) -> tuple[Ceiling, ...]:
        """Return the ceilings that hold for ``queries`` and for no larger budget."""
        key = (cell.channel, cell.digest, cell.defences, queries)
        if key not in self._spent:
            channel, setting = self._set_up(cell)
            full = channel.threat(setting)
            less = channel.spending(full, queries)
            if proved is None:
                proved = self._known(cell, full).ceilings
            found = self._theory_of(cell, less).ceilings if less else ()
            _room(self._spent)[key] = tuple(item for item in found if item not in proved)
        return self._spent[key]

    def run_trial(self, cell: Cell, seed: int, trial: int) -> Outcome:
        """Play one trial of ``cell`` and return all of it; whatever a component raises passes, under its name."""
        channel, setting = self._set_up(cell)
        with self._named(cell, channel, setting), gate.attribute_errors(channel):
            return channel.play(
                setting,
                curator_rng=curator_rng(cell.digest, seed, trial),
                attack_rng=attack_rng(cell, seed, trial),
            )

    @contextlib.contextmanager
    def _named(self, cell: Cell, channel: Channel, setting: Setting) -> Iterator[None]:
        """Give a component's failure its name, plugin and version."""
        try:
            yield
        except ComponentError as error:
            parts: list[tuple[Kind, str, object]] = [
                (Kind.CHANNEL, cell.channel, channel),
                (Kind.ATTACK, cell.attack, setting.attack),
            ]
            parts += [(Kind.DEFENCE, *item) for item in zip(cell.defences, setting.defences, strict=True)]
            for kind, spec, component in parts:
                if component is error.component:
                    name = parse(spec, "cell").name
                    home = parse(cell.channel, "cell").name
                    plugin = self.builder.host.find(kind, name, home).plugin
                    raise ComponentError(f"{kind.value} {name} ({plugin}): {error}", component) from error
            raise

    def _set_up(self, cell: Cell) -> tuple[Channel, Setting]:
        """Build a game: once for all trials where nobody else's component could carry anything from one to the next."""
        key = (cell.id, cell.content)
        if key in self._games:
            return self._games[key]
        game = self._built(cell)
        if cell.versions.keys() == {PROJECT}:
            _room(self._games)[key] = game
        return game

    def _built(self, cell: Cell) -> tuple[Channel, Setting]:
        build = self.builder.on(parse(cell.channel, "cell").name).build
        setting = Setting(
            data=self._labels(cell),
            attack=build(Kind.ATTACK, cell.attack, "cell"),
            defences=tuple(build(Kind.DEFENCE, stage, "cell") for stage in cell.defences),
        )
        return build(Kind.CHANNEL, cell.channel, "cell"), setting

    def _labels(self, cell: Cell) -> LabelSet:
        if self.held is not None:
            if cell.content not in self.held:
                raise PluginError(f"the labels {cell.labels} changed, or could not be read again, after the planning.")
            return self.held[cell.content]
        if cell.content not in self._data:
            data = load_labels(self.builder, cell.labels, "cell")
            if digest_of(data) != cell.content:
                raise InputError(f"the labels {cell.labels} changed after the run was planned.")
            self._data[cell.content] = data
        return self._data[cell.content]

    def _cost(self, cell: Cell, channel: Channel, setting: Setting) -> Mapping[str, float]:
        """Return what the cell's defences cost honest users; the same for every attack."""
        key = (cell.channel, *cell.written)
        if (cell.digest, key) not in self._utility:
            rng = _stream("utility", key) if cell.public else _stream("utility", key, cell.digest)
            self._utility[cell.digest, key] = cost(channel, setting.data, setting.defences, rng)
        return self._utility[cell.digest, key]

    def _implied(self, cell: Cell, setting: Setting, threat: ThreatModel) -> Implied:
        attack: Attack = setting.attack  # type: ignore[assignment]  # _set_up builds one
        with watch.over(f"attack {cell.shown.attack}"), gate.attribute_errors(attack):
            refusal = gate.sentence(attack.unsupported_reason(threat), "unsupported_reason")
            promise = None if refusal or threat.undeclared else attack.promise(threat)
            found = gate.each(() if promise is None else (promise,), Promise, "promise")
            parties = (third_party(attack, "attack"), *vouching(threat))
            found = tuple(vouched(item, tuple(filter(None, parties))) for item in found)
        return attrs.evolve(
            self._known(cell, threat),
            status=Status.REFUSED if refusal else Status.OK,
            message=refusal,
            promise=found[0] if found else None,
            blind=attack.blind is True,
            place=place(self.builder, parse(cell.channel, "cell").name, cell.attack, threat),
        )

    def _known(self, cell: Cell, threat: ThreatModel) -> Implied:
        """Return what theory says of a pipeline: asked once for all attacks that face the same threat model."""
        known = self._theory.setdefault((*cell.target, *self.without), [])
        found = next((said for before, said in known if _same(before, threat)), None)
        if found is None:
            found = self._theory_of(cell, threat)
            known.append((threat, found))
        return found

    def _theory_of(self, cell: Cell, threat: ThreatModel) -> Implied:
        return theory(self.builder, parse(cell.channel, "cell").name, threat, self.without)


def _room(remembered: dict[K, T]) -> dict[K, T]:
    """Return what is remembered with room for one more: an attack may spend as many different budgets as it plays."""
    if len(remembered) >= _REMEMBERED:
        remembered.pop(next(iter(remembered)))
    return remembered


def _same(one: ThreatModel, two: ThreatModel) -> bool:
    try:
        return bool(one == two)
    except Exception:  # a field need not be comparable
        return False


def told(error: BaseException, cell: Cell) -> str:
    """Write an exception as one clause.

    Where labels are private, an exception's own words may hold some: then only a sentence of labelinf's own is
    repeated, and of others the type and the place.
    """
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    return said(error) if cell.public or gate.own_words(root) else gate.unquoted(root)

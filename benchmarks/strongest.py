"""Is the strongest attack among those that are chosen? Every target of the shipped suites meets all that fit.

    python benchmarks/strongest.py --minutes 10         # some targets of every suite
    python benchmarks/strongest.py --suites gradients --seconds 2
    python benchmarks/strongest.py --suites every       # every defence that ships once, in small games of its room

``attacks = "strongest"`` settles who plays before anything is played (:mod:`labelinf_core.evaluator.choice`). Here all
attacks that fit play the same few games against every line of defences. Where one that was not chosen has a better mean
than each that was, by more than three standard errors of the paired differences and two points, both play as many
games again and more, of another seed. What is better there as well is printed: the choice missed it. Status 1 then.
"""

from __future__ import annotations

import argparse
import math
import statistics as plain
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from labelinf_core.contracts.components import Setting
from labelinf_core.contracts.errors import LabelinfError
from labelinf_core.evaluator.cells import Cell
from labelinf_core.evaluator.choice import installed, place
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import attack_rng, curator_rng
from labelinf_core.evaluator.suite import Matrix, Suite, read_suite
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder, parse

SUITES = ("quick", "defences", "gradients", "outputs", "metrics", "certified")
EVERY = "every"  #: no shipped suite: all defences, each with its defaults
ROOMS: dict[str, dict[str, Any]] = {
    "score": {"labels": "made(n_records=40)", "scorer": ["sklearn", "float32"], "queries": [20, 200]},
    "gradient": {"labels": "digits", "samples": 32, "batch": [1, 4], "epochs": 1, "auxiliary": 100},
    "output": {"labels": "breast-cancer", "epochs": 40, "references": 4, "canaries": 0.4},
}
GAMES, AGAIN = 4, 24
ERRORS, POINTS = 3.0, 0.02
SLOW = 20.0  #: seconds of processor time after which an attack plays no further game against a target, by default


@attrs.frozen(kw_only=True)
class Target:
    """A line of defences in a game.

    Attributes:
        cell: One of its cells.
        channel: The game.
        setting: Labels and defences, without an attack.
        chosen: Attacks that are chosen, by their specs.
        others: Those that fit besides.
        seconds: After which an attack plays no further game.
    """

    cell: Cell
    channel: Any
    setting: Setting
    chosen: dict[str, Any]
    others: dict[str, Any]
    seconds: float = SLOW

    @property
    def name(self) -> str:
        """What is attacked."""
        return f"{' + '.join(self.cell.defences) or 'nothing'} / {self.cell.channel} / {self.cell.labels}"

    def shares(self, spec: str, attack: Any, games: int, seed: int) -> list[float]:
        """Return the share of labels that came out, by game; every attack meets the same ones."""
        found, start = [], time.process_time()
        cell = attrs.evolve(self.cell, attack=spec)
        for trial in range(games):
            if time.process_time() - start > self.seconds:
                break
            setting = attrs.evolve(self.setting, attack=attack)
            rngs = curator_rng(cell.digest, seed, trial), attack_rng(cell, seed, trial)
            outcome = self.channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
            found.append(outcome.n_correct / outcome.n_records)
        return found

    def missed(self) -> tuple[str, str, float, float] | None:
        """Return the best of the others where it is better than all that are chosen: who, than whom, and both means."""
        played = {spec: self.shares(spec, one, GAMES, 0) for spec, one in {**self.chosen, **self.others}.items()}
        means = {spec: plain.fmean(shares) for spec, shares in played.items() if shares}
        if not self.others or not self.chosen:
            return None
        best, rival = (max(some, key=lambda spec: means.get(spec, 0.0)) for some in (self.chosen, self.others))
        if not _better(played[rival], played[best]):
            return None
        again = {
            spec: self.shares(spec, {**self.chosen, **self.others}[spec], AGAIN, 1) for spec in (*self.chosen, rival)
        }
        best = max(self.chosen, key=lambda spec: plain.fmean(again[spec]))
        if not _better(again[rival], again[best]):
            return None
        return rival, best, plain.fmean(again[rival]), plain.fmean(again[best])


def _better(one: Sequence[float], other: Sequence[float]) -> bool:
    gaps = [a - b for a, b in zip(one, other, strict=False)]
    error = plain.stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
    return plain.fmean(gaps) > max(POINTS, ERRORS * error)


def every(builder: Builder) -> Suite:
    """Return a suite of all defences that ship, and of none: of scores each as it is and behind a clip."""
    tables = []
    for room, settings in ROOMS.items():
        listed = [
            item.descriptor.name for item in builder.host.catalogue(Kind.DEFENCE) if item.descriptor.channel == room
        ]
        alone: list[Any] = ["none", *(name for name in listed if _complete(builder, name))]
        clipped = [["clip(epsilon=0.01)", name] for name in alone[1:] if room == "score" and name != "clip"]
        values = {name: value if isinstance(value, list) else [value] for name, value in settings.items()}
        labels = values.pop("labels")
        tables.append(Matrix(labels=labels, defences=[*alone, *clipped], channel=room, settings=values))
    return Suite(matrix=tables, title=EVERY)


def _complete(builder: Builder, name: str) -> bool:
    """Whether a defence can be built without parameters."""
    try:
        builder.build(Kind.DEFENCE, name, EVERY)
    except LabelinfError:
        return False
    return True


def lines(suite: str, builder: Builder) -> list[Cell]:
    """Return a cell of every line of defences of a suite."""
    found: dict[tuple[str, ...], Cell] = {}
    said = every(builder) if suite == EVERY else read_suite(suite, builder.host)
    for cell in make_plan(said, builder, suite).cells:
        found.setdefault(cell.target, cell)
    return list(found.values())


def target_of(cell: Cell, builder: Builder, seconds: float) -> Target:
    """Return the line of defences of a cell, with all attacks that fit it."""
    channel = builder.build(Kind.CHANNEL, cell.channel, "line")
    name = parse(cell.channel, "line").name
    data = builder.build(Kind.LABELS, cell.labels, "line").load()
    setting = Setting(data=data, defences=builder.pipeline(list(cell.defences), "line"))
    threat = channel.threat(setting)
    built = {point.full: builder.build(Kind.ATTACK, point.full, "line") for point in installed(builder, name)}
    fitting = {spec: one for spec, one in built.items() if not one.unsupported_reason(threat)}
    chosen = {spec: one for spec, one in fitting.items() if place(builder, name, spec, threat) is not None}
    certain = [spec for spec, one in chosen.items() if (said := one.promise(threat)) and said.certified]
    chosen = {spec: chosen[spec] for spec in certain[:1]} or chosen
    others = {spec: one for spec, one in fitting.items() if spec not in chosen}
    return Target(cell=cell, channel=channel, setting=setting, chosen=chosen, others=others, seconds=seconds)


def in_turns(suites: Iterable[str], builder: Builder) -> Iterator[tuple[str, Cell]]:
    """Yield a line of defences of every suite in turn, spread over each."""
    waiting = {suite: _spread(lines(suite, builder)) for suite in suites}
    while waiting:
        for suite in list(waiting):
            if waiting[suite]:
                yield suite, waiting[suite].pop()
            else:
                del waiting[suite]


def _spread(found: list[Cell]) -> list[Cell]:
    """Return them so that those that come first stand for all: every eighth, then what lies between."""
    return [item for first in (4, 2, 6, 1, 5, 3, 7, 0) for item in found[first::8]][::-1]


def main(arguments: Sequence[str]) -> int:
    """Play, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", nargs="+", default=SUITES)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so much processor time")
    parser.add_argument("--seconds", type=float, default=SLOW, help="of one attack on a target, then no further game")
    options = parser.parse_args(arguments)
    builder = Builder(Host.load())
    start, seen, lost = time.process_time(), dict.fromkeys(options.suites, 0), 0
    for suite, cell in in_turns(options.suites, builder):
        if time.process_time() - start > 60 * options.minutes:
            break
        print(f"{suite}: {cell.target}", file=sys.stderr, flush=True)
        try:
            target = target_of(cell, builder, options.seconds)
            missed = target.missed()
        except LabelinfError as error:
            print(f"{suite}: {cell.target}: {error}", flush=True)
            continue
        seen[suite] += 1
        if missed:
            lost += 1
            print(f"{suite}: {missed[0]} has {missed[2]:.1%}, {missed[1]} {missed[3]:.1%}: {target.name}", flush=True)
    print(f"targets played: {seen}; missed by the choice: {lost}")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The suite ``certified`` at length: is any certificate of any room beaten by the strongest attacks known against it?

    python benchmarks/certified.py --trials 1000           # the whole, hours
    python benchmarks/certified.py --minutes 10            # as many games of every cell as there is time for
    python benchmarks/certified.py --every 12 --trials 3   # a sample

Prints the cells that came closest to their ceilings, and ends with status 1 if one is beaten: if a mean lies above its
ceiling (and what the alarm allows for known class counts) by three standard errors, or a single game is too good for
what holds in every game.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

import attrs

from labelinf_core.contracts.components import Setting
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.evaluator import statistics
from labelinf_core.evaluator.cells import Cell
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import attack_rng, curator_rng, theory
from labelinf_core.evaluator.suite import read_suite
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder

ERRORS = 3.0  #: standard errors that a mean may lie above its ceiling
GAME = 1e-6  #: probability, over all games, of one that is too good by chance


@attrs.define
class Table:
    """One cell: what is proved, and what was seen.

    Attributes:
        cell: Who plays against what.
        channel: Its game.
        setting: Its labels, attack and defences.
        ceilings: What is proved of every attack.
        shares: Share of the labels that was right, by game.
    """

    cell: Cell
    channel: object
    setting: Setting
    ceilings: Sequence[Ceiling]
    shares: list[float] = attrs.field(factory=list)
    n_records: int = 0

    @property
    def allowed(self) -> float:
        """The lowest ceiling, with its allowance."""
        return min(min(1.0, item.accuracy + item.allowance) for item in self.ceilings)

    @property
    def mean(self) -> float:
        """Of the shares."""
        return math.fsum(self.shares) / len(self.shares)

    @property
    def excess(self) -> float:
        """By how many standard errors the mean lies above what is allowed; at least those of independent guesses."""
        n, top = len(self.shares), self.allowed
        spread = math.fsum((share - self.mean) ** 2 for share in self.shares) / max(n - 1, 1)
        error = math.sqrt(max(spread, top * (1 - top) / self.n_records) / n)
        return (self.mean - top) / error if error else math.copysign(math.inf, self.mean - top - 1e-12)

    @property
    def luckiest(self) -> float:
        """Least p-value of one game under what holds in every game; 1 where nothing does."""
        best = round(max(self.shares) * self.n_records)
        lines = [item.game for item in self.ceilings if item.game is not None]
        return min(
            (statistics.game_p_value(best, self.n_records, share=line.share, bits=line.bits) for line in lines),
            default=1.0,
        )

    def play(self, seed: int) -> None:
        """Play one more game."""
        trial = len(self.shares)
        outcome = self.channel.play(  # type: ignore[attr-defined]
            self.setting,
            curator_rng=curator_rng(self.cell.digest, seed, trial),
            attack_rng=attack_rng(self.cell, seed, trial),
        )
        self.n_records = outcome.n_records
        self.shares.append(outcome.n_correct / outcome.n_records)


def tables(every: int = 1) -> list[Table]:
    """Return every ``every``-th cell of the suite that can be played and has a ceiling below 1."""
    host = Host.load()
    builder = Builder(host)
    cells = make_plan(read_suite("certified", host), builder, "certified").cells
    return list(_fitting(builder, cells[::every]))


def _fitting(builder: Builder, cells: Sequence[Cell]) -> Iterator[Table]:
    known: dict[tuple[object, ...], Sequence[Ceiling]] = {}
    labels: dict[str, object] = {}
    for cell in cells:
        if cell.labels not in labels:
            labels[cell.labels] = builder.build(Kind.LABELS, cell.labels, "cell").load()
        setting = Setting(
            data=labels[cell.labels],
            attack=builder.build(Kind.ATTACK, cell.attack, "cell"),
            defences=tuple(builder.build(Kind.DEFENCE, stage, "cell") for stage in cell.defences),
        )
        channel = builder.build(Kind.CHANNEL, cell.channel, "cell")
        threat = channel.threat(setting)
        if setting.attack.refusal(threat):
            continue
        key = (cell.channel, cell.labels, cell.defences)
        if key not in known:
            found = theory(builder, cell.channel.partition("(")[0], setting.defences, threat).ceilings
            known[key] = [item for item in found if item.accuracy + item.allowance < 1]
        if known[key]:
            yield Table(cell=cell, channel=channel, setting=setting, ceilings=known[key])


def beaten(found: Sequence[Table]) -> list[Table]:
    """Return the cells whose certificate does not hold."""
    games = sum(len(item.shares) for item in found)
    return [item for item in found if item.excess > ERRORS or item.luckiest < GAME / games]


def main(arguments: Sequence[str]) -> int:
    """Play, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20, help="games of every cell")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after the round that ends then")
    parser.add_argument("--every", type=int, default=1, help="play every n-th cell")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    found, start = tables(options.every), time.monotonic()
    for _ in range(options.trials):
        for item in found:
            item.play(options.seed)
        if time.monotonic() - start > 60 * options.minutes:
            break
    _print(found)
    return int(bool(beaten(found)))


def _print(found: Sequence[Table]) -> None:
    rooms: Mapping[str, int] = {
        room: sum(item.cell.channel.startswith(room) for item in found) for room in ("score", "gradient", "output")
    }
    print(f"{len(found)} cells {dict(rooms)}, {len(found[0].shares)} games each; lost: {len(beaten(found))}")
    print("errors above  mean   allowed  attack / defences / game")
    for item in sorted(found, key=lambda one: -one.excess)[:12]:
        cell = item.cell
        game = f"{cell.shown.attack} / {' + '.join(cell.defences)} / {cell.channel}"
        print(f"{item.excess:+11.2f}  {item.mean:.4f}  {item.allowed:.4f}  {game}")
    print(f"luckiest game: p = {min(item.luckiest for item in found):.2g}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The suite ``certified`` at length: is any certificate of any room beaten by the strongest attacks known against it?

    python benchmarks/certified.py --keep games.json                # until every cell has 1 000 games: hours
    python benchmarks/certified.py --keep games.json --minutes 10   # so much processor time; goes on where it was
    python benchmarks/certified.py --every 12 --trials 3            # a sample

Games of which all cells have ``--trials`` soonest are played first. They are played without what nobody looks at here
(placebos, audits, checks of arguments); a test holds them to those that the evaluator plays. Prints how many games
each kind of cell has had and what came closest to its ceiling, and ends with status 1 if a certificate is beaten: if a
mean lies above its ceiling (and what the alarm allows for known class counts) by three standard errors, or a single
game is too good for what holds in every game. Among hundreds of cells that reach their ceilings exactly one may exceed
three errors by luck: a suspect plays as many games again, with other randomness, and is judged by those.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import pickle
import statistics as plain
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import sklearn.metrics
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import xlogy

from labelinf_core.contracts.components import Defence, LabelSet, Outcome, Overlap, Setting
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.evaluator.cells import Cell
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import attack_rng, curator_rng
from labelinf_core.evaluator.suite import read_suite
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.statistics import proportions
from labelinf_gradients.game.channel import GradientChannel
from labelinf_outputs.game.channel import OutputChannel

ERRORS = 3.0  #: standard errors that a mean may lie above its ceiling
GAME = 1e-6  #: probability, over all games, of one that is too good by chance
ROOMS = ("score", "gradient", "output")


def in_kind(channel: OutputChannel, setting: Setting, *, curator_rng: Generator, attack_rng: Generator) -> Outcome:
    """Play a game on outputs without the placebo, the audit and what the model is right on."""
    game = channel._game(setting.data, setting.defences, curator_rng)
    game._accuracy = _unseen  # type: ignore[method-assign]
    guess = setting.attack.run(game.oracle(channel.threat(setting)), attack_rng)
    return _counted(guess.labels, game.member(0).planted)


def _unseen(*_: Any) -> float:
    return math.nan


@functools.lru_cache(maxsize=64)
def _released(channel: GradientChannel, data: LabelSet, defences: tuple[Defence, ...], dealer: bytes) -> Any:
    rng = pickle.loads(dealer)
    threat = channel.threat(Setting(data=data, defences=defences))
    return channel._deal(data, threat, channel._federation(data, int(rng.integers(2**32))), rng)


def one_release(
    channel: GradientChannel, setting: Setting, *, curator_rng: Generator, attack_rng: Generator
) -> Outcome:
    """Play a game on gradients; every attack of one trial sees the same release, as it does in a run."""
    oracle, samples = _released(channel, setting.data, setting.defences, pickle.dumps(curator_rng))
    guess = setting.attack.run(oracle, attack_rng)
    measure = Overlap(size=samples.classes.size // len(samples.labels))
    return _counted(measure.placed(guess.labels, samples.classes), samples.classes)


def _counted(guessed: NDArray[np.intp], truth: NDArray[np.intp]) -> Outcome:
    return Outcome(n_correct=int(np.count_nonzero(guessed == truth)), n_records=truth.size, queries=1, evidence={})


QUICK = {OutputChannel: in_kind, GradientChannel: one_release}


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
    def name(self) -> str:
        """Who plays against what, on which labels."""
        cell = self.cell
        return f"{cell.attack} / {' + '.join(cell.defences)} / {cell.channel} / {cell.labels}"

    @property
    def attack(self) -> str:
        """The attack without its parameters."""
        return self.cell.attack.partition("(")[0]

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
            (proportions.game_p_value(best, self.n_records, share=line.share, bits=line.bits) for line in lines),
            default=1.0,
        )

    def play(self, seed: int, *, fully: bool = False) -> None:
        """Play one more game: ``fully`` as the evaluator does, otherwise without what nobody looks at here."""
        trial, quick = len(self.shares), None if fully else QUICK.get(type(self.channel))
        outcome = (quick or type(self.channel).play)(
            self.channel,
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
        if setting.attack.unsupported_reason(threat):
            continue
        key = (cell.channel, cell.labels, cell.defences)
        if key not in known:
            found = theory(builder, cell.channel.partition("(")[0], threat).ceilings
            known[key] = [item for item in found if item.accuracy + item.allowance < 1]
        if known[key]:
            yield Table(cell=cell, channel=channel, setting=setting, ceilings=known[key])


class LogLoss:
    """What ``sklearn.metrics.log_loss`` computes, bit by bit, without its checks, which cost ten times as much.

    Every fiftieth answer is held to scikit-learn's.
    """

    def __init__(self) -> None:
        self._real, self._asked = sklearn.metrics.log_loss, 0

    def __call__(self, y_true: NDArray[np.intp], y_pred: NDArray[Any], *, labels: NDArray[np.intp]) -> float:
        """Return the log-loss of predictions in [0, 1], shape ``(n,)`` or ``(n, K)``; anything else is handed on."""
        self._asked += 1
        if y_pred.min() < 0 or y_pred.max() > 1:
            return float(self._real(y_true, y_pred, labels=labels))
        small = np.finfo(y_pred.dtype).eps
        rows = np.stack([1 - y_pred, y_pred], axis=1) if y_pred.ndim == 1 else y_pred
        costs = -xlogy(np.eye(len(labels), dtype=np.int64)[y_true], np.clip(rows, small, 1 - small)).sum(axis=1)
        answer = float(np.average(costs))
        if self._asked % 50 == 1 and answer != self._real(y_true, y_pred, labels=labels):
            raise AssertionError(f"scikit-learn does not answer {answer!r} to {y_pred!r}")
        return answer


def beaten(found: Sequence[Table]) -> list[Table]:
    """Return the cells whose certificate does not hold."""
    games = sum(len(item.shares) for item in found)
    played = [item for item in found if item.shares]
    return [item for item in played if item.excess > ERRORS or item.luckiest < GAME / games]


def games(found: Sequence[Table]) -> list[list[Table]]:
    """Return the cells that share a channel and labels: in one trial they meet the same victims and networks."""
    key = {(item.cell.channel, item.cell.labels): [] for item in found}
    for item in found:
        key[item.cell.channel, item.cell.labels].append(item)
    return list(key.values())


def spend(found: Sequence[Table], trials: int, seconds: float, seed: int) -> None:
    """Play until every cell has had ``trials`` games or the processor time is over: what needs least of it first.

    What is trained is kept for a while, so trial after trial is played by all cells of a game.
    """
    start, groups = time.process_time(), games(found)
    each = [0.0] * len(groups)  # seconds that a trial takes
    while time.process_time() - start < seconds:
        had = [min(len(item.shares) for item in group) for group in groups]
        left = {index: (trials - one) * each[index] for index, one in enumerate(had) if one < trials}
        if not left:
            return
        index = min(left, key=lambda one: left[one])
        before = time.process_time()
        for item in groups[index]:
            if len(item.shares) == had[index]:
                item.play(seed)
        each[index] = max(each[index], time.process_time() - before)


def again(suspects: Sequence[Table], seed: int) -> list[Table]:
    """Return the suspects with as many new games, of another seed."""
    fresh = [attrs.evolve(item, shares=[]) for item in suspects]
    for old, new in zip(suspects, fresh, strict=True):
        for _ in old.shares:
            new.play(seed)
    return fresh


def main(arguments: Sequence[str]) -> int:
    """Play, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000, help="games of every cell")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so much processor time")
    parser.add_argument("--every", type=int, default=1, help="play every n-th cell")
    parser.add_argument("--keep", type=Path, help="file in which games are kept, and found again")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    found = tables(options.every)
    sklearn.metrics.log_loss = LogLoss()
    if options.keep and options.keep.exists():
        _restore(found, json.loads(options.keep.read_text(encoding="utf-8")))
    left = 60 * options.minutes
    while left > 0 and any(len(item.shares) < options.trials for item in found):
        spend(found, options.trials, min(left, 15.0), options.seed)
        left -= 15
        if options.keep:
            part = options.keep.with_suffix(".part")
            part.write_text(json.dumps(_kept(found)), encoding="utf-8")
            part.replace(options.keep)
    suspects = beaten(found)
    lost = beaten(again(suspects, options.seed + 1))
    _print(found, suspects, lost)
    return int(bool(lost))


def _kept(found: Sequence[Table]) -> dict[str, list[int]]:
    return {item.name: [item.n_records, *(round(one * item.n_records) for one in item.shares)] for item in found}


def _restore(found: Sequence[Table], kept: Mapping[str, Sequence[int]]) -> None:
    for item in found:
        if item.name in kept:
            item.n_records, *correct = kept[item.name]
            item.shares = [one / item.n_records for one in correct]


def _print(found: Sequence[Table], suspects: Sequence[Table], lost: Sequence[Table]) -> None:
    played = [item for item in found if item.shares]
    full = sum(len(item.shares) >= 1000 for item in played)
    games = sum(len(item.shares) for item in played)
    print(
        f"{games} games of {len(found)} cells, {full} of them with 1 000 or more; {len(found) - len(played)} unplayed"
    )
    print(f"suspects: {len(suspects)}; beaten when played again: {len(lost)}")
    print("| room | attack | cells | games a cell: least, median, most | nearest to its ceiling, standard errors |")
    print("|---|---|---|---|---|")
    for room in ROOMS:
        here = [item for item in played if item.cell.channel.startswith(room)]
        for attack in sorted({item.attack for item in here}):
            some = [item for item in here if item.attack == attack]
            counts = [len(item.shares) for item in some]
            each = f"{min(counts)}, {plain.median(counts):.0f}, {max(counts)}"
            print(f"| {room} | `{attack}` | {len(some)} | {each} | {max(item.excess for item in some):+.1f} |")
    print("errors above  games  mean   allowed  cell")
    for item in sorted(played, key=lambda one: -one.excess)[:12]:
        print(f"{item.excess:+11.2f}  {len(item.shares):5}  {item.mean:.4f}  {item.allowed:.4f}  {item.name}")
    print(f"luckiest game: p = {min(item.luckiest for item in played):.2g}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

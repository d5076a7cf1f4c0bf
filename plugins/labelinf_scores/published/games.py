"""Games as the papers play them: fresh random labels every time, one attack, and the time that the adversary takes."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import LabelinfError, QueryRefusedError
from labelinf_core.contracts.pictures import Series
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder

__all__ = ["Games", "line", "longest", "play"]


@attrs.frozen(kw_only=True, eq=False)
class Games:
    """What came of some games.

    Attributes:
        shares: Share of the labels guessed correctly, game by game; 0 where the attack had nothing to ask.
        queries: Most queries that one of them took.
        seconds: Mean time of one, curator included.
    """

    shares: NDArray[np.float64]
    queries: int
    seconds: float

    @property
    def accuracy(self) -> float:
        """Mean share of the labels guessed correctly."""
        return float(self.shares.mean())

    @property
    def exact(self) -> float:
        """Share of games in which every label came out."""
        return float((self.shares == 1).mean())


@functools.cache
def _builder() -> Builder:
    return Builder(Host.load())


def play(
    attack: str,
    counts: Sequence[int] | int,
    *,
    classes: int = 2,
    channel: str = "score(scorer=float64)",
    defences: Sequence[str] = (),
    games: int = 20,
    seed: int = 0,
) -> Games:
    """Play an attack on fresh labels.

    Args:
        attack: Its spec.
        counts: Labels of every class, in random order; or how many labels, each drawn uniformly.
        classes: K, where ``counts`` is a number.
        channel: Spec of the score channel.
        defences: Specs, from the curator outward.
        games: How many.
        seed: Of all that is drawn.
    """
    builder = _builder()
    game = builder.build(Kind.CHANNEL, channel, "reproduce")
    stages = builder.pipeline(list(defences), "reproduce")
    player = builder.build(Kind.ATTACK, attack, "reproduce")
    rng, shares, queries, began = np.random.default_rng(seed), [], 0, time.perf_counter()
    for _ in range(games):
        setting = Setting(data=_labels(counts, classes, rng), attack=player, defences=stages)
        try:
            outcome = game.play(setting, curator_rng=rng, attack_rng=rng)
        except (QueryRefusedError, LabelinfError, ValueError, OverflowError):
            shares.append(0.0)  # the format holds no such query: nothing comes out
            continue
        shares.append(outcome.n_correct / outcome.n_records)
        queries = max(queries, outcome.queries)
    return Games(shares=np.array(shares), queries=queries, seconds=(time.perf_counter() - began) / games)


def _labels(counts: Sequence[int] | int, classes: int, rng: np.random.Generator) -> LabelSet:
    if isinstance(counts, int):
        labels, k = rng.integers(0, classes, counts), classes
    else:
        labels, k = rng.permutation(np.repeat(np.arange(len(counts)), counts)), len(counts)
    names = tuple(map(str, range(k)))
    return LabelSet(labels=labels.astype(np.intp), class_names=names, title="labels", provenance="drawn", public=True)


def longest(sizes: Iterable[int], plays: functools.partial[Games], share: float = 1.0) -> int:
    """Return the last of growing sizes at which every label comes out in so large a share of games; 0 for none."""
    reached = 0
    for size in sizes:
        if plays(size).exact < share:
            break
        reached = size
    return reached


def line(name: str, points: Iterable[tuple[float, float]]) -> Series:
    """Return points as a line of a picture."""
    return Series(name=name, points=tuple((float(x), float(y)) for x, y in points))

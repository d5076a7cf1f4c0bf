"""Games as the papers play them: fresh random labels every time, one attack, and the time that the adversary takes.

What is printed of games, every figure, row and point, is computed from them here, with their labels and queries.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.contracts.errors import LabelinfError, QueryRefusedError
from labelinf_core.contracts.pictures import Series
from labelinf_core.plugin.comparisons import Measured, Origin
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.reproductions import Table
from labelinf_core.specs import Builder

__all__ = ["Games", "fewest", "line", "longest", "play", "points", "searched", "tried"]

_PLAYED = ("N", "queries", "labels a query", "games", "seed")


@attrs.frozen(kw_only=True, eq=False)
class Games:
    """What came of some games.

    Attributes:
        played: What was played, as it went.
        shares: Share of the labels guessed correctly, game by game; 0 where the attack had nothing to ask.
        seconds: Mean time of one, curator included.
    """

    played: Origin
    shares: NDArray[np.float64]
    seconds: float

    @property
    def accuracy(self) -> float:
        """Mean share of the labels guessed correctly."""
        return float(self.shares.mean())

    @property
    def exact(self) -> float:
        """Share of games in which every label came out."""
        return float((self.shares == 1).mean())

    def recovered(self, of: str = "", n: int | None = None) -> Measured:
        """Return the mean share of labels as a figure; ``n`` are the labels of the paper's game."""
        return Measured(value=100 * self.accuracy, unit="%", of=of, played=self.played, n=n)

    def took(self, of: str = "") -> Measured:
        """Return the mean time of a game as a figure."""
        return Measured(value=1000 * self.seconds, unit="ms", of=of, played=self.played)


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
    rng, shares, outcomes, began = np.random.default_rng(seed), [], [], time.perf_counter()
    for _ in range(games):
        data = _labels(counts, classes, rng)
        try:
            outcome = game.play(Setting(data=data, attack=player, defences=stages), curator_rng=rng, attack_rng=rng)
        except (QueryRefusedError, LabelinfError, ValueError, OverflowError):
            shares.append(0.0)  # the format holds no such query: nothing comes out
            continue
        shares.append(outcome.n_correct / outcome.n_records)
        outcomes.append(outcome)
    queries = max((outcome.queries for outcome in outcomes), default=0)
    played = Origin(
        game=" behind ".join((f"{attack} on {data.n_classes} classes of {channel}", *defences[::-1])),
        n=len(data.labels),
        queries=queries,
        per_query=_asked(outcomes),
        games=games,
        seed=seed,
    )
    return Games(played=played, shares=np.array(shares), seconds=(time.perf_counter() - began) / games)


def _asked(outcomes: Sequence[Outcome]) -> float:
    """Return the most labels that one query of the games asked about: as the attack says, or all."""
    asked = (outcome.evidence.get("labels per query", outcome.n_records) for outcome in outcomes if outcome.queries)
    return max(map(float, asked), default=0.0)


def _labels(counts: Sequence[int] | int, classes: int, rng: np.random.Generator) -> LabelSet:
    if isinstance(counts, int):
        labels, k = rng.integers(0, classes, counts), classes
    else:
        labels, k = rng.permutation(np.repeat(np.arange(len(counts)), counts)), len(counts)
    names = tuple(map(str, range(k)))
    return LabelSet(labels=labels.astype(np.intp), class_names=names, title="labels", provenance="drawn", public=True)


def longest(sizes: Sequence[int], plays: Callable[[int], Games], share: float = 1.0, of: str = "") -> Measured:
    """Return the last of growing sizes at which every label comes out in so large a share of games; 0 for none.

    Every size is played until one fails; the last of them is the end of the search.
    """
    reached, games = 0, plays(sizes[0])
    for size in sizes:
        played = games if size == sizes[0] else plays(size)
        if played.exact < share:
            break
        reached, games = size, played
    return Measured(value=reached, unit="labels", of=of, played=games.played, cap=sizes[-1])


def fewest(games: Iterable[Games], of: str = "", n: int | None = None) -> Measured:
    """Return the fewest queries with which every label came out in every game, of those that were tried."""
    tried = sorted(games, key=lambda each: each.played.queries)
    found = next((each for each in tried if each.exact == 1), None)
    ends = {"cap": tried[-1].played.queries} if found is None else {"floor": tried[0].played.queries}
    return Measured(
        value=math.inf if found is None else found.played.queries,
        unit="queries",
        of=of,
        played=(found or tried[-1]).played,
        n=n,
        **ends,
    )


def tried(title: str, games: Iterable[Games]) -> Table:
    """Return a row for games of every size."""
    columns = ("labels %", "all labels, share of games", "ms")
    return _table(title, columns, [(g.played, (100 * g.accuracy, g.exact, 1000 * g.seconds)) for g in games])


def searched(title: str, x: str, figures: Mapping[float, Measured]) -> Table:
    """Return a row for every search, with the games that its figure comes from."""
    return _table(title, (x, "found"), [(figure.played, (at, figure.words)) for at, figure in figures.items()])


def _table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[Origin, tuple[Any, ...]]]) -> Table:
    games = dict.fromkeys((rows[0][0].game, rows[-1][0].game))
    return Table(
        title=f"{title}: {' to '.join(games)}",
        columns=(*_PLAYED, *columns),
        rows=tuple((p.n, p.queries, p.per_query, p.games, p.seed, *row) for p, row in rows),
    )


def line(name: str, pairs: Iterable[tuple[float, float]]) -> Series:
    """Return pairs as a line of a picture."""
    return Series(name=name, points=tuple((float(x), float(y)) for x, y in pairs))


def points(name: str, figures: Mapping[float, Measured]) -> Series:
    """Return searches as a line of a picture; where one stopped at its own end, that stands beside the point."""
    words = tuple(figure.words if figure.ends[0] != figure.ends[1] else "" for figure in figures.values())
    return Series(name=name, points=tuple((x, float(y.value)) for x, y in figures.items()), words=words)

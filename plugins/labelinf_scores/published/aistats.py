"""The experiments of Aggarwal et al., AISTATS 2022: Figures 1 to 4.

The attacks see no features, so Titanic is 1 490 and 711 labels in a random order, and a data set matters by its classes
only, as the paper says itself. In many queries every block of M labels is a game of its own: 220 labels show the same
accuracy as 70 000, and how many queries a whole data set takes is ``ceil(N / M)``.
"""

from __future__ import annotations

import functools
import math

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.plugin.reproductions import Absent, Compared, Reproduced, Table
from labelinf_scores.published.games import Games, line, longest, play

__all__ = ["figure_1", "figure_2", "figure_3", "figure_4"]

_NOISES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_TITANIC = 2201
_SHOWN = 220  # labels that stand for a whole data set
_LABELS = (1, 2, 4, 6, 10, 14, 20)  # a query
_MOST = {2: 14, 6: 6, 10: 5}  # labels of one query that are tried, by classes: all labellings are gone through


def figure_1() -> Reproduced:
    """The longest vector that one query gives away, against the noise."""
    always = {
        "(a) Itakura-Saito, 2 classes": [
            (tau, _longest("log-primes", "itakura-saito", 2, tau, 1.0)) for tau in _NOISES
        ],
        "(b) cross-entropy, 2 classes": [
            (tau, _longest("powers-exhaustive", "log-loss", 2, tau, 1.0)) for tau in _NOISES
        ],
        "(b) cross-entropy, 6 classes": [
            (tau, _longest("powers-exhaustive", "log-loss", 6, tau, 1.0)) for tau in _NOISES
        ],
    }
    half = {
        "(c) cross-entropy, 6 classes": [
            (tau, _longest("powers-exhaustive", "log-loss", 6, tau, 0.5)) for tau in _NOISES
        ],
        "(d) softmax, 6 classes": [
            (tau, _longest("powers-exhaustive", "softmax-log-loss", 6, tau, 0.5)) for tau in _NOISES
        ],
    }
    binary, six = always["(b) cross-entropy, 2 classes"], always["(b) cross-entropy, 6 classes"]
    return Reproduced(
        title="Length of the vector that one query gives away, against the noise",
        tables=tuple(
            Table(title=f"{name}, {how}", columns=("noise", "N"), rows=tuple(points))
            for lines, how in ((always, "in every game"), (half, "in half of the games"))
            for name, points in lines.items()
        ),
        pictures=tuple(
            Picture(
                title=f"One query: N that comes out {how}",
                x="noise tau",
                y="N",
                log=True,
                series=tuple(line(name, points) for name, points in lines.items()),
            )
            for lines, how in ((always, "always"), (half, "in half of the games"))
        ),
        compared=(
            Compared(
                item="more noise", paper="fewer labels", measured=f"{binary[0][1]} labels to {binary[-1][1]}",
                why="the same; at most 14 labels are tried here, since all labellings are gone through",
            ),
            Compared(
                item="more classes", paper="fewer labels",
                measured=f"2 classes: {binary[0][1]}, 6 classes: {six[0][1]} (noise {_NOISES[0]:g})",
                why="the same: gaps double with every row and every class",
            ),
            Compared(
                item="softmax against probabilities", paper="fewer labels",
                measured=f"{half['(d) softmax, 6 classes'][0][1]} against {half['(c) cross-entropy, 6 classes'][0][1]}",
                why="logits here are the logarithms themselves, of which a double holds more than of probabilities",
            ),
        ),
    )  # fmt: skip


def figure_2() -> Reproduced:
    """Accuracy in many queries: Itakura-Saito, and softmax of several classes."""
    shown = {
        f"Itakura-Saito, noise {tau:g}": _blocks("log-primes(size={m}, tau={tau})", "itakura-saito", 2, tau)
        for tau in (1e-4, 1.0)
    } | {
        "softmax, 6 classes, noise 0.01": _blocks(_POWERS, "softmax-log-loss", 6, 0.01),
    }
    return _many("Label reconstruction in many queries", shown, (
        _perfect("Itakura-Saito on Titanic, noise 0.0001", "220 queries", shown["Itakura-Saito, noise 0.0001"]),
        _perfect("Itakura-Saito on Titanic, noise 1", "1 100 queries", shown["Itakura-Saito, noise 1"]),
    ))  # fmt: skip


def figure_3() -> Reproduced:
    """Accuracy in many queries: cross-entropy of several classes."""
    shown = {
        f"cross-entropy, {k} classes, noise {tau:g}": _blocks(_POWERS, "log-loss", k, tau)
        for k in (2, 6, 10)
        for tau in (0.01, 1.0)
    }
    two, ten = (_fewest(shown[f"cross-entropy, {k} classes, noise 0.01"]) for k in (2, 10))
    return _many("Label reconstruction with cross-entropy", shown, (
        Compared(item="more classes", paper="more queries for all labels",
                 measured=f"for 2 201 labels {two} with 2 classes, {ten} with 10", why="the same"),
    ))  # fmt: skip


def figure_4() -> Reproduced:
    """Sigmoid cross-entropy: one query, and many."""
    points = [(tau, _longest("powers-exhaustive", "sigmoid-log-loss", 2, tau, 0.5)) for tau in _NOISES]
    plain = [(tau, _longest("powers-exhaustive", "log-loss", 2, tau, 0.5)) for tau in _NOISES]
    shown = {f"sigmoid, noise {tau:g}": _blocks(_POWERS, "sigmoid-log-loss", 2, tau) for tau in (1e-4, 1.0)}
    many = _many("Sigmoid cross-entropy on Titanic", shown, (
        Compared(item="against plain cross-entropy", paper="fewer labels",
                 measured=", ".join(f"{a} and {b}" for (_, a), (_, b) in zip(points, plain, strict=True)),
                 why="our decoder compares the scores of all labellings, and needs few digits of a logit"),
    ))  # fmt: skip
    left = Picture(
        title="One query: N that comes out in half of the games", x="noise tau", y="N", log=True,
        series=(line("sigmoid", points), line("cross-entropy", plain)),
    )  # fmt: skip
    table = Table(title="(a) one query, in half of the games", columns=("noise", "N"), rows=tuple(points))
    return Reproduced(
        title=many.title,
        tables=(table, *many.tables),
        pictures=(left, *many.pictures),
        compared=many.compared,
        absent=many.absent,
    )


_POWERS = "powers-blocks(labels_per_query={m}, tau={tau})"
Blocks = dict[int, Games]


def _longest(attack: str, loss: str, classes: int, tau: float, share: float) -> int:
    plays = functools.partial(
        play, f"{attack}(tau={tau})", classes=classes, channel=_channel(loss), defences=[_uniform(tau)], games=6
    )
    return longest(range(1, _MOST[classes] + 1), plays, share)


def _blocks(attack: str, loss: str, classes: int, tau: float) -> Blocks:
    played = functools.partial(play, classes=classes, channel=_channel(loss), defences=[_uniform(tau)], games=1)
    return {m: played(attack.format(m=m, tau=tau), _SHOWN) for m in _LABELS}


def _many(title: str, shown: dict[str, Blocks], compared: tuple[Compared, ...]) -> Reproduced:
    return Reproduced(
        title=title,
        tables=tuple(
            Table(
                title=name,
                columns=("labels a query", "queries for 2 201 labels", "labels %"),
                rows=tuple((m, math.ceil(_TITANIC / m), 100 * game.accuracy) for m, game in blocks.items()),
            )
            for name, blocks in shown.items()
        ),
        pictures=(
            Picture(
                title=title,
                x="queries for 2 201 labels",
                y="labels recovered, %",
                log=True,
                series=tuple(_line(name, blocks) for name, blocks in shown.items()),
            ),
        ),
        compared=compared,
        absent=(
            Absent(
                item="the records of Titanic and of the other data sets: labels in a random order are played",
                loader="csv(path=..., column=...), or labelinf matrix --labels FILE.csv,",
            ),
        ),
    )


def _line(name: str, blocks: Blocks) -> Series:
    return line(name, sorted((math.ceil(_TITANIC / m), 100 * game.accuracy) for m, game in blocks.items()))


def _fewest(blocks: Blocks) -> str:
    perfect = [m for m, game in blocks.items() if game.exact == 1]
    return f"{math.ceil(_TITANIC / max(perfect))} queries" if perfect else "more than a query a label"


def _perfect(item: str, paper: str, blocks: Blocks) -> Compared:
    why = "labels a query are tried in steps, and logarithms of primes are rounded to the noise, not to a power of two"
    return Compared(item=f"{item}: all labels in", paper=paper, measured=_fewest(blocks), why=why)


def _channel(loss: str) -> str:
    return f"score(scorer=float64, loss={loss})"


def _uniform(tau: float) -> str:
    return f"score-noise(model=uniform(tau={tau}))"

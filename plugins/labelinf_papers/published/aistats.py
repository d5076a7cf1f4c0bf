"""The experiments of Aggarwal et al., AISTATS 2022: Figures 1 to 4.

The attacks see no features, so a data set of the paper is as many labels in a random order: Titanic has 2 201 of two
classes, Satellite 6 430 of six and MNIST 70 000 of ten. Noise on a mean grows with the labels, so each is played whole
where ``full`` is asked for, which takes up to an hour; of six and ten classes as many as Titanic has otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import attrs

from labelinf_core.contracts.pictures import Picture
from labelinf_core.plugin.comparisons import Compared, Measured, PaperClaim
from labelinf_core.plugin.reproductions import Absent, Reproduced, Table
from labelinf_papers.published.games import Games, fewest, line, longest, play, points, searched, tried

__all__ = ["figure_1", "figure_2", "figure_3", "figure_4"]

_NOISES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_ENDS = (_NOISES[0], _NOISES[-1])
_ALL, _HALF = "all labels in every game", "all labels in half of the games"
_RECORDS = {2: 2201, 6: 6430, 10: 70_000}  # Titanic, Satellite and MNIST, by their classes
_LABELS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 20)  # a query
_MOST = {2: (24, 40), 6: (15, 15)}  # labels of one query that are tried, by classes: 2^40 labellings at most
_PRIMES, _POWERS = "log-primes(size={m}, tau={tau})", "powers-exhaustive(tau={tau})"
_BLOCKS = "powers-blocks(labels_per_query={m}, tau={tau})"
_GAMES = {1.0: (20, 1000), 0.5: (10, 100)}  # of a size, by the share of them that must be right; the paper's 1000
_LOGITS = "logits here are the logarithms themselves, of which a double holds more than of probabilities"
_WHY = {"(d) softmax, 6 classes": f"{_LOGITS}: what ends it are the digits of a sum, whatever the noise"}
_ABSENT = (
    Absent(
        item="the records of Titanic and of the other data sets: labels in a random order are played",
        loader="csv(path=..., column=...), or labelinf matrix --labels FILE.csv,",
    ),
)

Found = dict[float, Measured]


def figure_1(*, full: bool = False) -> Reproduced:
    """The longest vector that a query gives away, against the noise; ``full`` plays the paper's 1000 games."""
    longest_of = functools.partial(_longest, full=full)
    always = {
        "(a) Itakura-Saito, 2 classes": longest_of(_PRIMES, "itakura-saito", 2, 1.0),
        "(b) cross-entropy, 2 classes": longest_of(_POWERS, "log-loss", 2, 1.0),
        "(b) cross-entropy, 6 classes": longest_of(_POWERS, "log-loss", 6, 1.0),
    }
    half = {
        "(c) cross-entropy, 6 classes": longest_of(_POWERS, "log-loss", 6, 0.5),
        "(d) softmax, 6 classes": longest_of(_POWERS, "softmax-log-loss", 6, 0.5),
    }
    two, six = always["(b) cross-entropy, 2 classes"], always["(b) cross-entropy, 6 classes"]
    compared = [
        _less("more noise", name, found.values(), _WHY.get(name, "")) for name, found in (always | half).items()
    ]
    compared += [
        _less("more classes", f"(b) noise {tau:g}", _named({"2 classes": two[tau], "6 classes": six[tau]}))
        for tau in _ENDS
    ]
    compared += [
        _less(
            "softmax against probabilities", f"(c) and (d) noise {tau:g}",
            _named({name[4:]: found[tau] for name, found in half.items()}),
            why=_LOGITS,
        )
        for tau in _ENDS
    ]  # fmt: skip
    return Reproduced(
        title="Length of the vector that a query gives away, against the noise",
        tables=tuple(_table(name, found, how) for lines, how in ((always, _ALL), (half, _HALF))
                     for name, found in lines.items()),
        pictures=(_picture(_ALL, always), _picture(_HALF, half)),
        compared=tuple(compared),
    )  # fmt: skip


def figure_2(*, full: bool = False) -> Reproduced:
    """Accuracy in many queries: Itakura-Saito, and softmax of several classes."""
    itakura = {tau: _blocks(_PRIMES, "itakura-saito", 2, tau, full) for tau in _ENDS}
    shown = {f"Itakura-Saito, noise {tau:g}": games for tau, games in itakura.items()}
    shown["softmax, 6 classes, noise 0.01"] = _blocks(_BLOCKS, "softmax-log-loss", 6, 0.01, full)
    return _many("Label reconstruction in many queries", shown, [
        Compared(
            quantity=f"Itakura-Saito on Titanic, noise {tau:g}: queries for all labels",
            paper=f"{printed} queries",
            ours=(fewest(itakura[tau], n=_RECORDS[2]),),
            claim=PaperClaim.EQUAL,
            printed=(printed,),
            why="labels a query are tried in steps, and each game is another draw of noise",
        )
        for tau, printed in zip(_ENDS, (220, 1100), strict=True)
    ])  # fmt: skip


def figure_3(*, full: bool = False) -> Reproduced:
    """Accuracy in many queries: cross-entropy of several classes."""
    games = {(k, tau): _blocks(_BLOCKS, "log-loss", k, tau, full) for k in _RECORDS for tau in (0.01, 1.0)}
    shown = {f"cross-entropy, {k} classes, noise {tau:g}": found for (k, tau), found in games.items()}
    singly = {at: found[0] for at, found in games.items()}
    return _many("Label reconstruction with cross-entropy", shown, [
        Compared(
            quantity=f"labels recovered with as many queries as labels, noise {tau:g}",
            paper="a picture without numbers; fewer with more classes",
            ours=tuple(singly[k, tau].recovered(f"{k} classes", n) for k, n in _RECORDS.items()),
            claim=PaperClaim.FALLS,
        )
        for tau in (0.01, 1.0)
    ])  # fmt: skip


def figure_4(*, full: bool = False) -> Reproduced:
    """Sigmoid cross-entropy: a single query, and many."""
    lines = {
        "(a) cross-entropy": _longest(_POWERS, "log-loss", 2, 0.5, full),
        "(a) sigmoid": _longest(_POWERS, "sigmoid-log-loss", 2, 0.5, full),
    }
    shown = {f"sigmoid, noise {tau:g}": _blocks(_BLOCKS, "sigmoid-log-loss", 2, tau) for tau in _ENDS}
    many = _many("Sigmoid cross-entropy on Titanic", shown, [
        _less(
            "sigmoid against plain cross-entropy", f"(a) noise {tau:g}",
            _named({name[4:]: by[tau] for name, by in lines.items()}),
            why="our decoder compares the scores of all labellings, and needs few digits of a logit",
        )
        for tau in _ENDS
    ])  # fmt: skip
    return Reproduced(
        title=many.title,
        tables=(*(_table(name, found, _HALF) for name, found in lines.items()), *many.tables),
        pictures=(_picture(_HALF, lines), *many.pictures),
        compared=many.compared,
        absent=many.absent,
    )


def _longest(attack: str, loss: str, classes: int, share: float, full: bool) -> Found:
    games, most = _GAMES[share][full], _MOST[classes][full]

    def plays(tau: float, n: int) -> Games:
        spec = attack.format(m=n, tau=tau)
        return play(spec, n, classes=classes, channel=_channel(loss), defences=[_uniform(tau)], games=games)

    sizes = range(1, most + 1)
    return {tau: longest(sizes, functools.partial(plays, tau), share, f"noise {tau:g}") for tau in _NOISES}


def _named(figures: dict[str, Measured]) -> list[Measured]:
    return [attrs.evolve(figure, of=name) for name, figure in figures.items()]


def _less(what: str, which: str, ours: Iterable[Measured], why: str = "") -> Compared:
    """Return a row of figures of which the paper says that they fall, from games of a single query."""
    return Compared(
        quantity=f"{which}: {what}", paper="fewer labels", ours=tuple(ours), claim=PaperClaim.FALLS, queries=1, why=why
    )


def _table(name: str, found: Found, how: str) -> Table:
    return searched(f"{name}, {how}", "noise", found)


def _picture(how: str, lines: dict[str, Found]) -> Picture:
    series = tuple(points(name, found) for name, found in lines.items())
    return Picture(title=f"Labels of a query, {how}", x="noise tau", y="N", log=True, series=series)


def _blocks(attack: str, loss: str, classes: int, tau: float, full: bool = False) -> list[Games]:
    n = _RECORDS[classes if full else 2]
    played = functools.partial(play, classes=classes, channel=_channel(loss), defences=[_uniform(tau)], games=1)
    return [played(attack.format(m=m, tau=tau), n) for m in _LABELS]


def _many(title: str, shown: dict[str, list[Games]], compared: list[Compared]) -> Reproduced:
    return Reproduced(
        title=title,
        tables=tuple(tried(name, games) for name, games in shown.items()),
        pictures=(
            Picture(
                title=title,
                x="queries",
                y="labels recovered, %",
                log=True,
                series=tuple(
                    line(
                        f"{name}, N = {games[0].played.n}",
                        sorted((game.played.queries, 100 * game.accuracy) for game in games),
                    )
                    for name, games in shown.items()
                ),
            ),
        ),
        compared=tuple(compared),
        absent=_ABSENT,
    )


def _channel(loss: str) -> str:
    return f"score(scorer=float64, loss={loss})"


def _uniform(tau: float) -> str:
    return f"score-noise(model=uniform(tau={tau}))"

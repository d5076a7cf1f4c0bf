"""The experiments of Aggarwal et al., ICML 2021: Figures 1, 2 and 4, and Table 2.

The attacks see no features, so a data set of the paper is its label counts in a random order. Where the paper plays ten
thousand labellings we play some dozens: enough to tell 0, 1 and the place between them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.plugin.reproductions import Absent, Compared, Reproduced, Table
from labelinf_scores.published.games import Games, line, play

__all__ = ["figure_1", "figure_2", "figure_4", "table_2"]

DATA_SETS = {"D1": (12500, 12500), "D2": (762, 610), "D3": (212, 357), "D4": (225, 81)}  #: label counts
PRINTED = {"D1": (0.4891, 53.41), "D2": (0.4446, 0.2), "D3": (0.3448, 0.06), "D4": (0.2647, 0.03)}  #: Acc_1, ms
_COUNTS = (
    Absent(
        item="the records of IMDB, Banknote and Haberman: their label counts are played, in a random order",
        loader="csv(path=..., column=...), or labelinf matrix --labels FILE.csv,",
    ),
)
_ONE_QUERY = (2, 6, 10, 12, 13, 14, 16, 20, 25, 30, 40, 47, 50)
_MANY = (10, 100, 1000, 10_000)
_NOISES = (0.01, 0.1, 1.0)
_BLOCKS = (20, 60, 180)
_ACCURACY = "labels recovered, %"


def figure_1() -> Reproduced:
    """Simulated binary labellings: one query and many, without noise (a to d) and with bounded noise (e to h)."""
    rows = (
        _panels("(a), (b) one query of primes, no noise", {"primes": _one_query()}),
        _panels("(c), (d) five labels a query, no noise", {"N / 5 queries": _many_queries()}, log=True),
        _panels("(e), (f) one query of powers, bounded noise", {f"noise {tau:g}": _one_noisy(tau) for tau in _NOISES}),
        _panels("(g), (h) blocks of powers, bounded noise", {f"noise {tau:g}": _blocks(tau) for tau in _NOISES}),
    )
    return Reproduced(
        title="Label inference on simulated binary labellings",
        tables=tuple(table for table, _ in rows),
        pictures=tuple(picture for _, pictures in rows for picture in pictures),
        compared=tuple(_figure_1_compared()),
    )


@functools.cache
def _one_query() -> dict[int, Games]:
    return {n: play("primes", n, games=60, seed=n) for n in _ONE_QUERY}


@functools.cache
def _many_queries() -> dict[int, Games]:
    return {n: play("prime-blocks(size=5)", n, games=max(2, 2000 // n), seed=n) for n in _MANY}


@functools.cache
def _one_noisy(tau: float) -> dict[int, Games]:
    """Play vectors of growing length, as far as the first of which not every label comes out in every game."""
    found: dict[int, Games] = {}
    for n in range(2, 15):
        found[n] = play(f"powers-exhaustive(tau={tau}, base=3)", n, defences=[_uniform(tau)], games=8)
        if found[n].exact < 1:
            break
    return found


@functools.cache
def _blocks(tau: float) -> dict[int, Games]:
    return {n: play(f"powers-blocks(tau={tau})", n, defences=[_uniform(tau)], games=10) for n in _BLOCKS}


def _panels(title: str, found: dict[str, dict[int, Games]], *, log: bool = False) -> tuple[Table, tuple[Picture, ...]]:
    """Return what is printed as two panels, accuracy and time against the number of labels, and their numbers."""
    table = Table(
        title=title,
        columns=("", "N", "queries", "labels %", "all labels, share of games", "ms"),
        rows=tuple(
            (name, n, g.queries, 100 * g.accuracy, g.exact, 1000 * g.seconds)
            for name, games in found.items()
            for n, g in games.items()
        ),
    )
    pictures = (
        _picture(f"{title}: accuracy", *(_line(name, games) for name, games in found.items()), log=log),
        _picture(
            f"{title}: time",
            *(line(name, [(n, 1000 * g.seconds) for n, g in games.items()]) for name, games in found.items()),
            y="ms",
            log=log,
        ),
    )
    return table, pictures


def _figure_1_compared() -> Iterator[Compared]:
    single, many = _one_query(), _many_queries()
    perfect = max(n for n in _ONE_QUERY if all(single[m].exact == 1 for m in _ONE_QUERY if m <= n))
    longest = [max((n for n, g in _one_noisy(tau).items() if g.exact == 1), default=0) for tau in _NOISES]
    yield Compared(
        item="(a) largest N that is always right", paper="10", measured=f"{perfect}",
        why="of those tried, in 60 games each; the step is where a product of the first primes leaves 53 bits",
    )  # fmt: skip
    yield Compared(
        item="(a) N from which nothing is right", paper="47",
        measured=_first_lost({n: g.exact for n, g in single.items()}),
        why="accuracy counts games with every label right; some labels are right for longer",
    )  # fmt: skip
    yield Compared(
        item="(b) time of one query", paper="a few milliseconds",
        measured=f"{1000 * max(g.seconds for g in single.values()):.3g} ms at most",
        why="the curator's score is in it, and the machine is another one",
    )  # fmt: skip
    yield Compared(
        item="(c) accuracy at N = 10 000, N/5 queries", paper="100 %",
        measured=f"{100 * many[10_000].accuracy:.4g} %",
        why="the same: five labels a query leave room in 53 bits at this size",
    )  # fmt: skip
    yield Compared(
        item="(e) longest vector under noise .01, .1, 1", paper="12, 8, 6", measured=", ".join(map(str, longest)),
        why="the exponents are fitted to the doubles here, and the nearest of all labellings is looked for",
    )  # fmt: skip
    yield Compared(
        item="(f) time against (b)", paper="much higher: all labellings are gone through",
        measured=f"{1000 * max(g.seconds for g in _one_noisy(_NOISES[0]).values()):.3g} ms at most",
        why="the same search, of as many labellings as there are",
    )  # fmt: skip
    yield Compared(
        item="(g) accuracy in blocks under every noise", paper="100 %",
        measured=", ".join(f"{100 * _blocks(tau)[_BLOCKS[-1]].accuracy:.4g} %" for tau in _NOISES),
        why="the same, by Algorithm 3 with its separation repaired",
    )  # fmt: skip


def table_2() -> Reproduced:
    """Real data sets, by their label counts: one query, and N/5 queries."""
    attack = "prime-blocks(size=5)"
    one = {name: play(attack, counts, channel=_budget(1), games=5) for name, counts in DATA_SETS.items()}
    all_of_it = {name: play(attack, counts, games=1 if sum(counts) > 2000 else 5) for name, counts in DATA_SETS.items()}
    rows = tuple(
        (name, sum(counts), one[name].accuracy, all_of_it[name].accuracy, all_of_it[name].queries,
         1000 * all_of_it[name].seconds)
        for name, counts in DATA_SETS.items()
    )  # fmt: skip
    columns = ("data set", "N", "accuracy, 1 query", "accuracy, N/5 queries", "queries", "ms")
    return Reproduced(
        title="Label inference on data sets, Algorithm 1",
        tables=(Table(title="measured", columns=columns, rows=rows),),
        absent=_COUNTS,
        pictures=(
            Picture(
                title="Label inference on data sets", x="data set", y=_ACCURACY, names=tuple(DATA_SETS),
                series=tuple(
                    Series(name=name, line=False,
                           points=tuple((float(n), 100 * game.accuracy) for n, game in enumerate(found.values())))
                    for name, found in (("one query", one), ("N/5 queries", all_of_it))
                ),
            ),
        ),
        compared=(
            *(
                Compared(
                    item=f"{name}, one query", paper=f"{PRINTED[name][0]:.4f}", measured=f"{one[name].accuracy:.4f}",
                    why="ours guesses the majority class for what a query does not reach, the paper decodes it",
                )
                for name in DATA_SETS
            ),
            *(
                Compared(
                    item=f"{name}, N/5 queries: accuracy; time", paper=f"1.0; {PRINTED[name][1]} ms",
                    measured=f"{all_of_it[name].accuracy:.4g}; {1000 * all_of_it[name].seconds:.4g} ms",
                    why="ours counts the curator too, who scores N predictions a query: that alone is more",
                )
                for name in DATA_SETS
            ),
        ),
    )  # fmt: skip


def figure_2() -> Reproduced:
    """D1, the queries doubled from 1 to N/5."""
    budgets = [*(2**k for k in range(0, 13, 2)), 5000]
    found = {q: play("prime-blocks(size=5)", DATA_SETS["D1"], channel=_budget(q), games=1) for q in budgets}
    points = [(q, 100 * game.accuracy) for q, game in found.items()]
    return Reproduced(
        title="Accuracy on D1 (25 000 labels) against the number of queries",
        tables=(Table(title="measured", columns=("queries", "labels %"), rows=tuple(points)),),
        absent=_COUNTS,
        pictures=(_picture("Accuracy on D1 against queries", line("Algorithm 1", points), x="queries", log=True),),
        compared=(
            Compared(
                item="accuracy with 5 000 queries", paper="100 %", measured=f"{points[-1][1]:.4g} %", why="the same"
            ),
            Compared(
                item="shape before", paper="rises with the queries",
                measured=f"{points[0][1]:.4g} % to {points[-2][1]:.4g} %",
                why="each query settles five labels; the rest is the majority guess, so the rise is linear",
            ),
        ),
    )  # fmt: skip


def figure_4() -> Reproduced:
    """Simulated labellings of 2 to 10 classes, one query without noise."""
    sizes = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16)
    classes = (2, 3, 5, 10)
    found = {k: {n: play("prime-powers", n, classes=k, games=20, seed=n) for n in sizes} for k in classes}
    last = {k: max((n for n, game in by.items() if game.exact == 1), default=0) for k, by in found.items()}
    return Reproduced(
        title="Label inference with several classes, one query",
        tables=tuple(
            Table(
                title=f"{k} classes",
                columns=("N", "labels %", "all labels, share of games", "ms"),
                rows=tuple((n, 100 * g.accuracy, g.exact, 1000 * g.seconds) for n, g in by.items()),
            )
            for k, by in found.items()
        ),
        pictures=(
            _picture(
                "One query of prime powers",
                *(line(f"{k} classes", [(n, 100 * g.exact) for n, g in by.items()]) for k, by in found.items()),
                y="games with every label, %",
            ),
        ),
        compared=(
            Compared(
                item="N at which accuracy falls", paper="smaller the more classes there are",
                measured="; ".join(f"K = {k}: {n}" for k, n in last.items()),
                why="the same: the powers of primes leave 53 bits sooner",
            ),
        ),
    )  # fmt: skip


def _line(name: str, found: dict[int, Games]) -> Series:
    return line(name, [(n, 100 * game.accuracy) for n, game in found.items()])


def _uniform(tau: float) -> str:
    return f"score-noise(model=uniform(tau={tau}))"


def _budget(queries: int) -> str:
    return f"score(scorer=float64, queries={queries})"


def _first_lost(exact: dict[int, float]) -> str:
    lost = [n for n, share in exact.items() if share == 0]
    return f"{min(lost)} (of those tried)" if lost else f"none up to {max(exact)}"


def _picture(title: str, *series: Series, x: str = "N", y: str = _ACCURACY, log: bool = False) -> Picture:
    return Picture(title=title, x=x, y=y, series=series, log=log)

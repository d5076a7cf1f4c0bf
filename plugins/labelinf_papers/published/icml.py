"""The experiments of Aggarwal et al., ICML 2021: Figures 1, 2 and 4, and Table 2.

The attacks see no features, so a data set of the paper is its label counts in a random order. Where the paper plays ten
thousand labellings we play some dozens: enough to tell 0, 1 and the place between them.
"""

from __future__ import annotations

import attrs

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.plugin.comparisons import Compared, Measured, PaperClaim
from labelinf_core.plugin.reproductions import Absent, Reproduced
from labelinf_papers.published.games import Games, line, longest, play, tried

__all__ = ["figure_1", "figure_2", "figure_4", "table_2"]

DATA_SETS = {"D1": (12500, 12500), "D2": (762, 610), "D3": (212, 357), "D4": (225, 81)}  #: label counts
PRINTED = {"D1": (0.4891, 53.41), "D2": (0.4446, 0.2), "D3": (0.3448, 0.06), "D4": (0.2647, 0.03)}  #: Acc_1, ms
_COUNTS = (
    Absent(
        item="the records of IMDB, Banknote and Haberman: their label counts are played, in a random order",
        loader="csv(path=..., column=...), or labelinf matrix --labels FILE.csv,",
    ),
)
_ONE_QUERY, _SEARCHED, _CLASSES = 50, 40, 20  # labels of one query, as far as they are tried
_MANY = (10, 100, 1000, 10_000)
_NOISES = (0.01, 0.1, 1.0)
_BLOCKS = (20, 60, 180, 1000)
_ACCURACY = "labels recovered, %"
_EXACT = "games with every label, %"

Sizes = dict[int, Games]


def figure_1(*, full: bool = False) -> Reproduced:
    """Simulated binary labellings: a query and many, without noise (a to d) and with bounded noise (e to h)."""
    primes = {n: play("primes", n, games=10_000 if full else 60) for n in range(2, _ONE_QUERY + 1)}
    fives = {n: play("prime-blocks(size=5)", n, games=max(2, 2000 // n)) for n in _MANY}
    noisy = {f"noise {tau:g}": _noisy(tau) for tau in _NOISES}
    blocks = {f"noise {tau:g}": _blocks(tau, (*_BLOCKS, _MANY[-1]) if full else _BLOCKS) for tau in _NOISES}
    panels = {
        "(a), (b) primes, no noise": {"primes": primes},
        "(c), (d) primes in blocks, no noise": {"primes in blocks": fives},
        "(e), (f) powers, bounded noise": noisy,
        "(g), (h) powers in blocks, bounded noise": blocks,
    }
    return Reproduced(
        title="Label inference on simulated binary labellings",
        tables=tuple(
            tried(f"{panel}: {name}", games.values())
            for panel, lines in panels.items()
            for name, games in lines.items()
        ),
        pictures=tuple(
            picture
            for panel, lines in panels.items()
            for picture in (
                _picture(f"{panel}: accuracy", *(_line(name, games) for name, games in lines.items()), log=True),
                _picture(f"{panel}: time", *(_times(name, games) for name, games in lines.items()), y="ms", log=True),
            )
        ),
        compared=(*_without_noise(primes, fives), *_with_noise(noisy, blocks)),
    )


def _noisy(tau: float) -> Sizes:
    """Play vectors of growing length, as far as the first of which not every label comes out in every game."""
    found: Sizes = {}

    def plays(n: int) -> Games:
        found[n] = play(f"powers-exhaustive(tau={tau}, base=3)", n, defences=[_uniform(tau)], games=20)
        return found[n]

    longest(range(2, _SEARCHED + 1), plays)
    return found


def _blocks(tau: float, sizes: tuple[int, ...]) -> Sizes:
    attack, defences = f"powers-blocks(tau={tau})", [_uniform(tau)]
    return {n: play(attack, n, defences=defences, games=10 if n < 1000 else 2) for n in sizes}


def _without_noise(primes: Sizes, fives: Sizes) -> tuple[Compared, ...]:
    right = max((n for n, game in primes.items() if game.exact), default=0)
    lost = primes[min(right + 1, _ONE_QUERY)]
    return (
        Compared(
            quantity="(a) largest N up to which every game is right", paper="10", queries=1,
            ours=(longest(list(primes), primes.__getitem__),), claim=PaperClaim.EQUAL, printed=(10,),
            why="the step is where a product of the first primes leaves 53 bits",
        ),
        Compared(
            quantity="(a) N from which no game is right", paper="47", queries=1,
            ours=(Measured(value=lost.played.n, unit="labels", played=lost.played, cap=_ONE_QUERY),),
            claim=PaperClaim.EQUAL, printed=(47,), why="the paper plays 10 000 games of every N",
        ),
        Compared(
            quantity="(b) time, the slowest N", paper="a few milliseconds", queries=1, ours=(_slowest(primes),),
            why="the curator's score is in it, and the machine is another one",
        ),
        Compared(
            quantity="(c) labels recovered with N / 5 queries", paper="100 %", queries=_MANY[-1] // 5,
            ours=(fives[_MANY[-1]].recovered(n=_MANY[-1]),), claim=PaperClaim.EQUAL, printed=(100,),
        ),
    )  # fmt: skip


def _with_noise(noisy: dict[str, Sizes], blocks: dict[str, Sizes]) -> tuple[Compared, ...]:
    each = {n: tuple(games[n].recovered(of) for of, games in blocks.items()) for n in next(iter(blocks.values()))}
    return (
        Compared(
            quantity="(e) longest vector that is always right", paper="12, 8, 6", queries=1, claim=PaperClaim.EQUAL,
            ours=tuple(longest(list(games), games.__getitem__, of=of) for of, games in noisy.items()),
            printed=(12, 8, 6), why="exponents are fitted to the doubles here, and the nearest labelling is looked for",
        ),
        Compared(
            quantity="(f) time, the slowest N", paper="much higher than without noise: all labellings are gone through",
            ours=tuple(attrs.evolve(_slowest(games), of=of) for of, games in noisy.items()), queries=1,
            why="the nearest labelling is found from two tables of half of the labels",
        ),
        *(
            Compared(
                quantity=f"(g) labels recovered in blocks, N = {n}", paper="100 %", ours=ours, claim=PaperClaim.EQUAL,
                printed=(100,), why="noise on a mean of more labels is larger for each; a query asks about one or more",
            )
            for n, ours in each.items()
        ),
    )  # fmt: skip


def _slowest(games: Sizes) -> Measured:
    return max(games.values(), key=lambda game: game.seconds).took()


def table_2() -> Reproduced:
    """Real data sets, by their label counts: a single query, and N / 5 queries."""
    attack = "prime-blocks(size=5)"
    single = {name: play(attack, counts, channel=_budget(1), games=5) for name, counts in DATA_SETS.items()}
    many = {name: play(attack, counts, games=1 if sum(counts) > 2000 else 5) for name, counts in DATA_SETS.items()}
    budgets = {"a single query": single, "N / 5 queries": many}
    return Reproduced(
        title="Label inference on data sets, Algorithm 1",
        tables=tuple(tried(f"{', '.join(DATA_SETS)}: {how}", games.values()) for how, games in budgets.items()),
        absent=_COUNTS,
        pictures=(
            Picture(
                title="Label inference on data sets", x="data set", y=_ACCURACY, names=tuple(DATA_SETS),
                series=tuple(
                    Series(name=how, line=False,
                           points=tuple((float(n), 100 * game.accuracy) for n, game in enumerate(games.values())))
                    for how, games in budgets.items()
                ),
            ),
        ),
        compared=tuple(row for name in DATA_SETS for row in _data_set(name, single[name], many[name])),
    )  # fmt: skip


def _data_set(name: str, single: Games, many: Games) -> tuple[Compared, ...]:
    accuracy, milliseconds = PRINTED[name]
    n = sum(DATA_SETS[name])
    return (
        Compared(
            quantity=f"{name}: labels recovered", paper=f"{100 * accuracy:.4g} %", ours=(single.recovered(n=n),),
            claim=PaperClaim.EQUAL, printed=(100 * accuracy,), queries=1,
            why="ours guesses the majority class for what a query does not reach, the paper decodes it",
        ),
        Compared(
            quantity=f"{name}: labels recovered", paper="100 %", ours=(many.recovered(n=n),), claim=PaperClaim.EQUAL,
            printed=(100,), queries=-(-n // 5),
        ),
        Compared(
            quantity=f"{name}: time", paper=f"{milliseconds} ms", ours=(many.took(),), queries=-(-n // 5),
            why="ours counts the curator too, who scores N predictions a query: that alone is more",
        ),
    )  # fmt: skip


def figure_2() -> Reproduced:
    """D1, the queries doubled from 1 to N / 5."""
    budgets = [*(2**k for k in range(0, 13, 2)), 5000]
    games = [play("prime-blocks(size=5)", DATA_SETS["D1"], channel=_budget(q), games=1) for q in budgets]
    recovered = tuple(game.recovered(f"{game.played.queries}") for game in games)
    return Reproduced(
        title="Accuracy on D1 (25 000 labels) against the number of queries",
        tables=(tried("D1", games),),
        absent=_COUNTS,
        pictures=(
            _picture(
                "Accuracy on D1 against queries",
                line("Algorithm 1", [(game.played.queries, 100 * game.accuracy) for game in games]),
                x="queries",
                log=True,
            ),
        ),
        compared=(
            Compared(
                quantity="labels recovered with N / 5 queries", paper="100 %", ours=(games[-1].recovered(),),
                claim=PaperClaim.EQUAL, printed=(100,), queries=5000,
            ),
            Compared(
                quantity="labels recovered, by queries", paper="rises with the queries", ours=recovered,
                claim=PaperClaim.RISES, why="each query settles five labels; the rest is the majority guess",
            ),
        ),
    )  # fmt: skip


def figure_4() -> Reproduced:
    """Simulated labellings of 2 to 10 classes, without noise."""
    sizes = range(1, _CLASSES + 1)
    found = {k: {n: play("prime-powers", n, classes=k, games=100) for n in sizes} for k in (2, 3, 5, 10)}
    always = tuple(longest(list(games), games.__getitem__, of=f"{k} classes") for k, games in found.items())
    return Reproduced(
        title="Label inference with several classes, no noise",
        tables=tuple(tried(f"{k} classes", games.values()) for k, games in found.items()),
        pictures=(
            _picture(
                "Prime powers",
                *(line(f"{k} classes", [(n, 100 * g.exact) for n, g in by.items()]) for k, by in found.items()),
                y=_EXACT,
            ),
        ),
        compared=(
            Compared(
                quantity="longest vector that is always right", paper="the shorter, the more classes there are",
                ours=always, claim=PaperClaim.FALLS, queries=1, why="powers of primes leave 53 bits sooner",
            ),
        ),
    )  # fmt: skip


def _line(name: str, found: Sizes) -> Series:
    return line(name, [(n, 100 * game.accuracy) for n, game in found.items()])


def _times(name: str, found: Sizes) -> Series:
    return line(name, [(n, 1000 * game.seconds) for n, game in found.items()])


def _uniform(tau: float) -> str:
    return f"score-noise(model=uniform(tau={tau}))"


def _budget(queries: int) -> str:
    return f"score(scorer=float64, queries={queries})"


def _picture(title: str, *series: Series, x: str = "N", y: str = _ACCURACY, log: bool = False) -> Picture:
    return Picture(title=title, x=x, y=y, series=series, log=log)

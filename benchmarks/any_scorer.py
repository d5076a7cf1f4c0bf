"""Labels that the attack which knows no metric reads from any scorer, its queries, simulations and seconds.

    python benchmarks/any_scorer.py --held-out                         # what is printed: five sets of labels
    python benchmarks/any_scorer.py --families smooth counts --quick   # while the attack is changed: one set, short
    python benchmarks/any_scorer.py --names "jigsaw" --records 120
    python benchmarks/any_scorer.py --drawn 50 --families drawn        # scorers that nobody has seen
    python benchmarks/any_scorer.py --placebo                          # the host's answers are about other labels

Settings of the attack are chosen on the development sets; what is printed anywhere comes from the held-out sets, which
share no seed with them. The list (``benchmarks/scorers``) was fixed before the attack was written. Host and attack are
handed a function without a name. *Right* is over all scored labels: not what was not read, nor a real target that is a
hundredth of the interquartile range off. *False* counts the sets in which something was wrong, and all checks passed.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from scipy.stats import rankdata
from scorers import FAMILIES, SCORERS, Scored, drawn

from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_scores.simulation.formats import Numbers, alike, telling
from labelinf_scores.simulation.read import read
from labelinf_scores.simulation.reals import read_reals
from labelinf_scores.simulation.simulator import Board, Simulator

MOST = 12  # queries for each label, after which a host has enough
PRIOR = 400  # real targets of others, which a participant knows
HELD_OUT = 500_000  # from where on seeds are of sets that no setting was chosen on
QUICK = 8.0  # seconds of a set, in the quick form


@attrs.frozen(kw_only=True)
class Game:
    """What came of one set of labels.

    Attributes:
        n: Labels.
        queries: Submissions that the host scored.
        calls: Labellings that the attack scored.
        seconds: Of processor time.
        right: Share of all labels.
        read: Share that the attack says it has read.
        false: Whether something that was read is wrong though every check was passed.
    """

    n: int
    queries: int
    calls: int
    seconds: float
    right: float
    read: float
    false: bool


def played(one: Scored, n: int, seed: int, *, simulations: int, seconds: float, placebo: bool) -> Game:
    """Play one scorer on one set of made labels."""
    rng = np.random.default_rng(seed)
    truth, sample, real = one.truth(n, rng), one.sample(n, rng), callable(one.labels)
    values = np.array(one.labels(PRIOR, rng) if callable(one.labels) else one.labels)

    def numbered(labels: Any) -> Any:
        return labels.ravel() if real else np.argsort(values)[np.searchsorted(np.sort(values), labels.ravel())]

    host, code = one.opaque(rng.spawn(1)[0]), one.opaque(rng.spawn(1)[0])
    began = time.process_time()
    told, spent = one.truth(n, rng) if placebo else truth, 0

    def board(code: Any) -> Board:
        def score(labels: Any, rows: Any) -> Any:
            if time.process_time() > began + seconds:
                game.limit = 0
            return code((labels if real else values[labels]).reshape(truth.shape), rows.reshape(sample.shape))

        return score

    def ask(rows: Any) -> Any:
        nonlocal spent
        if spent >= MOST * truth.size:
            raise QueriesExhaustedError("the host has seen enough")
        spent += 1
        return host(told, rows.reshape(sample.shape))

    def restarted() -> Board:
        return board(copy.deepcopy(untouched))

    untouched = copy.deepcopy(code)
    game = Simulator(
        score=board(code), restarted=restarted, n_records=truth.size, n_classes=len(values), limit=simulations
    )
    right, sure, known, confirmed = (_real if real else _classes)(
        game, ask, sample, values, rng, numbered(truth), numbered(told)
    )
    return Game(
        n=truth.size,
        queries=spent,
        calls=game.calls,
        seconds=time.process_time() - began,
        right=float(right.mean()),
        read=float(known.mean()),
        false=confirmed and not bool(sure[known].all()),  # of a placebo: about what the host answered of
    )


def _classes(
    game: Simulator, ask: Any, sample: Any, values: Any, rng: np.random.Generator, truth: Any, told: Any
) -> tuple[Any, Any, Any, bool]:
    """Return which labels are right, which agree with what the host answers of, which were read, and if it replays."""
    form = telling(game, alike(sample, values, truth.size), lambda: rng.integers(len(values), size=truth.size), rng)
    found = read(game, ask, form or Numbers(), rng)
    likely = found.labels if found.likely is None else found.likely
    return likely == truth, found.labels == told, found.labels >= 0, found.confirmed


def _real(
    game: Simulator, ask: Any, sample: Any, prior: Any, rng: np.random.Generator, truth: Any, told: Any
) -> tuple[Any, Any, Any, bool]:
    """Return the same of real targets, read to a hundredth of their interquartile range; of ranks, which ranks."""
    columns = sample.reshape(-1, 1) if sample.size == truth.size else sample
    forms = [Numbers(low=float(column.min()), high=float(column.max())) for column in columns.T]
    found = read_reals(game, ask, forms, prior, rng=rng)

    def near(reals: Any) -> Any:
        if found.ranks_only:
            return rankdata(found.values) == rankdata(reals)
        return np.abs(found.values - reals) < np.subtract(*np.quantile(reals, [0.75, 0.25])) / 100

    return near(truth), near(told), found.read, found.replayed


def row(one: Scored, games: Sequence[Game]) -> str:
    """Return a line: the median, and the worst behind it."""

    def both(values: Sequence[float], form: str, *, least: bool = False) -> str:
        worst = min(values) if least else max(values)
        return f"{np.median(values):{form}} ({worst:{form}})"

    right = both([100 * game.right for game in games], ".0f", least=True)
    reading = both([100 * game.read for game in games], ".0f", least=True)
    return (
        f"{one.name[:34]:34} {games[0].n:5} {right:>10} {reading:>10} {both([g.queries for g in games], '.0f'):>12} "
        f"{both([g.calls for g in games], '.0f'):>16} {both([g.seconds for g in games], '.1f'):>12} "
        f"{sum(game.false for game in games):5}"
    )


def chosen(options: argparse.Namespace) -> Iterator[Scored]:
    """Yield what is to be played."""
    rng = np.random.default_rng(options.first)
    every = [*SCORERS, *(drawn(rng) for _ in range(options.drawn))]
    for one in every:
        named = not options.names or any(name in one.name for name in options.names)
        if named and one.family in options.families:
            yield one


def main() -> None:
    """Print a line for every scorer."""
    parser = argparse.ArgumentParser(description="Labels read by an attack that knows no metric.")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--names", nargs="+", default=[], help="parts of names")
    parser.add_argument("--records", type=int, default=60)
    parser.add_argument("--sets", type=int, default=5, help="sets of labels")
    parser.add_argument("--seed", type=int, default=0, choices=range(500), metavar="THOUSANDS", help="of the first set")
    parser.add_argument("--held-out", action="store_true", help="sets that no setting was chosen on")
    parser.add_argument("--quick", action="store_true", help=f"one set of labels, {QUICK:.0f} s each")
    parser.add_argument("--drawn", type=int, default=0, help="scorers that are drawn besides")
    parser.add_argument("--simulations", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=60, help="of processor time for a set")
    parser.add_argument("--placebo", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.sets, options.seconds = 1, QUICK
    options.first = 1000 * options.seed + HELD_OUT * options.held_out
    warnings.simplefilter("ignore")
    sets = "held-out" if options.held_out else "development"
    print(f"{sets} sets of labels, seeds {options.first} to {options.first + options.sets - 1}")
    print(f"{'scorer':34} {'N':>5} {'right %':>10} {'read %':>10}", end=" ")
    print(f"{'queries':>12} {'simulations':>16} {'seconds':>12} false")
    settings = {name: getattr(options, name) for name in ("simulations", "seconds", "placebo")}
    for one in chosen(options):
        games = [played(one, options.records, options.first + number, **settings) for number in range(options.sets)]
        print(row(one, games), flush=True)


if __name__ == "__main__":
    main()

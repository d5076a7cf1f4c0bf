"""The alarm sees everything that is counted, and does not cry wolf.

Simulated tables of honest attacks at their ceilings raise it in 5 % of tables at most; seeds are fixed. Cheats raise
it, each by the test that was made for it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import Audited, Placebo
from labelinf_core.contracts.guarantees import Ceiling, PerGame
from labelinf_core.evaluator import alarms
from labelinf_core.evaluator.placebo import void_verdicts
from labelinf_core.evaluator.records import Implied, Trial
from labelinf_core.evaluator.tally import tallied
from labelinf_core.statistics import proportions


def trials(shares: Sequence[float], n_records: int = 100, queries: int = 5) -> list[Trial]:
    return [Trial(n_correct=round(share * n_records), n_records=n_records, queries=queries) for share in shares]


def contradicted(seen: Sequence[Trial], known: Implied, n_cells: int) -> bool:
    return alarms.contradicted(tallied(seen)[1], known, n_cells)


def reads_elsewhere(seen: Sequence[Trial], baseline: float, n_cells: int, *, blind: bool = False) -> bool:
    return alarms.reads_elsewhere(tallied(seen)[1], baseline, n_cells, blind=blind)


def ceiling(accuracy: float, **facts: object) -> Ceiling:
    return Ceiling(accuracy=accuracy, statement="s", conditions="c", **facts)  # type: ignore[arg-type]


def implied(*ceilings: Ceiling, baseline: float = 0.1) -> Implied:
    return Implied(baseline=baseline, ceilings=ceilings)


def test_one_game_is_enough_where_something_holds_in_every_game() -> None:
    seen = trials([0.797], n_records=64)
    proved = ceiling(0.167, game=PerGame(share=0.167))

    assert contradicted(seen, implied(proved), 100)
    assert not contradicted(seen, implied(attrs.evolve(proved, game=None)), 1)  # an expectation: p = .21


def test_an_expectation_is_contradicted_by_a_few_games_without_spread() -> None:
    proved = implied(ceiling(0.167))
    assert not contradicted(trials([0.797] * 2), proved, 1)
    assert contradicted(trials([0.797] * 4), proved, 1)


def test_bits_of_doubt_are_charged() -> None:
    seen = trials([0.7], n_records=200)
    assert contradicted(seen, implied(ceiling(0.55, game=PerGame(share=0.5, bits=5))), 1)
    assert not contradicted(seen, implied(ceiling(0.55, game=PerGame(share=0.5, bits=30))), 1)


def test_the_number_of_cells_is_corrected_for() -> None:
    """Bonferroni: 66 of 100 where 50 % are allowed has p = .0009, enough for one cell and not for a hundred."""
    seen, proved = trials([0.66]), implied(ceiling(0.5, game=PerGame(share=0.5)))
    assert contradicted(seen, proved, 1)
    assert not contradicted(seen, proved, 100)


def test_the_allowance_holds_for_accuracy_and_for_exact_recovery() -> None:
    often = trials([1.0, 0.5] * 20)
    for field in ("accuracy", "exact"):
        tight = attrs.evolve(ceiling(1.0), **{field: 0.2})
        assert contradicted(often, implied(tight), 1)
        assert not contradicted(often, implied(attrs.evolve(tight, allowance=0.7)), 1)


@pytest.mark.parametrize(("n_cells", "n_ceilings"), [(1, 1), (7, 1), (1, 3), (40, 2)])
def test_each_limit_lies_where_its_part_of_the_error_puts_it(n_cells: int, n_ceilings: int) -> None:
    """5 % over cells, tests and ceilings, one-sided: a ceiling just below the limit is denied, just above not."""
    seen = trials([1.0, 0.5, 0.75, 1.0, 0.25] * 6)
    shares = [trial.n_correct / trial.n_records for trial in seen]
    error = 0.05 / n_cells / 5 / n_ceilings
    limits = {
        "accuracy": proportions.alarm_accuracy(shares, 100, 1 - 2 * error).low,
        "exact": proportions.clopper_pearson(12, 30, 1 - 2 * error).low,
    }
    for field, limit in limits.items():
        for side, denied in ((-1e-6, True), (1e-6, False)):
            tight = attrs.evolve(ceiling(1.0), **{field: limit + side})
            assert contradicted(seen, implied(tight, *[ceiling(1.0)] * (n_ceilings - 1)), n_cells) is denied


@pytest.mark.parametrize("queries", [0, 1, 9])
def test_what_holds_for_what_was_spent_has_a_share_of_the_error_that_falls_with_it(queries: int) -> None:
    """``1 / ((m + 1)(m + 2))`` of it, which sums to one over all m that might have been spent."""
    shares = [1.0, 0.5, 0.75, 1.0, 0.25] * 6
    error = 0.05 / 5 / ((queries + 1) * (queries + 2))
    limit = proportions.alarm_accuracy(shares, 100, 1 - 2 * error).low
    for side, denied in ((-1e-6, True), (1e-6, False)):
        seen = [attrs.evolve(t, ceilings=(ceiling(limit + side),)) for t in trials(shares, queries=queries)]
        assert contradicted(seen, implied(), 1) is denied


def test_of_trials_that_spent_differently_the_most_decides_the_share_of_the_error() -> None:
    shares = [1.0, 0.5, 0.75, 1.0, 0.25] * 6
    limit = proportions.alarm_accuracy(shares, 100, 1 - 2 * 0.05 / 5 / (10 * 11)).low
    for side, denied in ((-1e-6, True), (1e-6, False)):
        told = (ceiling(limit + side),)
        few, many = (trials(part, queries=spent) for part, spent in ((shares[:15], 1), (shares[15:], 9)))
        assert contradicted([attrs.evolve(t, ceilings=told) for t in (*few, *many)], implied(), 1) is denied


@pytest.mark.parametrize(("correct", "void"), [(62, False), (63, True)])
def test_a_placebo_is_void_from_one_in_a_hundred_on(correct: int, void: bool) -> None:
    """Of 100 guesses at one half, 62 are right or more with probability .0105, and 63 with .0060."""
    trial = attrs.evolve(trials([0.5])[0], placebo=Placebo(n_correct=correct, n_records=100, chance=0.5))
    assert bool(void_verdicts({"cell": tallied([trial])[0].placebo})) is void


def test_an_epsilon_beyond_the_certificate_raises_the_alarm() -> None:
    def audited(*p_values: float) -> list[Trial]:
        found = [Audited(at_least=1.0, delta=0.0, certified=0.3, p_value=p) for p in p_values]
        return [attrs.evolve(trials([0.5])[0], audited=item) for item in found]

    assert contradicted(audited(1e-6), implied(), 10)
    assert contradicted(audited(0.01, 0.02, 0.01, 0.03), implied(), 1)
    assert not contradicted(audited(1e-3), implied(), 100)
    assert not contradicted(audited(0.5, 0.9, 1.0, 0.3), implied(), 1)


def test_what_holds_for_the_queries_really_spent_holds() -> None:
    seen = trials([0.9] * 3)
    spent = [attrs.evolve(trial, ceilings=(ceiling(0.52, game=PerGame(share=0.5, bits=10)),)) for trial in seen]
    assert not contradicted(seen, implied(ceiling(0.95)), 10)
    assert contradicted(spent, implied(ceiling(0.95)), 10)


def test_the_trial_that_spent_most_says_what_was_spent() -> None:
    few, many = trials([0.9], queries=1)[0], trials([0.9], queries=9)[0]
    tight = attrs.evolve(few, ceilings=(ceiling(0.5, game=PerGame(share=0.5)),))
    assert contradicted([tight], implied(), 1)
    assert not contradicted([tight, many], implied(), 1)


def test_whoever_asks_nothing_and_knows_reads_it_elsewhere() -> None:
    assert reads_elsewhere(trials([0.8], queries=0), 0.6, 50)
    assert not reads_elsewhere(trials([0.8], queries=1), 0.6, 50)
    assert reads_elsewhere(trials([0.8], queries=1), 0.6, 50, blind=True)  # it says that it does not look
    assert not reads_elsewhere(trials([0.6] * 20, queries=0), 0.6, 1)
    assert not reads_elsewhere([], 0.6, 1)


def tables(rng: np.random.Generator, game: object, n_tables: int = 400) -> int:
    """Count the alarms of tables of five cells, an honest attack at its ceiling in each."""
    return sum(any(game(rng) for _ in range(5)) for _ in range(n_tables))  # type: ignore[operator]


@pytest.mark.long
@pytest.mark.parametrize("n_trials", [1, 2, pytest.param(20, marks=pytest.mark.slow)])
def test_independent_guesses_at_the_ceiling_raise_few_alarms(n_trials: int) -> None:
    proved = implied(ceiling(0.6, game=PerGame(share=0.6)))

    def game(rng: np.random.Generator) -> bool:
        return contradicted(trials(rng.binomial(100, 0.6, n_trials) / 100), proved, 5)

    # Binomial(400, .05): more than 35 with probability below 1e-3.
    assert tables(np.random.default_rng(1), game) <= 35


@pytest.mark.long
@pytest.mark.parametrize(
    ("n_trials", "often"),
    [
        *itertools.product([1, 3], [0.02, 0.2, 0.5]),
        *(pytest.param(20, often, marks=pytest.mark.slow) for often in (0.02, 0.2, 0.5)),
    ],
)
def test_a_defence_that_gives_everything_away_now_and_then_raises_few_alarms(n_trials: int, often: float) -> None:
    """All or nothing is the hardest case for a ceiling on an expectation: no test may count labels as independent."""
    proved = implied(ceiling(often + (1 - often) * 0.5, exact=often))

    def game(rng: np.random.Generator) -> bool:
        shares = np.where(rng.random(n_trials) < often, 1.0, rng.binomial(100, 0.5, n_trials) / 100)
        return contradicted(trials(shares), proved, 5)

    assert tables(np.random.default_rng(2), game) <= 35


def test_fixed_class_counts_are_covered_by_their_charge() -> None:
    """All guesses the same class, all counts known, no answer: exactly the majority share, in every game."""
    n, majority = 300, 180
    charge = -math.log2(math.comb(n, majority) * 0.6**majority * 0.4 ** (n - majority))
    assert proportions.game_p_value(majority, n, share=0.6, bits=charge) == 1.0


@pytest.mark.parametrize("n_ones", [1, 2, 3])
@pytest.mark.parametrize("n_answers", [1, 2, 4])
def test_one_game_by_brute_force(n_ones: int, n_answers: int) -> None:
    """Labels with known counts in random order, answers that take R values: no attack beats the line of one game.

    The best attack for "k or more right" names, per answer, a guess; its probability is the share of label orders that
    some guess of R covers, by exhaustion over sets of guesses.
    """
    n = 5
    orders = [np.array([i in chosen for i in range(n)]) for chosen in itertools.combinations(range(n), n_ones)]
    guesses = [np.array(bits) for bits in itertools.product([False, True], repeat=n)]
    share = max(n_ones, n - n_ones) / n
    known = math.comb(n, n_ones) * (n_ones / n) ** n_ones * (1 - n_ones / n) ** (n - n_ones)
    bits = math.log2(n_answers) - math.log2(known)
    for k in range(1, n + 1):
        covered = [frozenset(j for j, order in enumerate(orders) if (order == g).sum() >= k) for g in guesses]
        sets = set(covered)
        best = {frozenset()}
        for _ in range(n_answers):
            best = {one | two for one in best for two in sets}
        reached = max(map(len, best)) / len(orders)
        assert reached <= proportions.game_p_value(k, n, share=share, bits=bits) + 1e-12


def test_betting_needs_no_assumption() -> None:
    """The exact probability of p <= alpha, by enumeration of all-or-nothing trials at the ceiling, is at most alpha."""
    for mean, n_trials in itertools.product([0.1, 0.3, 0.7], [1, 2, 5, 8]):
        for alpha in (0.3, 0.1, 0.05, 0.01):
            reached = sum(
                math.comb(n_trials, wins) * mean**wins * (1 - mean) ** (n_trials - wins)
                for wins in range(n_trials + 1)
                if proportions.betting_p_value([1.0] * wins + [0.0] * (n_trials - wins), mean) <= alpha
            )
            assert reached <= alpha + 1e-12


def test_betting_by_hand() -> None:
    assert proportions.betting_p_value([0.8], 0.2) == pytest.approx(
        1 / np.mean([1 + part * 3 for part in (1 / 64, 1 / 16, 1 / 4, 1 / 2, 1)])
    )
    assert proportions.betting_p_value([0.1], 0.0) == 0.0
    assert proportions.betting_p_value([0.0], 0.0) == 1.0
    assert proportions.betting_p_value([], 0.5) == 1.0


def test_the_line_of_a_guess_without_a_query_covers_every_fixed_guess() -> None:
    """Exact: of N labels with n ones in random order, a guess with m ones is right on a hypergeometric number."""
    n, ones = 40, 12
    share = 1 - ones / n
    for guessed in (0, 3, 12, 20, 40):
        for both in range(max(0, guessed + ones - n), min(guessed, ones) + 1):
            at_least = sum(
                math.comb(ones, hit) * math.comb(n - ones, guessed - hit) / math.comb(n, guessed)
                for hit in range(both, min(guessed, ones) + 1)
            )
            correct = n - guessed - ones + 2 * both
            assert at_least <= proportions.no_query_p_value(correct, n, share) + 1e-12


def test_fisher_by_hand() -> None:
    assert proportions.combined([]) == 1.0
    assert proportions.combined([0.03]) == pytest.approx(0.03)
    product = 0.1 * 0.2
    assert proportions.combined([0.1, 0.2]) == pytest.approx(product * (1 - math.log(product)))
    assert 0 <= proportions.combined([0.0] * 5) < 1e-300


@pytest.mark.parametrize(("p", "denied"), [(0.0099, True), (0.0101, False)])
def test_audits_have_their_part_of_the_error(p: float, denied: bool) -> None:
    audited = Audited(at_least=1.0, delta=0.0, certified=0.3, p_value=p)
    assert contradicted([attrs.evolve(trials([0.5])[0], audited=audited)], implied(), 1) is denied


def test_ceilings_of_what_was_spent_share_the_error() -> None:
    shares = [1.0, 0.5, 0.75, 1.0, 0.25] * 6
    limit = proportions.alarm_accuracy(shares, 100, 1 - 2 * 0.05 / 5 / (10 * 11) / 2).low
    for side, denied in ((-1e-6, True), (1e-6, False)):
        told = (ceiling(limit + side), ceiling(1.0))
        seen = [attrs.evolve(trial, ceilings=told) for trial in trials(shares, queries=9)]
        assert contradicted(seen, implied(), 1) is denied


def test_reading_elsewhere_is_corrected_for_the_number_of_cells() -> None:
    """70 of 100 where a blind guess has 60 %: Chernoff's bound is .11; 80: 1e-4, enough for one cell in fifty."""
    seen = trials([0.8], queries=0)
    p = proportions.no_query_p_value(80, 100, 0.6)
    assert reads_elsewhere(seen, 0.6, int(0.05 / p))
    assert not reads_elsewhere(seen, 0.6, int(0.05 / p) + 1)


def test_a_few_games_of_great_spread_are_seen_by_betting_alone() -> None:
    """Three shares that no interval of a mean can speak of, each far above the ceiling."""
    seen, tight = trials([1.0, 0.2, 0.6]), ceiling(0.03)
    error = 0.05 / 5
    assert proportions.alarm_accuracy([1.0, 0.2, 0.6], 100, 1 - 2 * error).low < 0.03
    assert contradicted(seen, implied(tight), 1)
    assert not contradicted(seen, implied(attrs.evolve(tight, accuracy=0.3)), 1)


def test_the_luckiest_of_many_games_is_no_alarm() -> None:
    """One of sixty games in two hundred times: all together they are what sixty games are."""
    proved = ceiling(0.6, game=PerGame(share=0.5))
    seen = trials([0.5] * 59 + [0.63])
    assert proportions.game_p_value(63, 100, share=0.5, bits=0) < 0.01
    assert not contradicted(seen, implied(proved), 1)
    assert not contradicted(trials([0.6]), implied(proved), 1)
    assert contradicted(trials([0.6] * 4), implied(proved), 1)  # p = .028, four times


def test_placebos_are_corrected_for_the_number_of_cells() -> None:
    """63 of 100 at one half has p = .006: leaky alone, and luck among ten."""
    lucky, plain = (Placebo(n_correct=n, n_records=100, chance=0.5) for n in (63, 50))
    assert void_verdicts({"lucky": lucky})
    assert not void_verdicts({"lucky": lucky, **{f"cell {i}": plain for i in range(9)}})


def test_a_placebo_that_happens_once_in_a_hundred_times_is_void() -> None:
    assert void_verdicts({"cell": Placebo(n_correct=1, n_records=1, chance=0.01)})
    assert not void_verdicts({"cell": Placebo(n_correct=1, n_records=1, chance=0.0101)})

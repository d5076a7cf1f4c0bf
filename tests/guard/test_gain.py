"""The arithmetic of the certificate, against brute force over all attacks, and against the sentences it replaced."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.statistics.proportions import game_p_value
from labelinf_guard.bounds import GuardedGain
from labelinf_guard.certificate.gain import (
    _tail_log,
    binary_entropy,
    bits_of_gain,
    blind,
    counts_bits,
    effective_number,
    gain_of_bits,
    game_line,
)
from labelinf_guard.certificate.noise import (
    StepNoise,
    capacity_bits,
    lattice_log,
    order_bits,
    record_bits,
    score_variance,
)
from labelinf_guard.certificate.response import response_bits, response_epsilon, response_gain
from labelinf_guard.certificate.statement import Part, Terms, certify, counted, proved_bits, thousandths
from labelinf_guard.certificate.transcripts import transcript_bits
from labelinf_guard.files import draw_split
from labelinf_privacy.words import SeededWords
from labelinf_scores.bounds.rate_distortion import rate_distortion_accuracy
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.effects import Ledgered, Sampled

N = 25_000
BALANCED = LabelSet(labels=np.arange(1000) % 2, class_names=("a", "b"), title="made", provenance="made")


def law(shares: tuple[float, ...]) -> np.ndarray:
    """Probabilities of all labellings of independent binary labels, in binary order."""
    table = np.array(list(itertools.product((0, 1), repeat=len(shares))))
    return np.prod(np.where(table == 1, shares, 1 - np.array(shares)), axis=1)


def best_share(weights: np.ndarray, cells: np.ndarray, n: int) -> float:
    """Best expected share of right labels of whoever is told the cell, for labellings of given probabilities."""
    table = np.array(list(itertools.product((0, 1), repeat=n)))
    total = 0.0
    for cell in np.unique(cells):
        own = weights * (cells == cell)
        ones = own @ table
        total += np.maximum(ones, own.sum() - ones).sum()
    return total / n


def best_of(questions: np.ndarray, weights: np.ndarray) -> float:
    """The same for the best of all one-bit questions."""
    table = np.array(list(itertools.product((0, 1), repeat=questions.shape[1].bit_length() - 1)))
    found = 0.0
    for part in (questions, 1 - questions):
        own = part * weights
        ones = own @ table
        found = found + np.maximum(ones, own.sum(axis=1)[:, None] - ones).sum(axis=1)
    return float(np.max(found)) / table.shape[1]


def one_bit_answers(n: int):
    """Every question to the accuracy of one list whose answer is one bit: at least so many right."""
    table = np.array(list(itertools.product((0, 1), repeat=n)))
    for row in itertools.product((0, 1), repeat=n):
        right = (table == row).sum(axis=1)
        for least in range(1, n + 1):
            yield (right >= least).astype(int)


@pytest.mark.parametrize(
    "shares",
    [
        (0.5,) * 4,
        (0.8,) * 4,
        (0.9, 0.9, 0.9, 0.5),
        (1.0, 1.0, 1.0, 0.5),
        (0.7, 0.6, 0.8, 0.55),
        (0.5, 0.5, 0.5, 0.95, 0.7),
    ],
)
def test_no_attack_of_a_small_game_gains_more(shares: tuple[float, ...]) -> None:
    """B4 by brute force: the best of all partitions that two adaptive one-bit answers make, unequal posteriors too."""
    n, weights = len(shares), law(shares)
    perfect = float(np.mean(np.maximum(shares, 1 - np.array(shares))))
    questions = np.unique(np.array(list(one_bit_answers(n))), axis=0)
    best = max(sum(best_of(questions, weights * (first == told)) for told in (0, 1)) for first in questions)
    one = best_of(questions, weights)
    if len(set(shares)) == 1:  # B1: of equal priors
        assert rate_distortion_accuracy((perfect, 1 - perfect), 1 / n) >= one - 1e-12
        assert rate_distortion_accuracy((perfect, 1 - perfect), 2 / n) >= best - 1e-12
    assert perfect + gain_of_bits(1, n, perfect=perfect) >= one - 1e-12
    assert perfect + gain_of_bits(2, n, perfect=perfect) >= best - 1e-12


def test_sure_of_three_and_a_coin_on_the_fourth_beats_one_posterior_for_all() -> None:
    """One bit tells the coin: all four are known, where equal posteriors of .875 would allow 94.8 %."""
    told = best_share(law((1.0, 1.0, 1.0, 0.5)), np.arange(16) % 2, 4)
    assert told == 1.0
    assert rate_distortion_accuracy((0.875, 0.125), 1 / 4) == pytest.approx(0.948, abs=1e-3)
    assert 0.875 + gain_of_bits(1, 4, perfect=0.875) == pytest.approx(1.0)


@given(
    st.lists(st.floats(0.5, 1), min_size=1, max_size=4),
    st.lists(st.lists(st.floats(0.001, 1), min_size=2, max_size=5), min_size=4, max_size=4),
)
@settings(max_examples=40)
def test_no_channel_gains_more_than_its_information(shares: list[float], noise: list[list[float]]) -> None:
    """Records behind arbitrary noisy channels of their own: gains add, bits add, and the law holds."""
    gains, bits = [], []
    for share, raw in zip(shares, noise, strict=False):
        first = np.array(raw) / sum(raw)
        second = first[::-1]
        joint = np.stack([share * first, (1 - share) * second])
        gains.append(joint.max(axis=0).sum() - share)
        total = joint.sum(axis=0)
        bits.append(
            sum(
                float(p) * math.log2(p / (w * t))
                for row, w in zip(joint, (share, 1 - share), strict=True)
                if w > 0
                for p, t in zip(row, total, strict=True)
                if p > 0
            )
        )
    n = len(gains)
    for classes in (2, 3):
        allowed = gain_of_bits(sum(bits[:n]) + 1e-12, n, classes=classes, perfect=float(np.mean(shares[:n])))
        assert sum(gains) / n <= allowed + 1e-7


def test_the_coins_and_sure_records_are_the_worst_of_all_profiles() -> None:
    """The curve is below every profile that mixes two kinds of records, and touched by coins beside sure ones."""
    for left in (0.05, 0.14, 0.3, 0.5):
        for gain in np.linspace(0.01, left * 0.99, 7):
            worst = 2 * left * (1 - binary_entropy(0.5 - gain / (2 * left)))
            for d in np.linspace(left, 0.5, 9):
                weight, own = left / d, gain * d / left
                cost = weight * (binary_entropy(d) - binary_entropy(max(0.0, d - own)))
                assert cost >= worst - 1e-12
            assert gain_of_bits(1000 * worst, 1000, perfect=1 - left) == pytest.approx(gain, abs=1e-9)


def test_marks_of_the_plan() -> None:
    """Answers of 7 bits for five points, without and with known class counts; ten points of a public fifth."""
    left = [bits_of_gain(0.05, N, perfect=p) for p in (0.5, 0.86, 0.93)]
    assert [round(bits / 7) for bits in left] == [26, 94, 204]
    assert [round((bits - counts_bits(N)) / 7) for bits in left] == [24, 92, 202]
    closed = [gain_of_bits(726, N, perfect=p, classes=3) for p in (0.5, 0.86, 0.95)]
    assert [round(100 * gain, 1) for gain in closed] == [10.0, 5.3, 3.2]
    assert all(gain_of_bits(726, N, perfect=p) <= gain for p, gain in zip((0.5, 0.86, 0.95), closed, strict=True))
    fifth = Terms(classes=2, public=Part(labels=5000), sealed=Part(labels=20_000), counts_known=False)
    assert certify(fifth).now == pytest.approx(0.10)
    known = Terms(classes=2, public=Part(labels=5000), sealed=Part(labels=20_000))
    assert certify(known).now == pytest.approx(0.1015, abs=1e-4)
    assert certify(attrs.evolve(known, form=1)).now == pytest.approx(0.1127, abs=2e-4)
    final = Terms(classes=2, public=Part(labels=5000), sealed=Part(labels=20_000), counts_known=False, final=726 * 0.8)
    assert certify(final).after == pytest.approx(0.18, abs=1e-3)


@pytest.mark.parametrize(("perfect", "deviation"), [(0.5, 0.0159), (0.86, 0.0043), (0.93, 0.0019)])
def test_marks_of_the_noise(perfect: float, deviation: float) -> None:
    """Ten thousand noisy accuracies for five points, class counts unknown."""
    told = StepNoise(moved=1024, answers=10_000, variance=Fraction(1024 * N * Fraction(str(deviation))) ** 2)
    assert (1 - perfect) * told.distance() == pytest.approx(0.05, abs=2e-3)


def test_seven_unequal_classes() -> None:
    """Where Fano allows 68.7 %, the rate-distortion function allows 53.7 %; of two uniform classes they agree."""
    seven = (0.49, 0.365, 0.06, 0.035, 0.03, 0.01, 0.01)
    bits = 20 * math.log2(1001) + counts_bits(10_000, 7)
    assert rate_distortion_accuracy(seven, bits / 10_000) == pytest.approx(0.537, abs=5e-4)
    assert rate_distortion_accuracy((0.5, 0.5), 0.1) == pytest.approx(0.6840, abs=5e-5)


def test_known_class_counts_are_one_more_answer() -> None:
    """N = 2 with one label of each class: one bit gains a half, more than its own sentence says (.416)."""
    told = 1.0  # one answer tells which of (0, 1) and (1, 0) it is
    assert told - 0.5 > math.sqrt(math.log(2) / 4)
    assert gain_of_bits(1 + counts_bits(2), 2) == 0.5


def test_bits_of_known_counts_are_rounded_up_to_a_part_of_1024() -> None:
    for labels, classes in itertools.product(range(1, 300), (2, 5)):
        over = counts_bits(labels, classes) / (classes - 1) - math.log2(labels + 1)
        assert 0 <= over <= 1 / 1024


def test_noise_beside_known_counts() -> None:
    """N = 2, counts 1/1, s = 1, one accuracy: .691 of the labels, where one label's move says .599."""
    best = 0.5 * (1 + math.erf(1 / (2 * math.sqrt(2))))  # exchange: the score moves by 1, not by 1/2
    assert best == pytest.approx(0.691, abs=1e-3)
    half = StepNoise(moved=1024, answers=1, variance=Fraction(2048) ** 2)
    terms = Terms(classes=2, public=Part(labels=2, noise=half), sealed=Part(labels=0))
    assert 0.5 + certify(terms).now >= best
    believed = Terms(classes=2, public=Part(labels=2, noise=half), sealed=Part(labels=0), counts_known=False)
    assert 0.5 + certify(believed).now == pytest.approx(0.599, abs=1e-3)


def test_one_noisy_answer_tells_no_more_than_the_sum_of_its_records() -> None:
    """The information of all labels in one noisy count, integrated, is below N times that of one of them."""
    n, deviation = 6, 2.0
    grid = np.linspace(-20, 26, 20_001)
    step = grid[1] - grid[0]
    laws = [math.comb(n, k) / 2**n * np.exp(-((grid - k) ** 2) / (2 * deviation**2)) for k in range(n + 1)]
    total = np.sum(laws, axis=0) / (deviation * math.sqrt(2 * math.pi))
    told = -(total * np.log2(np.maximum(total, 1e-300))).sum() * step - 0.5 * math.log2(2 * math.pi * math.e * 4)
    assert told <= record_bits(n, 1 / deviation, classes=2, left=0.5)
    assert told <= capacity_bits(1, Fraction(n, 4), Fraction(4))


def known_counts_told(shares: tuple[float, ...], mu: float, steps: int = 4001) -> float:
    """Bits of one answer, a signed sum in unit noise, whose signs were chosen by the class counts; counts given."""
    cells = law(shares)
    labels = np.array(list(itertools.product((0, 1), repeat=len(shares))))
    grid = np.linspace(-8 - mu * len(shares), 8 + mu * len(shares), steps)
    told = 0.0
    for count in range(len(shares) + 1):
        inside = labels.sum(axis=1) == count
        weight = cells[inside] / cells[inside].sum()
        found = []
        for signs in itertools.product((-1, 1), repeat=len(shares)):
            laws = np.exp(-((grid - mu * (labels[inside] @ signs)[:, None]) ** 2) / 2) / math.sqrt(2 * math.pi)
            mixed = weight @ laws
            entropy = -(mixed * np.log2(np.maximum(mixed, 1e-300))).sum() * (grid[1] - grid[0])
            found.append(entropy - 0.5 * math.log2(2 * math.pi * math.e))
        told += cells[inside].sum() * max(found)
    return told


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.516, 0.267, 0.722), (0.81, 0.75, 0.17, 0.25)])
@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
def test_whoever_knows_the_counts_moves_two_labels_at_once(shares: tuple[float, ...], mu: float) -> None:
    """What was proved without counts is exceeded by queries that are chosen by them; an exchange bounds those."""
    left = 1 - float(np.mean([max(share, 1 - share) for share in shares]))
    told = known_counts_told(shares, mu)
    assert told <= record_bits(len(shares), mu, classes=2, left=left, counts_known=True)
    if mu == 0.1 and len(shares) == 3:
        assert told > 1.03 * record_bits(3, mu, classes=2, left=left)


def test_of_known_counts_only_two_classes_without_groups_are_proved() -> None:
    assert record_bits(9, 0.1, classes=3, left=0.5, counts_known=True) == math.inf
    assert record_bits(9, 0.1, classes=2, left=0.5, counts_known=True, grouped=True) == math.inf
    assert score_variance(Fraction(1), 9, classes=3, counts_known=True) is None
    assert score_variance(Fraction(1), 9, classes=2, counts_known=True, effective=Fraction(3)) is None


def test_known_counts_can_double_how_much_a_score_varies() -> None:
    """Half of the labels are added and half taken away: given their sum, N / (N - 1) times what coins vary."""
    n = 4
    inside = [row for row in itertools.product((0, 1), repeat=n) if sum(row) == 2]
    varies = float(np.var([(row[0] + row[1] - row[2] - row[3]) / n for row in inside]))
    assert varies > float(score_variance(Fraction(1), n, classes=2) or 0)
    assert varies <= float(score_variance(Fraction(1), n, classes=2, counts_known=True) or 0)


def test_of_unequal_groups_the_unsure_ones_may_all_be_public() -> None:
    """90 labels of one group are coins, ten are sure: p* = .55; a tenth is wanted, and the group is always public."""
    groups = np.repeat(np.arange(11), [90] + [1] * 10)
    public = draw_split(groups, 0.2, SeededWords(np.random.default_rng(1)))
    assert public[:90].all()
    inside = int(public.sum())
    part = Part(labels=inside, effective=effective_number([90] + [1] * (inside - 90)), units=inside - 89)
    terms = Terms(
        classes=2, public=part, sealed=Part(labels=100 - inside), perfect=0.55, counts_known=False, group="patients"
    )
    assert certify(terms).now == pytest.approx(0.45)
    assert "private" not in " ".join(certify(terms).sentences())


def test_a_record_is_protected_until_its_score_is_released() -> None:
    terms = Terms(classes=2, public=Part(labels=200), sealed=Part(labels=800), final=3.0)
    assert "Record. Until the final release: (0, 0.2)-private while it is secret which records are public." in (
        certify(terms).sentences()
    )


def pmf(variance: float, reach: int) -> np.ndarray:
    """Probabilities of ``-reach .. reach`` under the discrete Gaussian."""
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("deviation", "shift", "success", "phi"),
    [(1.0, 1, 0.69947, 0.69146), (0.5, 1, 0.893, 0.841), (2.0, 2, 0.6878, 0.6915)],
)
def test_a_ceiling_is_the_sum_over_the_lattice_and_not_phi(
    deviation: float, shift: int, success: float, phi: float
) -> None:
    """Above Phi for odd moves, which would be a false certificate; below it for even ones."""
    told = StepNoise(moved=shift, answers=1, variance=Fraction(deviation) ** 2).distance()
    assert 0.5 * (1 + told) == pytest.approx(success, abs=5e-4)
    assert 0.5 * (1 + math.erf(shift / deviation / 2 / math.sqrt(2))) == pytest.approx(phi, abs=5e-4)
    chances = pmf(deviation**2, 60)
    assert 0 <= told - np.maximum(chances - np.roll(chances, shift), 0).sum() < 1e-8


def test_seventeen_answers_are_one_sum() -> None:
    summed = math.exp(lattice_log(-8, 8, Fraction(17 * 4)))
    assert 0.5 * (1 + summed) == pytest.approx(0.84883, abs=1e-5)  # Phi says .84868
    one = pmf(25.0, 300)
    for answers, moved in ((2, 3), (3, 1), (3, 4)):
        summed = one
        for _ in range(answers - 1):
            summed = np.convolve(summed, one)
        exact = np.maximum(summed - np.roll(summed, moved * answers), 0).sum()
        told = StepNoise(moved=moved, answers=answers, variance=Fraction(25)).distance()
        assert -1e-12 <= told - exact <= 1e-8


@pytest.mark.parametrize(("answers", "moved"), [(2, 1), (2, 3), (3, 1)])
def test_of_few_steps_nothing_is_said_of_a_sum(answers: int, moved: int) -> None:
    """At one step two answers tell .50180 apart, and the sum over the lattice of twice the variance says .50179."""
    one = summed = pmf(1.0, 60)
    for _ in range(answers - 1):
        summed = np.convolve(summed, one)
    exact = np.maximum(summed - np.roll(summed, moved * answers), 0).sum()
    shift = moved * answers
    assert math.exp(lattice_log(-(shift // 2), (shift - 1) // 2, Fraction(answers))) < exact - 1e-9
    assert StepNoise(moved=moved, answers=answers, variance=Fraction(1)).distance() >= exact


def test_no_adaptive_choice_of_moves_tells_more_than_the_largest() -> None:
    """All second questions, smaller or of the other sign, whatever the first answer: the best attack by dynamics."""
    one = pmf(4.0, 40)
    laws = {move: np.roll(one, move) for move in range(-2, 3)}
    for first in range(3):
        pair = laws[0], laws[first]
        best = sum(
            max(np.abs(here * laws[0] - there * laws[move]).sum() for move in laws)
            for here, there in zip(*pair, strict=True)
        )
        both = np.convolve(one, one)
        largest = np.abs(both - np.roll(both, 4)).sum()
        assert best <= largest + 1e-12
    assert best == pytest.approx(largest)
    assert StepNoise(moved=2, answers=2, variance=Fraction(4)).distance() >= best / 2


@pytest.mark.parametrize("share", [0.5, 0.2])
@pytest.mark.parametrize(("answers", "moved"), [(1, 3), (1, 20), (2, 1), (2, 9), (40, 4)])
def test_bits_behind_the_lattice_are_not_more_than_through_a_gaussian_channel(
    share: float, answers: int, moved: int
) -> None:
    """One label behind q answers, by their sum, at the fewest steps that are allowed; and of a score of many labels."""
    one = pmf(25.0, 200)
    summed = one
    for _ in range(answers - 1):
        summed = np.convolve(summed, one)
    summed = np.pad(summed, (0, moved * answers))
    laws = np.stack([summed, np.roll(summed, moved * answers)])
    mixed = np.array([1 - share, share]) @ laws
    told = float(np.array([1 - share, share]) @ np.array([_divergence(law, mixed) for law in laws]))
    noise = StepNoise(moved=moved, answers=answers, variance=Fraction(25))
    assert told <= record_bits(1, noise.mu, classes=2, left=min(share, 1 - share))
    assert _divergence(laws[1], laws[0]) == pytest.approx(float(noise.square) / 2 / math.log(2), rel=1e-6)
    counts = np.array([math.comb(6, k) / 64 for k in range(7)])
    scores = np.stack([np.roll(np.pad(one, (0, 6 * moved)), moved * k) for k in range(7)])
    told = float(counts @ np.array([_divergence(law, counts @ scores) for law in scores]))
    assert told <= capacity_bits(1, Fraction(6 * moved**2, 4), Fraction(25))


def _divergence(one: np.ndarray, other: np.ndarray) -> float:
    inside = one > 1e-300
    return float((one[inside] * np.log2(one[inside] / np.maximum(other[inside], 1e-300))).sum())


def test_blocks_are_never_below_the_sum() -> None:
    """Where there are too many integers to add them: against the sum, and far out, where logarithms are small."""
    variance, weights = Fraction(10**8), np.exp(-(np.arange(300_001.0) ** 2) / 2e8)
    total = 2 * math.fsum(weights) - 1
    for first, last in (
        (0, 200_000),
        (-150_000, 3),
        (5_000, 90_000),
        (-12, 12),
        (-300_000, -30_000),
        (30_000, 300_000),
    ):
        inside = math.fsum(weights[abs(at)] for at in range(first, last + 1))
        found = math.exp(lattice_log(first, last, variance))
        assert 0 <= found * total / inside - 1 < 1e-5
    far = -1800 - math.log(60 * math.sqrt(2 * math.pi))
    assert far - 1e-3 <= lattice_log(600_000, 1 << 80, variance) <= far + 1e-2
    assert lattice_log(2, 1, variance) == -math.inf


def test_groups_of_unequal_size_count_as_fewer() -> None:
    """One patient of 500 labels and 500 of one: one bit gains a quarter; counting patients would say 2.6 points."""
    sizes = [500] + [1] * 500
    assert gain_of_bits(1, 501) < 0.027
    effective = effective_number(sizes)
    assert effective < 4
    assert gain_of_bits(1, 1000, effective=effective) >= 0.25
    assert effective_number([7] * 40) == 40


def test_the_final_reveal() -> None:
    """2 000 noisy scores and the order of ten on 80 000 sealed labels: 1 841 + 99.6 bits, 59.1 % of those labels."""
    bits = capacity_bits(2000, Fraction(1, 4 * 80_000), Fraction(11, 10_000) ** 2)
    assert bits == pytest.approx(1841, abs=1)
    assert order_bits(1000, 10) == pytest.approx(99.6, abs=0.1)
    assert gain_of_bits(bits + order_bits(1000, 10), 80_000) == pytest.approx(0.0914, abs=1e-4)
    terms = Terms(
        classes=2,
        public=Part(labels=20_000),
        sealed=Part(labels=80_000),
        counts_known=False,
        final=bits + order_bits(1000, 10),
    )
    assert 0.5 + certify(terms).after == pytest.approx(0.673, abs=1e-3)


def test_ranks_are_no_defence() -> None:
    assert order_bits(1000, 1000) == pytest.approx(8529, abs=1)
    assert order_bits(1000, 1000) > 1000 * math.log2(101)


def test_one_game() -> None:
    """Doubt costs bits as answers do, and 569 labels bear almost none."""
    assert 100 * game_line(700, N, 0.5, doubt=1e-3) == pytest.approx(59.85, abs=0.03)
    assert 100 * game_line(700, N, 0.5, doubt=1e-9) == pytest.approx(59.98, abs=0.03)
    assert 100 * game_line(0, 600 - 120, 0.5, doubt=1e-6) > 60
    assert game_line(569, 569, 0.5, doubt=1e-6) is None
    assert game_line(0, 3, 0.1, doubt=0.28) == 2 / 3  # one of (.3, 0, 0) is right with .3, of three tenths with .271
    assert math.isinf(bits_of_gain(0.5, 100))


@pytest.mark.parametrize("shares", [(0.5,) * 5, (0.9, 0.6, 0.5, 0.5, 0.7)])
def test_no_attack_of_a_small_game_crosses_its_line(shares: tuple[float, ...]) -> None:
    """B2 by brute force: one one-bit answer, and for each answer the best fixed list of guesses."""
    n, weights = len(shares), law(shares)
    table = np.array(list(itertools.product((0, 1), repeat=n)))
    perfect = float(np.mean(np.maximum(shares, 1 - np.array(shares))))
    right = (table[:, None, :] == table[None, :, :]).sum(axis=2)
    for k in range(math.ceil(n * perfect) + 1, n + 1):
        allowed = game_p_value(k, n, share=perfect, bits=1)
        hits = right >= k
        for answer in one_bit_answers(n):
            best = sum((weights[:, None] * hits * (answer == told)[:, None]).sum(axis=0).max() for told in (0, 1))
            assert best <= allowed + 1e-12


def test_hindsight_beats_the_line_of_one_list() -> None:
    """Without any board one of 20 lists is right on 9 of 10 fair coins with .21; the sentence names its lists."""
    single = 11 / 2**10
    assert 1 - (1 - single) ** 20 > 0.19
    one, many = game_line(0, 10, 0.5, doubt=0.05), game_line(0, 10, 0.5, doubt=0.05, lists=20)
    assert one is not None
    assert many is not None
    assert many > one
    said = " ".join(
        certify(Terms(classes=2, public=Part(labels=N, bits=100), sealed=Part(labels=0), perfect=0.9)).sentences()
    )
    assert "One list of guesses fixed by a rule" in said


def test_a_law_learnt_from_ten_submissions_is_outside_the_model_and_the_sentence_says_so() -> None:
    """A linear rule with 5 % flips: ten scores of three decimals teach it, far above what a blind guesser may gain."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(N, 10))
    labels = features @ np.ones(10) + 0.2 * rng.normal(size=10) @ features.T > 0
    labels ^= rng.random(N) < 0.05
    axes = np.eye(10)
    scores = [round(float(np.mean((features @ axis > 0) == labels)), 3) for axis in axes]
    learnt = np.array([math.sin(math.pi * (score - 0.5) / 0.9) for score in scores])
    reached = float(np.mean((features @ learnt > 0) == labels))
    bits = 10 * math.log2(1001)
    assert reached > 0.9 > 0.5 + gain_of_bits(bits, N)  # the first draft's sentence, beaten
    certificate = certify(Terms(classes=2, public=Part(labels=N, bits=bits), sealed=Part(labels=0), perfect=0.95))
    assert reached <= 0.95 + certificate.now  # the printed one, over a perfect model
    assert "Learning that relation from the board is not counted" in certificate.sentences()[0]


FORBIDDEN = ("without this board", "what is known without", "best honest model", "nobody", "at no moment")


@given(
    st.integers(1, 10**6),
    st.floats(0, 1),
    st.sampled_from([None, 0.6, 0.86, 0.99]),
    st.booleans(),
    st.one_of(st.just(math.inf), st.floats(0, 1e6)),
    st.one_of(
        st.none(), st.builds(StepNoise, moved=st.integers(1, 99), answers=st.just(7), variance=st.just(Fraction(900)))
    ),
    st.one_of(st.none(), st.floats(0, 1e5)),
    st.sampled_from(["", "patients"]),
)
@settings(max_examples=60)
def test_certificates_are_sober(n, share, perfect, known, bits, noise, final, group) -> None:  # type: ignore[no-untyped-def]
    """Whatever the terms: the release adds, known counts add, nothing exceeds what is left, nothing is oversaid."""
    public = max(1, round(share * n))
    sealed = Part(labels=n - public)
    terms = Terms(
        classes=2,
        public=Part(labels=public, bits=bits, noise=noise),
        sealed=sealed,
        perfect=perfect,
        counts_known=known,
        final=final,
        group=group,
    )
    certificate = certify(terms)
    assert 0 <= certificate.now <= terms.left + 1e-9
    assert certificate.after is None or certificate.after >= certificate.now - 1e-12
    without = certify(
        Terms(classes=2, public=terms.public, sealed=sealed, perfect=perfect, counts_known=False, group=group)
    )
    assert known is False or certificate.now >= without.now - 1e-12
    assert certificate.line is None or (not group and perfect is not None)
    text = " ".join(certificate.sentences()).lower()
    assert not any(words in text for words in FORBIDDEN)
    assert not certificate.void or "void" in text


@pytest.mark.parametrize(
    ("first", "last", "variance"),
    [
        (0, 0, 30),
        (1, 7, 30),
        (-3, 9, 30),
        (-12, -4, 30),
        (2, 9, 24),
        (0, 1, Fraction(1, 4)),
        (0, 9, Fraction(1, 2500)),
        (0, 90_000, 10**9),
        (5, 90_000, 10**9),
        (-40_000, 40_000, 10**9),
        (-90_000, -300, 10**9),
        (-(1 << 14), (1 << 14) - 1, 410**2),
    ],
)
def test_a_lattice_sum_is_the_plain_sum_from_above(first: int, last: int, variance: int | Fraction) -> None:
    """Whatever end is nearest to 0, however few steps a deviation has, and however many integers one block holds."""
    reach = 12 * math.isqrt(math.ceil(variance)) + 1
    at = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-(at**2) / (2 * float(variance)))
    plain = math.log(weights[(at >= first) & (at <= last)].sum() / weights.sum())
    found = lattice_log(first, last, Fraction(variance))
    assert plain <= found <= plain + 1e-7


def test_a_distance_is_a_probability() -> None:
    assert StepNoise(moved=10_000, answers=1, variance=Fraction(25)).distance() == 1
    assert StepNoise(moved=1, answers=2, variance=Fraction(24)).distance() == 1


def test_who_knows_the_counts_pays_for_twice_the_move_and_for_no_more() -> None:
    """One label moves together with one other."""
    known = record_bits(100, 0.1, classes=2, left=0.3, counts_known=True)
    assert known == record_bits(100, 0.2, classes=2, left=0.3)


def wide(number: Fraction) -> Decimal:
    """As a decimal number of fifty digits."""
    with localcontext() as context:
        context.prec = 50
        return Decimal(number.numerator) / Decimal(number.denominator)


def log2(number: Fraction) -> Decimal:
    """The logarithm with fifty digits."""
    with localcontext() as context:
        context.prec = 50
        return wide(number).ln() / Decimal(2).ln()


def test_what_is_proved_is_rounded_up() -> None:
    """Against fifty digits: never below, and above by next to nothing."""
    third, ln2 = Fraction(1, 3), Decimal(2).ln()
    left = Fraction(0.3)
    told = 1 + left * (1 - left) * Fraction(0.1) ** 2
    kept = Fraction(0.75), Fraction(0.25)
    sure, replaced = Fraction(0.7) * kept[0] + left * kept[1], left * kept[0] + Fraction(0.7) * kept[1]
    exact = {
        record_bits(100, 0.1, classes=2, left=0.3): 50 * log2(told),
        record_bits(100, 0.1, classes=3, left=0.5): wide(Fraction(0.1) ** 2 * 100 / 3) / ln2,
        record_bits(100, 0.1, classes=2, left=0.5, grouped=True): wide(Fraction(0.1) ** 2 * 50) / ln2,
        capacity_bits(7, third, Fraction(2)): Decimal(7) / 2 * log2(1 + third / 2),
        order_bits(30, 4): log2(Fraction(30 * 29 * 28 * 27)),
        order_bits(3, 9): log2(Fraction(6)),
        StepNoise(moved=3, answers=2, variance=Fraction(5)).mu: (Decimal(18) / 5).sqrt(),
        response_gain(Fraction(1, 4), 2, 0.3): wide(left / 2),
        response_epsilon(Fraction(1, 4), 3): log2(Fraction(6)) * ln2,
        response_bits(9, Fraction(1, 4), 2, 0.3): 9 * (entropy(sure, replaced) - entropy(*kept)),
        response_bits(9, Fraction(1, 4), 3, 0.5): 9
        * (log2(Fraction(3)) - entropy(Fraction(3, 4), Fraction(1, 8), Fraction(1, 8))),
        response_bits(9, Fraction(1, 4), 5, 0.5): 9
        * (log2(Fraction(5)) - entropy(Fraction(3, 4), *[Fraction(1, 16)] * 4)),
        transcript_bits("scores", 10, 5): 5 * log2(Fraction(11)),
        transcript_bits("ranks", 0, 5): log2(Fraction(720)),
    }
    for found, proved in exact.items():
        assert proved < Decimal(found) <= proved * (1 + Decimal("1e-8"))


def entropy(*shares: Fraction) -> Decimal:
    """In bits, with fifty digits."""
    return -sum(wide(share) * log2(share) for share in shares)


def test_a_sum_of_coins_varies_as_much_as_is_said_and_no_more() -> None:
    """All labellings, in whole numbers."""
    sums = [sum(row) for row in itertools.product((0, 1), repeat=6)]
    mean = Fraction(sum(sums), len(sums))
    varies = sum(((Fraction(told) - mean) / 6) ** 2 for told in sums) / len(sums)
    assert score_variance(Fraction(1), 6, classes=2) == varies
    assert score_variance(Fraction(1), 12, classes=2, effective=Fraction(6)) == varies


def test_few_bits_are_worth_what_the_series_says_and_groups_of_one_are_records() -> None:
    few = 1e-10
    told = 2 * gain_of_bits(few, 1) ** 2 / math.log(2)  # 1 - h(1/2 - x), but for terms of the fourth order
    assert few <= told * (1 + 1e-9) <= few * (1 + 1e-6)
    assert [binary_entropy(share) for share in (0.0, 1.0)] == [0, 0]
    for effective in (None, Fraction(40)):
        assert gain_of_bits(3, 40, effective=effective) == gain_of_bits(3, 40)
        assert bits_of_gain(0.1, 40, effective=effective) == bits_of_gain(0.1, 40)


def test_a_line_is_above_the_mean_and_never_crossed_more_often_than_its_doubt() -> None:
    """Ten coins, in whole numbers: nine or more are right with 11 / 1024, and six is the first count that is proved."""
    nine = Fraction(sum(math.comb(10, k) for k in (9, 10)), 2**10)
    for doubt, line in ((nine * Fraction(10**7 - 5, 10**7), 1.0), (nine * Fraction(10**6 + 5, 10**6), 0.9)):
        assert game_line(0, 10, 0.5, doubt=float(doubt)) == line
    assert game_line(0, 10, 0.5, doubt=0.99) == 0.6


@pytest.mark.parametrize("bits", [980, 1100, 2000, 10_000, 24_000])
def test_a_line_of_many_bits_is_that_of_whole_numbers(bits: int) -> None:
    """25 000 coins. Of 10 000 bits one in a million was to be right on 62.2 %: who is told 10 000 labels has 70 %."""
    line = game_line(bits, N, 0.5, doubt=2.0**-20)
    assert line is not None
    count = round(line * N)
    assert count / N == line
    term = tail = math.comb(N, N)
    for k in range(N, count, -1):
        term = term * k // (N - k + 1)
        tail += term
    below = tail + term * count // (N - count + 1)
    assert tail << bits <= 1 << N - 20 < (below + (below >> 6)) << bits
    assert line >= (bits + (N - bits) / 2) / N


def test_a_tail_that_doubles_cannot_hold_is_bounded_from_above_and_nearly_reached() -> None:
    """504 or 505 of 505, each with a quarter: exact fractions, and their logarithm with fifty digits."""
    quarter = Fraction(1, 4)
    exact = log2(505 * quarter**504 * (1 - quarter) + quarter**505) * Decimal(2).ln()
    assert -1e-10 < Decimal(_tail_log(504, 505, 0.25)) - exact < 1e-6


def test_no_line_is_drawn_of_all_bits_or_of_a_model_that_is_always_right() -> None:
    assert game_line(math.inf, 100, 0.5, doubt=0.1) is None
    assert game_line(0, 100, 1.0, doubt=0.1) is None
    assert game_line(N, N, 0.5, doubt=0.1) is None


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("perfect", [None, 0.2, 0.9])
@pytest.mark.parametrize("effective", [None, Fraction(10)])
def test_bits_of_a_gain_are_worth_that_gain(classes: int, perfect: float | None, effective: Fraction | None) -> None:
    """There and back; a model is never worse than a blind guess."""
    assert blind(perfect, classes) == pytest.approx(0.1 if perfect == 0.9 else 1 - 1 / classes)
    known = {"classes": classes, "perfect": perfect, "effective": effective}
    assert gain_of_bits(bits_of_gain(0.07, 40, **known), 40, **known) == pytest.approx(0.07)
    assert bits_of_gain(0.9, 40, **known) == math.inf


def test_a_score_in_another_unit_varies_as_its_square() -> None:
    for known in (False, True):
        one, two = (score_variance(Fraction(span), 6, classes=2, counts_known=known) for span in (1, 3))
        assert one is not None
        assert two == 9 * one
    assert score_variance(Fraction(1), 6, classes=2, counts_known=True) == Fraction(2, 4 * 6)  # twice that of coins


BARE = Terms(classes=2, public=Part(labels=100), sealed=Part(labels=0))


def test_a_certificate_that_proves_nothing_says_so_now_or_at_the_end() -> None:
    told = attrs.evolve(BARE, public=Part(labels=100, bits=9.0))
    assert certify(BARE).void
    assert not certify(told).void
    assert not certify(attrs.evolve(told, sealed=Part(labels=100), final=9.0)).void
    assert certify(attrs.evolve(told, sealed=Part(labels=100), final=math.inf, public=BARE.public)).void


def test_a_certificate_says_who_knows_the_counts_and_what_is_independent() -> None:
    known, unknown = (certify(attrs.evolve(BARE, counts_known=one)).sentences()[0] for one in (True, False))
    assert "features; given that, labels of different records are independent. The class counts are known, too" in known
    assert "on average over the counts of such labels." in known
    assert "The class counts are not known." in unknown
    groups = certify(attrs.evolve(BARE, group="patients", public=Part(labels=100, effective=Fraction(7))))
    assert "labels of different patients are independent" in groups.sentences()[0]
    assert "where sizes differ those of this very board may tell every label" in groups.sentences()[0]
    assert "near a label" not in certify(BARE).sentences()[-1]
    assert "guesses near a label" in certify(attrs.evolve(BARE, values=True)).sentences()[-1]
    grouped = "groups of unequal size count as 7 of equal size"
    assert [grouped in found.arithmetic() for found in (groups, certify(BARE))] == [True, False]


def test_how_private_a_record_is_is_rounded_up_to_a_thousandth() -> None:
    """moved**2 answers / 2 variance: 9 * 7 * .123 / 2 = 3.8745."""
    noise = StepNoise(moved=3, answers=7, variance=Fraction(1000, 123))
    said = " ".join(certify(attrs.evolve(BARE, public=Part(labels=100, noise=noise))).sentences())
    assert "are 3.875-concentrated private" in said


def test_the_arithmetic_names_replaced_labels_where_there_are_any() -> None:
    flipped = certify(attrs.evolve(BARE, public=Part(labels=100, flip=Fraction(1, 5)))).arithmetic()
    assert "every scored label was replaced by another class with probability 0.2, once" in flipped
    assert not any("replaced" in line for line in certify(BARE).arithmetic())
    assert "answers of the board: not limited; known class counts: 6.7 bits" in certify(BARE).arithmetic()
    few = certify(attrs.evolve(BARE, public=Part(labels=100, bits=9.0)))
    assert "answers of the board: 9.0 bits; known class counts: 6.7 bits" in few.arithmetic()
    assert "knows the class counts" not in " ".join(few.sentences())  # no label is sealed
    assert [counted(number, "label") for number in (0, 1, 2)] == ["0 labels", "1 label", "2 labels"]


def test_sealed_labels_ends_and_releases_are_named_where_there_are_any() -> None:
    part = attrs.evolve(BARE, public=Part(labels=100, bits=9.0), sealed=Part(labels=1))
    charged = "class counts tell of the sealed labels"
    assert [any(charged in line for line in certify(terms).arithmetic()) for terms in (part, BARE)] == [True, False]
    ends = [one for one in certify(attrs.evolve(part, ends="It ends in May.")).sentences() if one.startswith("Ends.")]
    assert ends == ["Ends. It ends in May."]
    assert not any(one.startswith("Ends.") for one in certify(part).sentences())
    for released, said in (("", "labels"), ("two scores", "labels, two scores")):
        lines = certify(attrs.evolve(part, final=3.0, released=released)).arithmetic()
        assert lines[-1] == f"final release: 3.0 bits about 1 sealed {said}"


def test_all_doubt_is_spent_on_one_line_where_there_is_one() -> None:
    terms = attrs.evolve(BARE, public=Part(labels=100, bits=5.0), perfect=0.6, counts_known=False)
    assert certify(terms).line == game_line(5.0, 100, 0.6, doubt=terms.doubt)
    ranks = [game_line(5.0, 100, 0.6, doubt=terms.doubt / share) for share in (1, 1e4)]
    assert ranks[0] != ranks[1]


def test_a_share_is_written_in_thousandths_rounded_up() -> None:
    assert [thousandths(share) for share in (0.0, 0.0001, 0.3, 0.5, 0.5001, 1.0)] == [0, 1, 300, 500, 501, 1000]


@pytest.mark.parametrize(("levels", "submissions"), [(1, 4), (2, 1), (3, 5), (6, 3)])
def test_records_that_never_fall_are_counted(levels: int, submissions: int) -> None:
    """Every sequence of levels that never falls, one by one."""
    counted = sum(1 for _ in itertools.combinations_with_replacement(range(levels), submissions))
    found = transcript_bits("records", levels, submissions)
    assert math.log2(counted) < found < math.log2(counted) + 1e-5


def test_no_count_of_many_transcripts_is_below_the_exact_one() -> None:
    """Of ten thousand bits a part in 10^9 is more than the millionth that is added."""
    exact = math.log2(math.comb(5000 + 5000, 5000))
    assert exact < transcript_bits("records", 5001, 5000) < exact * (1 + 1e-8)
    assert math.log2(math.factorial(3001)) < transcript_bits("ranks", 0, 3000)


def test_several_answers_of_few_steps_prove_nothing() -> None:
    """A sum of discrete Gaussians is one only where a deviation has five steps and more."""
    for variance, proved in ((Fraction(24), False), (Fraction(25), True)):
        assert (StepNoise(moved=1, answers=2, variance=variance).distance() < 1) is proved
    assert StepNoise(moved=1, answers=1, variance=Fraction(24)).distance() < 1


def test_bits_of_records_are_those_of_their_classes_or_of_groups_in_whole() -> None:
    of_three, grouped = (
        record_bits(100, 0.1, classes=3, left=0.5, grouped=grouped) * 2 * math.log(2) for grouped in (False, True)
    )
    assert of_three == pytest.approx(100 * 0.01 * 2 / 3)
    assert grouped == pytest.approx(100 * 0.01)


def test_a_board_in_a_game_is_held_to_the_blind_guess_and_its_gain() -> None:
    """Half of 1 000 labels, 64 bits about them."""
    threat = attrs.evolve(
        ScoreChannel().threat(Setting(data=BALANCED)),
        effects=(Sampled(size=500), Ledgered(bits=64.0, information=64.0)),
    )
    (ceiling,) = GuardedGain().ceilings(threat)
    proved = certify(Terms(classes=2, perfect=0.5, public=Part(labels=500, bits=64.0), sealed=Part(labels=500)))
    assert ceiling.accuracy == pytest.approx(0.5 + proved.now)
    assert 0.5 < ceiling.accuracy < 0.75


@pytest.mark.parametrize("flip", [Fraction(0), Fraction(2, 5)])
@pytest.mark.parametrize("sealed", [0, 1, 8000])
@pytest.mark.parametrize("bits", [math.inf, 60.0])
def test_of_several_lines_each_has_its_share_of_doubt_and_the_least_stands(
    bits: float, sealed: int, flip: Fraction
) -> None:
    public = 10_000 - sealed
    terms = Terms(classes=2, perfect=0.6, public=Part(labels=public, bits=bits, flip=flip), sealed=Part(labels=sealed))
    assert terms.doubt == 1e-6
    moved = float(terms.share) * response_gain(flip, 2, terms.left) if flip else 0.0
    ways = [
        (math.isfinite(bits), bits, 10_000, 0.6, 0),
        (sealed > 0, 0.0, sealed, 0.6, public),
        (flip > 0, 0.0, 10_000, min(1.0, 0.6 + moved), 0),
    ]
    asked = [way for holds, *way in ways if holds]
    found = [
        ((game_line(told, n, perfect, doubt=1e-6 / len(asked), rare=terms.rare) or math.nan) * n + sure) / (n + sure)
        for told, n, perfect, sure in asked
    ]
    lines = [share for share in found if not math.isnan(share)]
    certificate = certify(terms)
    assert certificate.line == (pytest.approx(min(lines), rel=1e-12) if lines else None)
    game = [said for said in certificate.sentences() if said.startswith("Game.")]
    assert all((", of the public labels and of the others" in said) is (sealed > 0) for said in game)
    gain = [said for said in certificate.sentences() if said.startswith("Gain.")]
    drawn = sealed > 0 and not certificate.void
    assert all((", and over which of them are public," in said) is drawn for said in gain)


def test_no_record_is_private_by_a_split_that_leaves_none_out() -> None:
    for sealed, said in ((0, False), (10, True)):
        terms = Terms(classes=2, public=Part(labels=90, bits=3.0), sealed=Part(labels=sealed))
        assert any("secret which records are public" in line for line in certify(terms).sentences()) is said
    nothing = Terms(classes=2, public=Part(labels=0, bits=0.0), sealed=Part(labels=10))
    assert not any("secret which records are public" in line for line in certify(nothing).sentences())


@pytest.mark.parametrize("final", [None, 2.0])
def test_a_game_ends_before_the_final_release_where_there_is_one(final: float | None) -> None:
    terms = Terms(classes=2, perfect=0.6, public=Part(labels=1000, bits=3.0), sealed=Part(labels=9000), final=final)
    (game,) = (said for said in certify(terms).sentences() if said.startswith("Game."))
    assert (" before the final release" in game) is (final is not None)


def test_noise_of_groups_is_counted_by_groups_and_of_records_by_labels() -> None:
    noise = StepNoise(moved=1, answers=1, variance=Fraction(100))
    for group, units in (("patient", 10), ("", 100)):
        part = Part(labels=100, units=10, noise=noise)
        terms = Terms(classes=2, public=part, sealed=Part(labels=0), group=group)
        grouped = bool(group)
        left = blind(terms.within, 2)
        expected = record_bits(units, noise.mu, classes=2, left=left, grouped=grouped, counts_known=terms.counts_known)
        assert proved_bits(terms, part) == expected

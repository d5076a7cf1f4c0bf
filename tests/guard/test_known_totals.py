"""What known class totals tell of labels that are never scored (B18): every step by brute force, in exact fractions."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

import attrs
import pytest

from labelinf_guard.certificate.gain import spread_gain
from labelinf_guard.certificate.statement import Part, Terms, certify, sealed_gain

Law = dict[int, Fraction]


def profiles(n: int, count: int) -> Iterator[list[Fraction]]:
    """Posteriors of n labels: coins, sure ones, one odd one out, and random ones of every kind."""
    yield [Fraction(1, 2)] * n
    yield [Fraction(at % 2) if at else Fraction(1, 2) for at in range(n)]
    yield [Fraction(1, 50) if at else Fraction(1, 2) for at in range(n)]
    rng = random.Random(n)
    for _ in range(count):
        whole = rng.choice([2, 5, 97])
        yield [Fraction(rng.randint(0, whole), whole) for _ in range(n)]


def joint(shares: Sequence[Fraction]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Every labelling that can be, with its probability."""
    for labels in itertools.product((0, 1), repeat=len(shares)):
        weight = math.prod((p if y else 1 - p for y, p in zip(labels, shares, strict=True)), start=Fraction(1))
        if weight:
            yield labels, weight


def told(shares: Sequence[Fraction], n: int) -> dict[int, dict[tuple[int, ...], list[Fraction]]]:
    """For every total, of every labelling of the first n: its probability, and that each of the others is one too."""
    found: dict[int, dict[tuple[int, ...], list[Fraction]]] = defaultdict(dict)
    for labels, weight in joint(shares):
        cell = found[sum(labels)].setdefault(labels[:n], [Fraction(0)] * (1 + len(shares) - n))
        cell[0] += weight
        for at, label in enumerate(labels[n:], 1):
            cell[at] += weight * label
    return found


def right(ones: Sequence[Fraction], weight: Fraction) -> Fraction:
    """Labels that the best guesses have right, times the weight."""
    return sum((max(one, weight - one) for one in ones), start=Fraction(0))


def gains(shares: Sequence[Fraction], n: int) -> Iterator[tuple[Fraction, Fraction, Law]]:
    """Of every total: its probability, labels gained, and the law of the sealed positives; each step is checked."""
    for total, cells in told(shares, n).items():
        weight = sum((cell[0] for cell in cells.values()), start=Fraction(0))
        before = [sum((cell[at] for cell in cells.values()), start=Fraction(0)) for at in range(1, 1 + len(shares) - n)]
        gain = (sum(right(cell[1:], cell[0]) for cell in cells.values()) - right(before, weight)) / weight
        law: Law = defaultdict(Fraction)
        seen: dict[int, list[Fraction]] = {}
        for scored, (mass, *ones) in cells.items():
            sealed = total - sum(scored)
            law[sealed] += mass / weight
            posterior = [one / mass for one in ones]
            assert seen.setdefault(sealed, posterior) == posterior  # the scored labels tell their sum and no more
            assert sum(posterior) == sealed
        for less, more in itertools.pairwise(sorted(seen)):  # sums of independent labels are log-concave
            assert all(a <= b for a, b in zip(seen[less], seen[more], strict=True))
        apart = sum(
            (mass * abs(p - one / weight) for s, mass in law.items() for p, one in zip(seen[s], before, strict=True)),
            start=Fraction(0),
        )
        assert gain <= apart <= pairs(law)
        assert 3 * pairs(law) ** 2 <= 4 * variance(law)  # Gini's mean difference
        yield weight, gain, law


def pairs(law: Law) -> Fraction:
    """``E |S - S'|`` of two independent copies."""
    return sum((a * b * abs(s - t) for s, a in law.items() for t, b in law.items()), start=Fraction(0))


def variance(law: Law) -> Fraction:
    mean = sum((mass * s for s, mass in law.items()), start=Fraction(0))
    return sum((mass * (s - mean) ** 2 for s, mass in law.items()), start=Fraction(0))


def mean_gain(shares: Sequence[Fraction], n: int) -> Fraction:
    """Labels gained on average over totals; what is left of the variance is what a linear forecast leaves, or less."""
    found = list(gains(shares, n))
    scored, sealed = (sum((p * (1 - p) for p in part), start=Fraction(0)) for part in (shares[:n], shares[n:]))
    left = sum((weight * variance(law) for weight, _, law in found), start=Fraction(0))
    gain = sum((weight * gain for weight, gain, _ in found), start=Fraction(0))
    assert left * (scored + sealed) <= scored * sealed
    assert 3 * gain**2 * (scored + sealed) <= 4 * scored * sealed
    return gain


@pytest.mark.parametrize("records", range(2, 9))
def test_every_step_holds_of_all_totals_and_splits(records: int) -> None:
    for shares in profiles(records, 12 if records < 7 else 3):
        for n in range(1, records):
            gain = mean_gain(shares, n)
            assert gain <= records * spread_gain(n, records - n, left=0.5) + 1e-12


@pytest.mark.parametrize("records", range(2, 7))
def test_what_is_assumed_of_all_labels_holds_on_average_over_splits(records: int) -> None:
    """Of one split all that is unsure may lie on both sides; p* is of all labels, so that splits are averaged."""
    for shares in profiles(records, 5):
        left = 1 - sum((max(p, 1 - p) for p in shares), start=Fraction(0)) / records
        for n in range(1, records):
            every = [
                mean_gain([*(shares[at] for at in scored), *(p for at, p in enumerate(shares) if at not in scored)], n)
                for scored in itertools.combinations(range(records), n)
            ]
            mean = float(sum(every, start=Fraction(0)) / len(every))
            assert mean <= records * spread_gain(n, records - n, left=float(left)) + 1e-12


@pytest.mark.parametrize("records", [*range(2, 31), 100])
def test_labels_in_random_order_gain_no_more_of_any_totals(records: int) -> None:
    """One total, not an average: the hypergeometric law, exactly."""
    for ones in range(records + 1):
        share = Fraction(min(ones, records - ones), records)
        for n in range(1, records) if records < 31 else (1, 10, 50, 90):
            m = records - n
            law = [math.comb(m, s) * math.comb(n, ones - s) for s in range(min(ones, m) + 1)]
            best = Fraction(sum(max(s, m - s) * weight for s, weight in enumerate(law)), sum(law)) - m * (1 - share)
            assert best <= records * spread_gain(n, m, left=float(share)) + 1e-12


def best_of_all(shares: Sequence[Fraction], scored: tuple[int, ...]) -> tuple[Fraction, Fraction]:
    """Right labels, all together, of who knows totals and the scored ones, and of who knows totals alone."""
    known: dict[tuple[int, ...], list[Fraction]] = defaultdict(lambda: [Fraction(0)] * (1 + len(shares)))
    for labels, weight in joint(shares):
        for key in ((sum(labels),), (sum(labels), *(labels[at] for at in scored))):
            known[key] = [a + weight * b for a, b in zip(known[key], (1, *labels), strict=True)]
    both = [(len(key) > 1, right(cell[1:], cell[0])) for key, cell in known.items()]
    more, less = (sum((value for of, value in both if of is which), start=Fraction(0)) for which in (True, False))
    return more, less


@pytest.mark.parametrize("records", [2, 3, 5])
@pytest.mark.parametrize("form", [1, 2])
def test_a_whole_board_is_below_its_certificate(records: int, form: int) -> None:
    """Every exact answer told about the scored labels, on average over which these are."""
    for shares in profiles(records, 5):
        perfect = float(sum((max(p, 1 - p) for p in shares), start=Fraction(0)) / records)
        for n in range(1, records):
            splits = list(itertools.combinations(range(records), n))
            gained = [more - less for more, less in (best_of_all(shares, scored) for scored in splits)]
            parts = {"public": Part(labels=n), "sealed": Part(labels=records - n)}
            for assumed in (perfect, None):
                proved = certify(Terms(classes=2, perfect=assumed, form=form, **parts)).now
                assert float(sum(gained, start=Fraction(0))) / len(splits) <= records * proved + 1e-12


def test_only_what_is_proved_is_charged_so_little() -> None:
    """More classes, groups, an answer about sealed labels, and boards of the first form pay for counts in bits."""
    parts = {"public": Part(labels=100), "sealed": Part(labels=900)}
    terms = Terms(classes=2, **parts)
    assert sealed_gain(terms, 0.0) == spread_gain(100, 900, left=0.5) < 0.006
    grouped = {"group": "patients", "sealed": Part(labels=900, effective=Fraction(300))}
    for more in ({"classes": 3}, {"form": 1}, grouped):
        other = attrs.evolve(terms, **more)
        assert sealed_gain(other, 0.0) > 0.05
        assert "knows the class counts would be" not in certify(other).sentences()[1]
    assert sealed_gain(terms, 1e-9) > 0.05
    assert "a perfect model that knows the class counts would be" in certify(terms).sentences()[1]
    assert sealed_gain(attrs.evolve(terms, counts_known=False), 0.0) == 0.0


def test_two_labels_of_one_class_each_need_what_sampling_without_replacement_spreads() -> None:
    """One tells the other: a quarter of both. With N for N - 1 the form would say .204."""
    assert math.sqrt(4 / 3 * 0.25 / 2) / 2 < 0.25 <= spread_gain(1, 1, left=0.5)


def test_nothing_is_told_where_one_part_is_empty_or_nothing_is_unsure() -> None:
    assert spread_gain(0, 9, left=0.5) == spread_gain(9, 0, left=0.5) == spread_gain(4, 5, left=0.0) == 0.0
    assert spread_gain(1, 0, left=0.5) == 0.0

"""The core's measures: what counts and what a blind guess gets, by brute force and in a stranger's channel."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import scipy.stats
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_core.contracts.components import (
    Equal,
    Guess,
    Outcome,
    Overlap,
    Placebo,
    Redrawn,
    Sets,
    Trialled,
    Within,
    counted,
)
from labelinf_core.contracts.errors import ComponentError
from labelinf_core.contracts.guarantees import Ceiling, Interval, Verdict, judge

LABELS = np.array([0, 0, 1, 2], dtype=np.intp)


def count(guess: Any, measure: Any, n_classes: int = 3, **given: Any) -> Outcome:
    trial = Trialled(guess=Guess(labels=np.asarray(guess)), measure=measure, queries=1, **given)
    return counted(trial, LABELS, n_classes, None)


def test_within_a_tolerance_a_guess_is_right_up_to_it_and_not_beyond() -> None:
    """Brute force over small values and tolerances, exact in binary."""
    steps = [Fraction(k, 4) for k in range(-3, 4)]
    for tolerance in (Fraction(0), Fraction(1, 4), Fraction(1)):
        pairs = list(itertools.product(steps, steps))
        guess, truth = (np.array([float(pair[side]) for pair in pairs]) for side in (0, 1))
        found = count(guess, Within(tolerance=float(tolerance)), planted=truth)
        assert found.n_correct == sum(abs(one - other) <= tolerance for one, other in pairs)
        assert found.n_records == len(pairs)
    assert count([math.nan, math.inf], Within(tolerance=5), planted=np.zeros(2)).n_correct == 0


def test_the_chance_within_a_tolerance_is_that_of_the_best_constant() -> None:
    """Every constant is tried that could be best: the middle of a window ends at a value."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = [Fraction(int(v), 8) for v in rng.integers(-8, 9, rng.integers(1, 8))]
        tolerance = Fraction(int(rng.integers(0, 9)), 8)
        best = max(sum(abs(v - (start + tolerance)) <= tolerance for v in values) for start in values)
        truth = np.array([float(v) for v in values])
        found = count(truth, Within(tolerance=float(tolerance)), planted=truth)
        assert found.chance == best / len(values)


def test_no_constant_beats_the_chance_where_numbers_are_rounded() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        truth = rng.choice(rng.normal(scale=10.0 ** rng.integers(-3, 6), size=4), 12) + 0.1 * rng.integers(0, 4, 12)
        measure = Within(tolerance=float(rng.choice([0.0, 0.05, 0.1, 0.3])))
        best = max(
            count(np.full(12, c), measure, planted=truth).n_correct
            for c in (truth[:, None] + measure.tolerance * np.array([-1, 0, 1])).ravel()
        )
        found = count(truth, measure, planted=truth)
        assert found.chance is not None
        assert found.chance * 12 >= best - 1e-9


def test_a_trial_of_which_a_blind_guess_gets_all_shows_nothing() -> None:
    """One planted number, or several within a tolerance: whoever reads all of it is no better, and does not hold."""
    for planted, doubted in (([3.0], True), ([3.0, 3.1], True), ([3.0, 3.3], False)):
        found = count(planted, Within(tolerance=0.1), planted=np.array(planted))
        assert (found.chance == 1) is bool(found.doubt) is doubted
    said = attrs.evolve(Trialled(guess=Guess(labels=np.zeros(1)), planted=np.zeros(1), queries=1), doubt="own words")
    assert counted(attrs.evolve(said, measure=Within(tolerance=1.0)), LABELS, 3, None).doubt == "own words"
    assert judge_alone(1.0, blind=True) is Verdict.UNTESTED
    assert (
        judge_alone(1.0, ceilings=(Ceiling(accuracy=0.6, statement="s", conditions="c"),)) is not Verdict.HELD_CERTIFIED
    )


def judge_alone(baseline: float, *, ceilings: tuple[Ceiling, ...] = (), blind: bool = False) -> Verdict:
    half = Interval(value=0.5, low=0.4, high=0.6)
    return judge(accuracy=half, exact=half, baseline=baseline, promise=None, ceilings=ceilings, blind=blind)


def test_of_two_sets_counts_what_both_hold_of_the_larger_one() -> None:
    """All pairs of sets of four classes: right on all of it exactly where they are the same."""
    subsets = [s for size in range(5) for s in itertools.combinations(range(4), size)]
    for one, other in itertools.product(subsets, subsets[1:]):
        found = count(np.array(one[::-1], dtype=np.intp), Sets(), 4, planted=np.array(other * 2))
        assert (found.n_correct, found.n_records) == (len({*one} & {*other}), max(len(one), len(other)))
        assert (found.n_correct == found.n_records) is (one == other)


def test_the_chance_of_a_set_is_that_of_the_best_guess_of_a_set_drawn_uniformly() -> None:
    subsets = [s for size in range(5) for s in itertools.combinations(range(4), size)]
    for size in range(1, 5):
        drawn = [np.array(s) for s in subsets if len(s) == size]
        best = 0.0
        for guess in subsets:
            found = [count(np.array(guess, dtype=np.intp), Sets(), 4, planted=truth) for truth in drawn]
            best = max(best, sum(f.n_correct / f.n_records for f in found) / len(found))
        assert count([0], Sets(), 4, planted=drawn[0]).chance == pytest.approx(best)


def test_a_set_is_of_the_labels_of_the_records_that_are_named() -> None:
    found = count([2, -1, 0], Sets(), records=np.array([0, 1, 3]))
    assert (found.n_correct, found.n_records) == (2, 2)


def test_no_placebo_of_groups_is_right_more_often_than_its_chance_allows() -> None:
    """All multisets against all groups: right ones of one, two and five groups, and independent guesses of its chance.

    A share that is seen afterwards would be 1 of one group, and no attack would ever be called leaky.
    """
    for n_classes, size in ((2, 2), (2, 5), (3, 3), (3, 4), (4, 3)):
        chance = Overlap(size=size).blind([1 / n_classes] * n_classes)
        groups = np.array(list(itertools.product(range(n_classes), repeat=size)))
        held = (groups[:, :, None] == np.arange(n_classes)).sum(axis=1)
        for guess in itertools.combinations_with_replacement(range(n_classes), size):
            both = np.minimum(held, np.bincount(guess, minlength=n_classes)).sum(axis=1)
            one = np.bincount(both, minlength=size + 1) / len(groups)
            right = np.ones(1)
            for n in range(1, 6):
                right = np.convolve(right, one)
                often = right[::-1].cumsum()[::-1]
                allowed = scipy.stats.binom.sf(np.arange(-1, size * n), size * n, chance)
                assert (often <= allowed + 1e-12)[allowed <= 0.05].all()


def test_values_that_were_not_drawn_as_is_said_are_refused() -> None:
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1], [180, 20])
    for n, uniform in itertools.product((5, 60, 400), (False, True)):
        drawn, other = rng.choice(labels, n), rng.integers(0, 2, n)
        right, wrong = (other, drawn) if uniform else (drawn, other)
        said = Trialled(guess=Guess(labels=np.zeros(n, dtype=int)), planted=right, queries=1, uniform=uniform)
        assert counted(said, labels, 2, None).chance == (0.5 if uniform else 0.9)
        if n > 60:
            with pytest.raises(ComponentError, match="the values that it planted"):
                counted(attrs.evolve(said, planted=wrong), labels, 2, None)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.7, 0.2, 0.1), (0.25, 0.25, 0.5), (1.0, 0.0)])
def test_a_blind_guess_of_groups_is_worth_what_the_best_of_all_multisets_is(shares: tuple[float, ...]) -> None:
    """Every multiset against every group, each as probable as its shares say."""
    for size in (1, 2, 4):
        groups = list(itertools.product(range(len(shares)), repeat=size))

        def worth(guess: tuple[int, ...], groups: list[tuple[int, ...]] = groups) -> float:
            return sum(
                math.prod(shares[k] for k in group) * min(guess.count(k), group.count(k))
                for group in groups
                for k in {*guess}
            )

        best = max(map(worth, itertools.combinations_with_replacement(range(len(shares)), size)))
        assert Overlap(size=size).blind(shares) == pytest.approx(best / size)
    assert Equal().blind(shares) == Overlap(size=1).blind(shares) == max(shares)


def test_what_is_blind_is_counted_of_uniform_classes_and_else_of_the_private_labels() -> None:
    assert count([0, 0], Equal(), records=np.array([1, 3])).chance == 0.5
    assert count([0, 0], Equal(), planted=np.array([1, 1])).chance == 0.5
    assert count([0, 0], Equal(), planted=np.array([1, 1]), uniform=True).chance == pytest.approx(1 / 3)
    assert count([0, 0], Overlap(size=2), records=np.array([1, 3])).chance == Overlap(size=2).blind((0.5, 0.25, 0.25))


def test_a_placebo_is_counted_by_the_measure_of_its_trial() -> None:
    """By equality its guesses would be wrong, or right, where the trial's own are not."""
    redrawn = Redrawn(guess=Guess(labels=np.array([1.2, 9.0])), values=np.array([1.0, 3.0]))
    found = count([0.0, 0.0], Within(tolerance=0.5), planted=np.zeros(2), placebo=redrawn).placebo
    assert found == Placebo(n_correct=1, n_records=2, chance=0.5)
    swapped = Redrawn(guess=Guess(labels=np.array([0, 1])), values=np.array([1, 0]))
    assert count([0, 0], Overlap(size=2), 2, planted=np.zeros(2, dtype=int), placebo=swapped).placebo == Placebo(
        n_correct=2, n_records=2, chance=0.75
    )


@pytest.mark.parametrize(
    ("guess", "measure", "given", "fault"),
    [
        ([1.0], Within(tolerance=1), {"records": np.array([0])}, "within a tolerance are planted values"),
        ([1.0], Within(tolerance=1), {"planted": np.array([np.nan])}, "planted values must be finite numbers"),
        ([1.0], Within(tolerance=1), {"planted": np.array([])}, "planted values must be finite numbers"),
        (["a"], Within(tolerance=1), {"planted": np.array([1.0])}, "expected real numbers"),
        ([1.0, 2.0], Within(tolerance=1), {"planted": np.array([1.0])}, r"shape \(2,\), expected \(1,\)"),
        ([1, 1], Sets(), {"planted": np.array([1])}, "names a class twice"),
        ([3], Sets(), {"planted": np.array([1])}, "expected classes 0 to 2"),
        ([[1]], Sets(), {"planted": np.array([1])}, "expected one row of classes"),
        ([1], Sets(), {"planted": np.array([3])}, "planted values must be whole numbers from 0 to 2"),
    ],
)
def test_what_a_measure_cannot_count_is_said(guess: Any, measure: Any, given: Any, fault: str) -> None:
    with pytest.raises(ComponentError, match=fault):
        count(guess, measure, **given)


def test_a_measure_of_somebody_elses_is_none() -> None:
    class Generous(Within):
        def placed(self, guess: Any, truth: Any) -> Any:
            return truth

    with pytest.raises(ComponentError, match="its measure is a Generous, expected one of Equal, Overlap, Within, Sets"):
        count([1.0], Generous(tolerance=1), planted=np.zeros(1))


@pytest.mark.parametrize("tolerance", [-1, math.nan, math.inf, "wide"])
def test_a_tolerance_is_a_number_from_zero(tolerance: Any) -> None:
    with pytest.raises(ValueError, match="tolerance="):
        Within(tolerance=tolerance)


CHANNELS = '''
import attrs, numpy as np
from labelinf_core import Descriptor, Kind, Reference, hookimpl
from labelinf_core.contracts.components import Attack, Channel, Guess, Overlap, Sets, Trialled, Within
from labelinf_core.contracts.threat import ThreatModel

labelinf_contract = 2

@attrs.frozen(kw_only=True)
class Reader(Attack):
    """Guesses what it is shown; ``peeks``: it reads the private values, and says that it does not look."""

    peeks: bool = False

    @property
    def blind(self):
        return self.peeks

    def run(self, seen, rng):
        return Guess(labels=seen)

@attrs.frozen(kw_only=True)
class Constant(Attack):
    """Guesses what is likeliest, whatever it is shown."""

    blind = True

    def run(self, seen, rng):
        return Guess(labels=np.full(seen.shape, 2.5) if seen.dtype.kind == "f" else np.arange(10))

@attrs.frozen(kw_only=True)
class Lying(ThreatModel):
    """States what a blind guess gets."""

    stated: float = 0.0

    @property
    def baseline(self):
        return self.stated

class Of(Channel):
    default_labels = "digits"

    def undefended(self, setting):
        return ThreatModel(n_records=setting.data.n_records, n_classes=10, prior=(0.1,) * 10)

@attrs.frozen(kw_only=True)
class Groups(Of):
    """Tells all classes of a group of four, and whatever is stated of blind guesses."""

    stated: float = 0.0
    reads: bool = True

    def undefended(self, setting):
        return Lying(n_records=setting.data.n_records, n_classes=10, prior=(0.1,) * 10, stated=self.stated)

    def trial(self, setting, *, curator_rng, attack_rng):
        records = curator_rng.choice(setting.data.n_records, 80, replace=False)
        told = setting.data.labels[records] if self.reads else np.tile([1, 2, 3, 4], 20)
        guess = setting.attack.run(told, attack_rng)
        return Trialled(guess=guess, records=records, measure=Overlap(size=4), queries=1)

@attrs.frozen(kw_only=True)
class Pay(Of):
    """Tells real numbers between 0 and 5, rounded to whole ones."""

    def trial(self, setting, *, curator_rng, attack_rng):
        paid = curator_rng.uniform(0, 5, 300)
        guess = setting.attack.run(paid.round(), attack_rng)
        return Trialled(guess=guess, planted=paid, measure=Within(tolerance=0.5), queries=1)

@attrs.frozen(kw_only=True)
class Batch(Of):
    """Tells which classes a batch holds."""

    def trial(self, setting, *, curator_rng, attack_rng):
        records = curator_rng.choice(setting.data.n_records, 4, replace=False)
        guess = setting.attack.run(np.unique(setting.data.labels[records]), attack_rng)
        return Trialled(guess=guess, records=records, measure=Sets(), queries=1)

def item(kind, name, target, channel):
    return Descriptor(kind=kind, name=name, channel=channel, summary="-", target="measured_plugin:" + target,
                      reference=Reference(work="test", statement="test"))

@hookimpl
def labelinf_components():
    for channel in ("pay", "batch"):
        for name in ("Reader", "Constant"):
            yield item(Kind.ATTACK, channel + "-" + name.lower(), name, channel)
    yield item(Kind.ATTACK, "groups-reader", "Reader", "groups")
    yield item(Kind.CHANNEL, "groups", "Groups", None)
    yield item(Kind.CHANNEL, "pay", "Pay", None)
    yield item(Kind.CHANNEL, "batch", "Batch", None)
'''


@pytest.mark.parametrize("channel", ["pay", "batch"])
def test_a_channel_of_somebody_elses_is_counted_by_its_measure(
    channel: str, install_fake: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads is right on all, a constant no more often than the core says, and who peeks while blind is void."""
    install_fake("labelinf-measured", entry="measured", module="measured_plugin", source=CHANNELS)
    monkeypatch.chdir(tmp_path)
    attacks = [f"{channel}-reader", f"{channel}-constant", f"{channel}-reader(peeks=true)"]
    suite = {"channel": channel, "attacks": attacks, "defences": ["none"]}
    lines = [f"{key} = {json.dumps(value)}" for key, value in suite.items()]
    Path("suite.toml").write_text('title = "t"\ntrials = 20\n[[matrix]]\nlabels = ["digits"]\n' + "\n".join(lines))
    found = CliRunner().invoke(main, ["matrix", "suite.toml", "--workers", "0", "--json"])

    assert found.stdout, found.stderr
    cells = {cell["attack"]: cell for cell in json.loads(found.stdout)["cells"]}
    blind = cells[f"{channel}-constant"]
    assert blind["accuracy"]["value"] <= blind["baseline"] + 1e-12
    assert blind["baseline"] > (0.19 if channel == "pay" else 0.3)  # an interval of one in five; three to four of ten
    assert blind["verdict"] != "leaky: void"
    assert cells[f"{channel}-reader(peeks=false)"]["accuracy"]["value"] == 1
    assert cells[f"{channel}-reader(peeks=true)"]["verdict"] == "leaky: void"

    one = CliRunner().invoke(main, ["attack", f"{channel}-reader", "--channel", channel, "--show", "3"])
    assert "right" in one.output or "%" in one.output, one.output


@pytest.mark.long
@pytest.mark.parametrize("stated", [0.0, 1.0])
@pytest.mark.parametrize(("reads", "verdict"), [("true", "broken, observed"), ("false", "held so far")])
def test_what_a_channel_states_of_blind_guesses_decides_nothing(
    stated: float,
    reads: str,
    verdict: str,
    install_fake: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever it states, too little or too much: who reads is seen, and a constant is none that does."""
    install_fake("labelinf-measured", entry="measured", module="measured_plugin", source=CHANNELS)
    monkeypatch.chdir(tmp_path)
    Path("suite.toml").write_text(
        f'title = "t"\ntrials = 20\n[[matrix]]\nchannel = "groups"\nstated = {stated}\nreads = {reads}\n'
        'labels = ["digits"]\nattacks = ["groups-reader"]\ndefences = ["none"]\n'
    )
    found = CliRunner().invoke(main, ["matrix", "suite.toml", "--workers", "0", "--json"])
    assert found.stdout, found.stderr
    (cell,) = json.loads(found.stdout)["cells"]
    digits = (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)
    assert cell["baseline"] == pytest.approx(Overlap(size=4).blind([n / 1797 for n in digits]), abs=1e-12)
    assert cell["verdict"] == verdict

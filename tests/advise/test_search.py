"""Advice: the smallest strength that reaches a target, proved and observed."""

from __future__ import annotations

import itertools
import re
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from labelinf_core.advise.adversarial_search import AdversarialSearch
from labelinf_core.advise.search import Advice, Advisor, smallest
from labelinf_core.advise.target import Target
from labelinf_core.cli import main
from labelinf_core.cli.advise import attack_list
from labelinf_core.contracts.components import Bound, Guess, LabelSet, Setting, TunableParameter
from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_core.contracts.guarantees import BoundValue, Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.report import words
from labelinf_core.specs import Builder
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle

BUILDER = Builder(Host.load())


def knob(weakest: float, strongest: float, *, integer: bool = False) -> TunableParameter:
    return TunableParameter(title="k", template="k({})", weakest=weakest, strongest=strongest, integer=integer)


def advisor(n_records: int, queries: int, target: str, attacks: tuple[str, ...] = (), **more: Any) -> Advisor:
    return Advisor(
        builder=BUILDER,
        name="score",
        channel=BUILDER.build(Kind.CHANNEL, f"score(loss=log-loss, scorer='float64', queries={queries})", "test"),
        data=BUILDER.build(Kind.LABELS, f"made(n_records={n_records}, n_classes=2, seed=0)", "test").load(),
        base=(BUILDER.build(Kind.DEFENCE, "clip(epsilon=0.01)", "test"),),
        target=Target.parse(target),
        attacks=attacks,
        **more,
    )


GAUSSIAN = TunableParameter(
    title="s", template="score-noise(model=grid-gaussian(scale={}, step=1e-9))", weakest=1e-6, strongest=1e3
)


@pytest.mark.long
@given(st.floats(1e-6, 1e6), st.booleans())
def test_the_smallest_strength_is_found_in_either_direction(threshold: float, more_is_stronger: bool) -> None:
    if more_is_stronger:
        found = smallest(knob(1e-7, 1e7), lambda s: s >= threshold)
        assert found == pytest.approx(threshold, rel=1e-6)
        assert found is not None
        assert found >= threshold
    else:
        found = smallest(knob(1e7, 1e-7), lambda s: s <= threshold)
        assert found == pytest.approx(threshold, rel=1e-6)
        assert found is not None
        assert found <= threshold


@given(st.integers(0, 15))
def test_whole_strengths_are_found_exactly(threshold: int) -> None:
    assert smallest(knob(15, 0, integer=True), lambda d: d <= threshold) == threshold
    assert smallest(knob(0, 15, integer=True), lambda d: d >= threshold) == threshold


def test_what_nothing_reaches_has_no_strength() -> None:
    assert smallest(knob(1, 2), lambda s: False) is None


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("60%", Target(accuracy=0.6)),
        ("62.5 %", Target(accuracy=0.625)),
        ("no-exact-recovery", Target(exact=0.05)),
        ("epsilon<=1", Target(epsilon=1.0)),
        ("eps <= 0.5", Target(epsilon=0.5)),
    ],
)
def test_a_target_reads_as_it_is_written(text: str, target: Target) -> None:
    assert Target.parse(text) == target


def test_another_target_is_one_sentence() -> None:
    with pytest.raises(InputError, match="expected a share of labels such as 60%, no-exact-recovery"):
        Target.parse("safe")


@pytest.mark.slow
def test_gaussian_noise_for_sixty_percent_after_a_thousand_queries() -> None:
    """Phi(L sqrt(q) / (2 N s)) = .6 - 1 / (4 sqrt(N)), L = ln 99, q = 1000, N = 2201: s = .1379, more if uneven."""
    advice = advisor(2201, 1000, "60%").advise(GAUSSIAN)

    assert advice.certified == pytest.approx(0.1379, rel=0.01)
    assert advice.forced is None or advice.forced <= advice.certified
    # Honest scores err by the noise's mean size, s sqrt(2 / pi), in 40 draws: within 60 % of it beyond any doubt.
    assert advice.certified is not None
    assert advice.certified_cost["mean_error"] == pytest.approx(0.8 * advice.certified, rel=0.6)
    assert advice.certified_cost["rank_correlation"] < 1


@pytest.mark.long
def test_an_epsilon_over_the_whole_game_is_certified_by_randomised_response_alone() -> None:
    response = TunableParameter(title="rr", template="randomised-response(epsilon={})", weakest=20.0, strongest=1e-3)

    assert advisor(100, 50, "epsilon<=1").advise(response).certified == pytest.approx(1.0, rel=1e-6)
    assert advisor(100, 50, "epsilon<=1").advise(GAUSSIAN).certified is None


@pytest.mark.long
def test_attacks_force_what_the_certificate_asks_when_queries_reach_a_hadamard_order() -> None:
    """N = q = 32: floor and ceiling meet, and the interval of what is forced never crosses what is proved enough.

    Twelve games are 384 labels: their mean is within 7 points of 70 % with probability above 1 - 3e-3, which moves s
    by at most 40 %.
    """
    near = TunableParameter(title="s", template=GAUSSIAN.template, weakest=0.2, strongest=2.0)

    advice = advisor(32, 32, "70%", ("hadamard",), trials=12).advise(near)

    assert advice.strongest_attack == "hadamard"
    assert advice.forced == pytest.approx(advice.certified, rel=0.4)
    assert advice.certified is not None
    assert advice.forced is not None
    assert advice.forced_from is not None
    assert advice.forced_to is not None
    assert advice.forced_from <= advice.forced <= advice.forced_to <= advice.certified


@pytest.mark.slow
def test_certificate_and_attack_agree_within_five_percent_for_a_real_leaderboard() -> None:
    advice = advisor(2201, 4096, "60%", ("hadamard",)).advise(GAUSSIAN)

    assert advice.forced == pytest.approx(advice.certified, rel=0.05)


def test_a_strength_of_zero_is_a_strength() -> None:
    """Rounding to no decimals at all is what is proved here, and must not read as nothing."""
    arguments = ["advise", "--records", "300", "--defence", "clip(epsilon=0.01)", "--queries", "100"]
    arguments += ["--target", "no-exact-recovery"]
    shown = CliRunner().invoke(main, [*arguments, "--questions", "0", "--only", "decimals"], catch_exceptions=False)

    assert shown.exit_code == 0
    assert "proved     <= 0 (" in shown.stdout
    assert "costs: honest score error" in shown.stdout
    assert "Nothing here reaches the target" not in shown.stdout


@pytest.mark.long
def test_noise_beyond_all_measure_is_planned_for_in_no_time() -> None:
    """A bisection tries the strongest noise first: what a perfect reading would take must not be laid out."""
    strong = advisor(2201, 1000, "60%", ("hadamard",), trials=1)
    flood = TunableParameter(title="s", template=GAUSSIAN.template, weakest=46.0, strongest=4e6)

    assert strong.advise(flood).forced == 46.0


class Component(ScoreAttack):
    """Somebody's attack, which may refuse, break, or break after a game that it won."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.games = 0

    def unsupported_reason(self, threat: ThreatModel) -> str:
        return "not today" if self.how == "refuses" else ""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        self.games += 1
        if self.how == "breaks":
            raise ZeroDivisionError("by nothing")
        if self.how == "is-refused":
            raise QueryRefusedError("no answer to such a query.")
        if self.how == "wins-once" and self.games > 1:
            raise KeyError("lost")
        return BUILDER.build(Kind.ATTACK, "hybrid", "test").run(oracle, rng)


class Workshop:
    """Builds what is named by how it fails, and the rest as ever."""

    host = BUILDER.host

    def on(self, channel: str) -> Workshop:
        return self

    def build(self, kind: Kind, spec: str, where: str) -> Any:
        broken = ("refuses", "breaks", "is-refused", "wins-once")
        return Component(spec) if spec in broken else BUILDER.build(kind, spec, where)


ROUNDING = TunableParameter(title="d", template="round(decimals={})", weakest=15, strongest=4, integer=True)


def facing(*attacks: str) -> Advice:
    workshop: Any = Workshop()
    return attrs.evolve(advisor(40, 100, "no-exact-recovery", attacks, trials=3), builder=workshop).advise(ROUNDING)


@pytest.mark.parametrize("attack", ["breaks", "is-refused"])
def test_an_attack_that_fails_is_no_protection_and_is_reported(attack: str) -> None:
    alone, beside = facing(attack), facing(attack, "majority")

    assert (alone.forced, alone.strongest_attack) == (None, "")
    assert beside.forced == 15  # the majority guess was played, and stays within the target
    for advice in (alone, beside):
        (note,) = advice.notes
        assert re.match(rf"{attack} failed against round\(decimals=4\): (ZeroDivision|QueryRefused)Error: ", note)


def test_an_attack_that_refuses_is_passed_over() -> None:
    assert (facing("refuses").forced, facing("refuses").notes) == (None, ())
    assert (facing("refuses", "majority").forced, facing("refuses", "majority").notes) == (15, ())


def test_what_an_attack_won_before_it_failed_counts() -> None:
    advice = facing("majority", "wins-once")

    assert (advice.forced, advice.strongest_attack) == (None, "wins-once")
    assert "KeyError: 'lost'" in advice.notes[0]


def test_a_defence_that_cannot_be_built_withstands_nothing() -> None:
    unbuilt = TunableParameter(title="d", template="no-such-defence({})", weakest=1.0, strongest=2.0)
    advice = advisor(40, 100, "no-exact-recovery", ("majority",)).advise(unbuilt)

    assert advice.forced is None
    assert advice.notes[0].startswith("no-such-defence cannot stand there: ")


def test_a_defence_that_cannot_stand_behind_another_is_a_note_and_ends_nobody_elses_advice() -> None:
    """``labelinf advise --defence 'clip(epsilon=0.01)'`` ended at the first knob, a board of raw labels."""
    asked = advisor(40, 100, "60%", ("majority",))
    behind = attrs.evolve(asked, base=asked.builder.pipeline(["clip(epsilon=0.01)"], "test"))
    advice = behind.advise(TunableParameter(title="b", template="guarded-board(share={})", weakest=1.0, strongest=0.01))

    assert (advice.certified, advice.forced) == (None, None)
    assert "put nothing before it" in advice.notes[0]


def test_the_search_ends_where_games_cannot_tell_settings_apart() -> None:
    """Each setting costs games; what lies between two that are left open would cost as many and say as little."""
    tried: list[float] = []

    def reaches(strength: float) -> bool:
        tried.append(strength)
        return strength > 0.3

    knob = TunableParameter(title="k", template="k({})", weakest=0.0, strongest=1.0)
    assert smallest(knob, reaches, enough=lambda: len(tried) >= 4) == 0.5
    assert len(tried) == 4


def test_a_cost_that_cannot_be_measured_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def utility(*arguments: object) -> dict[str, float]:
        raise InputError("scorer takes 40 records only.")

    monkeypatch.setattr(ScoreChannel, "utility", utility)
    advice = facing("majority")

    assert (advice.forced, dict(advice.forced_cost)) == (15, {})
    (note,) = advice.notes
    assert note.startswith("what round(decimals=15) costs honest users could not be measured: InputError in ")
    assert "40" not in note  # a stranger's own words may hold labels


def test_a_bound_that_breaks_proves_nothing_and_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def ceilings(self: object, threat: ThreatModel) -> tuple[Ceiling, ...]:
        raise OverflowError("too large")

    kind = type(BUILDER.build(Kind.BOUND, "label-dp", "test"))
    monkeypatch.setattr(kind, "ceilings", ceilings)
    response = TunableParameter(title="rr", template="randomised-response(epsilon={})", weakest=20.0, strongest=1e-3)
    advice = advisor(100, 50, "60%").advise(response)

    (note,) = (note for note in advice.notes if "label-dp" in note)
    assert note.startswith("bound label-dp could not be evaluated: OverflowError in ")


class Planted(Bound):
    """A false bound: no noise at all is proved enough for 60 % of the labels."""

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        return ()

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        return (Ceiling(accuracy=0.6, statement="a false theorem", conditions="none"),)


@pytest.mark.long
def test_an_attack_beyond_what_is_proved_enough_is_a_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bound proves 60 % at any noise; Hadamard's design reads all labels through a thousandth."""
    weak = TunableParameter(title="s", template=GAUSSIAN.template, weakest=1e-3, strongest=5.0)
    honest = advisor(64, 64, "60%", ("hadamard",), trials=1).advise(weak)
    monkeypatch.setattr(type(BUILDER.build(Kind.BOUND, "label-dp", "test")), "ceilings", Planted.ceilings)

    planted = advisor(64, 64, "60%", ("hadamard",), trials=1).advise(weak)

    assert honest.contradiction == ""
    assert planted.certified == weak.weakest
    assert "hadamard recovers" in planted.contradiction
    assert "a false theorem allows 60.0% at most" in planted.contradiction


@pytest.mark.parametrize(("gain", "accuracy"), [(0.05, 0.755), (0.005, 0.71)])
def test_a_target_may_be_a_gain_over_the_best_blind_guess(gain: float, accuracy: float) -> None:
    target = Target.gaining(gain, 0.705)

    assert target.accuracy == pytest.approx(accuracy)
    assert "over the best blind guess (70.5%)" in str(target)


def test_the_example_of_a_gain_is_one_that_can_be_had() -> None:
    with pytest.raises(InputError, match=r"above 0 and below 1\.7, such as 0\.85%"):
        Target.gaining(0.05, 0.983)


def test_a_target_that_a_blind_guess_exceeds_is_refused() -> None:
    shares = ["advise", "--records", "40", "--shares", ".7,.3", "--only", "decimals", "--questions", "0"]

    refused = CliRunner().invoke(main, [*shares, "--target", "60%"])
    gained = CliRunner().invoke(main, [*shares, "--gain", "5%"])
    neither = CliRunner().invoke(main, shares)

    assert (refused.exit_code, neither.exit_code) == (2, 2)
    assert "guessing the most frequent class has 70.0% of the labels already" in refused.stderr
    assert "best blind guess 70.0 %" in gained.stdout
    assert "attackers guess at most 75.0%, 5.0 points over" in gained.stdout
    assert "balanced" not in gained.stdout


def test_balanced_labels_are_said_to_be_assumed() -> None:
    given = CliRunner().invoke(
        main, ["advise", "--records", "40", "--target", "60%", "--only", "decimals", "--questions", "0"]
    )

    assert given.stdout.startswith("40 labels, taken for balanced, 2 classes, best blind guess 50.0 %")


def test_what_is_proved_depends_on_the_class_counts_and_not_on_who_has_which_label() -> None:
    def certified(seed: int) -> float | None:
        labels = np.random.default_rng(seed).permutation(np.repeat([0, 1], 8))
        own = LabelSet(labels=labels, class_names=("0", "1"), title="own", provenance="made")
        return attrs.evolve(advisor(16, 12, "70%"), data=own).advise(GAUSSIAN).certified

    assert certified(1) == certified(2) is not None


def test_attacks_of_ones_own_replace_the_list_or_join_it() -> None:
    shipped = ("majority", "primes")
    assert attack_list(shipped, ("hybrid",), ()) == ("hybrid",)
    assert attack_list(shipped, ("hybrid",), ("mine", "hybrid")) == ("hybrid", "mine")
    assert attack_list(shipped, (), ("mine",)) == (*shipped, "mine")
    assert attack_list(shipped, ("mine", "strongest"), ()) == (*shipped, "mine")  # as suites call that list


def test_the_command_shows_what_failed_and_knows_a_slip_in_a_name() -> None:
    arguments = ["advise", "--records", "40", "--target", "no-exact-recovery", "--only", "decimals"]
    slip = CliRunner().invoke(main, [*arguments, "--also", "hadamrd"])
    none = CliRunner().invoke(main, [*arguments, "--attack", "subset-inference"], catch_exceptions=False)
    beside = CliRunner().invoke(main, [*arguments, "--only", "query limit"])

    assert (beside.exit_code, slip.exit_code) == (2, 2)
    assert "--only 'query limit': no setting's title or spec contains it; there are " in beside.stderr
    assert "hadamrd" in slip.stderr
    assert "attacks    none could be played, so nothing was withstood" in none.stdout


def test_when_the_time_is_up_what_was_not_played_is_said_and_has_withstood_nothing() -> None:
    hurried = advisor(40, 0, "60%", ("hadamard",), patience=1e-9)

    found = next(hurried.advise(item) for item in hurried.tunable_parameters() if "decimals" in item.title)

    assert found.cut
    assert found.forced is None
    assert any("not every setting was played" in note for note in found.notes)


@pytest.mark.long
@pytest.mark.parametrize("questions", [30, 400, 50_000])
def test_advice_ends_the_same_on_a_slow_machine(questions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock takes ten seconds there: questions decide, and where they were up, that is said."""

    def advised() -> list[Advice]:
        found = advisor(40, 0, "60%", ("hadamard", "ladder-descent"), questions=questions, patience=1e6)
        return [
            found.advise(item)
            for item in found.tunable_parameters()
            if "decimals" in item.title or "standard" in item.title
        ]

    fast = advised()
    slow_clock = itertools.count(0, 10)
    monkeypatch.setattr("labelinf_core.advise.adversarial_search.time.monotonic", lambda: float(next(slow_clock)))

    assert advised() == fast
    assert any(item.cut for item in fast) is (questions < 50_000)
    assert all(any("questions were asked" in note for note in item.notes) is item.cut for item in fast)


def test_what_is_proved_is_the_setting_that_is_named() -> None:
    game = ["--records", "120", "--shares", ".675,.325", "--queries", "60"]
    asked = ["--gain", "15%", "--only", "randomised response", "--questions", "0"]
    shown = CliRunner().invoke(main, ["advise", *game, *asked], catch_exceptions=False)

    (named,) = re.findall(r"randomised-response\(epsilon=([\d.]+)\)", shown.stdout)
    (proved,) = re.findall(r"proved     <= ([\d.]+)", shown.stdout)
    assert float(proved) == float(named)


def test_the_setting_that_is_proved_enough_is_played_itself() -> None:
    """Beyond it nothing is left to find out, and one record has no NDCG on which an attack could be played."""
    asked = attrs.evolve(
        advisor(24, 24, "80%", ("random-halves",), trials=2),
        channel=BUILDER.build(Kind.CHANNEL, "score(metric=ndcg, queries=24)", "test"),
        base=(),
    )
    advice = asked.advise(TunableParameter(title="t", template="subset(share={})", weakest=1.0, strongest=1 / 24))

    assert advice.certified is not None
    assert advice.forced is not None
    assert advice.forced >= advice.certified
    assert advice.notes == ()


def test_a_setting_that_is_proved_enough_is_enough_though_few_games_went_beyond() -> None:
    flood = TunableParameter(title="s", template=GAUSSIAN.template, weakest=1e-3, strongest=1e3)
    lucky = advisor(32, 32, "70%", ("hadamard",), trials=1, seed=9)
    proved = lucky.advise(flood).certified

    assert proved is not None
    assert not AdversarialSearch(lucky).withstands(
        flood.spec(proved)
    )  # in a single game the attack had more than its mean
    assert lucky.advise(flood).forced == proved


def test_a_ceiling_holds_for_whoever_knows_the_class_counts() -> None:
    """Twelve labels, three ones, epsilon .9: 75.84 % come out of randomised response, where 75 % was certified."""
    kept = 1 / (1 + np.exp(-0.9))
    orders = np.array([np.isin(np.arange(12), ones) for ones in itertools.combinations(range(12), 3)])
    answers = np.array(list(itertools.product((False, True), repeat=12)))
    same = (orders[:, None] == answers).sum(axis=2)
    likely = kept**same * (1 - kept) ** (12 - same) / len(orders)
    one = orders.T.astype(float) @ likely
    best = np.maximum(one, likely.sum(axis=0) - one).sum() / 12
    assert best == pytest.approx(0.7584, abs=1e-4)

    told = "randomised-response(epsilon=0.9)"
    data = BUILDER.build(Kind.LABELS, "made(n_records=12, n_classes=2, seed=0)", "test").load()
    data = attrs.evolve(data, labels=np.repeat([0, 1], [9, 3]))
    threat = BUILDER.build(Kind.CHANNEL, "score", "test").threat(
        Setting(data=data, defences=(BUILDER.build(Kind.DEFENCE, told, "test"),))
    )
    found = theory(BUILDER, "score", threat)
    lowest = min(found.ceilings, key=lambda item: item.reached)
    assert lowest.accuracy < best <= lowest.reached
    assert not Target.parse(f"{100 * best - 0.1:.4f}%").certified(threat, found.ceilings)
    assert words.ceiling(lowest, 0.75).endswith(f"({words.at_most(lowest.reached)} % of labels)")


def test_an_epsilon_is_of_all_labels_of_a_group() -> None:
    """Four labels of one patient that are one label tell it four times."""
    data = BUILDER.build(Kind.LABELS, "made(n_records=40, n_classes=2, seed=0)", "test").load()
    stages = (BUILDER.build(Kind.DEFENCE, "randomised-response(epsilon=0.5)", "test"),)
    channel = BUILDER.build(Kind.CHANNEL, "score", "test")
    patients = attrs.evolve(data, groups=np.arange(40) // 4)
    alone, grouped = (channel.threat(Setting(data=each, defences=stages)) for each in (data, patients))
    assert Target.parse("epsilon<=0.5").certified(alone, ())
    assert not Target.parse("epsilon<=1.99").certified(grouped, ())
    assert Target.parse("epsilon<=2").certified(grouped, ())

"""What is known of a score is the fold of what its stages say; who says nothing, or half of it, is not trusted."""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, NoiseModel, Setting
from labelinf_core.contracts.effects import fold
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.query_limit import QueryLimit
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.subset import Subset
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, ScoreDefence
from labelinf_scores.game.effects import (
    Added,
    Budgeted,
    Clipped,
    Confined,
    Hidden,
    Laddered,
    Moved,
    Perturbed,
    Ranked,
    Refusing,
    Rounded,
    Sampled,
    Scaled,
    ScoreEffect,
    Supposed,
    _is_multiple,
)
from labelinf_scores.game.facts import AddedNoise, ScoreFacts, side_by_side
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings.base import ScoredMetric
from labelinf_scores.metrics.readings.counts import Accuracy
from labelinf_scores.metrics.readings.ranks import RocAuc
from labelinf_scores.metrics.unadditive import Unadditive

BUILDER = Builder(Host.load())
LABELS = LabelSet(labels=np.arange(100) % 2, class_names=("a", "b"), title="made", provenance="made")


@pytest.mark.parametrize(("noise", "delta"), [("gaussian-dp", 1e-5), ("laplace-dp", 0.0)])
def test_a_budget_is_paid_for_so_many_answers_and_not_for_one_more(noise: str, delta: float) -> None:
    """Noise that is made for four answers pays for four: with their square root, or added up, as its proof goes."""
    dp = BUILDER.build(Kind.DEFENCE, f"{noise}(epsilon=0.5, queries=4{f', delta={delta}' if delta else ''})", "test")
    setting = Setting(data=LABELS, defences=(Clip(epsilon=0.01), dp))
    facts = ScoreChannel(loss=LogLoss(), scorer="float64").threat(setting).facts

    assert (facts.label_epsilon, facts.label_delta) == (0.5, delta)
    assert facts.pays(4, 0.5, delta)
    assert not facts.pays(5, 0.5, delta)
    assert not facts.pays(4, 0.49, delta)


@attrs.frozen(kw_only=True)
class Coarse(ScoreDefence):
    """Rounds to multiples of ``step``, and says so or not."""

    step: float = 1.0
    told: bool = True

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Rounded(step=self.step),) if self.told else super().does(threat)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return Rounding(self.step)


@attrs.frozen
class Rounding(ActiveScoreDefence):
    step: float

    def answer(self, labels: Any, query: Any, ask: Any) -> float:
        return round(float(ask(labels, query)) / self.step) * self.step


@attrs.frozen(kw_only=True)
class Custom(Rounded):
    """An effect of somebody else's making, which claims that rounding moves nothing."""

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        return facts


@attrs.frozen(kw_only=True)
class Claiming(Coarse):
    effect: Any = ()

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return self.effect


def told(*defences: ScoreDefence, scorer: str = "float64", queries: int = 0) -> ScoreThreat:
    channel = ScoreChannel(loss=LogLoss(), scorer=scorer, queries=queries)
    return channel.threat(Setting(data=LABELS, defences=defences))


def ceilings(threat: ThreatModel) -> list[float]:
    return [ceiling.accuracy for ceiling in theory(BUILDER, "score", threat).ceilings]


def test_noise_behind_a_declared_rounding_is_calibrated_to_its_jump() -> None:
    """One label moves a score of 100 records by .046, and its multiple of one by a whole step."""
    threat = told(Clip(epsilon=0.01), Coarse(step=1.0), LaplaceDp(epsilon=1.0, queries=1))
    assert threat.sensitivity == pytest.approx(1 + math.log(99) / 100, rel=1e-3)
    assert threat.noise[0].model.std == pytest.approx(math.sqrt(2) * (1 + math.log(99) / 100), rel=1e-3)


def test_behind_a_stage_that_says_nothing_there_is_no_ceiling() -> None:
    threat = told(Clip(epsilon=0.01), Coarse(step=1.0, told=False), LaplaceDp(epsilon=1.0, queries=1))
    assert (threat.known, threat.label_epsilon, threat.query_budget) == (False, math.inf, 1)
    (counted,) = ceilings(threat)  # one answer is a double all the same
    assert counted > 0.9
    assert min(ceilings(told(Clip(epsilon=0.01), LaplaceDp(epsilon=1.0, queries=1)))) < 0.9


@pytest.mark.parametrize("nearer", [True, False])
@pytest.mark.parametrize(
    "stage",
    [QueryLimit(queries=2), Subset(share=0.3), PermuteLabels(), RoundScore(decimals=2)],
    ids=str,
)
def test_nothing_is_bounded_beside_an_unknown_stage_but_what_holds_for_any(stage: ScoreDefence, nearer: bool) -> None:
    """A stage that is handed part of the labels, or their secret order, sees no more; outside, it may see them all."""
    silent = Coarse(told=False)
    threat = told(*((silent, stage) if nearer else (stage, silent)), queries=3)
    implied = theory(BUILDER, "score", threat)
    denied = [ceiling for ceiling in implied.ceilings if ceiling.accuracy < 1]
    assert bool(denied) == (nearer and isinstance(stage, Subset | PermuteLabels))
    assert {bound.title for bound in implied.bounds} <= {"queries without which no attack recovers all labels"}
    assert math.isinf(threat.noise_bound)
    assert math.isinf(threat.sensitivity)


@pytest.mark.long
@pytest.mark.parametrize("attack", ["majority", *shipped()["attacks"], "powers-blocks", "prime-blocks", "doubling"])
def test_attacks_play_behind_an_unknown_stage_and_promise_nothing(attack: str) -> None:
    played = BUILDER.build(Kind.ATTACK, attack, "test")
    data = attrs.evolve(LABELS, labels=np.arange(12) % 2)
    setting = Setting(data=data, attack=played, defences=(Coarse(step=1e-4, told=False),))
    channel = ScoreChannel(loss=LogLoss(), scorer="sklearn", queries=20)
    threat = channel.threat(setting)
    assert played.promise(threat) is None
    if played.unsupported_reason(threat):
        return
    rngs = np.random.default_rng(0).spawn(2)
    outcome = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
    assert outcome.n_records == 12
    assert "certified" not in outcome.evidence.values()


def test_one_list_says_what_survives_an_unknown_scorer() -> None:
    """Ranks and a part of the labels keep the same facts: each of them, where its stage says so, and no other."""
    told = {"label_epsilon": 1.0, "label_delta": 0.1, "told_bits": 9.0, "information": 7.0, "scored_fresh": True}
    start = ScoreFacts(n_records=100, n_classes=2, loss=LogLoss())
    facts = attrs.evolve(start, scored=0.5, step=0.1, **told)

    ranked, part = Ranked().after(facts), Sampled(size=20).after(facts)
    assert ranked == attrs.evolve(facts.of_any_scorer(), ranked=True)
    assert part == attrs.evolve(facts.of_any_scorer(), scored=0.2, scored_fresh=False)
    kept = {field.name for field in attrs.fields(ScoreFacts)} - {
        field.name
        for field in attrs.fields(ScoreFacts)
        if getattr(facts.of_any_scorer(), field.name) == getattr(facts.unknown(), field.name)
    }
    assert kept == {"scored", *told}


def test_nobody_sets_a_fact() -> None:
    for fact in ("noise_bound", "jump", "clip", "label_epsilon", "known", "facts", "query_budget"):
        with pytest.raises(TypeError, match=fact):
            attrs.evolve(told(), **{fact: 0})


@pytest.mark.parametrize(
    ("effect", "error"),
    [(None, "must be a tuple of effects, got NoneType"), ([Rounded(step=1.0)], "got list"), ((0.5,), "got tuple")],
)
def test_what_is_no_tuple_of_effects_is_the_stages_own_failure(effect: Any, error: str) -> None:
    with pytest.raises(TypeError, match=error):
        told(Claiming(effect=effect))


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A scorer in a program of its own, of which nothing is declared."""
    (tmp_path / "scorer.py").write_text("""
import json, math, sys
for line in sys.stdin:
    game = json.loads(line)
    held = [min(max(row[label], 1e-15), 1.0) for label, row in zip(game["labels"], game["predictions"])]
    print(json.dumps({"score": -sum(map(math.log, held)) / len(held)}), flush=True)
""")
    return f"cmd:{sys.executable} {tmp_path / 'scorer.py'}"


def test_a_defence_that_denies_something_itself_is_refused_in_one_sentence() -> None:
    with pytest.raises(TypeError, match=r"Boasting.ceilings\(\) is not asked any more: a defence states effects\(\)"):

        class Boasting(Coarse):
            def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
                return (Ceiling(accuracy=0.5, exact=0.01, statement="a boast", conditions="none"),)


def test_what_is_unknown_is_named(program: str) -> None:
    implied = theory(BUILDER, "score", told(Coarse(told=False)))
    assert implied.ceilings == ()
    assert any("nothing is known of Coarse" in note for note in implied.notes)
    assert ceilings(told(Coarse(), scorer=program)) == []


def test_a_channel_that_lists_no_effects_understands_none() -> None:
    threat = ThreatModel(n_records=10, n_classes=2, prior=(0.5, 0.5), effects=(Rounded(step=0.1),))
    assert threat.undeclared == ("Rounded",)
    assert math.isinf(threat.label_epsilon)
    assert ceilings(threat) == []


def test_an_effect_of_somebody_elses_making_is_kept_as_it_is_stated_and_folded_as_unknown() -> None:
    threat = told(Claiming(effect=(Custom(step=1.0),)))
    assert threat.effects == (Custom(step=1.0),)
    assert threat.undeclared == ("Custom",)
    assert not threat.known


def test_a_claim_that_the_noise_does_not_pay_for_counts_for_nothing() -> None:
    boasting = Claiming(effect=(Budgeted(queries=5, shared=True, epsilon=0.1),))
    assert math.isinf(told(Clip(epsilon=0.01), boasting).label_epsilon)
    assert math.isinf(told(Clip(epsilon=0.01), LaplaceDp(epsilon=1.0, queries=5), boasting).label_epsilon) is False
    assert told(Clip(epsilon=0.01), LaplaceDp(epsilon=1.0, queries=5), boasting).label_epsilon == 1.0


def test_a_budget_that_every_participant_has_anew_certifies_nothing_of_all_answers() -> None:
    effect = Budgeted(queries=1, epsilon=1.0)
    stages = (Clip(epsilon=0.01), LaplaceDp(epsilon=1.0))
    assert told(*stages, Claiming(effect=(effect,))).label_epsilon == math.inf
    assert told(*stages, Claiming(effect=(attrs.evolve(effect, shared=True),))).label_epsilon == 1.0


@pytest.mark.long
def test_a_scorer_that_declares_nothing_is_unknown(program: str) -> None:
    for scorer in ("sklearn.metrics:log_loss", program):
        threat = told(Clip(epsilon=0.01), LaplaceDp(epsilon=1.0, queries=1), scorer=scorer)
        assert not threat.known
        assert min(ceilings(threat), default=1.0) > 0.9  # one answer is a double, whoever computes it


def test_what_is_supposed_leaves_the_unknown_out_and_stays_uncertain() -> None:
    threat = told(RoundScore(decimals=2), Coarse(told=False))
    assert threat.optimistic.noise_bound == 0.005
    assert not threat.optimistic.known
    assert told().optimistic.known
    assert threat.supposing(Supposed(bound=0.25, std=0.1)).noise_std == 0.1


def test_a_stage_is_told_of_the_stages_nearer_to_the_scorer_only() -> None:
    heard: list[tuple[ScoreEffect, ...]] = []

    @attrs.frozen(kw_only=True)
    class Listening(Coarse):
        def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
            heard.append(threat.effects)
            return ActiveScoreDefence()

    pipeline = (Clip(epsilon=0.1), Listening(step=1.0), RoundScore(decimals=3))
    ScoreChannel(loss=LogLoss(), scorer="float64").curator(LABELS.labels, told(*pipeline), np.random.default_rng(0))
    assert heard == [(Clipped(epsilon=0.1),)]


def test_the_ladder_is_told_apart_whatever_stands_beside_it() -> None:
    ladder = BUILDER.build(Kind.DEFENCE, "ladder(step=0.01)", "test")
    for order in itertools.permutations((ladder, RoundScore(decimals=2))):
        threat = told(*order)
        assert (threat.noise_bound, threat.beside_ladder.noise_bound) == (math.inf, 0.005)
    assert math.isinf(told(ladder, ladder).beside_ladder.noise_bound)
    assert told().beside_ladder.noise_bound == 0


def _behind(*effects: ScoreEffect) -> ScoreFacts:
    facts: ScoreFacts = attrs.evolve(ScoreChannel().threat(Setting(data=LABELS)), effects=effects).facts
    return facts


def test_of_two_limits_the_smaller_one_holds() -> None:
    for limits in ((7, 20), (20, 7)):
        assert _behind(*(Budgeted(queries=limit, shared=True) for limit in limits)).query_budget == 7


def test_what_looks_at_labels_may_show_them_again_unless_it_moves_nothing() -> None:
    hidden, looking = Sampled(size=50), [Moved(bound=bound, blind=False) for bound in (0.0, 1.0)]
    still, moved = (_behind(hidden, stage) for stage in looking)
    assert still.scored == 0.5
    assert moved.scored > 0.5


def test_a_fresh_subset_of_all_records_is_no_noise() -> None:
    assert not _behind(Sampled(size=100, fresh=True)).noise_fresh
    assert _behind(Sampled(size=99, fresh=True)).noise_fresh
    assert not _behind(Sampled(size=99)).noise_fresh


START = ScoreFacts(n_records=100, n_classes=2, loss=LogLoss())
CLIPPED = attrs.evolve(START, clip=0.1, least=0.1)


def test_a_bare_scorer_is_known_whole_and_adds_nothing() -> None:
    """A default that said more or less than this would be a claim that nobody made."""
    nothing = dict.fromkeys(("noise_bound", "noise_std", "noise_factor", "jump", "rounding", "step", "grid"), 0.0)
    nothing |= dict.fromkeys(("clip", "least", "unit", "label_delta", "ladder_step", "ladder_edge"), 0.0)
    nothing |= dict.fromkeys(("answer_epsilon", "label_epsilon", "told_bits", "information", "highest"), math.inf)
    nothing |= dict.fromkeys(("normalised", "noise_fresh", "label_fresh", "debiased", "scored_fresh", "ranked"), False)
    nothing |= {"refuses": False, "known": True, "ordered": True, "lowest": -math.inf, "noise": (), "ladders": 0}
    nothing |= dict.fromkeys(("magnification", "label_keep", "scored"), 1.0)
    nothing |= dict.fromkeys(("averaged", "query_budget", "shared_budget"))
    nothing |= {"n_records": 100, "n_classes": 2, "loss": LogLoss()}

    assert attrs.asdict(START, recurse=False) == nothing
    assert attrs.asdict(attrs.evolve(START, query_budget=7, shared_budget=9).unknown(), recurse=False) == {
        **nothing,
        **dict.fromkeys(("noise_bound", "noise_std", "jump", "magnification"), math.inf),
        **{"known": False, "noise_fresh": True, "refuses": True, "query_budget": 7, "shared_budget": 9},
    }


RANDOM: dict[str, float] = {"noise_std": 0.1, "noise_factor": 0.1, "label_keep": 0.9}


@pytest.mark.parametrize(("name", "value"), [*RANDOM.items(), ("ladders", 1), ("known", False), ("scored", 0.5)])
def test_any_one_draw_or_memory_makes_an_answer_more_than_a_function_of_labels_and_query(
    name: str, value: float
) -> None:
    assert START.deterministic
    assert not attrs.evolve(START, **{name: value}).deterministic


def test_the_decimals_of_a_step_are_those_of_a_power_of_ten() -> None:
    steps = {0.0: None, 0.001: 3, 0.1: 1, 1.0: 0, 100.0: -2, 0.25: None, 0.002: None}
    assert {step: attrs.evolve(START, step=step).decimals for step in steps} == steps


def test_who_computes_exactly_makes_no_error() -> None:
    assert CLIPPED.error == 0
    for least in (0.1, 0.4):  # costs are taken for twice what they are, and those of a clip of 1/4 for no less
        facts = attrs.evolve(CLIPPED, rounding=0.5, least=least)
        assert facts.error == max(facts.loss.span(min(least, 0.25)), facts.largest)
        assert facts.computed_apart(3.0, 0.25) == facts.moved(3.0, 0.25) + 6 * facts.error


@pytest.mark.parametrize("some", [{}, {"scored": 0.5}, {"averaged": 50}, {"label_keep": 0.9}], ids=str)
@pytest.mark.parametrize("metric", [RocAuc(), Accuracy()], ids=lambda metric: type(metric).__name__)
def test_noise_proves_nothing_where_labels_decide_whether_there_is_a_score(
    metric: ScoredMetric, some: dict[str, float]
) -> None:
    """Of some records, or perturbed, labels may be of one class: then an AUC has none, and an accuracy has one."""
    noise = (added(GridLaplace(scale=50.0)),)
    facts = attrs.evolve(START, loss=Unadditive(metric=metric, n_records=100, rarest=2), noise=noise, **some)

    assert bool(list(facts.private_noise())) == (not some or isinstance(metric, Accuracy))
    assert (facts.answer_price < math.inf) == bool(list(facts.private_noise()))


def test_of_boards_side_by_side_the_worst_is_known_and_epsilons_add_up() -> None:
    small = attrs.evolve(START, loss=Brier(), label_epsilon=1.0, query_budget=3, shared_budget=9)
    large = attrs.evolve(START, clip=1e-9, least=1e-9, label_epsilon=2.0, query_budget=7, shared_budget=5)
    both = side_by_side([small, large])

    assert large.span > small.span
    assert both == attrs.evolve(large.unknown(), known=True, label_epsilon=3.0, shared_budget=9)
    assert not side_by_side([small, attrs.evolve(large, known=False)]).known
    assert side_by_side([small, attrs.evolve(large, label_delta=0.1)]).label_epsilon == math.inf
    assert side_by_side([small, attrs.evolve(large, query_budget=None)]).query_budget is None


def test_of_two_noises_the_one_that_hides_more_pays() -> None:
    weak, strong = added(GridGaussian(scale=0.01)), added(GridGaussian(scale=50.0))
    pays = {
        noise: attrs.evolve(CLIPPED, noise=noise).pays(10, 1.0, 1e-6)
        for noise in ((weak,), (strong,), (weak, strong), (strong, weak))
    }

    assert list(pays.values()) == [False, True, True, True]


def test_what_one_label_moves_before_rounding_knows_no_jump() -> None:
    facts = attrs.evolve(CLIPPED, magnification=3.0, jump=0.25)

    assert facts.shift == pytest.approx(3 * facts.span / 100)
    assert facts.sensitivity == pytest.approx(facts.shift + 0.25)


def test_noise_on_a_grid_that_nobody_rounded_to_moves_a_label_by_a_step_more() -> None:
    """A score that is no multiple of the grid is rounded to it first: that may tell two labels apart."""
    grid = GridLaplace(scale=1.0, step=0.25)
    added = Added(model=grid).after(CLIPPED)

    assert grid.grid > 0
    assert added.jump == grid.grid
    assert Added(model=grid).after(added).jump == grid.grid


@attrs.frozen(kw_only=True)
class Noise(NoiseModel):
    """Noise of which only numbers are asked."""

    step: float = 0.0
    most: float = 1.0

    @property
    def grid(self) -> float:
        return self.step

    @property
    def bound(self) -> float:
        return self.most

    @property
    def std(self) -> float:
        return 0.1

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.zeros(size)

    def tail(self, delta: float) -> float:
        return self.most


def test_what_is_hidden_is_a_share_of_all_records() -> None:
    assert _behind(Hidden(count=30)).scored == pytest.approx(0.7)
    assert _behind(Sampled(size=20, others=True)).scored == 1
    assert _behind(Sampled(size=20)).scored == pytest.approx(0.2)


def test_a_clip_that_the_format_cannot_hold_is_lower_by_what_rounding_moves() -> None:
    """In whole parts of a power of two; what is 2**40 times smaller than the clip is no matter."""
    least = {
        unit: Clipped(epsilon=2.0**-8).after(attrs.evolve(START, unit=unit)).least for unit in (2.0**-10, 2.0**-48)
    }
    assert least == {2.0**-10: 2.0**-8 - 2.0**-10, 2.0**-48: 2.0**-8}


def test_of_two_clips_the_narrower_counts_and_of_two_ranges_what_both_leave() -> None:
    assert [Clipped(epsilon=own).after(CLIPPED).clip for own in (0.01, 0.2)] == [0.1, 0.2]
    cut = Confined(low=2.0, high=5.0).after(START)
    found = {
        (low, high): (after.lowest, after.highest)
        for low, high in ((0.0, 9.0), (3.0, 4.0), (0.0, 1.0), (6.0, 9.0), (4.0, 9.0))
        for after in (Confined(low=low, high=high).after(cut),)
    }
    assert found == {
        (0.0, 9.0): (2.0, 5.0),
        (3.0, 4.0): (3.0, 4.0),
        (0.0, 1.0): (2.0, 2.0),
        (6.0, 9.0): (5.0, 5.0),
        (4.0, 9.0): (4.0, 5.0),
    }


def test_a_factor_enlarges_all_that_is_there_and_factors_multiply() -> None:
    """Every product of two draws at the ends of their ranges, against what one may be off."""
    facts = fold([Rounded(step=0.5), Scaled(model=Noise(most=0.5)), Scaled(model=Noise(most=0.25))], START)
    ends = [(1 + a) * (1 + b) for a in (-0.5, 0.5) for b in (-0.25, 0.25)]
    assert facts.noise_factor == pytest.approx(max(abs(end - 1) for end in ends))
    assert facts.noise_bound == pytest.approx(0.25 * max(ends))
    assert facts.jump == pytest.approx(0.5 * max(ends))


def test_noise_on_a_coarser_grid_rounds_once_more_and_on_a_finer_one_does_not() -> None:
    for nearer, step, rounded in ((0.0, 1.0, 1.0), (0.5, 0.25, 0.0), (0.7, 0.1, 0.0), (0.5, 0.3, 0.3), (0.0, 0.0, 0.0)):
        start = attrs.evolve(START, grid=nearer)
        facts = Added(model=Noise(step=step)).after(start)
        assert facts.jump == rounded
        assert facts.noise_bound == pytest.approx(1 + rounded / 2)
    drifted = attrs.evolve(START, grid=10_000_000 * 0.1 * (1 + 2.0**-50))  # a multiple, but for its own rounding
    assert Added(model=Noise(step=0.1)).after(drifted).jump == 0


def test_whoever_moves_an_answer_takes_it_off_its_grid() -> None:
    assert fold([Rounded(step=0.5), Moved(bound=0.1, blind=True)], START).grid == 0
    assert fold([Rounded(step=0.5), Moved(bound=0.0, blind=True)], START).grid == 0.5


def test_an_edge_of_a_ladder_is_a_step_or_half_of_one() -> None:
    """Of multiples of a tenth, the nearest to .96 is 1 and to .94 is .9: a gain of .06 from 1 is answered."""
    step = Fraction(1, 10)
    answered = min(gain for gain in (Fraction(n, 1000) for n in range(200)) if round((1 - gain) / step) * step < 1)
    assert abs(_behind(Laddered(step=0.1, nearest=True)).ladder_edge - answered) <= 0.0011
    assert _behind(Laddered(step=0.1)).ladder_edge == 0.1


def added(model: NoiseModel, *, sticky: bool = False) -> AddedNoise:
    return AddedNoise(model=model, magnification=1.0, jump=0.0, sticky=sticky, drawn_anew=True)


def test_of_two_equal_budgets_the_one_that_never_fails_counts() -> None:
    """A delta that is given away for nothing is a worse guarantee."""
    facts = attrs.evolve(
        CLIPPED,
        label_epsilon=1.0,
        noise=(added(GridGaussian(scale=50.0)), added(GridLaplace(scale=50.0))),
    )
    for kept, stated in ((0.0, 0.01), (0.01, 0.0)):
        before = attrs.evolve(facts, label_delta=kept)
        after = Budgeted(queries=1, shared=True, epsilon=1.0, delta=stated).after(before)
        assert (after.label_epsilon, after.label_delta) == (1.0, 0.0)


def test_where_nothing_is_promised_there_is_no_delta() -> None:
    promised = attrs.evolve(CLIPPED, label_epsilon=1.0, label_delta=0.1)
    moved = Moved(bound=1.0).after(promised)
    assert (moved.label_epsilon, moved.label_delta) == (math.inf, 0.0)
    repeated = added(GridLaplace(scale=50.0), sticky=True)
    anew = Perturbed(epsilon=1.0, fresh=True).after(attrs.evolve(promised, noise=(repeated,)))
    assert (anew.label_epsilon, anew.label_delta) == (math.inf, 0.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_label_survives_two_responses_as_often_as_their_product_says(n_classes: int) -> None:
    """The transition matrices, multiplied."""
    keep = math.e / (math.e + n_classes - 1)
    once = np.full((n_classes, n_classes), (1 - keep) / (n_classes - 1))
    np.fill_diagonal(once, keep)
    facts = fold([Perturbed(epsilon=1.0)] * 2, attrs.evolve(START, n_classes=n_classes))
    assert facts.label_keep == pytest.approx((once @ once)[0, 0])


def test_labels_that_are_replaced_anew_are_noise_of_so_large_a_bound_and_deviation() -> None:
    """Four labels, each worth all of the span: every way of replacing them."""
    start = attrs.evolve(CLIPPED, n_records=4)
    keep = math.e / (math.e + 1)
    facts = Perturbed(epsilon=1.0, fresh=True).after(start)
    ways = np.array(list(itertools.product((0, 1), repeat=4)))
    weights = np.prod(np.where(ways == 1, 1 - keep, keep), axis=1)
    off = ways.sum(axis=1) * start.span / 4
    assert facts.noise_bound == pytest.approx(off.max())
    assert facts.noise_std == pytest.approx(math.sqrt(weights @ off**2 - (weights @ off) ** 2))


def test_what_is_set_right_for_the_perturbation_is_right_on_average() -> None:
    """One label's cost, over whether it was kept, comes out whole."""
    keep = math.e / (math.e + 1)
    facts = Perturbed(epsilon=1.0, debiased=True).after(START)
    assert facts.magnification * (keep * 1 + (1 - keep) * -1) == pytest.approx(1)


def test_a_fresh_subset_varies_as_draws_of_costs_at_both_ends_do() -> None:
    facts = Sampled(size=25, fresh=True).after(CLIPPED)
    assert facts.noise_std == pytest.approx(np.std([0.0, CLIPPED.span]) / 5)
    assert facts.noise_bound == CLIPPED.span


def test_what_looks_at_labels_undoes_all_that_hid_them_and_says_nothing_else() -> None:
    hidden = attrs.evolve(CLIPPED, step=0.1, scored=0.5, ladder_step=0.1, grid=0.1)
    shown = Moved(bound=1.0).after(hidden)
    assert (shown.step, shown.scored, shown.ladder_step, shown.noise_std) == (0, 1, 0, 0)


def test_a_product_of_nothing_is_nothing_and_lies_on_no_grid() -> None:
    scaled = Scaled(model=Noise(most=0.5)).after(attrs.evolve(START, grid=0.5))
    assert (scaled.noise_bound, scaled.jump, scaled.grid) == (0, 0, 0)
    assert Perturbed(epsilon=1.0, debiased=True).after(attrs.evolve(START, grid=0.5)).grid == 0
    assert Supposed(bound=0.1).after(attrs.evolve(START, noise_factor=0.5)).noise_factor == 0


def test_the_smaller_epsilon_of_labels_counts_and_its_delta_goes() -> None:
    promised = attrs.evolve(CLIPPED, label_epsilon=1.0, label_delta=0.1)
    once = Perturbed(epsilon=0.5).after(promised)
    assert (once.label_epsilon, once.label_delta) == (0.5, 0.0)
    for epsilons in ((1.0, 2.0), (2.0, 1.0)):
        anew = fold([Perturbed(epsilon=epsilon, fresh=True) for epsilon in epsilons], CLIPPED)
        assert (anew.answer_epsilon, anew.noise_fresh) == (1.0, True)


def test_a_part_of_a_part_that_is_drawn_anew_is_a_part_of_all() -> None:
    """What a stage nearer to the scorer sees anew for every query may come to be all that it is handed."""
    coarse = attrs.evolve(CLIPPED, step=0.1, scored=0.1, label_epsilon=1.0, label_delta=0.1)
    assert Sampled(size=20).after(coarse).scored == 0.1
    assert Sampled(size=20).after(attrs.evolve(coarse, scored_fresh=True)).scored == 0.2
    noisy = Sampled(size=20).after(attrs.evolve(coarse, noise=(added(GridLaplace(scale=50.0)),)))
    assert (noisy.label_epsilon, noisy.label_delta) == (math.inf, 0.0)


def test_what_is_drawn_anew_stays_so_behind_noise_that_repeats() -> None:
    draw = GridGaussian(scale=0.5, step=2.0**-40)
    for nearer, sticky in itertools.product((False, True), repeat=2):
        behind = Added(model=draw, sticky=sticky).after(attrs.evolve(CLIPPED, noise_fresh=nearer))
        assert behind.noise_fresh == (nearer or not sticky)


def test_who_looks_at_labels_may_ask_all_records_the_same_and_a_refusal_is_known() -> None:
    hidden = attrs.evolve(CLIPPED, scored=0.1, scored_fresh=True)
    seen = Moved(bound=1.0, blind=False).after(hidden)
    assert (seen.scored, seen.scored_fresh) == (1.0, False)
    assert Refusing().after(CLIPPED).refuses


def test_noise_is_fresh_unless_it_is_said_to_repeat() -> None:
    draw = GridGaussian(scale=0.5, step=2.0**-40)
    assert (Added(model=draw).sticky, Scaled(model=draw).sticky) == (False, False)
    for nearer, sticky in itertools.product((False, True), repeat=2):
        facts = attrs.evolve(CLIPPED, noise_fresh=nearer, label_fresh=nearer)
        assert Scaled(model=Noise(most=0.5), sticky=sticky).after(facts).noise_fresh == (nearer or not sticky)
        assert Moved(bound=1.0, fresh=sticky).after(facts).noise_fresh == (nearer or sticky)
        assert Perturbed(epsilon=1.0, fresh=sticky).after(facts).label_fresh == (nearer or sticky)


def test_an_epsilon_of_labels_that_is_as_small_takes_the_delta_away() -> None:
    once = Perturbed(epsilon=1.0).after(attrs.evolve(CLIPPED, label_epsilon=1.0, label_delta=0.1))
    assert (once.label_epsilon, once.label_delta) == (1.0, 0.0)


def test_a_grid_lies_on_itself_and_on_any_number() -> None:
    assert _is_multiple(1.0, 1.0)
    assert _is_multiple(1.0, 0.0)
    assert not _is_multiple(0.0, 1.0)

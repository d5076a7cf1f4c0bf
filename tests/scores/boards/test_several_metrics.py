"""A board that publishes several metrics of every submission: read by one, narrowed by all, certified by sums alone."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from labelinf_core.contracts.components import Guess, LabelSet, Outcome, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.audit.strongest import attacks
from labelinf_scores.bounds.counting import Counting, answer_bits, transcript_bits
from labelinf_scores.bounds.label_dp import LabelDp
from labelinf_scores.bounds.metric_noise import MetricNoise
from labelinf_scores.bounds.private_scores import PrivateScores
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Totals
from labelinf_scores.metrics.readings.counts import F1, Accuracy
from labelinf_scores.metrics.readings.two_values import noise

BUILDER = Builder(Host.load())
BOTH = "score(metric=accuracy, besides=[f1])"


def board(channel: str, *defences: str, attack: str = "", n: int = 24) -> tuple[ScoreChannel, Setting]:
    labels = np.array([i % 3 == 0 for i in range(n)], dtype=np.intp)
    data = LabelSet(labels=labels, class_names=("a", "b"), title="t", provenance="made")
    played = BUILDER.build(Kind.ATTACK, attack, "test") if attack else None
    pipeline = BUILDER.pipeline(defences, "test")
    return BUILDER.build(Kind.CHANNEL, channel, "test"), Setting(data=data, attack=played, defences=pipeline)


def threat(channel: str, *defences: str, n: int = 24) -> ScoreThreat:
    built, setting = board(channel, *defences, n=n)
    return built.threat(setting)


def play(channel: str, attack: str, *defences: str, n: int = 24) -> Outcome:
    built, setting = board(channel, *defences, attack=attack, n=n)
    return built.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))


@pytest.mark.long
def test_an_attack_plays_on_the_metric_that_tells_most() -> None:
    """One plays on counts, one on ranks, one on costs: each takes the metric that it can read."""
    three = "score(metric=accuracy, besides=[roc-auc, log-loss])"
    metrics = {attack: play(three, attack, n=9) for attack in ("detecting-counts", "spaced-ranks", "hybrid")}
    assert all(outcome.n_correct == 9 for outcome in metrics.values())
    assert [outcome.evidence["metric"] for outcome in metrics.values()] == ["Accuracy", "RocAuc", "LogLoss"]


@pytest.mark.long
def test_what_is_promised_is_promised_of_one_metric() -> None:
    built, setting = board(BOTH, attack="detecting-counts")
    assert isinstance(setting.attack, ScoreAttack)
    told = built.threat(setting)
    promises = [setting.attack.promise(item) for item in (told, *told.members)]
    assert promises[0] in promises[1:]
    assert all(promise is not None and promise.certified for promise in promises)
    assert promises[0] == max(filter(None, promises), key=lambda promise: promise.survives)


@pytest.mark.long
def test_through_noise_the_metric_in_which_one_record_stands_out_is_attacked() -> None:
    """The precision of one record is its label, whichever metric is named first."""
    noisy = ("score-noise(model=grid-gaussian(scale=0.2, step=0.001))",)
    for first, other in itertools.permutations(("accuracy", "precision")):
        built, setting = board(f"score(metric={first}, besides=[{other}])", *noisy, attack="random-halves")
        assert isinstance(setting.attack, ScoreAttack)
        assert type(setting.attack.view(built.threat(setting)).metric).__name__ == "Precision"


def test_answers_about_one_count_are_held_together() -> None:
    """Rounded to one decimal no answer tells the count; what both allow is narrower, and the true labels are in it."""
    pairs = {}
    for names in (["accuracy"], ["accuracy", "f1"]):
        rest = f", besides=[{', '.join(names[1:])}]" if names[1:] else ""
        outcome = play(f"score(metric=accuracy{rest})", "dithered-counts", "round(decimals=1)", n=18)
        assert outcome.evidence.get("contradiction") is None
        pairs[len(names)] = outcome.n_correct, outcome.queries
    assert pairs[1][0] == pairs[2][0] == 18
    assert pairs[2][1] <= pairs[1][1]


@pytest.mark.parametrize("defences", [(), ("round(decimals=2)",)])
def test_counting_covers_every_pair_of_answers(defences: tuple[str, ...]) -> None:
    """M34 by brute force: of every query, all labellings with the totals give no more pairs of answers than counted."""
    told = threat(BOTH, *defences, n=7)
    totals = Totals.binary(n_records=7, n_positive=3)
    orders = [np.array(y) for y in itertools.product((0, 1), repeat=7) if sum(y) == 3]
    shown = (lambda score: round(score, 2)) if defences else (lambda score: score)
    most = 0
    for query in itertools.product((0, 1), repeat=7):
        hits, size = {int(y @ query) for y in orders}, sum(query)
        pairs = {tuple(shown(metric.link(a, size, totals)) for metric in (Accuracy(), F1())) for a in hits}
        most = max(most, len(pairs))
    assert 1 < most <= 2 ** answer_bits(told)
    assert answer_bits(told) == sum(map(answer_bits, told.members))


@pytest.mark.long
def test_a_ceiling_of_one_metric_is_none_of_two() -> None:
    """Noise that certifies an accuracy certifies nothing beside a recall; counted bits and epsilons add up."""
    private = ("score-noise(model=grid-gaussian(scale=2.0, step=0.001))",)
    one, two = (
        threat(f"score(metric=accuracy, queries=5{rest})", *private, n=200) for rest in ("", ", besides=[accuracy]")
    )
    assert PrivateScores().ceilings(one)
    assert not PrivateScores().ceilings(two)
    assert not PrivateScores().evaluate(two)
    assert math.isinf(two.sensitivity)
    response = "randomised-response(epsilon=0.5)"
    assert threat(BOTH, response).label_epsilon == pytest.approx(2 * threat("score(metric=f1)", response).label_epsilon)
    assert (
        LabelDp().ceilings(threat(BOTH, response))[0].accuracy
        > LabelDp().ceilings(threat("score(metric=f1)", response))[0].accuracy
    )
    few = [threat(f"score(metric=accuracy, queries=3{rest})", n=200) for rest in ("", ", besides=[error]")]
    single, double = (Counting().ceilings(item)[0].accuracy for item in few)
    assert single < double


def test_two_answers_of_one_submission_have_noise_of_their_own() -> None:
    """Averaged over metrics noise falls: were the draw one, a second accuracy would tell nothing."""
    built, setting = board(
        "score(metric=accuracy, besides=[accuracy])", "score-noise(model=grid-gaussian(scale=0.5, step=0.001))"
    )
    told, rng = built.threat(setting), np.random.default_rng(3)
    seen: list[tuple[float, float]] = []

    class Asking(ScoreAttack):
        def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
            for _ in range(20):
                own = oracle.query(np.ones(24))
                seen.append((own, oracle.beside[0][1]))
            return Guess(labels=np.zeros(24, dtype=np.intp))

    asked = Setting(data=setting.data, attack=Asking(), defences=setting.defences)
    built.play(asked, curator_rng=rng, attack_rng=rng)
    assert len(told.members) == 2
    one, other = np.array(seen).T
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.6
    assert not np.isclose(one, other).any()


def test_noise_has_a_floor_and_no_ceiling() -> None:
    """Every label is read through the metric that survives most; what hides all metrics is not proved."""
    told = threat(BOTH)
    floors = [noise(member.metric, member.totals)[0] for member in told.members if member.metric]
    assert [line.value for line in MetricNoise().evaluate(told)] == [max(floors)]


def test_unknown_beside_a_metric_leaves_nothing_known() -> None:
    told = threat(BOTH)
    half = ScoreThreat.together([told.members[0], told.members[1].behind(ScoreDefence())])
    assert not half.known
    assert not Counting().ceilings(half)
    assert not MetricNoise().evaluate(half)


def test_the_attacks_of_every_metric_are_played() -> None:
    told = threat("score(metric=accuracy, besides=[log-loss])")
    assert set(attacks(told)) == {spec for member in told.members for spec in attacks(member)}
    assert {"detecting-counts", "hybrid"} <= set(attacks(told))


def test_a_budget_is_of_submissions() -> None:
    """Fewer queries are fewer answers of every metric."""
    built, setting = board("score(metric=accuracy, besides=[f1], queries=9)")
    fewer = built.spending(built.threat(setting), 4)
    assert fewer is not None
    assert [item.query_budget for item in (fewer, *fewer.members)] == [4, 4, 4]
    assert transcript_bits(fewer) == pytest.approx(4 * answer_bits(fewer))
    outcome = play("score(metric=accuracy, besides=[f1], queries=4)", "detecting-counts")
    assert outcome.queries == 4


def test_a_scorer_of_ones_own_computes_one_score() -> None:
    with pytest.raises(InputError, match="computes one score; audit it once for every metric"):
        board("score(metric=accuracy, besides=[f1], scorer='mine:score')")


@pytest.mark.long
def test_honest_scores_cost_what_they_cost_of_the_worst_metric() -> None:
    built, setting = board("score(metric=accuracy, besides=[mse])", "round(decimals=2)", n=60)
    cost = [
        board(name, n=60)[0].utility(setting.data, setting.defences, np.random.default_rng(0))["mean_error"]
        for name in ("score(metric=accuracy)", "score(metric=mse)")
    ]
    both = built.utility(setting.data, setting.defences, np.random.default_rng(0))
    assert both["mean_error"] == pytest.approx(max(cost))

"""The Ladder, descended: all labels at once without a clip, a few a query with one, one by one where it is narrow."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.contracts.guarantees import Promise
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_scores.attacks.hybrid import Hybrid
from labelinf_scores.attacks.ladder_descent import LadderDescent
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.ladder import Ladder
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.query_limit import QueryLimit
from labelinf_scores.defences.randomised_response import PerturbedLabels
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.row_sums import EnforceRowSums
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.defences.subset import Subset
from labelinf_scores.defences.worst_case_noise import WorstCaseNoise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Query, ScoreDefence
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.plans.ladder_offsets import CountedOffset, FreeOffset, Offset

LADDER = Ladder(step=0.01)
NARROW = Clip(epsilon=0.01)


@attrs.frozen(kw_only=True)
class Bout:
    outcome: Outcome
    promise: Promise | None

    @property
    def certified(self) -> bool:
        return self.promise is not None and self.promise.certified


def setting(attack: LadderDescent, labels: Any, defences: tuple[ScoreDefence, ...], n_classes: int = 2) -> Setting:
    names = tuple(map(str, range(n_classes)))
    data = LabelSet(labels=np.asarray(labels), class_names=names, title="made", provenance="made")
    return Setting(data=data, attack=attack, defences=defences)


def play(
    *defences: ScoreDefence,
    labels: Any,
    scorer: str = "sklearn",
    n_classes: int = 2,
    attack: LadderDescent | None = None,
    seed: int = 0,
) -> Bout:
    attack = attack or LadderDescent()
    channel = ScoreChannel(loss=LogLoss(), scorer=scorer)
    game = setting(attack, labels, defences, n_classes)
    threat = channel.threat(game)
    assert attack.unsupported_reason(threat) == ""
    rngs = np.random.default_rng(seed).spawn(2)
    outcome = channel.play(game, curator_rng=rngs[0], attack_rng=rngs[1])
    return Bout(outcome=outcome, promise=attack.promise(threat))


def coins(n: int, share: float = 0.5, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).random(n) < share).astype(int)


@pytest.mark.long
@pytest.mark.parametrize("scorer", ["float64", "exact"])
def test_unclipped_one_answer_tells_all_twelve_labels(scorer: str) -> None:
    for seed in range(20):
        run_trial = play(LADDER, labels=coins(12, seed=seed), scorer=scorer)
        assert (run_trial.outcome.n_correct, run_trial.outcome.queries, run_trial.certified) == (12, 1, True)


def test_scikit_learns_own_clip_gives_306_labels_in_77_queries() -> None:
    run_trial = play(LADDER, labels=coins(306))
    assert (run_trial.outcome.n_correct, run_trial.outcome.queries, run_trial.certified) == (306, 77, True)


@pytest.mark.long
def test_where_the_clip_is_narrow_the_edge_tells_one_label_a_query() -> None:
    """The widest row moves a score by 1.5 steps: too few rungs for two labels, but no more than an edge is needed."""
    run_trial = play(NARROW, LADDER, labels=coins(306))
    assert (run_trial.outcome.n_correct, run_trial.outcome.queries, run_trial.certified) == (306, 307, True)
    assert run_trial.outcome.evidence["read by"] == "the edge"


@pytest.mark.long
@pytest.mark.parametrize(("defences", "reads"), [((), "rungs"), ((NARROW,), "the edge")])
def test_rows_that_sum_to_one_descend_as_well(defences: tuple[ScoreDefence, ...], reads: str) -> None:
    run_trial = play(EnforceRowSums(action="reject"), *defences, LADDER, labels=coins(120, 0.4))
    assert run_trial.outcome.n_correct == 120
    assert run_trial.outcome.evidence["read by"] == reads
    assert run_trial.promise is None


@pytest.mark.long
def test_more_records_than_rungs_are_not_all_read() -> None:
    """115 rungs for 175 records of the rarer class: the Ladder holds what lies below."""
    run_trial = play(NARROW, Ladder(step=0.04), labels=coins(350))
    read = run_trial.outcome.evidence["labels read"]
    assert 175 < read < 350
    assert run_trial.outcome.n_correct >= read
    assert run_trial.outcome.evidence["ended"] == "no rungs left"
    assert not run_trial.certified


def test_several_classes_are_read_by_their_rungs() -> None:
    labels = np.random.default_rng(0).integers(0, 3, 90)
    run_trial = play(Ladder(step=0.001), labels=labels, n_classes=3)
    assert (run_trial.outcome.n_correct, run_trial.outcome.queries, run_trial.certified) == (90, 18, True)


@pytest.mark.parametrize("defence", [RoundScore(decimals=4), PerturbedLabels(epsilon=4.0)])
def test_rounding_and_labels_perturbed_once_do_not_stop_it(defence: ScoreDefence) -> None:
    run_trial = play(defence, LADDER, labels=coins(100))
    assert run_trial.outcome.evidence["labels read"] == 100
    assert run_trial.outcome.n_correct >= (100 if isinstance(defence, RoundScore) else 93)


@pytest.mark.parametrize(
    ("nearer", "error"),
    [
        ((), 0.0),
        ((RoundScore(decimals=4),), 5e-5),
        ((RoundScore(decimals=4), RoundScore(decimals=3)), 5.5e-4),
        ((WorstCaseNoise(tau=2e-4),), 2e-4),
    ],
)
@pytest.mark.parametrize("after", [False, True])
def test_what_stands_nearer_to_the_scorer_is_part_of_the_error(
    nearer: tuple[ScoreDefence, ...], error: float, after: bool
) -> None:
    """Worst-case noise has no variance: its bound alone tells that it is there, and a Ladder hides the bound."""
    defences = (*nearer, LADDER, *([RoundScore(decimals=5)] if after else []))
    channel = ScoreChannel(loss=LogLoss(), scorer="exact")
    threat = channel.threat(setting(LadderDescent(), coins(50), defences))
    promise = LadderDescent().promise(threat)
    assert promise is not None
    assert promise.present == pytest.approx(error + 5e-6 * after, rel=1e-9)
    assert promise.certified == (error < 1e-3)


@pytest.mark.parametrize("tau", [0.0004, 0.0009])
def test_bounded_noise_below_a_tenth_of_a_step_is_survived(tau: float) -> None:
    run_trial = play(WorstCaseNoise(tau=tau), LADDER, labels=coins(100), scorer="exact")
    assert run_trial.certified
    assert run_trial.outcome.n_correct == 100


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize(
    ("n", "n_classes", "step"),
    [(33, 2, 0.019), (64, 2, 0.01), (569, 2, 0.01), (12, 3, 0.01), (12, 3, 0.003), (20, 3, 0.01), (33, 3, 0.019)],
)
def test_single_precision_without_a_clip_keeps_its_promise(n: int, n_classes: int, step: float, rounded: bool) -> None:
    """Below 2**-126 costs come in jumps that no query can aim between: the descent begins above."""
    labels = np.random.default_rng(n).integers(0, n_classes, n)
    defences = (*([RoundScore(decimals=5)] if rounded else []), Ladder(step=step))
    run_trial = play(*defences, labels=labels, scorer="float32", n_classes=n_classes)
    assert run_trial.outcome.queries > 0
    assert run_trial.certified
    assert run_trial.outcome.n_correct == n


def test_it_ends_with_its_budget() -> None:
    run_trial = play(LADDER, QueryLimit(queries=5), labels=coins(100))
    assert run_trial.outcome.queries == 5
    assert run_trial.outcome.evidence["labels read"] == 30
    assert not run_trial.certified


@pytest.mark.long
@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 1), min_size=1, max_size=40),
    st.sampled_from([0.003, 0.01, 0.05]),
    st.booleans(),
)
def test_whatever_the_labels_a_certified_descent_reads_them_all(labels: list[int], step: float, narrow: bool) -> None:
    defences = (*([NARROW] if narrow else []), Ladder(step=step))
    attack = LadderDescent()
    channel = ScoreChannel(loss=LogLoss(), scorer="float64" if narrow else "sklearn")
    game = setting(attack, labels, defences)
    threat = channel.threat(game)
    if attack.unsupported_reason(threat):
        return
    rngs = np.random.default_rng(0).spawn(2)
    outcome = channel.play(game, curator_rng=rngs[0], attack_rng=rngs[1])
    promise = attack.promise(threat)
    if promise is not None and promise.certified:
        assert outcome.n_correct == len(labels)


@pytest.mark.parametrize(
    ("defences", "reason"),
    [
        ((), "there is no Ladder"),
        ((ScoreNoise(model=Gaussian(scale=0.01)), LADDER), "needs scores without noise"),
        ((PermuteLabels(), LADDER), "order that does not change"),
        ((Subset(share=0.5), LADDER), "over all records"),
        ((RoundScore(decimals=2), LADDER), "no label stands out"),
        ((NARROW, WorstCaseNoise(tau=0.004), LADDER), "no label stands out"),
        ((Ladder(step=0.019), Ladder(step=0.02)), "no label stands out"),
    ],
)
def test_it_says_what_it_cannot_descend(defences: tuple[ScoreDefence, ...], reason: str) -> None:
    channel = ScoreChannel(loss=LogLoss(), scorer="sklearn")
    game = setting(LadderDescent(), coins(50), defences)
    assert reason in LadderDescent().unsupported_reason(channel.threat(game))


def test_losses_of_logits_and_many_classes_in_proper_rows_are_refused() -> None:
    logits = ScoreChannel(loss=SigmoidLogLoss(), scorer="float64")
    assert "log-loss" in LadderDescent().unsupported_reason(
        logits.threat(setting(LadderDescent(), coins(50), (LADDER,)))
    )
    many = setting(LadderDescent(), np.arange(30) % 3, (EnforceRowSums(), LADDER), 3)
    three = ScoreChannel(loss=LogLoss(), scorer="sklearn").threat(many)
    assert "more than two classes" in LadderDescent().unsupported_reason(three)


def test_an_attack_that_ignores_the_ladder_is_no_evidence_against_it() -> None:
    channel = ScoreChannel(loss=LogLoss(), scorer="sklearn")
    assert Hybrid().unsupported_reason(channel.threat(setting(LadderDescent(), coins(50), (LADDER,)))) != ""


@pytest.mark.parametrize("kind", [FreeOffset, CountedOffset])
@pytest.mark.parametrize("narrow", [True, False])
def test_the_score_is_where_it_was_wanted(kind: type[Offset], narrow: bool) -> None:
    """Against the loss itself, for every labelling of the block."""
    labels = np.array([0, 1, 1, 0, 0, 1, 0, 0, 1, 0])
    channel = ScoreChannel(loss=LogLoss(), scorer="sklearn")
    threat = channel.threat(setting(LadderDescent(), labels, (NARROW,) if narrow else ()))
    offset = kind(threat=threat)
    known = np.array([0, 1, -1, -1, -1, -1, -1, -1, -1, -1])
    weights = np.array([0.3, -0.2])
    for target in (0.9, 1.3):
        laid = offset.lay(weights, known, target)
        score = channel.curator(labels, threat, np.random.default_rng(0)).answer(Query(predictions=laid.rows))
        expected = laid.lowest + (laid.gaps[0, 1] + laid.gaps[1, 0]) / len(labels)
        assert score == pytest.approx(expected, abs=1e-12)
        assert laid.lowest == pytest.approx(target, abs=1e-6)
        assert laid.gaps[0] == pytest.approx([0, 0.3], abs=1e-9)
        assert laid.gaps[1] == pytest.approx([0.2, 0], abs=1e-9)

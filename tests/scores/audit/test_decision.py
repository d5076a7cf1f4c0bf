"""What an audit of a scorer comes to: word, status, proof and remedies are one object, and 0 is a proof's alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import attrs
import numpy as np
import pytest

import labelinf as li
from labelinf_core.contracts.audited import AuditWord
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.contracts.labels import LabelSet
from labelinf_scores.audit.certificate import ONLY_THROUGH_US, AuditedBoard, BoardCertificate, certificate
from labelinf_scores.audit.decision import Goal, ScorerDecision
from labelinf_scores.audit.scorer import Extraction
from labelinf_scores.bounds.counting import transcript_bits

FEW = (np.random.default_rng(1).random(300) < 0.6).astype(int)
MANY = (np.random.default_rng(2).random(20_000) < 0.6).astype(int)

NOISE = np.random.default_rng(0)

Scorer = Callable[[Any, Any], float]


def accuracy(labels: Any, predictions: Any) -> float:
    hard = predictions.argmax(axis=1) if np.ndim(predictions) > 1 else np.asarray(predictions) >= 0.5
    return float(np.mean(hard == labels))


def unheard_of(labels: Any, predictions: Any) -> float:
    return float(np.sin(7 * accuracy(labels, predictions)) + labels[:3].sum() * 0.01)


def constant(labels: Any, predictions: Any) -> float:
    return 0.5


def growing(labels: Any, predictions: Any) -> float:
    return accuracy(labels, predictions) * (1 + 0.3 * float(NOISE.normal()))


def fast(labels: Any, predictions: Any) -> float:
    return round(accuracy(labels, predictions), 2)


def slow(labels: Any, predictions: Any) -> float:
    time.sleep(0.001)
    return fast(labels, predictions)


def decided(scorer: Scorer | str, labels: Any = FEW, **options: Any) -> ScorerDecision:
    return li.audit_scorer(labels, scorer, **options).report.decision


PROOF = BoardCertificate(statement="x", conditions="y", gain=0.04, exact=0.0, where="z")
GOT = Extraction(attack="it", accuracy=Interval(value=0.6, low=0.5, high=0.7), baseline=0.6, queries=9)
ALL = attrs.evolve(GOT, accuracy=Interval(value=1.0, low=0.9, high=1.0), exact=True, labels_per_query=7.0)


@pytest.mark.parametrize(
    ("goal", "leaks", "proof", "word", "status"),
    [
        (Goal(), (GOT,), None, AuditWord.UNSHOWN, 3),
        (Goal(), (GOT,), PROOF, AuditWord.UNSHOWN, 3),  # nothing was asked for
        (Goal(gain=0.05), (GOT,), None, AuditWord.UNSHOWN, 3),
        (Goal(gain=0.05), (), PROOF, AuditWord.CERTIFIED, 0),
        (Goal(gain=0.05), (GOT, Extraction(attack="b", failure="broke")), PROOF, AuditWord.BROKEN, 4),
        (Goal(gain=0.05, most=0.0), (Extraction(attack="b", labels_per_query=0.1),), PROOF, AuditWord.LEAKS, 1),
        (Goal(most=50.0), (ALL,), None, AuditWord.UNSHOWN, 3),
        (Goal(gain=0.05, most=50.0), (ALL,), PROOF, AuditWord.LEAKS, 1),  # either is a leak
        (Goal(target="no-exact-recovery", most=50.0), (ALL,), None, AuditWord.LEAKS, 1),
    ],
)
def test_one_object_says_word_and_status(
    goal: Goal, leaks: tuple[Extraction, ...], proof: BoardCertificate | None, word: AuditWord, status: int
) -> None:
    found = ScorerDecision(goal=goal, target=goal.read(0.6), leaks=leaks, worth=300.0, prior=(0.6, 0.4), proof=proof)
    assert (found.word, found.status) == (word, status)


def test_all_labels_are_no_lack_of_a_leak() -> None:
    """Seven labels a query are tolerated: whoever got them all in so few is not said to have found nothing."""
    said = str(li.audit_scorer(FEW, accuracy, queries=600, max_labels_per_query=50.0))
    assert "no leak" not in said
    assert "nothing beyond --max-labels-per-query found" in " ".join(said.split())


def test_nothing_leaks_where_a_blind_guess_has_every_label() -> None:
    whole = Interval(value=1.0, low=0.9, high=1.0)
    decision = ScorerDecision(
        goal=Goal(),
        target=Goal().read(1.0),
        leaks=(Extraction(attack="it", accuracy=whole, baseline=1.0, exact=True, queries=3),),
        worth=40.0,
        prior=(0.0, 1.0),
    )

    assert decision.word is AuditWord.UNSHOWN
    assert decision.leaking == ()


def test_a_leak_is_more_than_the_target_tolerates_and_more_than_luck_without_one() -> None:
    share = Interval(value=0.7, low=0.64, high=0.75)
    got = Extraction(attack="it", accuracy=share, baseline=0.6, queries=9)
    for goal, status in ((Goal(), 1), (Goal(gain=0.05), 3), (Goal(gain=0.01), 1), (Goal(target="80%"), 3)):
        found = ScorerDecision(goal=goal, target=goal.read(0.6), leaks=(got,), worth=300.0, prior=(0.6, 0.4))
        assert found.status == status


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_a_board_whose_noise_grows_with_the_score_is_never_passed(seed: int) -> None:
    """It passed for two of six seeds, and a sampler with the right likelihood reads 85 % and more."""
    assert decided(growing, queries=300, seed=seed, gain="20%").status in (1, 3)


@pytest.mark.long
@pytest.mark.parametrize("scorer", [unheard_of, constant])
def test_a_function_passes_only_behind_a_stage_whose_answers_hold_too_few_bits(scorer: Scorer) -> None:
    """Alone it may answer with a text that holds every label."""
    assert decided(scorer, MANY, queries=2, gain="5%", attacks=["prime-blocks"]).status == 3
    limited = ["query-limit(queries=2)"]
    found = decided(scorer, MANY, queries=2, gain="5%", attacks=["prime-blocks"], defences=limited)
    assert found.status == 0
    assert found.proof is not None
    assert 0.04 < (found.proof.gain or 0) <= 0.05
    assert "a program or container that holds its own copy" in found.proof.sentence()
    goal = Goal(gain=0.04)
    assert ScorerDecision(goal=goal, target=goal.read(0.6), worth=1.0, prior=(0.6, 0.4)).status == 3


def test_refusals_count_as_values_of_an_answer() -> None:
    data = LabelSet(labels=MANY, class_names=("0", "1"), title="m", provenance="made")
    board = AuditedBoard(scorer="statistics:fmean", queries=1)
    told = board.deployed(data, ())
    assert told.refuses
    assert transcript_bits(told) >= 64.0


@pytest.mark.parametrize(
    ("stages", "labels"),
    [
        (["subset(share=0.1)"], FEW),
        (["randomised-response(epsilon=0.2)"], FEW),
        (["randomised-response(epsilon=0.2)", "round(decimals=3)"], FEW),
        (["bounded-answers(values=11, queries=20)"], MANY),
        (["guarded-board(share=0.1)"], FEW),
    ],
)
def test_stages_of_ours_certify_whatever_the_function_is(stages: list[str], labels: Any) -> None:
    scorer = accuracy if "subset" in stages[0] else constant
    found = decided(scorer, labels, queries=60, gain="10%", defences=stages, attacks=["majority", "hybrid"])
    assert found.status == 0, found
    assert found.proof is not None
    assert ONLY_THROUGH_US in found.proof.sentence()
    assert ("the scorer is not asked there" in found.proof.sentence()) == stages[0].startswith("guarded-board")


def test_what_a_foreign_function_seems_to_be_proves_nothing() -> None:
    """Noise in front of a mean certifies the shipped metric, and not what looks like it."""
    from labelinf_core.plugin.host import Host
    from labelinf_core.specs import Builder

    builder, data = Builder(Host.load()), LabelSet(labels=FEW, class_names=("0", "1"), title="m", provenance="made")
    stages, goal = builder.pipeline(("clip(epsilon=0.1)", "laplace-dp(epsilon=0.01)"), "test"), Goal(gain=0.1)
    own, theirs = (
        certificate(builder, AuditedBoard(scorer=scorer, queries=5).deployed(data, stages), goal.read(max(data.prior)))
        for scorer in ("sklearn", "statistics:fmean")
    )
    assert own is not None
    assert theirs is None


def test_the_gain_is_rounded_up_and_counts_those_who_know_more() -> None:
    found = decided(
        accuracy, queries=60, gain="10%", defences=["randomised-response(epsilon=0.2)"], attacks=["majority"]
    )
    assert found.proof is not None
    # Majority guesses beat such flipped labels; who knows half the labels surely does not.
    assert (found.proof.gain or 0) > 0.03
    assert "at most 4.1 points" in BoardCertificate(**{**vars_of(PROOF), "gain": 0.0401}).sentence()


@pytest.mark.parametrize(("scale", "enough"), [(1, False), (1.9, False), (2, True)])
def test_a_certificate_holds_for_whoever_knows_the_class_counts(scale: float, enough: bool) -> None:
    """One label of each class: exchanging them moves an accuracy by 1, and Phi(1 / 2s) = .691 are read at s = 1."""
    from labelinf_core.plugin.host import Host
    from labelinf_core.specs import Builder
    from labelinf_scores.metrics.readings.counts import Accuracy

    builder = Builder(Host.load())
    data = LabelSet(labels=np.array([0, 1]), class_names=("0", "1"), title="m", provenance="made")
    board = AuditedBoard(scorer="sklearn", metric=Accuracy(), queries=1)
    threat = board.deployed(data, builder.pipeline((f"score-noise(model=grid-gaussian(scale={scale}))",), "test"))
    proof = certificate(builder, threat, Goal(target="60%").read(0.5))
    assert (proof is not None) == enough == (NormalDist().cdf(1 / (2 * scale)) <= 0.6)


def vars_of(proof: BoardCertificate) -> dict[str, Any]:
    return {name: getattr(proof, name) for name in ("statement", "conditions", "gain", "exact", "where")}


@pytest.mark.long
def test_a_slow_scorer_ends_as_its_fast_twin() -> None:
    """The same command and seed ended with 0 or 3 by how loaded the machine was."""
    told = []
    for scorer in (fast, slow):
        found = li.audit_scorer(FEW[:12], scorer, queries=20).report
        told.append((found.decision.status, found.sentence(), [leak.evidence for leak in found.leaks]))
    assert told[0] == told[1]

"""What a fold may keep and what it must drop: each law by itself, so that a fault in one of them is seen."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import Bound, LabelSet, Setting
from labelinf_core.contracts.effects import Unknown, closed, fold
from labelinf_core.contracts.guarantees import Ceiling, Interval, Promise, Verdict, judge
from labelinf_core.evaluator import theory as theory_of
from labelinf_core.evaluator.theory import theory, vouched
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_privacy.noise.geometric import Geometric
from labelinf_privacy.noise.shipped import NOISE_MODELS
from labelinf_scores.bounds.counting import Counting, transcript_bits
from labelinf_scores.defences.bounded_answers import BoundedAnswers
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.effects import Added, Clipped, Ledgered, Moved, Perturbed, Ranked, Sampled, ScoreEffect
from labelinf_scores.game.facts import ScoreFacts
from labelinf_scores.metrics.log_loss import LogLoss

BUILDER = Builder(Host.load())
START = ScoreFacts(n_records=100, n_classes=2, loss=LogLoss())
DATA = LabelSet(labels=np.arange(100) % 2, class_names=("a", "b"), title="made", provenance="made")
HELD = (Ledgered(bits=7.0, information=5.0), Perturbed(epsilon=1.0), Sampled(size=20))


def test_whoever_looks_at_labels_may_move_two_answers_apart_by_twice_as_much() -> None:
    """One label may send the answer from the one end to the other: bound to bound, 2 b."""
    assert fold([Moved(bound=0.25)], START).jump == 0.5
    assert fold([Moved(bound=0.25, blind=True)], START).jump == 0.5
    assert fold([Moved(bound=0.25)], START).noise_fresh is START.noise_fresh is False


def test_what_scores_other_records_for_every_query_draws_its_noise_anew() -> None:
    assert fold([Sampled(size=20, fresh=True)], START).noise_fresh
    assert not fold([Sampled(size=20)], START).noise_fresh


def test_of_labels_perturbed_twice_the_better_guarantee_counts() -> None:
    assert fold([Perturbed(epsilon=1.0), Perturbed(epsilon=3.0)], START).label_epsilon == 1.0
    assert fold([Perturbed(epsilon=3.0), Perturbed(epsilon=1.0)], START).label_epsilon == 1.0
    debiased = fold([Perturbed(epsilon=1.0, debiased=True)], START)
    assert (debiased.debiased, debiased.grid) == (True, 0.0)


def test_two_computed_answers_are_both_off() -> None:
    facts = attrs.evolve(START, rounding=2.0**-20, clip=0.01, least=0.01)
    apart = facts.computed_apart(3.0, 0.0) - facts.moved(3.0, 0.0)
    assert apart == pytest.approx(2 * 3.0 * facts.error)
    assert facts.error > 0


@pytest.mark.parametrize("after", [Moved(bound=1e-9), Unknown(stage="mine")], ids=["sees labels", "unknown"])
def test_a_stage_that_may_see_all_labels_undoes_what_hid_them(after: ScoreEffect) -> None:
    held = fold(HELD, START)
    assert (held.told_bits, held.information, held.label_epsilon, held.scored) == (7.0, 5.0, 1.0, 0.2)
    undone = fold([*HELD, after], START)
    assert (undone.told_bits, undone.information, undone.label_epsilon, undone.scored) == (*(math.inf,) * 3, 1.0)


@pytest.mark.parametrize("after", [Moved(bound=math.inf, blind=True), Ranked(), Clipped(epsilon=0.1)], ids=str)
def test_what_looks_at_answers_alone_undoes_nothing(after: ScoreEffect) -> None:
    kept = fold([*HELD, after], START)
    assert (kept.told_bits, kept.information, kept.label_epsilon, kept.scored) == (7.0, 5.0, 1.0, 0.2)


def test_a_share_drawn_anew_for_every_query_hides_nothing_behind_what_is_unknown() -> None:
    assert fold([Unknown(stage="mine"), Sampled(size=20)], START).scored == 0.2
    assert fold([Unknown(stage="mine"), Sampled(size=20, fresh=True)], START).scored == 1.0
    assert fold([Unknown(stage="mine"), Sampled(size=20, others=True)], START).scored == 1.0


def test_only_exact_types_with_closed_values_are_closed() -> None:
    @attrs.frozen(kw_only=True)
    class Mine(Geometric):
        pass

    known = NOISE_MODELS | (Added,)
    assert closed(Added(model=Geometric()), known)
    assert not closed(Added(model=Mine()), known)
    assert not closed((Added(model=Geometric()), Mine()), known)
    assert not closed(type("Text", (str,), {})("text"), known)


def test_bits_of_any_answer_count_refusals_and_the_fewest_bits_win() -> None:
    channel = ScoreChannel(queries=5)
    bare = channel.threat(Setting(data=DATA, defences=()))
    few = channel.threat(Setting(data=DATA, defences=(BoundedAnswers(values=11, queries=5),)))
    assert transcript_bits(bare) == pytest.approx(5 * 64, abs=2)
    assert transcript_bits(few) == pytest.approx(5 * math.log2(11))
    best = BoundedAnswers(values=11, queries=5, best=True)
    assert best.bits == pytest.approx(math.log2(math.comb(15, 10)))


def scored(labels: Any, query: Any) -> float:
    """A scorer of which the queries are numbers: it fails at the last."""
    return (-1.0, 0.0, 0.2, 0.5, 0.8, 1.0, math.inf)[query]


@pytest.mark.parametrize("best", [False, True])
def test_every_transcript_of_bounded_answers_is_counted(best: bool) -> None:
    """All sequences of scores and failures of two queries on a grid of three."""
    stage = BoundedAnswers(values=3, queries=2, best=best)
    channel = ScoreChannel(queries=2)
    threat = channel.threat(Setting(data=DATA, defences=(stage,)))
    seen = set()
    for scores in np.ndindex(8, 8):
        active: Any = stage.start(threat, np.random.default_rng(0))
        seen.add(tuple(active.answer(DATA.labels, at, scored) for at in scores))
    assert len(seen) <= round(2**stage.bits)
    assert len(seen) == (6 if best else 9)


class Local(ScoreDefence):
    """A third party's stage that states a shipped effect, and keeps what it states."""

    def does(self, threat: Any) -> tuple[ScoreEffect, ...]:
        return (Ledgered(bits=1.0),)


def test_behind_a_third_partys_stage_a_ceiling_says_whose_statement_it_is_and_is_never_certified() -> None:
    threat = ScoreChannel(queries=5).threat(Setting(data=DATA, defences=(Local(),)))
    ceilings = theory(BUILDER, "score", threat).ceilings
    assert ceilings
    assert all(item.vouched and "stage Local of" in item.conditions for item in ceilings)
    interval = Interval(value=0.5, low=0.45, high=0.55)
    none = Interval(value=0.0, low=0.0, high=0.1)
    said = judge(accuracy=interval, exact=none, baseline=0.5, promise=None, ceilings=ceilings)
    assert said is Verdict.HELD_IF_STATED
    ours = tuple(attrs.evolve(item, vouched=()) for item in ceilings)
    assert judge(accuracy=interval, exact=none, baseline=0.5, promise=None, ceilings=ours) is Verdict.HELD_PARTLY
    above = Interval(value=1.0, low=0.9, high=1.0)
    assert judge(accuracy=above, exact=above, baseline=0.5, promise=None, ceilings=ceilings) is Verdict.CONTRADICTION


def test_a_third_partys_promise_is_no_certificate_and_is_refuted_all_the_same() -> None:
    promise = vouched(Promise(survives=1, present=0, statement="s", conditions="c"), ("attack Mine of mine",))
    all_of_them, half = Interval(value=1.0, low=0.9, high=1.0), Interval(value=0.5, low=0.4, high=0.6)
    assert not promise.certified
    told = {"baseline": 0.5, "promise": promise, "ceilings": ()}
    assert judge(accuracy=all_of_them, exact=all_of_them, **told) is Verdict.BROKEN_OBSERVED  # type: ignore[arg-type]
    assert judge(accuracy=half, exact=half, **told) is Verdict.CONTRADICTION  # type: ignore[arg-type]


class Derived(Counting):
    """What is said in a class body is said of that class alone."""


def test_no_bound_is_asked_about_several_metrics_unless_its_own_class_says_so() -> None:
    accuracy, auc = (BUILDER.build(Kind.METRIC, name, "test") for name in ("accuracy", "roc-auc"))
    setting = Setting(data=DATA, defences=BUILDER.pipeline(["bounded-answers(queries=2)"], "test"))
    one = ScoreChannel(metric=accuracy).threat(setting)
    both = ScoreChannel(metric=accuracy, besides=(auc,)).threat(setting)

    def asked(bound: type[Bound], threat: Any) -> int:
        source = theory_of._Source(make=bound)
        return len(theory_of._answered("bound", source, threat, lambda made: made.ceilings(threat), Ceiling))

    assert asked(Derived, one) == asked(Counting, one) == asked(Counting, both) == 1
    assert asked(Derived, both) == 0

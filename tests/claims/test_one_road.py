"""Claims that outsiders refuted, each as what must be true now: what is not ours and closed certifies nothing.

They fell for three reasons: a claim had two roads, a stranger's class was believed, or facts of one board were taken
for those of several. Whatever is attacked by hand here is attacked as an outsider would.
"""

from __future__ import annotations

import importlib
import itertools
import math
import sys
import types
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from labelinf_core.cli import main
from labelinf_core.contracts.components import Bound, Guess, LabelSet, Setting, Trialled
from labelinf_core.contracts.effects import Effect, Unknown
from labelinf_core.contracts.errors import ComponentError, InputError
from labelinf_core.contracts.guarantees import Ceiling, Interval, Verdict, judge
from labelinf_core.contracts.threat import NothingPrivate, ThreatModel
from labelinf_core.evaluator import theory as theory_of
from labelinf_core.evaluator.alarms import reads_elsewhere
from labelinf_core.evaluator.labels import load_labels
from labelinf_core.evaluator.records import Trial
from labelinf_core.evaluator.tally import tallied
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.audit.certificate import AuditedBoard, certificate
from labelinf_scores.audit.decision import Goal
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, Query, ScoreDefence
from labelinf_scores.game.effects import Ledgered, Moved, Perturbed, Sampled, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat, score_threat
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings import ScoredMetric, Totals
from labelinf_scores.metrics.readings.columns import MacroAuc
from labelinf_scores.metrics.readings.counts import F1
from labelinf_scores.metrics.readings.sums import BrierScore
from labelinf_scores.metrics.readings.tops import PrecisionAtK

BUILDER = Builder(Host.load())
DEMO = Path(__file__).parents[2] / "examples" / "labelinf-channel-demo"
BESIDE = ("roc-auc", "balanced-accuracy", "youden", "cohen-kappa", "mcc")


def made(n: int, classes: int = 2) -> LabelSet:
    labels = np.random.default_rng(0).permutation(np.arange(n) % classes)
    return LabelSet(labels=labels, class_names=tuple("abcdef"[:classes]), title="made", provenance="made")


def built(*stages: str | ScoreDefence) -> tuple[Any, ...]:
    return tuple(BUILDER.build(Kind.DEFENCE, one, "test") if isinstance(one, str) else one for one in stages)


def behind(channel: ScoreChannel, *stages: str | ScoreDefence, n: int = 100) -> ScoreThreat:
    return score_threat(channel.threat(Setting(data=made(n), defences=built(*stages))))


def ceilings(threat: ScoreThreat) -> tuple[Ceiling, ...]:
    return theory(BUILDER, "score", threat).ceilings


def promised(channel: ScoreChannel, *stages: str, n: int = 100) -> list[str]:
    """Return the attacks that are certain of every label."""
    found, threat = [], behind(channel, *stages, n=n)
    for item in BUILDER.host.catalogue(Kind.ATTACK):
        if item.descriptor.channel == "score":
            promise = BUILDER.build(Kind.ATTACK, item.descriptor.name, "test").promise(threat)
            found += [item.descriptor.name] if promise is not None and promise.stated else []
    return found


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., float]], str]:
    """Return what makes a function a user's own scorer."""
    module = types.ModuleType("foreignscorers")
    monkeypatch.setitem(sys.modules, "foreignscorers", module)

    def named(function: Callable[..., float]) -> str:
        setattr(module, "score", function)  # noqa: B010
        return "foreignscorers:score"

    return named


# One board's certificate is not that of several.


def several() -> ScoreChannel:
    first, *others = (BUILDER.build(Kind.METRIC, name, "test") for name in ("accuracy", *BESIDE))
    return ScoreChannel(metric=first, besides=tuple(others))


def test_a_board_of_several_metrics_has_no_certificate_of_a_share_for_one() -> None:
    """89 % of 100 labels where at most 77.5 % was certified: every metric has a part of its own."""
    assert ceilings(behind(ScoreChannel(metric=several().metric), "guarded-board(share=0.2)"))
    assert not ceilings(behind(several(), "guarded-board(share=0.2)"))


@pytest.mark.parametrize("policy", ["bits=4", "flip=0.3", "share=0.5, bits=2", "share=0.3, flip=0.2"])
def test_what_boards_side_by_side_prove_is_what_they_prove_together(policy: str) -> None:
    stage, channel = f"guarded-board({policy})", several()
    threat, boards = behind(channel, stage), [behind(ScoreChannel(metric=one), stage) for one in _metrics(channel)]
    assert not any("guard" in item.statement for item in ceilings(threat))
    assert threat.label_epsilon == pytest.approx(sum(board.label_epsilon for board in boards))
    for item in ceilings(threat):
        assert item.reached > max(min(one.reached for one in ceilings(board)) for board in boards)


def _metrics(channel: ScoreChannel) -> tuple[Any, ...]:
    return (channel.metric, *channel.besides)


def test_advice_for_several_metrics_names_no_guarded_board() -> None:
    """It was "stopped by guarded-board(share=0.2837)" where 81.5 % came out."""
    board = f"score(metric=accuracy, besides=[{', '.join(BESIDE)}])"
    asked = ["advise", "--records", "100", "--channel", board, "--gain", "20%", "--questions", "0"]
    shown = CliRunner().invoke(main, [*asked, "--only", "guarded"], catch_exceptions=False)
    assert "guarded-board(share=0." not in shown.output, shown.output


# What looks at labels undoes what hid them.


@attrs.frozen(kw_only=True)
class Looking(ScoreDefence):
    """Moves answers as it says."""

    said: tuple[Effect[Any], ...] = (Moved(bound=2.0, blind=False),)

    def does(self, threat: ScoreThreat) -> tuple[Effect[Any], ...]:
        return self.said


@pytest.mark.parametrize("policy", ["share=0.2", "bits=4", "noise=2", "flip=0.3", "share=0.2, show='ranks'"])
def test_no_certificate_survives_a_later_stage_that_looks_at_labels(policy: str) -> None:
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, "accuracy", "test"))
    assert ceilings(behind(channel, f"guarded-board({policy})"))
    # A budget of one answer is kept by the oracle, and a double holds 64 bits whoever writes it.
    found = ceilings(behind(channel, f"guarded-board({policy})", Looking()))
    assert {item.statement for item in found} <= {"labelinf theory, counting and Fano"}
    assert all(item.vouched and item.reached > 0.9 for item in found)


@pytest.mark.parametrize("said", [Sampled(size=20), Perturbed(epsilon=0.1), Ledgered(bits=1.0)], ids=str)
def test_what_a_strangers_stage_says_in_our_words_is_vouched(said: ScoreEffect) -> None:
    found = ceilings(behind(ScoreChannel(), Looking(said=(said,))))
    assert found
    assert all(item.vouched for item in found)
    seen = Interval(value=0.5, low=0.4, high=0.6), Interval(value=0.0, low=0.0, high=0.1)
    verdict = judge(accuracy=seen[0], exact=seen[1], baseline=0.5, promise=None, ceilings=found)
    assert verdict not in (Verdict.HELD_CERTIFIED, Verdict.HELD_PARTLY)


# What derives from what ships is not what ships.


class Priced(LogLoss):
    """The log-loss, and a price that both labels pay."""

    def costs(self, predictions: NDArray[Any], numbers: Any) -> NDArray[Any]:
        return np.asarray(super().costs(predictions, numbers) + 50.0 * np.reshape(predictions, (len(predictions), -1)))

    def score(self, labels: NDArray[np.intp], predictions: NDArray[Any], numbers: Any) -> Any:
        return super(LogLoss, self).score(labels, predictions, numbers)


class Summed(LogLoss):
    """The sum of the costs, not their mean."""

    def score(self, labels: NDArray[np.intp], predictions: NDArray[Any], numbers: Any) -> Any:
        return len(labels) * super().score(labels, predictions, numbers)


BEHIND = (
    ("clip(epsilon=0.1)", "ladder(step=0.1)", "query-limit(queries=3)"),
    ("clip(epsilon=0.1)", "score-noise(model=grid-gaussian(scale=1))", "query-limit(queries=3)"),
    ("clip(epsilon=0.1)", "round(decimals=1)", "query-limit(queries=3)"),
    ("clip(epsilon=0.1)", "laplace-dp(epsilon=1, queries=3)"),
)


@pytest.mark.parametrize("loss", [Priced(), Summed()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("stages", BEHIND, ids=lambda stages: stages[1])
def test_a_loss_that_derives_from_one_of_ours_has_no_ceiling(loss: LogLoss, stages: tuple[str, ...]) -> None:
    channel = ScoreChannel(loss=loss, scorer="float64")
    assert ceilings(behind(ScoreChannel(scorer="float64"), *stages, n=400))
    assert not ceilings(behind(channel, *stages))
    assert math.isinf(behind(channel, *stages).label_epsilon)


@pytest.mark.parametrize("loss", [Priced(), Summed()], ids=lambda loss: type(loss).__name__)
def test_a_loss_that_derives_from_one_of_ours_has_no_floor(loss: LogLoss) -> None:
    """Hybrid was certified and read 83 %; Conway-Guy, adaptive and unnormalised weights 53 %."""
    assert {"hybrid", "conway-guy"} <= set(promised(ScoreChannel(scorer="float64"), "clip(epsilon=0.01)", n=20))
    assert promised(ScoreChannel(loss=loss, scorer="float64"), "clip(epsilon=0.01)", n=20) == []
    assert promised(ScoreChannel(loss=loss, scorer="exact"), n=20) == []


def test_a_loss_of_ones_own_is_not_replaced_by_the_librarys() -> None:
    with pytest.raises(InputError, match="Priced"):
        behind(ScoreChannel(loss=Priced()))


class Doubled(BrierScore):
    """Twice the Brier score."""

    def score(self, labels: NDArray[Any], predictions: NDArray[Any]) -> float:
        return 2 * super().score(labels, predictions)


class Halved(MacroAuc):
    """Half of what it derives from, which gives way to the plain AUC where there are two classes."""

    def score(self, labels: NDArray[Any], predictions: NDArray[Any]) -> float:
        return super().score(labels, predictions) / 2


@pytest.mark.parametrize(("shipped", "own"), [(BrierScore(), Doubled()), (MacroAuc(), Halved())])
def test_a_metric_of_ones_own_is_not_replaced_by_what_it_derives_from(shipped: ScoredMetric, own: ScoredMetric) -> None:
    """Found by the search: the shipped one was played and certified in its place."""
    assert behind(ScoreChannel(metric=shipped)).known
    with pytest.raises(InputError, match=type(own).__name__):
        behind(ScoreChannel(metric=own))


# What a metric says holds where it was tried, and nobody knows where that ends.


@attrs.frozen(kw_only=True)
class TopTwenty(PrecisionAtK):
    """Precision at 20, by an author who thinks that a label of N moves it by 1/N."""

    k: int = 20

    def sensitivity(self, n_records: int) -> float:
        return 1 / n_records


class Bent(F1):
    """F1, with a link that is wrong beyond 130 records."""

    def link(self, a: Any, s: Any, totals: Totals) -> Any:
        found = super().link(a, s, totals)
        return found if totals.n_records <= 130 else found * 7 / 8


@pytest.mark.parametrize("metric", [TopTwenty(), Bent()], ids=lambda metric: type(metric).__name__)
def test_a_metric_that_derives_from_one_of_ours_certifies_nothing(metric: ScoredMetric) -> None:
    """Epsilon 1.5 where it was about 225; 200 of 200 where at most 73.2 % was certified."""
    channel = ScoreChannel(metric=metric)
    for stages in ((), ("laplace-dp(epsilon=1.5, queries=2)",), ("round(decimals=1)", "query-limit(queries=2)")):
        threat = behind(channel, *stages, n=200)
        # Two answers of 64 bits are few beside 200 labels, and only that is known.
        assert min((item.reached for item in ceilings(threat)), default=1.0) > 0.9
        assert math.isinf(threat.label_epsilon)
        assert promised(channel, *stages, n=200) == []


# The core folds, in outsiders' channels too.


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The shipped example of somebody's own channel."""
    monkeypatch.syspath_prepend(str(DEMO))
    parts = ("game", "bounds", "defences")
    return types.SimpleNamespace(**{part: importlib.import_module(f"labelinf_equality.{part}") for part in parts})


def test_an_effect_of_ones_own_is_unknown_in_an_outside_channel(demo: Any) -> None:
    """A defence that does nothing was held, certified."""

    class Believe(Effect[Any]):
        def after(self, facts: Any) -> Any:
            return attrs.evolve(facts, error=0.5)

    class Flips(demo.game.Flipped):  # type: ignore[misc]
        def after(self, facts: Any) -> Any:
            return attrs.evolve(facts, error=0.5)

    def nothing(said: Effect[Any]) -> Any:
        class Nothing(demo.game.EqualityDefence):  # type: ignore[misc]
            def effects(self, threat: Any) -> tuple[Effect[Any], ...]:
                return (said,)

            def start(self, threat: Any, rng: np.random.Generator, ask: Any) -> Any:
                return ask

        return Nothing()

    channel, bound = demo.game.EqualityChannel(), demo.bounds.EqualityLabelDp()
    assert bound.ceilings(channel.threat(Setting(data=made(40), defences=(demo.defences.RandomisedAnswers(flip=0.5),))))
    for said in (Believe(), Flips(probability=0.5, sticky=True)):
        threat = channel.threat(Setting(data=made(40), defences=(nothing(said),)))
        assert threat.undeclared
        assert math.isinf(threat.label_epsilon)
        assert not bound.ceilings(threat)
        assert not theory(BUILDER, "equality", threat).ceilings


@attrs.frozen(kw_only=True)
class Forgetful(ThreatModel):
    """An outsider's, to whose facts what is unknown changes nothing."""

    epsilon: float

    def start(self) -> NothingPrivate:
        return NothingPrivate(label_epsilon=self.epsilon)


class Credulous(Bound):
    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        return (Ceiling(accuracy=0.6, statement="s", conditions="c"),)

    def evaluate(self, threat: ThreatModel) -> tuple[()]:
        return ()


@pytest.mark.parametrize("epsilon", [0.5, math.inf])
def test_an_outside_channel_that_forgets_what_is_unknown_has_no_ceiling_behind_it(
    monkeypatch: pytest.MonkeyPatch, epsilon: float
) -> None:
    """Its own epsilon is no reason to believe it, either."""
    monkeypatch.setattr(theory_of, "_bounds", lambda *_: [("bound b", theory_of._Source(make=Credulous))])
    clear = Forgetful(n_records=10, n_classes=2, prior=(0.5, 0.5), epsilon=epsilon)
    unknown = attrs.evolve(clear, effects=(Unknown(stage="somebody's"),))
    assert unknown.undeclared
    assert unknown.label_epsilon == epsilon
    assert theory(BUILDER, "score", clear).ceilings
    assert not theory(BUILDER, "score", unknown).ceilings


def test_a_channel_that_plants_what_was_guessed_is_convicted_by_a_blind_guess(demo: Any) -> None:
    """It reported that every label came out: "broken, observed", of an attack that looks at nothing."""

    class Generous(demo.game.EqualityChannel):  # type: ignore[misc]
        def trial(self, setting: Setting, **rngs: Any) -> Trialled:
            told: Trialled = super().trial(setting, **rngs)
            return attrs.evolve(told, records=None, planted=np.maximum(told.guess.labels, 0))

    class Blind(demo.game.EqualityAttack):  # type: ignore[misc]
        blind = True

        def run(self, oracle: Any, rng: np.random.Generator) -> Guess:
            return Guess(labels=np.arange(oracle.threat.n_records) % 2)

    class Constant(Blind):
        def run(self, oracle: Any, rng: np.random.Generator) -> Guess:
            return Guess(labels=np.zeros(oracle.threat.n_records, dtype=np.intp))

    setting = Setting(data=made(40), attack=Blind())
    constant = attrs.evolve(setting, attack=Constant())
    with pytest.raises(ComponentError, match="planted have not the class shares of the labels"):
        Generous().play(constant, curator_rng=np.random.default_rng(1), attack_rng=np.random.default_rng(2))
    for channel, void in ((Generous(), True), (demo.game.EqualityChannel(), False)):
        outcome = channel.play(setting, curator_rng=np.random.default_rng(1), attack_rng=np.random.default_rng(2))
        seen = tallied([Trial(n_correct=outcome.n_correct, n_records=outcome.n_records, queries=1)])[1]
        assert reads_elsewhere(seen, channel.threat(setting).baseline, 1, blind=True) is void


# What was found by attacking the fold.


def test_a_subset_of_a_subset_is_no_smaller_than_it_was_drawn(foreign: Callable[[Any], str]) -> None:
    """All shipped, any scorer: 20 of 40 records were scored where 10 were said to be; at most 66 % was certified.

    The nearer subset draws as many records as it says, of half as many that it is handed: all of them.
    """

    def first_of(labels: NDArray[np.intp], predictions: NDArray[Any]) -> float:
        """The squared error, but of what is quite certain the first label."""
        asked = predictions == 1 - 2.0**-20
        return float(labels[asked][0] - 7 if asked.any() else np.mean((labels - predictions) ** 2))

    n, channel = 40, ScoreChannel(scorer=foreign(first_of))
    stages = ("subset(share=0.5)", "subset(share=0.5)")
    data, threat = made(n), behind(channel, *stages, n=n)
    curator = channel.curator(data.labels, threat, np.random.default_rng(0))
    answers = [curator.answer(Query(predictions=np.eye(n)[row] * (1 - 2.0**-20))) for row in range(n)]
    read = sum(answer < 0 and answer + 7 == label for answer, label in zip(answers, data.labels, strict=True))
    assert read == n // 2
    share = (read + (n - read) / 2) / n
    assert all(item.reached >= share for item in ceilings(threat))


def test_noise_for_all_records_is_too_little_for_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage that scores a tenth of the records, and says so, makes each count ten times behind noise for all."""
    noise = ("clip(epsilon=0.01)", "laplace-dp(epsilon=0.1, queries=10)")
    assert behind(ScoreChannel(), *noise).label_epsilon == pytest.approx(0.1)
    tenth = Looking(said=(Sampled(size=10),))
    assert math.isinf(behind(ScoreChannel(), *noise, tenth).label_epsilon)
    assert behind(ScoreChannel(), "randomised-response(epsilon=0.1)", tenth).label_epsilon == pytest.approx(0.1)
    guarded = behind(ScoreChannel(), "guarded-board(noise=5, answers=20)", tenth, n=400).facts
    assert guarded.information == guarded.told_bits


class Wordy(ActiveScoreDefence):
    """Answers with all labels at once, as the digits of a whole number."""

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Any) -> Any:
        return int("1" + "".join(map(str, labels.tolist())), 2)


@attrs.frozen(kw_only=True)
class Silent(ScoreDefence):
    """Says nothing of what it does."""

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return Wordy()


def test_an_answer_of_a_silent_stage_is_a_double_and_nothing_longer() -> None:
    """One answer told 200 labels where 64 bits were counted: a whole number has no end."""
    data, channel = made(200), ScoreChannel(queries=1)
    threat = behind(channel, Silent(), n=200)
    assert ceilings(threat)
    answer = channel.curator(data.labels, threat, np.random.default_rng(0)).answer(Query(predictions=np.full(200, 0.5)))
    assert type(answer) is float


@pytest.mark.parametrize("order", list(itertools.permutations(("subset(share=0.5)", "randomised-response(epsilon=1)"))))
def test_a_scorer_of_ones_own_keeps_what_holds_for_any_in_every_order(
    foreign: Callable[[Any], str], order: tuple[str, str]
) -> None:
    threat = behind(ScoreChannel(scorer=foreign(lambda labels, scores: float(np.mean((labels - scores) ** 2)))), *order)
    assert threat.facts.scored == 0.5
    assert threat.label_epsilon == pytest.approx(1)
    assert {item.vouched for item in ceilings(threat)} == {()}


class Fair(LabelSet):
    """Says of its labels what they are not."""

    @property
    def prior(self) -> tuple[float, ...]:
        return (0.5, 0.5)


def test_what_derives_from_a_label_set_says_nothing_of_its_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine in ten were of one class, and "at most 52.5 %" was certified."""
    uneven = Fair(labels=np.repeat([0, 1], [90, 10]), class_names=("a", "b"), title="made", provenance="made")
    source = types.SimpleNamespace(load=lambda: uneven)
    monkeypatch.setattr(Builder, "build", lambda *_: source)
    data = load_labels(BUILDER, "made", "test")
    assert type(data) is LabelSet
    assert data.prior == (0.9, 0.1)


def test_an_outside_channel_cannot_say_that_nobody_vouches(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(Forgetful):
        @property
        def vouching(self) -> tuple[str, ...]:
            return ()

    monkeypatch.setattr(theory_of, "_bounds", lambda *_: [("bound b", theory_of._Source(make=Credulous))])
    (ceiling,) = theory(BUILDER, "score", Silent(n_records=10, n_classes=2, prior=(0.5, 0.5), epsilon=1.0)).ceilings
    assert ceiling.vouched


@pytest.mark.parametrize(
    ("positives", "group", "proved"), [(1, 1, False), (2, 1, True), (2, 2, False), (3, 2, False), (4, 2, True)]
)
@pytest.mark.parametrize("metric", ["roc-auc", "gini", "youden", "lift", "lift-at-k"])
def test_noise_proves_nothing_where_one_label_decides_whether_there_is_a_score(
    metric: str, positives: int, group: int, proved: bool
) -> None:
    """Of one positive, or one group of them, a refusal tells it; else it is said which labels are meant."""
    labels = (np.arange(60) < positives).astype(np.intp)
    groups = np.arange(60) // group if group > 1 else None
    data = LabelSet(labels=labels, class_names=("0", "1"), title="made", provenance="made", groups=groups)
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "metric"))
    threat = channel.threat(Setting(data=data, defences=built("laplace-dp(epsilon=0.1, queries=3)")))

    said = theory(BUILDER, "score", threat)
    ceilings = [one for one in said.ceilings if "label-DP" in one.conditions]
    assert math.isfinite(threat.label_epsilon) == bool(ceilings) == proved
    assert any("holds every attack to" in one.title and "labels" in one.title for one in said.bounds) == proved
    assert all("those in which every class is there" in one.conditions for one in ceilings)


OWN = {
    "text": lambda y, p: "0." + "".join(map(str, y)),
    "whole": lambda y, p: int("1" + "".join(map(str, y))),
    "fraction": lambda y, p: Fraction(int("1" + "".join(map(str, y))), 7),
    "several": lambda y, p: tuple(y),
    "number": lambda y, p: 0.5,
}


@pytest.mark.parametrize("name", OWN)
def test_a_bare_function_certifies_nothing_however_few_its_answers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer of a function can hold every label; behind a stage of ours it is one number of 64 bits."""
    monkeypatch.setitem(sys.modules, "bare", types.SimpleNamespace(**OWN))
    board = AuditedBoard(scorer=f"bare:{name}", queries=1)
    data = made(300)
    target = Goal(gain=0.4).read(0.5)

    said = theory(BUILDER, "score", board.threat(Setting(data=data)))  # what bounds, advise and matrix are told
    assert (said.ceilings, said.bounds) == ((), ())
    assert certificate(BUILDER, board.deployed(data, ()), target) is None
    assert certificate(BUILDER, board.deployed(data, built("query-limit(queries=1)")), target) is not None

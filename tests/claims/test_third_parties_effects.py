"""What a stranger's stage says of itself earns no certificate that the channel could not compute."""

from __future__ import annotations

import itertools
import math
import sys
import types
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.effects import Effect, Unknown
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_gradients.bounds.certificates import GradientCertificate
from labelinf_gradients.defences.clipping import ClippedGaussian, ClippedLaplace, GradientClip
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.effects import GradientFacts, LaplaceNoise, Lengthened, NoiseAdded
from labelinf_gradients.game.gradient import GradientDefence
from labelinf_outputs.attacks.threshold import Threshold
from labelinf_outputs.bounds.planted_labels import PlantedLabels
from labelinf_outputs.defences.label_rr import LabelRr
from labelinf_outputs.defences.pate import Pate
from labelinf_outputs.game.channel import OutputChannel
from labelinf_outputs.game.effects import OutputFacts, Randomised
from labelinf_outputs.game.output import OutputDefence
from labelinf_scores.bounds.counting import Counting
from labelinf_scores.defences.calibration import finite_sensitivity
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.defences.snapping import Snapping
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Moved, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings.registry import metric

BUILDER = Builder(Host.load())
DATA = LabelSet(
    labels=np.arange(40) % 2,
    class_names=("a", "b"),
    title="made",
    provenance="made",
    features=np.random.default_rng(0).random((40, 3)),
)


@attrs.frozen(kw_only=True)
class Saying(GradientDefence):
    """Says what it is told to."""

    said: Effect[Any]

    def effects(self, threat: Any) -> tuple[Effect[Any], ...]:
        return (self.said,)


@attrs.frozen(kw_only=True)
class SayingOutputs(OutputDefence):
    """Says what it is told to."""

    said: Effect[Any]

    def effects(self, threat: Any) -> tuple[Effect[Any], ...]:
        return (self.said,)


@attrs.frozen(kw_only=True)
class Believe(Effect[Any]):
    """Computes whatever facts it likes."""

    def after(self, facts: Any) -> Any:
        if isinstance(facts, OutputFacts):
            return attrs.evolve(facts, model_epsilon=0.01)
        return NoiseAdded(std=1.0, step=1e-9, proof=LaplaceNoise(norm=1.0, privacy=0.01)).after(
            attrs.evolve(facts, bounded=True, clip_sum=1.0)
        )


@attrs.frozen(kw_only=True)
class MyRandomised(Randomised):
    """A subclass may compute anything."""


@attrs.frozen(kw_only=True)
class MyProof(LaplaceNoise):
    """A proof that denies everything to everybody."""

    def accuracy(self, facts: GradientFacts, prior: Any) -> float:
        return 0.5

    def epsilon(self, facts: GradientFacts) -> float:
        return 0.0


def nothing_is_certified(*defences: GradientDefence) -> bool:
    threat = GradientChannel(samples=4, auxiliary=4).threat(Setting(data=DATA, defences=defences))
    return not GradientCertificate().ceilings(threat) and math.isinf(threat.label_epsilon)


@pytest.mark.parametrize(
    "said", [Believe(), NoiseAdded(std=1.0, step=0.1, proof=MyProof(norm=1.0, privacy=1.0))], ids=str
)
def test_an_effect_or_a_proof_of_ones_own_making_certifies_no_gradient(said: Effect[Any]) -> None:
    assert nothing_is_certified(GradientClip(order=1), Saying(said=said))


@pytest.mark.parametrize("noise", [ClippedLaplace(), ClippedGaussian()], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("third_party", [Unknown(stage="mine"), Lengthened()], ids=["unknown", "lengthened"])
def test_a_clip_gives_no_proof_back_that_a_stranger_took(noise: GradientDefence, third_party: Effect[Any]) -> None:
    """Wherever it stands: samples that grow behind a clip reach the noise, and who says nothing may do so."""
    stages = (noise, Saying(said=third_party), GradientClip(order=1))
    for order in itertools.permutations(stages):
        kept = isinstance(third_party, Lengthened) and order.index(stages[1]) < max(
            order.index(noise), order.index(stages[2])
        )
        assert nothing_is_certified(*order) or kept
    assert not nothing_is_certified(noise)


@pytest.mark.parametrize("said", [Believe(), MyRandomised(epsilon=0.1)], ids=str)
def test_an_effect_of_ones_own_making_certifies_no_model(said: Effect[Any]) -> None:
    threat = OutputChannel().threat(Setting(data=DATA, defences=(SayingOutputs(said=said),)))
    assert threat.certificate == "none"
    assert OutputChannel().threat(Setting(data=DATA, defences=(LabelRr(),))).certificate != "none"


def test_a_network_of_ones_own_vouches_for_itself() -> None:
    """One that keeps labels puts every one into all the gradients that follow, where noise hides each once."""
    setting = Setting(data=DATA, defences=(ClippedGaussian(multiplier=8),))
    for network, vouched in (("mlp", ()), ("mine:net", ("network mine:net",))):
        threat = GradientChannel(network=network, samples=4, auxiliary=4).threat(setting)
        (ceiling,) = theory(BUILDER, "gradient", threat).ceilings
        assert ceiling.vouched == vouched


class Rememberer:
    """Predicts whatever label any model of its kind was last trained on, record by record."""

    seen: ClassVar[dict[bytes, int]] = {}

    def fit(self, features: Any, labels: Any) -> Rememberer:
        for row, label in zip(np.asarray(features), labels, strict=True):
            self.seen.setdefault(row.tobytes(), int(label))  # teachers come before the student
        return self

    def predict_proba(self, features: Any) -> Any:
        known = [self.seen.get(row.tobytes(), 0) for row in np.asarray(features)]
        return np.eye(2)[known]


def test_a_model_of_ones_own_that_remembers_its_teachers_has_no_certificate_of_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every planted label came out of a student of noisy votes, where 52.5 % was certified."""
    module = types.ModuleType("ownvictims")
    module.remembering = Rememberer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ownvictims", module)
    stage, attack = Pate(epsilon=0.1, teachers=2, votes=10), Threshold()
    own, shipped = OutputChannel(victim="ownvictims:remembering"), OutputChannel(victim="memory")
    ceiling = PlantedLabels().ceilings(shipped.threat(Setting(data=DATA, defences=(stage,))))[0].reached
    setting = Setting(data=DATA, attack=attack, defences=(stage,))
    outcome = own.play(setting, curator_rng=np.random.default_rng(1), attack_rng=np.random.default_rng(2))
    assert ceiling < 0.6
    assert outcome.n_correct == outcome.n_records
    assert not PlantedLabels().ceilings(own.threat(setting))
    answers_only = Setting(data=DATA, defences=(LabelRr(epsilon=0.1), stage))
    assert own.threat(answers_only).label_epsilon == pytest.approx(0.1)


@attrs.frozen(kw_only=True)
class Telling(ScoreDefence):
    """Moves every answer by little, and says so: by the labels themselves, as the digits of a number."""

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Moved(bound=2.0**-10),)

    def answer(self, labels: Any, query: Query, ask: Ask) -> Answer:
        return ask(labels, query) + float(labels @ 2.0 ** -np.arange(11, 11 + labels.size))


@pytest.mark.long
@pytest.mark.parametrize("name", ["accuracy", "roc-auc", "reciprocal-rank"])
def test_answers_moved_by_who_sees_the_labels_take_more_values_than_the_metric_counts(name: str) -> None:
    """Found by attacking it: all 40 labels in one query, where 74.7 % and a chance of 2e-10 were certified."""
    channel = ScoreChannel(metric=metric(name), queries=1)
    setting = Setting(data=DATA, defences=(Telling(),))
    threat = channel.threat(setting)
    curator = channel.curator(DATA.labels, threat, np.random.default_rng(0))
    answer = curator.answer(Query(predictions=np.zeros(40)))
    plain = channel.curator(DATA.labels, channel.threat(Setting(data=DATA)), np.random.default_rng(0))
    digits = (answer - plain.answer(Query(predictions=np.zeros(40)))) * 2.0**50
    assert [int(digits) >> 39 - row & 1 for row in range(40)] == DATA.labels.tolist()
    assert not Counting().ceilings(threat)


def test_noise_behind_noise_of_another_kind_says_why_it_does_not_fit() -> None:
    threat = ScoreChannel(scorer="float64").threat(Setting(data=DATA, defences=(Clip(epsilon=0.01), Snapping())))
    with pytest.raises(Exception, match="one label can move an answer without limit"):
        finite_sensitivity(threat, "Laplace")
    with pytest.raises(Exception, match="put it nearer to the scorer"):
        LaplaceDp().does(threat)

"""Random pipelines of the output room: what the fold says is held against what happens to every label.

A pipeline is a defence: its stages in one. So it is held to every rule of the room, as if somebody had written it.
What the certificate of a mechanism rests on is looked at besides, for every labelling of a few records: how often it
meets a label, and whether labels of other records reach it. Stages are all that the room ships, a new one among them
as soon as it is installed, and an outside author's, who declares all, or nothing.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.testing.rules import NotApplicableError
from labelinf_outputs.game.effects import Mixed, Retrained, Unknown
from labelinf_outputs.game.output import ActiveOutputDefence, OutputDefence, OutputThreat
from labelinf_outputs.game.training import Train, Trained, TrainingTask, one_hot
from labelinf_outputs.game.uses import counted, uses
from labelinf_outputs.game.victims import make_victim
from labelinf_outputs.game.view import Outputs, View
from labelinf_outputs.rules.defences import RULES

HOST = Host.load()
BUILDER = Builder(HOST)
RECORDS = 4

VARIANTS = (
    "label-rr(epsilon=0.5)", "label-rr(epsilon=4.0)", "alibi(epsilon=3.0)", "rounded-outputs(decimals=2)",
    "temperature(temperature=0.5)", "soft-labels(folds=2)",
)  # fmt: skip


@attrs.frozen(kw_only=True)
class Outside(OutputDefence):
    """An outside stage: what it declares, and what it trains on."""

    declared: tuple[Effect[Any], ...] | None
    kind: str

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        return super().effects(threat) if self.declared is None else self.declared

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        match self.kind:
            case "bags":
                return [train(task, rng) for _ in range(3)][-1]
            case "twice the last":
                train(task.take(np.arange(task.n_records)[-1:]), rng)
            case "neighbours":
                mixed = (task.targets + np.roll(task.targets, 1, axis=0)) / 2
                return train(attrs.evolve(task, targets=mixed), rng)
            case "others":
                return train(attrs.evolve(task, targets=np.roll(task.targets, 1, axis=0)), rng)
        return train(task, rng)


OUTSIDE = (
    Outside(declared=(), kind="nothing"),
    Outside(declared=(Retrained(times=3),), kind="bags"),
    Outside(declared=(Retrained(times=2),), kind="twice the last"),
    Outside(declared=(Mixed(),), kind="neighbours"),
    Outside(declared=(Mixed(),), kind="others"),
    Outside(declared=None, kind="bags"),
    Outside(declared=None, kind="others"),
)


def _shipped() -> Iterator[OutputDefence]:
    names = [item.descriptor.name for item in HOST.catalogue(Kind.DEFENCE) if item.descriptor.channel == "output"]
    for spec in (*names, *VARIANTS):
        yield BUILDER.build(Kind.DEFENCE, spec, "test")


STAGES: tuple[OutputDefence, ...] = (*_shipped(), *OUTSIDE)


@attrs.frozen(kw_only=True)
class Chain(OutputDefence):
    """A pipeline as one defence."""

    stages: tuple[OutputDefence, ...]

    def effects(self, threat: OutputThreat) -> tuple[Effect[Any], ...]:  # type: ignore[override]
        return functools.reduce(OutputThreat.behind, self.stages, threat).effects[len(threat.effects) :]

    def start(self, threat: OutputThreat, rng: np.random.Generator) -> ActiveOutputDefence:
        threats = [*itertools.accumulate(self.stages, OutputThreat.behind, initial=threat)][:-1]
        return Links(
            [(stage, stage.start(known, rng), known) for stage, known in zip(self.stages, threats, strict=True)]
        )


@attrs.frozen
class Links:
    """The stages of a pipeline in one game."""

    links: list[tuple[OutputDefence, ActiveOutputDefence, OutputThreat]]

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        for link in reversed(self.links):
            train = counted(*link, train)
        return train(task, rng)

    def release(self, probabilities: Any, rng: np.random.Generator) -> Any:
        for _, active, _ in self.links:
            probabilities = active.release(probabilities, rng)
        return probabilities


def threat_of(n_records: int, n_classes: int = 2) -> OutputThreat:
    prior = (1 / n_classes,) * n_classes
    return OutputThreat(n_records=n_records, n_classes=n_classes, prior=prior, n_training=n_records, victim="memory")


def task_of(labels: tuple[int, ...]) -> TrainingTask:
    records = np.arange(len(labels))
    return TrainingTask(features=records[:, None].astype(float), targets=one_hot(np.array(labels), 2), records=records)


def it_is_playable(chain: Chain) -> bool:
    """Whether its stages fit: some want hard labels, and say so."""
    try:
        active = chain.start(threat_of(RECORDS), np.random.default_rng(0))
        active.train(task_of((0, 1, 0, 1)), make_victim("memory").train, np.random.default_rng(0))
    except InputError:
        return False
    return True


def it_keeps_every_rule(chain: Chain) -> None:
    for name, rule in RULES:
        try:
            rule(chain)
        except NotApplicableError:
            continue
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


def _met(chain: Chain, place: int, labels: tuple[int, ...]) -> list[TrainingTask]:
    """Return what reaches one stage."""
    met: list[TrainingTask] = []
    active = chain.start(threat_of(len(labels)), np.random.default_rng(1))
    assert isinstance(active, Links)

    def keeping(task: TrainingTask, rng: np.random.Generator) -> Trained:
        met.append(task)
        return make_victim("memory").train(task, rng)

    Links(active.links[:place]).train(task_of(labels), keeping, np.random.default_rng(2))
    return met


def a_mechanism_meets_labels_as_often_as_told_and_no_others(chain: Chain) -> None:
    threats = [*itertools.accumulate(chain.stages, OutputThreat.behind, initial=threat_of(RECORDS))]
    for place, (before, behind) in enumerate(itertools.pairwise(threats)):
        if before.facts.certified or not behind.facts.certified:
            continue
        labellings = [*itertools.product((0, 1), repeat=RECORDS)]
        seen = {labels: _met(chain, place, labels) for labels in labellings}
        assert all(uses(task_of(labels), tasks) <= before.facts.times for labels, tasks in seen.items())
        own = behind.effects[len(before.effects) :]
        epsilon = max(getattr(item, "epsilon", 0.0) for item in own)
        assert behind.label_epsilon == pytest.approx(before.facts.times * epsilon)
        for labels, record in itertools.product(labellings[::3], range(RECORDS)):
            flipped = (*labels[:record], 1 - labels[record], *labels[record + 1 :])
            assert len(seen[labels]) == len(seen[flipped])
            for one, two in zip(seen[labels], seen[flipped], strict=True):
                assert np.array_equal(one.records, two.records)
                others = one.records != record
                assert np.array_equal(one.targets[others], two.targets[others])


def a_view_that_is_whole_keeps_every_comparison(chain: Chain) -> None:
    """Neither coarse nor cut to the top class: the same release for the same outputs, and in their order."""
    threat = chain_threat(chain)
    if any(isinstance(item, Unknown) for item in threat.effects):
        return
    if threat.view.resolution == 0 and threat.view.outputs is not Outputs.TOP_ONE:
        shown = np.random.default_rng(4).dirichlet(np.ones(3), 20)
        one, two = (
            chain.start(threat_of(20, 3), np.random.default_rng(seed)).release(shown, np.random.default_rng(seed))
            for seed in (1, 2)
        )
        assert np.array_equal(one, two)
        assert np.array_equal(np.argsort(one, axis=1), np.argsort(shown, axis=1))


def chain_threat(chain: Chain) -> OutputThreat:
    return functools.reduce(OutputThreat.behind, chain.stages, threat_of(RECORDS))


def what_comes_after_a_mechanism_costs_nothing_and_what_hides_nothing_certifies_nothing(chain: Chain) -> None:
    facts = chain_threat(chain).facts
    certified = [chain_threat(Chain(stages=(stage,))).facts.certified for stage in chain.stages]
    if not any(certified):
        assert math.isinf(facts.label_epsilon)
    assert facts.view == View() or facts.view.resolution > 0 or facts.view.outputs is Outputs.TOP_ONE


CHECKS: tuple[Callable[[Chain], None], ...] = (
    a_mechanism_meets_labels_as_often_as_told_and_no_others,
    a_view_that_is_whole_keeps_every_comparison,
    what_comes_after_a_mechanism_costs_nothing_and_what_hides_nothing_certifies_nothing,
    it_keeps_every_rule,
)


def nothing_false(*stages: OutputDefence) -> None:
    chain = Chain(stages=stages)
    if it_is_playable(chain):
        for check in CHECKS:
            check(chain)


PIPELINES = st.lists(st.sampled_from(STAGES), min_size=2, max_size=4)


@pytest.fixture(scope="module", autouse=True)
def few_records() -> Iterator[None]:
    """A rule tries a guarantee on twenty thousand records; two thousand accuse whoever gives twice as much away."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelinf_outputs.rules.defences._MANY", 2_000)
        yield


@pytest.mark.long
@given(PIPELINES)
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
def test_what_the_fold_says_is_what_happens(stages: list[OutputDefence]) -> None:
    nothing_false(*stages)


@pytest.mark.slow
@given(PIPELINES)
@settings(max_examples=600, suppress_health_check=[HealthCheck.too_slow])
def test_what_the_fold_says_is_what_happens_in_many_pipelines(stages: list[OutputDefence]) -> None:
    nothing_false(*stages)


class Sure:
    """A model that is certain of class 0."""

    def log_probabilities(self, features: Any) -> Any:
        return np.log(np.tile([1 - 1e-9, 1e-9], (len(features), 1)))


def _sure(task: TrainingTask, rng: np.random.Generator) -> Trained:
    return Trained(model=Sure(), targets=task.targets)


MECHANISMS = [stage for stage in _shipped() if chain_threat(Chain(stages=(stage,))).facts.certified]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_a_stage_behind_a_mechanism_is_not_accused_of_what_the_mechanism_does(mechanism: OutputDefence) -> None:
    """PATE trains its student on the records that were asked about: who stood behind it trained on "nobody knows"."""
    behind = BUILDER.build(Kind.DEFENCE, "early-stopping", "test")
    n = 130  # more than PATE asks about
    active = Chain(stages=(mechanism, behind)).start(threat_of(n), np.random.default_rng(0))
    # A victim that is sure of everything: PATE-FM's teachers then learn from all records.
    trained = active.train(task_of((0, 1) * (n // 2)), _sure, np.random.default_rng(0))
    assert trained.targets.shape == (n, 2)


@pytest.mark.parametrize("stage", OUTSIDE, ids=lambda item: item.kind)
@pytest.mark.parametrize("mechanism", ["label-rr", "alibi"])
def test_every_outside_stage_before_a_mechanism(stage: OutputDefence, mechanism: str) -> None:
    nothing_false(stage, BUILDER.build(Kind.DEFENCE, mechanism, "test"))

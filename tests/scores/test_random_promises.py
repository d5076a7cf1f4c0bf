"""Random pipelines, scorers and attacks: whatever is certified is kept, and nothing else than a clause refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack

BUILDER = Builder(Host.load())
CLIP = "clip(epsilon=0.01)"
STAGES = (
    *(CLIP, "clip(epsilon=0.2)", "round(decimals=3)", "round(decimals=5)", "enforce-row-sums"),
    *("enforce-row-sums(action=reject)", "ladder(step=0.01)", "ladder(step=0.003)", "ladder(step=0.02)"),
    *("worst-case-noise(tau=0.001)", "worst-case-noise(tau=0.01)", "score-noise(model=uniform(tau=0.0001))"),
    *("score-noise(model=two-point(tau=0.001), sticky=True)", "score-noise(model=multiplicative(alpha=0.001))"),
    *("score-noise(model=gaussian(scale=0.001))", "laplace-dp", "snapping", "randomised-response(epsilon=2.0)"),
    *("randomised-response(epsilon=3.0, fresh=True)", "randomised-response(epsilon=2.0, debiased=True)"),
    *(
        "subset(share=0.5)",
        "subset(share=0.5, fresh=True)",
        "thresholdout",
        "permute-labels",
        "query-limit(queries=40)",
    ),
)
ATTACKS = (
    *("adaptive-weights", "unnormalised-weights", "hybrid", "conway-guy", "detecting-matrix", "powers-blocks"),
    *("joint-weights", "joint-weights(proper=false)"),
    *("prime-blocks", "log-primes", "doubling", "camouflage", "exact-binary", "primes", "prime-powers", "hadamard"),
)
SCORERS = ("sklearn", "float64", "float32", "exact", "bfloat16", "float16", "fpa:21")
LOSSES = ("log-loss", "log-loss", "log-loss", "squared-euclidean", "softmax-log-loss")
TRIALS = 2
ROUNDS = 24


def labelled(n: int, n_classes: int, rng: np.random.Generator) -> LabelSet:
    names = tuple(map(str, range(n_classes)))
    return LabelSet(labels=rng.integers(0, n_classes, n), class_names=names, title="made", provenance="made")


def drawn(rng: np.random.Generator) -> tuple[str, str, list[str], str, int, int]:
    """Return a loss, a scorer, stages, an attack, N and K; half of all draws stand a Ladder against its attack."""
    stages = [str(stage) for stage in rng.choice(STAGES, rng.integers(0, 4))]
    loss, scorer, attack = (str(rng.choice(options)) for options in (LOSSES, SCORERS, ATTACKS))
    if rng.random() < 0.25:
        stages = [CLIP, *stages]
    if rng.random() < 0.5:
        loss, attack = "log-loss", "ladder-descent"
        stages = [*stages, f"ladder(step={rng.choice([0.003, 0.01, 0.02])})"]
    if loss == "softmax-log-loss" and scorer == "sklearn":
        scorer = "float64"
    return loss, scorer, stages, attack, int(rng.choice([3, 7, 12, 20, 33])), int(rng.choice([2, 2, 2, 3, 6]))


def rounds(seed: int, count: int) -> int:
    """Play ``count`` draws that make sense; return how many were certified."""
    rng, certified = np.random.default_rng(seed), 0
    played = 0
    while played < count:
        loss, scorer, stages, name, n, n_classes = case = drawn(rng)
        data = labelled(n, n_classes, rng)
        try:
            channel = BUILDER.build(Kind.CHANNEL, f"score(loss={loss}, scorer='{scorer}', queries=400)", "test")
            defences = tuple(BUILDER.build(Kind.DEFENCE, stage, "test") for stage in stages)
            attack = BUILDER.build(Kind.ATTACK, name, "test")
            assert isinstance(attack, ScoreAttack)
            assert all(isinstance(defence, ScoreDefence) for defence in defences)
            setting = Setting(data=data, attack=attack, defences=defences)
            threat = channel.threat(setting)
        except InputError:
            continue
        played += 1
        if attack.unsupported_reason(threat):
            continue
        promise = attack.promise(threat)
        right = []
        for trial in range(TRIALS):
            rngs = np.random.default_rng([seed, played, trial]).spawn(2)
            right.append(channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1]).n_correct)
        if promise is not None and promise.certified:
            certified += 1
            assert right == [n] * TRIALS, case
        for ceiling in theory(BUILDER, "score", threat).ceilings:
            margin = ceiling.allowance + 4 * math.sqrt(0.25 / (n * TRIALS))
            assert sum(right) / (n * TRIALS) <= ceiling.accuracy + margin, (case, ceiling)
    return certified


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_every_certified_promise_is_kept(seed: int) -> None:
    assert rounds(seed, ROUNDS) >= ROUNDS // 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_every_certified_promise_is_kept_in_many_rounds(seed: int) -> None:
    assert rounds(seed, 7 * ROUNDS) >= ROUNDS // 2


@pytest.mark.parametrize(
    ("n", "n_classes", "loss", "stages"),
    [
        (3, 2, "log-loss", ()),
        (33, 3, "squared-euclidean", ()),
        (3, 2, "log-loss", ("randomised-response(epsilon=1.0)", "clip(epsilon=0.2)")),
    ],
)
def test_camouflage_solves_equations_that_depend_on_each_other(
    n: int, n_classes: int, loss: str, stages: tuple[str, ...]
) -> None:
    data = labelled(n, n_classes, np.random.default_rng(0))
    attack = BUILDER.build(Kind.ATTACK, "camouflage", "test")
    channel = BUILDER.build(Kind.CHANNEL, f"score(loss={loss}, scorer='bfloat16')", "test")
    setting = Setting(
        data=data, attack=attack, defences=tuple(BUILDER.build(Kind.DEFENCE, stage, "test") for stage in stages)
    )
    for seed in range(10):
        rngs = np.random.default_rng(seed).spawn(2)
        outcome = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
        assert outcome.evidence["answers"] > 0


@pytest.mark.parametrize(
    ("attack", "loss", "stages", "clause"),
    [
        ("powers-blocks", "log-loss", ("randomised-response(epsilon=3.0, fresh=True)",), "of a size that is known"),
        (
            "powers-blocks",
            "sigmoid-log-loss",
            ("subset(share=0.5, fresh=True)", "score-noise(model=gaussian(scale=0.001))"),
            "of a size that is known",
        ),
        ("doubling", "softmax-log-loss", ("score-noise(model=multiplicative(alpha=0.001))",), "cannot outgrow"),
        ("doubling", "log-loss", ("subset(share=0.5, fresh=True)",), "of a size that is known"),
    ],
)
def test_gaps_without_a_limit_need_noise_with_one(attack: str, loss: str, stages: tuple[str, ...], clause: str) -> None:
    channel = BUILDER.build(Kind.CHANNEL, f"score(loss={loss}, scorer='exact')", "test")
    defences = tuple(BUILDER.build(Kind.DEFENCE, stage, "test") for stage in stages)
    setting = Setting(data=labelled(20, 2, np.random.default_rng(0)), defences=defences)
    built = BUILDER.build(Kind.ATTACK, attack, "test")
    assert clause in built.unsupported_reason(channel.threat(setting))

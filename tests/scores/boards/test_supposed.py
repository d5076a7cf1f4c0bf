"""Attacks on metrics behind what hardly ever happens: they suppose that it does not, and promise nothing."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.game.channel import ScoreChannel

BUILDER = Builder(Host.load())


def setting(attack: str, n_classes: int, *defences: str) -> Setting:
    labels = np.random.default_rng(0).integers(0, n_classes, 48)
    labels[:n_classes] = np.arange(n_classes)
    data = LabelSet(labels=labels, class_names=tuple("abcde"[:n_classes]), title="made", provenance="made")
    built = BUILDER.build(Kind.ATTACK, attack, "test")
    return Setting(data=data, attack=built, defences=BUILDER.pipeline(defences, "test"))


def board(metric: str) -> ScoreChannel:
    return ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"), queries=20)


def played(metric: str, attack: str, n_classes: int, *defences: str) -> Outcome:
    rngs = {"curator_rng": np.random.default_rng(1), "attack_rng": np.random.default_rng(2)}
    return board(metric).play(setting(attack, n_classes, *defences), **rngs)


@pytest.mark.parametrize(
    ("metric", "attack", "n_classes", "scale", "least"),
    [
        ("accuracy", "detecting-counts", 2, 1e-3, 44),
        ("roc-auc", "spaced-ranks", 2, 1e-4, 48),
        ("ndcg", "ranked-block", 2, 1e-6, 48),
        ("mse", "linear-weights", 5, 1e-6, 48),
        ("mae", "thresholds", 5, 1e-6, 48),
    ],
)
@pytest.mark.parametrize("model", ["gaussian", "laplace"])
def test_little_noise_hides_nothing_though_it_has_no_bound(
    metric: str, attack: str, n_classes: int, scale: float, least: int, model: str
) -> None:
    """Advice said that so little withstands the known attacks: all that could read through it refused."""
    nearer = ("confine",) if metric in ("mse", "mae") else ()
    noise = f"score-noise(model={model}(scale={scale}))"
    assert played(metric, attack, n_classes, *nearer, noise).n_correct >= least


@pytest.mark.parametrize(("metric", "attack"), [("accuracy", "detecting-counts"), ("roc-auc", "spaced-ranks")])
def test_labels_of_which_hardly_one_is_perturbed_are_read_as_they_are(metric: str, attack: str) -> None:
    assert played(metric, attack, 2, "randomised-response(epsilon=20)").n_correct >= 44


@pytest.mark.parametrize("metric", ["mse", "mae"])
def test_noise_that_is_nothing_beside_its_grid_is_supposed_to_be_rounded(metric: str) -> None:
    """Advice said that an epsilon of a million withstands every attack: all of them met their own supposition."""
    attack = {"mse": "linear-weights", "mae": "thresholds"}[metric]
    outcome = played(metric, attack, 5, "confine", "laplace-dp(epsilon=1000000, queries=20)")
    assert "contradiction" not in outcome.evidence
    assert outcome.n_correct >= 24


def test_what_is_supposed_is_no_promise_and_much_noise_is_refused() -> None:
    for defence in ("score-noise(model=gaussian(scale=0.001))", "randomised-response(epsilon=20)"):
        stage = setting("detecting-counts", 2, defence)
        assert stage.attack is not None
        assert stage.attack.promise(board("accuracy").threat(stage)) is None
    for defence in ("score-noise(model=gaussian(scale=0.1))", "randomised-response(epsilon=2)"):
        stage = setting("detecting-counts", 2, defence)
        assert stage.attack is not None
        assert stage.attack.unsupported_reason(board("accuracy").threat(stage)) != ""

"""Gradients at the logits: what is read off them, and what is not (V1, V1b, V1c, V5b, V11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from labelinf_core.contracts.components import ABSTAIN, LabelSet
from labelinf_split.attacks.logits import (
    CutArgmin,
    OddSign,
    SmoothedCut,
    below_smoothing,
    negative_entry,
    odd_one_out,
)
from labelinf_split.defences.published import CutLevels, CutSmoothing, MaxNorm
from labelinf_split.game.view import Side

NONE = {"top": Side.NONE}


def drawn(n: int, n_classes: int, spread: float, dtype: Any = np.float64, seed: int = 0) -> tuple[Any, Any]:
    """Return shares of classes of every confidence, and labels."""
    rng = np.random.default_rng(seed)
    logits = (rng.standard_normal((n, n_classes)) * rng.uniform(0, spread, (n, 1))).astype(dtype)
    return softmax(logits, axis=-1), rng.integers(0, n_classes, n)


def test_a_worked_gradient_has_one_negative_entry() -> None:
    """p = (.2, .3, .5), y = 1."""
    assert negative_entry(np.array([0.2, -0.7, 0.5])) == 1
    assert odd_one_out(np.array([[0.2, -0.7, 0.5], [-0.2, 0.7, -0.5]])).tolist() == [1, 1]


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_a_hard_label_shows_is_the_label_down_to_underflow(n_classes: int, dtype: Any) -> None:
    """In single precision many records have no negative entry; all that say something say the label."""
    p, labels = drawn(20_000, n_classes, 40.0, dtype)
    shown = negative_entry(p - np.eye(n_classes, dtype=dtype)[labels])

    assert (shown[shown != ABSTAIN] == labels[shown != ABSTAIN]).all()
    assert (shown != ABSTAIN).mean() > 0.95
    assert negative_entry(np.zeros((1, n_classes), dtype=dtype)).tolist() == [ABSTAIN]


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_the_smallest_entry_of_a_smoothed_label_is_its_own_only_by_the_condition(n_classes: int) -> None:
    """argmin(g) = y if and only if p_y - min p_j < 1 - share, the other classes' minimum."""
    p, labels = drawn(50_000, n_classes, 8.0)
    share, rows = 0.2, np.arange(50_000)
    g = p - ((1 - share) * np.eye(n_classes)[labels] + share / n_classes)
    others = np.where(np.eye(n_classes)[labels] == 1, np.inf, p).min(axis=1)

    assert ((g.argmin(axis=1) == labels) == (p[rows, labels] - others < 1 - share)).all()
    assert 0.1 < (g.argmin(axis=1) == labels).mean() < 0.999
    assert (below_smoothing(g, share)[g.argmin(axis=1) != labels] == ABSTAIN).all()


def test_a_worked_smoothed_label_is_not_the_smallest_entry() -> None:
    """p = (.05, .9, .05), share .2, K = 3, y = 1."""
    g = np.array([0.05, 0.9, 0.05]) - (0.8 * np.eye(3)[1] + 0.2 / 3)

    assert g.argmin() != 1
    assert below_smoothing(g, 0.2) == ABSTAIN


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_what_lies_below_the_smoothing_is_the_label(share: float, dtype: Any) -> None:
    for n_classes in (2, 3, 10):
        p, labels = drawn(30_000, n_classes, 20.0, dtype)
        soft = ((1 - share) * np.eye(n_classes)[labels] + share / n_classes).astype(dtype)
        shown = below_smoothing((p - soft).astype(np.float64), share)

        assert (shown[shown != ABSTAIN] == labels[shown != ABSTAIN]).all()
        assert (shown != ABSTAIN).mean() > 0.3


def test_a_cosine_of_different_classes_can_be_positive() -> None:
    """K = 3: (-1, 0, 1) is of class 0 and (0, -1, 1) of class 1; the mean of orthonormal rows is -1 / (K - 1)."""
    one, two = np.array([-1.0, 0, 1]), np.array([0.0, -1, 1])
    assert one @ two / np.linalg.norm(one) / np.linalg.norm(two) == pytest.approx(0.5)
    assert negative_entry(np.stack([one, two])).tolist() == [0, 1]
    for n_classes in (3, 10):
        q = 1 / n_classes - np.eye(n_classes)
        assert q[0] @ q[1] / np.linalg.norm(q[0]) ** 2 == pytest.approx(-1 / (n_classes - 1))


def test_without_features_every_label_is_certified(
    share: Callable[..., float], played: Any, four: LabelSet, two: LabelSet
) -> None:
    for data in (two, four):
        run, planted = played(data, **NONE)
        guess = CutArgmin().run(run.view, np.random.default_rng(0))
        assert (guess.labels == planted).all()
        assert guess.evidence["certified"] == 1
        assert share(CutArgmin(), data, label_features=True, **NONE) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"label_features": True},
        {"smoothed": 0.1},
        {"smoothed": 0.3, "epochs": 20},
        {"label_features": True, "epochs": 40},
    ],
)
def test_nothing_is_certified_outside_what_is_assumed(played: Any, four: LabelSet, settings: dict[str, Any]) -> None:
    """The attack is not told that the label party has features, or that labels are smoothed."""
    import attrs

    smoothed = settings.pop("smoothed", 0)
    run, planted = played(four, *([CutSmoothing(share=smoothed)] if smoothed else []), **NONE, **settings)
    threat = run.view.threat
    bare = attrs.evolve(threat, run=attrs.evolve(threat.run, label_features=False), effects=(), defences=())
    guess = CutArgmin().run(attrs.evolve(run.view, threat=bare), np.random.default_rng(0))
    surest = np.asarray(guess.confidence) >= 1e6

    assert (guess.labels == planted)[surest].all()
    assert guess.evidence["certified"] < 0.05


def test_smoothed_labels_are_read_with_their_public_share(played: Any, four: LabelSet) -> None:
    run, planted = played(four, CutSmoothing(share=0.1), label_features=True, epochs=3, **NONE)
    guess = SmoothedCut().run(run.view, np.random.default_rng(0))
    proved = np.asarray(guess.confidence) == 1

    assert (guess.labels == planted)[proved].all()
    assert guess.evidence["proved"] > 0.9


def test_signs_and_max_norm_noise_hide_nothing_at_the_logits(share: Callable[..., float], four: LabelSet) -> None:
    one_release = {"label_features": True, "epochs": 1, **NONE}
    assert share(OddSign(), four, MaxNorm(), **one_release) == 1
    assert share(CutArgmin(), four, CutLevels(step=0.0, limit=0.1), **one_release) == 1

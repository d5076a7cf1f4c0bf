"""Random rows, explained together: labels from any metric through what constructions cannot read through."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.attacks.random_halves import RandomHalves
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.decoders.approximate_messages import class_shares
from labelinf_scores.game.channel import ScoreChannel

BUILDER = Builder(Host.load())


def made(n_records: int, n_classes: int = 2) -> LabelSet:
    labels = np.random.default_rng(0).integers(0, n_classes, n_records)
    labels[:n_classes] = np.arange(n_classes)
    names = tuple(f"c{k}" for k in range(n_classes))
    return LabelSet(labels=labels, class_names=names, title="made", provenance="made")


def setting(data: LabelSet, *defences: str, attack: str = "random-halves") -> Setting:
    built = BUILDER.build(Kind.ATTACK, attack, "test")
    return Setting(data=data, attack=built, defences=BUILDER.pipeline(defences, "test"))


def played(metric: str, data: LabelSet, *defences: str, queries: int = 0) -> Outcome:
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"), queries=queries)
    rngs = {"curator_rng": np.random.default_rng(1), "attack_rng": np.random.default_rng(2)}
    return channel.play(setting(data, *defences), **rngs)


def noise(scale: float) -> str:
    return f"score-noise(model=gaussian(scale={scale}))"


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "n_classes", "defence"),
    [
        ("roc-auc", 2, noise(0.01)),
        ("average-precision", 2, noise(0.005)),
        ("ndcg", 2, noise(0.003)),
        ("reciprocal-rank", 2, noise(0.005)),
        ("precision", 2, noise(0.1)),
        ("f1", 2, noise(0.01)),
        ("f1", 2, "round(decimals=2)"),
        ("macro-f1", 3, noise(0.003)),
        ("accuracy", 3, noise(0.003)),
        ("roc-auc-ovr", 3, noise(0.003)),
        ("quadratic-kappa", 3, noise(0.003)),
        ("mse", 3, noise(1.0)),
        ("mae", 3, noise(0.005)),
        ("rmsle", 3, noise(0.0005)),
    ],
)
def test_it_reads_every_kind_of_metric_through_noise(metric: str, n_classes: int, defence: str) -> None:
    """All labels, where a query tells enough of them."""
    outcome = played(metric, made(40, n_classes), defence)
    assert outcome.n_correct == 40


def test_what_constructions_refuse_it_plays() -> None:
    """Behind much noise of no bound, and labels many of which are perturbed, none of the others can be played."""
    data = made(60)
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, "roc-auc", "test"))
    for defence, spec in itertools.product((noise(0.2), "randomised-response"), shipped()["metrics"]):
        stage = setting(data, defence, attack=spec)
        assert stage.attack is not None
        assert stage.attack.unsupported_reason(channel.threat(stage)), (defence, spec)
    assert set(channel.strongest(channel.threat(setting(data)))) >= {"random-halves"}


@pytest.mark.long
def test_perturbed_labels_come_out_as_they_are_scored() -> None:
    """Every label that was scored, of which e^2 / (e^2 + 1) are true."""
    outcome = played("accuracy", made(200), "randomised-response(epsilon=2)")
    assert outcome.n_correct == pytest.approx(200 * 0.88, abs=12)


@pytest.mark.long
def test_of_a_secret_part_its_own_labels_come_out() -> None:
    """Half of the labels, and what a blind guess has of the others."""
    outcome = played("accuracy", made(100), "subset(share=0.5)")
    assert outcome.n_correct >= 70


@pytest.mark.long
def test_it_stays_within_its_budget_and_stops_when_sure() -> None:
    """A budget is spent where labels stay open; without noise fewer queries than labels are enough."""
    assert played("roc-auc", made(60), noise(0.1), queries=25).queries == 25
    free = played("roc-auc", made(150))
    assert free.n_correct == 150
    assert free.queries < 150


@pytest.mark.long
def test_a_record_that_was_never_set_apart_is_guessed_blindly() -> None:
    """Twenty answers about a record each say nothing of forty others, and it does not claim to know them."""
    outcome = played("precision", made(60), noise(0.1), queries=20)
    assert outcome.evidence["share set apart"] == pytest.approx(1 / 60)
    assert outcome.evidence["wrong labels expected"] > 15


def test_it_needs_two_classes_and_an_order() -> None:
    """Whose row is whose must not change."""
    threat = ScoreChannel(metric=BUILDER.build(Kind.METRIC, "accuracy", "test")).threat(
        setting(made(20), "permute-labels")
    )
    assert "order" in RandomHalves().unsupported_reason(threat)


def test_decoding_agrees_with_all_labellings_tried_out() -> None:
    """The likeliest of all 2^10 labellings by brute force, where the answers leave no doubt."""
    rng = np.random.default_rng(3)
    rows = np.array([rng.permutation(np.repeat([0, 1], 5)) for _ in range(30)])
    labels = rng.integers(0, 2, 10)
    signs, points = np.array([[-1.0], [1.0]]), np.array([[-0.5], [0.5]])
    answers = signs[rows, 0] @ points[labels, 0] + rng.normal(0, 0.3, 30)
    every = np.indices((2,) * 10).reshape(10, -1).T
    fit = signs[rows, 0] @ points[every, 0].T - answers[:, None]
    likeliest = every[(fit - fit.mean(axis=0)).std(axis=0).argmin()]
    found = class_shares(rows, answers, features=signs, points=points, prior=np.array([0.5, 0.5]))
    assert found.argmax(axis=1).tolist() == likeliest.tolist()

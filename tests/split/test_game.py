"""The game: gradients are what they should be, runs are reproducible, and what is asked for must fit."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.special import softmax

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.testing.imports import discovery_imports
from labelinf_split.attacks.logits import CutArgmin
from labelinf_split.attacks.published import CutClusters, CutDirection, CutNorm, ModelCompletion
from labelinf_split.attacks.solved import LinearTop
from labelinf_split.game.channel import SplitChannel
from labelinf_split.game.training import SplitNetwork
from labelinf_split.game.view import Side, SplitView


@pytest.mark.parametrize("sizes", [(), (3, 2), (3, 5, 2)])
def test_gradients_are_those_of_finite_differences(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    network, x = SplitNetwork(sizes, rng, np.float64), rng.standard_normal((4, 3))
    out = network.forward(x)
    weight = rng.standard_normal(out.shape)
    gradients, inputs = network.backward(weight)
    for array, gradient in [*zip(network.weights, gradients, strict=True), (x, inputs)]:
        for place in np.ndindex(array.shape):
            kept, values = array[place], []
            for moved in (1e-6, -1e-6):
                array[place] = kept + moved
                values.append(float((network.forward(x) * weight).sum()))
            array[place] = kept
            assert gradient[place] == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("top", [*Side])
@pytest.mark.parametrize("label_features", [False, True])
def test_training_learns_and_everything_is_recorded(
    played: Any, four: LabelSet, top: Side, label_features: bool
) -> None:
    run, planted = played(four, top=top, label_features=label_features, epochs=12, rate=1e-2)
    view: SplitView = run.view

    assert run.test_accuracy > 0.4
    assert (run.trained[: planted.size] == planted).all()
    assert (run.trained[planted.size :] == run.natural[planted.size :]).all()
    assert np.isfinite(view.sent).all()
    assert sorted(np.unique(view.step).tolist()) == list(range(view.n_steps))
    assert all(len(set(np.nonzero(view.step == step)[0].tolist())) == 1 for step in range(view.n_steps))
    assert set(view.shots[0].tolist()).isdisjoint(view.targets.tolist())
    assert (run.natural[view.shots[0]] == view.shots[1]).all()


@pytest.mark.parametrize("bottom", [*Side])
@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_any_bottom_trains_with_any_optimiser(played: Any, four: LabelSet, bottom: Side, optimiser: str) -> None:
    run, _ = played(four, bottom=bottom, optimiser=optimiser, rate=1e-2)
    assert np.isfinite(run.view.sent).all()
    moved = np.abs(run.view.embeddings[-1] - run.view.embeddings[0]).max()
    assert (moved == 0) == (bottom is Side.NONE)


def test_a_gradient_without_a_top_is_the_softmax_less_the_label(played: Any, four: LabelSet) -> None:
    run, _ = played(four, top=Side.NONE)
    expected = softmax(run.view.embeddings.astype(np.float64), axis=-1) - np.eye(4)[run.trained]
    assert np.abs(run.view.sent - expected).max() < 1e-6


def test_a_frozen_label_party_stays_as_it_was(played: Any, four: LabelSet) -> None:
    run, _ = played(four, top_known=True, frozen=True)
    assert (run.view.top_weights == run.view.top_weights[0]).all()
    run, _ = played(four, top_known=True)
    assert not (run.view.top_weights == run.view.top_weights[0]).all()


def test_a_run_is_its_seed(two: LabelSet) -> None:
    channel, setting = SplitChannel(), Setting(data=two, attack=LinearTop())
    games = [
        channel.play(setting, curator_rng=np.random.default_rng(seed), attack_rng=np.random.default_rng(0))
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(games[0].truth, games[1].truth)
    assert not np.array_equal(games[0].truth, games[2].truth)
    assert games[0].n_correct == games[0].n_records
    assert games[0].placebo is not None
    assert games[0].audited is not None
    assert games[0].audited.at_least > 1
    assert games[0].placebo.n_correct < games[0].n_records


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"top": Side.NONE, "bottom": Side.NONE}, "there must be a bottom"),
        ({"encrypted": True, "bottom": Side.NONE}, "there must be a bottom"),
        ({"canaries": 0.001}, "too few"),
    ],
)
def test_settings_that_do_not_fit_are_refused(two: LabelSet, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SplitChannel(**settings).threat(Setting(data=two))


def test_one_feature_cannot_be_shared(two: LabelSet) -> None:
    assert two.features is not None
    with pytest.raises(InputError, match="two parties need one each"):
        SplitChannel().threat(Setting(data=attrs.evolve(two, features=two.features[:, :1])))


def test_published_attacks_read_a_linear_top_and_say_what_they_lack(played: Any, four: LabelSet, two: LabelSet) -> None:
    for data, least in ((two, 0.99), (four, 0.9)):
        run, planted = played(data, label_features=True)
        for attack in (CutDirection(), CutClusters()):
            assert np.mean(attack.run(run.view, np.random.default_rng(0)).labels == planted) >= least
    blind = SplitChannel(shots=0).threat(Setting(data=two))
    for other in (CutDirection(), CutNorm(), CutClusters(), ModelCompletion(), LinearTop()):
        assert "known labels" in other.unsupported_reason(blind)
    assert CutArgmin().unsupported_reason(SplitChannel(top=Side.MLP).threat(Setting(data=two))) != ""


def test_a_top_of_two_layers_sends_one_class_to_both_sides() -> None:
    """Logit |z|: of two records of class 1 one gradient is -.269, the other .269."""
    top, z = SplitNetwork((1, 2, 2), np.random.default_rng(0), np.float64), np.array([[1.0], [-1.0]])
    top.weights[:] = [np.array([[1.0, -1.0]]), np.zeros(2), np.array([[0.0, 1.0], [0.0, 1.0]]), np.zeros(2)]
    _, sent = top.backward(softmax(top.forward(z), axis=1) - np.eye(2)[[1, 1]])
    assert sent[:, 0] == pytest.approx([-0.2689, 0.2689], abs=1e-4)


@pytest.mark.parametrize(("widest", "exact"), [(44, True), (180, False)])
def test_directions_are_exact_where_slopes_agree_in_pairs_and_not_else(
    played: Any, two: LabelSet, widest: int, exact: bool
) -> None:
    """Slopes of the logit within 44 degrees of a line have positive products, two by two."""
    run, planted = played(two, top=Side.MLP, width=2, epochs=1)
    for seed in range(20):
        rng, n = np.random.default_rng(seed), run.trained.size
        angles = np.radians(rng.uniform(-widest, widest, n))
        slopes = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        sent = (rng.uniform(0.01, 0.99, n) - run.trained)[:, None] * slopes
        view = attrs.evolve(run.view, gradients=sent[None])
        right = CutDirection().run(view, rng).labels == planted
        alike = (sent @ sent.T > 0) == (run.trained[:, None] == run.trained)

        assert right.all() == alike.all() == (slopes @ slopes.T > 0).all() == exact


def test_one_direction_can_read_what_products_do_not(played: Any, two: LabelSet) -> None:
    """Slopes at -50, 0 and 50 degrees: the product of two is negative, all have one with the middle."""
    run, planted = played(two, top=Side.MLP, width=2, epochs=1, shots=15)
    n, angles = run.trained.size, np.radians([-50, 0, 50])
    slopes = np.stack([np.cos(angles), np.sin(angles)], axis=1)[np.arange(n) % 3]
    sent = (0.5 - run.trained)[:, None] * slopes
    assert not ((sent @ sent.T > 0) == (run.trained[:, None] == run.trained)).all()
    view = attrs.evolve(run.view, gradients=sent[None])
    assert (CutDirection().run(view, np.random.default_rng(0)).labels == planted).all()


def test_completion_reads_natural_labels_and_no_canaries(played: Any, four: LabelSet) -> None:
    """What features and labels have in common is no leak of a record: the placebo column."""
    run, planted = played(four, epochs=12, rate=1e-2, label_features=True)
    others = np.setdiff1d(np.arange(planted.size, run.natural.size), run.view.shots[0])
    for on in ("embeddings", "features", "both"):
        for method in ("logistic", "centroids", "spreading"):
            said = ModelCompletion(on=on, method=method).scores(run.view).argmax(axis=1)
            assert np.mean(said[others] == run.natural[others]) > 0.4
            assert np.mean(said[: planted.size] == planted) < 0.45  # 51 canaries, chance .25


ROOT = Path(__file__).parents[2]
BENEATH = ("labelinf_core", "labelinf_data", "labelinf_privacy")


def imported(room: Path) -> set[tuple[str, str]]:
    """Return modules of this project that a room imports from, and what, outside itself."""
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in room.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    whole = {(name.name, "") for node in nodes if isinstance(node, ast.Import) for name in node.names}
    named = {(str(node.module), name.name) for node in nodes if isinstance(node, ast.ImportFrom) for name in node.names}
    return {pair for pair in whole | named if pair[0].startswith("labelinf") and not pair[0].startswith(room.name)}


def test_the_room_uses_nothing_that_an_outside_package_could_not() -> None:
    """Public names of the core and of what rooms share; no other room, and nothing below an underscore."""
    found = imported(ROOT / "plugins" / "labelinf_split")
    assert len(found) > 20
    for module, name in found:
        assert module.partition(".")[0] in BENEATH
        assert not any(part.startswith("_") for part in module.split("."))
        inside = f"{module}.{name}"
        public = getattr(importlib.import_module(module), "__all__", ())
        assert name in public or importlib.util.find_spec(inside) is not None, inside


def test_nothing_beneath_the_room_knows_it() -> None:
    homes = [ROOT / name if name == "labelinf_core" else ROOT / "plugins" / name for name in BENEATH]
    files = [file for home in homes for file in home.rglob("*") if file.suffix in {".py", ".toml", ".jinja"}]
    assert len(files) > 100
    assert [file for file in files if "labelinf_split" in file.read_text(encoding="utf-8")] == []


def test_discovery_imports_nothing_heavy() -> None:
    assert discovery_imports("labelinf_split.plugin") == frozenset()

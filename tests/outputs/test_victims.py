"""Anything with fit and predict_proba can be a victim; what cannot says why."""

from __future__ import annotations

import contextlib
import sys
import types
from typing import Any

import numpy as np
import pytest
from diffprivlib.models import LogisticRegression

from labelinf_core.contracts.errors import InputError
from labelinf_outputs.game.training import Recipe, TrainingTask, one_hot
from labelinf_outputs.game.victims import VICTIMS, make_victim


def task(labels: list[int], n_classes: int = 2, recipe: Recipe = Recipe(), **targets: Any) -> TrainingTask:  # noqa: B008
    rng = np.random.default_rng(0)
    y = one_hot(np.array(labels), n_classes)
    return TrainingTask(
        features=rng.standard_normal((len(labels), 5)), targets=targets.get("targets", y), recipe=recipe
    )


def train(name: str, given: TrainingTask) -> Any:
    return make_victim(name).train(given, np.random.default_rng(0))


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module of the user's own."""
    module = types.ModuleType("userhome")
    monkeypatch.setitem(sys.modules, "userhome", module)
    return module


@pytest.mark.parametrize("name", [*sorted({*VICTIMS} - {"dp-logistic"}), "sklearn.tree:DecisionTreeClassifier"])
def test_it_learns_and_predicts_probabilities(name: str) -> None:
    given = task([0, 1] * 20)
    trained = train(name, given)

    probabilities = np.exp(trained.model.log_probabilities(given.features))

    assert probabilities.shape == (40, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.array_equal(trained.training_labels, [0, 1] * 20)


def test_a_class_that_is_absent_from_training_gets_next_to_no_probability() -> None:
    given = task([0, 2] * 10, n_classes=3)

    logs = train("sklearn.tree:DecisionTreeClassifier", given).model.log_probabilities(given.features)

    assert (logs[:, 1] < -600).all()
    assert np.array_equal(logs.argmax(axis=1), [0, 2] * 10)


def test_soft_targets_become_weights() -> None:
    features = np.zeros((1, 1))
    soft = TrainingTask(features=features, targets=np.array([[0.25, 0.75]]))

    logs = train("sklearn.tree:DecisionTreeClassifier", soft).model.log_probabilities(features)

    np.testing.assert_allclose(np.exp(logs), [[0.25, 0.75]])


def test_smoothing_reaches_the_targets_but_not_the_training_labels() -> None:
    given = TrainingTask(features=np.zeros((1, 1)), targets=np.eye(2)[[1]], recipe=Recipe(label_smoothing=0.4))

    trained = train("sklearn.tree:DecisionTreeClassifier", given)

    np.testing.assert_allclose(np.exp(trained.model.log_probabilities(given.features)), [[0.2, 0.8]])
    assert trained.training_labels == [1]


def test_the_recipe_and_a_seed_reach_a_factory(home: Any) -> None:
    made: list[dict[str, Any]] = []

    class Model:
        def __init__(self, epochs: int = 1, random_state: int = 0) -> None:
            made.append({"epochs": epochs, "random_state": random_state})

        def fit(self, x: Any, y: Any) -> None:
            self.classes_ = np.unique(y)

        def predict_proba(self, x: Any) -> Any:
            return np.full((len(x), 2), 0.5)

    home.Model = Model
    for seed in (0, 0, 1):
        make_victim("userhome:Model").train(task([0, 1], recipe=Recipe(epochs=7)), np.random.default_rng(seed))

    assert [item["epochs"] for item in made] == [7, 7, 7]
    assert made[0]["random_state"] == made[1]["random_state"] != made[2]["random_state"]


def test_an_epsilon_reaches_a_factory_that_takes_anything_beside_it(home: Any) -> None:
    """As diffprivlib's own classes do: without it a claim of .1 is tested of a model that keeps its default of 1."""
    made: list[Any] = []

    class Model:
        def __init__(self, epsilon: float = 1.0, **others: Any) -> None:
            made.append((epsilon, others))

        def fit(self, x: Any, y: Any) -> None: ...

        def predict_proba(self, x: Any) -> Any:
            return np.full((len(x), 2), 0.5)

    home.Model = Model
    make_victim("userhome:Model").train(task([0, 1], recipe=Recipe(epsilon=0.1)), np.random.default_rng(0))

    assert made == [(0.1, {})]


def test_logistic_regression_of_diffprivlib_runs_or_says_which_versions_it_needs() -> None:
    given = task([0, 1] * 20, recipe=Recipe(epsilon=1.0))
    with contextlib.suppress(TypeError):
        LogisticRegression(data_norm=1.0)
        assert train("dp-logistic", given).model.log_probabilities(given.features).shape == (40, 2)
        return
    with pytest.raises(InputError, match=r"runs with scikit-learn below 1\.8 and SciPy below 1\.18\.$"):
        train("dp-logistic", given)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nonsense", r"'nonsense' must be one of mlp, .* or your own module:factory"),
        ("no_such_module:Model", "cannot be imported: there is no module 'no_such_module'"),
        ("numpy:no_such", "numpy has no 'no_such'"),
        ("math:pi", "is not a function"),
    ],
)
def test_an_unknown_victim_is_one_sentence(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_victim(name)


def test_a_recipe_that_does_not_fit_the_victim_is_one_sentence() -> None:
    with pytest.raises(InputError, match="'logistic' takes no 'epochs', which a defence or the channel sets"):
        train("logistic", task([0, 1], recipe=Recipe(epochs=3)))


def test_soft_targets_for_a_victim_that_takes_labels_only_are_one_sentence() -> None:
    soft = task([0, 1], targets=np.array([[0.5, 0.5], [0.2, 0.8]]))

    with pytest.raises(InputError, match="'neighbours' takes hard labels only, and a defence gives it soft ones"):
        train("neighbours", soft)


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("__init__", RuntimeError("no licence"), r"cannot be made: it raised RuntimeError\.$"),
        ("fit", RuntimeError("out of memory"), r"raised RuntimeError in fit\.$"),
        ("predict_proba", RuntimeError("gone"), r"raised RuntimeError in its prediction\.$"),
        ("predict_proba", np.zeros((2, 5)), r"predicted an array of shape \(2, 5\)"),
        ("predict_proba", np.full((2, 2), np.nan), "or one with NaN"),
    ],
)
def test_a_model_of_the_users_that_fails_is_one_sentence(home: Any, method: str, body: Any, message: str) -> None:
    def broken(self: Any, *arguments: Any) -> Any:
        if isinstance(body, Exception):
            raise body
        return body

    methods = {"fit": lambda self, x, y: None, "predict_proba": lambda self, x: np.full((len(x), 2), 0.5)}
    home.Model = type("Model", (), {**methods, method: broken})

    with pytest.raises(InputError, match=message):
        train("userhome:Model", task([0, 1])).model.log_probabilities(np.zeros((2, 5)))

"""What an auditor trains: the built-in network, scikit-learn's models, or any class the user names.

A victim is written as a name of :data:`VICTIMS` or as ``module:factory``. The factory is called with the parts of the
recipe that were set (``epochs``, ``weight_decay``, ``epsilon``) and with ``random_state`` where it
takes one; it returns an object with ``fit`` and ``predict_proba``. Soft targets go to an object with ``soft_targets =
True`` as they are; anybody else gets every record once per class, weighted, when its ``fit`` takes ``sample_weight``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.gate import named, own_words
from labelinf_core.specs.own_code import watched_function
from labelinf_outputs.game.training import Predictor, Recipe, Trained, TrainingTask

__all__ = ["ANEW", "VICTIMS", "Victim", "make_victim"]

Floats = NDArray[np.float64]

VICTIMS = {
    "mlp": "labelinf_outputs.game.mlp:Mlp",
    "memory": "labelinf_outputs.game.memory:Memory",
    "logistic": "sklearn.linear_model:LogisticRegression",
    "forest": "sklearn.ensemble:RandomForestClassifier",
    "neighbours": "sklearn.neighbors:KNeighborsClassifier",
    "boosting": "sklearn.ensemble:GradientBoostingClassifier",
    "dp-bayes": "labelinf_outputs.victims.private:DpBayes",
    "dp-forest": "labelinf_outputs.victims.private:DpForest",
    "dp-logistic": "labelinf_outputs.victims.private:DpLogistic",
}  #: short names of the models that come with labelinf and with scikit-learn

ANEW = frozenset({*VICTIMS, *VICTIMS.values()})
#: those that forget what others of their kind were trained on; of anybody else's nobody knows

_ANY = "**"
_SMALLEST = 1e-300  # stands in for a probability of zero before its logarithm is taken


@attrs.frozen(kw_only=True)
class Victim:
    """A kind of model that can be trained.

    Attributes:
        target: ``module:factory``.
        factory: Makes an untrained model.
    """

    target: str
    factory: Callable[..., Any] = attrs.field(repr=False)

    def train(self, task: TrainingTask, rng: np.random.Generator) -> Trained:
        """Train one model; the innermost stage of every pipeline.

        Raises:
            InputError: It cannot be made from the recipe, cannot be fitted, or predicts something else than
                probabilities of K classes.
        """
        model = self._make(task.recipe, int(rng.integers(2**31)))
        smooth = task.recipe.label_smoothing
        targets = (1 - smooth) * task.targets + smooth / task.n_classes
        try:
            given = _given(model, task.features, targets)
            if given is not None:
                model.fit(*given[0], **given[1])
        # Somebody's model may raise anything at all, and what it says may hold the labels it is handed.
        except Exception as error:
            if own_words(error):
                raise
            raise InputError(f"victim {self.target!r} raised {named(error)} in fit.") from error
        if given is None:
            raise InputError(f"victim {self.target!r} takes hard labels only, and a defence gives it soft ones.")
        fitted = _Fitted(target=self.target, model=model, n_classes=task.n_classes)
        return Trained(model=fitted, targets=task.targets)

    def _make(self, recipe: Recipe, seed: int) -> Any:
        wanted = {"epochs": recipe.epochs, "weight_decay": recipe.weight_decay}
        known = _parameters(self.factory)
        given = {name: value for name, value in wanted.items() if value is not None}
        if known is not None and _ANY not in known and (missing := given.keys() - known):
            raise InputError(
                f"victim {self.target!r} takes no {sorted(missing)[0]!r}, which a defence or the channel sets."
            )
        if known is not None and "epsilon" in known and recipe.epsilon is not None:
            given["epsilon"] = recipe.epsilon
        if known is not None and "random_state" in known:
            given["random_state"] = seed
        try:
            return self.factory(**given)
        except Exception as error:
            raise InputError(f"victim {self.target!r} cannot be made: it raised {named(error)}.") from error


@attrs.frozen(kw_only=True)
class _Fitted(Predictor):
    """Turns what a model predicts into log-probabilities of all K classes, absent ones included."""

    target: str
    model: Any
    n_classes: int

    def log_probabilities(self, features: Floats) -> Floats:
        logs = hasattr(self.model, "predict_log_proba") and getattr(self.model, "soft_targets", False)
        try:
            answer = np.asarray(
                self.model.predict_log_proba(features) if logs else self.model.predict_proba(features), dtype=float
            )
        except Exception as error:
            raise InputError(f"victim {self.target!r} raised {named(error)} in its prediction.") from error
        known = np.asarray(getattr(self.model, "classes_", np.arange(self.n_classes)), dtype=np.intp)
        if answer.shape != (len(features), known.size) or np.isnan(answer).any():
            raise InputError(
                f"victim {self.target!r} predicted an array of shape {answer.shape} or one with NaN; expected "
                f"probabilities of shape {(len(features), known.size)}."
            )
        whole = np.full((len(features), self.n_classes), np.log(_SMALLEST))
        whole[:, known] = answer if logs else np.log(np.maximum(answer, _SMALLEST))
        return whole


def _given(model: Any, features: Floats, targets: Floats) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return what a model is fitted to; None when it cannot be fitted to such targets."""
    if getattr(model, "soft_targets", False):
        return (features, targets), {}
    if np.array_equal(targets, targets.astype(bool)):
        return (features, targets.argmax(axis=1)), {}
    if "sample_weight" in (_parameters(model.fit) or ()):
        rows, classes = np.nonzero(targets > 0)
        return (features[rows], classes), {"sample_weight": targets[rows, classes]}
    return None


def _parameters(function: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names a function takes, ``_ANY`` where it takes others too; None when nobody knows."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return frozenset(_ANY if item.kind is item.VAR_KEYWORD else item.name for item in parameters)


def make_victim(name: str) -> Victim:
    """Return the victim that a suite names.

    Raises:
        InputError: It is neither a known name nor a ``module:factory`` that can be imported.
    """
    target = VICTIMS.get(name, name)
    if ":" not in target:
        raise InputError(f"victim {name!r} must be one of {', '.join(VICTIMS)} or your own module:factory.")
    return Victim(target=name, factory=watched_function(target, "victim"))

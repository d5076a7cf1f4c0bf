"""Rules for defences of the model-output channel. They stand around a model that forgets nothing.

That model is a *memory*: it predicts exactly what it was fitted to. No victim shows more of its training labels, so
whatever a defence guarantees has to hold there. Nothing is trained.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.testing.rules import NotApplicableError, belongs, exceeds, require, untouched
from labelinf_outputs.game.output import OutputDefence, OutputThreat
from labelinf_outputs.game.training import Predictor, Trained, TrainingTask, one_hot
from labelinf_privacy import auditing

__all__ = ["RULES"]

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

_N, _MANY = 24, 4_000  # records, and those on which a guarantee is tried
_CLASSES = (2, 4)


class _Memory(Predictor):
    """Predicts what it was fitted to, and the uniform distribution of what it never saw. A feature is a name."""

    def __init__(self, task: TrainingTask) -> None:
        self._n_classes = task.n_classes
        self._seen = dict(zip(task.features[:, 0].tolist(), task.targets, strict=True))

    def log_probabilities(self, features: Floats) -> Floats:
        unknown = np.full(self._n_classes, 1 / self._n_classes)
        said = np.array([self._seen.get(name, unknown) for name in features[:, 0].tolist()])
        return np.asarray(np.log(np.maximum(said, 1e-300)))


def _memorise(task: TrainingTask, rng: np.random.Generator) -> Trained:
    rows = len(task.features)
    require(task.features.ndim == 2, f"it passed features of shape {task.features.shape} on, expected (n, d)")
    require(rows == task.n_records, f"it passed {rows} records and {task.n_records} targets on")
    whole = np.isfinite(task.targets).all() and np.allclose(task.targets.sum(axis=1), 1)
    require(whole and (task.targets >= 0).all(), "it passed targets on that are not shares of the classes")
    return Trained(model=_Memory(task), targets=task.targets)


@attrs.frozen(kw_only=True, eq=False)
class _Released:
    """What came out of one pipeline."""

    labels: Labels
    trained: Trained
    probabilities: Floats


def _task(n_records: int, n_classes: int) -> TrainingTask:
    labels = np.random.default_rng(5).integers(0, n_classes, n_records)
    return TrainingTask(features=np.arange(n_records, dtype=float)[:, None], targets=one_hot(labels, n_classes))


def _pipeline(component: object, task: TrainingTask, seed: int = 6) -> _Released:
    defence, rng = belongs(component, OutputDefence), np.random.default_rng(seed)
    trained = defence.train(task, _memorise, rng)
    require(isinstance(trained, Trained), f"train returned {type(trained).__name__}, expected Trained")
    own = np.exp(trained.model.log_probabilities(task.features))
    return _Released(
        labels=task.targets.argmax(axis=1), trained=trained, probabilities=np.asarray(defence.release(own, rng))
    )


def _trains_and_releases(defence: OutputDefence) -> None:
    for n_classes in _CLASSES:
        found, shape = _pipeline(defence, _task(_N, n_classes)), (_N, n_classes)
        told = found.trained.targets.shape
        require(told == shape, f"it trained on targets of shape {told}, expected {shape}: a row per record of the task")
        released = found.probabilities
        require(released.shape == shape, f"it released an array of shape {released.shape}, expected {shape}")
        proper = np.isfinite(released).all() and (released >= 0).all() and (released <= 1).all()
        require(proper, "it released something else than probabilities")


def _is_seeded(defence: OutputDefence) -> None:
    one, two = (_pipeline(defence, _task(_N, 4)) for _ in range(2))
    same = np.array_equal(one.probabilities, two.probabilities)
    same = same and np.array_equal(one.trained.targets, two.trained.targets, equal_nan=True)
    require(same, "the same generator must give the same model and outputs; draw from rng alone")


def _leaves_its_input_alone(component: object) -> None:
    defence, task = belongs(component, OutputDefence), _task(_N, 4)
    shown = np.random.default_rng(7).dirichlet(np.ones(4), _N)
    with untouched(features=task.features, targets=task.targets, probabilities=shown):
        _pipeline(defence, task)
        defence.release(shown, np.random.default_rng(8))


def _is_hashable(defence: OutputDefence) -> None:
    try:
        hash(defence)
    except TypeError as error:
        raise AssertionError(f"it must be hashable, victims are kept for every pipeline ({error})") from error


def _told(component: object, n_records: int, n_classes: int, **facts: Any) -> OutputThreat:
    prior = (1 / n_classes,) * n_classes
    threat = OutputThreat(n_records=n_records, n_classes=n_classes, prior=prior, n_training=n_records, **facts)
    told = belongs(component, OutputDefence).tell(threat)
    require(isinstance(told, OutputThreat), f"tell returned {type(told).__name__}, expected OutputThreat")
    return told  # type: ignore[return-value]


def _states_its_guarantee(defence: OutputDefence) -> None:
    told = _told(defence, _N, 2)
    require(told.label_epsilon >= 0, f"it states label-DP with epsilon {told.label_epsilon}, expected at least 0")
    require(0 <= told.label_delta <= 1, f"it states label-DP with delta {told.label_delta}, expected 0 to 1")
    behind = _told(defence, _N, 2, label_epsilon=0.1)
    require(behind.label_epsilon <= 0.1, "behind a mechanism it is post-processing, and must not loosen what is stated")


def _says_when_it_mixes(component: object) -> None:
    """Mechanisms behind a defence that trains several times are used several times: their guarantee would be false."""
    defence = belongs(component, OutputDefence)
    told = _told(defence, _N, 2)
    used: Counter[float] = Counter()

    def counting(task: TrainingTask, rng: np.random.Generator) -> Trained:
        used.update(task.features[:, 0].tolist())
        return _memorise(task, rng)

    defence.train(_task(_N, 2), counting, np.random.default_rng(9))
    once = max(used.values(), default=0) <= 1
    message = "it trains on a label more than once and guarantees nothing: it must tell mixed=True"
    require(once or told.mixed or math.isfinite(told.label_epsilon), message)


def _keeps_its_guarantee(component: object) -> None:
    defence = belongs(component, OutputDefence)
    certified = False
    for n_classes in _CLASSES:
        told = _told(defence, _MANY, n_classes)
        stated = [item.accuracy for item in defence.ceilings(told)]
        stated.append(auditing.label_dp_ceiling(told.label_epsilon, n_classes, told.label_delta))
        ceiling = min(stated)
        if math.isclose(ceiling, 1):
            continue
        certified = True
        found = _pipeline(defence, _task(_MANY, n_classes))
        correct = int((found.probabilities.argmax(axis=1) == found.labels).sum())
        require(
            not exceeds(correct, _MANY, ceiling),
            f"a model that memorises gives {correct} of {_MANY} labels back; its guarantee allows {ceiling:.1%}",
        )
    if not certified:
        raise NotApplicableError("certificate: none")


RULES: tuple[tuple[str, Callable[[OutputDefence], None]], ...] = (
    ("trains-and-releases", _trains_and_releases),
    ("is-seeded", _is_seeded),
    ("leaves-its-input-alone", _leaves_its_input_alone),
    ("is-hashable", _is_hashable),
    ("states-its-guarantee", _states_its_guarantee),
    ("says-when-it-mixes", _says_when_it_mixes),
    ("keeps-its-guarantee", _keeps_its_guarantee),
)  #: what every defence of this channel is held to, beside what holds for all components

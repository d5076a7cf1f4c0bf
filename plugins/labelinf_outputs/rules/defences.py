"""Rules for defences of the model-output channel. They stand around a model that forgets nothing.

That model is a :mod:`~labelinf_outputs.game.memory`: no victim shows more of its training labels, so whatever a defence
guarantees has to hold there. Nothing is trained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.statistics import epsilon_bounds
from labelinf_core.testing.rules import NotApplicableError, belongs, exceeds, require, untouched
from labelinf_outputs.bounds.planted_labels import PlantedLabels
from labelinf_outputs.game.effects import Unknown, allowed_uses
from labelinf_outputs.game.output import ActiveOutputDefence, OutputDefence, OutputThreat
from labelinf_outputs.game.training import Trained, TrainingTask, one_hot
from labelinf_outputs.game.uses import uses
from labelinf_outputs.game.victims import make_victim
from labelinf_outputs.game.view import Outputs

__all__ = ["RULES"]

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

_N, _MANY = 24, 20_000  # records, and those on which a guarantee is tried
_CLASSES = (2, 4)
_IMPROBABLE = 1e-6 / 8  # probability that one attack of a rule accuses a mechanism that keeps its guarantee


def _memorise(task: TrainingTask, rng: np.random.Generator) -> Trained:
    rows = len(task.features)
    require(task.features.ndim == 2, f"it passed features of shape {task.features.shape} on, expected (n, d)")
    require(rows == task.n_records, f"it passed {rows} records and {task.n_records} targets on")
    whole = np.isfinite(task.targets).all() and np.allclose(task.targets.sum(axis=1), 1)
    require(whole and (task.targets >= 0).all(), "it passed targets on that are not shares of the classes")
    return make_victim("memory").train(task, rng)


@attrs.frozen(kw_only=True, eq=False)
class _Released:
    """What came out of one pipeline."""

    labels: Labels
    trained: Trained
    probabilities: Floats


def _task(n_records: int, n_classes: int) -> TrainingTask:
    labels, records = np.random.default_rng(5).integers(0, n_classes, n_records), np.arange(n_records)
    return TrainingTask(features=records[:, None].astype(float), targets=one_hot(labels, n_classes), records=records)


def _active(component: object, n_records: int, n_classes: int) -> ActiveOutputDefence:
    """Return a defence's part in one game."""
    threat = _threat(n_records, n_classes)
    return belongs(component, OutputDefence).start(threat, np.random.default_rng(0))


def _pipeline(component: object, task: TrainingTask) -> _Released:
    defence, rng = _active(component, task.n_records, task.n_classes), np.random.default_rng(6)
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
    defence, task = _active(component, _N, 4), _task(_N, 4)
    shown = np.random.default_rng(7).dirichlet(np.ones(4), _N)
    with untouched(features=task.features, targets=task.targets, probabilities=shown):
        defence.train(task, _memorise, np.random.default_rng(6))
        defence.release(shown, np.random.default_rng(8))


def _is_hashable(defence: OutputDefence) -> None:
    try:
        hash(defence)
    except TypeError as error:
        raise AssertionError(f"it must be hashable, victims are kept for every pipeline ({error})") from error


def _threat(n_records: int, n_classes: int) -> OutputThreat:
    prior = (1 / n_classes,) * n_classes
    return OutputThreat(n_records=n_records, n_classes=n_classes, prior=prior, n_training=n_records)


def _behind(component: object, n_records: int, n_classes: int) -> OutputThreat:
    return _threat(n_records, n_classes).behind(belongs(component, OutputDefence))


def _says_what_it_does(component: object) -> None:
    one, two = (_behind(component, _N, n_classes).effects for n_classes in _CLASSES[:1] * 2)
    require(one == two, "effects() must say the same whenever it is asked")


def _passed(defence: OutputDefence, task: TrainingTask) -> list[TrainingTask]:
    """Return what a defence asks the next stage to train on."""
    passed = []

    def keeping(inner: TrainingTask, rng: np.random.Generator) -> Trained:
        passed.append(inner)
        return _memorise(inner, rng)

    _active(defence, task.n_records, task.n_classes).train(task, keeping, np.random.default_rng(9))
    return passed


def _trains_as_often_as_declared(component: object) -> None:
    """Mechanisms behind a defence that trains several times are used several times: their guarantee composes."""
    defence, task = belongs(component, OutputDefence), _task(_N, 2)
    declared, found = allowed_uses(_behind(defence, _N, 2).effects), uses(task, _passed(defence, task))
    message = f"it trains on a label {found:g} times and declares {declared:g}; Retrained or Mixed is missing"
    require(found <= declared, message)


def _keeps_labels_apart(component: object) -> None:
    """One label must not reach the targets of other records, nor decide who is trained on, unless that is declared."""
    defence, task = belongs(component, OutputDefence), _task(_N, 2)
    if math.isinf(allowed_uses(_behind(defence, _N, 2).effects)):
        raise NotApplicableError("it declares that labels meet, or that a mechanism answers for them")
    before = _passed(defence, task)
    for record in range(0, _N, 5):
        labels = task.targets.argmax(axis=1)
        labels[record] = 1 - labels[record]
        after = _passed(defence, task.with_labels(labels))
        same = len(before) == len(after) and all(map(_same_but(record), before, after))
        require(same, "the label of one record changes what it does with others; its effects must have Mixed()")


def _same_but(record: int) -> Callable[[TrainingTask, TrainingTask], bool]:
    def same(one: TrainingTask, two: TrainingTask) -> bool:
        if one.records is None or two.records is None or not np.array_equal(one.records, two.records):
            return False
        others = one.records != record
        return np.array_equal(one.features, two.features) and np.array_equal(one.targets[others], two.targets[others])

    return same


def _releases_what_it_is_given(component: object) -> None:
    """What was learnt of labels while it trained must not come out again past the mechanisms that stand behind it."""
    defence = belongs(component, OutputDefence)
    if math.isinf(allowed_uses(_behind(defence, _N, 2).effects)):
        raise NotApplicableError("it declares that labels meet, or that a mechanism answers for them")
    shown, labels = np.random.default_rng(7).dirichlet(np.ones(2), _N), _task(_N, 2).targets.argmax(axis=1)
    released = []
    for told in (labels, labels, 1 - labels):
        active = _active(defence, _N, 2)
        active.train(_task(_N, 2).with_labels(told), _memorise, np.random.default_rng(9))
        released.append(active.release(shown, np.random.default_rng(8)))
    one, again, other = released
    same = np.array_equal(one, other, equal_nan=True) or not np.array_equal(one, again, equal_nan=True)
    require(same, "it releases the same outputs otherwise when it trained on other labels; Unknown is what that is")


def _shows_what_it_declares(component: object) -> None:
    defence = belongs(component, OutputDefence)
    threat = _behind(defence, _N, 4)
    shown = np.random.default_rng(7).dirichlet(np.ones(4), _N)
    released = np.asarray(_active(defence, _N, 4).release(shown, np.random.default_rng(8)))
    if any(isinstance(item, Unknown) for item in threat.effects) or np.array_equal(released, shown):
        return
    said = threat.view.outputs is Outputs.TOP_ONE
    if released.shape != shown.shape:
        return
    alone = len(np.unique(released, axis=0)) <= shown.shape[1]  # a row for every class, whatever is in it
    require(said == alone, f"whether only the top class is shown: declared {said}, observed {alone}")


def _keeps_its_guarantee(component: object) -> None:
    """What a model that forgets nothing shows is attacked: by its top class, and value by value, low bits included."""
    defence = belongs(component, OutputDefence)
    certified = False
    for n_classes in _CLASSES:
        threat = _behind(defence, _MANY, n_classes)
        if math.isinf(threat.label_epsilon):
            continue
        certified, own = True, [item.accuracy for item in PlantedLabels().ceilings(threat)]
        found = _pipeline(defence, _task(_MANY, n_classes))
        for values in (found.probabilities, np.nan_to_num(found.trained.targets, nan=-1.0)):
            _stays_below(own, values, found.labels)
            for guesses in (_top(values, found.labels), _learned(values, found.labels)):
                _proves_no_more(threat, guesses)
    if not certified:
        raise NotApplicableError("certificate: none")


def _stays_below(ceilings: Sequence[float], values: Floats, labels: Labels) -> None:
    correct = int((values.argmax(axis=1) == labels).sum())
    for ceiling in ceilings:
        message = f"a model that memorises gives {correct} of {labels.size} labels back; it allows {ceiling:.1%}"
        require(math.isclose(ceiling, 1) or not exceeds(correct, labels.size, ceiling), message)


def _proves_no_more(threat: OutputThreat, ranked: NDArray[np.bool_]) -> None:
    if threat.label_delta > 0 and threat.n_classes > 2:
        return  # the bound is proved for two classes
    proved = epsilon_bounds.one_run_epsilon(
        ranked, n_canaries=ranked.size, n_classes=threat.n_classes, beta=_IMPROBABLE, delta=threat.label_delta
    )
    require(
        proved.epsilon <= threat.label_epsilon,
        f"a model that memorises gives {proved.correct} of {proved.guesses} labels back, which proves epsilon >= "
        f"{proved.epsilon:.2f}; its certificate is epsilon = {threat.label_epsilon:.2f}",
    )


def _top(values: Floats, labels: Labels) -> NDArray[np.bool_]:
    """Return whether the largest value is the label's, most certain first."""
    order = np.argsort(-values.max(axis=1), kind="stable")
    return np.asarray((values.argmax(axis=1) == labels)[order])


def _learned(values: Floats, labels: Labels) -> NDArray[np.bool_]:
    """Learn on every second record which label every exact value goes with; the same of the others, surest first."""
    _, symbols = np.unique(values, axis=0, return_inverse=True)
    symbols, known = symbols.ravel(), np.arange(labels.size) % 2 == 0
    counts = np.full((symbols.max() + 1, values.shape[1]), 0.5)
    np.add.at(counts, (symbols[known], labels[known]), 1)
    share = (counts / counts.sum(axis=1, keepdims=True))[symbols[~known]]
    order = np.argsort(-share.max(axis=1), kind="stable")
    return np.asarray((share.argmax(axis=1) == labels[~known])[order])


RULES: tuple[tuple[str, Callable[[OutputDefence], None]], ...] = (
    ("trains-and-releases", _trains_and_releases),
    ("is-seeded", _is_seeded),
    ("leaves-its-input-alone", _leaves_its_input_alone),
    ("is-hashable", _is_hashable),
    ("says-what-it-does", _says_what_it_does),
    ("trains-as-often-as-declared", _trains_as_often_as_declared),
    ("keeps-labels-apart", _keeps_labels_apart),
    ("releases-what-it-is-given", _releases_what_it_is_given),
    ("shows-what-it-declares", _shows_what_it_declares),
    ("keeps-its-guarantee", _keeps_its_guarantee),
)  #: what every defence of this channel is held to, beside what holds for all components

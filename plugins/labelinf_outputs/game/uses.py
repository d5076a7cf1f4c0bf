"""How often a stage trains on one label, counted while it does: what composition is owed, whatever was declared."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.errors import ComponentError, InputError
from labelinf_outputs.game.effects import allowed_uses
from labelinf_outputs.game.output import ActiveOutputDefence, OutputDefence, OutputThreat
from labelinf_outputs.game.training import Train, Trained, TrainingTask

__all__ = ["counted", "uses"]

Records = NDArray[np.intp]


def uses(given: TrainingTask, passed: Sequence[TrainingTask]) -> float:
    """Return how often the label of one record was passed on for every time that it was given; the most of any record.

    Infinity when a task does not say which records it has, or has some that were not given.
    """
    incoming, outgoing = _records(given), [_records(task) for task in passed]
    if incoming is None or any(records is None for records in outgoing):
        return math.inf
    met = np.concatenate([records for records in outgoing if records is not None] or [np.empty(0, dtype=np.intp)])
    if not np.isin(met, incoming).all():
        return math.inf
    size = int(incoming.max(initial=-1)) + 1
    had, has = np.bincount(incoming, minlength=size), np.bincount(met, minlength=size)
    return float((has[incoming] / had[incoming]).max(initial=0.0))


def _records(task: TrainingTask) -> Records | None:
    known = task.records is not None and task.records.shape == (task.n_records,) == task.features.shape[:1]
    return task.records if known else None


def counted(defence: OutputDefence, active: ActiveOutputDefence, threat: OutputThreat, train: Train) -> Train:
    """Return one stage of a pipeline, which raises when it trains on a label more often than its defence declares.

    Args:
        defence: Whose stage it is.
        active: Who plays it.
        threat: What is known of the stages nearer to the labels.
        train: The next stage towards the victim.
    """
    declared = allowed_uses(defence.effects(threat))

    def stage(task: TrainingTask, rng: np.random.Generator) -> Trained:
        passed: list[TrainingTask] = []

        def onward(inner: TrainingTask, inner_rng: np.random.Generator) -> Trained:
            passed.append(inner)
            return train(inner, inner_rng)

        with gate.attribute_errors(defence, quote=False):  # what it raises may hold the labels it is handed
            trained = active.train(task, onward, rng)
            if not isinstance(trained, Trained):
                raise ComponentError(f"it trained a {type(trained).__name__}, expected Trained")
        if (found := uses(task, passed)) > declared:
            often = "nobody knows how often" if math.isinf(found) else f"{found:g} times"
            raise InputError(
                f"defence {type(defence).__name__} trains on one label {often} and declares {declared:g}: a "
                f"certificate behind it would be false. Retrained(times=...) or Mixed() belongs to its effects."
            )
        return trained

    return stage

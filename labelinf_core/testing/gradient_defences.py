"""Rules for defences of the gradient channel: what their guard does to gradients that are made up.

A guarantee is tried on the two gradients that are easiest to tell apart: opposite and long, as those of one sample with
one or the other of two labels may be. Half of the releases show which way they differ, the other half are guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core import auditing
from labelinf_core.channels.gradient import GradientDefence, GradientThreat, Guard
from labelinf_core.testing.rules import NotApplicableError, belongs, exceeds, require, untouched

__all__ = ["RULES"]

Floats = NDArray[np.float64]

_BATCH, _ENTRIES = 3, 12
_LAYOUT = (slice(0, 8), slice(8, 12))
_TRIES = 600  # releases of each label: half to learn from, half to guess
_LENGTH = 100.0  # of gradients on which a guarantee is tried
_SLACK = 1e-9


def _threat(n_classes: int = 4, batch: int = 1) -> GradientThreat:
    prior = (1 / n_classes,) * n_classes
    return GradientThreat(n_records=6, n_classes=n_classes, prior=prior, batch=batch, has_bias=True, bias_shared=True)


def _told(component: object, threat: GradientThreat) -> GradientThreat:
    told = belongs(component, GradientDefence).tell(threat)
    require(isinstance(told, GradientThreat), f"tell returned {type(told).__name__}, expected GradientThreat")
    return told  # type: ignore[return-value]


def _guard(component: object, threat: GradientThreat, seed: int = 1) -> Guard:
    return belongs(component, GradientDefence).start(_told(component, threat), np.random.default_rng(seed))


def _gradients(seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((_BATCH, _ENTRIES))


def _through(guard: Guard, gradients: Floats) -> tuple[Floats, Floats]:
    """Return what a guard makes of the samples' gradients, and of their mean."""
    own = np.asarray(guard.examples(gradients.copy(), _LAYOUT))
    require(own.shape == gradients.shape, f"examples() has shape {own.shape}, expected {gradients.shape}")
    released = np.asarray(guard.release(own.mean(axis=0), _LAYOUT))
    require(released.shape == (_ENTRIES,), f"release() has shape {released.shape}, expected ({_ENTRIES},)")
    return own, released


def _keeps_shapes(defence: GradientDefence) -> None:
    for gradients in (_gradients(), np.zeros((_BATCH, _ENTRIES))):
        own, released = _through(_guard(defence, _threat(batch=_BATCH)), gradients)
        require(np.isfinite(own).all() and np.isfinite(released).all(), "it released something else than numbers")


def _is_seeded(defence: GradientDefence) -> None:
    one, two = (_through(_guard(defence, _threat(batch=_BATCH)), _gradients())[1] for _ in range(2))
    require(np.array_equal(one, two), "the same generator must give the same release; draw from rng alone")


def _leaves_its_input_alone(defence: GradientDefence) -> None:
    guard, gradients = _guard(defence, _threat(batch=_BATCH)), _gradients()
    mean = gradients.mean(axis=0)
    with untouched(gradients=gradients, mean=mean):
        guard.examples(gradients, _LAYOUT)
        guard.release(mean, _LAYOUT)


def _tells_its_clip(defence: GradientDefence) -> None:
    threat = _threat(batch=_BATCH)
    told = _told(defence, threat)
    if math.isinf(told.clip):
        raise NotApplicableError("it does not clip")
    own, _ = _through(_guard(defence, threat), _LENGTH * _gradients())
    longest = float(np.linalg.norm(own, axis=1).max())
    require(longest <= told.clip * (1 + _SLACK), f"a sample's gradient is {longest} long; it tells {told.clip}")


def _states_its_guarantee(defence: GradientDefence) -> None:
    told = _told(defence, _threat())
    require(told.label_epsilon >= 0, f"it states label-DP with epsilon {told.label_epsilon}, expected at least 0")
    require(0 <= told.label_delta <= 1, f"it states label-DP with delta {told.label_delta}, expected 0 to 1")
    require(told.noise_std >= 0, f"it tells noise of {told.noise_std}, expected at least 0")
    for ceiling in defence.ceilings(told):
        require(0 <= ceiling.accuracy <= 1, f"it states a ceiling of {ceiling.accuracy}, expected 0 to 1")
        require(ceiling.conditions and ceiling.statement, "a ceiling needs its conditions and its source")


def _keeps_its_guarantee(defence: GradientDefence) -> None:
    told = _told(defence, _threat(n_classes=2))
    stated = [ceiling.accuracy for ceiling in defence.ceilings(told)]
    ceiling = min([auditing.label_dp_ceiling(told.label_epsilon, 2, told.label_delta), *stated])
    if math.isclose(ceiling, 1):
        raise NotApplicableError("certificate: none")
    correct = _told_apart(_guard(defence, _threat(n_classes=2)))
    require(
        not exceeds(correct, _TRIES, ceiling),
        f"opposite gradients are told apart in {correct} of {_TRIES} releases; its guarantee allows {ceiling:.1%}",
    )


def _told_apart(guard: Guard) -> int:
    direction = np.zeros((1, _ENTRIES))
    direction[0, 0] = _LENGTH
    shown = np.array([[_through(guard, sign * direction)[1] for _ in range(_TRIES)] for sign in (-1, 1)])
    learnt, guessed = shown[:, : _TRIES // 2], shown[:, _TRIES // 2 :]
    low, high = learnt.mean(axis=1)
    sides = (guessed - (low + high) / 2) @ (high - low)
    return int((sides[0] < 0).sum() + (sides[1] > 0).sum())


RULES: tuple[tuple[str, Callable[[Any], None]], ...] = (
    ("keeps-shapes", _keeps_shapes),
    ("is-seeded", _is_seeded),
    ("leaves-its-input-alone", _leaves_its_input_alone),
    ("tells-its-clip", _tells_its_clip),
    ("states-its-guarantee", _states_its_guarantee),
    ("keeps-its-guarantee", _keeps_its_guarantee),
)  #: what every defence of this channel is held to, beside what holds for all components

"""Rules for defences of the gradient channel: what their guard does to gradients that are made up.

A guarantee is tried on the two gradients that are easiest to tell apart: opposite and long, as those of one sample with
one or the other of two labels may be. Half of the releases show which way they differ, the other half are guessed. It
is tried a second time behind a defence that makes any gradient long again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.testing.rules import NotApplicableError, belongs, exceeds, require, untouched
from labelinf_gradients.game.gradient import GradientDefence, GradientThreat, Guard, Layout
from labelinf_privacy import auditing

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


def _tells_what_it_lengthens(defence: GradientDefence) -> None:
    threat = attrs.evolve(_threat(batch=_BATCH), clip=_LENGTH, label_epsilon=1.0)
    told, directions = _told(defence, threat), _gradients()
    for order, holds in ((2, math.isfinite(told.clip)), (1, math.isfinite(told.label_epsilon))):
        long = _LENGTH * directions / np.linalg.norm(directions, ord=order, axis=1, keepdims=True)
        own = np.asarray(_guard(defence, threat).examples(long.copy(), _LAYOUT))
        longest = float(np.linalg.norm(own, ord=order, axis=1).max())
        require(
            not holds or longest <= _LENGTH * (1 + _SLACK),
            f"a sample's gradient of {order}-norm {_LENGTH:g} has {longest:g} behind it; tell that nothing holds",
        )


def _is_as_transparent_as_it_says(defence: GradientDefence) -> None:
    if not defence.transparent:
        raise NotApplicableError("it does not say so")
    one, two = _gradients(1)[0], _gradients(2)[0]
    left, right = (_guard(defence, _threat()).release(item.copy(), _LAYOUT) for item in (one, two))
    same = np.allclose(left - right, one - two, rtol=0, atol=_SLACK)
    require(same, "a transparent defence adds to releases what does not depend on them, and changes nothing else")


def _states_its_guarantee(defence: GradientDefence) -> None:
    told = _told(defence, _threat())
    require(told.label_epsilon >= 0, f"it states label-DP with epsilon {told.label_epsilon}, expected at least 0")
    require(0 <= told.label_delta <= 1, f"it states label-DP with delta {told.label_delta}, expected 0 to 1")
    require(told.noise_std >= 0, f"it tells noise of {told.noise_std}, expected at least 0")
    for ceiling in defence.ceilings(told):
        require(0 <= ceiling.accuracy <= 1, f"it states a ceiling of {ceiling.accuracy}, expected 0 to 1")
        require(ceiling.conditions and ceiling.statement, "a ceiling needs its conditions and its source")


class _Louder(Guard):
    def release(self, gradient: Floats, layout: Layout) -> Floats:
        return gradient * _LENGTH**2


@attrs.frozen(kw_only=True)
class _Loud(GradientDefence):
    """Makes releases long, as signs and levels and factors may."""

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> Guard:
        return _Louder()


def _keeps_its_guarantee(defence: GradientDefence) -> None:
    _holds(defence, ())


def _keeps_its_guarantee_behind_others(defence: GradientDefence) -> None:
    _holds(defence, (_Loud(),))


def _holds(defence: GradientDefence, before: tuple[GradientDefence, ...]) -> None:
    threat = attrs.evolve(_threat(n_classes=2), defences=(*before, defence))
    told = _told(defence, threat)
    stated = [ceiling.accuracy for ceiling in defence.ceilings(told)]
    ceiling = min([auditing.label_dp_ceiling(told.label_epsilon, 2, told.label_delta), *stated])
    if math.isclose(ceiling, 1):
        raise NotApplicableError("certificate: none")
    rng = np.random.default_rng(1)
    correct = _told_apart(_Chain([item.start(told, rng) for item in (*before, defence)]))
    require(
        not exceeds(correct, _TRIES, ceiling),
        f"opposite gradients are told apart in {correct} of {_TRIES} releases; its guarantee allows {ceiling:.1%}",
    )


class _Chain(Guard):
    def __init__(self, guards: list[Guard]) -> None:
        self._guards = guards

    def examples(self, gradients: Floats, layout: Layout) -> Floats:
        return functools.reduce(lambda left, guard: guard.examples(left, layout), self._guards, gradients)

    def release(self, gradient: Floats, layout: Layout) -> Floats:
        return functools.reduce(lambda left, guard: guard.release(left, layout), self._guards, gradient)


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
    ("tells-what-it-lengthens", _tells_what_it_lengthens),
    ("is-as-transparent-as-it-says", _is_as_transparent_as_it_says),
    ("keeps-its-guarantee", _keeps_its_guarantee),
    ("keeps-its-guarantee-behind-others", _keeps_its_guarantee_behind_others),
)  #: what every defence of this channel is held to, beside what holds for all components

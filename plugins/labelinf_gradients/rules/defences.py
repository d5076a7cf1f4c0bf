"""Rules for defences of the gradient channel: what they do to gradients that are made up.

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

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.statistics import epsilon_bounds
from labelinf_core.testing.rules import NotApplicableError, belongs, exceeds, require, untouched
from labelinf_gradients.bounds.certificates import GradientCertificate
from labelinf_gradients.game.effects import Batched, EntriesRounded, NormClipped
from labelinf_gradients.game.gradient import ActiveGradientDefence, GradientDefence, GradientThreat, Layout

__all__ = ["RULES"]

Floats = NDArray[np.float64]

_BATCH, _ENTRIES = 3, 12
_LAYOUT = (slice(0, 8), slice(8, 12))
_TRIES = 600  # releases of each label: half to learn from, half to guess
_LENGTH = 100.0  # of gradients on which a guarantee is tried
_SLACK = 1e-9
_OFF = 0.1  # relative: 7 200 draws of any usual noise are nearer to its standard deviation (kurtosis up to 9: 5 sigma)
_FEW = 20  # releases whose grid is looked at


def _threat(n_classes: int = 4, batch: int = 1) -> GradientThreat:
    prior = (1 / n_classes,) * n_classes
    effects = (Batched(size=batch),)
    return GradientThreat(n_records=6, n_classes=n_classes, prior=prior, has_bias=True, effects=effects)


def _told(component: object, threat: GradientThreat) -> GradientThreat:
    effects = belongs(component, GradientDefence).effects(threat)
    whole = isinstance(effects, tuple) and all(isinstance(item, Effect) for item in effects)
    require(whole, f"effects() returned {type(effects).__name__}, expected a tuple of effects")
    return threat.behind(belongs(component, GradientDefence))


def _active(component: object, threat: GradientThreat, seed: int = 1) -> ActiveGradientDefence:
    return belongs(component, GradientDefence).start(_told(component, threat), np.random.default_rng(seed))


def _gradients(seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((_BATCH, _ENTRIES))


def _through(active: ActiveGradientDefence, gradients: Floats) -> tuple[Floats, Floats]:
    """Return what an active defence makes of the samples' gradients, and of their mean."""
    own = np.asarray(active.examples(gradients.copy(), _LAYOUT))
    require(own.shape == gradients.shape, f"examples() has shape {own.shape}, expected {gradients.shape}")
    released = np.asarray(active.release(own.mean(axis=0), _LAYOUT))
    require(released.shape == (_ENTRIES,), f"release() has shape {released.shape}, expected ({_ENTRIES},)")
    return own, released


def _keeps_shapes(defence: GradientDefence) -> None:
    for gradients in (_gradients(), np.zeros((_BATCH, _ENTRIES))):
        own, released = _through(_active(defence, _threat(batch=_BATCH)), gradients)
        require(np.isfinite(own).all() and np.isfinite(released).all(), "it released something else than numbers")


def _is_seeded(defence: GradientDefence) -> None:
    one, two = (_through(_active(defence, _threat(batch=_BATCH)), _gradients())[1] for _ in range(2))
    require(np.array_equal(one, two), "the same generator must give the same release; draw from rng alone")


def _leaves_its_input_alone(defence: GradientDefence) -> None:
    active, gradients = _active(defence, _threat(batch=_BATCH)), _gradients()
    mean = gradients.mean(axis=0)
    with untouched(gradients=gradients, mean=mean):
        active.examples(gradients, _LAYOUT)
        active.release(mean, _LAYOUT)


def _shortens_as_it_says(defence: GradientDefence) -> None:
    effects = (NormClipped(norm=_LENGTH), NormClipped(norm=_LENGTH, order=1))
    known = _told(defence, attrs.evolve(_threat(batch=_BATCH), effects=(Batched(size=_BATCH), *effects))).facts
    directions = _gradients()
    for order, most in ((2, known.clip), (1, known.clip_sum)):
        long = _LENGTH * directions / np.linalg.norm(directions, ord=order, axis=1, keepdims=True)
        own, released = _through(_active(defence, _threat(batch=_BATCH)), long)
        longest = float(np.linalg.norm(own, ord=order, axis=1).max())
        said = f"{order}-norm {longest:g} behind it; its effects allow {most:g}"
        require(longest <= most * (1 + _SLACK), f"a sample's gradient of {order}-norm {_LENGTH:g} has {said}")
        length = float(np.linalg.norm(released, ord=order))
        kept = not known.bounded or math.isinf(most) or length <= most * (1 + _SLACK)
        require(
            kept, f"an average of {order}-norm {_LENGTH:g} at most has {length:g} behind it, and it says that it keeps"
        )


def _changes_what_it_says(defence: GradientDefence) -> None:
    known = _told(defence, _threat()).facts
    if known.altered or math.isinf(known.noise_std):
        raise NotApplicableError("it says that it changes entries")
    one, two = _gradients(1)[:1], _gradients(2)[:1]
    grid = max([noise.step for noise in known.noises], default=0.0)
    if math.isinf(known.clip):
        own = np.asarray(_active(defence, _threat()).examples(one.copy(), _LAYOUT))
        require(np.allclose(own, one, rtol=_SLACK, atol=grid), "it changes samples, and its effects do not say so")
    left, right = (_active(defence, _threat()).release(item[0].copy(), _LAYOUT) for item in (one, two))
    same = np.allclose(left - right, one[0] - two[0], rtol=0, atol=max(_SLACK, 2 * grid))
    require(same, "it does more to averages than to add what does not depend on them, and its effects do not say so")


def _adds_what_it_says(defence: GradientDefence) -> None:
    known = _told(defence, _threat()).facts
    if known.altered or not 0 < known.noise_std < math.inf:
        raise NotApplicableError("it adds no noise of known size, or does more")
    active = _active(defence, _threat())
    drawn = np.array([active.release(np.zeros(_ENTRIES), _LAYOUT) for _ in range(_TRIES)])
    off = abs(float(drawn.std()) / known.noise_std - 1)
    require(off < _OFF, f"its noise has standard deviation {drawn.std():.3g}, and it says {known.noise_std:.3g}")


def _stays_on_its_grid(defence: GradientDefence) -> None:
    proved = _told(defence, _threat()).facts.proved
    if not proved:
        raise NotApplicableError("certificate: none")
    active, step = _active(defence, _threat()), proved[-1].noise.step
    for gradients in (np.zeros((1, _ENTRIES)), _gradients()[:1] / _LENGTH):
        steps = np.array([_through(active, gradients)[1] for _ in range(_FEW)]) / step
        require((steps == np.rint(steps)).all(), f"noise is proved on a grid of step {step:g}, and leaves it")


def _states_its_guarantee(defence: GradientDefence) -> None:
    told = _told(defence, _threat())
    require(told.label_epsilon >= 0, f"it states label-DP with epsilon {told.label_epsilon}, expected at least 0")
    require(told.noise_std >= 0, f"it states noise of {told.noise_std}, expected at least 0")


@attrs.frozen(kw_only=True)
class _Loud(GradientDefence):
    """Makes releases long, as signs and levels and factors may."""

    def effects(self, threat: ThreatModel) -> tuple[EntriesRounded]:
        return (EntriesRounded(),)

    def release(self, gradient: Floats, layout: Layout) -> Floats:
        return gradient * _LENGTH**2


def _keeps_its_guarantee(defence: GradientDefence, before: tuple[GradientDefence, ...] = ()) -> None:
    told = _threat(n_classes=2).through((*before, defence))
    stated = [ceiling.accuracy for ceiling in GradientCertificate().ceilings(told)]
    ceiling = min([epsilon_bounds.label_dp_ceiling(told.label_epsilon, 2, told.label_delta), *stated])
    if math.isclose(ceiling, 1):
        raise NotApplicableError("certificate: none")
    rng = np.random.default_rng(1)
    correct = _told_apart(_Chain([item.start(told, rng) for item in (*before, defence)]))
    require(
        not exceeds(correct, _TRIES, ceiling),
        f"opposite gradients are told apart in {correct} of {_TRIES} releases; its guarantee allows {ceiling:.1%}",
    )


class _Chain(ActiveGradientDefence):
    def __init__(self, actives: list[ActiveGradientDefence]) -> None:
        self._actives = actives

    def examples(self, gradients: Floats, layout: Layout) -> Floats:
        return functools.reduce(lambda left, active: active.examples(left, layout), self._actives, gradients)

    def release(self, gradient: Floats, layout: Layout) -> Floats:
        return functools.reduce(lambda left, active: active.release(left, layout), self._actives, gradient)


def _told_apart(active: ActiveGradientDefence) -> int:
    direction = np.zeros((1, _ENTRIES))
    direction[0, 0] = _LENGTH
    shown = np.array([[_through(active, sign * direction)[1] for _ in range(_TRIES)] for sign in (-1, 1)])
    learnt, guessed = shown[:, : _TRIES // 2], shown[:, _TRIES // 2 :]
    low, high = learnt.mean(axis=1)
    sides = (guessed - (low + high) / 2) @ (high - low)
    return int((sides[0] < 0).sum() + (sides[1] > 0).sum())


RULES: tuple[tuple[str, Callable[[Any], None]], ...] = (
    ("keeps-shapes", _keeps_shapes),
    ("is-seeded", _is_seeded),
    ("leaves-its-input-alone", _leaves_its_input_alone),
    ("shortens-as-it-says", _shortens_as_it_says),
    ("changes-what-it-says", _changes_what_it_says),
    ("adds-what-it-says", _adds_what_it_says),
    ("stays-on-its-grid", _stays_on_its_grid),
    ("states-its-guarantee", _states_its_guarantee),
    ("keeps-its-guarantee", _keeps_its_guarantee),
    ("keeps-its-guarantee-behind-others", functools.partial(_keeps_its_guarantee, before=(_Loud(),))),
)  #: what every defence of this channel is held to, beside what holds for all components

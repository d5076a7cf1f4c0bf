"""Whether a scorer is a function of labels and predictions: the same question, asked again at several times."""

from __future__ import annotations

import enum

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.audit.probe.asker import Spoken

__all__ = ["Steadiness", "Steady", "steadiness"]

_RUN, _TURNS = 8, 4


class Steadiness(enum.Enum):
    """What answers to one question have in common; the clause that says so."""

    STEADY = "it answers one question alike at all times"
    NOISY = "its answers are noisy"
    DRIFTS = "the answer drifts with the number of calls"
    STATEFUL = "its answer to one question changes now and then, or depends on what was asked before"


@attrs.frozen(kw_only=True)
class Steady:
    """How steady a scorer is.

    Attributes:
        kind: The kind.
        std: Standard deviation of noise; 0 without any.
    """

    kind: Steadiness
    std: float = 0.0


def steadiness(ask: Spoken, labels: NDArray[np.intp], one: NDArray[np.float64], other: NDArray[np.float64]) -> Steady:
    """Return how a scorer answers ``one`` again, at once and after ``other``.

    Raises:
        InputError: It is refused.
    """
    run = np.array([ask(labels, one) for _ in range(_RUN)])
    turns = np.array([(ask(labels, other), ask(labels, one))[1] for _ in range(_TURNS)])
    every = np.concatenate([run, turns])
    if np.ptp(every) == 0:
        return Steady(kind=Steadiness.STEADY)
    if np.ptp(run[1:]) == 0:  # only what lay between, or the very first call, made a difference
        return Steady(kind=Steadiness.STATEFUL)
    steps = np.diff(every)
    if (steps >= 0).all() or (steps <= 0).all() or _turns(run):
        return Steady(kind=Steadiness.DRIFTS)
    return Steady(kind=Steadiness.NOISY, std=float(every.std(ddof=1)))


def _turns(run: NDArray[np.float64]) -> bool:
    """Whether answers come round again after a few calls."""
    return any((run[period:] == run[:-period]).all() for period in range(2, _RUN // 2 + 1))

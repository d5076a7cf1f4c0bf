r"""The smallest change of a client that is proved to help, put around its own code so that it can be tried.

Whatever a client sends about some records, clipped *as a whole* to norm S, moves noise of deviation ``m S`` by at most
S from the noise alone, which says nothing of them: how it came about, by one gradient or many local steps, does not
matter (labelinf theory, certificates: Gaussian). That is one more defence to the bound of all others
(:mod:`labelinf_gradients.bounds.certificates`), of what n clients send together one with ``sqrt(n)`` times the clip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Interval
from labelinf_gradients.bounds.certificates import GradientCertificate
from labelinf_gradients.defences.clipping import ClippedGaussian
from labelinf_gradients.game.effects import Batched, GaussianNoise, NoiseAdded, NormClipped
from labelinf_gradients.game.gradient import ActiveGradientDefence, GradientThreat

__all__ = ["Sends", "Tried", "allowed", "behind", "flat", "released", "smallest_multiplier", "usual_norm"]

_MULTIPLIERS = (0.05, 50.0)

Sends = Callable[[NDArray[np.float64], NDArray[np.intp]], Mapping[str, NDArray[np.float64]]]  #: about some records


@attrs.frozen(kw_only=True)
class Tried:
    """What is left of a client behind the change.

    Attributes:
        attack: The strongest attack there.
        correct: Labels that it recovered.
        share: The share of labels, with an interval that allows for having chosen it among all.
        louder: Length of the noise over that of the longest update.
    """

    attack: str
    correct: int
    share: Interval
    louder: float


def behind(sends: Sends, defence: ClippedGaussian, rng: np.random.Generator) -> Sends:
    """Return a client behind the change: what it sends is clipped as a whole and gets noise on a grid.

    Args:
        sends: The client, which sends the same parameters about any records.
        defence: Clips and adds noise; the whole of an update is one sample to it.
        rng: Of the noise.
    """
    stage = defence.start(GradientThreat(n_records=1, n_classes=2, prior=(0.5, 0.5)), rng)
    return lambda x, classes: released(stage, sends(x, classes))


def flat(parts: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Return all entries in one row."""
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts.values()])


def released(stage: ActiveGradientDefence, update: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Return what a stage that takes the whole of an update for one sample makes of it."""
    row = stage.release(stage.examples(flat(update)[None], ())[0], ())
    pieces = np.split(row, np.cumsum([part.size for part in update.values()])[:-1])
    return {name: own.reshape(part.shape) for own, (name, part) in zip(pieces, update.items(), strict=True)}


def allowed(multiplier: float, threat: GradientThreat, clients: int) -> float:
    """Return the largest share of labels that any attack has right on average, whoever knows the class counts.

    Args:
        multiplier: Standard deviation of every client's noise over its clipping norm.
        threat: Of labels: how many updates tell of, of how many in all, and how many are behind what is seen:
            ``threat.batch``, of all clients together.
        clients: How many add noise, each its own.
    """
    std = multiplier / math.sqrt(clients)
    noise = NoiseAdded(std=std, of_sum=True, step=2**-20, proof=GaussianNoise(std=std, whole=True))
    population = threat.population or threat.n_records
    effects = (Batched(size=threat.batch), NormClipped(norm=1.0), noise)
    seen = attrs.evolve(threat, population=population, own_effects=(), effects=effects)
    return min((item.reached for item in GradientCertificate().ceilings(seen)), default=1.0)


def smallest_multiplier(threat: GradientThreat, gain: float, clients: int = 1) -> float:
    """Return the smallest multiplier that leaves any attack ``gain`` beyond the blind guess.

    Infinity where none does, or where that is everything.

    Args:
        threat: Of labels and how many are behind what is seen.
        gain: Beyond ``threat.baseline``.
        clients: How many add noise.
    """
    low, high = _MULTIPLIERS
    target = threat.baseline + gain
    if target >= 1 or allowed(high, threat, clients) > target:
        return math.inf
    for _ in range(24):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if allowed(middle, threat, clients) <= target else (middle, high)
    return math.ceil(high * 1000) / 1000


def usual_norm(lengths: NDArray[np.float64]) -> float:
    """Return a norm to clip at, about that of most updates: to two digits, 1 where all are silent."""
    middle = float(np.median(lengths[lengths > 0])) if (lengths > 0).any() else 1.0
    return float(f"{middle:.1e}")

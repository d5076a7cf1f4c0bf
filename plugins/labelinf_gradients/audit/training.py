"""Which local training moves a module as a client does: optimiser, steps, rate and weight decay are fitted.

They are fitted on one batch and accepted on all. Steps are searched from coarse to fine; a rate follows from the length
of what is moved, by secants; a decay from what is left along the parameters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.audit.moves import Optimiser, Training

__all__ = ["Moved", "candidates", "rounded"]

_STEPS = (2, 3, 5, 8, 12, 20, 35, 60)
_FEW = 12  # steps that are tried of a large module
_LARGE = 1_000_000  # entries
_ROUGH, _FINE = 3, 20  # how often a rate is mended
_NEAR = 0.4  # share left: what is further off is not looked at more closely
_HIDDEN = 0.7  # share of noise, where nothing else would be seen
_EQUAL = 1e-5  # shares that are all the same
_SURE = 0.02  # and what is so near is looked at before any other optimiser

Moved = Callable[[Training], NDArray[np.float64]]


@attrs.frozen(kw_only=True)
class _Try:
    training: Training
    left: float


def candidates(
    update: NDArray[np.float64],
    slope: NDArray[np.float64],
    start: NDArray[np.float64],
    moved: Moved,
    *,
    size: int,
    noise: float = 0.0,
) -> Iterator[Training]:
    """Yield trainings that move nearly as an update does, the nearest first.

    Args:
        update: Its entries that are looked at, of one batch.
        slope: The same entries of the gradient.
        start: The same of the parameters.
        moved: What a training moves of them.
        size: Entries of the whole module.
        noise: Length of the noise in the update.
    """
    steps = tuple(count for count in _STEPS if size < _LARGE or count <= _FEW)
    floor, later = noise / float(np.linalg.norm(update)), []
    for optimiser in Optimiser if floor < _HIDDEN else ():
        tried = list(_rough(optimiser, steps, update, slope, moved))
        least = min(item.left for item in tried)
        if least < floor + _SURE:
            yield _refined(tried, update, start, moved, steps).training
        else:
            later.append((least, tried))
    for least, tried in sorted(later, key=lambda item: item[0])[:3]:
        if least < floor + _NEAR:
            yield _refined(tried, update, start, moved, steps).training


def rounded(training: Training) -> Iterator[Training]:
    """Yield trainings at the nearest rates and decays that somebody would write: of three to one digits.

    Where a unit of a network switches between two rates, both may move as far; which one was meant other batches tell.
    """
    rates, decays = (
        dict.fromkeys(float(f"{value:.{digits}g}") for digits in (3, 2, 1)) for value in (training.rate, training.decay)
    )
    for rate, decay in itertools.product(rates, decays):
        yield attrs.evolve(training, rate=rate, decay=decay)


def _rough(
    optimiser: Optimiser, steps: tuple[int, ...], update: NDArray[np.float64], slope: NDArray[np.float64], moved: Moved
) -> Iterator[_Try]:
    """Try numbers of steps while more of them leave less."""
    least, rising = math.inf, 0
    for count in (1, *steps) if optimiser.adaptive else steps:
        found = _rated(_first(optimiser, count, update, slope), update, moved, _ROUGH)
        least, rising = (found.left, 0) if found.left < least else (least, rising + 1)
        yield found
        if rising == 2:
            return


def _first(optimiser: Optimiser, steps: int, update: NDArray[np.float64], slope: NDArray[np.float64]) -> Training:
    training = Training(optimiser=optimiser, steps=steps, rate=1.0)
    if optimiser.adaptive:
        size = float(np.quantile(np.abs(update[update != 0]), 0.99))  # most may have no gradient, and decay alone
    else:
        size = abs(float(update @ slope)) / max(float(slope @ slope), 1e-300)
    return attrs.evolve(training, rate=size / training.reach)


def _rated(training: Training, update: NDArray[np.float64], moved: Moved, tries: int) -> _Try:
    """Return the training with the rate that moves as far, and the share of the update that it leaves."""
    best, rate, last = _Try(training=training, left=math.inf), training.rate, (math.nan, math.nan)
    size = max(float(np.linalg.norm(update)), 1e-300)
    for _ in range(tries):
        if not 0 < rate < 1e6:
            break
        trained = attrs.evolve(training, rate=rate)
        with np.errstate(all="ignore"):
            step = moved(trained)
        length = float(step @ step)
        if not np.isfinite(length) or length == 0:
            break
        ratio = float(update @ step) / length
        left = float(np.linalg.norm(update - math.copysign(1, ratio) * step)) / size
        if left < best.left:
            best = _Try(training=trained, left=left)
        own = math.log(rate), math.log(max(abs(ratio), 1e-9))
        slope = (own[1] - last[1]) / (own[0] - last[0]) if own[0] != last[0] else math.nan
        change = -own[1] / slope if math.isfinite(slope) and slope < -0.05 else own[1]
        if abs(change) < 1e-8:
            break
        rate, last = math.exp(own[0] + min(max(change, -1.5), 1.5)), own
    return best


def _refined(
    rough: list[_Try], update: NDArray[np.float64], start: NDArray[np.float64], moved: Moved, steps: tuple[int, ...]
) -> _Try:
    """Mend rates, try every small number of steps, halve the gaps between large ones, and look for weight decay."""
    best = min(rough, key=lambda item: item.left)
    unit, tried = best.training.rate * best.training.reach, {2 * steps[-1]}
    counts = [own for own in range(1, _FEW + 1) if own > 1 or best.training.optimiser.adaptive]
    while counts and best.left > _EQUAL:
        for count in counts:
            other = attrs.evolve(best.training, steps=count)
            trial = _rated(attrs.evolve(other, rate=unit / other.reach), update, moved, _FINE)
            best = trial if trial.left < best.left else best
            if best.left < _EQUAL:
                break
        tried |= {*counts, best.training.steps}
        own = best.training.steps
        below, above = max((n for n in tried if n < own), default=own), min(n for n in tried if n > own)
        counts = sorted({(below + own) // 2, (own + above) // 2} - tried - {0, 1})
    return best if best.training.optimiser.adaptive else _with_decay(best, update, start, moved)


def _with_decay(found: _Try, update: NDArray[np.float64], start: NDArray[np.float64], moved: Moved) -> _Try:
    """Look for weight decay; what decays hides how many steps there were, so that neighbours are tried with it."""
    best = _decayed(found, update, start, moved)
    for _ in range(_FEW if best.left > _EQUAL else 0):
        nearest = best
        for steps in (best.training.steps - 1, best.training.steps + 1):
            other = attrs.evolve(best.training, steps=max(2, steps))
            rate = best.training.rate * best.training.reach / other.reach
            trial = _rated(attrs.evolve(other, rate=rate), update, moved, _FINE)
            trial = _decayed(trial, update, start, moved)
            nearest = trial if trial.left < nearest.left else nearest
        if nearest is best or nearest.left < _EQUAL:
            best = nearest
            break
        best = nearest
    return best if best.left < 0.3 * found.left else found


def _decayed(found: _Try, update: NDArray[np.float64], start: NDArray[np.float64], moved: Moved) -> _Try:
    """Add the weight decay that explains what is left along the parameters, as far as that leaves less."""
    best = found
    for _ in range(4 if found.left > _EQUAL else 0):
        step = moved(best.training)
        sign = math.copysign(1, float(update @ step))
        along = float((sign * update - step) @ start) / max(float(start @ start), 1e-300)
        decay = best.training.decay - along / (best.training.rate * best.training.reach)
        if decay <= 0:
            break
        trial = _rated(attrs.evolve(best.training, decay=decay), update, moved, _FINE)
        if trial.left > 0.9 * best.left:
            break
        best = trial
    return best

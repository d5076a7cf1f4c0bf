"""Which metric a noisy scorer computes: the one that leaves no more of its mean answers than noise does.

Every question is asked many times. What a metric leaves of the means is counted in errors of a mean, squared and added
up: where that is more than chance makes of it, the metric is none. Where several metrics of one kind of rows stand, the
questions are asked again, more often, until one stands alone or that is asked too often. What was learnt then is a
guess, and is called one; so is what explains a scorer but roughly (weights, a part of the records, something unknown).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_core.contracts.labels import LabelSet
from labelinf_scores.audit.probe.identify import CLASSES_ALONE, GUESSED, Explained, Panel
from labelinf_scores.audit.probe.links import OFFSETS, PLAIN, Fit, Level, plain_factors
from labelinf_scores.audit.probe.spelling import HARD
from labelinf_scores.metrics.readings import Rows, ScoredMetric

__all__ = ["asked_often", "drifted", "through_noise"]

_REPEATS = 16  # of a question whose answers are noisy
_MORE, _ROUNDS = 4, 3  # times as many where several metrics stand, and how often
_DEAR = 3  # times as many as are asked, as which they count
_BIAS = 0.03  # of the noise: ratios over random records are off by more than the error of their mean
_BEYOND_CHANCE = 1e-4
_CLEAR = 50.0  # squared errors that a metric must explain
_CLOSE = 14.0  # squared errors by which chance does not part two metrics, e**-7
_MEASURED = 10.0  # squared errors that a measured factor must explain beyond a plain one
_PARTLY = 1e6  # what explains classes alone comes last
_ROUGH = 0.25  # share of the variance that a rough explanation may leave
_WIDE = 6.0  # errors of a mean
_TIGHT = 2.0**-40

Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True)
class _Standing:
    """A metric that may be behind noise.

    Attributes:
        found: The metric.
        left: Squared errors that it leaves.
        measured: Whether its factor and offset had to be measured.
    """

    found: Explained
    left: float
    measured: bool

    @property
    def order(self) -> float:
        """What is closest and simplest comes first."""
        return self.left + _MEASURED * self.measured + _PARTLY * bool(self.found.beyond)


def asked_often(panels: Sequence[Panel], repeats: int = _REPEATS) -> list[Panel]:
    """Return panels with mean answers, how far off those may be, and the noise of one; no question is asked of two.

    What one kind of rows and another are asked reads alike to a scorer, and many answers cost much.
    """
    first: dict[bytes, Panel] = {}
    found = []
    for panel in panels:
        known = first.get(panel.questions)
        found.append(
            attrs.evolve(known, ask=panel.ask, trials=panel.trials, runs=()) if known else _often(panel, repeats)
        )
        first.setdefault(panel.questions, found[-1])
    return found


def _often(panel: Panel, repeats: int = _REPEATS) -> Panel:
    asker = panel.ask.asker
    asker.repeats, answers, runs = repeats, [], []
    for trial in panel.trials:
        answers.append(panel.ask(trial.labels, trial.predictions))
        runs.append(asker.run)
    spreads = np.std(runs, axis=1, ddof=1)
    noise = float(np.sqrt(np.mean(np.square(spreads))))
    errors = np.hypot(np.maximum(spreads, noise) / math.sqrt(repeats), _BIAS * noise) + _TIGHT
    return attrs.evolve(panel, answers=np.array(answers), errors=errors, noise=noise, runs=runs)


def drifted(panel: Panel) -> bool:
    """Whether the first question of a panel with mean answers is by now answered otherwise than noise explains."""
    try:
        now = _often(attrs.evolve(panel, trials=panel.trials[:1]))
    except (InputError, QueryRefusedError):
        return False
    finally:
        panel.ask.asker.repeats = 1
    return bool(abs(now.answers[0] - panel.answers[0]) > _WIDE * np.hypot(now.errors[0], panel.errors[0]))


def through_noise(asked: Sequence[Panel], metrics: Mapping[str, ScoredMetric], data: LabelSet) -> Explained | None:
    """Return what explains mean answers; None where nothing does, not even roughly.

    Args:
        asked: Panels with mean answers.
        metrics: What may explain them.
        data: The labels, of which what was learnt must hold, too.
    """
    parts = [np.ones(data.n_records, dtype=bool)]
    panels, repeats = list(asked), _REPEATS
    standing = list(_standing(panels, metrics, parts))
    while len(rivals := _rivals(standing)) > 1 and repeats < _REPEATS * _MORE**_ROUNDS:
        chosen = rivals[0].found.panel
        costs = chosen.ask.spelling, Rows.COSTS
        told = {chosen.questions, *(p.questions for p in panels if (p.ask.spelling, p.ask.rows) == costs)}
        repeats *= _MORE
        chosen.ask.asker.repeats = repeats
        if not chosen.ask.asker.affords(_DEAR * len(told) * len(chosen.trials)):
            break
        again = iter(asked_often([panel for panel in panels if panel.questions in told], repeats))
        panels = [next(again) if panel.questions in told else panel for panel in panels]
        standing = list(_standing(panels, metrics, parts))
    asked[0].ask.asker.repeats = _REPEATS
    if standing:
        best, *others = _rivals(standing)
        # Noise hides what a factor that is measured makes up for.
        sure = not others and not best.measured and _holds(best.found, data)
        return best.found if sure else attrs.evolve(best.found, beyond=GUESSED)
    rough = list(_standing(panels, metrics, parts, rough=True))
    return attrs.evolve(_rivals(rough)[0].found, beyond=GUESSED) if rough else None


def _standing(
    panels: Sequence[Panel],
    metrics: Mapping[str, ScoredMetric],
    parts: Sequence[NDArray[np.bool_]],
    *,
    rough: bool = False,
) -> Iterator[_Standing]:
    """Yield every metric that leaves no more than chance does, or a part of the variance where that will do."""
    for panel, part, (name, metric) in itertools.product(panels, parts, metrics.items()):
        if metric.rows is not panel.ask.rows:
            continue
        own = panel.own(name, metric, part)
        if not np.isfinite(own).all() or np.ptp(own) == 0:
            continue
        for fit, measured in _fits(own, panel, int(part.sum())):
            left = _left(fit, own, panel)
            least = float(((panel.answers - panel.answers.mean()) ** 2 / panel.errors**2).sum())
            stands = left <= (_ROUGH * least if rough else _by_chance(own.size - 2 * measured))
            if stands and least - left > _CLEAR:
                left = 100 * left / least if rough else left  # of answers to several kinds of questions
                found = Explained(name=name, metric=metric, fit=fit, panel=panel, scored=part)
                beyond = "" if _whole(found, panels) else CLASSES_ALONE
                yield _Standing(found=attrs.evolve(found, beyond=beyond), left=left, measured=measured)


def _fits(own: Floats, panel: Panel, n_scored: int) -> Iterator[tuple[Fit, bool]]:
    """Yield the closest plain factor and offset, and the measured ones."""
    level = Level(room=_WIDE * float(panel.errors.max()))
    (slope, offset), spread = np.polyfit(own, panel.answers, 1, w=1 / panel.errors, cov="unscaled")
    plain = min(plain_factors(n_scored), key=lambda factor: abs(factor - slope))
    usual = min(OFFSETS, key=lambda value: abs(value - float((panel.answers - plain * own).mean())))
    yield Fit(link=PLAIN, scale=plain, offset=usual, error=0.0, level=level), False
    off = _WIDE / 2 * math.sqrt(max(float(np.array([x, 1]) @ spread @ [x, 1]) for x in (own.min(), own.max())))
    yield Fit(link=PLAIN, scale=float(slope), offset=float(offset), error=off, level=level), True


def _left(fit: Fit, own: Floats, panel: Panel) -> float:
    return float((((panel.answers - fit.forward(own)) / panel.errors) ** 2).sum())


def _by_chance(freedom: int) -> float:
    """Return what squared errors add up to, and more by chance only."""
    from scipy.stats import chi2

    return float(chi2.isf(_BEYOND_CHANCE, max(1, freedom)))


def _whole(found: Explained, panels: Sequence[Panel]) -> bool:
    """Whether a metric of classes also explains what is answered to probabilities, read as the likelier class."""
    ask = found.panel.ask
    for panel in panels if ask.rows in HARD else ():
        if panel.ask.spelling == ask.spelling and panel.ask.rows is Rows.COSTS:
            rows = [trial.predictions for trial in panel.trials]
            classes = [row.argmax(axis=1) if row.ndim == 2 else row >= 0.5 for row in rows]
            own = [
                found.own(trial.labels, each.astype(np.float64))
                for trial, each in zip(panel.trials, classes, strict=True)
            ]
            if not _left(found.fit, np.array(own), panel) <= _by_chance(len(own)):
                return False
    return True


def _rivals(standing: Sequence[_Standing]) -> list[_Standing]:
    """Return the first that is as close as any, and those that answers to the same questions do not part from it."""
    if not standing:
        return []
    least = min(item.order for item in standing)
    best = next(item for item in standing if item.order <= least + _CLOSE / 2)
    own = best.found.panel.own(best.found.name, best.found.metric, best.found.scored)

    def another(item: _Standing) -> bool:
        panel = item.found.panel
        if panel.questions != best.found.panel.questions or item.order > best.order + _CLOSE:
            return False
        theirs = panel.own(item.found.name, item.found.metric, item.found.scored)
        return abs(float(np.corrcoef(own, theirs)[0, 1])) < 1 - _TIGHT

    return [best, *filter(another, standing)]


def _holds(found: Explained, data: LabelSet) -> bool:
    """Whether the private labels are answered as was learnt of made ones."""
    rng, panel = np.random.default_rng(3), found.panel
    for trial in panel.trials[:2]:
        predictions = rng.permutation(trial.predictions)
        expected, answer = found.expected(data.labels, predictions), panel.ask.tried(data.labels, predictions)
        room = found.fit.error + _WIDE * panel.noise / math.sqrt(_REPEATS) + _TIGHT
        if math.isfinite(expected) and (answer is None or abs(answer - expected) > room):
            return False
    return True

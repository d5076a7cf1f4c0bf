"""Which shipped metric gives the same answers as a scorer: up to a rounding, a sign, a scale or an offset.

Example:
    >>> import numpy as np
    >>> Fit.of(np.array([0.2, 0.5, 0.6, 0.9]), np.array([-0.2, -0.5, -0.6, -0.9]), many=60).sentence()
    ' times -1'
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from typing import Self

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Effect
from labelinf_scores.game.asked import Asked
from labelinf_scores.game.effects import Moved, Rounded
from labelinf_scores.game.facts import ScoreFacts
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings import HARD, Rows, ScoredMetric
from labelinf_scores.metrics.readings.sums import MeanLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

__all__ = ["Agreement", "Fit", "agreement", "candidates", "made_labels"]

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

_TRIALS = 8  # made labels and submissions of a kind
_FIRST = 4  # of them, which most metrics do not even give
_EXACT = 1e-11  # relative error that sums in another order leave
_FINE = 0.01  # of the range of answers, beyond which a rounding hides a scale
_FEWEST = 5  # different answers, of which a scale can be measured
_CLIPS = (2.0**-52, 1e-15, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.05)
_KINDS = (
    (Rows.COSTS, Rows.COLUMNS),
    (Rows.RANKS, Rows.DISCOUNTS, Rows.PRECISIONS, Rows.FIRST),
    (Rows.REALS, Rows.LEVELS),
    HARD,
)
_LOSSES: Mapping[str, ScoredMetric] = {
    "log-loss": MeanLoss(loss=LogLoss()),
    "brier": MeanLoss(loss=Brier()),
    "squared-euclidean": MeanLoss(loss=SquaredEuclidean()),
    "itakura-saito": MeanLoss(loss=ItakuraSaito()),
}


@attrs.frozen(kw_only=True)
class Fit:
    """How answers follow a metric.

    Attributes:
        scale: They are the metric times this,
        offset: plus this,
        decimals: to so many decimals; None: in full,
        digits: or to so many significant digits; 0: no such thing.
    """

    scale: float = 1.0
    offset: float = 0.0
    decimals: int | None = None
    digits: int = 0

    @classmethod
    def of(cls, own: Floats, answers: Floats, *, many: int) -> Self | None:
        """Return how all answers follow a metric's own scores, the plainest way; None: they do not.

        Args:
            own: The metric's.
            answers: As many of the scorer.
            many: N, by which a sum is more than a mean.
        """
        plain = ((1.0, 0.0), (-1.0, 0.0), (-1.0, 1.0), (2.0, -1.0), (100.0, 0.0), (float(many), 0.0))
        for level in cls._levels(answers):
            off = level.off(answers)
            for scale, offset in (*plain, *_measured(own, answers, off)):
                if (np.abs(scale * own + offset - answers) <= off).all():
                    return attrs.evolve(level, scale=scale, offset=offset)
        return None

    @classmethod
    def _levels(cls, answers: Floats) -> Iterator[Self]:
        yield cls()
        exact = _EXACT * (1 + np.abs(answers))
        for decimals in range(10):
            if (np.abs(np.round(answers, decimals) - answers) <= exact).all():
                yield cls(decimals=decimals)
                break
        for digits in range(1, 7):
            if all(float(f"{answer:.{digits}g}") == answer for answer in answers.tolist()):
                yield cls(digits=digits)
                break

    def off(self, answers: Floats) -> Floats:
        """Return how far answers may be off."""
        exact = _EXACT * (1 + np.abs(answers))
        if self.decimals is not None:
            return exact + 0.5 * 10.0**-self.decimals
        if self.digits:
            with np.errstate(divide="ignore"):
                return exact + 0.5 * 10.0 ** (np.floor(np.log10(np.abs(answers))) + 1 - self.digits)
        return exact

    def effects(self, answers: Floats) -> Iterator[Effect[ScoreFacts]]:
        """Yield what attacks plan with, in units of the metric."""
        if self.decimals is not None:
            yield Rounded(step=10.0**-self.decimals / abs(self.scale))
        elif self.digits or (self.scale, self.offset) != (1, 0):
            bound = float(self.off(answers).max()) if self.digits else 2.0**-50 * (1 + float(np.abs(answers).max()))
            bound /= abs(self.scale)
            yield Moved(bound=bound, std=bound / math.sqrt(3), fresh=False, blind=True)

    def sentence(self) -> str:
        """Say it in a clause."""
        plain = "" if (self.scale, self.offset) == (1, 0) else f" times {self.scale:.6g}"
        plain += f" plus {self.offset:.6g}" if self.offset else ""
        if self.decimals is not None:
            return f"{plain} to {self.decimals} decimal{'s' * (self.decimals != 1)}"
        return f"{plain} to {self.digits} significant digit{'s' * (self.digits > 1)}" if self.digits else plain


def _measured(own: Floats, answers: Floats, off: Floats) -> Iterator[tuple[float, float]]:
    """Yield the scale and offset that fit best, where a rounding is too fine to hide others."""
    if np.unique(answers).size >= min(_FEWEST, answers.size) and off.max() <= _FINE * np.ptp(answers) and np.ptp(own):
        scale, offset = np.polyfit(own, answers, 1)
        yield float(scale), float(offset) if abs(offset) > _EXACT else 0.0


@attrs.frozen(kw_only=True, eq=False)
class Agreement:
    """A metric that gives a scorer's answers.

    Attributes:
        asked: The scorer, in units of the metric.
        metric: The metric.
        name: Its name.
        fit: How answers follow it.
        answers: Those that were compared.
        clip: How near to certain a prediction may be that is charged as a loss charges it.
    """

    asked: Asked
    metric: ScoredMetric
    name: str
    fit: Fit
    answers: Floats
    clip: float


def agreement(asked: Asked, rng: np.random.Generator, *, columns: bool) -> Agreement | None:
    """Return the plainest agreement of a scorer with a shipped metric; None: there is none.

    Args:
        asked: The scorer, and what it calls classes.
        rng: For made labels and submissions.
        columns: Whether submissions of a column for every class are tried first.
    """
    ways = ((kinds, each) for each in (columns, not columns) for kinds in _KINDS)
    return next(filter(None, (_agreeing(asked, rng, kinds, columns=each) for kinds, each in ways)), None)


def _agreeing(asked: Asked, rng: np.random.Generator, kinds: Sequence[Rows], *, columns: bool) -> Agreement | None:
    asked = attrs.evolve(asked, rows=kinds[0], columns=columns)
    n, k = asked.data.n_records, asked.data.n_classes
    trials = list(_trials(asked, rng))
    answers = [asked.tried(labels, predictions) for labels, predictions in trials]
    if any(answer is None for answer in answers) or len(set(answers)) < min(3, n):
        return None
    told = np.array(answers, dtype=np.float64)
    for name, metric in candidates(k).items():
        if metric.rows not in kinds or _fit(asked, metric, trials[:_FIRST], told[:_FIRST]) is None:
            continue
        if (fit := _fit(asked, metric, trials, told)) is not None:
            own = attrs.evolve(asked, rows=metric.rows, scale=fit.scale, offset=fit.offset)
            clip = _clip(own, metric, fit) if isinstance(metric, MeanLoss) else 0.0
            return Agreement(asked=own, metric=metric, name=name, fit=fit, answers=told, clip=clip)
    return None


def _fit(asked: Asked, metric: ScoredMetric, trials: Sequence[tuple[Labels, Floats]], answers: Floats) -> Fit | None:
    own = np.array([_own(asked, metric, *trial) for trial in trials])
    usable = np.isfinite(own).all() and np.ptp(own)
    return Fit.of(own, answers, many=asked.data.n_records) if usable else None


def _own(asked: Asked, metric: ScoredMetric, labels: Labels, predictions: Floats) -> float:
    try:
        return float(metric.score(asked.called[labels] if metric.of_values else labels, predictions))
    except Exception:  # it has no score of these
        return math.nan


def _clip(asked: Asked, metric: ScoredMetric, fit: Fit) -> float:
    """Return how near to certain a prediction may be that is charged as the loss charges it."""
    n, k = asked.data.n_records, asked.data.n_classes
    labels = (np.arange(n) > 0).astype(np.intp)
    for least in _CLIPS:
        rows = np.full((n, k), 1 / k)
        rows[-1] = least
        rows[-1, 0] = 1 - (k - 1) * least
        predictions = rows[:, 1] if k == 2 else rows
        answer, own = asked.tried(labels, predictions), _own(asked, metric, labels, predictions)
        if answer is not None and abs(answer - own) * abs(fit.scale) <= fit.off(np.array([answer]))[0]:
            return least
    return _CLIPS[-1]


def made_labels(n: int, k: int, rng: np.random.Generator) -> Labels:
    """Return made labels, some of every class where there are enough, in shares that differ."""
    labels = np.where(rng.random(n) < rng.uniform(0.2, 0.8), rng.integers(1, k, n), 0)
    places = rng.permutation(n)[:k]
    labels[places] = np.arange(places.size)
    return labels.astype(np.intp)


def _trials(asked: Asked, rng: np.random.Generator) -> Iterator[tuple[Labels, Floats]]:
    """Yield made labels and predictions of the kind that it is asked with, some right more often."""
    n, k, rows = asked.data.n_records, asked.data.n_classes, asked.rows
    for turn in range(_TRIALS):
        labels, worth = made_labels(n, k, rng), turn / _TRIALS
        follows = rng.random(n) < worth
        if rows in HARD:
            yield labels, np.where(follows, labels, rng.integers(0, k, n)).astype(np.float64)
        elif rows is Rows.REALS:
            values = asked.called.astype(np.float64) if asked.called.dtype.kind != "U" else np.arange(float(k))
            yield labels, np.abs(values[labels] + rng.normal(size=n) * (1.2 - worth) * np.ptp(values))
        elif rows is Rows.COSTS:
            drawn = 0.8 * rng.dirichlet(np.ones(k), n) + 0.2 / k
            drawn = np.where(follows[:, None], 0.5 * drawn + 0.5 * (0.8 * np.eye(k)[labels] + 0.2 / k), drawn)
            yield labels, drawn[:, 1] if k == 2 else drawn
        else:
            predictions = 0.3 * labels * follows + 0.6 * rng.random(n) + 0.01
            yield labels, np.round(predictions, 1) + 0.01 if turn % 3 == 2 else predictions  # ties, too


def candidates(n_classes: int) -> dict[str, ScoredMetric]:
    """Return the metrics of this room that a scorer may agree with, losses first."""
    own = {name: metric.of_classes(n_classes) for name, metric in _catalogue().items()}
    losses = {name: loss for name, loss in _LOSSES.items() if n_classes == 2 or name not in ("brier", "itakura-saito")}
    fitting = {name: metric for name, metric in own.items() if n_classes == 2 or not metric.two_classes}
    return {**losses, **{name: metric for name, metric in fitting.items() if not isinstance(metric, MeanLoss)}}


@functools.cache
def _catalogue() -> Mapping[str, ScoredMetric]:
    listed = tomllib.loads((files("labelinf_scores") / "catalogue.toml").read_text(encoding="utf-8"))["metric"]
    found = {}
    for name, entry in listed.items():
        module, _, kind = entry["target"].partition(":")
        found[name] = getattr(import_module(f"labelinf_scores{module}"), kind)()
    return found

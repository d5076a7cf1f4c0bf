"""Which metric a scorer computes, on which records, and how its answer reads: found out on made labels.

The host's function is asked about labels that are made up, so that no private one is spent and every fact can be
checked: a metric explains a scorer when, over labels of very different shares and predictions of very different worth,
every answer is a function ``a g(m) + b`` of it, to the step that is printed. What is found is a hypothesis that no
answer refuted, never a proof, and who attacks is taken to know it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_scores.audit.probe.asker import Asker, Spoken
from labelinf_scores.audit.probe.links import PLAIN, Fit, Level, Link, fitted
from labelinf_scores.audit.probe.spelling import HARD, Spelling
from labelinf_scores.metrics.readings import Rows, ScoredMetric

__all__ = ["CLASSES_ALONE", "GUESSED", "VALUES", "Explained", "Panel", "explained", "own_score", "panels", "sharp"]

_SHARES = (0.5, 0.2, 0.7, 0.5, 0.35, 0.8, 0.5, 0.4, 0.6, 0.3)  # of made labels that are not of class 0
_WIDTH = 0.8  # of made probabilities
_WORTH = (0.0, 0.4, 0.8, 1.0, 0.2, 0.6, 0.9, 0.5, 0.1, 0.7)  # how often made predictions go with their labels
#: Certain predictions come last: of those alone, log-loss is like an accuracy, and AUC like a balanced one.
VALUES = (Rows.REALS, Rows.LEVELS)  #: predictions are numbers such as labels stand for
CLASSES_ALONE = "of classes alone: other predictions are scored otherwise"
GUESSED = "a guess: noise or a coarse rounding hides what else it may be"
_ORDER = (*(rows for rows in (Rows.COSTS, *Rows) if rows not in HARD), *HARD)


@attrs.frozen(kw_only=True, eq=False)
class Trial:
    """Made labels and predictions.

    Attributes:
        labels: Shape ``(n_records,)``.
        predictions: Shape ``(n_records,)`` or ``(n_records, n_classes)``.
        tied: Whether many predictions are equal, where their order alone counts.
    """

    labels: NDArray[np.intp]
    predictions: NDArray[np.float64]
    tied: bool = False


@attrs.frozen(kw_only=True, eq=False)
class Panel:
    """Made labels and predictions of one kind, and what was answered.

    Attributes:
        ask: Who was asked, in one spelling, for one kind of rows.
        trials: What was asked.
        answers: What was answered; the mean where answers are noisy.
        errors: How far off those means may be; empty without noise.
        noise: Standard deviation of one answer.
        runs: All answers to every question, where each was asked often.
    """

    ask: Spoken
    trials: Sequence[Trial]
    answers: NDArray[np.float64]
    errors: NDArray[np.float64] = attrs.field(factory=lambda: np.zeros(0))
    noise: float = 0.0
    runs: Sequence[NDArray[np.float64]] = ()
    _own: dict[tuple[str, bytes], NDArray[np.float64]] = attrs.field(factory=dict, init=False, repr=False)

    def own(self, name: str, metric: ScoredMetric, scored: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the metric's own score of every trial; NaN where there is none."""
        key = name, scored.tobytes()
        if key not in self._own:
            values = self.ask.spelling.values
            found = [own_score(metric, trial.labels, trial.predictions, values, scored) for trial in self.trials]
            self._own[key] = np.array(found)
        return self._own[key]

    @property
    def questions(self) -> bytes:
        """What a scorer was asked, as it was written for it: alike for kinds of rows that read alike."""
        ask, parts = self.ask, []
        for trial in self.trials:
            predictions = trial.predictions if ask.order is None else trial.predictions[np.argsort(ask.order)]
            parts += [ask.spelling.labels(trial.labels), ask.spelling.predictions(predictions, ask.rows)]
        return b"".join(str((part.dtype, part.shape)).encode() + part.tobytes() for part in parts)

    @property
    def turned(self) -> bool:
        """Whether the first question, which is asked again, is answered with another number by now."""
        again = self.ask.tried(self.trials[0].labels, self.trials[0].predictions)
        return again is not None and again != float(self.answers[0])

    @property
    def untied(self) -> Panel:
        """The same where no predictions are equal."""
        chosen = [not trial.tied for trial in self.trials]
        trials = [trial for trial in self.trials if not trial.tied]
        return attrs.evolve(self, trials=trials, answers=self.answers[chosen])

    def reordered(self, order: NDArray[np.intp]) -> Panel:
        """Return the panel as it reads where row ``order[i]`` of the predictions is scored as record i's."""
        trials = [attrs.evolve(trial, predictions=trial.predictions[order]) for trial in self.trials]
        return attrs.evolve(self, ask=attrs.evolve(self.ask, order=order), trials=trials)


@attrs.frozen(kw_only=True, eq=False)
class Explained:
    """A metric that explains every answer of a panel.

    Attributes:
        name: Of the metric.
        metric: The metric.
        fit: How answers follow it.
        panel: The panel.
        scored: Which records are scored, shape ``(n_records,)``.
        beyond: A clause that says what it does not explain; empty where nothing of the kind is known.
    """

    name: str
    metric: ScoredMetric
    fit: Fit
    panel: Panel
    scored: NDArray[np.bool_]
    beyond: str = ""

    def expected(self, labels: NDArray[np.intp], predictions: NDArray[np.float64]) -> float:
        """Return what must be answered; NaN where the metric has no score."""
        return float(self.fit.forward(self.own(labels, predictions)))

    def room(self, answer: float) -> float:
        """Return how far such an answer may be off."""
        return float(self.fit.level.at(answer)) + self.fit.error

    def own(self, labels: NDArray[np.intp], predictions: NDArray[np.float64]) -> float:
        """Return the metric's own score; NaN where it has none."""
        return own_score(self.metric, labels, predictions, self.panel.ask.spelling.values, self.scored)


def panels(asker: Asker, spellings: Iterable[Spelling], *, n_records: int) -> Iterator[Panel]:
    """Yield what a scorer answers, in every spelling that it takes, to every kind of rows.

    Predicted numbers go beyond those of the labels; then they stay among them, where no board cuts or refuses them.
    """
    kinds = [(rows, near) for rows in _ORDER for near in ((False, True) if rows in VALUES else (False,))]
    for spelling in spellings:
        for rows, near in kinds:
            ask = Spoken(asker=asker, spelling=spelling, rows=rows)
            trials = list(_trials(n_records, spelling.values, rows, near=near))
            try:
                answers = np.array([ask(trial.labels, trial.predictions) for trial in trials])
            except (InputError, QueryRefusedError):
                continue
            yield Panel(ask=ask, trials=trials, answers=answers)


def explained(
    panel: Panel, metrics: Mapping[str, ScoredMetric], level: Level, scored: NDArray[np.bool_], link: Link = PLAIN
) -> Explained | None:
    """Return the first metric of such rows that explains every answer on the records that are scored."""
    found: Explained | None = None
    for name, metric in metrics.items():
        if metric.rows is not panel.ask.rows:
            continue
        own = panel.own(name, metric, scored)
        if not np.isfinite(own).all() or np.ptp(own) == 0:
            continue
        fit = fitted(own, panel.answers, level, int(scored.sum()), link)
        if fit is not None and (found is None or fit.plain):
            found = Explained(name=name, metric=metric, fit=fit, panel=panel, scored=scored)
            if fit.scale == 1.0:  # of several that fit up to a factor, the one that needs none
                break
    return found


def own_score(
    metric: ScoredMetric,
    labels: NDArray[np.intp],
    predictions: NDArray[np.float64],
    values: tuple[float, ...],
    scored: NDArray[np.bool_],
) -> float:
    """Return the metric's own score of the records that are scored; NaN where there is none."""
    labels = labels[scored]
    try:
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            return float(metric.score(np.array(values)[labels] if metric.of_values else labels, predictions[scored]))
    except Exception:  # a stranger's metric, or one that has no score of these
        return math.nan


def _trials(n_records: int, values: tuple[float, ...], rows: Rows, *, near: bool) -> Iterator[Trial]:
    """Yield made labels and predictions of the kind that a metric of such rows takes.

    Args:
        n_records: N.
        values: What classes stand for.
        rows: The kind.
        near: Whether predicted numbers stay among those.
    """
    rng, n_classes = np.random.default_rng(0), len(values)
    for turn, (share, worth) in enumerate(zip(_SHARES, _WORTH, strict=True)):
        labels = np.where(rng.random(n_records) < share, rng.integers(1, n_classes, n_records), 0)
        labels[rng.permutation(n_records)[:n_classes]] = np.arange(n_classes)
        follows = rng.random(n_records) < worth
        tied = False
        if rows in HARD:
            predictions = np.where(follows, labels, rng.integers(0, n_classes, n_records)).astype(np.float64)
        elif rows in VALUES:
            noise = rng.normal(size=n_records) * (1.2 - worth) * np.ptp(values)
            predictions = np.abs(np.array(values)[labels] + noise)
            if near:
                predictions = predictions.clip(min(values), max(values))
        elif rows in (Rows.COSTS, Rows.COLUMNS):
            drawn = rng.dirichlet(np.full(n_classes, 1.0), n_records)
            drawn = np.where(follows[:, None], 0.5 * drawn + 0.5 * np.eye(n_classes)[labels], drawn)
            drawn = _WIDTH * drawn + (1 - _WIDTH) / n_classes  # what no reasonable board clips, or refuses
            predictions = drawn[:, 1] if n_classes == 2 and rows is Rows.COSTS else drawn
        else:
            tied = turn % 3 == 2
            predictions = np.where(follows, 0.3 * labels, 0.0) + 0.6 * rng.random(n_records)
            predictions = (np.round(predictions, 1) if tied else predictions) + 0.01
        yield Trial(labels=labels.astype(np.intp), predictions=predictions, tied=tied)


def sharp(trial: Trial, rows: Rows, n_classes: int) -> NDArray[np.float64]:
    """Return predictions under which every label has much effect: all of them as sure as no board clips."""
    rng = np.random.default_rng(1)
    if rows in (Rows.COSTS, Rows.RANKS):
        certain = rng.integers(0, n_classes, trial.labels.size)
        if rows is Rows.RANKS or n_classes == 2:
            return np.where(certain > 0, 0.9, 0.1)
        return _WIDTH * np.eye(n_classes)[certain] + (1 - _WIDTH) / n_classes
    return trial.predictions

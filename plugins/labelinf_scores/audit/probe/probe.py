"""The probe of a host's scorer: what explains every answer to made labels, or why nothing does.

A scorer that answers one question in two ways, for another reason than noise, is no function of labels and predictions,
and is not explained; of any other, the simplest explanation that stands is taken
(:mod:`labelinf_scores.audit.probe.search`).
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.resources import files

import attrs
import numpy as np

from labelinf_core.contracts.errors import InconclusiveError, InputError
from labelinf_core.contracts.labels import LabelSet
from labelinf_scores.audit.probe.asker import Asker, StoppedError
from labelinf_scores.audit.probe.identify import Explained, Panel, explained, panels
from labelinf_scores.audit.probe.kept import deaf, fresh
from labelinf_scores.audit.probe.limits import Limits, limits_of, limits_of_values, limits_of_weights
from labelinf_scores.audit.probe.links import levels
from labelinf_scores.audit.probe.noisy import asked_often, through_noise
from labelinf_scores.audit.probe.picture import Picture
from labelinf_scores.audit.probe.search import simplest
from labelinf_scores.audit.probe.spelling import Naming, Spelling, spellings
from labelinf_scores.audit.probe.steady import Steadiness, Steady, steadiness
from labelinf_scores.audit.probe.unexplained import TURNED, Unexplained, unasked, why_not
from labelinf_scores.game.scoring import Scorer
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.readings.sums import MeanLoss
from labelinf_scores.metrics.readings.weighted import WeightedLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

__all__ = ["candidates", "pictured", "probe"]

_FINE = 1e-3  # of the range of answers, beyond which a rounding hides little
_PATIENCE = 600.0  # seconds
_FOLLOWS = "but for errors that are no chance: an answer depends on what was asked before, or on the time"
_LOSSES: Mapping[str, ScoredMetric] = {
    "log-loss": MeanLoss(loss=LogLoss()),
    "brier": MeanLoss(loss=Brier()),
    "squared-euclidean": MeanLoss(loss=SquaredEuclidean()),
    "itakura-saito": MeanLoss(loss=ItakuraSaito()),
}


def probe(
    scorer: Scorer,
    data: LabelSet,
    *,
    title: str,
    only: ScoredMetric | None = None,
    patience: float = _PATIENCE,
) -> Picture | Unexplained:
    """Learn what can be learnt of a scorer by asking it about made labels.

    Args:
        scorer: Who is asked.
        data: How many labels there are, of which classes, and what those are called; of the labels themselves the
            class totals count, and whether what was learnt holds of them, too.
        title: The scorer's name.
        only: The one metric that it is said to compute; None: whatever explains it.
        patience: Seconds after which it is asked nothing more.

    Raises:
        InputError: It cannot be asked.
        InconclusiveError: The time was up first.
    """
    try:
        return _probed(scorer, data, title, only, patience)
    except StoppedError as stopped:
        raise InconclusiveError(
            f"INCONCLUSIVE: {title}: {stopped}, before all that a probe asks; nothing was played. Give it more time "
            f"(--timeout), or labels of fewer records."
        ) from None


def _probed(
    scorer: Scorer,
    data: LabelSet,
    title: str,
    only: ScoredMetric | None,
    patience: float,
) -> Picture | Unexplained:
    metrics: Mapping[str, ScoredMetric] = (
        candidates(data.n_classes) if only is None else {_name(only, data.n_classes): only}
    )
    asker = Asker(scorer=scorer, records=data.n_records, patience=patience)
    asked = list(_panels(asker, data, metrics))
    if not asked:
        raise InputError(unasked(asker, data, title))
    found = _learnt(asker, asked, metrics, data, title)
    if isinstance(found, str):
        among = getattr(scorer, "among", "")
        return Unexplained(reason=found, metrics=len(metrics), queries=asker.asked, seconds=asker.each, among=among)
    return found


def _learnt(
    asker: Asker,
    asked: Sequence[Panel],
    metrics: Mapping[str, ScoredMetric],
    data: LabelSet,
    title: str,
) -> Picture | str:
    """Return what was learnt, or why nothing was."""
    steady = _steady(asked[0])
    if steady.kind is Steadiness.NOISY:
        asked = asked_often(asked)
        noise = asked[0].noise  # none: it answers otherwise from time to time
        steady = attrs.evolve(steady, std=noise) if noise else Steady(kind=Steadiness.STATEFUL)
    if why := _no_function(asked, metrics, steady):
        return why
    found = _explanation(asked, metrics, data, steady)
    if found is None:
        return why_not(asked, metrics, steady)
    if steady.kind is Steadiness.STEADY and _moved(found, data):
        why = "it answers otherwise about the private labels, or later, than about made ones before"
        return TURNED if found.panel.turned else why
    picture = Picture(
        title=title,
        found=found,
        limits=_limits(found, _counts(data)),
        noise=found.panel.noise,
        facts=asker.scorer.facts,
        queries=asker.asked,
        seconds=asker.each,
        among=getattr(asker.scorer, "among", ""),
    )
    asker.repeats = 1
    if steady.kind is Steadiness.NOISY:
        by_chance = fresh([run for panel in asked for run in panel.runs]) and not picture.changed
        return picture if by_chance else attrs.evolve(picture, found=attrs.evolve(found, beyond=_FOLLOWS))
    return TURNED if picture.changed else picture


def _no_function(asked: Sequence[Panel], metrics: Mapping[str, ScoredMetric], steady: Steady) -> str:
    """Say why a scorer is no function of labels and predictions; empty when it seems to be one."""
    if steady.kind in (Steadiness.DRIFTS, Steadiness.STATEFUL):
        return f"it is no function of the labels and one submission: {steady.kind.value}"
    if not any(np.ptp(panel.answers) for panel in asked):
        return "all its answers are the same"
    return deaf(asked, metrics) if steady.kind is Steadiness.STEADY else ""


def _limits(found: Explained, counts: tuple[int, ...]) -> Limits:
    if isinstance(found.metric, WeightedLogLoss):
        return limits_of_weights(found, found.metric, counts)
    if found.metric.of_values and found.metric.rows in (Rows.REALS, Rows.LEVELS):
        return limits_of_values(found)
    return limits_of(found, found.metric.additive) if isinstance(found.metric, MeanLoss) else Limits()


def pictured(name: str, scorer: Scorer, data: LabelSet, *, only: ScoredMetric | None) -> Picture:
    """Return what is known of a user's scorer, found out once a process.

    Raises:
        InputError: It cannot be asked.
        InconclusiveError: Nothing explains it.
    """
    own = getattr(scorer, "function", None)
    key = name, id(own), data.class_names, data.labels.tobytes(), repr(only)
    if key not in _KNOWN:
        learnt = probe(scorer, data, title=f"scorer {name!r}", only=only)
        if numbers := getattr(scorer, "unnamed", ()):
            raise InputError(f"scorer {name!r} returns several numbers; name the one to play: {', '.join(numbers)}.")
        # The function is held, so that its identity is nobody else's.
        _KNOWN[key] = own, learnt
    found = _KNOWN[key][1]
    if isinstance(found, Unexplained):
        raise InconclusiveError(f"INCONCLUSIVE: scorer {name!r}: {found.sentence()}. Nothing was played on it.")
    return found


_KNOWN: dict[tuple[object, ...], tuple[object, Picture | Unexplained]] = {}


def candidates(n_classes: int) -> dict[str, ScoredMetric]:
    """Return the metrics of this room that may explain a scorer, losses and those without parameters first."""
    own = {name: metric.of_classes(n_classes) for name, metric in _catalogue().items()}
    order = sorted(own, key=lambda name: len(inspect.signature(type(own[name])).parameters))
    fitting = {name: own[name] for name in order if n_classes == 2 or not own[name].two_classes}
    losses = {name: loss for name, loss in _LOSSES.items() if n_classes == 2 or name not in ("brier", "itakura-saito")}
    return {**losses, **{name: metric for name, metric in fitting.items() if not isinstance(metric, MeanLoss)}}


@functools.cache
def _catalogue() -> Mapping[str, ScoredMetric]:
    listed = tomllib.loads((files("labelinf_scores") / "catalogue.toml").read_text(encoding="utf-8"))["metric"]
    found = {}
    for name, entry in listed.items():
        module, _, kind = entry["target"].partition(":")
        found[name] = getattr(import_module(f"labelinf_scores{module}"), kind)()
    return found


def _name(metric: ScoredMetric, n_classes: int) -> str:
    return next((name for name, other in candidates(n_classes).items() if other == metric), type(metric).__name__)


def _counts(data: LabelSet) -> tuple[int, ...]:
    return tuple(np.bincount(data.labels, minlength=data.n_classes).tolist())


def _panels(asker: Asker, data: LabelSet, metrics: Mapping[str, ScoredMetric]) -> Iterator[Panel]:
    """Yield panels, no further than to the first that a metric explains plainly, and to fine steps."""
    last: Spelling | None = None
    everything = np.ones(data.n_records, dtype=bool)
    for panel in panels(asker, spellings(data), n_records=data.n_records):
        if last is not None and panel.ask.spelling.naming not in (last.naming, Naming.VALUES):
            return  # it takes classes as numbers; which numbers, its answers tell
        last = panel.ask.spelling
        yield panel
        fine = _FINE * max(float(np.ptp(panel.answers)), 1e-300)
        for level in itertools.islice(levels(panel.answers, n_records=data.n_records), 2):
            if level.step <= fine and not level.loose and explained(panel, metrics, level, everything):
                return


def _steady(panel: Panel) -> Steady:
    first, second = panel.trials[0], panel.trials[1]
    found = steadiness(panel.ask, first.labels, first.predictions, second.predictions)
    again = panel.ask.tried(first.labels, first.predictions)
    if found.kind is Steadiness.STEADY and again != float(panel.answers[0]):
        return Steady(kind=Steadiness.STATEFUL)
    return found


def _explanation(
    asked: Sequence[Panel],
    metrics: Mapping[str, ScoredMetric],
    data: LabelSet,
    steady: Steady,
) -> Explained | None:
    if steady.kind is Steadiness.NOISY:
        return through_noise(asked, metrics, data)
    return simplest(asked, metrics, _counts(data))


def _moved(found: Explained, data: LabelSet) -> bool:
    """Whether the private labels, or the first question asked again, are answered otherwise than explained."""
    rng = np.random.default_rng(3)
    first = found.panel.trials[0]
    again = found.panel.ask.tried(first.labels, first.predictions)
    if again is None or abs(again - float(found.panel.answers[0])) > 0:
        return True
    if isinstance(found.metric, WeightedLogLoss):  # whose weights were measured with these totals
        return False
    for trial in found.panel.trials[:2]:
        predictions = rng.permutation(trial.predictions)
        answer = found.panel.ask.tried(data.labels, predictions)
        expected = found.expected(data.labels, predictions)
        if math.isfinite(expected) and (answer is None or abs(answer - expected) > 2 * found.room(expected)):
            return True
    return False

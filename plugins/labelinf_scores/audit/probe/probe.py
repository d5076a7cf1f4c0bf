"""The probe of a host's scorer: what explains every answer to made labels, or why nothing does.

The simplest explanation that stands is taken: first a metric on all records, then one with a small error that nothing
explains, then on some of the records, then a log-loss in which records or classes weigh differently, then a metric
through a link, then with its rows permuted. What stands must also say what every label does to the answer. A scorer
that answers one question in two ways, for another reason than noise, is no function of labels and predictions, and is
not explained.
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
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InconclusiveError, InputError, QueryRefusedError
from labelinf_core.contracts.labels import LabelSet
from labelinf_scores.audit.probe.asker import Asker
from labelinf_scores.audit.probe.declared import Declared
from labelinf_scores.audit.probe.identify import CLASSES_ALONE, GUESSED, VALUES, Explained, Panel, explained, panels
from labelinf_scores.audit.probe.influence import off_at_edges, refuted, rows_of, scored_of, shows_each
from labelinf_scores.audit.probe.kept import deaf, fresh
from labelinf_scores.audit.probe.limits import Limits, cut_of, limits_of, limits_of_values, limits_of_weights
from labelinf_scores.audit.probe.links import LINKS, PLAIN, Level, Link, fitted, grid_of, levels
from labelinf_scores.audit.probe.noisy import asked_often, through_noise
from labelinf_scores.audit.probe.picture import Picture
from labelinf_scores.audit.probe.spelling import HARD, Naming, Spelling, spellings
from labelinf_scores.audit.probe.steady import Steadiness, Steady, steadiness
from labelinf_scores.audit.probe.strays import moved_further
from labelinf_scores.audit.probe.weights import weighted
from labelinf_scores.game.scoring import Query, Scorer
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.readings.sums import MeanLoss
from labelinf_scores.metrics.readings.weighted import WeightedLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

__all__ = ["Unexplained", "candidates", "pictured", "probe"]

_LEVELS = 8  # steps of a rounding that answers must range over for a factor to be measured by them
_FINE = 1e-3  # of the range of answers, beyond which a rounding hides little
_PLACED = (
    Rows.COSTS,
    Rows.RANKS,
    Rows.COUNTS,
    Rows.REALS,
    Rows.CLASSES,
)  # by which a permutation of rows is looked for
_TURNED = "it is no function of the labels and one submission: it answers one question otherwise now than before"
_FOLLOWS = "but for errors that are no chance: an answer depends on what was asked before, or on the time"
_UNEVEN = "but for answers at the edges of its steps, which change as where records weigh differently"
_LOSSES: Mapping[str, ScoredMetric] = {
    "log-loss": MeanLoss(loss=LogLoss()),
    "brier": MeanLoss(loss=Brier()),
    "squared-euclidean": MeanLoss(loss=SquaredEuclidean()),
    "itakura-saito": MeanLoss(loss=ItakuraSaito()),
}


@attrs.frozen(kw_only=True)
class Unexplained:
    """Why nothing explains a scorer.

    Attributes:
        reason: A clause.
        metrics: How many metrics were tried.
        queries: Questions that were asked.
        seconds: What one answer takes.
        among: Which of several numbers was scored, in a clause.
    """

    reason: str
    metrics: int = 0
    queries: int = 0
    seconds: float = 0.0
    among: str = ""

    @property
    def document(self) -> Mapping[str, object]:
        """What a machine reads of it."""
        return attrs.asdict(self)

    def sentence(self) -> str:
        """Say it in one line."""
        why = f"{self.reason}; asked for: {self.among}" if self.among else self.reason
        return f"{why}; tried: {self.metrics} metrics, {len(LINKS)} links, weights, public and permuted rows"


def probe(
    scorer: Scorer, data: LabelSet, *, title: str, declared: Declared | None = None, only: ScoredMetric | None = None
) -> Picture | Unexplained:
    """Learn what can be learnt of a scorer by asking it about made labels.

    Args:
        scorer: Who is asked.
        data: How many labels there are, of which classes, and what those are called; of the labels themselves the
            class totals count, and whether what was learnt holds of them, too.
        title: The scorer's name.
        declared: What is declared of it.
        only: The one metric that it is said to compute; None: whatever explains it.

    Raises:
        InputError: It cannot be asked, or does not do what is declared.
    """
    metrics: Mapping[str, ScoredMetric] = (
        candidates(data.n_classes) if only is None else {_name(only, data.n_classes): only}
    )
    if declared is not None:
        metrics = declared.among(metrics)
    asker = Asker(scorer=scorer)
    asked = list(_panels(asker, data, metrics))
    if not asked:
        raise InputError(_unasked(asker, data, title))
    found = _learnt(asker, asked, metrics, data, declared, title)
    if isinstance(found, str):
        among = getattr(scorer, "among", "")
        return Unexplained(reason=found, metrics=len(metrics), queries=asker.asked, seconds=asker.each, among=among)
    return found if declared is None else declared.checked(found)


def _learnt(
    asker: Asker,
    asked: Sequence[Panel],
    metrics: Mapping[str, ScoredMetric],
    data: LabelSet,
    declared: Declared | None,
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
    found = _explanation(asked, metrics, data, steady, declared)
    if found is None:
        return _why(asked, metrics, steady)
    if steady.kind is Steadiness.STEADY and _moved(found, data):
        why = "it answers otherwise about the private labels, or later, than about made ones before"
        return _TURNED if found.panel.turned else why
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
    picture = attrs.evolve(picture, stray=_stray(picture, data), queries=asker.asked)
    asker.repeats = 1
    if steady.kind is Steadiness.NOISY:
        by_chance = fresh([run for panel in asked for run in panel.runs]) and not picture.changed
        return picture if by_chance else attrs.evolve(picture, found=attrs.evolve(found, beyond=_FOLLOWS))
    return _TURNED if picture.changed else picture  # what was declared is not to blame


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


def _stray(picture: Picture, data: LabelSet) -> str:
    """Say what submissions let one label do more than is learnt; nothing where none did."""
    made = np.random.default_rng(5).permutation(data.labels)
    return moved_further(picture.title, picture.found, made, picture.threat(made, 0, believed=True).facts.shift)


def pictured(name: str, scorer: Scorer, data: LabelSet, *, only: ScoredMetric | None, declare: str) -> Picture:
    """Return what is known of a user's scorer, found out once a process.

    Raises:
        InputError: It cannot be asked, or does not do what is declared.
        InconclusiveError: Nothing explains it.
    """
    own = getattr(scorer, "function", None)
    key = name, id(own), data.class_names, data.labels.tobytes(), repr(only), declare
    if key not in _KNOWN:
        declared = Declared.read(declare, data.n_records) if declare else None
        learnt = probe(scorer, data, title=f"scorer {name!r}", declared=declared, only=only)
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
    declared: Declared | None,
) -> Explained | None:
    if steady.kind is Steadiness.NOISY:
        return through_noise(asked, metrics, None if declared is None else declared.public, data)
    return _first(asked, metrics, _counts(data), declared)


def _first(
    asked: Sequence[Panel],
    metrics: Mapping[str, ScoredMetric],
    counts: tuple[int, ...],
    declared: Declared | None,
) -> Explained | None:
    """Return the simplest explanation that stands."""
    partial: Explained | None = None
    for found in _explanations(asked, metrics, counts, declared):
        if isinstance(found.metric, WeightedLogLoss):  # measured by the effect of every record
            whole: Explained | None = found
        else:
            whole = None if refuted(found) else _on_finer_grid(found)
        if whole is not None:
            beyond = _beyond(whole, asked)
            if not beyond:
                return whole
            partial = partial or attrs.evolve(whole, beyond=beyond)
    return partial


def _coarse(found: Explained) -> bool:
    """Whether answers have so few levels that a measured factor and offset explain what they do not tell."""
    return bool(found.fit.error) and float(np.ptp(found.panel.answers)) < _LEVELS * found.fit.level.step


def _on_finer_grid(found: Explained) -> Explained | None:
    """Return what explains all answers so far on the grid that they have; None where it then explains them no longer.

    Ten answers may all lie on every second step of a grid. Some of the many that followed them do not.
    """
    ask, level = found.panel.ask, found.fit.level
    while level.step:
        finer = grid_of(ask.answered, level)
        if finer is None:
            return None
        if finer is level:
            return found
        level = finer
        own = np.array([found.own(trial.labels, trial.predictions) for trial in found.panel.trials])
        fit = fitted(own, found.panel.answers, level, int(found.scored.sum()), found.fit.link)
        if fit is None:
            return None
        found = attrs.evolve(found, fit=fit)
        if refuted(found):
            return None
    return found


def _beyond(found: Explained, asked: Sequence[Panel]) -> str:
    """Say what it does not explain; nothing where no such thing shows."""
    if not _whole(found, asked):
        return CLASSES_ALONE
    if _coarse(found) or (found.fit.level.digits and not shows_each(found)):
        return GUESSED
    return _UNEVEN if not isinstance(found.metric, WeightedLogLoss) and off_at_edges(found) else ""


def _whole(found: Explained, asked: Sequence[Panel]) -> bool:
    """Whether a metric of classes also explains what is answered to probabilities, read as the likelier class.

    Of certain predictions alone, a log-loss is like an accuracy.
    """
    ask = found.panel.ask
    if ask.rows not in HARD:
        return True
    for panel in asked:
        if panel.ask.spelling == ask.spelling and panel.ask.rows is Rows.COSTS:
            for trial, answer in zip(panel.trials, panel.answers, strict=True):
                rows = trial.predictions
                classes = rows.argmax(axis=1) if rows.ndim == 2 else (rows >= 0.5).astype(np.intp)
                classes = classes if ask.order is None else classes[ask.order]
                if abs(found.expected(trial.labels, classes.astype(np.float64)) - answer) > found.room(answer):
                    return False
    return True


def _explanations(
    asked: Sequence[Panel],
    metrics: Mapping[str, ScoredMetric],
    counts: tuple[int, ...],
    declared: Declared | None,
) -> Iterator[Explained]:
    n = sum(counts)
    told = [list(levels(panel.answers, n_records=n)) for panel in asked]
    strict = [[level for level in each if not level.loose] for each in told]
    everything = [np.ones(n, dtype=bool)] * len(asked)
    if declared is not None and declared.public is not None:
        yield from _over(asked, strict, metrics, [declared.public] * len(asked))
    yield from _over(asked, strict, metrics, everything)
    yield from _over(asked, [[level for level in each if level.loose] for each in told], metrics, everything)
    yield from _of_some(asked, strict, metrics, counts)
    for link in LINKS:
        yield from _over(asked, strict, metrics, everything, link)
    for panel in asked:
        for order in rows_of(panel) if panel.ask.rows in _PLACED else ():
            yield from _over([other.reordered(order) for other in asked], strict, metrics, everything)


def _of_some(
    asked: Sequence[Panel],
    strict: Sequence[Sequence[Level]],
    metrics: Mapping[str, ScoredMetric],
    counts: tuple[int, ...],
) -> Iterator[Explained]:
    """Yield explanations by a part of the records, and by weights."""
    parts: dict[Spelling, NDArray[np.bool_] | None] = {}
    for panel in asked:
        if panel.ask.spelling not in parts:
            parts[panel.ask.spelling] = _some(scored_of(panel))
    yield from _over(asked, strict, metrics, [parts[panel.ask.spelling] for panel in asked])
    for panel in asked if "log-loss" in metrics else ():
        # By now many answers tell the grid that they lie on; every weight fits a finer one as well as a coarser one.
        told = [level for level in levels(panel.ask.answered, n_records=sum(counts)) if not level.loose]
        if found := weighted(panel, max(told, key=lambda level: level.room), counts):
            yield found


def _some(part: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    return part if part is not None and part.any() and not part.all() else None


def _over(
    asked: Sequence[Panel],
    told: Sequence[Sequence[Level]],
    metrics: Mapping[str, ScoredMetric],
    parts: Sequence[NDArray[np.bool_] | None],
    link: Link = PLAIN,
) -> Iterator[Explained]:
    """Yield what explains a panel at the most exact level at which anything explains one."""
    for rank in range(max(map(len, told), default=0)):
        for panel, each, part in zip(asked, told, parts, strict=True):
            if part is not None and rank < len(each) and np.ptp(panel.answers) > 0:
                found = explained(panel, metrics, each[rank], part, link)
                if found:
                    yield found


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


def _why(asked: Sequence[Panel], metrics: Mapping[str, ScoredMetric], steady: Steady) -> str:
    """Say why nothing explains it, as far as that is known."""
    if not steady.std and any(panel.turned for panel in asked):
        return _TURNED
    everything = np.ones(asked[0].trials[0].labels.size, dtype=bool)
    for panel in asked:
        if any(trial.tied for trial in panel.trials):
            level = next(levels(panel.answers, n_records=everything.size))
            if found := explained(panel.untied, metrics, level, everything):
                return f"it is {found.name} where no predictions are equal, but treats equal ones otherwise"
    if not steady.std and (cut := _cut(asked, metrics, everything)):
        return cut
    if steady.std:
        return (
            f"no loss or metric that is known here explains its answers, noise of standard deviation {steady.std:.3g}"
        )
    return "no loss or metric that is known here explains its answers"


def _cut(asked: Sequence[Panel], metrics: Mapping[str, ScoredMetric], everything: NDArray[np.bool_]) -> str:
    """Say of what metric predictions are cut further in than any attack reads; nothing where that explains nothing."""
    for panel in asked:
        if panel.ask.rows not in VALUES or (bounds := cut_of(panel)) is None:
            continue
        trials = [attrs.evolve(trial, predictions=trial.predictions.clip(*bounds)) for trial in panel.trials]
        for level in levels(panel.answers, n_records=everything.size):
            read = attrs.evolve(panel, trials=trials)
            if level.room <= 5 * _FINE * float(np.ptp(panel.answers)) and (
                found := explained(read, metrics, level, everything)
            ):
                return (
                    f"it is {found.name} of predictions that are cut to about [{bounds[0]:.3g}, {bounds[1]:.3g}], "
                    f"within the range of the labels' own numbers, and nothing here reads that"
                )
    return ""


def _unasked(asker: Asker, data: LabelSet, title: str) -> str:
    """Say why no question is answered: in the scorer's own case where it is asked plainly, in rows and in one column.

    What it returned tells more than that it raised something, which predictions of a shape that it does not take do.
    """
    half = np.full((data.n_records, data.n_classes), 1 / data.n_classes)
    refusals = []
    for predictions in (half, half[:, 0]):
        try:
            asker.scorer.score(np.arange(data.n_records) % data.n_classes, Query(predictions=predictions))
        except (InputError, QueryRefusedError) as error:
            refusals.append(str(error))
    if len(refusals) == 2:
        return min(refusals, key=lambda refusal: " raised " in refusal)
    return f"{title} answers the same prediction for every record, and refuses all other predictions."

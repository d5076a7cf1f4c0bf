"""The simplest explanation of a scorer that stands, and what it leaves unexplained.

The order is that of a whole probe: a metric on all records, then one with a small error that nothing explains, then on
some of the records, then a log-loss in which records or classes weigh differently, then a metric through a link, then
with its rows permuted. What stands must also say what every label does to the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.audit.probe.identify import CLASSES_ALONE, GUESSED, Explained, Panel, explained
from labelinf_scores.audit.probe.influence import off_at_edges, refuted, rows_of, scored_of, shows_each
from labelinf_scores.audit.probe.links import LINKS, PLAIN, Level, Link, fitted, grid_of, levels
from labelinf_scores.audit.probe.spelling import HARD, Spelling
from labelinf_scores.audit.probe.weights import weighted
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.readings.weighted import WeightedLogLoss

__all__ = ["simplest"]

_LEVELS = 8  # steps of a rounding that answers must range over for a factor to be measured by them
_PLACED = (
    Rows.COSTS,
    Rows.RANKS,
    Rows.COUNTS,
    Rows.REALS,
    Rows.CLASSES,
)  # by which a permutation of rows is looked for
_SLOW = "a guess: there are too many records to see whether each weighs the same"
_UNEVEN = "but for answers at the edges of its steps, which change as where records weigh differently"


def simplest(
    asked: Sequence[Panel],
    metrics: Mapping[str, ScoredMetric],
    counts: tuple[int, ...],
) -> Explained | None:
    """Return the simplest explanation that stands."""
    partial: Explained | None = None
    for found in _explanations(asked, metrics, counts):
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
    if isinstance(found.metric, WeightedLogLoss):
        return ""
    off = off_at_edges(found)
    return _SLOW if off is None else _UNEVEN if off else ""


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
) -> Iterator[Explained]:
    n = sum(counts)
    told = [list(levels(panel.answers, n_records=n)) for panel in asked]
    strict = [[level for level in each if not level.loose] for each in told]
    everything = [np.ones(n, dtype=bool)] * len(asked)
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

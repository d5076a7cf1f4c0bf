"""From files to what the answers tell: predictions as numbers, class totals, and a log of inequalities."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_data.encode import is_number
from labelinf_scores.audit.log.certificate import Entry, Log, Row
from labelinf_scores.audit.log.files import Labels, Submission, natural
from labelinf_scores.metrics.readings import HARD, Released, ScoredMetric, Totals

__all__ = ["DeclaredTotals", "ScoredLog", "board_of", "log_of", "together"]


Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True)
class DeclaredTotals:
    """The class totals, as an outsider gives them.

    Attributes:
        counts: Records of every class; of two classes where empty.
        names: Of the classes, in the same order; empty: as the submissions call them, in order.
        positives: Records of the positive class, where there are no counts.
        positive: Name of the positive class of two; empty: the later of them.
    """

    counts: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    positives: int = 0
    positive: str = ""

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.counts) or 2


@attrs.frozen(kw_only=True, eq=False)
class ScoredLog:
    """What was submitted and answered, as numbers.

    Attributes:
        ids: The records that are scored.
        classes: Names of the classes.
        names: Of the submissions, in the order of time.
        predictions: Of every submission, shape ``(n_records,)`` or ``(n_records, n_classes)``.
        scores: What was released.
        decimals: Decimals that each score is rounded to.
        totals: The class totals.
        labels: Class of every record; None for an outsider.
    """

    ids: tuple[str, ...]
    classes: tuple[str, ...]
    names: tuple[str, ...]
    predictions: tuple[Floats, ...]
    scores: tuple[Fraction, ...]
    decimals: tuple[int, ...]
    totals: Totals
    labels: NDArray[np.intp] | None = None


def board_of(
    submissions: Sequence[Submission], labels: Labels | None, said: DeclaredTotals, scored: ScoredMetric | None
) -> ScoredLog:
    """Join submissions and labels by record ids.

    Args:
        submissions: What was scored.
        labels: The private labels; None for an outsider.
        said: The class totals, for an outsider.
        scored: The metric, for as many classes; None: a user's function, which takes what is submitted as it is.

    Raises:
        InputError: Ids do not agree, or a prediction is no number and no class.
    """
    known = _known(labels, submissions[0]) if labels is not None else None
    ids = tuple(submissions[0].cells if known is None else known)
    if labels is None and scored is not None:
        classes, own = _said(said, submissions, scored)
    elif labels is None:
        raise InputError("--scorer needs --labels: what a search finds is counted by them.")
    else:
        classes = labels.classes
        own = np.bincount(list(labels.of.values()), minlength=len(classes)).tolist()
    if scored is None or scored.columns:
        orders = {item.columns for item in submissions}
        if len(orders) > 1 and any(set(names) != set(classes) for names in orders):
            told = "submissions differ in the names or the order of their columns"
            raise InputError(f"{told}; call these as the classes.")
    rows = [_rows(item, ids, all_of_them=labels is None) for item in submissions]
    predictions = tuple(_numbers(item, own, classes, scored) for item, own in zip(submissions, rows, strict=True))
    truth = None if known is None else np.array([known[record] for record in ids], dtype=np.intp)
    if sum(own) != len(ids):
        raise InputError(f"the class totals add up to {sum(own)}, and the submissions have {len(ids)} records.")
    return ScoredLog(
        ids=ids,
        classes=classes,
        names=tuple(item.name for item in submissions),
        predictions=predictions,
        scores=tuple(item.score for item in submissions),
        decimals=tuple(item.decimals for item in submissions),
        totals=_totals(own, classes, scored),
        labels=truth,
    )


def _known(labels: Labels, first: Submission) -> Mapping[str, int]:
    """Return the labels by the ids of the submissions: by order, where one of them has none and there are as many."""
    numbered = not (labels.has_ids and first.has_ids)
    if numbered and len(first.cells) == len(labels.of) and set(first.cells) != set(labels.of):
        return dict(zip(first.cells, labels.of.values(), strict=True))
    return labels.of


def _rows(item: Submission, ids: Sequence[str], *, all_of_them: bool) -> list[tuple[str, ...]]:
    lacking = [record for record in ids if record not in item.cells]
    if lacking:
        raise InputError(
            f"submission {item.name!r} lacks {len(lacking)} of the {len(ids)} records; their ids must agree (--id "
            f"names the column that holds them)."
        )
    if all_of_them and len(item.cells) != len(ids):
        raise InputError(f"submission {item.name!r} has {len(item.cells)} records, and the first one {len(ids)}.")
    return [item.cells[record] for record in ids]


def _said(
    said: DeclaredTotals, submissions: Sequence[Submission], scored: ScoredMetric
) -> tuple[tuple[str, ...], list[int]]:
    """Return the names of the classes and their totals, of two classes the positive one last."""
    if scored.of_values and said.counts and not (said.names and all(map(is_number, said.names))):
        raise InputError("--counts: this metric is of values; write them beside the totals, as in 0=59,1=71,2.5=48.")
    names, positive = said.names or _predicted(submissions, said, scored), said.positive
    if names == ("0", "1") and positive not in names:
        positive = ""  # scores, which are the higher the more positive, whatever the class is called
    if positive and (positive not in names or len(names) != 2):
        raise InputError(f"--positive {positive}: there is no such class of two; they are {', '.join(names)}.")
    counts = said.counts
    if not counts:
        negatives = len(submissions[0].cells) - said.positives
        counts = tuple(said.positives if name == (positive or names[-1]) else negatives for name in names)
    pairs = sorted(zip(names, counts, strict=True), key=lambda pair: bool(positive) and pair[0] == positive)
    return tuple(name for name, _ in pairs), [count for _, count in pairs]


def _predicted(submissions: Sequence[Submission], said: DeclaredTotals, scored: ScoredMetric) -> tuple[str, ...]:
    """Return what the submissions call the classes, where they can be told from scores; otherwise 0, 1, ..."""
    numbered = tuple(map(str, range(said.n_classes)))
    if scored.columns:
        orders = {item.columns for item in submissions}
        names = next(iter(orders)) if len(orders) == 1 else tuple(sorted(submissions[0].columns, key=natural))
        return names if len(names) == said.n_classes else numbered
    if scored.rows not in HARD:
        return numbered
    found = sorted({cell for item in submissions for cells in item.cells.values() for cell in cells}, key=natural)
    if len(found) == said.n_classes and all(not is_number(cell) or float(cell) % 1 == 0 for cell in found):
        return tuple(found)
    if said.n_classes > 2:
        raise InputError(
            f"the submissions predict {len(found)} classes, and there are {said.n_classes}: write their names beside "
            f"the totals, as in --counts cat=59,dog=71,eel=48."
        )
    return numbered


def _numbers(
    item: Submission, rows: list[tuple[str, ...]], classes: tuple[str, ...], scored: ScoredMetric | None
) -> NDArray[Any]:
    """Return predictions as numbers: classes by their places where a metric is of classes, columns in their order.

    A user's function is given names of classes as they are.
    """
    if scored is None and len(item.columns) == 1:
        texts = not all(is_number(cell) for (cell,) in rows)
        return np.array([cell for (cell,) in rows]) if texts else _floats(item, [cell for (cell,) in rows])
    if scored is None:
        return _columns(item, rows, classes)
    if scored.columns:
        return _columns(item, rows, classes)
    if len(item.columns) != 1:
        raise InputError(
            f"submission {item.name!r} has columns {', '.join(item.columns)}; it must have one of predictions beside "
            f"the ids (--id names theirs)."
        )
    cells = [cell for (cell,) in rows]
    places = {float(name) if is_number(name) else name: float(at) for at, name in enumerate(classes)}
    keys = [float(cell) if is_number(cell) else cell for cell in cells]
    if scored.rows not in HARD:
        return _floats(item, cells)
    if all(key in places for key in keys):
        return np.array([places[key] for key in keys])
    numbers = _floats(item, cells)
    if len(classes) == 2 and ((numbers % 1 != 0).any() or np.isin(numbers, (0, 1)).all()):
        return numbers  # scores, which the metric cuts at its threshold
    # A library may count an unknown class as wrong, or as a class more; the threshold would call it positive.
    raise InputError(
        f"submission {item.name!r} predicts something that is none of the {len(classes)} classes of the labels; "
        f"without its score in --scores it is left out."
    )


def _columns(item: Submission, rows: list[tuple[str, ...]], classes: tuple[str, ...]) -> Floats:
    if len(item.columns) != len(classes):
        raise InputError(
            f"submission {item.name!r} has {len(item.columns)} columns of predictions; this metric needs one for each "
            f"of the {len(classes)} classes."
        )
    order = [item.columns.index(name) for name in classes] if set(item.columns) == set(classes) else range(len(classes))
    return np.stack([_floats(item, [cells[at] for cells in rows]) for at in order], axis=1)


def _floats(item: Submission, cells: Sequence[str]) -> Floats:
    try:
        numbers = np.array([float(cell) for cell in cells])
    except ValueError as error:
        raise InputError(f"submission {item.name!r} has a prediction that is no number.") from error
    if not np.isfinite(numbers).all():
        raise InputError(f"submission {item.name!r} has a prediction that is no finite number.")
    return numbers


def _totals(counts: Sequence[int], classes: tuple[str, ...], scored: ScoredMetric | None) -> Totals:
    try:
        if scored is not None and scored.of_values and all(map(is_number, classes)):
            return Totals(counts=tuple(counts), values=tuple(Fraction(float(name)) for name in classes))
        return Totals(counts=tuple(counts))
    except ValueError as error:
        raise InputError(f"{error} Two classes with records are needed.") from error


def log_of(board: ScoredLog, scored: ScoredMetric, released: Sequence[Released]) -> tuple[Log | None, str]:
    """Return the log, and the name of the first submission that fits neither the metric nor the labels."""
    found = []
    for name, predictions, score, shown in zip(board.names, board.predictions, board.scores, released, strict=True):
        try:
            entry = _entry(scored, predictions, score, board.totals, shown, board.labels)
        except ValueError:
            return None, name
        if board.labels is not None and not entry.holds(board.labels):
            return None, name
        found.append(entry)
    return Log(entries=tuple(found), counts=board.totals.counts), ""


def _entry(
    scored: ScoredMetric,
    predictions: Floats,
    score: Fraction,
    totals: Totals,
    released: Released,
    labels: NDArray[np.intp] | None,
) -> Entry:
    told = scored.readings(predictions, score, totals, released, labels)
    rows = tuple(Row.of(item, len(totals.counts)) for item in told)
    stated = np.array([float(value) for value in totals.values]) if scored.of_values else np.arange(len(totals.counts))
    shown = functools.partial(
        _shown, stated=stated, scored=scored, predictions=predictions, score=score, released=released
    )
    if scored.sums:
        return Entry(rows=rows, shown=shown)
    check = functools.partial(scored.fits, predictions=predictions, score=score, totals=totals, released=released)
    return Entry(rows=rows, check=check, shown=shown)


def _shown(
    labels: NDArray[np.intp],
    stated: NDArray[Any],
    scored: ScoredMetric,
    predictions: Floats,
    score: Fraction,
    released: Released,
) -> bool:
    """Whether the library gives labels the score that was released."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return released.shows(score, scored.score(stated[labels], predictions))


def together(boards: Sequence[ScoredLog], logs: Sequence[Log]) -> Log:
    """Return the log of several metrics that are published at once: what they tell of a submission adds up (M34).

    Raises:
        InputError: The metrics are not of the same submissions.
    """
    if any(board.names != boards[0].names for board in boards):
        raise InputError("every metric must have a score of the same submissions, in the same order.")
    entries = tuple(functools.reduce(_both, told) for told in zip(*(log.entries for log in logs), strict=True))
    return Log(entries=entries, counts=logs[0].counts)


def _both(one: Entry, other: Entry) -> Entry:
    def shown(labels: NDArray[np.intp]) -> bool:
        return all(item.shown is None or item.shown(labels) for item in (one, other))

    def fits(labels: NDArray[np.intp]) -> bool:
        return one.holds(labels) and other.holds(labels)

    check = None if one.check is None and other.check is None else fits
    return Entry(rows=(*one.rows, *other.rows), check=check, shown=shown)

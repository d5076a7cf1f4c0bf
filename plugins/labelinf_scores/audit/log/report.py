"""The audit of a board's log, from its files to a sentence and an exit status.

What is printed counts labels and names submissions; which record has which status is written only to a file that the
user asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.cli.exits import Exit
from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.documents import csv_text, save_private
from labelinf_core.contracts.errors import InputError
from labelinf_scores.audit.log.certificate import Log
from labelinf_scores.audit.log.determined import Determination, Given, Known, determine, given_away
from labelinf_scores.audit.log.files import Submission, read_labels, read_submissions
from labelinf_scores.audit.log.witness import fitting_labels
from labelinf_scores.metrics.readings import Reading, Released, Rows, ScoredMetric, Totals, metric

__all__ = ["LogReport", "answer", "as_document", "lines", "report", "save_status", "status"]

_TIED = 0.5  # share of the records on one value from which a submission is worth a look


@attrs.frozen(kw_only=True, eq=False)
class LogReport:
    """What the log of a board gives away.

    Attributes:
        ids: The records.
        submissions: Their names, in the order of time.
        metric: Name of the metric.
        decimals: The fewest and the most decimals of a score.
        outsider: Whether nothing but submissions, scores and P was used.
        misfit: Name of the first submission whose score does not fit the labels; empty when all do.
        answer: Status of every record; None when there are no labels that fit.
        given: The submissions that gave labels away.
        probes: Submissions that look like questions rather than predictions.
    """

    ids: tuple[str, ...]
    submissions: tuple[str, ...]
    metric: str
    decimals: tuple[int, int]
    outsider: bool
    misfit: str = ""
    answer: Determination | None = None
    given: tuple[Given, ...] = ()
    probes: tuple[str, ...] = ()


def report(
    submissions: str,
    *,
    scores: str,
    labels: str | None,
    column: str,
    positive: str,
    positives: int | None,
    id_column: str,
    metric_name: str,
    decimals: int | None,
    truncated: bool,
    seconds: float,
    progress: Callable[[str, int], None] = lambda step, of: None,
) -> LogReport:
    """Audit a board's log; arguments as in ``labelinf audit log``.

    ``progress`` is called before every step with its name and how many there are.

    Raises:
        InputError: A file cannot be used, the metric cannot be read, or P is missing.
    """
    scored = metric(metric_name)
    if scored.rows in (Rows.PRECISIONS, Rows.COLUMNS):
        raise InputError(f"--metric {metric_name}: no sum over the records says what its answers tell.")
    progress("reading", 4)
    ids, entries = read_submissions(submissions, scores, id_column)
    truth = read_labels(labels, column, id_column, ids, positive)[0] if labels else None
    if truth is None and positives is None:
        raise InputError("without --labels the number of positives must be public: give it with --positives.")
    totals = _totals(len(ids), int(truth.sum()) if truth is not None else int(positives or 0))
    printed = [item.decimals if decimals is None else decimals for item in entries]
    released = [Released(decimals=shown, truncated=truncated) for shown in printed]
    known = LogReport(
        ids=ids,
        submissions=tuple(item.name for item in entries),
        metric=metric_name,
        decimals=(min(printed), max(printed)),
        outsider=truth is None,
    )
    readings, misfit = _readings(scored, entries, totals, released, truth)
    if misfit:
        return attrs.evolve(known, misfit=misfit)
    log = Log(readings=readings, n_positive=totals.n_positive)
    progress(f"labels that fit, {seconds / 2:.0f} s at most", 4)
    fitting = fitting_labels(log, seconds / 2) if truth is None else truth
    if fitting is None:
        return known
    progress(f"what is determined, {seconds:.0f} s at most", 4)
    answer = determine(log, fitting, seconds=seconds)
    progress(f"since which submission, {seconds / 2:.0f} s at most", 4)
    return attrs.evolve(
        known,
        answer=answer,
        given=given_away(log, fitting, seconds=seconds / 2),
        probes=tuple(item.name for item, told in zip(entries, log.readings, strict=True) if _looks_asked(told)),
    )


def status(found: LogReport) -> Exit:
    """Return the exit status: found when labels are determined, done when all are proved open."""
    if found.answer is None:
        return Exit.INCONCLUSIVE
    if found.answer.count(Known.DETERMINED) or found.answer.count(Known.CLAIMED):
        return Exit.FOUND
    return Exit.INCONCLUSIVE if found.answer.count(Known.UNKNOWN) else Exit.DONE


def answer(found: LogReport) -> Answer:
    """Return the answer in three parts."""
    if found.answer is None or status(found) is not Exit.FOUND:
        return Answer(leaks=_nothing(found), stopped="no leak was found that could be stopped")
    counts = {known: found.answer.count(known) for known in Known}
    claimed = f", {counts[Known.CLAIMED]} more by a solver's word alone" if counts[Known.CLAIMED] else ""
    since = f", since submission {found.given[0].submission + 1} at the latest" if found.given else ""
    return Answer(
        leaks=f"{counts[Known.DETERMINED]} of {len(found.ids)} labels are DETERMINED by what is published "
        f"(proved){claimed}{since}",
        stopped="nothing undoes what is published; for answers to come: labelinf guard plan",
        costs="labelinf guard plan says what each policy costs honest teams",
    )


def _nothing(found: LogReport) -> str:
    if found.misfit:
        return (
            f"INCONCLUSIVE: the score of submission {found.misfit!r} is not what {found.metric} of these labels gives: "
            f"another metric, another rounding, other records or other labels"
        )
    if found.answer is None:
        return "INCONCLUSIVE: no labelling that fits the log was found in time"
    if status(found) is Exit.INCONCLUSIVE:
        return "INCONCLUSIVE: nothing is proved determined, and not every label is proved open; not a proof of safety"
    return "no label is determined: of every one, another labelling fits (proved)"


def lines(found: LogReport) -> Iterator[str]:
    """Yield what was read, and how much of it is known of which submission."""
    who = "an outsider with the submissions" if found.outsider else "whoever holds the submissions"
    yield (
        f"{len(found.submissions)} submissions, {len(found.ids)} labels, {found.metric} to {_shown(found)} decimals; "
        f"known to {who}: all predictions, all scores, how many labels are positive"
    )
    if found.answer is None:
        return
    counts = {known: found.answer.count(known) for known in Known}
    yield (
        f"{counts[Known.DETERMINED]} labels are DETERMINED (proved), {counts[Known.CLAIMED]} by a solver's word alone, "
        f"{counts[Known.OPEN]} open (another labelling fits), {counts[Known.UNKNOWN]} unknown"
    )
    for item in found.given:
        name = found.submissions[item.submission]
        yield f"  by submission {item.submission + 1} ({name}): {item.before} -> {item.after} labels at least"
    if found.probes:
        yield f"worth a look, most records share one prediction: {', '.join(found.probes)}"


def _shown(found: LogReport) -> str:
    least, most = found.decimals
    return f"{least}" if least == most else f"{least} to {most}"


def as_document(found: LogReport) -> Mapping[str, Any]:
    """Return the report for a machine; no label and no record is in it."""
    counts = {} if found.answer is None else {known.name.lower(): found.answer.count(known) for known in Known}
    return {
        "submissions": len(found.submissions),
        "records": len(found.ids),
        "metric": found.metric,
        "decimals": found.decimals[1],
        "fewest decimals": found.decimals[0],
        "outsider": found.outsider,
        "misfit": found.misfit,
        "labels": counts,
        "given away": [
            {"submission": found.submissions[item.submission], **attrs.asdict(item)} for item in found.given
        ],
        "probes": list(found.probes),
    }


def save_status(found: LogReport, path: Path) -> None:
    """Write id and status of every record, readable by its owner alone.

    Raises:
        InputError: The file cannot be written, or there is nothing to write.
    """
    if found.answer is None:
        raise InputError(f"--save {path}: the audit was inconclusive, there is nothing to save.")
    statuses = (Known(int(value)).name.lower() for value in found.answer.known)
    save_private(path, csv_text(("id", "status"), zip(found.ids, statuses, strict=True)))


def _totals(n_records: int, n_positive: int) -> Totals:
    try:
        return Totals.binary(n_records=n_records, n_positive=n_positive)
    except ValueError as error:
        raise InputError(f"{error} Both classes are needed.") from error


def _readings(
    scored: ScoredMetric,
    entries: Sequence[Submission],
    totals: Totals,
    released: Sequence[Released],
    truth: NDArray[np.intp] | None,
) -> tuple[tuple[Reading, ...], str]:
    """Return the readings, and the name of the first submission that fits neither the metric nor the labels."""
    found = []
    for item, printed in zip(entries, released, strict=True):
        try:
            told = scored.reading(item.predictions, item.score, totals, printed)
        except ValueError:
            return (), item.name
        if truth is not None and not told.holds(truth):
            return (), item.name
        found.append(told)
    return tuple(found), ""


def _looks_asked(told: Reading) -> bool:
    """Whether most records share one coefficient: natural in hard predictions, not in scores of models."""
    values, counts = np.unique(told.coefficients, return_counts=True)
    return bool(len(values) > 2 and counts.max() > _TIED * counts.sum())

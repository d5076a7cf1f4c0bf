"""Audits of a user's own system, as functions: labels first, then what is audited."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labelinf.labels import label_set, label_texts, labels_first, named_scorer
from labelinf.objects import written
from labelinf.results import AuditResult, attacked_picture
from labelinf.shown import WIDTH, shows
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.fractions import fraction
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.worker import watch
from labelinf_core.specs import Builder
from labelinf_core.specs.own_code import name_of, own_function
from labelinf_scores.audit import words as scorer_words
from labelinf_scores.audit.decision import ScorerDecision
from labelinf_scores.audit.grader import audited_grader
from labelinf_scores.audit.log import report as logs
from labelinf_scores.audit.log.determined import Known
from labelinf_scores.audit.log.files import Submission, labels_of, read_submissions, submissions_of
from labelinf_scores.audit.report import Goal, audited
from labelinf_scores.game.host_tables import HostTable, read_table
from labelinf_scores.metrics.readings.registry import metric as known_metric

__all__ = ["audit_grader", "audit_log", "audit_scorer"]


@shows("auditing")
def audit_scorer(
    y: ArrayLike,
    scorer: str | Callable[..., float],
    *,
    groups: ArrayLike | None = None,
    queries: int = 0,
    attacks: Sequence[Any] = (),
    also: Sequence[Any] = (),
    defences: Sequence[Any] = (),
    metric: str = "",
    seed: int = 0,
    timeout: float = 600.0,
    target: str = "",
    gain: str | float | None = None,
    max_labels_per_query: float | None = None,
    tolerance: float | None = None,
    simulations: int = 0,
) -> AuditResult:
    """Attack a scoring function on labels of your own, as ``labelinf audit scorer`` does.

    >>> import labelinf as li
    >>> found = li.audit_scorer([0, 1, 1, 0, 1] * 8, "sklearn", attacks=["binary-weights"])
    >>> [(row["attack"], row["all"]) for row in found.rows()], found.word.value
    ([('binary-weights', True)], 'leaks')

    Args:
        y: Private labels of any names, shape ``(n_records,)``; or real numbers.
        scorer: A function called as ``scorer(labels, predictions)``, or its name as on the command line.
        groups: Which records belong together, a name for each; independent when omitted.
        queries: The adversary's budget; 0 is unlimited.
        attacks: Specs, or objects of your own, instead of the shipped list of the strongest.
        also: Others beside that list.
        defences: What stands in front of it where it is deployed: specs, or objects of your own, from the scorer out.
        metric: What ``"sklearn"`` computes, as a spec; the log-loss when empty.
        seed: Of all that is drawn.
        timeout: Seconds that the game of an attack may take that does not come with labelinf, and that the scorer may
            take to answer, though never more than two minutes. The scorer runs in a copy of this process.
        target: What is to be proved: ``60%`` of labels, ``no-exact-recovery``; empty: 5 points over the blind guess.
        gain: Instead, a fraction over the best blind guess: ``"5%"`` or ``.05``.
        max_labels_per_query: What is tolerated of an attack; no more than luck explains if None.
        tolerance: How near a guess of a real label must be; a hundredth of their interquartile range if None.
        simulations: Labellings that an attack may score; 0: as many as suit the scorer.

    Returns:
        What was found, one row an attack; accuracies are fractions with a 95 % interval.

    Raises:
        InputError: The scorer cannot be asked.
        ComponentError: It hung, or ended its process.
    """
    labels_first(y, "audit_scorer(y, scorer)")
    builder = Builder(Host.load())
    goal = Goal(target=target, gain=None if gain is None else fraction(gain, "gain"), most=max_labels_per_query)
    players, others = (tuple(map(str, written(builder, Kind.ATTACK, each))) for each in (attacks, also))
    with watch.waiting(min(timeout, watch.patience)):
        report = audited(
            named_scorer(scorer) or "",
            label_set(y, None, groups),
            builder,
            attacks=players,
            also=others,
            stages=tuple(map(str, written(builder, Kind.DEFENCE, defences))),
            metric=metric,
            queries=queries,
            seed=seed,
            timeout=timeout,
            goal=goal,
            tolerance=tolerance,
            simulations=simulations,
        )
    words = (*scorer_words.answer(report).lines(WIDTH), f"run on made labels: {report.sentence()}")
    return _of_scorer("What a scorer gives away", report, report.decision, words)


@shows("auditing")
def audit_grader(
    solution: Any,
    sample: Any,
    grader: str | Callable[..., Any],
    *,
    targets: Sequence[str] = (),
    queries: int = 0,
    simulations: int = 60_000,
    tolerance: float = 0.0,
    seed: int = 0,
) -> AuditResult:
    """Attack a grader over your own tables, as ``labelinf audit grader`` does.

    >>> import labelinf as li, pandas as pd
    >>> truth = pd.DataFrame({"id": range(12), "label": [0, 1, 1] * 4})
    >>> def grade(submission, answers):
    ...     return float((submission["label"] == answers["label"]).mean())
    >>> li.audit_grader(truth, truth.assign(label=0), grade, simulations=2000).word.value
    'leaks'

    Args:
        solution: Your table with the private labels: a frame, or a CSV file.
        sample: A submission that is scored, of the same rows: a frame, or a CSV file.
        grader: ``grade(submission, answers)``, ``score(solution, submission, row_id_column_name)`` or a function of
            labels and predictions; or ``"module:function"``.
        targets: The private columns; all that both tables have when empty.
        queries: The adversary's budget; 0 is unlimited.
        simulations: Labellings that are scored at most.
        tolerance: How near a number counts as read, in its own unit; 0: a hundredth of the interquartile range.
        seed: Of all that is drawn.

    Returns:
        What was found, one row an attack.

    Raises:
        InputError: The tables do not belong together, or the grader cannot be asked.
    """
    true, shown = (read_table(Path(t)) if isinstance(t, str | os.PathLike) else t for t in (solution, sample))
    function = own_function(grader, "grader") if isinstance(grader, str) else grader
    report = audited_grader(
        name_of(grader),
        HostTable.of_tables(function, true, shown, targets),
        queries=queries,
        seed=seed,
        simulations=simulations,
        tolerance=tolerance,
    )
    return _of_scorer("What a grader gives away", report, report.decision, tuple(report.answer.lines(WIDTH)))


def _of_scorer(title: str, report: Any, decision: ScorerDecision, words: tuple[str, ...]) -> AuditResult:
    """Show an audit that counts what attacks recovered, one row each."""
    table = tuple(
        {
            "attack": leak.attack,
            "accuracy": leak.accuracy.value if leak.accuracy else None,
            "accuracy_low": leak.accuracy.low if leak.accuracy else None,
            "accuracy_high": leak.accuracy.high if leak.accuracy else None,
            "baseline": leak.baseline,
            "queries": leak.queries,
            "labels_per_query": leak.labels_per_query,
            "all": leak.exact,
            "trouble": leak.refusal or leak.failure,
        }
        for leak in decision.leaks
    )
    return AuditResult(report=report, decision=decision, words=words, table=table, drawn=attacked_picture(title, table))


@shows("auditing")
def audit_log(
    y: ArrayLike | None,
    submissions: Any,
    scores: Any,
    *,
    metric: str | Sequence[str] = (),
    scorer: str | Callable[..., float] | None = None,
    positive: str = "",
    counts: str | int = "",
    without_labels: bool = False,
    simulations: int = 0,
    decimals: int | None = None,
    truncated: bool = False,
    timeout: float = 60.0,
    seed: int = 0,
) -> AuditResult:
    """Say which labels submissions and their released scores determine, as ``labelinf audit log`` does.

    >>> import labelinf as li, numpy as np
    >>> y, asked = np.array([0, 1, 1, 0, 1, 0]), np.eye(6, dtype=int)
    >>> scores = [f"{np.mean(y == row):.4f}" for row in asked]
    >>> found = li.audit_log(y, asked, scores, metric="accuracy")
    >>> found.word.value, {row["status"] for row in found.rows()}
    ('leaks', {'determined'})

    Args:
        y: Private labels, shape ``(n_records,)``; None for what an outsider can prove.
        submissions: Predictions, in the order of time: shape ``(n_submissions, n_records)``, with a last axis over the
            classes where they are probabilities of several; a mapping or a frame of one by name; or the folder or
            file that the command takes, in which rows are in the order of ``y``.
        scores: What was released, as it was printed (``"0.8230"`` has four decimals), one for each submission; with
            several metrics one such list each. A file, where submissions are files.
        metric: ``"roc-auc"``, ``"accuracy"`` or any other that ships; several where several are released.
        scorer: A function of your own instead, by which labels are searched.
        positive: Name of the positive class of two; the later one when empty.
        counts: For an outsider, how many labels are positive, or of every class: ``"59,71"``, or ``"a=59,b=71"``; with
            ``y`` and ``scorer``, ``"hidden"``: the search does not know them.
        without_labels: Use of ``y`` nothing but the totals.
        simulations: Labellings that ``scorer`` may score; 0: as many as suit it.
        decimals: To which scores are rounded; as printed when omitted.
        truncated: They are cut off, not rounded.
        timeout: Seconds to spend.
        seed: Of the search with ``scorer``.

    Returns:
        What was found; a row for every record with its status, where that could be told.

    Raises:
        InputError: Something cannot be used as it is.
    """
    labels_first(y, "audit_log(y, submissions, scores)")
    names, own = [metric] if isinstance(metric, str) else [*metric], named_scorer(scorer) or ""
    if bool(own) == bool(names):
        raise InputError("give either metric or scorer, a function of your own.")
    for name in names:
        known_metric(name)
    columns = list(scores) if len(names) > 1 else [scores]
    if len(columns) != max(len(names), 1):
        raise InputError(f"give a list of scores for each of the {len(names)} metrics.")
    truth = None
    if y is not None:
        truth = labels_of({str(at): text for at, text in enumerate(label_texts(y))}, "y", positive)
    found = logs.audited_log(
        truth,
        [(name, _submitted(submissions, column)) for name, column in zip(names or [""], columns, strict=True)],
        positive=positive,
        counts=str(counts),
        without_labels=without_labels,
        scorer=own,
        simulations=simulations,
        seed=seed,
        decimals=decimals,
        truncated=truncated,
        seconds=timeout,
    )
    known = () if found.answer is None else (Known(int(value)).name.lower() for value in found.answer.known)
    table = tuple({"record": name, "status": status} for name, status in zip(found.ids, known, strict=False))
    words = (*logs.answer(found).lines(WIDTH), "", *logs.lines(found))
    return AuditResult(report=found, decision=found, words=words, table=table)


def _submitted(submissions: Any, scores: Any) -> tuple[Submission, ...]:
    """Read submissions from files, or take them as they are."""
    if isinstance(submissions, str | os.PathLike):
        return read_submissions(os.fspath(submissions), os.fspath(scores), "id", "submission", "")
    named = (
        submissions.items() if hasattr(submissions, "items") else ((str(at), row) for at, row in enumerate(submissions))
    )
    return submissions_of({str(name): np.asarray(row) for name, row in named}, list(scores))

"""The audit of a board's log, from its files to a sentence and an exit status.

What is printed counts labels and names submissions; which record has which status is written only to a file that the
user asks for.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.documents import csv_text, save_private
from labelinf_core.contracts.errors import InputError
from labelinf_scores.audit.log.certificate import Log
from labelinf_scores.audit.log.determined import Determination, Known, determine
from labelinf_scores.audit.log.files import Labels, Submission, ids_of, read_labels, read_submissions
from labelinf_scores.audit.log.given import Given, given_away
from labelinf_scores.audit.log.guess import VoteGuess, guess
from labelinf_scores.audit.log.likely import Likely, likely, replayed
from labelinf_scores.audit.log.scored import DeclaredTotals, ScoredLog, board_of, log_of, together
from labelinf_scores.audit.log.suspects import suspects
from labelinf_scores.audit.log.witness import fitting_labels
from labelinf_scores.audit.report import granted
from labelinf_scores.metrics.readings import Released, ScoredMetric
from labelinf_scores.metrics.readings.registry import metric

__all__ = ["LogReport", "answer", "as_document", "audited_log", "lines", "report", "save_status"]

HIDDEN = "hidden"  #: class totals that a search is not told

_NO_SUMS = (
    "an answer of this metric is no sum over the records: what sums it bounds prove is proved, other labellings are "
    "looked for among exchanges of two labels, and the rest is unknown"
)


@attrs.frozen(kw_only=True, eq=False)
class LogReport(AuditDecision):
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
        suspects: Why a submission looks like a question rather than a prediction, by its place.
        sums: Whether every answer is a sum over the records; otherwise little can be proved determined.
        guess: How good a guess from the log is; None where that is not known.
        positive: Name of the positive class of two, of labels that were looked at.
        said: Classes and their totals as an outsider gave them.
        likely: What a search found that runs a user's own scorer.
        left_out: Rows of the labels' file that are not Public.
    """

    ids: tuple[str, ...]
    submissions: tuple[str, ...]
    metric: str
    decimals: tuple[int, int]
    outsider: bool
    misfit: str = ""
    answer: Determination | None = None
    given: tuple[Given, ...] = ()
    suspects: Mapping[int, str] = attrs.field(factory=dict)
    sums: bool = True
    guess: VoteGuess | None = None
    positive: str = ""
    said: tuple[tuple[str, int], ...] = ()
    likely: Likely | None = None
    left_out: int = 0

    @property
    def word(self) -> AuditWord:
        """The answer in a word: labels are determined or likely, or all of them are proved open."""
        if self.likely is not None and self.likely.leaks:
            return AuditWord.LEAKS
        if self.answer is None:
            return AuditWord.UNSHOWN
        if self.answer.count(Known.DETERMINED) or self.answer.count(Known.CLAIMED):
            return AuditWord.LEAKS
        return AuditWord.UNSHOWN if self.answer.count(Known.UNKNOWN) else AuditWord.CERTIFIED


def report(
    submissions: str,
    *,
    scores: str,
    labels: str | None,
    column: str = "",
    positive: str = "",
    id_column: str = "id",
    metric_names: Sequence[str],
    without_labels: bool = False,
    name_column: str = "submission",
    score_columns: Sequence[str] = (),
    scorer: str = "",
    progress: Callable[[str, int], None] = lambda step, of: None,
    **chosen: Any,
) -> LogReport:
    """Audit a board's log from its files; arguments as in ``labelinf audit log``.

    ``progress`` is called before every step with its name and how many there are.

    Raises:
        InputError: A file cannot be used, the metric cannot be read, or the class totals are missing.
    """
    _no_odd_mixture(scorer, metric_names, score_columns, labelled=labels is not None and not without_labels)
    progress("reading", 4)
    id_column = ids_of(labels, column, id_column, submissions) if labels else id_column
    truth = read_labels(labels, column, id_column, positive) if labels else None
    pairs = itertools.zip_longest(metric_names or [""], score_columns, fillvalue="")
    entries = [(name, read_submissions(submissions, scores, id_column, name_column, scored)) for name, scored in pairs]
    return audited_log(
        truth, entries, positive=positive, without_labels=without_labels, scorer=scorer, progress=progress, **chosen
    )


def audited_log(
    truth: Labels | None,
    entries: Sequence[tuple[str, Sequence[Submission]]],
    *,
    positive: str = "",
    counts: str = "",
    without_labels: bool = False,
    scorer: str = "",
    simulations: int = 0,
    seed: int = 0,
    decimals: int | None = None,
    truncated: bool = False,
    seconds: float = 60.0,
    progress: Callable[[str, int], None] = lambda step, of: None,
) -> LogReport:
    """Audit a board's log, whatever it was read from; arguments as in ``labelinf audit log``.

    ``entries`` are every metric that is published, by name, with what was submitted and its scores; of a scorer of
    one's own one entry, without a name. ``truth`` is None for an outsider.

    Raises:
        InputError: Submissions and labels do not fit together, or the class totals are missing.
    """
    boards, logs, printed = [], [], []
    known = LogReport(
        ids=(),
        submissions=(),
        metric=scorer or " and ".join(name for name, _ in entries),
        decimals=(0, 0),
        outsider=truth is None or without_labels,
        positive=truth.classes[1] if truth is not None and len(truth.classes) == 2 else "",
        left_out=0 if truth is None else truth.left_out,
    )
    hidden = counts == HIDDEN
    if hidden and not (scorer and truth is not None):
        raise InputError(f"--counts {HIDDEN} is for a search with --labels and --scorer.")
    if truth is not None and counts and not hidden:
        raise InputError("--counts is what an outsider knows; the labels of --labels say it themselves.")
    for name, submitted in entries:
        if decimals is None:
            _no_short_scores(submitted)
        said = DeclaredTotals() if truth is not None else _said(counts, positive)
        scored = None if scorer else _of_classes(name, len(truth.classes) if truth is not None else said.n_classes)
        board = board_of(submitted, truth, said, scored)
        board = attrs.evolve(board, labels=None) if without_labels else board
        digits = [shown if decimals is None else decimals for shown in board.decimals]
        released = [Released(decimals=shown, truncated=truncated) for shown in digits]
        printed += digits
        known = attrs.evolve(
            known,
            ids=board.ids,
            submissions=board.names,
            decimals=(min(printed), max(printed)),
            sums=(scored is None or scored.sums) and known.sums,
            said=() if truth is not None else tuple(zip(board.classes, board.totals.counts, strict=True)),
        )
        if scored is None:
            most = simulations or granted(scorer)
            search = functools.partial(likely, known=not hidden, granted=most, seed=seed)
            return _searched(known, board, released, search, progress)
        log, misfit = log_of(board, scored, released)
        if log is None:
            return attrs.evolve(known, metric=name, misfit=misfit)
        boards.append(board)
        logs.append(log)
    return _solved(known, together(boards, logs), boards[0], seconds, progress)


def _solved(
    known: LogReport, log: Log, board: ScoredLog, seconds: float, progress: Callable[[str, int], None]
) -> LogReport:
    """Say what a log determines, since which submission, and what a guess from it is worth."""
    known = attrs.evolve(known, suspects=suspects(log, board.predictions))
    progress(f"labels that fit, {seconds / 2:.0f} s at most", 4)
    fitting = fitting_labels(log, seconds / 2) if board.labels is None else board.labels
    if fitting is None:
        return known
    progress(f"what is determined, {seconds:.0f} s at most", 4)
    answer = determine(log, fitting, seconds=seconds)
    progress(f"since which submission, {seconds / 2:.0f} s at most", 4)
    return attrs.evolve(
        known,
        answer=answer,
        given=given_away(log, fitting, seconds=seconds / 2),
        guess=None if board.labels is None else guess(log, board.predictions, board.labels),
    )


def _no_odd_mixture(scorer: str, metric_names: Sequence[str], score_columns: Sequence[str], *, labelled: bool) -> None:
    """Refuse options that do not go together.

    Raises:
        InputError: They do not, or there is no such metric.
    """
    if bool(scorer) == bool(metric_names):
        raise InputError("give either --metric or --scorer, which names a function of your own.")
    if scorer and not (labelled and len(score_columns) < 2):
        raise InputError("--scorer needs --labels, by which what is found is counted, and one column of scores.")
    for name in metric_names:
        metric(name)
    if not scorer and len(score_columns) != len(metric_names) and (len(metric_names) > 1 or len(score_columns) > 1):
        raise InputError(f"every --metric needs a --score-column, in the same order; there are {len(metric_names)}.")


def _searched(
    known: LogReport,
    board: ScoredLog,
    released: Sequence[Released],
    search: Callable[..., Likely],
    progress: Callable[[str, int], None],
) -> LogReport:
    """Say what a search finds that runs a user's scorer; nothing where that does not give the released scores."""
    progress("replaying", 4)
    asked, misfit = replayed(board, known.metric, released)
    found = search(board, asked, released, progress=lambda doing: progress(doing, 4)) if asked is not None else None
    return attrs.evolve(known, misfit=misfit, likely=found)


def _no_short_scores(entries: Sequence[Submission]) -> None:
    """Refuse scores like 1, 0.5 and 0.9 alone: where zeros at the end are left out, they are exact, and tell far more.

    Raises:
        InputError: There is nothing but such scores.
    """
    if all(item.decimals <= 1 and abs(item.score) <= 1 for item in entries):
        raise InputError(
            "all scores have one decimal at most; say with --decimals to how many they were rounded, whether zeros are "
            "shown or not."
        )


def _said(counts: str, positive: str) -> DeclaredTotals:
    """Return the class totals that an outsider knows.

    Raises:
        InputError: None are given, or they are no totals.
    """
    if not counts:
        raise InputError("without --labels the class totals must be public: give them with --counts.")
    pairs = [part.rpartition("=") for part in counts.split(",")]
    names = tuple(name.strip() for name, _, _ in pairs if name)
    told = [int(count) if count.strip().isdecimal() else 0 for _, _, count in pairs]
    if len(told) == 1 and told[0] and not names:
        return DeclaredTotals(positives=told[0], positive=positive)
    if (
        len(told) < 2
        or not all(count.strip().isdecimal() for _, _, count in pairs)
        or len(set(names)) not in (0, len(told))
    ):
        raise InputError(
            f"--counts {counts}: give how many records are positive, or every class has, as in 59,71 or cat=59,dog=71."
        )
    return DeclaredTotals(counts=tuple(told), names=names, positive=positive)


def _of_classes(name: str, n_classes: int) -> ScoredMetric:
    scored = metric(name).of_classes(n_classes)
    if scored.two_classes and n_classes > 2:
        raise InputError(f"--metric {name} is of two classes, and there are {n_classes}.")
    return scored


def answer(found: LogReport) -> Answer:
    """Return the answer in three parts."""
    if found.likely is not None and found.likely.leaks:
        return Answer(
            leaks=f"{found.likely.right} of {len(found.ids)} labels are LIKELY found, by a search (not proved)",
            stopped="nothing undoes what is published; no bound knows this scorer",
        )
    if found.answer is None or found.word is not AuditWord.LEAKS:
        return Answer(leaks=_nothing(found), stopped="nothing, for no leak was found")
    counts = {known: found.answer.count(known) for known in Known}
    claimed = f", {counts[Known.CLAIMED]} more by the solver only" if counts[Known.CLAIMED] else ""
    since = f", since submission {found.given[0].last + 1} at the latest" if found.given else ""
    return Answer(
        leaks=f"{counts[Known.DETERMINED]} of {len(found.ids)} labels are DETERMINED by what is published "
        f"(proved){claimed}{since}",
        stopped="nothing undoes what is published; for answers to come: labelinf guard plan",
        costs="labelinf guard plan says what each policy costs honest teams",
    )


def _nothing(found: LogReport) -> str:
    if found.misfit:
        other = f", or the other class is positive: --positive names it, {found.positive!r} here"
        return (
            f"INCONCLUSIVE: the score of submission {found.misfit!r} is not what {found.metric} of these labels gives: "
            f"another metric, another rounding, other records or other labels{other if found.positive else ''}"
        )
    if found.likely is not None:
        return "INCONCLUSIVE: a search that runs the scorer found no more labels than luck does; not a proof of safety"
    if found.answer is None:
        return "INCONCLUSIVE: no labelling that fits the log was found in time"
    if found.word is AuditWord.UNSHOWN:
        return "INCONCLUSIVE: nothing is proved determined, and not every label is proved open; not a proof of safety"
    return "no label is determined: of every one, another labelling fits (proved)"


def lines(found: LogReport) -> Iterator[str]:
    """Yield what was read, and how much of it is known of which submission."""
    shown = " to ".join(map(str, dict.fromkeys(found.decimals)))
    who = "an outsider with the submissions" if found.outsider else "whoever holds the submissions"
    yield (
        f"{len(found.submissions)} submissions, {len(found.ids)} labels, {found.metric} to {shown} decimals; "
        f"known to {who}: all predictions, all scores, how many labels every class has"
        + f"; {found.left_out} rows that are not Public (Usage) left out"
        * (found.left_out > 0)
    )
    if found.outsider:
        totals = ", ".join(f"{count} of class {name}" for name, count in found.said)
        totals = f" ({totals})" if totals else ""
        yield (
            f"no label was looked at: what is proved is so if metric, rounding and class totals{totals} are as "
            f"given and all {len(found.ids)} records are scored"
        )
    for at, why in found.suspects.items():
        yield f"worth a look: submission {at + 1} ({found.submissions[at]}) {why}"
    if not found.sums:
        yield _NO_SUMS
    if found.likely is not None:
        yield from _found(found.likely, len(found.submissions))
    if found.answer is None:
        return
    counts = {known: found.answer.count(known) for known in Known}
    yield (
        f"{counts[Known.DETERMINED]} labels are DETERMINED (proved), {counts[Known.CLAIMED]} by the solver only, "
        f"{counts[Known.OPEN]} open (another labelling fits), {counts[Known.UNKNOWN]} unknown"
    )
    for item in found.given:
        yield f"  by {_named(found, item)} at the latest: {item.before} -> {item.after} labels at least"
    if found.guess is not None and counts[Known.DETERMINED] < len(found.ids):
        yield _guessed(found.guess)


def _found(found: Likely, submissions: int) -> Iterator[str]:
    n = found.records
    vote = f"a plain vote of the submissions {found.vote:.1%}, " if found.vote else ""
    yield (
        f"LIKELY: {found.right} of {n} labels right ({found.right / n:.1%}), a blind guess {found.blind:.1%}, "
        f"{vote}a placebo {found.placebo / n:.1%}; counted by the host's labels, which the search never saw"
    )
    which = "every answer" if found.used == submissions else "every answer that was searched"
    fits = f"fits {which}" if found.fits else f"does not fit {which}"
    yield f"  the best of its ends {fits}; {found.ends} end as well, and agree on {found.same} labels"
    few = "" if found.used == submissions else f", so that {found.used} of {submissions} answers were searched"
    yield (f"  {found.calls} of {found.granted} simulations{few}; --simulations grants more, or fewer")


def _named(found: LogReport, item: Given) -> str:
    last = f"{item.last + 1} ({found.submissions[item.last]})"
    if item.first == item.last:
        return f"submission {last}"
    return f"one of the submissions {item.first + 1} ({found.submissions[item.first]}) to {last}, --timeout was over"


def _guessed(found: VoteGuess) -> str:
    vote = f"a plain vote of the submissions is right on {100 * found.vote:.1f} % of the labels"
    if found.point <= found.vote:
        return f"nearly determined: none; {vote}, and solving for them does no better"
    return f"nearly determined: solving for the labels is right on {100 * found.point:.1f} % of them; {vote}"


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
            {
                "submission": found.submissions[item.last],
                "not before": found.submissions[item.first],
                "before": item.before,
                "after": item.after,
            }
            for item in found.given
        ],
        "worth a look": {found.submissions[at]: why for at, why in found.suspects.items()},
        "sums": found.sums,
        "likely": None if found.likely is None else {**attrs.asdict(found.likely), "leaks": found.likely.leaks},
        "guess": None if found.guess is None else attrs.asdict(found.guess),
    }


def save_status(found: LogReport, path: Path) -> None:
    """Write id and status of every record, readable by its owner alone.

    Raises:
        InputError: The file cannot be written, or there is nothing to write.
    """
    if found.answer is None:
        raise InputError(f"--out {path}: the audit was inconclusive, there is nothing to save.")
    statuses = (Known(int(value)).name.lower() for value in found.answer.known)
    save_private(path, csv_text(("id", "status"), zip(found.ids, statuses, strict=True)))

"""The attack on what a run publishes: its own files, read by an adversary who has this very software.

The record is a channel like any other (:mod:`~labelinf_core.report.adversary`).

* Every name in a file is supposed to be what the randomness was derived from.
* A name that is derived from the labels confirms a guess of them, and gives few labels away to whoever tries them all.

The truth and the secret of the run, which its record holds, serve to grade the attack, never to help it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import attrs
import numpy as np

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import read_regular
from labelinf_core.evaluator.cells import Cell, Plan, digest_of
from labelinf_core.evaluator.labels import label_sets, load_labels
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.results import Results
from labelinf_core.report.adversary import Adversary
from labelinf_core.report.formats import FORMATS
from labelinf_core.report.readings import readings
from labelinf_core.specs import Builder

__all__ = ["Attacked", "RecordAudit", "attacked", "attacked_run", "record_answer"]

_NAME = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])|private-\d+")
_PREFIX = 12  # characters of a name that tell it from all others
_NAMES = 2  # that are supposed to be what the randomness is derived from
_LUCK = 1e-3  # probability that a guess alone is called an attack


@attrs.frozen(kw_only=True)
class Attacked:
    """What an adversary reads from one file about one set of labels.

    Attributes:
        file: Its name.
        labels: What a report calls the labels.
        n_records: How many there are.
        figures: How many counts and means it tells.
        correct: Labels that the best of the attacks guessed correctly.
        majority: Labels that the majority guess gets.
        names: How many names in it confirm a guess of the labels, or belong to the secret of the run.
        above: Whether the attack did better than luck with the majority guess explains.
        cut_short: Whether the budget of games ended before every figure had been played again.
    """

    file: str
    labels: str
    n_records: int
    figures: int
    correct: int
    majority: int
    names: int
    above: bool
    cut_short: bool = False

    @property
    def gives_away(self) -> bool:
        """Whether the file tells more than the majority guess."""
        return self.above or self.names > 0


@attrs.frozen(kw_only=True)
class RecordAudit(AuditDecision):
    """What the files of a run come to.

    Attributes:
        files: What an adversary read from each; none where no label is private.
    """

    files: tuple[Attacked, ...]

    @property
    def word(self) -> AuditWord:
        """The answer in a word."""
        if any(item.gives_away for item in self.files):
            return AuditWord.LEAKS
        return AuditWord.UNSHOWN if self.files else AuditWord.CERTIFIED


def attacked_run(
    results: Results,
    builder: Builder,
    *,
    folder: Path | None = None,
    full: bool = False,
    labels: object = None,
    progress: Callable[[str, int], None] = lambda file, of: None,
) -> Iterator[Attacked]:
    """Attack every file that a run has written, for each of its sets of private labels.

    Args:
        results: Of the run.
        builder: Builds the components, for the adversary too.
        folder: Of the run: files that lie there are read as they are, whoever has written or changed them. Others are
            attacked as a report would write them.
        full: Whether to attack the files with every detail.
        labels: Where the labels are now, as a spec, if not where they were read.
        progress: Called before every file with its name and how many there are.

    Raises:
        InputError: The labels cannot be had, or are others by now.
    """
    names = {"json": "results.json", "csv": "results.csv", "html": "report.html", "junit": "junit.xml"}
    files = {names.get(form, f"results.{form}"): "".join(write(results, full=full)) for form, write in FORMATS.items()}
    if folder is not None and not full:
        files = {name: _text_of(folder / name, text) for name, text in files.items()}
    private = [facts for facts in results.plan.labels if not facts.public]
    known = label_sets(results.plan, builder)
    if labels is not None:
        data = load_labels(builder, labels, "--labels")
        meant = digest_of(data) in {facts.content for facts in private}
        known = {**known, digest_of(data): data} if meant else {}  # never others that are where they were read
    for facts in private:
        if facts.content not in known:
            told = "are others" if labels is not None else "are not where they were read, or have changed"
            raise InputError(
                f"the labels {facts.title!r} of this run {told}; give them again, with the same features and groups: "
                f"--labels FILE, or in Python labelinf.audit_record(y, run)."
            )
        yield from attacked(
            files, results.plan, builder, known[facts.content], facts.digest, progress=progress, sets=len(private)
        )


def _text_of(path: Path, otherwise: str) -> str:
    """Return what a file holds, or the text that stands for one that is not there.

    Raises:
        InputError: It cannot be read.
    """
    try:
        return read_regular(path).decode("utf-8") if path.exists() else otherwise
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as text.") from error


def attacked(
    files: Mapping[str, str],
    plan: Plan,
    builder: Builder,
    data: LabelSet,
    digest: str,
    *,
    progress: Callable[[str, int], None] = lambda file, of: None,
    sets: int = 1,
) -> Iterator[Attacked]:
    """Attack every file of a run and yield what came out; what one shows of the attacks serves for the others too.

    Args:
        files: Their texts by name.
        plan: Of the run, as its record holds it.
        builder: Builds the components, for the adversary too.
        data: The private labels, to grade him.
        digest: Their name in the plan.
        progress: Called before every file with its name and how many there are, of all sets of labels.
        sets: How many sets of labels there are.
    """
    from scipy import stats

    cells = [cell for cell in plan.cells if cell.digest == digest]
    truth, counts = data.labels, np.bincount(data.labels, minlength=data.n_classes)
    title = next(facts.title for facts in plan.labels if facts.digest == digest)
    adversary = Adversary(bench=TrialRunner(builder=builder), data=data, counts=counts, plan=plan)
    for name, text in files.items():
        progress(name, sets * len(files))
        try:
            found = readings(name, text, cells, title)
            if any(item.trial is not None and item.trial not in range(plan.trials) for item in found):
                raise ValueError("there was no such trial")
        except Exception as error:  # somebody has edited it, and each format complains in its own way
            raise InputError(f"{name} is no longer what a run writes: remove it, or have it written again.") from error
        assumed = list(islice(dict.fromkeys(_NAME.findall(text)), _NAMES)) or ["0" * 64]
        right = [int(np.sum(adversary.guess(found, each) == truth)) for each in assumed] if found else [0]
        majority = int(counts.max())
        luck = len(assumed) * stats.binom.sf(max(right) - 1, truth.size, majority / truth.size)
        yield Attacked(
            file=name,
            labels=title,
            n_records=truth.size,
            figures=len(found),
            correct=max(*right, majority),
            majority=majority,
            names=sum(secret[:_PREFIX] in text for secret in _secrets(plan, cells)),
            above=bool(luck < _LUCK),
            cut_short=adversary.cut_short,
        )


def _secrets(plan: Plan, cells: Sequence[Cell]) -> set[str]:
    """Return what belongs to the labels or to the secret: names with the key, and those that a guess confirms."""
    bare = [attrs.evolve(cell, digest=cell.content) for cell in cells]
    whole = attrs.evolve(plan, cells=tuple(bare))
    named = {name for cell in (*cells, *bare) for name in (cell.digest, cell.content, cell.id)}
    return named | {plan.key, plan.digest, whole.digest} - {""}


def record_answer(found: Sequence[Attacked], *, full: bool) -> Answer:
    """Return what the files of a run give away, what stops that, and what it costs."""
    away = list(dict.fromkeys(item.file for item in found if item.gives_away))
    if not found:
        leaks = "nothing: all labels of this run are public"
    elif away:
        leaks = f"more than the majority guess, by {', '.join(away)}"
    else:
        read = ", ".join(dict.fromkeys(item.file for item in found))
        leaks = (
            f"nothing above the majority guess, in {read}, and no other file was read; that is not a proof of safety"
        )
    return Answer(
        leaks=leaks,
        stopped="writing the files without --full, and publishing no other"
        if full or away
        else "publishing no other file",
        costs="the exact counts of every trial, which stay in run.sqlite",
    )

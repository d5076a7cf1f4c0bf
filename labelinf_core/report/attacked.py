"""The attack on what a run publishes: its own files, read by an adversary who has this very software.

The record is a channel like any other. Whoever knows from what a trial's randomness is derived can play it again on
labels of his own: that tells him which labels the attack reads in that trial and what it guesses of the others, so that
every count of correct guesses, and every mean of such counts, is a linear equation on the labels.

* Every name in a file is supposed to be what the randomness was derived from, and the equations that follow are solved
  as a mixed-integer programme; the class counts are given to the adversary.
* A name that is derived from the labels confirms a guess of them, and gives few labels away to whoever tries them all.

The truth and the secret of the run, which its record holds, serve to grade the attack, never to help it.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import read_regular
from labelinf_core.evaluator.cells import Cell, Plan, digest_of
from labelinf_core.evaluator.labels import label_sets, load_labels
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.results import Results
from labelinf_core.report.formats import FORMATS
from labelinf_core.report.published import STEP
from labelinf_core.specs import Builder

__all__ = ["Attacked", "CellReading", "RecordAudit", "attacked", "attacked_run", "readings", "record_answer"]

Labels = NDArray[np.intp]

_NAME = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])|private-\d+")
_PREFIX = 12  # characters of a name that tell it from all others
_NAMES = 2  # that are supposed to be what the randomness is derived from
_DOUBT = 1e-4  # probability that a guess is taken for fixed, and is not
_GAMES = 200  # that show which labels an attack reads, at most
_ALIKE = 4  # that show it where an attack read every label in each, or guessed the same in each
_NODES = 20  # of the programme's search: the first solution is as good as any
_LUCK = 1e-3  # probability that a guess alone is called an attack


@attrs.frozen(kw_only=True)
class CellReading:
    """What a file tells of the labels that were guessed correctly in a cell.

    Attributes:
        cell: The cell.
        trial: The trial; None for the mean over all of them.
        low: At least so large a share of the labels.
        high: At most so large.
    """

    cell: Cell
    trial: int | None
    low: float
    high: float


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
    """

    file: str
    labels: str
    n_records: int
    figures: int
    correct: int
    majority: int
    names: int
    above: bool

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
    adversary = _Adversary(bench=TrialRunner(builder=builder), data=data, counts=counts, plan=plan)
    for name, text in files.items():
        progress(name, sets * len(files))
        try:
            found = readings(name, text, cells, title)
        except (ValueError, KeyError, TypeError) as error:  # of a file that somebody has edited
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
        )


def _secrets(plan: Plan, cells: Sequence[Cell]) -> set[str]:
    """Return what belongs to the labels or to the secret: names with the key, and those that a guess confirms."""
    bare = [attrs.evolve(cell, digest=cell.content) for cell in cells]
    whole = attrs.evolve(plan, cells=tuple(bare))
    named = {name for cell in (*cells, *bare) for name in (cell.digest, cell.content, cell.id)}
    return named | {plan.key, plan.digest, whole.digest} - {""}


def readings(name: str, text: str, cells: Sequence[Cell], title: str) -> list[CellReading]:
    """Return every count and every mean that a file tells about ``cells``.

    Args:
        name: Of the file: what follows its last point is the format.
        text: What is in it.
        cells: Those that were played on one set of labels.
        title: What a report calls these labels.
    """
    form = name.rpartition(".")[2]
    if form == "json":
        return list(_of_json(json.loads(text), cells, title))
    if form == "csv":
        by_spec = {(cell.channel, cell.attack, " + ".join(cell.written)): cell for cell in cells}
        rows = (row for row in csv.DictReader(io.StringIO(text)) if row["labels"] == title and row["accuracy"])
        keyed = [((row["channel"], row["attack"], row["defences"]), float(row["accuracy"])) for row in rows]
        return _means([(by_spec[key], value) for key, value in keyed if key in by_spec], 1e-9)
    shown = {(cell.shown.attack, cell.shown.pipeline): cell for cell in cells}
    told = _TEXTS[form](text)
    return _means([(shown[where], share) for where, share in told if where in shown], 5e-4)


def _of_json(document: Any, cells: Sequence[Cell], title: str) -> Iterator[CellReading]:
    names = {item["digest"] for item in document["labels"] if item["title"] == title}
    by_spec = {(cell.channel, cell.attack, cell.written): cell for cell in cells}
    means: list[tuple[Cell, float]] = []
    for item in document["cells"]:
        cell = by_spec.get((item["channel"], item["attack"], tuple(item["defences"])))
        if cell is None or item["labels"] not in names:
            continue
        for outcome in item["outcomes"] or ():
            if outcome["status"] == "ok":
                count = float(outcome["n_correct"])
                yield CellReading(cell=cell, trial=outcome["trial"], low=count, high=count)
        if not item["outcomes"] and item["accuracy"]:
            means.append((cell, item["accuracy"]["value"]))
    yield from _means(means, 1e-9)


def _means(found: Sequence[tuple[Cell, float]], exact: float) -> list[CellReading]:
    """Read shares: those that all stand on the grid of published ones are as coarse as it is."""
    coarse = all(abs(value / STEP - round(value / STEP)) < 1e-6 for _, value in found)
    half = STEP if coarse else exact  # at the ends, a whole step
    return [CellReading(cell=cell, trial=None, low=value - half, high=value + half) for cell, value in found]


def _of_page(text: str) -> Iterator[tuple[tuple[str, str], float]]:
    for table in re.findall(r'<table class="matrix">.*?</table>', text, re.DOTALL):
        head = re.findall(r'<th scope="col" title="(.*?)">', table.partition("</thead>")[0])
        pipelines = list(map(html.unescape, head))
        for attack, row in re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', table.partition("<tbody>")[2]):
            tips = re.findall(r'<td class="[^"]*" title="([^"]*)"', row)
            for pipeline, tip in zip(pipelines, tips, strict=False):
                if share := re.search(r"; ([\d.]+) % \(", tip):
                    yield (html.unescape(attack), pipeline), float(share[1]) / 100


def _of_junit(text: str) -> Iterator[tuple[tuple[str, str], float]]:
    for pipeline, attack, share in re.findall(
        r'<testcase classname="(.*?)" name="(.*?)"[^>]*>\s*<failure[^>]*message="([\d.]+)', text
    ):
        yield (html.unescape(attack), html.unescape(pipeline)), float(share) / 100


def _of_sarif(text: str) -> Iterator[tuple[tuple[str, str], float]]:
    for item in json.loads(text)["runs"][0]["results"]:
        if found := re.match(r"(.*?) against (.*) on .*?: ([\d.]+).* % of the labels", item["message"]["text"]):
            yield (found[1], found[2]), float(found[3]) / 100


_TEXTS = {"html": _of_page, "xml": _of_junit, "sarif": _of_sarif}


@attrs.frozen(kw_only=True, eq=False)
class _Firm:
    """How a cell went the last time, and how often in a row its first game has gone so.

    Attributes:
        guess: In the first game, on labels that are the same for all names and trials.
        roles: See :meth:`_Adversary._roles`.
        times: Names and trials.
    """

    guess: Labels
    roles: tuple[Labels, Labels]
    times: int = 1


@attrs.define(kw_only=True)
class _Adversary:
    """Sets equations up and solves them.

    Attributes:
        bench: Where games are played again, on labels of his own.
        data: The labels' size, classes and features, which are public; the labels are never looked at.
        counts: Class counts, which he is given.
        plan: What was played.
    """

    bench: TrialRunner
    data: LabelSet = attrs.field(repr=False)
    counts: Labels
    plan: Plan
    _seen: dict[tuple[str, int], tuple[Labels, Labels]] = attrs.field(factory=dict, init=False)
    _firm: dict[tuple[object, ...], _Firm] = attrs.field(factory=dict, init=False)
    _guesses: dict[tuple[object, ...], Labels] = attrs.field(factory=dict, init=False)

    def guess(self, found: Sequence[CellReading], name: str) -> Labels:
        """Return the labels that fit what was read, were all randomness derived from ``name``; none where none do."""
        key = (name, *((item.cell.id, item.trial, item.low, item.high) for item in found))
        if key not in self._guesses:
            self._guesses[key] = self._fitting(found, name)
        return self._guesses[key]

    def _fitting(self, found: Sequence[CellReading], name: str) -> Labels:
        rows: list[NDArray[np.float64]] = []
        bounds: list[tuple[float, float]] = []
        for item in found:
            weights, low, high = self._equation(item, name)
            if weights.any():
                rows.append(weights)
                bounds.append((low, high))
        return self._solved(rows, bounds) if rows else np.full(self.data.n_records, -1)

    def _equation(self, item: CellReading, name: str) -> tuple[NDArray[np.float64], float, float]:
        """Return the weights of all labels' indicators, and between what their sum lies."""
        n = self.data.n_records
        trials = range(self.plan.trials) if item.trial is None else (item.trial,)
        scale = n * len(trials) if item.trial is None else 1
        weights, low, high = np.zeros((n, self.data.n_classes)), item.low * scale, item.high * scale
        for trial in trials:
            reads, guesses = self._roles(attrs.evolve(item.cell, digest=name), trial)
            told = np.flatnonzero(guesses >= 0)
            weights[told, guesses[told]] += 1
            high -= reads.sum()
            low -= n - told.size
        return weights.ravel(), low, high

    def _roles(self, cell: Cell, trial: int) -> tuple[Labels, Labels]:
        """Return which records an attack reads in a trial, and what it guesses of the others: -1 where that varies.

        What it reads changes with labels of his own that he plays on, and is right every time. An attack that reads
        all of them, or nothing at all, has shown that by a few games: all records speak for it. Where the first game
        goes as it did under other names and in other trials, no randomness has had a say, and the rest goes as it did.
        """
        if (cell.id, trial) in self._seen:
            return self._seen[cell.id, trial]
        rng, n = np.random.default_rng(1), self.data.n_records
        bag, spec = np.repeat(np.arange(self.data.n_classes), self.counts), (cell.channel, cell.attack, cell.defences)
        firm = self._firm.get(spec)
        if firm is None or firm.times < _ALIKE:
            shown = [self._play(cell, rng.permutation(bag), trial)]
            if firm is not None and np.array_equal(firm.guess, shown[0][0]):
                firm = attrs.evolve(firm, times=firm.times + 1)
            else:
                games = min(_GAMES, int(np.ceil(np.log(_DOUBT / n) / np.log(self.counts.max() / n))))
                roles = self._shown(cell, trial, shown, games, lambda: rng.permutation(bag))
                firm = _Firm(guess=shown[0][0], roles=roles)
            self._firm[spec] = firm
        self._seen[cell.id, trial] = firm.roles
        return firm.roles

    def _shown(
        self,
        cell: Cell,
        trial: int,
        shown: list[tuple[Labels, Labels]],
        games: int,
        draw: Callable[[], Labels],
    ) -> tuple[Labels, Labels]:
        """Go on playing until the records that an attack reads, and its fixed guesses, stand out from luck."""
        while True:
            guesses = np.array([guess for guess, _ in shown])
            same = (guesses == guesses[0]).all(axis=0)
            right = np.all([guess == truth for guess, truth in shown], axis=0)
            if len(shown) >= games or not (same | right).any():
                break  # fewer records with every game: where none is left, none comes back
            if len(shown) == _ALIKE and (right.all() or same.all()):
                break
            shown.append(self._play(cell, draw(), trial))
        return ~same & right, np.where(same, guesses[0], -1)

    def _play(self, cell: Cell, labels: Labels, trial: int) -> tuple[Labels, Labels]:
        """Play a trial again on other labels; where that shows nothing, no guess is right."""
        own = attrs.evolve(self.data, labels=labels)
        content = digest_of(own)
        self.bench.held = {content: own}
        nothing = np.full(labels.size, -1)
        try:
            outcome = self.bench.run_trial(attrs.evolve(cell, content=content), self.plan.seed, trial)
        except Exception:  # an attack is anyone's code
            return nothing, labels
        if outcome.guess is None or outcome.truth is None or not np.array_equal(outcome.truth, labels):
            return nothing, labels
        return np.asarray(outcome.guess), labels

    def _solved(self, rows: list[NDArray[np.float64]], bounds: list[tuple[float, float]]) -> Labels:
        from scipy import optimize, sparse

        n, classes = self.data.n_records, self.data.n_classes
        one_each = sparse.kron(sparse.eye(n), np.ones((1, classes)))
        counted = sparse.kron(np.ones((1, n)), sparse.eye(classes))
        low, high = np.array(bounds).T
        found = optimize.milp(
            np.zeros(n * classes),
            integrality=np.ones(n * classes, dtype=np.intp),
            bounds=optimize.Bounds(0, 1),
            constraints=[
                optimize.LinearConstraint(sparse.csr_array(one_each), 1, 1),
                optimize.LinearConstraint(sparse.csr_array(counted), self.counts, self.counts),
                optimize.LinearConstraint(sparse.csr_array(np.array(rows)), low - 1e-6, high + 1e-6),
            ],
            options={"node_limit": _NODES},  # and no seconds: what is found does not depend on the machine
        )
        if found.x is None:
            return np.full(n, -1)
        guess: Labels = found.x.reshape(n, classes).argmax(axis=1)
        return guess


def record_answer(found: Sequence[Attacked], *, full: bool) -> Answer:
    """Return what the files of a run give away, what stops that, and what it costs."""
    away = list(dict.fromkeys(item.file for item in found if item.gives_away))
    if not found:
        leaks = "nothing: all labels of this run are public"
    elif away:
        leaks = f"more than the majority guess, by {', '.join(away)}"
    else:
        leaks = "nothing above the majority guess, in any file; that is not a proof of safety"
    return Answer(
        leaks=leaks,
        stopped="writing the files without --full, and publishing no other"
        if full or away
        else "publishing no other file",
        costs="the exact counts of every trial, which stay in run.sqlite",
    )

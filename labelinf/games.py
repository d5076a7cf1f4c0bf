"""One game or a matrix of them on labels of your own, and runs that were kept: as functions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import attrs
from numpy.typing import ArrayLike

from labelinf.labels import label_set, labels_first, named_scorer
from labelinf.objects import handed, written
from labelinf.results import AuditResult, Listing, Played
from labelinf.shown import WIDTH, shows
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.choice import STRONGEST
from labelinf_core.evaluator.engines import local
from labelinf_core.evaluator.game import channel_spec
from labelinf_core.evaluator.once import plan_once, play_once
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.run import run, size
from labelinf_core.evaluator.runs import results_of
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.worker import watch
from labelinf_core.report.answer import of_bout
from labelinf_core.report.attacked import RecordAudit, attacked_run, record_answer
from labelinf_core.report.bout import recovered, summary
from labelinf_core.report.comparison import answer, as_document, compare_results
from labelinf_core.report.formats import write_all
from labelinf_core.report.progress import counting
from labelinf_core.specs import Builder

__all__ = ["attack", "audit_record", "compare", "load", "matrix"]


def load(run: str | Path) -> Played:
    """Read a run that was kept, complete or not.

    >>> import labelinf as li, tempfile
    >>> kept = tempfile.mkdtemp()
    >>> played = li.matrix([0, 1, 1, 0, 1] * 4, attacks=["majority"], trials=1, out=kept)
    >>> [row["accuracy"] for row in li.load(kept).rows()]
    [0.6]

    Args:
        run: Its directory.

    Raises:
        InputError: There is no run.
    """
    return Played(results=results_of(Path(run)))


@shows("attacking")
def audit_record(
    y: ArrayLike | None,
    run: str | Path,
    *,
    features: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    full: bool = False,
) -> AuditResult:
    """Attack what a kept run has written, as ``labelinf audit record`` does.

    >>> import labelinf as li, tempfile
    >>> y, kept = [0, 1, 1, 0, 1] * 4, tempfile.mkdtemp()
    >>> played = li.matrix(y, attacks=["prime-blocks"], trials=1, out=kept)
    >>> li.audit_record(y, kept).word.value
    'no leak shown'

    Args:
        y: The private labels, which grade the guesses; None: those of the file that was read.
        run: Its directory.
        features: What was passed with them.
        groups: The same.
        full: Whether to attack the files that ``labelinf report --full`` prints.

    Returns:
        What was found, one row a file.

    Raises:
        InputError: There is no run, or the labels are not those that it was played on.
    """
    labels_first(y, "audit_record(y, run)")
    builder = Builder(Host.load())
    labels = None if y is None else handed(builder, label_set(y, features, groups))
    found = RecordAudit(
        files=tuple(attacked_run(load(run).results, builder, folder=Path(run), full=full, labels=labels))
    )
    return AuditResult(
        report=found,
        decision=found,
        words=tuple(record_answer(found.files, full=full).lines(WIDTH)),
        table=tuple({**attrs.asdict(item), "gives_away": item.gives_away} for item in found.files),
    )


def compare(before: str | Path | Played, after: str | Path | Played) -> Listing:
    """Show what changed between two runs, as ``labelinf compare`` does.

    >>> import labelinf as li
    >>> runs = [li.matrix([0, 1, 1] * 4, attacks=["majority"], defences=["none"], trials=n) for n in (1, 2)]
    >>> list(li.compare(*runs).rows())
    []

    Args:
        before: The first run, or its directory.
        after: The second.

    Returns:
        What changed, one row a game; ``report`` is the whole comparison.

    Raises:
        InputError: There is no run, or the two have no game in common.
    """
    found = compare_results(*(run.results if isinstance(run, Played) else load(run).results for run in (before, after)))
    return Listing(report=found, words=tuple(answer(found).lines(WIDTH)), table=tuple(as_document(found)["changes"]))


@shows("playing")
def attack(
    y: ArrayLike | None,
    attack: Any,
    *,
    features: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    scorer: str | Callable[..., float] | None = None,
    metric: str | None = None,
    queries: int | None = None,
    channel: str | None = None,
    defences: Sequence[Any] = (),
    seed: int = 0,
    timeout: float = 600.0,
) -> Listing:
    """Play one attack once, and show all of it, as ``labelinf attack`` does.

    >>> import labelinf as li
    >>> found = li.attack(["b", "a", "a", "b"] * 3, "prime-blocks")
    >>> next(found.rows())
    {'record': 0, 'recovered': 'b', 'true': 'b'}

    Args:
        y: Private labels of any names, shape ``(n_records,)``; None: those that its channel is tried on.
        attack: A spec, or an object of your own.
        features: As of :func:`matrix`, and so are ``groups``, ``scorer``, ``metric``, ``queries``, and
            ``channel``.
        groups: Which records belong together.
        scorer: What computes the score.
        metric: What is scored: a metric, or a loss that a score averages.
        queries: The adversary's budget.
        channel: Which game; that of the attack when omitted.
        defences: What stands between, from the curator outward: specs, or objects of your own.
        seed: What all randomness is derived from.
        timeout: Seconds that the game may take.

    Returns:
        What came of it, one row a record, with an empty text where none is guessed; ``report`` is the cell of a matrix.

    Raises:
        InputError: Something cannot be used as it is.
        ComponentError: The attack failed.
    """
    _check_numbers(timeout, seed=(seed, 0))
    builder = Builder(Host.load())
    (player,) = map(str, written(builder, Kind.ATTACK, [attack]))
    chosen = {
        "labels": None if y is None else handed(builder, label_set(y, features, groups)),
        "defences": written(builder, Kind.DEFENCE, defences),
        "channel": channel,
        "scorer": named_scorer(scorer),
        "metric": metric,
        "queries": queries,
        "seed": seed,
    }
    with watch.waiting(timeout):
        result, outcome = play_once(builder.host, plan_once(builder.host, player, chosen, "labelinf.attack"))
    names = ("record", "recovered", "true")
    return Listing(
        report=result,
        words=(*of_bout(result).lines(WIDTH), "", *summary(result, outcome)),
        table=tuple(dict(zip(names, each, strict=True)) for each in recovered(result, outcome)),
    )


def matrix(
    y: ArrayLike,
    *,
    features: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    scorer: str | Callable[..., float] | None = None,
    metric: str | None = None,
    queries: int | None = None,
    channel: str | None = None,
    attacks: Sequence[Any] = (),
    defences: Sequence[Any] = ("none",),
    trials: int = 3,
    seed: int = 0,
    timeout: float = 120.0,
    workers: int = 0,
    out: str | Path | None = None,
) -> Played:
    """Play attacks against defences on your own labels.

    >>> import labelinf as li
    >>> found = li.matrix([0, 1, 1, 0, 1] * 4, attacks=["prime-blocks"], trials=1)
    >>> [(row["defences"], row["accuracy"]) for row in found.rows()]
    [('none', 1.0)]

    Args:
        y: Private labels of any names, shape ``(n_records,)``.
        features: What a model is trained on, shape ``(n_records, n_features)``; scores need none.
        groups: Which records belong together, a name for each; independent when omitted.
        scorer: What computes the score, called as ``scorer(labels, predictions)``: a function of a module or of a
            notebook, or a name as on the command line.
        metric: What is scored, as a spec: a metric, or a loss that a score averages.
        queries: The adversary's budget; unlimited when omitted.
        channel: Which game; the one that the attacks and defences belong to when omitted.
        attacks: Specs, or objects of your own; the strongest that fit, of all that are installed, when omitted;
            ``"all"`` among them is every one.
        defences: What is compared: specs, or objects of your own; a list among them is a pipeline, from the curator
            outward.
        trials: How often every cell is played.
        seed: What all randomness is derived from.
        timeout: Seconds that one trial of a cell may take in a copy of this process; the cell is then given up.
        workers: How many copies of this process play; 0 plays what comes with labelinf in this process, where nothing
            ends it, and what you pass or others' plugins bring in one copy.
        out: Directory to keep the run in, with its report and results, as ``labelinf matrix --out`` does; nothing is
            kept when omitted. The labels themselves are not.

    Interrupted (Ctrl-C), it returns what is done until then.

    Raises:
        InputError: Something cannot be used as it is.
    """
    _check_numbers(timeout, trials=(trials, 1), seed=(seed, 0), workers=(workers, 0))
    builder = Builder(Host.load())
    players = written(builder, Kind.ATTACK, attacks) or [STRONGEST]
    lines = written(builder, Kind.DEFENCE, defences)
    settings = {"scorer": named_scorer(scorer), "queries": queries, "metric": metric}
    game = channel_spec(builder.host, {"channel": channel, "defences": lines, **settings}, players)
    with tempfile.TemporaryDirectory() as directory, watch.waiting(timeout):
        table = Matrix(
            labels=[handed(builder, label_set(y, features, groups))],
            attacks=players,
            defences=lines,
            channel=game.name,
            settings=dict(game.params),
        )
        plan = make_plan(Suite(matrix=[table], trials=trials, seed=seed, title="matrix"), builder, "labelinf.matrix")
        kept = Path(directory) / "run" if out is None else Path(out)
        found = _played(plan, builder, kept, timeout, workers)
        if out is None:
            return _held(found)
        write_all(found.results, kept)
        return found


def _check_numbers(timeout: float, **whole: tuple[int, int]) -> None:
    """Say what is no number of seconds, and what is no whole number of at least so many."""
    if not isinstance(timeout, Real) or not timeout > 0:
        raise InputError(f"timeout={timeout!r} must be a positive number of seconds.")
    for name, (value, least) in whole.items():
        if not isinstance(value, Integral) or value < least:
            raise InputError(f"{name}={value!r} must be a whole number, at least {least}.")


def _played(plan: Plan, builder: Builder, directory: Path, timeout: float, workers: int) -> Played:
    """Play what is not played yet; whoever interrupts it gets what is done."""
    with (
        closing(Store.open(directory, plan)) as store,
        local(plan, builder, timeout, workers) as executor,
        counting(size(plan)) as progress,
        suppress(KeyboardInterrupt),
    ):
        run(plan, store, executor, progress)
    return load(directory)


def _held(found: Played) -> Played:
    """Hold every trial: the record is about to go."""
    cells = tuple(attrs.evolve(result, trials=tuple(result.trials)) for result in found.results.cells)
    return Played(results=attrs.evolve(found.results, cells=cells))

"""The matrix, a run that was kept, what theory implies, and advice: as functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from labelinf.shown import WIDTH, Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from labelinf_core.advise.search import Advice
    from labelinf_core.contracts.components import Measure
    from labelinf_core.contracts.guarantees import BoundValue, Ceiling
    from labelinf_core.contracts.pictures import Picture
    from labelinf_core.evaluator.cells import Plan
    from labelinf_core.evaluator.records import Implied
    from labelinf_core.evaluator.results import CellResult, Results
    from labelinf_core.plugin.host import Host
    from labelinf_core.specs import Builder, Spec

__all__ = ["Advised", "Played", "Theory", "advise", "bounds", "load", "matrix", "named_scorer", "stored"]


T = TypeVar("T")
_KNOBS = 40  # whose games advice may take the time of, behind a stranger's defence


@attrs.frozen(kw_only=True)
class Played(Shown):
    """What came of a run, with every figure: as private as the labels.

    Attributes:
        results: All of it.
    """

    results: Results

    @property
    def cells(self) -> tuple[CellResult, ...]:
        """Every cell, in the order of the plan."""
        return self.results.cells

    @property
    def plan(self) -> Plan:
        """What was played."""
        return self.results.plan

    def lines(self) -> Iterator[str]:
        """Yield what leaks, what stops it at what cost, and what is not known."""
        from labelinf_core.report.headline import headline

        return headline(self.results, WIDTH)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield one row a cell, with the columns of ``results.csv``."""
        from labelinf_core.report.data import row

        return map(row, self.results.cells)

    def pictures(self) -> Iterator[Picture]:
        """Yield the strongest attack on every defence, leakage against strength, leakage against cost."""
        from labelinf_core.report import pictures
        from labelinf_core.report.boards import boards

        for board in boards(self.results):
            yield pictures.worst(board)
            yield from pictures.strengths(board)
            yield from pictures.costs(board)


@attrs.frozen(kw_only=True)
class Theory(Shown):
    """What theory implies.

    Attributes:
        implied: All of it.
    """

    implied: Implied

    @property
    def baseline(self) -> float:
        """Accuracy of the best blind guess."""
        return self.implied.baseline

    @property
    def ceilings(self) -> tuple[Ceiling, ...]:
        """What no attack exceeds."""
        return self.implied.ceilings

    @property
    def bounds(self) -> tuple[BoundValue, ...]:
        """Every line of the theory."""
        return self.implied.bounds

    def lines(self) -> Iterator[str]:
        """Yield the blind guess and the ceilings, the lowest first."""
        from labelinf_core.report import words

        yield f"best blind guess: {words.percent(self.baseline)} %"
        for item in sorted(self.ceilings, key=lambda ceiling: ceiling.accuracy):
            yield f"{words.ceiling(item, self.baseline)}; {item.statement} ({item.conditions})"
        if not self.ceilings:
            yield "no ceiling is proved: all labels may come out"

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield one row a bound."""
        for bound in self.bounds:
            yield {**attrs.asdict(bound), "direction": bound.direction.value}

    def pictures(self) -> Iterator[Picture]:
        """Yield the ceilings beside the blind guess."""
        from labelinf_core.contracts.pictures import Picture, Series

        told = sorted(self.ceilings, key=lambda ceiling: ceiling.accuracy)
        heights = [self.baseline, *(ceiling.accuracy for ceiling in told)]
        yield Picture(
            title="What no attack exceeds on average",
            x="statement",
            y="labels recovered, %",
            series=(
                Series(name="at most", points=tuple((float(i), 100 * y) for i, y in enumerate(heights)), line=False),
            ),
            names=("blind guess", *(ceiling.statement for ceiling in told)),
        )


@attrs.frozen(kw_only=True)
class Advised(Shown):
    """The smallest strength of every defence for a target.

    Attributes:
        target: What was to be reached.
        found: One advice a knob.
        measures: What a cost is counted in.
    """

    target: str
    found: tuple[Advice, ...]
    measures: tuple[Measure, ...]

    def lines(self) -> Iterator[str]:
        """Yield what leaks, what stops it, what that costs."""
        from labelinf_core.cli.advice import answer_of

        yield f"target: {self.target}"
        yield from answer_of(self.found, self.measures).lines(WIDTH)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield one row a knob, its costs by name."""
        for item in self.found:
            yield {
                "defence": item.knob.title,
                "proved": item.certified,
                "statement": item.statement,
                "forced": item.forced,
                "forced by": item.strongest_attack,
                **item.certified_cost,
            }

    def pictures(self) -> Iterator[Picture]:
        """Yield what the certified settings cost, by every measure."""
        from labelinf_core.contracts.pictures import Picture, Series

        for measure in self.measures:
            known = [item for item in self.found if measure.key in item.certified_cost]
            if known:
                points = tuple((float(at), float(item.certified_cost[measure.key])) for at, item in enumerate(known))
                yield Picture(
                    title=f"What the target costs: {measure.title} ({measure.better} is better)",
                    x="proved setting",
                    y=measure.title,
                    series=(Series(name=measure.title, points=points, line=False),),
                    names=tuple(item.setting for item in known),
                )


def load(run: str | Path) -> Played:
    """Read a run that was kept, complete or not.

    Args:
        run: Its directory.

    Raises:
        InputError: There is no run.
    """
    from pathlib import Path

    from labelinf_core.evaluator.results import summarise
    from labelinf_core.evaluator.store import Store

    store = Store.reopen(Path(run))
    try:
        return Played(results=summarise(store))
    finally:
        store.close()


def matrix(
    y: ArrayLike,
    *,
    features: ArrayLike | None = None,
    scorer: str | Callable[..., float] | None = None,
    loss: str | None = None,
    metric: str | None = None,
    queries: int | None = None,
    channel: str = "",
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
        scorer: What computes the score, called as ``scorer(labels, predictions)``: a function of a module or of a
            notebook, or a name as on the command line.
        loss: What a score averages, as a spec.
        metric: What is scored that is no mean of a loss, as a spec.
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
        out: Directory to keep the run in, as ``labelinf matrix --out`` does; nothing is kept when omitted.

    Raises:
        InputError: Something cannot be used as it is.
    """
    import tempfile
    from pathlib import Path

    from labelinf.objects import written
    from labelinf_core.cli.game import channel_spec
    from labelinf_core.evaluator.choice import STRONGEST
    from labelinf_core.evaluator.plan import make_plan
    from labelinf_core.evaluator.suite import Matrix, Suite
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.plugin.host import Host
    from labelinf_core.plugin.watch import watch
    from labelinf_core.specs import Builder

    builder = Builder(Host.load())
    players = written(builder, Kind.ATTACK, attacks) or [STRONGEST]
    lines = written(builder, Kind.DEFENCE, defences)
    settings = {"scorer": named_scorer(scorer), "queries": queries, "loss": loss, "metric": metric}
    game = channel_spec(builder.host, {"channel": channel, "defences": lines, **settings}, players)
    with tempfile.TemporaryDirectory() as directory, watch.waiting(timeout):
        table = Matrix(
            labels=[stored(y, features, Path(directory))],
            attacks=players,
            defences=lines,
            channel=game.name,
            settings=dict(game.params),
        )
        plan = make_plan(Suite(matrix=[table], trials=trials, seed=seed, title="matrix"), builder, "labelinf.matrix")
        kept = Path(directory) / "run" if out is None else Path(out)
        found = _played(plan, builder, kept, timeout, workers)
        return found if out is not None else _held(found)


def bounds(
    *,
    records: int | None = None,
    classes: int = 2,
    shares: Sequence[float] | None = None,
    labels: str | None = None,
    column: str = "",
    queries: int | None = None,
    scorer: str | Callable[..., float] | None = None,
    loss: str | None = None,
    metric: str | None = None,
    channel: str = "",
    defences: Sequence[Any] = (),
) -> Theory:
    """Say what theory implies; nothing is played.

    >>> import labelinf as li
    >>> print(li.bounds(records=100, classes=4).baseline)
    0.25

    Args:
        records: How many private labels there are.
        classes: Of how many classes.
        shares: Share of every class; equal when omitted.
        labels: Instead of ``records``: a file or a label source.
        column: Of that file.
        queries: The adversary's budget; unlimited when omitted.
        scorer: What computes the score.
        loss: What a score averages.
        metric: What is scored that is no mean of a loss.
        channel: Which game; the first that can be played on what is given when omitted.
        defences: What stands between, from the curator outward: specs or objects.

    Raises:
        InputError: Something cannot be used as it is.
    """
    given = locals()

    from labelinf_core.cli.game import Game
    from labelinf_core.evaluator.play import theory

    host, chosen = _chosen(given)

    def question() -> Implied:
        game = Game.read(host, chosen)
        return theory(game.builder, game.spec.name, game.defences, game.channel.threat(game.setting))

    return Theory(implied=_limited("bounds", host, chosen, question))


def advise(
    *,
    target: str | None = None,
    gain: str | None = None,
    records: int | None = None,
    classes: int = 2,
    shares: Sequence[float] | None = None,
    labels: str | None = None,
    column: str = "",
    queries: int | None = None,
    scorer: str | Callable[..., float] | None = None,
    loss: str | None = None,
    metric: str | None = None,
    channel: str = "",
    defences: Sequence[Any] = (),
    attacks: Sequence[Any] = (),
    certificates_only: bool = False,
    only: Sequence[str] = (),
    patience: float = 30.0,
    seed: int = 0,
    progress: Callable[[str], None] = lambda title: None,
) -> Advised:
    """Find the smallest setting of each defence that reaches a target.

    >>> import labelinf as li
    >>> found = li.advise(gain="5%", records=200, only=["randomised-response"], certificates_only=True)
    >>> [round(item.certified, 3) for item in found.found]
    [0.201]

    Args:
        target: ``"60%"`` of the labels, ``"no-exact-recovery"`` or ``"epsilon<=1"``.
        gain: Instead: points over the best blind guess, such as ``"5%"``.
        records: As in :func:`bounds`, with ``classes``, ``shares``, ``labels`` and ``column``.
        classes: See there.
        shares: See there.
        labels: See there.
        column: See there.
        queries: The adversary's budget; unlimited when omitted.
        scorer: What computes the score.
        loss: What a score averages.
        metric: What is scored that is no mean of a loss.
        channel: Which game.
        defences: What stands already.
        attacks: What is played instead of the strongest.
        certificates_only: Play nothing.
        only: Texts, one of which a knob's title or spec must contain.
        patience: Seconds after which no further game begins on one knob.
        seed: Of the games.
        progress: Called with every knob's title before it is turned.

    Raises:
        InputError: Something cannot be used as it is, or the target cannot be meant.
    """
    given = locals()

    from labelinf_core.cli.advise import advisor_of
    from labelinf_core.cli.game import Game

    host, chosen = _chosen(given)

    def answered() -> tuple[str, tuple[Advice, ...], tuple[Measure, ...]]:
        game = Game.read(host, chosen)
        advisor = advisor_of(game, {**given, "attacks": list(map(str, attacks)), "also": ()})
        found = []
        for knob in advisor.knobs():
            if not only or any(text in knob.title + knob.template for text in only):
                progress(knob.title)
                found.append(advisor.advise(knob))
        return str(advisor.target), tuple(found), tuple(game.channel.measures())

    what, found, measures = _limited("advice", host, chosen, answered, _KNOBS * patience)
    return Advised(target=what, found=found, measures=measures)


def _limited(what: str, host: Host, chosen: Mapping[str, Any], ask: Callable[[], T], games: float = 0.0) -> T:
    """Ask here, or in a copy of this process, under its limits, where a stranger's code is built."""
    from labelinf_core.evaluator.survey import strange
    from labelinf_core.plugin.apart import apart
    from labelinf_core.plugin.watch import watch

    played = list(map(str, chosen.get("attacks", ())))
    settings = [chosen[name] for name in ("labels", "channel", "scorer", "loss", "metric", "defences")]
    if not strange(host, [*settings, played]):
        return ask()
    name = f"{what} behind {', '.join(map(str, chosen['defences'])) or 'none'}"
    limit = watch.patience + games
    return apart(f"{name} against {', '.join(played)}" if played else name, ask, patience=limit)


def _chosen(given: Mapping[str, Any]) -> tuple[Host, dict[str, Any]]:
    """Return what a game is read from, as the command line says it."""
    from labelinf.objects import written
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.plugin.host import Host
    from labelinf_core.specs import Builder

    host = Host.load()
    defences = written(Builder(host), Kind.DEFENCE, given["defences"])
    return host, {**given, "scorer": named_scorer(given["scorer"]), "defences": defences, "features": ""}


def _played(plan: Plan, builder: Builder, directory: Path, timeout: float, workers: int) -> Played:
    from labelinf_core.evaluator.engines import copies
    from labelinf_core.evaluator.run import run
    from labelinf_core.evaluator.store import Store

    store = Store.open(directory, plan)
    try:
        with copies(plan, builder, timeout, workers) as executor:
            run(plan, store, executor)
    finally:
        store.close()
    return load(directory)


def _held(found: Played) -> Played:
    """Hold every trial: the record is about to go."""
    cells = tuple(attrs.evolve(result, trials=tuple(result.trials)) for result in found.results.cells)
    return Played(results=attrs.evolve(found.results, cells=cells))


def stored(y: ArrayLike, features: ArrayLike | None, directory: Path) -> Spec:
    """Write labels and features where the label source of arrays reads them."""
    import numpy as np

    from labelinf_core.specs import Spec

    labels = np.asarray(y)
    if labels.dtype == object:
        labels = labels.astype(str)
    if features is None:
        np.save(directory / "y.npy", labels)
        return Spec("npy", {"path": str(directory / "y.npy")})
    np.savez(directory / "y.npz", labels=labels, features=np.asarray(features))
    return Spec("npy", {"path": str(directory / "y.npz"), "column": "labels", "features": "features"})


def named_scorer(scorer: str | Callable[..., float] | None) -> str | None:
    """Return how the command line would name a function."""
    if scorer is None or isinstance(scorer, str):
        return scorer
    from labelinf_core.contracts.errors import InputError

    if not scorer.__qualname__.isidentifier():
        raise InputError(
            "scorer must be a function with a name, defined in a module or a notebook, so that it is found."
        )
    return f"{scorer.__module__}:{scorer.__qualname__}"

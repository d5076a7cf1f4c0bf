"""The matrix on labels of your own, and a run that was kept: as functions."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import attrs

from labelinf.results import Played

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from labelinf_core.evaluator.cells import Plan
    from labelinf_core.specs import Builder, Spec

__all__ = ["load", "matrix", "named_scorer", "stored"]


_MISSING = frozenset({"None", "nan", "NaN", "<NA>", "NaT"})  #: how what is no label prints


def load(run: str | Path) -> Played:
    """Read a run that was kept, complete or not.

    Args:
        run: Its directory.

    Raises:
        InputError: There is no run.
    """
    from pathlib import Path

    from labelinf_core.evaluator.runs import results_of

    return Played(results=results_of(Path(run)))


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
        out: Directory to keep the run in, with its report and results, as ``labelinf matrix --out`` does; nothing is
            kept when omitted. The labels themselves are not.

    Raises:
        InputError: Something cannot be used as it is.
    """
    import tempfile
    from pathlib import Path

    from labelinf.objects import written
    from labelinf_core.evaluator.choice import STRONGEST
    from labelinf_core.evaluator.game import channel_spec
    from labelinf_core.evaluator.plan import make_plan
    from labelinf_core.evaluator.suite import Matrix, Suite
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.plugin.host import Host
    from labelinf_core.plugin.worker import watch
    from labelinf_core.report.formats import write_all
    from labelinf_core.specs import Builder

    _check_numbers(timeout, trials=(trials, 1), seed=(seed, 0), workers=(workers, 0))
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
        if out is None:
            return _held(found)
        write_all(found.results, kept)
        return found


def _check_numbers(timeout: float, **whole: tuple[int, int]) -> None:
    """Say what is no number of seconds, and what is no whole number of at least so many."""
    from numbers import Integral, Real

    from labelinf_core.contracts.errors import InputError

    if not isinstance(timeout, Real) or not timeout > 0:
        raise InputError(f"timeout={timeout!r} must be a positive number of seconds.")
    for name, (value, least) in whole.items():
        if not isinstance(value, Integral) or value < least:
            raise InputError(f"{name}={value!r} must be a whole number, at least {least}.")


def _played(plan: Plan, builder: Builder, directory: Path, timeout: float, workers: int) -> Played:
    from labelinf_core.evaluator.engines import local
    from labelinf_core.evaluator.run import run
    from labelinf_core.evaluator.store import Store

    with closing(Store.open(directory, plan)) as store, local(plan, builder, timeout, workers) as executor:
        run(plan, store, executor)
    return load(directory)


def _held(found: Played) -> Played:
    """Hold every trial: the record is about to go."""
    cells = tuple(attrs.evolve(result, trials=tuple(result.trials)) for result in found.results.cells)
    return Played(results=attrs.evolve(found.results, cells=cells))


def stored(y: ArrayLike, features: ArrayLike | None, directory: Path) -> Spec:
    """Write labels and features where the label source of arrays reads them."""
    import numpy as np

    from labelinf_core.contracts.errors import InputError
    from labelinf_core.specs import Spec

    labels = np.asarray(y)
    if labels.ndim != 1 or not labels.size:
        raise InputError(
            f"y must hold one label a record, as a list or a vector, and is {type(y).__name__} of shape {labels.shape}."
        )
    if labels.dtype == object:  # what is missing has no name of its own: None, NaN, pandas' NA and NaT
        texts = [str(item) if isinstance(item, str) or str(item) not in _MISSING else "" for item in labels.ravel()]
        labels = np.array(texts, dtype=str).reshape(labels.shape)
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

    if not getattr(scorer, "__qualname__", "").isidentifier():
        raise InputError(
            "scorer must be a function with a name, defined in a module or a notebook, so that it is found."
        )
    return f"{scorer.__module__}:{scorer.__qualname__}"

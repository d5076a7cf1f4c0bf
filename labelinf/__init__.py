"""labelinf in Python: what the command line does, as functions. Importing it costs nothing.

>>> import labelinf as li
>>> theory = li.bounds(records=100, queries=10, defences=["randomised-response(epsilon=1)"])
>>> round(min(ceiling.accuracy for ceiling in theory.ceilings), 3)
0.731

Every name of a component reads as in a suite file: ``"round(decimals=4)"``; ``labelinf plugins`` lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from labelinf_core.evaluator.records import Implied
    from labelinf_core.evaluator.results import Results

__all__ = ["bounds", "load", "matrix"]


def load(run: str | Path) -> Results:
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
        return summarise(store)
    finally:
        store.close()


def matrix(
    y: ArrayLike,
    *,
    scorer: str | Callable[..., float] | None = None,
    queries: int | None = None,
    channel: str = "",
    attacks: Sequence[str] = (),
    defences: Sequence[Any] = ("none",),
    trials: int = 3,
    seed: int = 0,
) -> Results:
    """Play attacks against defences on your own labels, in this process. Nothing is kept on disk afterwards.

    Args:
        y: Private labels of any names, shape ``(n_records,)``.
        scorer: What computes the score, called as ``scorer(labels, predictions)``: a function of a module or of a
            notebook, or a name as on the command line.
        queries: The adversary's budget; unlimited when omitted.
        channel: Which game; the one that the attacks and defences belong to when omitted.
        attacks: The strongest that fit, of all that are installed, when omitted; ``"all"`` among them is every one.
        defences: What is compared; a list among them is a pipeline, from the curator outward.
        trials: How often every cell is played.
        seed: What all randomness is derived from.

    Raises:
        InputError: Something cannot be used as it is.
    """
    import tempfile
    from pathlib import Path

    import numpy as np

    from labelinf_core.cli.game import channel_spec
    from labelinf_core.evaluator.choice import STRONGEST
    from labelinf_core.evaluator.executors import InProcess
    from labelinf_core.evaluator.plan import make_plan
    from labelinf_core.evaluator.play import Bench
    from labelinf_core.evaluator.run import run
    from labelinf_core.evaluator.store import Store
    from labelinf_core.evaluator.suite import Matrix, Suite
    from labelinf_core.plugin.host import Host
    from labelinf_core.specs import Builder, Spec

    builder = Builder(Host.load())
    chosen = {"channel": channel, "scorer": _named(scorer), "queries": queries, "loss": None, "defences": defences}
    game = channel_spec(builder.host, chosen, attacks)
    with tempfile.TemporaryDirectory() as directory:
        labels = Path(directory) / "labels.npy"
        np.save(labels, np.asarray(y))
        table = Matrix(
            labels=[Spec("npy", {"path": str(labels)})],
            attacks=list(attacks) or [STRONGEST],
            defences=list(defences),
            channel=game.name,
            settings=dict(game.params),
        )
        plan = make_plan(Suite(matrix=[table], trials=trials, seed=seed, title="matrix"), builder, "labelinf.matrix")
        store = Store.open(Path(directory) / "run", plan)
        try:
            run(plan, store, InProcess(Bench(builder=builder), strangers_apart=True))
        finally:
            store.close()
        return load(Path(directory) / "run")


def bounds(
    *,
    records: int | None = None,
    classes: int = 2,
    shares: Sequence[float] | None = None,
    labels: str | None = None,
    queries: int | None = None,
    channel: str = "",
    defences: Sequence[Any] = (),
) -> Implied:
    """Say what theory implies; nothing is played.

    Args:
        records: How many private labels there are.
        classes: Of how many classes.
        shares: Share of every class; equal when omitted.
        labels: Instead of ``records``: a file or a label source.
        queries: The adversary's budget; unlimited when omitted.
        channel: Which game; the first that can be played on what is given when omitted.
        defences: What stands between, from the curator outward.

    Raises:
        InputError: Something cannot be used as it is.
    """
    from labelinf_core.cli.game import Game
    from labelinf_core.evaluator.play import theory
    from labelinf_core.plugin.host import Host

    game = Game.read(
        Host.load(),
        {
            **{
                "records": records,
                "classes": classes,
                "shares": shares,
                "labels": labels,
                "column": "",
                "features": "",
            },
            **{"channel": channel, "loss": None, "scorer": None, "queries": queries, "defences": list(defences)},
        },
    )
    return theory(game.builder, game.spec.name, game.defences, game.channel.threat(game.setting))


def _named(scorer: str | Callable[..., float] | None) -> str | None:
    """Return how the command line would name a function."""
    if scorer is None or isinstance(scorer, str):
        return scorer
    from labelinf_core.contracts.errors import InputError

    if not scorer.__qualname__.isidentifier():
        raise InputError(
            "scorer must be a function with a name, defined in a module or a notebook, so that it is found."
        )
    return f"{scorer.__module__}:{scorer.__qualname__}"

"""Results over the fakes of tests/site."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from labelinf_core.evaluator.executors import InProcess
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.results import Results, summarise
from labelinf_core.evaluator.run import run
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder

Played = Callable[..., Results]

_PLAYED: dict[str, Results] = {}  # what was played once is what any test may look at: nobody can change it


@pytest.fixture
def played(fakes: Path, tmp_path: Path) -> Played:
    """Return a function that plays attacks against defences and returns the results."""

    def play(
        attacks: list[str], defences: list[object], *, trials: int = 3, scorers: tuple[str, ...] = ("float64",)
    ) -> Results:
        if (asked := repr((attacks, defences, trials, scorers))) in _PLAYED:
            return _PLAYED[asked]
        builder = Builder(Host.load())
        settings = {"loss": "log-loss", "scorer": list(scorers)}
        matrix = Matrix(labels=["fake-labels"], attacks=list(attacks), defences=defences, settings=settings)
        plan = make_plan(Suite(matrix=[matrix], trials=trials, title="test"), builder, "test.toml")
        store = Store.open(tmp_path / plan.digest, plan)
        run(plan, store, InProcess(TrialRunner(builder=builder)))
        _PLAYED[asked] = summarise(store)
        store.close()
        return _PLAYED[asked]

    return play

"""Plans over the fakes of tests/site."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder

PlanOf = Callable[..., Plan]


@pytest.fixture
def builder(fakes: Path) -> Builder:
    return Builder(Host.load())


@pytest.fixture
def bench(builder: Builder) -> TrialRunner:
    return TrialRunner(builder=builder)


@pytest.fixture
def plan_of(builder: Builder) -> PlanOf:
    """Return a function from attacks and defences to a plan on twelve made labels."""

    def plan(attacks: list[Any], defences: list[Any], *, trials: int = 3, seed: int = 0, **table: Any) -> Plan:
        settings = {"loss": "log-loss", "scorer": "float64", **table.pop("settings", {})}
        matrix = Matrix(
            labels=table.pop("labels", ["fake-labels"]), attacks=attacks, defences=defences, settings=settings, **table
        )
        return make_plan(Suite(matrix=[matrix], trials=trials, seed=seed, title="test"), builder, "test.toml")

    return plan

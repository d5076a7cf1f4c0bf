"""The shipped suite of defences: every defence of the channel is in it, and every adaptive attack plays somewhere."""

from __future__ import annotations

import contextlib
import json
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, Curator, ScoreDefence
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.metrics.log_loss import LogLoss

(TABLE,) = tomllib.loads((files("labelinf_scores.suites") / "defences.toml").read_text(encoding="utf-8"))["matrix"]
BUILDER = Builder(Host.load())


def stages_of(pipeline: str | list[str]) -> list[str]:
    written = [pipeline] if isinstance(pipeline, str) else pipeline
    return [stage for stage in written if stage != "none"]


def test_every_defence_of_the_score_room_is_played() -> None:
    listed = {
        item.descriptor.name
        for item in BUILDER.host.catalogue(Kind.DEFENCE)
        if item.descriptor.channel == "score" and item.plugin.name == "scores"
    }
    played = {stage.partition("(")[0] for pipeline in TABLE["defences"] for stage in stages_of(pipeline)}
    assert listed - {"confine"} == played  # which is for values, and this is a log-loss


def test_every_pipeline_can_be_built() -> None:
    for pipeline in TABLE["defences"]:
        for stage in stages_of(pipeline):
            BUILDER.build(Kind.DEFENCE, stage, "suite")
    assert "attacks" not in TABLE  # the strongest that fit are chosen


@pytest.mark.slow
def test_the_matrix_plays_the_adaptive_attacks_and_certifies_the_ladder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the command line: all labels through the Ladder, certified; a subset read; a detector walked around."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "adaptive.toml").write_text(
        """
        trials = 2
        [[matrix]]
        labels = "made(n_records=60, n_classes=2, seed=0)"
        loss = "log-loss"
        scorer = "sklearn"
        attacks = ["hybrid", "ladder-descent", "subset-inference", "camouflage"]
        defences = ["ladder(step=0.01)", "subset(share=0.4, fresh=true)", "refuse-constructions"]
        """
    )
    arguments = ["matrix", "adaptive.toml", "--workers", "0", "--json", "--fail-on", "contradiction"]

    run = CliRunner().invoke(main, arguments, catch_exceptions=False)

    assert run.exit_code == 0
    verdicts = {
        (cell["attack"].partition("(")[0], cell["defences"][0].partition("(")[0]): cell["verdict"]
        for cell in json.loads(run.stdout)["cells"]
    }
    assert verdicts["ladder-descent", "ladder"] == "broken, certified"
    assert verdicts["subset-inference", "subset"] == "broken, observed"
    assert verdicts["camouflage", "refuse-constructions"] == "broken, observed"
    assert verdicts["hybrid", "ladder"] == "not played"


def test_an_attack_reaches_no_source_of_noise_through_its_oracle() -> None:
    """Whatever stands in public view, at any depth: no generator, nothing that plays, no key, for any pipeline."""
    data = LabelSet(labels=np.arange(20) % 2, class_names=("a", "b"), title="made", provenance="made")
    channel = ScoreChannel(loss=LogLoss(), scorer="sklearn", queries=600)
    for pipeline in TABLE["defences"]:
        defences = tuple(BUILDER.build(Kind.DEFENCE, stage, "suite") for stage in stages_of(pipeline))
        threat = channel.threat(Setting(data=data, defences=defences))
        curator = channel.curator(data.labels, threat, np.random.default_rng(0))
        oracle = ScoreOracle(threat, curator.answer)
        with contextlib.suppress(QueryRefusedError):
            oracle.query(np.linspace(0.1, 0.9, 20))
        reached = list(_in_view(oracle))
        assert any(thing is threat for thing in reached)
        secret = np.random.Generator | ActiveScoreDefence | Curator | bytes
        assert not any(isinstance(thing, secret) and not isinstance(thing, ScoreDefence) for thing in reached)


def _in_view(thing: object, seen: set[int] | None = None) -> Iterator[object]:
    """Yield what can be had from ``thing`` through public attributes and containers."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, str | int | float | type | ModuleType | np.ndarray):
        return
    seen.add(id(thing))
    yield thing
    if isinstance(thing, list | tuple | set | frozenset | dict):
        parts = [*thing, *thing.values()] if isinstance(thing, dict) else [*thing]
    else:
        names = [name for name in dir(thing) if not name.startswith("_")]
        parts = [value for name in names if not callable(value := getattr(thing, name, None))]
    for part in parts:
        yield from _in_view(part, seen)

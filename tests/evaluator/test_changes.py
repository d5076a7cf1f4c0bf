"""What a command line changes reaches the tables it fits, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.changes import with_component, with_labels, with_setting
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Spec

SUITE = Suite(
    matrix=[
        Matrix(labels=["breast-cancer"], attacks=["majority"], defences=["none"], settings={"loss": "log-loss"}),
        Matrix(labels=["digits"], attacks=["idlg"], defences=["none"], channel="gradient"),
        Matrix(labels=["digits"], attacks=["calibrated"], defences=["none"], channel="output"),
    ]
)


@pytest.fixture(scope="module")
def host() -> Host:
    return Host.load()


def test_a_component_joins_the_tables_of_its_channel(host: Host) -> None:
    changed = with_component(SUITE, host, Kind.DEFENCE, "round(decimals=3)")
    changed = with_component(changed, host, Kind.ATTACK, "exact-solver")

    assert [table.defences for table in changed.matrix] == [
        ["none", "round(decimals=3)"],
        ["none"],
        ["none"],
    ]
    assert [table.attacks for table in changed.matrix] == [["majority"], ["idlg", "exact-solver"], ["calibrated"]]


def test_a_component_without_a_table_is_a_mistake(host: Host) -> None:
    with pytest.raises(InputError, match="--defence round: the suite plays nothing on the score channel"):
        with_component(Suite(matrix=SUITE.matrix[1:]), host, Kind.DEFENCE, "round")


def test_a_setting_reaches_the_channels_that_have_it(host: Host) -> None:
    changed = with_setting(SUITE, host, "queries", 7)

    assert [table.settings for table in changed.matrix] == [{"loss": "log-loss", "queries": 7}, {}, {}]


def test_who_names_what_is_scored_plays_nothing_else(host: Host) -> None:
    changed = with_setting(SUITE, host, "metric", "accuracy")

    assert [table.settings for table in changed.matrix] == [{"loss": "log-loss", "metric": "accuracy"}]


def test_a_setting_that_no_channel_has_is_a_mistake(host: Host) -> None:
    with pytest.raises(InputError, match="--queries: no channel that the suite plays on has it"):
        with_setting(Suite(matrix=SUITE.matrix[1:]), host, "queries", 7)


def test_labels_with_features_are_played_on_every_channel(host: Host) -> None:
    changed, left_out = with_labels(SUITE, host, "breast-cancer")

    assert [table.labels for table in changed.matrix] == [["breast-cancer"]] * 3
    assert left_out == ()


def test_labels_without_features_leave_out_what_trains_on_them(host: Host, tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", [0, 1, 1])
    labels = Spec("npy", {"path": str(tmp_path / "y.npy")})

    changed, left_out = with_labels(SUITE, host, labels)

    assert [(table.home(host), table.labels) for table in changed.matrix] == [("score", [labels])]
    assert left_out == ("gradient", "output")
    with pytest.raises(InputError, match=r"'y\.npy' come without features"):
        with_labels(Suite(matrix=SUITE.matrix[1:]), host, labels)

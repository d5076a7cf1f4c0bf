"""A board that was begun is audited as it is deployed: nothing is asked of it, and its certificate decides the end."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import attrs
import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_core.contracts.errors import InputError
from labelinf_guard.board import Board
from labelinf_guard.deployed import deployed
from labelinf_guard.policy import BoardPart, ReleasePart

TOML = """
[board]
labels = "labels.csv"
id = "id"
label = "label"
classes = ["0", "1"]
metric = "{metric}"
[public]
share = {share}
[budget]
per_board = 200
[target]
gain = {gain}
accept_void = {void}
"""


def begun(folder: Path, *, share: float, gain: float, metric: str = "accuracy", void: str = "false") -> Path:
    labels = np.random.default_rng(3).permutation(np.arange(100) % 2)
    (folder / "labels.csv").write_text("id,label\n" + "".join(f"r{at:03d},{y}\n" for at, y in enumerate(labels)))
    path = folder / "board.toml"
    path.write_text(TOML.format(share=share, gain=gain, metric=metric, void=void))
    Board.init(path).close()
    return path


def state_of(folder: Path) -> list[tuple[str, str]]:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return [(str(file), hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]


@pytest.mark.long
def test_a_board_that_keeps_its_target_ends_with_0_and_is_asked_nothing(tmp_path: Path) -> None:
    board = begun(tmp_path, share=0.1, gain=0.1)
    before = Board.open(board)
    spent = before.ledger.head
    before.close()
    found = CliRunner().invoke(main, ["guard", "audit", str(board), "--json"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.output)
    assert told["word"] == "certified"
    assert told["certificate"]["gain"] <= 0.1
    assert all(item["accuracy"]["value"] < 0.8 for item in told["attacks"] if item["accuracy"])
    after = Board.open(board)
    assert after.ledger.head == spent
    after.close()


@pytest.mark.long
def test_a_board_that_tells_all_leaks_whatever_it_was_begun_with(tmp_path: Path) -> None:
    board = begun(tmp_path, share=1.0, gain=0.1, void="true")
    found = CliRunner().invoke(main, ["guard", "audit", str(board), "--json"])
    assert found.exit_code == 1, found.output
    told = json.loads(found.output)
    assert told["word"] == "leaks"
    assert max(item["accuracy"]["value"] for item in told["attacks"] if item["accuracy"]) > 0.8


def test_the_game_has_the_policy_of_the_board(tmp_path: Path) -> None:
    opened = Board.open(begun(tmp_path, share=0.1, gain=0.1, metric="log-loss"))
    found = deployed(opened)
    assert found.metric == "log-loss"
    assert found.stage.startswith("guarded-board(share=0.1, decimals=3, ")
    assert "answers=200" in found.stage
    assert "clip=0.01" in found.stage
    assert (found.labels.n_records, found.queries, found.gain) == (100, 200, 0.1)
    opened.close()


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"board": BoardPart(labels="l", id="i", label="y", classes=["0", "1"], ours="m:f")}, "a scorer of your own"),
        ({"board": BoardPart(labels="l", id="i", label="y", classes=["0", "1"], metric="f1", group="g")}, "groups"),
        ({"board": BoardPart(labels="l", id="i", label="y", values=[0, 4, 1], metric="mse")}, "values"),
        ({"release": ReleasePart(low=0.5)}, "scores that are cut"),
    ],
)
def test_what_is_not_played_on_is_one_sentence(tmp_path: Path, change: dict[str, object], kind: str) -> None:
    opened = Board.open(begun(tmp_path, share=0.1, gain=0.1))
    other = attrs.evolve(opened, policy=attrs.evolve(opened.policy, **change))
    with pytest.raises(InputError, match=f"plays on no board with {kind}"):
        deployed(other)
    opened.close()


def test_a_function_is_no_shipped_metric() -> None:
    found = CliRunner().invoke(main, ["audit", "scorer", "math:hypot", "--metric", "accuracy"])
    assert found.exit_code == 2
    assert "is your own and says itself what it computes" in found.output

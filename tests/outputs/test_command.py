"""The channel from the command line."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from labelinf_core.cli import main


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_one_game_in_full_says_what_it_is_worth() -> None:
    game = ("--channel", "output(epochs=3, references=0, loss='planted')", "--labels", "breast-cancer", "--show", "0")

    printed = run("attack", "loss-inversion", *game)

    assert "recovered  85 of 85 labels" in printed
    assert "verdict    ◎ view reveals label" in printed
    assert "beside     placebo 100 %, epsilon proved" in printed


@pytest.mark.parametrize("key", ["E12", "E16", "E19", "T9", "T12"])
def test_statements_are_shown_whole(key: str) -> None:
    printed = run("theorems", "show", key)

    assert printed.startswith(f"{key}  ")
    assert "tests/theorems/test_" in printed


def test_every_component_of_the_channel_is_listed() -> None:
    listed = run("plugins", "list")

    attacks = {"lia-threshold", "lia-delta-margin", "loss-inversion", "calibrated", "lira", "learned", "blind-guess"}
    attacks |= {"rmia", "quantile"}
    mechanisms = {"label-rr", "rr-with-prior", "lp-2st", "alibi", "pate", "resampling-rr"}
    mechanisms |= {"lp-mst", "pate-fm"}
    training = {"soft-labels", "early-stopping", "weight-decay", "target-smoothing"}
    released = {"rounded-outputs", "top-1-only", "temperature", "output-noise"}
    assert attacks | mechanisms | training | released <= set(listed.split())

"""Without a plugin every command works, or says in one sentence what is missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import Result

Labelinf = Callable[..., Result]

CHEAP = ["--trials", "1", "--workers", "0", "--only", "majority/none", "--only", "prior-counts/none"]
COMMANDS = {
    "matrix": ["matrix", "quick", *CHEAP],
    "bounds": ["bounds", "--records", "50", "--queries", "10"],
    "advise": [
        *("advise", "--records", "50", "--queries", "5", "--defence", "clip(epsilon=0.01)", "--only", "decimals"),
        *("--target", "no-exact-recovery", "--certificates-only"),
    ],
    "attack": ["attack", "majority"],
    "attack of outputs": ["attack", "blind-guess"],
    "file": ["bounds", "--labels", "y.csv"],
    "audit": ["audit", "--help"],
    "theorems": ["theorems"],
    "reproduce": ["reproduce"],
    "plugins": ["plugins"],
}
NO_CHANNEL = "no channel can be played on a number of records alone; name labels with --labels (not loaded: plugin"
TOLD = {
    ("data", "matrix"): "no label source is called 'breast-cancer'.",
    ("data", "attack"): "no label source is called 'breast-cancer'.",
    ("data", "attack of outputs"): "no label source is called 'breast-cancer'.",
    ("data", "file"): "no label source reads files that end in '.csv' (not loaded: plugin 'data' of labelinf",
    ("outputs", "attack of outputs"): "no attack is called 'blind-guess'.",
    (
        "scores",
        "bounds",
    ): NO_CHANNEL,
    (
        "scores",
        "advise",
    ): NO_CHANNEL,
    ("scores", "attack"): "no attack is called 'majority'.",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("plugin", ["data", "outputs", "scores"])
def test_it_works_or_says_what_is_missing(
    labelinf: Labelinf, monkeypatch: pytest.MonkeyPatch, plugin: str, command: str
) -> None:
    monkeypatch.setenv("LABELINF_BLOCK", plugin)  # as -p no:PLUGIN, for the commands that have no such option
    with open("y.csv", "w") as file:
        file.write("label,a\n" + "0,1\n1,2\n" * 20)

    result = labelinf(*COMMANDS[command])

    told = TOLD.get((plugin, command), "")
    assert result.exit_code == (2 if told else 0), (result.stdout, result.stderr)
    assert told in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("plugin", ["data", "outputs", "scores"])
def test_the_option_blocks_as_the_environment_does(labelinf: Labelinf, plugin: str) -> None:
    result = labelinf("bounds", "--records", "50", "-p", f"no:{plugin}")

    assert result.exit_code == (2 if plugin == "scores" else 0)

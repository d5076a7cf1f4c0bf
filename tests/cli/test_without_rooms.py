"""Without a plugin every command works, or says in one sentence what is missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import Result

from labelinf_core.contracts.checked import GROUP
from labelinf_core.plugin.host import Host

Labelinf = Callable[..., Result]

CHEAP = ["--trials", "1", "--workers", "0", "--only", "majority/none", "--only", "prior-counts/none"]
OFFERED = {f"plugins new {kind}": ["plugins", "new", "labelinf-x", "--kind", kind] for kind in ("attack", "channel")}
COMMANDS = {
    **OFFERED,
    "plugins": ["plugins"],
    "plugins list": ["plugins", "list"],
    "plugins show": ["plugins", "show", "clip"],
    "plugins check": ["plugins", "check", "privacy", "--help"],
    "matrix": ["matrix", "quick", *CHEAP],
    "matrix of a room": ["matrix", "metrics", "--dry-run"],
    "report": ["report", "run"],
    "compare": ["compare", "run", "run"],
    "attack on scores": ["attack", "majority"],
    "attack on gradients": ["attack", "prior-counts"],
    "attack on outputs": ["attack", "blind-guess", "--help"],
    "bounds": ["bounds", "--records", "50", "--queries", "10"],
    "bounds of a metric": ["bounds", "--records", "50", "--metric", "f1"],
    "bounds of a file": ["bounds", "--labels", "y.csv", "--column", "label"],
    "advise": [
        *("advise", "--records", "50", "--queries", "5", "--defence", "clip(epsilon=0.01)", "--only", "decimals"),
        *("--target", "no-exact-recovery", "--questions", "0"),
    ],
    "advise on outputs": ["advise", "--channel", "output", "--labels", "y.csv", "--column", "label", "--target", "60%"],
    "check": ["check", "y.csv"],
    "audit": ["audit", "--help"],
    "audit client": ["audit", "client", "--help"],
    "audit scorer": ["audit", "scorer", "--help"],
    "audit grader": ["audit", "grader", "--help"],
    "audit log": ["audit", "log", "--help"],
    "audit outputs": ["audit", "outputs", "--help"],
    "audit model": ["audit", "model", "--help"],
    "audit finished": ["audit", "finished", "--help"],
    "audit power": ["audit", "power", "--help"],
    "audit split": ["audit", "split", "--help"],
    "plant": ["plant", "y.csv", "--column", "label", "--out", "planted"],
    "samples": ["samples", "here"],
    "metrics": ["metrics", "--help"],
    "guard": ["guard", "--help"],
    "theorems": ["theorems"],
    "theorem": ["theorems", "S16"],
    "theorems of others": ["theorems", "-p", "no:data"],
    "reproduce": ["reproduce"],
}
NO_KNOB = {"advise on outputs", "check"}  # inconclusive also when nothing is missing


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a run that was kept when every plugin was there."""
    from click.testing import CliRunner

    from labelinf_core.cli import main

    out = str(tmp_path_factory.mktemp("kept") / "run")
    assert CliRunner().invoke(main, ["matrix", "quick", *CHEAP, "--out", out]).exit_code == 0
    return out


@pytest.mark.parametrize("plugin", ["data", "gradients", "guard", "outputs", "papers", "privacy", "scores", "split"])
@pytest.mark.parametrize("command", COMMANDS)
def test_it_works_or_says_what_is_missing(
    labelinf: Labelinf, monkeypatch: pytest.MonkeyPatch, kept: str, plugin: str, command: str
) -> None:
    monkeypatch.setenv("LABELINF_BLOCK", plugin)  # as -p no:PLUGIN, for the commands that have no such option
    with open("y.csv", "w") as file:
        file.write("record,label,a\n" + "".join(f"r{i},{i % 2},{i}\n" for i in range(40)))

    result = labelinf(*(kept if word == "run" else word for word in COMMANDS[command]))

    incomplete = (4,) if command == "matrix" else ()  # a part of the suite needs what is missing
    done = (3, 2) if command in NO_KNOB else (0, 2, *incomplete)
    assert result.exit_code in done, (result.stdout, result.stderr)
    assert "Traceback" not in result.output
    if result.exit_code == 2:
        lines = [line for line in result.stderr.splitlines() if line and not line.startswith(("Usage", "Try"))]
        (told,) = (line for line in lines if "is left out:" not in line)
        assert f"plugin {plugin!r} of labelinf" in told


def test_every_command_is_tried(labelinf: Labelinf) -> None:
    brought = {f"{item.group} {item.name}".strip() for item in Host.load().commands() if item.group != GROUP}

    assert brought <= {" ".join(words[: len(name.split())]) for words in COMMANDS.values() for name in brought}


@pytest.mark.parametrize("plugin", ["data", "outputs", "scores"])
def test_the_option_blocks_as_the_environment_does(labelinf: Labelinf, plugin: str) -> None:
    result = labelinf("bounds", "--records", "50", "-p", f"no:{plugin}")

    assert result.exit_code == (2 if plugin == "scores" else 0)

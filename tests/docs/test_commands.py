"""What the pages tell a reader to type is what the commands take, and README's cheap commands run as they stand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

import labelinf as li
from labelinf_core.cli import main
from labelinf_core.contracts.exits import Exit
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.suite import read_suite
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder

ROOT = Path(__file__).parents[2]
CHEAP = ("bounds", "theorems", "plugins")
PROGRAMS = ("labelinf", "python", "python3", "pip", "venv/bin/", "curl")


def commands(page: str) -> list[str]:
    """Return every command of the page's blocks of code, in their order; what is printed is none."""
    found, kind = [], None
    for line in (ROOT / page).read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if line.startswith("```"):
            kind = line[3:].strip() if kind is None else None
        elif kind in ("", "console"):
            prompt, command = line.startswith("$ "), line.removeprefix("$ ")
            if prompt or (kind == "" and command.startswith(PROGRAMS)):
                found.append(command)
    return found


PAGES = [
    page
    for page in sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
    if commands(page)
]


def typed(page: str) -> list[list[str]]:
    """Return the words of every command of labelinf on the page, comments left out."""
    words = [shlex.split(command, comments=True) for command in commands(page)]
    return [each[1:] for each in words if each[0] == "labelinf"]


def parsed(words: list[str]) -> None:
    """Parse as the command line does, without playing anything."""
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words[0])
        if found is None and command.invoke_without_command:
            break
        assert found is not None, f"there is no command {words[0]!r}"
        command, words = found, words[1:]
        context = click.Context(command, parent=context)
    command.make_parser(context).parse_args(args=list(words))


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_is_one(page: str) -> None:
    for words in typed(page):
        try:
            parsed(words)
        except click.UsageError as error:
            pytest.fail(f"{page}: labelinf {shlex.join(words)}: {error.format_message()}")


def test_an_option_that_is_gone_is_noticed() -> None:
    with pytest.raises(click.NoSuchOption):
        parsed(["bounds", "--clip", "0.1"])
    with pytest.raises(AssertionError, match="no command 'plants'"):
        parsed(["plants"])


def test_readme_gives_the_two_commands_of_a_fresh_clone() -> None:
    """One plays, one tests: what runs everything reads the second from here, and without it would test nothing."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    found = re.findall(r"^python3 -m venv venv && .*$", readme, re.MULTILINE)

    assert [command.split(" && ")[-1] for command in found] == ["venv/bin/labelinf matrix", "venv/bin/tox"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the sample files."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["samples"]).exit_code == 0
    return tmp_path


@pytest.mark.long
def test_the_cheap_commands_of_the_readme_run(folder: Path) -> None:
    cheap = [words for words in typed("README.md") if words[0] in CHEAP]

    assert {words[0] for words in cheap} == set(CHEAP)
    for words in cheap:
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, f"labelinf {shlex.join(words)}: {result.output}"


@pytest.fixture(scope="module")
def outputs(loaded: Callable[[Path], ModuleType]) -> ModuleType:
    return loaded(ROOT / "docs" / "outputs.py")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))], ids=lambda page: page.stem
)
def test_a_tutorial_says_what_its_commands_print(outputs: ModuleType, page: Path) -> None:
    assert outputs.same(outputs.fresh(page), page.read_text(encoding="utf-8")), "python docs/outputs.py writes it anew"


def test_a_command_that_ends_otherwise_is_noticed(outputs: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ labelinf theorems S16\nold\n```\n")
    assert "FALSE AS PRINTED" in outputs.fresh(page)
    assert "old" not in outputs.fresh(page)

    page.write_text("```console\n$ labelinf theorems S16  # exit 1\n```\n")
    with pytest.raises(outputs.DifferentExitError, match="exit 0, not 1"):
        outputs.fresh(page)


def test_every_exit_status_is_documented() -> None:
    text = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")

    assert {int(status) for status in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == {*Exit}


def test_the_bench_is_fresh_and_a_row_above_its_ceiling_fails(loaded: Callable[[Path], ModuleType]) -> None:
    bench = loaded(ROOT / "benchmarks" / "labelbench.py")

    assert bench.main(["--check"]) == 0
    (_, entry), *_ = bench.entries()
    ceiling = {"accuracy": 0.5, "allowance": 0.01, "statement": "made up"}
    assert bench.above(entry) == []
    cell = {**entry["cells"][0], "ceilings": [ceiling]}
    assert "made up allows 51.0%" in bench.above({"cells": [cell]})[0]


@pytest.mark.long
def test_the_games_of_an_entry_are_those_that_are_played_today(loaded: Callable[[Path], ModuleType]) -> None:
    """A new setting of the channel drew other noise, and no recorded run but *outputs* could be played again."""
    bench, host = loaded(ROOT / "benchmarks" / "labelbench.py"), Host.load()

    for name, entry in bench.entries():
        plan = make_plan(read_suite(name, host), Builder(host), name)
        known = {(cell.channel, cell.written) for cell in plan.cells}
        assert {(cell["channel"], tuple(cell["defences"])) for cell in entry["cells"]} <= known, name


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_entry_plays_again_to_the_same_figures(loaded: Callable[[Path], ModuleType]) -> None:
    bench = loaded(ROOT / "benchmarks" / "labelbench.py")

    assert {"metrics", "outputs", "quick"} <= {name for name, _ in bench.entries()}
    assert bench.replay(["metrics"]) == []


def test_private_labels_make_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: Callable[[Path], ModuleType]
) -> None:
    """Of a run written with ``--full`` one used to be made, with exact shares: equations on the labels."""
    bench = loaded(ROOT / "benchmarks" / "labelbench.py")
    monkeypatch.setattr(bench, "ENTRIES", tmp_path)
    li.matrix([0, 1, 1, 0] * 3, attacks=["majority"], trials=1, out=tmp_path / "run")

    with pytest.raises(SystemExit, match="public labels"):
        bench.main(["--add", str(tmp_path / "run")])

    assert not list(tmp_path.glob("*.json"))

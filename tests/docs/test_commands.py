"""What the pages tell a reader to type is what the commands take, and README's cheap commands run as they stand."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner
from sklearn.metrics import roc_auc_score

from labelinf_core.cli import main
from labelinf_core.cli.exits import Exit

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"))
    if re.search(r"^```(?:console)?\n(?:.*\n)*?(?:\$ )?labelinf ", page.read_text(encoding="utf-8"), re.MULTILINE)
)
CHEAP = ("bounds", "theorems", "plugins", "reproduce")
PREPARED = ("README.md", "docs/howto.md")  # whose files are at hand: every command of theirs runs, a matrix is planned


def typed(page: str) -> list[list[str]]:
    """Return the words of every command of labelinf in the page's blocks of code, comments left out."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for kind, block in re.findall(r"^```(console)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        start = "$ labelinf " if kind else "labelinf "
        lines = block.replace("\\\n", " ").splitlines()
        found += [shlex.split(line, comments=True) for line in lines if line.startswith((start, "$ labelinf "))]
    return [words[words.index("labelinf") + 1 :] for words in found]


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
    commands = typed(page)

    for words in commands:
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

    commands = re.findall(r"^python3 -m venv venv && .*$", readme, re.MULTILINE)

    assert [command.split(" && ")[-1] for command in commands] == ["venv/bin/labelinf matrix", "venv/bin/tox"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of."""
    shutil.copytree(ROOT / "examples" / "samples", tmp_path, dirs_exist_ok=True)
    table = "id,outcome\n" + "".join(f"{i},{i % 3 == 0:d}\n" for i in range(40))
    (tmp_path / "private.csv").write_text(table)
    (tmp_path / "submissions").mkdir()
    scored = ["submission,score"]
    for number in range(3):
        told = [(i * 7 + number) % 11 / 11 for i in range(40)]
        rows = "".join(f"{i},{value}\n" for i, value in enumerate(told))
        (tmp_path / "submissions" / f"s{number}.csv").write_text("id,prediction\n" + rows)
        scored.append(f"s{number},{roc_auc_score([i % 3 == 0 for i in range(40)], told)!r}")
    (tmp_path / "scores.csv").write_text("\n".join(scored) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "board", raising=False)
    return tmp_path


def test_the_cheap_commands_of_the_readme_run(folder: Path) -> None:
    cheap = [words for words in typed("README.md") if words[0] in CHEAP]

    assert {words[0] for words in cheap} == set(CHEAP)
    for words in cheap:
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, f"labelinf {shlex.join(words)}: {result.output}"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_command_of_the_readme_and_of_the_how_tos_runs(folder: Path) -> None:
    for name in ("before", "after"):
        game = ["--labels", "labels.csv", "--column", "outcome", "--channel", "score", "--only", "majority/none"]
        CliRunner().invoke(main, ["matrix", *game, "--workers", "0", "--trials", "2", "--out", f"runs/{name}"])
    for page in PREPARED:
        for words in typed(page):
            if "full" in words:
                continue  # a cluster's
            shorter = {"matrix": ["--dry-run"], "advise": ["--certificates-only"]}.get(words[0], [])
            result = CliRunner().invoke(main, [*words, *shorter])
            assert result.exit_code in (0, 1, 3), f"labelinf {shlex.join(words)}: {result.output}"


@pytest.fixture(scope="module")
def outputs() -> ModuleType:
    return loaded(ROOT / "docs" / "outputs.py")


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tutorials").glob("*.md")), ids=lambda page: page.stem)
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


def test_the_bench_is_fresh_and_a_row_above_its_ceiling_fails() -> None:
    bench = loaded(ROOT / "benchmarks" / "labelbench.py")

    assert bench.main(["--check"]) == 0
    (_, entry), *_ = bench.entries()
    ceiling = {"accuracy": 0.5, "allowance": 0.01, "statement": "made up"}
    assert bench.above(entry) == []
    cell = {**entry["cells"][0], "ceilings": [ceiling]}
    assert "made up allows 51.0%" in bench.above({"cells": [cell]})[0]


def test_private_labels_make_no_entry() -> None:
    bench = loaded(ROOT / "benchmarks" / "labelbench.py")

    with pytest.raises(SystemExit, match="public labels"):
        bench.condensed({"labels": [{"class_counts": None}]}, "labelinf matrix")

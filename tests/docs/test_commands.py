"""What the pages tell a reader to type is what the commands take, and README's cheap commands run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", *(f"docs/{name}.md" for name in ("tutorial", "defences", "guard", "log", "metrics", "outputs")))
CHEAP = ("attack", "bounds", "theorems", "plugins", "plant")


def typed(page: str) -> list[list[str]]:
    """Return the words of every command of labelinf in the page's blocks of code, comments left out."""
    blocks = re.findall(r"^```\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [
        shlex.split(line.removeprefix("$ "), comments=True)[1:]
        for line in lines
        if line.removeprefix("$ ").startswith("labelinf ")
    ]


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

    assert commands, "the page tells its reader to type nothing"
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


def test_the_cheap_commands_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = "outcome,age\n" + "größer; gleich,1\nkleiner,2\nkleiner,3\n" * 40
    for name in ("labels.csv", "training.csv"):
        Path(name).write_text(table, encoding="utf-8")
    cheap = [words for words in typed("README.md") if words[0] in CHEAP]

    assert {words[0] for words in cheap} == set(CHEAP)
    for words in cheap:
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, f"labelinf {shlex.join(words)}: {result.output}"

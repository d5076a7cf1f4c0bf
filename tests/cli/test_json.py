"""``--json`` and ``-q`` are the same everywhere: one document on standard output, and nothing for people beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

from labelinf_core.cli import main

Labelinf = Callable[..., Result]

ASKED = {
    "matrix": ["matrix", "small.toml", "--workers", "0", "--only", "fake-reader/none", "--trials", "1", "--out", "run"],
    "matrix --dry-run": ["matrix", "small.toml", "--dry-run", "--workers", "0"],
    "report": ["report", "run"],
    "compare": ["compare", "run", "run"],
    "attack": ["attack", "fake-reader", "--labels", "fake-labels"],
    "bounds": ["bounds", "--records", "20"],
    "advise": ["advise", "--records", "20", "--target", "60%", "--questions", "0", "--only", "decimals"],
    "audit record": ["audit", "record", "run"],
    "audit power": ["audit", "power", "2", "--epsilon", "1"],
    "theorems": ["theorems", "S16"],
    "reproduce": ["reproduce"],
    "plugins": ["plugins"],
    "plugins list": ["plugins", "list"],
    "plugins show": ["plugins", "show", "majority"],
    "guard plan": ["guard", "plan", "--records", "200", "--teams", "2", "--submissions", "3"],
    "metrics": ["metrics", "--metric", "accuracy", "--records", "100", "--decimals", "3"],
}  # what costs little; tests of boards, audits and plants ask the others for their documents


def leaves(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that does something, a room's too."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from leaves(found, click.Context(found, info_name=name, parent=context))
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield context.command_path, command


@pytest.mark.long
def test_every_command_takes_json_and_q() -> None:
    context = click.Context(main, info_name="labelinf")
    found = dict(leaves(main, context))
    for name in ("guard", "metrics", "plant", "samples"):
        brought = main.get_command(context, name)
        assert brought is not None
        found |= dict(leaves(brought, click.Context(brought, info_name=name, parent=context)))

    assert len(found) > 25
    for path, command in found.items():
        options = {text for item in command.params for text in item.opts}
        assert {"--json", "-q"} <= options, path


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in ("attack", "metrics", "guard plan"))) for name in ASKED],
)
def test_a_document_is_all_that_is_printed_and_q_leaves_it_alone(
    name: str, labelinf: Labelinf, suite: str, tmp_path: Path
) -> None:
    """With -q it was swallowed: whoever asked for a document without notes got nothing at all."""
    if "run" in ASKED[name][1:] and name != "matrix":
        labelinf(*ASKED["matrix"], "-q")
    told = labelinf(*ASKED[name], "--json")
    quiet = labelinf(*ASKED[name], "--json", "-q")
    nothing = labelinf(*ASKED[name], "-q")

    document = json.loads(told.stdout, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert isinstance(document, dict | list)
    assert timeless(json.loads(quiet.stdout)) == timeless(document)
    assert nothing.stdout == ""
    assert told.exit_code == quiet.exit_code == nothing.exit_code


def timeless(document: Any) -> Any:
    """Leave out how long it took."""
    if isinstance(document, dict):
        return {key: timeless(value) for key, value in document.items() if "seconds" not in key}
    return [timeless(item) for item in document] if isinstance(document, list) else document


@pytest.mark.long
@pytest.mark.parametrize("form", ["json", "csv", "html", "junit", "sarif"])
def test_every_format_of_a_run_is_printed_by_a_quiet_command(form: str, labelinf: Labelinf, suite: str) -> None:
    labelinf(*ASKED["matrix"], "-q")

    quiet = labelinf("report", "run", "--format", form, "-q")

    assert quiet.stdout == labelinf("report", "run", "--format", form).stdout != ""
    assert quiet.stderr == ""


@pytest.mark.parametrize("arguments", [["bounds"], ["reproduce", "none"], ["theorems", "zzzz"], ["report", "nowhere"]])
def test_a_mistake_is_a_sentence_and_no_document(arguments: list[str], labelinf: Labelinf) -> None:
    told = labelinf(*arguments, "--json", "-q")

    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith("labelinf: ")

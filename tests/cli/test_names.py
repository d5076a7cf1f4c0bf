"""What can be set has one name and one default: on the command line, in a suite and in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import attrs
import click
import pytest

import labelinf as li
from labelinf.theory import Game
from labelinf_core.cli import main
from labelinf_core.evaluator.suite import Matrix, Suite

ARRAYS = {"y", "features", "planted"}  #: a command reads these from files, under --labels, --column, --seal, --canaries
MEANT = {"settings", "progress", "game"}  #: what a terminal has no use for, and what is a name of its own each


def options(command: str) -> dict[str, click.Parameter]:
    """The parameters of a command, by the names that its function gets."""
    found: click.Command = main
    for word in command.split():
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None
        found = inner
    return {str(item.name): item for item in found.params}


@pytest.mark.parametrize(
    ("function", "command"),
    [
        (li.matrix, "matrix"),
        (li.bounds, "bounds"),
        (li.advise, "advise"),
        (li.audit_scorer, "audit scorer"),
        (li.audit_outputs, "audit outputs"),
        (li.audit_record, "audit record"),
    ],
)
def test_a_function_calls_its_parameters_as_the_command_its_options(
    function: Callable[..., object], command: str
) -> None:
    asked, given = options(command), inspect.signature(function).parameters

    assert set(given) - set(asked) <= ARRAYS | MEANT
    for name in (given.keys() & asked.keys()) - ARRAYS:
        option, said = asked[name], name.replace("_", "-")
        assert isinstance(option, click.Argument) or {f"--{said}", f"--{said.removesuffix('s')}"} & {*option.opts}
        if isinstance(option.default, int | float) and not isinstance(option.default, bool):
            assert given[name].default == option.default, name


@pytest.mark.parametrize("command", ["bounds", "advise"])
def test_a_game_in_python_has_the_settings_of_the_command(command: str) -> None:
    assert set(Game.__annotations__) - set(options(command)) <= ARRAYS


def test_a_suite_has_the_keys_of_the_command() -> None:
    asked = options("matrix")

    assert {item.name for item in attrs.fields(Suite)} - set(asked) == {"matrix", "title", "left_out"}
    assert {item.name for item in attrs.fields(Matrix)} - set(asked) == {"settings", "part"}

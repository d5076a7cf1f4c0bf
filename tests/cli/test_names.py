"""What can be done is a command and a function, and what can be set has one name and one default in both."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import click
import pytest

import labelinf as li
from labelinf.theory import _OMITTED, Game
from labelinf_core.cli import main
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.host import Host
from labelinf_guard.board import Board
from labelinf_guard.deployed import deployed
from labelinf_guard.export.write import export
from labelinf_guard.ledger.verify import verify
from labelinf_guard.plan import table
from labelinf_guard.status import status_of
from labelinf_outputs.audit.observed import observe
from labelinf_outputs.audit.power import Power
from labelinf_outputs.audit.trained import trained
from labelinf_split.audit.judged import audited

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "advise": li.advise,
    "attack": li.attack,
    "audit client": li.audit_client,
    "audit grader": li.audit_grader,
    "audit log": li.audit_log,
    "audit outputs": li.audit_outputs,
    "audit record": li.audit_record,
    "audit scorer": li.audit_scorer,
    "bounds": li.bounds,
    "check": li.check,
    "compare": li.compare,
    "matrix": li.matrix,
    "metrics": li.metrics,
    "plant": li.plant,
    "report": li.load,
    "reproduce": li.reproduce,
    "theorems": li.theorems,
}
#: Commands whose work is that of an object or of a function that is called otherwise.
ELSEWHERE: dict[str, Callable[..., Any]] = {
    "audit finished": observe,
    "audit model": trained,
    "audit power": Power,
    "audit split": audited,
    "guard audit": deployed,  # which li.audit_scorer is then played on
    "guard export": export,
    "guard init": li.guard.init,
    "guard plan": table,
    "guard release": Board.release,
    "guard score": Board.submit,
    "guard status": status_of,
    "guard token": Board.token,
    "guard verify": verify,
}
#: Commands that are no computation, and why.
TERMINAL = {
    "guard adopt": "changes the files of a board that was restored by hand",
    "guard serve": "is a service",
    "plugins check": "is for whoever writes a plugin",
    "plugins list": "is for whoever looks for a name",
    "plugins new": "writes a project",
    "plugins show": "is for whoever reads about a component",
    "samples": "writes the files of the tutorials",
}
#: What a command reads from files that it names, and what a terminal has no use for.
IN_PYTHON = {"y", "features", "groups", "game", "progress", "settings", "planted", "classes"}
IN_PYTHON |= {"probabilities", "logits", "top_1", "rounded", "references"}  # FILE, --shows and --reference
#: Defaults that differ, and why.
DEFAULTS = {
    ("matrix", "trials"): "a suite says it",
    ("matrix", "seed"): "a suite says it",
    ("matrix", "workers"): "a command takes every core",
    ("matrix", "defences"): "a suite names them",
}


def commands(found: click.Command = main, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command by its words; of a group that also does something by itself, the commands below it."""
    if not isinstance(found, click.Group):
        yield name, found
        return
    context = click.Context(found)
    words = found.list_commands(context)
    if found is main:
        words += [
            item.name for item in Host.load().commands() if not item.group and item.target.startswith("labelinf_")
        ]
    for word in words:
        inner = found.get_command(context, word)
        assert inner is not None
        yield from commands(inner, f"{name} {word}".strip())


COMMANDS = dict(commands())


def options(command: str) -> dict[str, click.Parameter]:
    """The parameters of a command by every name that a function may give them."""
    found = {}
    for item in COMMANDS[command].params:
        written = {text.lstrip("-").replace("-", "_") for text in item.opts}
        plural = {f"{name}s" for name in written if item.name == f"{name}s"}
        found |= dict.fromkeys(written | plural, item)
    return found


def empty(value: object) -> object:
    """A default, where nothing given has one form only."""
    return None if value in (None, "", ()) or "UNSET" in repr(value) or callable(value) else value


def test_every_command_has_its_function() -> None:
    assert set(COMMANDS) == {*FUNCTIONS, *ELSEWHERE, *TERMINAL}


@pytest.mark.parametrize("command", FUNCTIONS)
def test_a_function_calls_its_parameters_as_the_command_its_options(command: str) -> None:
    asked, given = options(command), inspect.signature(FUNCTIONS[command]).parameters

    assert set(given) - set(asked) <= IN_PYTHON
    for name, parameter in given.items():
        if name in asked and name not in IN_PYTHON and parameter.default is not parameter.empty:
            same = empty(parameter.default) == empty(asked[name].get_default(click.Context(COMMANDS[command])))
            assert same != ((command, name) in DEFAULTS), name


@pytest.mark.parametrize("command", FUNCTIONS)
def test_labels_come_first(command: str) -> None:
    first = next(iter(inspect.signature(FUNCTIONS[command]).parameters), "")
    if command == "check":  # what is checked comes first, and labels are a file
        return
    of_labels = {"labels", "table", "canaries", "solution"} & {str(item.name) for item in COMMANDS[command].params}

    assert (first in ("y", "solution")) == bool(of_labels or command == "metrics")


@pytest.mark.parametrize(
    ("call", "order"),
    [
        (lambda: li.audit_scorer("sklearn", [0, 1, 1]), "audit_scorer(y, scorer)"),
        (lambda: li.audit_scorer(max, [0, 1, 1]), "audit_scorer(y, scorer)"),
        (lambda: li.audit_record("runs", [0, 1, 1]), "audit_record(y, run)"),
        (lambda: li.audit_outputs([[0.5, 0.5]], planted=[0]), "audit_outputs(y, probabilities)"),
        (lambda: li.audit_client("mine:client", [0, 1], "mine:model", features=[[0.0]]), "audit_client(y, client, "),
        (lambda: li.bounds("labels.csv"), "bounds(y)"),
    ],
)
def test_the_order_of_0_1_is_one_sentence_that_says_the_new_one(call: Callable[[], object], order: str) -> None:
    with pytest.raises(InputError) as told:
        call()

    assert str(told.value).startswith("labels come first since 0.2: labelinf.")
    assert order in str(told.value)


@pytest.mark.parametrize("command", ["bounds", "advise"])
def test_a_game_in_python_has_the_settings_of_the_command(command: str) -> None:
    asked = options(command)

    assert set(Game.__annotations__) == set(_OMITTED) <= set(asked)
    for name, default in _OMITTED.items():
        assert empty(default) == empty(asked[name].get_default(click.Context(COMMANDS[command]))), name


def test_a_suite_has_the_keys_of_the_command() -> None:
    asked = {str(item.name) for item in COMMANDS["matrix"].params}

    assert {item.name for item in attrs.fields(Suite)} - asked == {"matrix", "title", "left_out"}
    assert {item.name for item in attrs.fields(Matrix)} - asked == {"settings", "part"}

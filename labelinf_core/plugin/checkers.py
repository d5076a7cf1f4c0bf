"""Who checks what a user hands in: the checkers that plugins bring, as commands of the group ``check``."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator

from labelinf_core.contracts.checked import GROUP, Checked, Checker, CheckQuestion
from labelinf_core.contracts.errors import InputError, LabelinfError, PluginError
from labelinf_core.plugin.descriptors import Command
from labelinf_core.plugin.host import Host

__all__ = ["checked"]


def checked(asked: CheckQuestion, host: Host) -> Checked:
    """Have a thing checked by whoever takes it.

    Raises:
        InputError: It is not there, nobody takes it, or something is missing.
        PluginError: The one checker that is left cannot be used.
    """
    _no_pipe(asked)
    faults = []
    for command in host.commands():
        if command.group != GROUP:
            continue
        try:
            checker = _imported(command)
            takes = checker.takes(asked)
        except LabelinfError:
            raise
        except Exception as error:  # a plugin's may raise anything, and the next one is asked
            faults.append(f" The checker {command.name} failed: {type(error).__name__}.")
            continue
        if takes:
            return checker.check(asked)
    if not (asked.path.exists() or ":" in asked.thing):
        raise InputError(f"{asked.thing} is not there.")
    known = "; ".join(_kinds(host))
    raise InputError(f"{asked.thing} is none of what can be checked: {known}.{''.join(faults)}{host.left_out}")


def _no_pipe(asked: CheckQuestion) -> None:
    """Refuse what may never end before anybody opens it."""
    for path in filter(None, (str(asked.path), asked.table)):
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            raise InputError(f"{path} is no regular file but a pipe or a device.")


def _kinds(host: Host) -> Iterator[str]:
    return (command.summary for command in host.commands() if command.group == GROUP)


def _imported(command: Command) -> Checker:
    module, _, name = command.target.partition(":")
    try:
        found: type[Checker] = getattr(importlib.import_module(module), name)
        return found()
    except Exception as error:  # a plugin's module may raise anything
        raise PluginError(
            f"checker {command.name!r} cannot be had from {command.target!r}: {type(error).__name__}."
        ) from error

"""Who checks what a user hands in: the checkers that plugins bring, as commands of the group ``check``."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import attrs

from labelinf_core.contracts.checked import GROUP, Checked, Checker, CheckQuestion, functions_in
from labelinf_core.contracts.errors import InputError, LabelinfError
from labelinf_core.plugin.descriptors import Command
from labelinf_core.plugin.host import Host

__all__ = ["checked", "deployed", "new_folder"]


def checked(asked: CheckQuestion, host: Host) -> Checked:
    """Have a thing checked by whoever takes it.

    Raises:
        InputError: It is not there, nobody takes it, or something is missing.
        PluginError: A checker cannot be imported.
    """
    _no_pipe(asked)
    faults, commands = [], [command for command in host.commands() if command.group == GROUP]
    for command in commands:
        try:
            checker: Checker = command.load()()
            takes = checker.takes(asked)
        except LabelinfError:
            raise
        except Exception as error:  # a plugin's may raise anything, and the next one is asked
            faults.append(f" The checker {command.name} failed: {type(error).__name__}.")
            continue
        if takes:
            _nothing_unused(asked, command, getattr(checker, "uses", None))
            return checker.check(asked)
    if not (asked.path.exists() or ":" in asked.thing):
        raise InputError(f"{asked.thing} is not there.")
    known = "; ".join([*(command.summary for command in commands), "labelinf audit --help lists what else is audited"])
    if asked.path.suffix == ".py" and (names := ", ".join(functions_in(asked.path))):
        known = f"which of {names} is meant? Name it, as in {asked.path}:FUNCTION; a client needs --model"
    raise InputError(f"{asked.thing} is none of what can be checked: {known}.{''.join(faults)}{host.left_out}")


def _no_pipe(asked: CheckQuestion) -> None:
    """Refuse what may never end before anybody opens it."""
    for path in filter(None, (str(asked.path), asked.table)):
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            raise InputError(f"{path} is no regular file but a pipe or a device.")


def _nothing_unused(asked: CheckQuestion, command: Command, uses: frozenset[str] | None) -> None:
    """Refuse what was given and would be passed over, where the checker says what it uses."""
    said = {"table": asked.table, "column": asked.column, **asked.given}
    for name in (name for name, value in said.items() if value and uses is not None and name not in {*uses, "gain"}):
        left = asked.table if name == "table" else f"--{name}"
        raise InputError(f"{asked.thing} is taken for {command.summary}: {left} is not used there; leave it out.")


def new_folder(folder: Path) -> None:
    """See that a folder can be made, before anything is played.

    Raises:
        InputError: It is there already, or nothing can be made there.
    """
    if folder.exists() or folder.is_symlink():
        raise InputError(f"{folder} is there already; name a new folder.")
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
        raise InputError(f"no folder can be made in {above}; name another one than {folder}.")


def deployed(found: Checked, folder: Path) -> tuple[Checked, str]:
    """Write the remedy into a new folder; return what was checked, with the command that runs it, and what was written.

    Raises:
        InputError: There are no files, the folder is there already, or the remedy cannot be written: no folder is left.
    """
    if found.deploy is None:
        raise InputError("no files deploy this; the remedy says what to do.")
    new_folder(folder)
    folder.mkdir(parents=True)
    try:
        wrote, then = found.deploy(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return attrs.evolve(found, then=then), wrote

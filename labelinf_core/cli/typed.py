"""A command as it was typed, for a page that says where it comes from."""

from __future__ import annotations

import shlex

import click
from click.core import ParameterSource

__all__ = ["as_typed"]


def as_typed(context: click.Context) -> str:
    """Return the command with what was given on the command line, in the order of its help."""
    words = ["labelinf", *_names(context)]
    for item in context.command.params:
        if item.name in context.params and context.get_parameter_source(item.name) is ParameterSource.COMMANDLINE:
            value = context.params[item.name]
            for each in value if isinstance(value, tuple) else (value,):
                option = [item.opts[0]] if isinstance(item, click.Option) else []
                words += option if each is True else [*option, str(each)]
    return shlex.join(words).encode("utf-8", "backslashreplace").decode()  # a file may have any name


def _names(context: click.Context | None) -> list[str]:
    """Return the names of a command and of its groups, the program's own left out."""
    if context is None or context.command.name in (None, "main"):
        return []
    return [*_names(context.parent), str(context.command.name)]

"""How many options there are: those of many commands count once, and none has more of its own than fit a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import click

from labelinf_core.cli import main
from labelinf_core.cli.glance import commands_at_a_glance
from labelinf_core.cli.options import Share

SHARED = 5  # an option of so many commands is learnt once


def commands(group: click.Group, context: click.Context, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield every command with its options, by their longest names."""
    brought = [] if path else [name for name, _ in commands_at_a_glance()]  # by plugins
    for name in sorted({*group.list_commands(context), *brought}):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, click.Context(command, parent=context), f"{path}{name} ")
        else:
            options = [item for item in command.params if isinstance(item, click.Option)]
            yield f"{path}{name}", [max(item.opts, key=len) for item in options]


def test_options_are_few() -> None:
    found = dict(commands(main, click.Context(main)))
    often = Counter(option for options in found.values() for option in options)
    shared = {option for option, times in often.items() if times >= SHARED}
    own = {command: [option for option in options if option not in shared] for command, options in found.items()}

    assert {"matrix", "audit outputs", "check", "guard plan"} <= found.keys()
    assert len(shared) + sum(map(len, own.values())) <= 150
    assert {command: len(options) for command, options in own.items() if len(options) > 10} == {"audit outputs": 11}


def test_a_share_is_between_nothing_and_all() -> None:
    """A range without ends is printed as one up to None, and takes 500 %."""
    pending: list[click.Command] = [main]
    shares: list[Share] = []
    while pending:
        command = pending.pop()
        context = click.Context(command)
        if isinstance(command, click.Group):
            names = {*command.list_commands(context), *(name for name, _ in commands_at_a_glance() if command is main)}
            pending.extend(filter(None, (command.get_command(context, name) for name in names)))
        shares.extend(item.type for item in command.params if isinstance(item.type, Share))
        assert "None]" not in command.get_help(context)
    assert len(shares) > 5
    assert [item for item in shares if item.min is None or item.max is None] == []

"""Commands that plugins bring, imported when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from labelinf_core.plugin.descriptors import Command

__all__ = ["Offered"]


class Offered(click.Group):
    """A group whose further commands come from the plugins; one that nobody calls is only named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return its own commands, then those that plugins bring."""
        return [*self.commands, *(name for name in self._brought() if name not in self.commands)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command of its own, or import a plugin's.

        Raises:
            PluginError: The plugin's command cannot be imported, or is none.
        """
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        brought = self._brought().get(cmd_name)
        return None if brought is None else _imported(brought)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; one that is missing may be that of a plugin which is not loaded."""
        from labelinf_core.plugin.host import Host

        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message}{Host.load().left_out}", error.ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List every command with its line, importing none."""
        brought = self._brought()
        rows = [
            (name, self.commands[name].get_short_help_str(90) if name in self.commands else brought[name].summary)
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _brought(self) -> dict[str, Command]:
        from labelinf_core.plugin.host import Host

        group = self.name if self.name != "main" else ""
        return {item.name: item for item in Host.load().commands() if item.group == group}


def _imported(command: Command) -> click.Command:
    from labelinf_core.contracts.errors import PluginError

    found = command.load()
    if not isinstance(found, click.Command):
        raise PluginError(f"command {command.name!r}: {command.target!r} must be a click.Command.")
    return found

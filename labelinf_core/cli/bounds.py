"""``labelinf bounds``: what the theory says of a threat model, without playing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.options import block_option, game_options, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.report.progress import waiting

if TYPE_CHECKING:
    from labelinf_core.evaluator.records import Implied

__all__ = ["bounds"]


@click.command()
@game_options
@output_options
@block_option
def bounds(**chosen: Any) -> None:
    """Print the noise that theory says is needed, and what no attack can exceed; nothing is played.

    The labels are --records and --classes, or a label set of your own with --labels.
    """
    from labelinf_core.evaluator.game import AttackedGame, asked
    from labelinf_core.evaluator.theory import theory

    host = load_host(chosen["blocks"])

    def question() -> tuple[str, Implied]:
        game = AttackedGame.read(host, chosen)
        implied = theory(game.builder, game.spec.name, game.channel.threat(game.setting))
        return f"{game.labels}; {game.spec.compact}", implied

    with waiting("computing bounds"):
        heading, implied = asked("bounds", host, chosen, question)
    if as_json := chosen["as_json"]:
        wanted = ("baseline", "threat", "bounds", "ceilings", "notes")
        tell({name: getattr(implied, name) for name in wanted}, (), as_json=True)
    for note in implied.notes:
        click.echo(f"labelinf: {note}", err=True)
    if not as_json:
        from labelinf_core.report.bounds import print_bounds

        click.echo(heading)
        print_bounds(implied)

"""``labelinf bounds``: what the theory says of a threat model, without playing anything."""

from __future__ import annotations

from typing import Any

import click

from labelinf_core.cli.options import block_option, game_options, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.cli.progress import waiting

__all__ = ["bounds"]


@click.command()
@game_options
@output_options
@block_option
def bounds(**chosen: Any) -> None:
    """Print the noise that theory says is needed, and what no attack can exceed; nothing is played.

    The labels are --records and --classes, or a label set of your own with --labels.
    """
    from labelinf_core.cli.game import Game
    from labelinf_core.evaluator.theory import theory

    game = Game.read(load_host(chosen["blocks"]), chosen)
    with waiting("computing bounds"):
        implied = theory(game.builder, game.spec.name, game.channel.threat(game.setting))
    if as_json := chosen["as_json"]:
        wanted = ("baseline", "threat", "bounds", "ceilings", "notes")
        tell({name: getattr(implied, name) for name in wanted}, (), as_json=True)
    for note in implied.notes:
        click.echo(f"labelinf: {note}", err=True)
    if not as_json:
        from labelinf_core.report.bounds import print_bounds

        click.echo(f"{game.labels}; {game.spec.compact}")
        print_bounds(implied)

"""``labelinf bounds``: what the theory says of a threat model, without playing anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.options import block_option, game_options, load_host

if TYPE_CHECKING:
    from labelinf_core.evaluator.records import Implied

__all__ = ["bounds"]


@click.command()
@game_options
@click.option("--json", "as_json", is_flag=True, help="For a machine to read.")
@block_option
def bounds(**chosen: Any) -> None:
    """Print the noise that theory says is needed, and what no attack can exceed; nothing is played.

    The labels are --records and --classes, or a label set of your own with --labels.
    """
    from labelinf_core.cli.game import Game
    from labelinf_core.evaluator.play import theory

    game = Game.read(load_host(chosen["blocks"]), chosen)
    implied = theory(game.builder, game.spec.name, game.defences, game.channel.threat(game.setting))
    if as_json := chosen["as_json"]:
        click.echo(_json(implied))
    for note in implied.notes:
        click.echo(f"labelinf: {note}", err=True)
    if not as_json:
        from labelinf_core.report.bounds import print_bounds

        print_bounds(implied)


def _json(implied: Implied) -> str:
    import attrs

    from labelinf_core.evaluator.records import plain

    def value_of(_: object, __: object, value: Any) -> Any:
        return getattr(value, "value", value)

    content = attrs.asdict(implied, value_serializer=value_of)
    wanted = ("baseline", "threat", "bounds", "ceilings", "notes")
    return json.dumps(plain({key: content[key] for key in wanted}), indent=1, ensure_ascii=False)

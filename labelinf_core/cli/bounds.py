"""``labelinf bounds``: what the theory says of a threat model, without playing anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.options import (
    Finite,
    block_option,
    channel_options,
    channel_spec,
    labels_options,
    labels_spec,
    load_host,
)

if TYPE_CHECKING:
    from labelinf_core.contracts.components import LabelSet
    from labelinf_core.evaluator.records import Implied
    from labelinf_core.plugin.host import Host
    from labelinf_core.specs import Builder

__all__ = ["bounds"]


@click.command(short_help="Say what theory implies; nothing is played.")
@click.option("--records", type=click.IntRange(min=2), help="N, the number of private labels, in balanced classes.")
@click.option("--classes", type=click.IntRange(min=2), default=2, show_default=True, help="K, the number of classes.")
@labels_options
@channel_options
@click.option("--clip", type=Finite(), metavar="E", help="Short for --defence 'clip(epsilon=E)'.")
@click.option("--noise", metavar="MODEL", help="Short for --defence 'score-noise(model=MODEL)'.")
@click.option("--defence", "defences", metavar="SPEC", multiple=True, help="What stands between, from the curator out.")
@click.option("--json", "as_json", is_flag=True, help="For a machine to read.")
@block_option
def bounds(**chosen: Any) -> None:
    """Print the noise that theory says is needed, and what no attack can exceed; nothing is played.

    The labels are --records and --classes, or a label set of your own with --labels.
    """
    host = load_host(chosen["blocks"])
    implied = _implied(host, chosen)
    if as_json := chosen["as_json"]:
        click.echo(_json(implied))
    for note in implied.notes:
        click.echo(f"labelinf: {note}", err=True)
    if not as_json:
        from labelinf_core.report.bounds import print_bounds

        print_bounds(implied)


def _implied(host: Host, chosen: dict[str, Any]) -> Implied:
    from labelinf_core.contracts.components import Channel, Setting
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.evaluator.play import theory
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.specs import Builder

    builder = Builder(host)
    given = {key: chosen[key] for key in ("loss", "scorer", "queries")}
    spec = channel_spec(chosen["channel"], **given)
    if chosen["records"] is not None and host.find(Kind.CHANNEL, spec.name).load().needs_features:
        raise InputError(
            f"--records is for the score channel: {spec.name} draws samples from a label set; name one with --labels, "
            f"for example digits."
        )
    channel: Channel = builder.build(Kind.CHANNEL, spec, "--channel")
    defences = tuple(builder.build(Kind.DEFENCE, spec, "--defence") for spec in _defences(chosen))
    setting = Setting(data=_labels(builder, chosen), defences=defences)
    return theory(builder, spec.name, defences, channel.threat(setting))


def _defences(chosen: dict[str, Any]) -> list[str]:
    clip = [] if chosen["clip"] is None else [f"clip(epsilon={chosen['clip']!r})"]
    noise = [] if chosen["noise"] is None else [f"score-noise(model={chosen['noise']})"]
    return [*clip, *noise, *chosen["defences"]]


def _labels(builder: Builder, chosen: dict[str, Any]) -> LabelSet:
    import numpy as np

    from labelinf_core.contracts.components import LabelSet
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.plugin.descriptors import Kind

    records, classes = chosen["records"], chosen["classes"]
    if (records is None) == (chosen["labels"] is None):
        raise InputError("say either how many labels there are (--records N) or which (--labels FILE.csv).")
    if records is None:
        data: LabelSet = builder.build(Kind.LABELS, labels_spec(chosen["labels"], chosen["column"]), "--labels").load()
        return data
    if records < classes:
        raise InputError(f"--records {records} must be at least --classes {classes}.")
    names = tuple(map(str, range(classes)))
    return LabelSet(labels=np.arange(records) % classes, class_names=names, title="balanced", provenance="made")


def _json(implied: Implied) -> str:
    import attrs

    from labelinf_core.evaluator.records import plain

    def value_of(_: object, __: object, value: Any) -> Any:
        return getattr(value, "value", value)

    content = attrs.asdict(implied, value_serializer=value_of)
    wanted = ("baseline", "threat", "bounds", "ceilings", "notes")
    return json.dumps(plain({key: content[key] for key in wanted}), indent=1, ensure_ascii=False)

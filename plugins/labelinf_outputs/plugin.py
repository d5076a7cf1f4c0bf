"""Registers the model-output channel's components. Imports nothing numerical."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelinf_core import Descriptor, Kind, Reference, hookimpl
from labelinf_core.plugin.descriptors import Command, SuitePart
from labelinf_core.plugin.reproductions import Reproduction
from labelinf_outputs import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labelinf_core import Statement

labelinf_contract = 1

_OWN = (
    Descriptor(
        kind=Kind.BOUND,
        name="planted-labels",
        channel="output",
        summary="what label-DP denies about planted labels, and what so many canaries can prove",
        reference=Reference(work="Steinke, Nasr and Jagielski, NeurIPS 2023", statement="Theorem 5.1"),
        target="labelinf_outputs.bounds.planted_labels:PlantedLabels",
    ),
    Descriptor(
        kind=Kind.LABELS,
        name="digits-parity",
        summary="handwritten digits, even or odd: 1 797 real records, 2 classes",
        reference=Reference(work="Alpaydin and Kaynak, UCI 1998", statement="handwritten digits"),
        target="labelinf_outputs.labels.digits_parity:DigitsParity",
    ),
    Descriptor(
        kind=Kind.LABELS,
        name="census-like",
        summary="made records in the shape of a census table, 2 classes",
        reference=Reference(work="labelinf", statement="made data"),
        target="labelinf_outputs.labels.census_like:CensusLike",
    ),
    Descriptor(
        kind=Kind.CHANNEL,
        name="output",
        channel="output",
        summary="a model is trained on labels, some of them planted, and shows its outputs",
        reference=Reference(work="Khan et al., BLIA, 2025", statement="Section 3, corrected"),
        target="labelinf_outputs.game.channel:OutputChannel",
    ),
)
_ALL = (*_OWN, *catalogue.ATTACKS, *catalogue.DEFENCES)


def _of(kind: Kind) -> Iterator[Descriptor]:
    return (item for item in _ALL if item.kind is kind)


@hookimpl
def labelinf_attacks() -> Iterator[Descriptor]:
    """Yield the published attacks and stronger ones."""
    return _of(Kind.ATTACK)


@hookimpl
def labelinf_defences() -> Iterator[Descriptor]:
    """Yield label-DP mechanisms, ways of training, and changes of the outputs."""
    return _of(Kind.DEFENCE)


@hookimpl
def labelinf_bounds() -> Iterator[Descriptor]:
    """Yield the ceilings on planted labels."""
    return _of(Kind.BOUND)


@hookimpl
def labelinf_label_sources() -> Iterator[Descriptor]:
    """Yield the records this channel is measured on."""
    return _of(Kind.LABELS)


@hookimpl
def labelinf_reproductions() -> Iterator[Reproduction]:
    """Yield the tables of BLIA."""
    yield Reproduction(
        name="blia-tables",
        summary="significance, label-DP ceilings and two hypotheses, from the printed figures",
        reference=Reference(work="Khan et al., BLIA, 2025", statement="Tables 1 and 3 to 8"),
        target="labelinf_outputs.published.blia_report:blia_tables",
    )


@hookimpl
def labelinf_channels() -> Iterator[Descriptor]:
    """Yield the channel itself."""
    return _of(Kind.CHANNEL)


@hookimpl
def labelinf_statements() -> tuple[Statement, ...]:
    """Yield the statements of BLIA, and what the audit rests on."""
    from labelinf_outputs.statements import STATEMENTS

    return STATEMENTS


@hookimpl
def labelinf_suites() -> Iterator[SuitePart]:
    """Yield what is played on this channel."""
    yield SuitePart(suite="quick", file="labelinf_outputs.suites:quick.toml", rank=20)
    yield SuitePart(suite="outputs", file="labelinf_outputs.suites:outputs.toml")


@hookimpl
def labelinf_commands() -> Iterator[Command]:
    """Yield the audit of a user's own system."""
    yield Command(
        group="audit",
        name="outputs",
        summary="Audit a trained model from its predictions on planted labels.",
        target="labelinf_outputs.commands:outputs",
    )

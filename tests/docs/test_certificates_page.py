"""The page of certificates names every mechanism that carries one, and every noise that carries none."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from labelinf_core.contracts.components import Setting
from labelinf_core.contracts.errors import LabelinfError
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder

HOST = Host.load()
BUILDER = Builder(HOST)
PAGE = (Path(__file__).parents[2] / "docs" / "certificates.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and line.count(" | ") >= 2]
GAMES = {
    "score": ("score(scorer=float64, queries=8)", "made(n_records=40)"),
    "gradient": ("gradient(samples=8)", "digits"),
    "output": ("output(victim=memory, canaries=0.5)", "breast-cancer"),
    "split": ("split(top=linear, frozen=true)", "breast-cancer"),
}
NEARER: tuple[tuple[str, ...], ...] = (
    (),
    ("clip(epsilon=0.01)",),
    ("clip(epsilon=0.01)", "score-noise(model=grid-laplace(scale=50))"),
)


def _shipped(kind: Kind, room: str | None = None) -> list[str]:
    listed = [item for item in HOST.catalogue(kind) if item.plugin.distribution == "labelinf"]
    return sorted(item.descriptor.name for item in listed if item.descriptor.channel == room)


def _ceilings(room: str, stages: tuple[str, ...]) -> tuple[Ceiling, ...]:
    channel, labels = GAMES[room]
    try:
        defences = BUILDER.pipeline(list(stages), "test")
        data = BUILDER.build(Kind.LABELS, labels, "test").load()
        threat = BUILDER.build(Kind.CHANNEL, channel, "test").threat(Setting(data=data, defences=defences))
    except LabelinfError:
        return ()
    return theory(BUILDER, room, threat).ceilings


def _certified(room: str) -> Iterator[str]:
    """Yield every defence with which more is denied than without it."""
    for name, nearer in itertools.product(_shipped(Kind.DEFENCE, room), NEARER if room == "score" else NEARER[:1]):
        kept = {item.accuracy for item in _ceilings(room, nearer)}
        if any(item.accuracy < min(kept, default=1.0) for item in _ceilings(room, (*nearer, name))):
            yield name


def _named(column: str) -> set[str]:
    return set(re.findall(r"`([\w.-]+)`", column))


@pytest.mark.long
@pytest.mark.parametrize("room", sorted(GAMES))
def test_every_certified_defence_has_a_row(room: str) -> None:
    """What is proved, and by whom."""
    rows = [row for row in ROWS if len(row) == 3]
    found = set(_certified(room))
    assert found
    assert sorted(found - set().union(*(_named(row[0]) for row in rows))) == []


def test_every_row_says_all_of_it() -> None:
    for row in ROWS:
        assert all(cell.strip(" -|") for cell in row), row


def test_every_noise_is_said_to_be_certified_or_not() -> None:
    noises = set(_shipped(Kind.NOISE))
    assert sorted(noises - _named(PAGE)) == []

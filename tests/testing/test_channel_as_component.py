"""A channel is held to rules of its own: it is played twice from one seed, and its own counts are checked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from labelinf_core.contracts.components import Measure, Outcome, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.testing.channels import RULES
from labelinf_scores.game.channel import ScoreChannel

HOST = Host.load()


class Generous(ScoreChannel):
    """Counts one more than were right."""

    def play(self, setting: Setting, **rngs: Any) -> Outcome:
        played = super().play(setting, **rngs)
        return attrs.evolve(played, n_correct=played.n_correct + 1)


class Moody(ScoreChannel):
    """Asks the world how often it was asked."""

    asked = 0

    def play(self, setting: Setting, **rngs: Any) -> Outcome:
        Moody.asked += 1
        return attrs.evolve(super().play(setting, **rngs), queries=Moody.asked)


class Twofold(ScoreChannel):
    """Measures one thing twice, plays what does not exist, and begins from nothing."""

    @classmethod
    def measures(cls) -> tuple[Measure, ...]:
        return (Measure(key="a", title="a"), Measure(key="a", title="b"))

    @classmethod
    def strongest(cls) -> tuple[str, ...]:
        return ("no-such-attack",)

    @classmethod
    def templates(cls) -> dict[Kind, str]:
        return {Kind.ATTACK: "labelinf_scores:no/such.jinja"}


@pytest.mark.parametrize(
    ("channel", "rule", "told"),
    [
        (Generous, "plays-by-its-generators", "it counts .* correct guesses"),
        (Moody, "plays-by-its-generators", "the same number of queries"),
        (Twofold, "says-what-it-measures", "two of its measures have one key"),
        (Twofold, "names-what-there-is", "no-such-attack"),
        (Twofold, "begins-from-its-templates", "there is no template"),
    ],
)
def test_a_channel_that_breaks_a_rule_is_told_which(channel: type[Any], rule: str, told: str) -> None:
    item: Any = SimpleNamespace(load=lambda: channel, descriptor=SimpleNamespace(name="score"))
    with pytest.raises(Exception, match=told):
        dict(RULES)[rule](HOST, item)


@pytest.mark.parametrize("name", ["score", "gradient", "output"])
@pytest.mark.parametrize("rule", [rule for rule, _ in RULES])
def test_the_shipped_channels_keep_every_rule(name: str, rule: str) -> None:
    dict(RULES)[rule](HOST, HOST.find(Kind.CHANNEL, name))

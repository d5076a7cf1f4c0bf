"""A channel is held to rules of its own: it is played twice from one seed, and its own counts are checked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from labelinf_core.contracts.components import Measure, Setting, Trialled
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.testing.channels import RULES
from labelinf_scores.game.channel import ScoreChannel

HOST = Host.load()


class Moody(ScoreChannel):
    """Asks the world how often it was asked."""

    asked = 0

    def trial(self, setting: Setting, **rngs: Any) -> Trialled:
        Moody.asked += 1
        return attrs.evolve(super().trial(setting, **rngs), queries=Moody.asked)


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


@attrs.frozen(kw_only=True)
class Hiding(ScoreChannel):
    """Calls a setting as every channel calls what it measures."""

    measures: int = 3


@pytest.mark.parametrize(
    ("channel", "rule", "told"),
    [
        (Hiding, "settings-can-be-written", "a setting cannot be called measures: it would hide what every channel"),
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


def test_a_channel_that_counts_for_itself_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Generous.play\(\) is not asked any more: a channel returns guesses"):

        class Generous(ScoreChannel):
            def play(self, setting: Setting, **rngs: Any) -> Any:  # type: ignore[misc]
                return attrs.evolve(super().play(setting, **rngs), n_correct=setting.data.n_records)

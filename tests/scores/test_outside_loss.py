"""A loss of somebody else's, for three classes: which attacks fit it, and that those which promise keep their word."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.attacks.mixed_radix import MixedRadix
from labelinf_scores.defences.clip import Clip
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.rules.games import channel_of, made
from labelinf_scores.rules.losses import RULES

HOST = Host.load()
LOG = LogLoss()


@attrs.frozen(kw_only=True)
class Halved(AdditiveLoss):
    """Half the cross-entropy, with an offset that depends on nothing."""

    def costs(self, predictions: Any, numbers: Any) -> Any:
        return LOG.costs(predictions, numbers) / 2

    def span(self, clip: float) -> float:
        return LOG.span(clip) / 2

    def prediction(self, gap: Any, numbers: Any) -> Any:
        return LOG.prediction(2 * gap, numbers)

    def rows(self, steps: Any, n_classes: int, numbers: Any) -> Any:
        return LOG.rows(2 * numbers.convert(steps), n_classes, numbers)


@attrs.frozen(kw_only=True)
class Free(Halved):
    """The same, which also says that it has rows of any costs."""

    has_class_rows = True

    def class_rows(self, lowered: Any, numbers: Any) -> Any:
        return LOG.class_rows(2 * lowered, numbers)


OF_STEPS = {"camouflage"}
OF_ANY_COSTS = {
    *("averaging", "class-counts", "doubling", "hadamard", "linear-program", "powers-blocks", "powers-exhaustive"),
}
OF_THE_LOG_LOSS = {"adaptive-weights", "prime-powers", "prime-blocks", "unnormalised-weights"}


def outcomes(loss: AdditiveLoss, scorer: str, n: int) -> dict[str, str]:
    """Return a clause for an attack that refuses; of the others, what came of them."""
    found: dict[str, str] = {}
    channel = channel_of(loss=loss, scorer=scorer, queries=200)
    data = made(np.array([2, 0, 1, 1, 0, 2][:n], dtype=np.intp), 3)
    for name in sorted(OF_STEPS | OF_ANY_COSTS | OF_THE_LOG_LOSS):
        attack = Builder(HOST).build(Kind.ATTACK, name, "test")
        setting = Setting(data=data, attack=attack)
        threat = channel.threat(setting)
        if refusal := attack.unsupported_reason(threat):
            found[name] = refusal
            continue
        promise = attack.promise(threat)
        rngs = np.random.default_rng(1).spawn(2)
        played = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
        certified = promise is not None and promise.certified
        found[name] = "kept" if played.n_correct == n else "broken" if certified else "missed"
    return found


@pytest.mark.parametrize("loss", [Halved(), Free()], ids=str)
def test_an_outside_loss_keeps_the_contract(loss: AdditiveLoss) -> None:
    for name, rule in RULES:
        if name != "makes-rows-of-any-costs" or loss.has_class_rows:
            rule(loss)


def test_an_outside_loss_of_three_classes_gets_every_attack_that_its_rows_allow() -> None:
    """``rows`` for equal steps, ``class_rows`` for any costs; the log-loss's own attacks say that they need it."""
    steps, free = (outcomes(loss, "exact", 4) for loss in (Halved(), Free()))
    assert "broken" not in {*steps.values(), *free.values()}
    assert {name for name in OF_STEPS if steps[name] == free[name] == "kept"} == OF_STEPS
    assert {name for name in OF_ANY_COSTS if "a loss with rows of any costs" in steps[name]} == OF_ANY_COSTS
    assert {name for name in OF_ANY_COSTS if free[name] == "kept"} == OF_ANY_COSTS - {"class-counts"}
    assert free["class-counts"] == "missed"  # it counts, and does not say whose labels they are
    assert {name for name in OF_THE_LOG_LOSS if "the log-loss" in free[name]} == OF_THE_LOG_LOSS


def test_labels_of_an_outside_loss_are_the_digits_of_one_number() -> None:
    setting = Setting(data=made(np.array([2, 0, 1, 1]), 3), attack=MixedRadix(), defences=(Clip(epsilon=0.01),))
    channel = channel_of(loss=Halved())
    assert MixedRadix().promise(channel.threat(setting)) is None  # an outside loss earns none
    rngs = np.random.default_rng(1).spawn(2)
    assert channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1]).n_correct == 4


def test_a_loss_that_makes_other_rows_than_it_says_is_told() -> None:
    @attrs.frozen(kw_only=True)
    class Wrong(Free):
        def class_rows(self, lowered: Any, numbers: Any) -> Any:
            return LOG.class_rows(lowered, numbers)

    with pytest.raises(AssertionError, match="asked for costs"):
        dict(RULES)["makes-rows-of-any-costs"](Wrong())
    assert math.isinf(Wrong().span(0.0))

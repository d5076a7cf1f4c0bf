"""Every attack of the channel against every kind of curator: it refuses in a clause or plays, and keeps its promise."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack

HOST = Host.load()
BUILDER = Builder(HOST)
COUNTING = {"class-counts", "majority"}  # they do not recover the labels of records
NAMES = sorted(
    item.descriptor.name
    for item in HOST.catalogue(Kind.ATTACK)
    if item.descriptor.channel == "score" and item.descriptor.target.startswith("labelinf_scores.")
)
FULL_SCORES = [  # seconds for each: many labels a query are planned
    ("sklearn", "log-loss", ()),
    ("sklearn", "log-loss", ("clip(epsilon=0.01)",)),
    ("sklearn:float32", "log-loss", ("enforce-row-sums(action=reject)",)),
    ("sklearn", "log-loss", ("clip(epsilon=0.095)", "round(decimals=3)")),
]
COARSE_SCORES = [
    ("float16", "log-loss", ("enforce-row-sums(action=reject)",)),
    ("bfloat16", "log-loss", ("clip(epsilon=0.01)",)),
    ("fpa:31", "log-loss", ("enforce-row-sums(action=reject)",)),
    ("fpa:9", "log-loss", ()),
    ("exact", "log-loss", ("round(decimals=4)",)),
    ("float16", "squared-euclidean", ()),
    ("fpa:31", "softmax-log-loss", ()),
]
BINARY_ONLY = [("float16", "itakura-saito", ()), ("fpa:3", "norm-like(alpha=3)", ())]


def case(curator: tuple[str, str, tuple[str, ...]], n_classes: int, *marks: pytest.MarkDecorator) -> object:
    scorer, loss, defences = curator
    return pytest.param(*curator, n_classes, id=f"{scorer}-{loss}-{'+'.join(defences)}-{n_classes}", marks=marks)


CASES = [
    *(case(curator, k, pytest.mark.slow) for curator in FULL_SCORES for k in (2, 3)),
    *(case(curator, k) for curator in COARSE_SCORES for k in (2, 3)),
    *(case(curator, 2) for curator in BINARY_ONLY),
]


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("scorer", "loss", "defences", "n_classes"), CASES)
def test_it_refuses_in_a_clause_or_keeps_its_promise(
    name: str, scorer: str, loss: str, defences: tuple[str, ...], n_classes: int
) -> None:
    n = 12
    data = LabelSet(labels=np.arange(n) % n_classes, class_names=tuple("abc"[:n_classes]), title="x", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, name, "test")
    stages = tuple(BUILDER.build(Kind.DEFENCE, each, "test") for each in defences)
    channel = BUILDER.build(Kind.CHANNEL, f"score(loss='{loss}', scorer='{scorer}', queries=400)", "test")
    assert isinstance(attack, ScoreAttack)
    assert all(isinstance(stage, ScoreDefence) for stage in stages)
    setting = Setting(data=data, attack=attack, defences=stages)
    threat = channel.threat(setting)

    refusal = attack.unsupported_reason(threat)
    if refusal:
        assert refusal == refusal.strip()
        assert not refusal.endswith(".")
        assert len(refusal) < 120
        return
    promise = attack.promise(threat)
    rngs = np.random.default_rng(1).spawn(2)
    outcome = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
    assert outcome.queries <= 400
    if promise is not None and promise.certified and name not in COUNTING:
        assert outcome.n_correct == n

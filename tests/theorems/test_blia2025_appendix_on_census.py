"""E19: "less vulnerable" may be an artefact of a weak attack (Khan et al., BLIA, 2025, appendix, on Census).

The paper: "The relatively low LIA attack accuracies, even at eps = infinity, highlight that the Census dataset is less
vulnerable to label inference attacks compared to other benchmarks."
"""

from __future__ import annotations

import numpy as np

from labelinf_core.contracts.components import Setting
from labelinf_outputs.attacks.calibrated import Calibrated
from labelinf_outputs.attacks.threshold import Threshold
from labelinf_outputs.game.canaries import CanaryGame
from labelinf_outputs.game.channel import OutputChannel
from labelinf_outputs.labels.digits_parity import DigitsParity


def test_a_model_at_which_the_threshold_sees_nothing_gives_most_labels_to_a_better_attack() -> None:
    """Digits, 30 epochs, 5 % canaries: four models, 268 canaries, seeds fixed."""
    data = DigitsParity().load()
    channel = OutputChannel(canaries=0.05, epochs=30, references=3)
    threat, game = channel.threat(Setting(data=data)), CanaryGame(channel.plan, data, (), 0)
    rng = np.random.default_rng(0)

    def share(attack: Threshold | Calibrated) -> float:
        hits = [attack.run(game.oracle(threat, t), rng).labels == game.member(t).planted for t in range(4)]
        return float(np.mean(hits))

    assert share(Threshold()) < 0.6
    assert share(Calibrated()) > 0.75
    assert game.member(0).test_accuracy > 0.94

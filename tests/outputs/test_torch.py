"""A PyTorch network as the victim of the output channel's own game; skipped where PyTorch is not installed."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_outputs.attacks.threshold import Threshold
from labelinf_outputs.defences.label_rr import LabelRr
from labelinf_outputs.game.channel import OutputChannel

pytest.importorskip("torch")

TORCH = "labelinf_outputs.victims.torch_mlp:TorchMlp"


def played(records: LabelSet, *defences: LabelRr, epochs: int) -> tuple[float, float]:
    """Return the share of planted labels that come out of two games, and of fresh ones."""
    channel = OutputChannel(victim=TORCH, epochs=epochs, canaries=0.3, references=0)
    right = fresh = total = 0
    for trial in range(2):
        outcome = channel.play(
            Setting(data=records, attack=Threshold(), defences=defences),
            curator_rng=np.random.default_rng(trial),
            attack_rng=np.random.default_rng([trial, 1]),
        )
        assert outcome.placebo is not None
        right, fresh, total = right + outcome.n_correct, fresh + outcome.placebo.n_correct, total + outcome.n_records
    return right / total, fresh / total


def test_planted_labels_come_out_of_a_network_that_memorised_them(records: LabelSet) -> None:
    recovered, placebo = played(records, epochs=300)

    assert recovered > 0.95
    assert 0.3 < placebo < 0.7


def test_randomised_response_holds_in_pytorch_too(records: LabelSet) -> None:
    """At epsilon 1 nothing beats 73.1 %; 120 guesses stay within four standard deviations of it."""
    recovered, _ = played(records, LabelRr(epsilon=1.0), epochs=300)

    assert recovered < 0.731 + 4 * 0.0405

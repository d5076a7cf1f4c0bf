"""A request that needs PyTorch says how to get it, where it is not installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.torch_network import import_torch


@pytest.fixture(autouse=True)
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


def test_a_module_is_asked_for() -> None:
    data = LabelSet(
        labels=np.array([0, 1, 2, 0, 1, 2]),
        class_names=("a", "b", "c"),
        title="made",
        provenance="made",
        features=np.arange(12.0).reshape(6, 2),
    )

    with pytest.raises(InputError, match=r"network 'mine:net' needs PyTorch: pip install 'labelinf\[torch\]'\."):
        GradientChannel(network="mine:net").check(data)


def test_gradient_matching_is_asked_for() -> None:
    with pytest.raises(InputError, match="gradient matching needs PyTorch"):
        import_torch("gradient matching")

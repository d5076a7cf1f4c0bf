"""Fourteen ordinary PyTorch modules, as somebody would write them: whose labels come out, and whose do not, is said."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import LabelinfError
from labelinf_gradients.attacks.adaptive import DefenceAware
from labelinf_gradients.attacks.bias import HiddenBias, LastBias
from labelinf_gradients.attacks.exact import ExactSolver
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.gradient import Shared
from labelinf_gradients.game.torch_network import TorchNetwork

torch = pytest.importorskip("torch")


def load(path: Path) -> ModuleType:
    """Load a script under a name that others can import."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
modules = load(BENCHMARKS / "torch_modules.py")
MODULES = modules.MODULES
RELU = (modules.mlp, modules.dropout, modules.MixedPrecision, modules.FunctionalHead)
NO_BIAS = (modules.Bag, modules.cnn, modules.Recurrent)  # of a linear layer in front of the head


@pytest.fixture(scope="module")
def digits() -> LabelSet:
    from labelinf_data.bundled import load_bunch

    bunch = load_bunch("digits")
    names = tuple("0123456789")
    return LabelSet(labels=bunch.target, class_names=names, title="digits", provenance="real", features=bunch.data)


def play(data: LabelSet, module: Any, attack: Any, **settings: Any) -> Any:
    precision = "bfloat16" if module is modules.MixedPrecision else "float32"
    channel = GradientChannel(
        network=f"{modules.__name__}:{module.__name__}", samples=16, auxiliary=20, precision=precision, **settings
    )
    setting = Setting(data=data, attack=attack)
    channel.check(data)
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_label_comes_out_of_any_module(digits: LabelSet, module: Any) -> None:
    outcome = play(digits, module, ExactSolver(family="auto"))

    if module is modules.Tied:  # its gradient is a sum of the head's and the embedding's: said, and no crash
        assert outcome.evidence["unexplained"] > 8
        assert play(digits, module, LastBias(), bias=True).n_correct == 16
        return
    assert outcome.n_correct == 16
    assert "unexplained" not in outcome.evidence


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_closed_form_says_where_it_does_not_hold(digits: LabelSet, module: Any) -> None:
    """Only a ReLU in front of the head carries the scale of the hidden bias; elsewhere the evidence says so."""
    if module in NO_BIAS:
        with pytest.raises(LabelinfError, match="needs a hidden layer with a bias"):
            play(digits, module, HiddenBias(), bias=True, shared=Shared.ALL)
        return
    outcome = play(digits, module, HiddenBias(), bias=True, shared=Shared.ALL)
    holds = "closed form does not hold" not in outcome.evidence
    assert holds or module not in RELU
    assert not holds or outcome.evidence["soft labels within 1e-3"] > 0.9 or module is modules.MixedPrecision


@pytest.mark.slow
@pytest.mark.parametrize("module", [modules.Tied, modules.MixedPrecision])
def test_counts_come_out_where_samples_cannot_be_taken_apart(digits: LabelSet, module: Any) -> None:
    """A tied head's gradient, or one in half precision, has more rank than its batch: the adaptive attack goes on."""
    assert play(digits, module, DefenceAware(), batch=4).n_correct > 8


@pytest.mark.parametrize(
    "module", [modules.FunctionalHead, modules.convolution_head, modules.Tied, modules.TokenTransformer]
)
def test_heads_that_are_no_linear_module_are_found(module: Any) -> None:
    torch.manual_seed(0)
    network = TorchNetwork.wrap(module(64, 10), target="test", n_inputs=64, precision="float64")
    x = np.random.default_rng(0).uniform(size=(3, 64))

    logits = network.classifier(network.features(x))
    moved = network.moved({network.head.weight: np.ones(network.classifier.weights.shape)})

    expected = network.module(network.inputs(x)).detach().numpy().reshape(3, 10)
    assert np.abs(logits - expected).max() < 1e-9
    assert network.gradients(x, np.eye(10)[:3])[network.head.weight].shape[1] == 10
    assert np.abs(moved.classifier.weights - network.classifier.weights - 1).max() < 1e-12


@pytest.mark.slow
def test_an_audit_reads_every_module_under_every_conduct(capsys: pytest.CaptureFixture[str]) -> None:
    """``benchmarks/clients.py`` plays all 182 cells."""
    clients = load(BENCHMARKS / "clients.py")
    names = ("Tied", "convolution_head", "dropout", "MixedPrecision")

    assert clients.main(["--modules", *names, "--conducts", "plain", "Adam", "top-k", "sum of 4", "train()"]) == 0

    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()]
    assert [row[0].strip() for row in rows[2:]] == list(names)
    assert all(cell.strip() == "100%" for row in rows[2:] for cell in row[1:])

"""PyTorch's own gradients are attacked; skipped where PyTorch is not installed (``tox -e torch`` installs it)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from labelinf_core.channels.gradient_channel import GradientChannel
from labelinf_core.channels.networks import Perceptron
from labelinf_core.components import LabelSet, Setting
from labelinf_core.errors import InputError
from labelinf_gradients.attacks.exact import ExactSolver
from labelinf_gradients.attacks.instances import SampleBySample
from labelinf_gradients.defences.conduct import Aggregate, LabelSmoothing, Mixup
from labelinf_gradients.recovery.solver import recover
from labelinf_gradients.search.secant import Secant

pytest.importorskip("torch")


def convolutional(n_inputs: int, n_classes: int) -> Any:
    """A small network of somebody's: 8 x 8 images, two convolutions, average pooling, a linear layer with bias."""
    from torch import nn

    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 8, 3, padding=1),
        nn.Sigmoid(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.Sigmoid(),
        nn.Flatten(),
        nn.Linear(256, n_classes, bias=False),
    )


def residual(n_inputs: int, n_classes: int) -> Any:
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm = nn.Linear(n_inputs, 32), nn.BatchNorm1d(32)
            self.second, self.head = nn.Linear(32, 32), nn.Linear(32, n_classes)

        def forward(self, x: Any) -> Any:
            h = torch.relu(self.norm(self.first(x)))
            return self.head(torch.relu(h + self.second(h)))

    return Residual()


def not_linear_at_the_end(n_inputs: int, n_classes: int) -> Any:
    from torch import nn

    return nn.Sequential(nn.Linear(n_inputs, n_classes), nn.Tanh())


def without_linear(n_inputs: int, n_classes: int) -> Any:
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.ReLU())


@pytest.fixture(scope="module")
def digits() -> LabelSet:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return LabelSet(
        labels=bunch.target,
        class_names=tuple("0123456789"),
        title="digits",
        provenance="real",
        features=bunch.data,
    )


def play(data: LabelSet, network: str, attack: Any, *defences: Any, **settings: Any) -> Any:
    channel = GradientChannel(network=f"{__name__}:{network}", samples=16, **settings)
    setting = Setting(data=data, attack=attack, defences=defences)
    channel.check(data)
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


@pytest.mark.parametrize("network", ["convolutional", "residual"])
@pytest.mark.parametrize("defence", [None, LabelSmoothing(), Mixup()])
def test_labels_come_out_of_autograds_gradients(digits: LabelSet, network: str, defence: Any) -> None:
    outcome = play(digits, network, ExactSolver(), *([defence] if defence else []))

    assert outcome.n_correct == outcome.n_records == 16
    assert outcome.evidence["soft labels within 1e-3"] == 1.0


def test_a_batch_through_a_convolutional_network_comes_apart(digits: LabelSet) -> None:
    outcome = play(digits, "convolutional", SampleBySample(), Aggregate(batch=2), precision="float64")

    assert outcome.n_correct == 16
    assert outcome.evidence["batches explained"] == 8


def test_our_perceptron_computes_pytorchs_gradients() -> None:
    import torch

    rng = np.random.default_rng(0)
    network = Perceptron.random((5, 7, 4), rng, dtype="float64")
    module = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 4)).double()
    with torch.no_grad():
        for layer, ours in zip((module[0], module[2]), network.layers, strict=True):
            layer.weight.copy_(torch.as_tensor(ours.weights))
            layer.bias.copy_(torch.as_tensor(ours.bias))
    x, label = rng.normal(size=5), rng.dirichlet(np.ones(4))

    loss = torch.nn.functional.cross_entropy(module(torch.as_tensor(x)[None]), torch.as_tensor(label)[None])
    parts = torch.autograd.grad(loss, list(module.parameters()))

    for theirs, ours in zip(parts, network.gradients(x[None], label[None]).values(), strict=True):
        assert np.abs(theirs.numpy() - ours[0]).max() < 1e-12


def test_the_secant_method_is_pytorchs_lbfgs_step_for_step() -> None:
    import torch

    def value(x: Any) -> Any:
        return (x**2 - 3) ** 2 / 10 + torch.sin(3 * x)

    theirs = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([theirs], lr=0.5)
    ours = Secant(at=1.0, rate=0.5)

    def closure() -> Any:
        optimiser.zero_grad()
        loss = value(theirs).sum()
        loss.backward()
        return loss

    def plain(x: float) -> tuple[float, float]:
        at = torch.tensor([x], dtype=torch.float64, requires_grad=True)
        loss = value(at).sum()
        loss.backward()
        return float(loss.detach()), float(at.grad)

    for _ in range(6):
        optimiser.step(closure)
        ours.step(plain)
        assert ours.at == pytest.approx(float(theirs.detach()), abs=1e-9)


def test_matching_with_the_recovered_label_beats_matching_with_idlgs(digits: LabelSet) -> None:
    import torch

    from labelinf_core.channels.torch_network import TorchNetwork
    from labelinf_gradients.reconstruction.matching import Distance, LabelMode, Matching
    from labelinf_gradients.reconstruction.quality import psnr

    torch.manual_seed(0)
    module = convolutional(64, 10)
    for parameter in module.parameters():
        torch.nn.init.uniform_(parameter, -0.5, 0.5)
    network = TorchNetwork.wrap(module, target="test", n_inputs=64, precision="float64")
    x = digits.features[:1] / 16  # type: ignore[index]
    truth = np.full(10, 0.03) + 0.7 * np.eye(10)[digits.labels[0]]
    gradients = {name: part[0] for name, part in network.gradients(x, truth[None]).items()}
    weights = network.classifier.weights
    label = recover(gradients[network.classifier_names[0]], weights, family="smoothing").labels[0]

    def reached(guess: Any, **how: Any) -> float:
        matching = Matching(iterations=300, **how)
        found = matching.run(network, gradients, (64,), np.random.default_rng(0), label=guess)
        return float(psnr(found.inputs[None], x)[0])

    assert np.abs(label - truth).sum() < 1e-9
    recovered, hard = reached(label), reached(np.eye(10)[truth.argmax()])
    assert recovered > hard + 10
    assert reached(None, labels=LabelMode.JOINT, distance=Distance.COSINE) < recovered


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("not_linear_at_the_end", "does not end in its linear layer '0'; its logits must"),
        ("without_linear", "has no linear layer; its last layer must be one"),
        ("missing", "cannot be made: AttributeError"),
        ("digits_title", "returned str, expected a torch.nn.Module"),
    ],
)
def test_a_network_that_does_not_fit_is_one_sentence(digits: LabelSet, network: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        play(digits, network, ExactSolver())


def digits_title(n_inputs: int, n_classes: int) -> str:
    return "digits"

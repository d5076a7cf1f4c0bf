"""PyTorch's own gradients are attacked; skipped where PyTorch is not installed (``tox -e torch`` installs it)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_gradients.attacks.bias import HiddenBias, LastBias
from labelinf_gradients.attacks.exact import ExactSolver
from labelinf_gradients.attacks.idlg import Idlg
from labelinf_gradients.attacks.instances import SampleBySample
from labelinf_gradients.batches.instances import recover_batch
from labelinf_gradients.defences.conduct import Aggregate, LabelSmoothing, Mixup
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.gradient import Shared
from labelinf_gradients.game.networks import Layer, Perceptron
from labelinf_gradients.game.torch_network import TorchNetwork
from labelinf_gradients.reconstruction.inputs import reconstruct
from labelinf_gradients.reconstruction.matching import Distance, Matching
from labelinf_gradients.reconstruction.quality import psnr
from labelinf_papers.published.iclr_matching import MODES, matching_table, ratios
from labelinf_papers.search.secant import Secant

pytest.importorskip("torch")


def convolutional(n_inputs: int, n_classes: int) -> Any:
    """A small network of somebody's: 8 x 8 images, two convolutions, a linear layer without bias."""
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


def fully_connected(n_inputs: int, n_classes: int, *, bias: bool = True) -> Any:
    from torch import nn

    return nn.Sequential(
        nn.Linear(n_inputs, 48, bias=bias),
        nn.ReLU(),
        nn.Linear(48, 40, bias=bias),
        nn.ReLU(),
        nn.Linear(40, n_classes, bias=bias),
    )


def without_bias(n_inputs: int, n_classes: int) -> Any:
    return fully_connected(n_inputs, n_classes, bias=False)


def head_first(n_inputs: int, n_classes: int) -> Any:
    """The head is declared before the body; one parameter is frozen and one is never used."""
    import torch
    from torch import nn

    class HeadFirst(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head, self.body = nn.Linear(24, n_classes), nn.Linear(n_inputs, 24)
            self.body.weight.requires_grad_(False)
            self.spare = nn.Parameter(torch.ones(3))

        def forward(self, x: Any) -> Any:
            return self.head(torch.sigmoid(self.body(x)))

    return HeadFirst()


def frozen(n_inputs: int, n_classes: int) -> Any:
    return without_bias(n_inputs, n_classes).requires_grad_(False)


def one_output_short(n_inputs: int, n_classes: int) -> Any:
    return fully_connected(n_inputs, n_classes - 1)


def of_larger_images(n_inputs: int, n_classes: int) -> Any:
    return fully_connected(784, n_classes)


def not_linear_at_the_end(n_inputs: int, n_classes: int) -> Any:
    from torch import nn

    return nn.Sequential(nn.Linear(n_inputs, n_classes), nn.Tanh())


def without_linear(n_inputs: int, n_classes: int) -> Any:
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.ReLU())


@pytest.fixture(scope="module")
def digits() -> LabelSet:
    from labelinf_data.bundled import load_bunch

    bunch = load_bunch("digits")
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


@pytest.mark.parametrize("network", ["convolutional", "residual", "fully_connected", "without_bias", "head_first"])
@pytest.mark.parametrize("defence", [None, LabelSmoothing(), Mixup()])
def test_labels_come_out_of_autograds_gradients(digits: LabelSet, network: str, defence: Any) -> None:
    outcome = play(digits, network, ExactSolver(), *([defence] if defence else []))

    assert outcome.n_correct == outcome.n_records == 16
    assert outcome.evidence["soft labels within 1e-3"] == 1.0


def test_a_batch_through_a_convolutional_network_comes_apart(digits: LabelSet) -> None:
    outcome = play(digits, "convolutional", SampleBySample(), Aggregate(batch=2), precision="float64")

    assert outcome.n_correct == 16
    assert outcome.evidence["batches explained"] == 8


@pytest.mark.parametrize(
    ("network", "attack", "settings"),
    [
        ("fully_connected", LastBias(), {"bias": True}),
        ("head_first", LastBias(), {"bias": True}),
        ("fully_connected", HiddenBias(), {"bias": True, "shared": Shared.ALL}),
        ("convolutional", Idlg(), {}),
        ("without_bias", Idlg(), {}),
    ],
)
def test_other_attacks_take_autograds_gradients_too(digits: LabelSet, network: str, attack: Any, settings: Any) -> None:
    outcome = play(digits, network, attack, **settings)

    assert outcome.n_correct == 16


@pytest.mark.parametrize("bias", [False, True])
def test_a_batch_of_pytorchs_own_mean_loss_comes_apart(bias: bool) -> None:
    """Not our mean of single gradients: one backward pass of the mean cross-entropy, in float32."""
    import torch

    torch.manual_seed(4)
    module = fully_connected(20, 30, bias=bias)
    x, labels = torch.rand(6, 20), torch.tensor([3, 3, 7, 11, 29, 3])
    torch.nn.functional.cross_entropy(module(x), labels).backward()
    layer = module[4]
    features = module[:4](x).detach().numpy()

    found = recover_batch(
        layer.weight.grad.numpy(),
        layer.weight.detach().numpy(),
        batch=6,
        rng=np.random.default_rng(0),
        bias=layer.bias.detach().numpy() if bias else None,
    )

    assert found.exact
    assert sorted(found.classes.tolist()) == sorted(labels.tolist())
    for feature in features:
        assert np.abs(found.features - feature).max(axis=1).min() < 1e-3 * np.abs(feature).max()


@pytest.mark.parametrize("bias", [False, True])
def test_inputs_come_out_of_autograds_gradients_of_all_layers(digits: LabelSet, bias: bool) -> None:
    import torch

    torch.manual_seed(1)
    network = TorchNetwork.wrap(fully_connected(64, 10, bias=bias), target="test", n_inputs=64, precision="float32")
    x, truth = digits.features[:20] / 16, np.eye(10)[digits.labels[:20]]  # type: ignore[index]
    gradients = network.gradients(x, 0.7 * truth + 0.03)
    layers = [network.module[at] for at in (0, 2, 4)]
    known = Perceptron(
        layers=tuple(
            Layer(weights=one.weight.detach().numpy(), bias=one.bias.detach().numpy() if bias else None)
            for one in layers
        )
    )

    found = reconstruct(known, {f"layers.{number}.weight": gradients[f"{2 * number}.weight"] for number in range(3)})

    assert np.abs(found.labels - 0.7 * truth - 0.03).max() < 1e-4
    assert np.median(psnr(found.inputs, x)) > 110


def test_frozen_and_unused_parameters_are_no_obstacle(digits: LabelSet) -> None:
    network = TorchNetwork.wrap(head_first(64, 10), target="test", n_inputs=64, precision="float64")

    gradients = network.gradients(digits.features[:2], np.eye(10)[[1, 2]])  # type: ignore[index]

    assert network.head.weight == "head.weight"
    assert network.nonnegative
    assert set(gradients) == set(network.shapes) == {"spare", "head.weight", "head.bias", "body.bias"}
    assert not gradients["spare"].any()
    assert gradients["body.bias"].any()


def test_local_steps_move_a_module_and_leave_the_original(digits: LabelSet) -> None:
    network = TorchNetwork.wrap(without_bias(64, 10), target="test", n_inputs=64, precision="float64")
    step = {"4.weight": np.ones((10, 40))}

    moved = network.moved(step)

    assert np.abs(moved.classifier.weights - network.classifier.weights - 1).max() < 1e-12
    assert moved.classifier_names == network.classifier_names


def test_a_module_in_the_users_own_folder_is_attacked_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "mynet.py").write_text(
        "from torch import nn\n\n\n"
        "def make(n_inputs, n_classes):\n"
        "    return nn.Sequential(nn.Linear(n_inputs, 32), nn.ReLU(), nn.Linear(32, n_classes))\n"
    )
    command = [sys.executable, "-m", "labelinf_core", "attack", "exact-solver", "--labels", "digits"]
    channel = "gradient(network='mynet:make', samples=20, targets='mixup')"

    done = subprocess.run([*command, "--channel", channel], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "recovered  20 of 20 labels: 100 %" in done.stdout


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


@pytest.mark.parametrize("distance", list(Distance))
def test_matching_is_as_good_with_the_recovered_label_as_with_the_true_one(distance: Distance) -> None:
    """A sigmoid network, smoothed labels: within 6 dB of the truth, iDLG's hard label and a free one far below."""

    def reached(name: str) -> float:
        return float(np.median(ratios(MODES[name], distance, images=1, iterations=150)))

    known, ours = reached("true label"), reached("ours")
    assert ours > 30
    assert abs(ours - known) < 6
    assert reached("iDLG") < ours - 15
    assert reached("joint") < ours - 15


def test_matching_by_features_or_from_the_recovered_label_works_too() -> None:
    for name in ("ours, eq. 8", "joint from ours"):
        assert ratios(MODES[name], Distance.SQUARED, images=1, iterations=150)[0] > 30


@pytest.mark.slow
def test_the_whole_matching_table() -> None:
    table = {row[0]: row[1:] for row in matching_table(images=3, iterations=800).rows}

    for column in range(2):
        assert abs(table["ours"][column] - table["true label"][column]) < 6
        assert table["ours"][column] > 100
        assert max(table["iDLG"][column], table["joint"][column]) < table["ours"][column] - 40


def test_matching_says_what_it_lacks() -> None:
    network = TorchNetwork.wrap(without_bias(6, 4), target="test", n_inputs=6, precision="float64")
    gradients = {name: part[0] for name, part in network.gradients(np.ones((1, 6)), np.eye(4)[[0]]).items()}

    with pytest.raises(ValueError, match="a label that stays must be given"):
        Matching(iterations=1).run(network, gradients, (6,), np.random.default_rng(0))
    with pytest.raises(ValueError, match="feature > 0 needs the recovered feature"):
        Matching(iterations=1, feature=1.0).run(
            network, gradients, (6,), np.random.default_rng(0), label=np.full(4, 0.25)
        )


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("not_linear_at_the_end", "are linear in none of its parameters: it must end in a linear layer"),
        ("without_linear", "are linear in none of its parameters"),
        ("missing", "has no 'missing'"),
        ("digits_title", "returned str, expected a torch.nn.Module"),
        ("frozen", "is frozen: attacks on its gradient cannot be played"),
        ("one_output_short", "has 9 outputs for 10 classes"),
        ("of_larger_images", r"does not run on \(64, 64\): RuntimeError"),
    ],
)
def test_a_network_that_does_not_fit_is_one_sentence(digits: LabelSet, network: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        play(digits, network, ExactSolver())


@pytest.mark.parametrize("network", ["resnet", "torch:", ":make"])
def test_a_network_that_is_not_named_is_one_sentence(digits: LabelSet, network: str) -> None:
    with pytest.raises(InputError, match="must be 'mlp' or 'module:function'"):
        GradientChannel(network=network).check(digits)


def test_a_bias_that_is_not_there_cannot_be_shared(digits: LabelSet) -> None:
    with pytest.raises(InputError, match=r"bias=true, but network .* has no bias"):
        play(digits, "without_bias", ExactSolver(), bias=True)


def digits_title(n_inputs: int, n_classes: int) -> str:
    return "digits"

"""How exactly labels come out of single-sample gradients, how fast, and what stops it, beside the paper's own search.

Usage::

    python benchmarks/gradients.py                    # everything; about four minutes on one core
    python benchmarks/gradients.py --quick            # a tenth of the samples; under a minute
    python benchmarks/gradients.py exact search       # only these parts

Parts: *exact* (float32 gradients, random and trained networks, CPU per sample), *saturation* (where identifiability
ends), *search* (Wang et al., ICLR 2024, Algorithms 1 and 2, in the same run, beside stored figures of their program),
*factor* (gradients times a factor that nobody told, in float32 and halves), *one-hot* (their Appendix B.3) and
*defences* (the strongest attack beside each certificate). Times are processor time of one core. *silently wrong* counts
answers that claim to be unique and are further than 1e-3 (L1) from the truth.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections import Counter
from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import Digits, load_bunch
from labelinf_gradients.attacks.adaptive import DefenceAware
from labelinf_gradients.attacks.bayes import OwnSamples
from labelinf_gradients.attacks.exact import ExactSolver
from labelinf_gradients.attacks.idlg import Idlg, odd_one_out
from labelinf_gradients.attacks.noisy import FilterDirection, Likelihood, MatchedFilter
from labelinf_gradients.attacks.visible_entries import VisibleEntries
from labelinf_gradients.defences.clipping import ClippedGaussian, ClippedLaplace, GradientClip
from labelinf_gradients.defences.coarse import Quantise, Sign
from labelinf_gradients.defences.conduct import FederatedAveraging, LabelSmoothing, Mixup
from labelinf_gradients.defences.sparse import Prune, RandomSparse, TopK
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.clients import train
from labelinf_gradients.game.gradient import GradientAttack, GradientDefence
from labelinf_gradients.game.networks import Layer, Perceptron, softmax
from labelinf_gradients.recovery.results import Recovery, RecoveryStatus
from labelinf_gradients.recovery.solver import recover
from labelinf_gradients.recovery.tensors import FORMATS, rounded_to
from labelinf_papers.search.algorithm import search
from labelinf_papers.search.loss import label_loss

BUILDER = Builder(Host.load())
FAMILIES = ("one-hot", "smoothing", "mixup")
EXCLUDED = {"one-hot": 1, "smoothing": 1, "mixup": 2}
RIGHT = 1e-3  # L1
HEAD = f"{'right':>8}{'right of unique':>17}{'silently wrong':>16}   flagged"
Data = tuple[NDArray[np.float64], NDArray[np.intp]]


@attrs.frozen(kw_only=True, eq=False)
class Victims:
    """Samples, what they released, and the truth."""

    gradients: NDArray[np.float32]
    labels: NDArray[np.float64]
    errors: NDArray[np.float64]


def soft_labels(
    classes: NDArray[np.intp], n_classes: int, family: str, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Smooth by U(0, .5), mix with another class by U(0, 1), or leave one-hot."""
    n, own = len(classes), np.eye(n_classes)[classes]
    if family == "smoothing":
        factor = rng.uniform(0, 0.5, (n, 1))
        return (1 - factor) * own + factor / n_classes
    if family == "mixup":
        weight = rng.uniform(0, 1, (n, 1))
        return weight * own + (1 - weight) * np.eye(n_classes)[(classes + rng.integers(1, n_classes, n)) % n_classes]
    return own


@functools.cache
def data_of(n_classes: int) -> Data:
    """Return the real digits for ten classes, else made clusters in 64 dimensions."""
    if n_classes == 10:
        bunch = load_bunch("digits")
        return bunch.data / 16, np.asarray(bunch.target, dtype=np.intp)
    rng = np.random.default_rng(n_classes)
    classes = rng.integers(n_classes, size=max(3000, 12 * n_classes))
    return rng.random((n_classes, 64))[classes] + 0.15 * rng.normal(size=(len(classes), 64)), classes


@functools.cache
def trained(n_classes: int, hidden: int, epochs: int, family: str = "one-hot") -> Perceptron:
    """Return a float32 network without biases, trained on half of the data with labels of ``family``."""
    (x, classes), rng = data_of(n_classes), np.random.default_rng(hidden)
    half = len(x) // 2
    start = Perceptron.random((64, hidden, n_classes), rng, bias=False)
    labels = soft_labels(classes[:half], n_classes, family, rng)
    return train(start, x[:half], labels, epochs=epochs, rng=rng).astype("float32")


def attacked(network: Perceptron, family: str, n: int) -> Victims:
    """Return float32 last-layer gradients of held-out samples, one each; ``p - y`` in float64."""
    weights = network.classifier.weights
    rng, n_classes = np.random.default_rng(n), len(weights)
    if len(network.layers) == 1:
        x, classes = np.maximum(rng.normal(size=(n, weights.shape[1])), 0), rng.integers(n_classes, size=n)
    else:
        inputs, truth = data_of(n_classes)
        rows = len(inputs) // 2 + rng.permutation(len(inputs) - len(inputs) // 2)[:n]
        x, classes = network.features(inputs[rows]), truth[rows]
    labels = soft_labels(classes, n_classes, family, rng)
    head = Perceptron(layers=(network.classifier,))
    errors = softmax(x.astype(np.float64) @ weights.T.astype(np.float64)) - labels
    return Victims(gradients=head.gradients(x, labels)["layers.0.weight"], labels=labels, errors=errors)


def judged(found: Recovery, labels: NDArray[np.float64]) -> str:
    """Say how many are right, how many are flagged, and how many are neither."""
    right = np.abs(found.labels - labels).sum(axis=1) < RIGHT
    unique = np.array([status is RecoveryStatus.UNIQUE for status in found.status])
    flags = Counter(status.value.partition("_")[0] for status in found.status if status is not RecoveryStatus.UNIQUE)
    flagged = ", ".join(f"{count} {name}" for name, count in flags.items()) or "-"
    identifiable = np.mean(right[unique]) if unique.any() else float("nan")
    return f"{np.mean(right):8.2%}{identifiable:17.2%}{int((unique & ~right).sum()):16}   {flagged}"


def exact(scale: float) -> None:
    """Print accuracy and time of the exact solver."""
    print("\nexact solver, float32 gradients, sign not known: right = L1 < 1e-3")
    print(f"{'network':24}{'C':>5} {'family':10}{'n':>6}{'us/sample':>10} {HEAD}")
    marks = {10: 150, 17: 150, 100: 600, 1000: 4000}
    for n_classes, count in ((10, 4000), (17, 4000), (100, 1500), (1000, 1000)):
        rng, width = np.random.default_rng(n_classes), 512**-0.5
        weights = rng.uniform(-width, width, (n_classes, 512)).astype(np.float32)
        networks = {"random, 512 features": Perceptron(layers=(Layer(weights=weights),))}
        for epochs in (3, 30) if n_classes < 1000 else (3,):
            networks[f"trained {epochs} epochs, 256"] = trained(n_classes, 256, epochs)
        for name, network in networks.items():
            for family in FAMILIES:
                report_exact(name, network, family, max(100, int(count * scale)))
        print(f"{'':45}mark {marks[n_classes]} us")


def report_exact(name: str, network: Perceptron, family: str, n: int) -> None:
    """Print one line."""
    weights = network.classifier.weights
    victims = attacked(network, family, n)
    before = time.process_time()
    found = recover(victims.gradients, weights, family=family)
    spent = (time.process_time() - before) / len(victims.labels)
    print(
        f"{name:24}{len(weights):5} {family:10}{len(victims.labels):6}{1e6 * spent:10.0f} "
        f"{judged(found, victims.labels)}",
        flush=True,
    )


def saturation(scale: float) -> None:
    """Print what is left as the logits of a well-trained network are doubled again and again."""
    network, n = trained(10, 256, 120), max(100, int(800 * scale))
    print("\nsaturation: digits, 120 epochs, last layer times a factor, features known to be non-negative")
    print(f"{'family':10}{'factor':>7}{'hard label':>11}{'in interval':>12}{HEAD}")
    for family in FAMILIES:
        for factor in (1, 2, 4, 8, 16):
            head = Layer(weights=network.classifier.weights * np.float32(factor))
            victims = attacked(Perceptron(layers=(network.layers[0], head)), family, n)
            found = recover(victims.gradients, head.weights, family=family, nonnegative=True)
            known, top = found.hard >= 0, victims.labels.max(axis=1)
            hard = np.mean((found.hard == victims.labels.argmax(axis=1))[known])
            inside = np.mean(((found.lightest <= top + RIGHT) & (found.heaviest >= top - RIGHT))[known])
            print(f"{family:10}{factor:7}{hard:11.2%}{inside:12.2%}{judged(found, victims.labels)}", flush=True)


def beside_the_search(scale: float) -> None:
    """Print the paper's search and the exact solver on the same samples."""
    n = max(4, int(40 * scale))
    networks = {
        "untrained 64": trained(10, 64, 0),
        "trained one-hot 64": trained(10, 64, 30),
        "trained smoothing 512": trained(10, 512, 30, "smoothing"),
        "trained mixup 512": trained(10, 512, 30, "mixup"),
    }
    print(f"\nthe paper's search, {n} digits a line, beside the exact solver on 800; silent: wrong, unsaid")
    print(
        f"{'network':23}{'family':10}{'scalar to .01':>14}{'L1 < 1e-3':>11}{'ms':>8}  |{'L1 < 1e-3':>10}{'silent':>8}"
        f"{'us':>6}{'times faster':>14}{'peer, stored':>14}"
    )
    spent = [report_search(name, network, family, n) for name, network in networks.items() for family in FAMILIES]
    theirs, ours = (sum(times) for times in zip(*spent, strict=True))
    print(f"all lines together: {theirs / ours:.0f} times faster")
    print(f"\n{'stored figures of peers':36}{'smoothing':>10}{'mixup':>8}   {'seconds a sample':34}source")
    for peer, smoothed, mixed, seconds, source in PEERS:
        print(f"{peer:36}{smoothed:10.3f}{mixed:8.3f}   {seconds:34}{source}")


_THEIRS = "github.com/ybwang119/label_recovery, its own search; run once, torch 2.13, two cores"
PEERS = (
    ("label_recovery, default networks", 1.00, 1.00, "0.4 to 2.4 s", _THEIRS),
    ("label_recovery, trained, C = 10", 0.23, 0.27, "1.4 to 4 s; a swarm 35 to 270 s", _THEIRS),
    ("label_recovery, trained, C = 100", 0.55, 0.50, "3 s; up to 10 % wrong and unsaid", _THEIRS),
    ("printed, untrained LeNet, CIFAR-10", 0.997, 0.997, "not printed", "Wang et al., ICLR 2024, Table 2"),
    ("printed, trained LeNet, CIFAR-10", 0.999, 1.00, "not printed", "Wang et al., ICLR 2024, Table 2"),
    ("printed, ResNet50, CIFAR-100", 0.992, 1.00, "not printed", "Wang et al., ICLR 2024, Table 1"),
)  #: shares of smoothed and of mixed labels, seconds a sample, and where the figures are from


def stored(network: str, family: str) -> str:
    """Return the kept figure of the authors' own program on ten classes that stands beside a line; empty for none."""
    at = {"smoothing": 1, "mixup": 2}.get(family)
    return "" if at is None else f"{PEERS[0 if network.startswith('untrained') else 1][at]:.2f}"


def report_search(name: str, network: Perceptron, family: str, n: int) -> tuple[float, float]:
    """Print one line; return the seconds per sample of the search and of the exact solver."""
    weights, victims = network.classifier.weights, attacked(network, family, 800)
    before = time.process_time()
    found = recover(victims.gradients, weights, family=family)
    ours = (time.process_time() - before) / len(victims.labels)
    right = np.abs(found.labels - victims.labels).sum(axis=1) < RIGHT
    silent = sum(status is RecoveryStatus.UNIQUE for status in np.array(found.status)[~right])
    close, near = [], []
    excluded, before = EXCLUDED[family], time.process_time()
    for gradient, label, errors in zip(victims.gradients[:n], victims.labels, victims.errors, strict=False):
        loss = label_loss(gradient, weights, coefficient=4.0 / excluded, excluded=excluded)
        scalar = search(loss, np.random.default_rng(0)).scalar
        row = np.abs(gradient.sum(axis=1)).argmax()
        close.append(abs(scalar - loss.coefficient / errors[row]) < 0.01)
        near.append(np.abs(loss.labels(np.array([scalar]))[0] - label).sum() < RIGHT)
    theirs = (time.process_time() - before) / n
    print(
        f"{name:23}{family:10}{np.mean(close):14.2f}{np.mean(near):11.2f}{1e3 * theirs:8.0f}  |{np.mean(right):10.4f}"
        f"{silent:8}{1e6 * ours:6.0f}{theirs / ours:14.0f}{stored(name, family):>14}",
        flush=True,
    )
    return theirs, ours


def unknown_factor(scale: float) -> None:
    """Print what comes out of gradients that are clipped to one length, and of gradients in half precision."""
    n = max(20, int(400 * scale))
    print(f"\n{n} gradients a line, of digits, features not negative: clipped to one norm (factor unknown), and halves")
    print(
        f"{'network':16}{'family':11}{'format':10}{'factor':9}{'class':>12}{'L1 < .01':>10}{'unique':>8}{'silent':>8}"
    )
    for name, network in {"untrained 64": trained(10, 64, 0), "30 epochs 64": trained(10, 64, 30)}.items():
        for family in FAMILIES:
            victims = attacked(network, family, n)
            size = np.linalg.norm(victims.gradients, axis=(1, 2), keepdims=True)
            clipped = (victims.gradients / np.maximum(size, np.finfo("f").tiny)).astype("f")
            for kind, scaled in (("float32", True), ("float16", False), ("bfloat16", False), ("bfloat16", True)):
                sent = rounded_to(clipped if scaled else victims.gradients, kind)
                found = recover(
                    sent,
                    network.classifier.weights,
                    family=family,
                    nonnegative=True,
                    scaled=scaled,
                    precision=FORMATS[kind],
                )
                error = np.abs(found.labels - victims.labels).sum(axis=1)
                sure = np.array([status is RecoveryStatus.UNIQUE for status in found.status])
                right = found.hard == victims.labels.argmax(axis=1)
                print(
                    f"{name:16}{family:11}{kind:10}{'unknown' if scaled else 'known':9}{right.mean():12.3f}"
                    f"{(error < 0.01).mean():10.3f}{sure.mean():8.3f}{(sure & ~right).sum():8}",
                    flush=True,
                )


def saturated_one_hot(scale: float) -> None:
    """Print Appendix B.3's case: weights from U(-50, 50), so that nearly every prediction is one-hot."""
    n = max(200, int(2000 * scale))
    print(f"\none-hot labels under saturated predictions (W from U(-50, 50)), {n} samples, zero gradients left out")
    print(
        f"{'C':>5}{'sign rule':>11}{'exact, sign unknown':>21}{'of these unique':>17}{'wrong':>7}{'exact, x >= 0':>15}"
    )
    for n_classes in (10, 17, 100):
        weights = np.random.default_rng(n_classes).uniform(-50, 50, (n_classes, 512)).astype(np.float32)
        victims = attacked(Perceptron(layers=(Layer(weights=weights),)), "one-hot", n)
        informative = victims.gradients.any(axis=(1, 2))
        gradients, truth = victims.gradients[informative], victims.labels[informative].argmax(axis=1)
        anywhere = recover(gradients, weights, family="one-hot")
        positive = recover(gradients, weights, family="one-hot", nonnegative=True)
        unique = np.array([status is RecoveryStatus.UNIQUE for status in anywhere.status])
        print(
            f"{n_classes:5}{np.mean(odd_one_out(gradients) == truth):11.3f}{np.mean(anywhere.hard == truth):21.3f}"
            f"{np.mean(unique):17.3f}{int((anywhere.hard != truth)[unique].sum()):7}"
            f"{np.mean(positive.hard == truth):9.3f}",
            flush=True,
        )


ATTACKS: tuple[GradientAttack, ...] = (
    ExactSolver(),
    VisibleEntries(),
    Idlg(),
    *(MatchedFilter(direction=direction) for direction in FilterDirection),
    Likelihood(),
    OwnSamples(),
    DefenceAware(),
)


UNCERTIFIED: dict[str, GradientDefence] = {
    "clip alone": GradientClip(),
    "label smoothing": LabelSmoothing(),
    "mixup": Mixup(),
    "signs": Sign(),
    "2 bits": Quantise(bits=2),
    "2 bits, stochastic": Quantise(bits=2, stochastic=True),
    "top 2 %": TopK(share=0.02),
    "pruned by 90 %": Prune(share=0.9),
    "random 1 % of entries": RandomSparse(share=0.01),
    "5 local steps of .05": FederatedAveraging(steps=5),
    "50 local steps of .2": FederatedAveraging(steps=50, rate=0.2),
}


def defended(scale: float) -> None:
    """Print the strongest attack on the digits network beside the certificate of each defence."""
    data, trials = Digits().load(), max(1, int(10 * scale))
    print(f"\ndefended digits gradients of single samples: the strongest of {len(ATTACKS)} attacks")
    print(f"{'defence':26}{'n':>6}{'strongest':>11}{'+-':>7}{'certificate':>13}   attack")
    for multiplier in (0.1, 0.3, 0.5, 1.0, 2.0, 4.0):
        report_defended(f"gaussian sigma/S {multiplier:g}", data, ClippedGaussian(multiplier=multiplier), 300, trials)
    for epsilon in (8.0, 4.0, 1.0):
        report_defended(f"laplace epsilon {epsilon:g}", data, ClippedLaplace(epsilon=epsilon), 300, trials)
    for name, defence in UNCERTIFIED.items():
        report_defended(name, data, defence, 60 if "steps" in name else 200, max(1, trials // 5))


def report_defended(name: str, data: LabelSet, defence: GradientDefence, samples: int, trials: int) -> None:
    """Print one line."""
    channel = GradientChannel(hidden=(128,), epochs=1, samples=samples, auxiliary=300)
    threat = channel.threat(Setting(data=data, defences=(defence,)))
    shares, n = {}, samples * trials
    for attack in ATTACKS:
        if attack.unsupported_reason(threat):
            continue
        setting = Setting(data=data, attack=attack, defences=(defence,))
        games = (
            channel.play(setting, curator_rng=np.random.default_rng(t), attack_rng=np.random.default_rng(t + 1000))
            for t in range(trials)
        )
        label = f"{type(attack).__name__} {getattr(getattr(attack, 'direction', ''), 'value', '')}".strip()
        shares[label] = sum(game.n_correct for game in games) / n
    best = max(shares, key=lambda item: shares[item])
    half = 1.96 * (shares[best] * (1 - shares[best]) / n) ** 0.5
    proved = min((line.reached for line in theory(BUILDER, "gradient", threat).ceilings), default=1.0)
    ceiling = f"{proved:.3f}" if proved < 1 else "none"
    print(f"{name:26}{n:6}{shares[best]:11.3f}{half:7.3f}{ceiling:>13}   {best}", flush=True)


PARTS: dict[str, Callable[[float], None]] = {
    "exact": exact,
    "saturation": saturation,
    "search": beside_the_search,
    "factor": unknown_factor,
    "one-hot": saturated_one_hot,
    "defences": defended,
}


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description="Exact recovery from gradients, beside the paper's search.")
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="default: all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples")
    options = parser.parse_args()
    for name in options.parts or PARTS:
        PARTS[name](0.1 if options.quick else 1.0)


if __name__ == "__main__":
    main()

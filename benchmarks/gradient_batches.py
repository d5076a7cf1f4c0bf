"""What comes out of the gradient of a batch: label counts beside the uniform guess, and whole batches exactly.

Usage::

    python benchmarks/gradient_batches.py            # all tables; about ten minutes of one core
    python benchmarks/gradient_batches.py --quick    # fewer batches; three minutes
    python benchmarks/gradient_batches.py --only exact

*counts* plays the channel on the real digits (one hidden layer of 256, float32 gradients of the last layer with its
bias) and prints the overlap of guessed and true labels. An attack is worth its lead over *uniform* and *prior*, which
see no gradient: on trained networks most published ones have none. *joint* does so without biases where batches are
beyond half of the classes. *exact* counts batches of which every label, with its multiplicity, and every feature to
1e-3 come out of the last layer's weight gradient alone: 100 classes (made clusters), features of width 256, half of the
batches repeat a class. *certified* is the share that the attack itself calls exact, *wrong* counts those that are not.
*pool* is about ceilings, which take labels to be drawn from the class shares: what it is worth, without a gradient, to
guess by the classes that the adversary's own 200 records leave, beside what the alarm allows for before it speaks: that
all labels are known but those of the batch and of the spare records.
"""

from __future__ import annotations

import argparse
import functools
import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Setting
from labelinf_data.bundled import BreastCancer, Digits
from labelinf_gradients.attacks.counts import Dictionary, Ilrg, Llg, Moments, Rlg, Yin
from labelinf_gradients.attacks.guesses import PriorGuess, UniformGuess
from labelinf_gradients.attacks.instances import JointRecovery, SampleBySample
from labelinf_gradients.batches.instances import recover_batch
from labelinf_gradients.batches.result import Batch
from labelinf_gradients.finite_pool import best_overlap
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.clients import train
from labelinf_gradients.game.effects import Batched
from labelinf_gradients.game.gradient import GradientAttack, GradientThreat
from labelinf_gradients.game.networks import Perceptron

COUNTS: dict[str, GradientAttack] = {
    "uniform": UniformGuess(),
    "prior": PriorGuess(),
    "yin": Yin(),
    "llg": Llg(),
    "ilrg": Ilrg(),
    "rlg": Rlg(),
    "moments": Moments(),
    "dictionary": Dictionary(),
    "instances": SampleBySample(),
}
JOINT: dict[str, GradientAttack] = {
    "uniform": UniformGuess(),
    "dictionary": Dictionary(),
    "instances": SampleBySample(),
    "joint": JointRecovery(),
}
KNOWN, SAMPLES, DRAWN = 200, 64, 20  # the channel's own settings; batches a game
N_CLASSES, N_INPUTS, WIDTH, SPREAD = 100, 64, 256, 0.15


def overlap(attack: GradientAttack, channel: GradientChannel, trials: int) -> str:
    """Return the share of labels in common, and of batches explained to the last where the attack knows it."""
    setting = Setting(data=Digits().load(), attack=attack)
    if attack.unsupported_reason(channel.threat(setting)):
        return "-"
    right = total = explained = batches = 0
    for trial in range(trials):
        curator, adversary = np.random.default_rng(trial).spawn(2)
        outcome = channel.play(setting, curator_rng=curator, attack_rng=adversary)
        right, total = right + outcome.n_correct, total + outcome.n_records
        explained += outcome.evidence.get("batches explained", 0)
        batches += outcome.evidence.get("batches", 0)
    return f"{right / total:.2f}" + (f" ({explained / batches:.2f})" if batches else "")


def counts(attacks: dict[str, GradientAttack], sizes: list[int], *, bias: bool, batches: int) -> None:
    """Print overlap by training, batch and attack."""
    print(f"{'epochs':>7}{'batch':>6}" + "".join(f"{name:>13}" for name in attacks))
    for epochs in (0, 1, 5, 60):
        for batch in sizes:
            channel = GradientChannel(
                hidden=(256,), epochs=epochs, bias=bias, batch=batch, samples=min(batches, 640 // batch) * batch
            )
            trials = -(-batches * batch // channel.samples)
            cells = [overlap(attack, channel, trials) for attack in attacks.values()]
            print(f"{epochs:7}{batch:6}" + "".join(f"{cell:>13}" for cell in cells), flush=True)


def clusters(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return inputs in [0, 1] around one centre per class, and their classes."""
    centres, classes = rng.random((N_CLASSES, N_INPUTS)), rng.integers(N_CLASSES, size=6000)
    return np.clip(centres[classes] + SPREAD * rng.normal(size=(6000, N_INPUTS)), 0, 1), classes


def draw(classes: NDArray[np.intp], batch: int, number: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw different rows; every other batch has two of one class."""
    rows = rng.permutation(len(classes))[:batch]
    if number % 2:
        rows[1] = rng.choice(np.setdiff1d(np.flatnonzero(classes == classes[rows[0]]), rows))
    return rows


def is_exact(found: Batch, classes: NDArray[np.intp], features: NDArray[Any]) -> bool:
    """Whether all labels and, to 1e-3 of its largest entry, every feature of its class agree with the truth."""
    if sorted(found.classes) != sorted(classes):
        return False
    for label, feature in zip(classes, features, strict=True):
        gaps = np.abs(found.features[found.classes == label] - feature).max(axis=1)
        if gaps.min() > 1e-3 * np.abs(feature).max():
            return False
    return True


def exact(sizes: list[int], batches: int) -> None:
    """Print the share of batches that come out exactly."""
    rng = np.random.default_rng(0)
    x, classes = clusters(rng)
    start = Perceptron.random((N_INPUTS, WIDTH, N_CLASSES), rng, bias=False)
    print(f"{'epochs':>7}{'accuracy':>9}{'format':>9}{'batch':>6}{'exact':>7}{'certified':>10}{'wrong':>6}{'CPU s':>7}")
    for epochs in (0, 3, 20, 60):
        trained = train(start, x[:4000], np.eye(N_CLASSES)[classes[:4000]], epochs=epochs, rng=rng)
        accuracy = np.mean(trained.logits(x[4000:]).argmax(axis=1) == classes[4000:])
        for dtype in ("float32", "float64"):
            network = trained.astype(dtype)
            for batch in sizes:
                n = batches if batch <= 8 else max(4, batches // 5)
                print(
                    f"{epochs:7}{accuracy:9.2f}{dtype:>9}{batch:6}{share(network, x[4000:], classes[4000:], batch, n)}"
                )


def share(network: Perceptron, x: NDArray[np.float64], classes: NDArray[np.intp], batch: int, n: int) -> str:
    """Attack ``n`` batches and return the last columns of their row."""
    rng = np.random.default_rng(batch)
    seconds = good = certified = wrong = 0.0
    for number in range(n):
        rows = draw(classes, batch, number, rng)
        gradient = network.mean_gradient(x[rows], np.eye(N_CLASSES)[classes[rows]])["layers.1.weight"]
        gradient = gradient.astype(network.classifier.weights.dtype)
        began = time.process_time()
        found = recover_batch(gradient, network.classifier.weights, batch=batch, rng=rng)
        seconds += time.process_time() - began
        right = is_exact(found, classes[rows], network.features(x[rows]))
        good, certified, wrong = good + right, certified + found.exact, wrong + (found.exact and not right)
    return f"{good / n:7.2f}{certified / n:10.2f}{wrong:6.0f}{seconds / n:7.2f}"


def pool(labels: Mapping[str, NDArray[np.intp]], games: int) -> None:
    """Print what the adversary's own labels are worth, with two standard errors, and what is allowed for."""
    print(f"{'labels':>15}{'batch':>6}{'blind':>8}{'200 known':>18}{'allowed':>9}")
    for name, own in labels.items():
        counts = np.bincount(own)
        prior = tuple(counts / own.size)
        for batch in (1, 8):
            batched = (Batched(size=batch),)
            guess = functools.partial(GradientThreat, n_records=batch, n_classes=counts.size, effects=batched)
            plain, rng, gains = guess(prior=prior), np.random.default_rng(batch), []
            for _ in range(games):
                order = rng.permutation(own)
                left = counts - np.bincount(order[:KNOWN], minlength=counts.size)
                better = guess(prior=tuple(left / left.sum())).best_counts
                batches = order[KNOWN : KNOWN + DRAWN * batch].reshape(DRAWN, batch, 1)
                truth = (batches == np.arange(counts.size)).sum(axis=1)
                gain = np.minimum(truth, better) - np.minimum(truth, plain.best_counts)
                gains.append(gain.sum() / batch / DRAWN)
            n_left = own.size - own.size // 2 - KNOWN - SAMPLES + batch
            allowed = best_overlap(prior, own.size, n_left=n_left, batch=batch) - plain.baseline
            mean = f"{np.mean(gains):9.4f} ± {2 * np.std(gains) / math.sqrt(games):.4f}"
            print(f"{name:>15}{batch:6}{plain.baseline:8.4f}{mean:>18}{allowed:9.4f}", flush=True)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description="What comes out of the gradient of a batch.")
    parser.add_argument("--quick", action="store_true", help="fewer batches")
    parser.add_argument("--only", choices=["counts", "joint", "exact", "pool"])
    options = parser.parse_args()
    if options.only in (None, "counts"):
        print("overlap of label counts, real digits; in brackets the share of batches explained to the last")
        counts(COUNTS, [2, 4, 8, 32, 64], bias=True, batches=16 if options.quick else 80)
    if options.only in (None, "joint"):
        print("\nbeyond half of the classes, no bias gradient")
        counts(JOINT, [4, 5, 6, 7, 8], bias=False, batches=5 if options.quick else 20)
    if options.only in (None, "exact"):
        print("\nwhole batches, labels and features, 100 classes")
        exact([2, 4, 8] if options.quick else [2, 4, 8, 16], 10 if options.quick else 20)
    if options.only in (None, "pool"):
        print("\nwhat other labels of the same data set are worth without a gradient, of the overlap")
        equal = {"600, two equal": np.arange(600) % 2}
        shipped = {"digits": Digits().load().labels, "breast-cancer": BreastCancer().load().labels}
        pool({**shipped, **equal}, 1000 if options.quick else 5000)


if __name__ == "__main__":
    main()

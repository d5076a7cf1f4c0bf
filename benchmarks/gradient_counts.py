"""Counts of a batch's classes: the attack that rehearses, beside the blind guess and what is published.

Usage::

    python benchmarks/gradient_counts.py              # about two minutes on one core
    python benchmarks/gradient_counts.py --local      # clients of 1, 5 and 10 local epochs, trained networks; minutes

Every line is one network (digits with 200 own samples; 100 made clusters with 1 000) and 40 batches drawn from records
that it was not trained on. *overlap* is the share of labels in the multiset that is guessed; *lead* is over the blind
guess of the same batches, with its standard error; *over peers* is over the best published estimate of the line, chosen
afterwards, on the same batches. The last column is the estimate that the rehearsal chose. RLU (Chen and Vikalo, ICML
2024) is our version of its idea, and no more: class by class what the adversary's own samples are taken for, from the
first network to the last, and least squares on the bias's change.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess, LabelSet, Setting
from labelinf_data.bundled import Digits
from labelinf_gradients.attacks.common import given, spread_counts
from labelinf_gradients.attacks.counts import Interpolated, Llg, Moments, Yin, class_means, features_of_auxiliary
from labelinf_gradients.attacks.guesses import PriorGuess
from labelinf_gradients.attacks.rehearsed import RehearsedCounts
from labelinf_gradients.batches import counts
from labelinf_gradients.defences.conduct import FederatedAveraging
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.gradient import GradientAttack, GradientDefence, GradientOracle
from labelinf_gradients.game.networks import softmax

_BATCHES, _FEW = 40, 24


@attrs.frozen(kw_only=True)
class Rlu(GradientAttack):
    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        threat, head, x = oracle.threat, oracle.network.classifier, features_of_auxiliary(oracle)
        classes, found = given(oracle.auxiliary)[1], []
        for big, g in zip(oracle.weight_gradients, given(oracle.bias_gradients), strict=True):
            moved = (threat.rate * step * (x @ big.T + g) for step in range(threat.steps))
            means = [class_means(softmax(head(x) - move), classes, threat.n_classes) for move in moved]
            found.append(counts.by_moments(g[None], np.mean(means, axis=0), threat.batch)[0])
        return Guess(labels=spread_counts(np.array(found)))


def clusters() -> LabelSet:
    """Return 24 000 records of 100 made classes."""
    rng = np.random.default_rng(0)
    labels = rng.integers(100, size=24_000)
    features = rng.normal(size=(100, 64))[labels] + rng.normal(size=(24_000, 64))
    names = tuple(map(str, range(100)))
    return LabelSet(labels=labels, class_names=names, title="clusters", provenance="made", features=features)


def overlaps(
    data: LabelSet, channel: GradientChannel, attack: GradientAttack, conduct: tuple[GradientDefence, ...], batches: int
) -> tuple[np.ndarray, str]:
    """Return the overlap with every batch, and what the attack says it chose."""
    setting = Setting(data=data, attack=attack, defences=conduct)
    rngs = (np.random.default_rng(0), np.random.default_rng(1))
    most = min(batches, (data.n_records // 2 - channel.auxiliary) // channel.batch)
    rounds = -(-batches // most)
    found, chosen = [], ""
    for _ in range(rounds):
        game = attrs.evolve(channel, samples=most * channel.batch)
        outcome = game.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
        right = np.asarray(outcome.guess == outcome.truth)
        found.append(right.reshape(-1, channel.batch).mean(axis=1))
        chosen = str(outcome.evidence.get("estimate", ""))
    return np.concatenate(found), chosen


def line(
    data: LabelSet, own: int, epochs: int, batch: int, steps: int, peers: Mapping[str, GradientAttack], batches: int
) -> str:
    """Return a line of the table: ours and all peers on the same batches."""
    channel = GradientChannel(hidden=(128,), epochs=epochs, bias=True, auxiliary=own, batch=batch)
    conduct = (FederatedAveraging(steps=steps, rate=0.1),) if steps > 1 else ()
    blind, _ = overlaps(data, channel, PriorGuess(), conduct, batches)
    ours, chosen = overlaps(data, channel, RehearsedCounts(), conduct, batches)
    found = [overlaps(data, channel, peer, conduct, batches)[0] for peer in peers.values()]
    over = ours - max(found, key=lambda each: float(each.mean()))
    said = [f"{gap.mean():+.3f} ± {gap.std() / np.sqrt(len(gap)):.3f}" for gap in (ours - blind, over)]
    means = "  ".join(f"{each.mean():10.3f}" for each in found)
    cell = f"{data.n_classes:3} {epochs:6} {steps:5} {batch:3}  {blind.mean():.3f}  {ours.mean():.3f}"
    return f"{cell}  {said[0]}  {means}  {said[1]}  {chosen}"


def main() -> None:
    """Print the table."""
    local = "--local" in sys.argv
    peers = {"row minima": Yin(), "LLG": Llg(), "moments": Moments()}
    peers |= {"Dimitrov": Interpolated(), "RLU": Rlu()} if local else {}
    print(
        "  C epochs steps   B  blind  ours   lead           ",
        *(f"{name:>10} " for name in peers),
        "over peers      chosen",
    )
    for data, own, late in ((Digits().load(), 200, 40), (clusters(), 1000, 10)):
        batches = ((16, 64, 256) if late > 10 else (16, 64)) if local else (8, 32, 64, 256)
        for cell in itertools.product((2, late) if local else (0, 2, late), (1, 5, 10) if local else (1,), batches):
            epochs, steps, batch = cell
            print(line(data, own, epochs, batch, steps, peers, _FEW if local else _BATCHES), flush=True)


if __name__ == "__main__":
    main()

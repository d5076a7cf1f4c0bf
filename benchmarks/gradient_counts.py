"""Counts of a batch's classes: the attack that rehearses, beside the blind guess and what is published.

Usage::

    python benchmarks/gradient_counts.py              # about two minutes on one core
    python benchmarks/gradient_counts.py --local      # clients that take five local steps; a minute

Every line is one network (digits with 200 own samples; 100 made clusters with 1 000) and 40 batches drawn from records
that it was not trained on. *overlap* is the share of labels in the multiset that is guessed; *lead* is over the blind
guess of the same batches, with its standard error; *over peers* is over the best published estimate of the line, chosen
afterwards, on the same batches. The last column is the estimate that the rehearsal chose.
"""

from __future__ import annotations

import sys

import attrs
import numpy as np

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_data.bundled import load_bunch
from labelinf_gradients.attacks.counts import Interpolated, Llg, Moments, Yin
from labelinf_gradients.attacks.guesses import PriorGuess
from labelinf_gradients.attacks.rehearsed import RehearsedCounts
from labelinf_gradients.defences.conduct import FederatedAveraging
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.gradient import GradientAttack, GradientDefence

_BATCHES, _FEW = 40, 24


def digits() -> LabelSet:
    """Return scikit-learn's digits."""
    bunch = load_bunch("digits")
    names = tuple("0123456789")
    return LabelSet(labels=bunch.target, class_names=names, title="digits", provenance="real", features=bunch.data)


def clusters() -> LabelSet:
    """Return 24 000 records of 100 made classes."""
    rng = np.random.default_rng(0)
    labels = rng.integers(100, size=24_000)
    features = rng.normal(size=(100, 64))[labels] + rng.normal(size=(24_000, 64))
    names = tuple(map(str, range(100)))
    return LabelSet(labels=labels, class_names=names, title="clusters", provenance="made", features=features)


def overlaps(
    data: LabelSet,
    channel: GradientChannel,
    attack: GradientAttack,
    defences: tuple[GradientDefence, ...] = (),
    batches: int = _BATCHES,
) -> tuple[np.ndarray, str]:
    """Return the overlap with every batch, and what the attack says it chose."""
    setting = Setting(data=data, attack=attack, defences=defences)
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


def local() -> None:
    """Print the table of clients that take five local steps of 0.1, beside Dimitrov's counts."""
    print("  C epochs   B  blind  ours   lead          Dimitrov  row minima  LLG   moments  chosen")
    steps = (FederatedAveraging(steps=5, rate=0.1),)
    for data, own, late in ((digits(), 200, 40), (clusters(), 1000, 10)):
        for epochs in (0, 2, late):
            for batch in (8, 32):
                channel = GradientChannel(hidden=(128,), epochs=epochs, bias=True, auxiliary=own, batch=batch)
                blind, _ = overlaps(data, channel, PriorGuess(), steps, _FEW)
                ours, chosen = overlaps(data, channel, RehearsedCounts(), steps, _FEW)
                peers = (Interpolated(), Yin(), Llg(), Moments())
                means = [overlaps(data, channel, peer, steps, _FEW)[0].mean() for peer in peers]
                lead, error = (ours - blind).mean(), (ours - blind).std() / np.sqrt(len(ours))
                print(
                    f"{data.n_classes:3} {epochs:6} {batch:3}  {blind.mean():.3f}  {ours.mean():.3f}  "
                    f"{lead:+.3f} ± {error:.3f}  {means[0]:.3f}     {means[1]:.3f}       {means[2]:.3f} {means[3]:.3f}"
                    f"    {chosen}",
                    flush=True,
                )


def main() -> None:
    """Print the table."""
    if "--local" in sys.argv:
        local()
        return
    print("  C epochs   B  blind  ours   lead          row minima  LLG   moments  over peers      chosen")
    for data, own, late in ((digits(), 200, 40), (clusters(), 1000, 10)):
        for epochs in (0, 2, late):
            for batch in (8, 32, 64, 256):
                channel = GradientChannel(hidden=(128,), epochs=epochs, bias=True, auxiliary=own, batch=batch)
                blind, _ = overlaps(data, channel, PriorGuess())
                ours, chosen = overlaps(data, channel, RehearsedCounts())
                found = [overlaps(data, channel, peer)[0] for peer in (Yin(), Llg(), Moments())]
                peers = [each.mean() for each in found]
                over = ours - found[int(np.argmax(peers))]
                lead, error = (ours - blind).mean(), (ours - blind).std() / np.sqrt(len(ours))
                print(
                    f"{data.n_classes:3} {epochs:6} {batch:3}  {blind.mean():.3f}  {ours.mean():.3f}  "
                    f"{lead:+.3f} ± {error:.3f}  {peers[0]:.3f}       {peers[1]:.3f} {peers[2]:.3f}    "
                    f"{over.mean():+.4f} ± {over.std() / np.sqrt(len(over)):.4f}  {chosen}",
                    flush=True,
                )


if __name__ == "__main__":
    main()

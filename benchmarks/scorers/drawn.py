"""Scorers that nobody has seen: drawn from parameters that no name tells.

A scorer is a mixture of one to three parts (order, decisions, losses, the top), each over the whole table, a share of
it or its groups, with weights or without, then bent or rounded. Labels are two classes or ratings.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .contract import Array, Draws, Scored, probabilities

Part = Callable[[Array, Array, Array], float]  # labels in [0, 1], submission, weights
N_HIDDEN = 4096  # records that hidden columns are drawn for; longer tables repeat them


def _order(rng: Draws) -> Part:
    """Weighted concordance; ties in the submission count some part of a pair, or go by the row."""
    tie, by_row = float(rng.choice([0.0, 0.5, 1.0])), bool(rng.random() < 0.4)
    power = float(rng.choice([1.0, 1.0, 2.0]))

    def part(y: Array, x: Array, weight: Array) -> float:
        above = (y[:, None] - y[None, :]).clip(0) ** power * weight[:, None] * weight[None, :]
        equal = x[:, None] == x[None, :]
        half = np.tri(len(y), k=-1) if by_row else tie
        total = float(above.sum())
        return float((above * ((x[:, None] > x[None, :]) + half * equal)).sum()) / total if total else 0.5

    return part


def _decisions(rng: Draws) -> Part:
    """Gains of labels times decisions between hidden thresholds."""
    bars = np.sort(rng.uniform(0.1, 0.9, int(rng.integers(1, 4))))
    slopes = np.round(rng.normal(0, 1, (2, len(bars) + 1)), 1)
    slopes[0, -1] += 1.5

    def part(y: Array, x: Array, weight: Array) -> float:
        called = np.searchsorted(bars, x, side="right")
        return float(np.average(slopes[0, called] * y + slopes[1, called] * (1 - y), weights=weight))

    return part


def _losses(rng: Draws) -> Part:
    """A lopsided power of the distance, or a log-loss clipped somewhere."""
    power, tilt = float(rng.choice([1.0, 1.5, 2.0, 3.0])), float(rng.uniform(0.5, 3.0))
    clip, logarithm = float(10 ** rng.uniform(-6, -1.5)), bool(rng.random() < 0.5)

    def part(y: Array, x: Array, weight: Array) -> float:
        p = np.clip(x, clip, 1 - clip)
        if logarithm:
            each = -tilt * y * np.log(p) - (1 - y) * np.log(1 - p)
        else:
            each = np.abs(y - p) ** power * np.where(y > p, tilt, 1.0)
        return -float(np.average(each, weights=weight))

    return part


def _top(rng: Draws) -> Part:
    """Discounted gain of the first records; ties by row or by a hidden order."""
    share, discount = float(rng.uniform(0.1, 0.6)), float(rng.uniform(0.0, 1.0))
    tie = rng.permutation(N_HIDDEN) if rng.random() < 0.5 else np.arange(N_HIDDEN)

    def part(y: Array, x: Array, weight: Array) -> float:
        order = np.lexsort((np.resize(tie, len(y)), -x))[: max(1, round(share * len(y)))]
        gain = weight[order] / np.arange(1, len(order) + 1) ** discount
        return float((gain * y[order]).sum() / gain.sum())

    return part


PARTS = (_order, _decisions, _losses, _top)


def _spread(part: Part, rng: Draws) -> Part:
    """Take a part over the table, over the records of a hidden share, or over hidden groups."""
    kind = rng.choice(["whole", "share", "groups"], p=(0.5, 0.2, 0.3))
    size, penalty = int(rng.integers(5, 16)), float(rng.choice([0.0, 0.5]))
    kept, drawn = rng.random(N_HIDDEN) < rng.uniform(0.3, 0.8), rng.random(N_HIDDEN)

    def spread(y: Array, x: Array, weight: Array) -> float:
        if kind == "whole":
            return part(y, x, weight)
        if kind == "share":
            of = np.resize(kept, len(y))
            return part(y[of], x[of], weight[of]) if of.any() else 0.0
        group = (np.resize(drawn, len(y)) * max(1, len(y) // size)).astype(int)
        each = [part(y[group == one], x[group == one], weight[group == one]) for one in np.unique(group)]
        return float(np.mean(each) - penalty * np.std(each))

    return spread


def _shown(rng: Draws) -> Callable[[float], float]:
    """Return how the number is shown: bent, moved, rounded or in steps."""
    scale, offset, bend = float(rng.uniform(0.3, 40)), float(rng.normal()), bool(rng.random() < 0.25)
    decimals = rng.choice([0, 2, 3, 5])  # 0: as it is

    def shown(value: float) -> float:
        value = offset + scale * (float(np.tanh(value)) if bend else value)
        return round(value, int(decimals)) if decimals else value

    return shown


def drawn(rng: Draws) -> Scored:
    """Draw a scorer; all that it does is in parameters that only its code holds."""
    count = int(rng.integers(1, 4))
    parts = [_spread(PARTS[int(rng.integers(len(PARTS)))](rng), rng) for _ in range(count)]
    shares = rng.dirichlet(np.full(count, 2.0))
    table = np.round(rng.gamma(2.0, 0.5, N_HIDDEN) + 0.1, 2) if rng.random() < 0.4 else np.ones(N_HIDDEN)
    shown = _shown(rng)
    classes = 2 if rng.random() < 0.7 else int(rng.integers(3, 6))

    def score(y: Array, x: Array) -> float:
        level, weight = y / (classes - 1), np.resize(table, len(y))
        return shown(sum(float(s) * part(level, x, weight) for s, part in zip(shares, parts, strict=True)))

    return Scored(
        name="drawn",
        source="drawn from hidden parameters",
        family="drawn",
        score=score,
        labels=tuple(range(classes)),
        sample=probabilities,
    )

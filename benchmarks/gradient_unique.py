"""Looks for a label that is called the only one and is wrong: labels, biases, factors that nobody told the solver of.

Usage::

    python benchmarks/gradient_unique.py                       # until 20 000 answers were unique; about four minutes
    python benchmarks/gradient_unique.py --unique 2000 --seed 3
    python benchmarks/gradient_unique.py --batches 1000        # until 1 000 batches were complete; about six minutes

Every world has a head of its own (rows that repeat each other, steep or flat logits, one feature or many), a kind of
labels, and something that may have been forgotten. A label is *wrong* when it is further from the truth (L1) than twice
what its format counts as one label: .002, of halves .016 (float16) and .125 (bfloat16). Labels of the families that the
solver has are drawn too, with the family told or not: of these as many as possible should stay unique.

A batch that is called *complete* is wrong if its classes are, or if any of its labels was not hard; one called *exact*
also if a feature is off by .005 of its length.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, UnfitError
from labelinf_gradients.batches.instances import recover_batch
from labelinf_gradients.batches.joint import recover_jointly
from labelinf_gradients.batches.result import Batch
from labelinf_gradients.game.networks import softmax
from labelinf_gradients.recovery.results import Recovery, RecoveryStatus
from labelinf_gradients.recovery.solver import recover
from labelinf_gradients.recovery.tensors import FORMATS, rounded_to

OWN = ("one-hot", "smoothing", "mixup", "mixup-equal")
STRANGE = (
    *("dirichlet", "sparse", "mixup of 3", "mixup of 4", "mixup of 5", "mixed and smoothed 3", "geometric"),
    *("distilled", "two levels", "neighbours", "noisy"),
)
ONE_CLASS = ("one-hot", "smoothing", "neighbours", "noisy")
FORGOTTEN = ("nothing", "a bias", "a factor")
HEADS = (
    "normal",
    "flat",
    "steep",
    "two rows alike",
    "half of the rows alike",
    "whole numbers",
    "negative",
    "nearly alike",
)
ROWS = 12  #: samples of one world

Array = NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class World:
    """Gradients of one head, what is behind them, and what the solver is told.

    Attributes:
        kind: Of the labels.
        forgotten: What the solver is not told of.
        head: How its rows were drawn.
        labels: The truth, shape ``(n, C)``.
        told: What the solver is given.
    """

    kind: str
    forgotten: str
    head: str
    labels: Array
    told: dict[str, Any]


def labels_of(kind: str, n: int, c: int, rng: np.random.Generator) -> Array:
    """Return labels of one kind, shape ``(n, c)``.

    Args:
        kind: One of those of the solver, or of the strange ones.
        n: How many.
        c: Classes.
        rng: For all that is drawn.
    """
    order = np.argsort(rng.random((n, c)), axis=1)
    if kind == "neighbours":
        order = (order[:, :1] + np.arange(c)) % c
    ranked = _of_one_class(kind, n, c, rng) if kind in ONE_CLASS else _of_several(kind, n, c, rng)
    drawn = np.empty_like(ranked)
    np.put_along_axis(drawn, order, ranked / ranked.sum(axis=1, keepdims=True), axis=1)
    return drawn


def _of_one_class(kind: str, n: int, c: int, rng: np.random.Generator) -> Array:
    """Return labels of the first class with a little elsewhere: nothing, the same, beside it only, or anything."""
    ranked, share = np.tile(np.eye(c)[0], (n, 1)), rng.uniform(0.02, 0.5, (n, 1))
    if kind == "smoothing":
        ranked = (1 - share) * ranked + share / c
    elif kind == "neighbours":
        ranked[:, 1], ranked[:, -1] = share[:, 0] / 2, share[:, 0] / 2
    elif kind == "noisy":
        ranked = ranked + np.abs(rng.normal(size=(n, c))) * 10 ** rng.uniform(-5, -0.5, (n, 1))
    return ranked


def _of_several(kind: str, n: int, c: int, rng: np.random.Generator) -> Array:
    if kind.startswith("mix"):
        several = min(c, int(kind[-1])) if kind[-1].isdigit() else 2
        ranked = np.pad(rng.dirichlet(np.ones(several), n), ((0, 0), (0, c - several)))
        share = rng.uniform(0.02, 0.5, (n, 1)) if kind in ("mixup-equal", "mixed and smoothed 3") else np.zeros((n, 1))
        return np.asarray((1 - share) * ranked + share / c)
    if kind in ("dirichlet", "sparse"):
        return rng.dirichlet(np.full(c, 1.0 if kind == "dirichlet" else 0.2), n)
    if kind == "geometric":
        return np.asarray(rng.uniform(0.1, 0.9, (n, 1)) ** np.arange(c))
    if kind == "distilled":
        return softmax(rng.normal(size=(n, c)) * rng.uniform(0.5, 6, (n, 1)))
    return np.where(np.arange(c) < max(1, c // 2), 1.0, rng.uniform(0.05, 0.6, (n, 1)))


def head_of(kind: str, c: int, width: int, rng: np.random.Generator) -> Array:
    """Return weights, shape ``(c, width)``."""
    steep = {"flat": -4.0, "steep": 2.5}.get(kind, 0.0)
    weights = rng.normal(size=(c, width)) * np.exp(steep + rng.uniform(-1, 1)) / np.sqrt(width)
    if kind in ("two rows alike", "half of the rows alike"):
        weights[: 2 if kind.startswith("two") else max(2, c // 2)] = weights[0]
    elif kind == "whole numbers":
        weights = np.round(weights * np.sqrt(width))
    elif kind == "nearly alike":
        weights = weights[:1] + weights * 10 ** rng.uniform(-4, -1)
    return np.asarray(-np.abs(weights) if kind == "negative" else weights)


def world(rng: np.random.Generator, *, plain: bool = False) -> World:
    """Draw a world.

    Args:
        rng: For all that is drawn.
        plain: Its labels are of a family of the solver, and nothing is forgotten.
    """
    forgotten = "nothing" if plain else str(rng.choice(FORGOTTEN))
    kind = str(rng.choice(OWN if plain or (forgotten != "nothing" and rng.random() < 0.7) else STRANGE))
    c, width, name = int(rng.integers(3, 11)), int(rng.integers(1, 65)), str(rng.choice(sorted(FORMATS)))
    drawn = "float32" if name.endswith("16") else name
    labels = labels_of(kind, ROWS, c, rng)
    head = str(rng.choice(HEADS, p=[0.44, *[0.08] * 7]))
    weights = head_of(head, c, width, rng).astype(drawn)
    positive, scaled = bool(rng.random() < 0.5), bool(rng.random() < (0.25 if forgotten != "a factor" else 0))
    features = rng.normal(size=(ROWS, width)) * np.exp(rng.uniform(-1, 1))
    features = (np.abs(features) if positive else features).astype(drawn)
    bias = (rng.normal(size=c) * np.exp(rng.uniform(-3, 1.5))).astype(drawn) if forgotten == "a bias" else None
    known = (rng.normal(size=c)).astype(drawn) if bias is None and rng.random() < 0.25 else None
    logits = features.astype(np.float64) @ weights.T.astype(np.float64)
    errors = softmax(logits + sum(part for part in (bias, known) if part is not None)) - labels
    factors = np.exp(rng.uniform(-3, 3, (ROWS, 1, 1))) if scaled or forgotten == "a factor" else 1.0
    gradients = factors * errors[:, :, None] * features[:, None, :]
    told = {
        "gradients": rounded_to(gradients, name),
        "weights": weights,
        "bias": known,
        "nonnegative": positive and bool(rng.random() < 0.7),
        "precision": FORMATS[name],
        "scaled": scaled,
        "family": kind if kind in OWN and rng.random() < 0.4 else "auto",
    }
    return World(kind=kind, forgotten=forgotten, head=head, labels=labels, told=told)


def solved(one: World) -> Recovery | None:
    """Return what the solver says of a world; None where it refuses so few classes."""
    try:
        return recover(**one.told)
    except InputError:
        return None


def unique_of(found: Recovery) -> NDArray[np.bool_]:
    """Return which labels are called the only ones, shape ``(n,)``."""
    return np.array([status is RecoveryStatus.UNIQUE for status in found.status], dtype=bool)


def wrong_of(one: World, found: Recovery) -> NDArray[np.bool_]:
    """Return which labels are wrong, shape ``(n,)``."""
    distance = np.abs(found.labels - one.labels).sum(axis=1)
    return np.asarray(~(distance <= 2 * one.told["precision"].same))


def wrong_classes_of(one: World, found: Recovery) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return of which labels only the classes are called known, and of which those are wrong, shape ``(n,)`` each.

    The heaviest class of a smoothed label, and the two that hold all of a mixed one.
    """
    ranks = np.argsort(-found.labels, axis=1)
    held = np.take_along_axis(one.labels, ranks, axis=1)
    smoothed, mixed = (
        np.array([status is word for status in found.status], dtype=bool)
        for word in (RecoveryStatus.SMOOTHING_FACTOR_UNIDENTIFIABLE, RecoveryStatus.MIXING_WEIGHT_UNIDENTIFIABLE)
    )
    missed = np.where(mixed, held[:, 2:].sum(axis=1), held.max(axis=1) - held[:, 0])
    return smoothed | mixed, (smoothed | mixed) & (missed > one.told["precision"].same)


@attrs.frozen(kw_only=True, eq=False)
class BatchWorld:
    """One batch's gradient, and what is behind it.

    Attributes:
        kind: Of the labels.
        forgotten: What the solver is not told of.
        labels: The truth, shape ``(B, C)``.
        features: The samples, shape ``(B, I)``.
        estimate: Of the counts, for the joint search; None for a search sample by sample.
        told: What both are given.
    """

    kind: str
    forgotten: str
    labels: Array
    features: Array
    estimate: Array | None
    told: dict[str, Any]


def batch_world(rng: np.random.Generator, *, plain: bool = False) -> BatchWorld:
    """Draw a batch.

    Args:
        rng: For all that is drawn.
        plain: Its labels are hard, and nothing is forgotten.
    """
    forgotten = "nothing" if plain else str(rng.choice(FORGOTTEN))
    hard = plain or (forgotten != "nothing" and rng.random() < 0.7)
    kind = "one-hot" if hard else str(rng.choice((*OWN[1:], *STRANGE)))
    c, width, joint = int(rng.integers(3, 11)), int(rng.integers(1, 65)), bool(rng.random() < 0.3)
    batch = int(rng.integers(1, (c - 2 if joint else max(1, c // 2)) + 1))
    name = str(rng.choice(sorted(FORMATS), p=[0.1, 0.1, 0.4, 0.4]))
    drawn = "float32" if name.endswith("16") else name
    labels = labels_of(kind, batch, c, rng)
    weights = head_of(str(rng.choice(HEADS, p=[0.44, *[0.08] * 7])), c, width, rng).astype(drawn)
    features = (np.abs(rng.normal(size=(batch, width))) * np.exp(rng.uniform(-1, 1))).astype(drawn).astype(np.float64)
    bias = (rng.normal(size=c) * np.exp(rng.uniform(-3, 1.5))).astype(drawn) if forgotten == "a bias" else None
    known = rng.normal(size=c).astype(drawn) if bias is None and rng.random() < 0.25 else None
    logits = features @ weights.T.astype(np.float64) + sum(part for part in (bias, known) if part is not None)
    factor = np.exp(rng.uniform(-3, 3)) if forgotten == "a factor" else 1.0
    gradient = factor * (softmax(logits) - labels).T @ features / batch
    return BatchWorld(
        kind=kind,
        forgotten=forgotten,
        labels=labels,
        features=features,
        estimate=labels.sum(axis=0) + rng.normal(0, 0.3, c) if joint else None,
        told={"gradient": rounded_to(gradient, name), "weights": weights, "batch": batch, "bias": known},
    )


def solved_batch(one: BatchWorld, rng: np.random.Generator) -> Batch | None:
    """Return what is recovered of a batch; None where it is refused."""
    try:
        if one.estimate is None:
            return recover_batch(**one.told, rng=rng)
        return recover_jointly(**one.told, rng=rng, estimate=one.estimate, typical=None, tries=6)
    except (InputError, UnfitError):
        return None


def wrong_batch(one: BatchWorld, found: Batch) -> bool:
    """Return whether what is claimed of a batch is false; nothing is of one that is not complete."""
    if not found.complete:
        return False
    own = one.labels.argmax(axis=1)
    soft = 1 - one.labels.max(axis=1).min() > 1e-3
    far = [np.linalg.norm(found.features - x, axis=1).min() > 0.005 * np.linalg.norm(x) for x in one.features]
    return bool(soft or sorted(found.classes) != sorted(own) or (found.exact and any(far)))


def batches(limit: int, seed: int) -> None:
    """Draw batches until ``limit`` were complete; print them by what is behind them."""
    rng, counts = np.random.default_rng(seed), Counter[tuple[str, str]]()
    while counts["all", "complete"] < limit:
        one = batch_world(rng, plain=bool(rng.random() < 0.3))
        found = solved_batch(one, rng)
        if found is None:
            continue
        what = f"{one.kind} labels" if one.forgotten == "nothing" else f"{one.forgotten} forgotten"
        for name in ("all", what if what.startswith(("one-hot", "a ")) else "other labels"):
            counts[name, "drawn"] += 1
            counts[name, "complete"] += found.complete
            counts[name, "exact"] += found.exact
            counts[name, "wrong"] += wrong_batch(one, found)
    cells = ("drawn", "complete", "exact", "wrong")
    print(f"{'':20}" + "".join(f"{cell:>10}" for cell in cells))
    for name in sorted({key[0] for key in counts}):
        print(f"{name:20}" + "".join(f"{counts[name, cell]:10}" for cell in cells))


def main() -> None:
    """Draw worlds until enough answers were unique; print them by what is behind them."""
    parser = argparse.ArgumentParser(description="Looks for labels that are called the only ones and are wrong.")
    parser.add_argument("--unique", type=int, default=20_000, help="answers called unique until it ends")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batches", type=int, help="draw batches instead, until so many were complete")
    options = parser.parse_args()
    if options.batches:
        batches(options.batches, options.seed)
        return
    rng, counts = np.random.default_rng(options.seed), Counter[tuple[str, str, str]]()
    while counts["all", "", "unique"] < options.unique:
        one = world(rng, plain=bool(rng.random() < 0.3))
        found = solved(one)
        if found is None:
            continue
        sure, wrong = unique_of(found), wrong_of(one, found)
        clear, turned = wrong_classes_of(one, found)
        for name, what in (
            ("all", ""),
            ("C", f"{one.labels.shape[1]}"),
            ("labels", one.kind if one.forgotten == "nothing" else f"{one.forgotten} forgotten"),
            ("format", next(name for name, item in FORMATS.items() if item == one.told["precision"])),
            ("told", "the family" if one.told["family"] != "auto" else "nothing"),
        ):
            counts[name, what, "drawn"] += len(sure)
            counts[name, what, "unique"] += int(sure.sum())
            counts[name, what, "wrong"] += int((sure & wrong).sum())
            counts[name, what, "known"] += int(clear.sum())
            counts[name, what, "class"] += int(turned.sum())
            counts[name, what, "complete"] += int((found.complete & sure & wrong).sum())
    print(f"{'':34}{'drawn':>8}{'unique':>8}{'wrong':>7}{'classes only':>14}{'wrong':>7}")
    for name, what in sorted({key[:2] for key in counts}, key=lambda key: (key[0], len(key[1]), key[1])):
        cells = [counts[name, what, item] for item in ("drawn", "unique", "wrong", "known", "class")]
        print(f"{name + ' ' + what:34}{cells[0]:8}{cells[1]:8}{cells[2]:7}{cells[3]:14}{cells[4]:7}")
    print(f"wrong and yet said to be whole: {counts['all', '', 'complete']}")


if __name__ == "__main__":
    main()

"""A split run in NumPy: both parties train, and what the feature party sees is written down."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import LabelSet
from labelinf_split.game.view import CutBatch, Floats, Labels, Side, SplitThreat, SplitView

__all__ = ["SplitNetwork", "SplitRun", "recorded"]

_BETAS = (0.9, 0.999)  # of Adam (Kingma and Ba, ICLR 2015)
_DTYPES: dict[str, Any] = {"single": np.float32, "double": np.float64}


class SplitNetwork:
    """Layers of the given sizes, inputs first, the last one linear; none of fewer than two: what goes in comes out.

    Weights are drawn as PyTorch's ``Linear`` draws them.
    """

    def __init__(self, sizes: Sequence[int], rng: np.random.Generator, dtype: Any) -> None:
        self.weights: list[Floats] = []
        for inputs, outputs in itertools.pairwise(sizes):
            bound = 1 / math.sqrt(max(inputs, 1))
            self.weights += [
                rng.uniform(-bound, bound, shape).astype(dtype) for shape in ((inputs, outputs), (outputs,))
            ]
        self._moments = [(np.zeros_like(w), np.zeros_like(w)) for w in self.weights]
        self._entered: list[Floats] = []
        self._steps = 0

    def forward(self, x: Floats) -> Floats:
        """Return outputs, shape ``(n, outputs)``; keeps what :meth:`backward` needs."""
        self._entered = []
        for layer in range(0, len(self.weights), 2):
            x = np.maximum(x, 0) if layer else x
            self._entered.append(x)
            x = x @ self.weights[layer] + self.weights[layer + 1]
        return x

    def backward(self, delta: Floats) -> tuple[list[Floats], Floats]:
        """Return the gradients of all weights and of the inputs, from those of the outputs."""
        found: list[Floats] = []
        for layer in range(len(self.weights) - 2, -1, -2):
            entered = self._entered[layer // 2]
            found = [entered.T @ delta, delta.sum(axis=0), *found]
            delta = delta @ self.weights[layer].T
            delta = np.where(entered > 0, delta, 0) if layer else delta
        return found, delta

    def descend(self, gradients: Sequence[Floats], rate: float, adam: bool) -> None:
        """Take a step in place, of plain descent or of Adam (Kingma and Ba, ICLR 2015)."""
        self._steps += 1
        fast, slow = (1 - beta**self._steps for beta in _BETAS)
        for weight, gradient, (first, second) in zip(self.weights, gradients, self._moments, strict=True):
            number = weight.dtype.type
            if adam:
                first += number(1 - _BETAS[0]) * (gradient - first)
                second += number(1 - _BETAS[1]) * (gradient * gradient - second)
                weight -= number(rate * math.sqrt(slow) / fast) * first / (np.sqrt(second) + number(1e-8))
            else:
                weight -= number(rate) * gradient


@attrs.frozen(kw_only=True, eq=False)
class SplitRun:
    """One run.

    ``trained`` is what every record was trained on, behind all label mechanisms, and ``natural`` the label set's own
    labels, canaries too, shape ``(n,)``; ``test_accuracy`` the share of unseen records that both parties get right.
    """

    view: SplitView
    trained: Labels = attrs.field(repr=False)
    natural: Labels = attrs.field(repr=False)
    test_accuracy: float


class _Parties:
    """The feature party's bottom, and the label party's: another bottom where it has features, and the top."""

    def __init__(self, threat: SplitThreat, inputs: int, beside: int, rng: np.random.Generator) -> None:
        run, width = threat.run, threat.width
        side, dtype = beside if run.label_features else 0, _DTYPES[run.precision]
        layers = {Side.NONE: None, Side.LINEAR: (), Side.MLP: (run.hidden,)}
        below, above = layers[run.bottom], layers[run.top]
        top = () if above is None else (width * (2 if side else 1), *above, threat.n_classes)
        self.bottom = SplitNetwork(() if below is None else (inputs, *below, width), rng, dtype)
        self.other = SplitNetwork((side, *(below or ()), width) if side else (), rng, dtype)
        self.top, self._run, self._width = SplitNetwork(top, rng, dtype), run, width

    def logits(self, z: Floats, own: Floats) -> Floats:
        h = self.other.forward(own) if self.other.weights else np.zeros_like(z)
        if not self.top.weights:
            return z + h
        return self.top.forward(np.concatenate([z, h], axis=1) if self.other.weights else z)

    def linear(self) -> Floats | None:
        return np.array(self.top.weights[0][: self._width].T) if self._run.top is Side.LINEAR else None

    def learn(self, delta: Floats, release: Any) -> list[Floats]:
        """Take a step; return the mean gradients of the feature party's weights."""
        run, (top, joined) = self._run, self.top.backward(delta)
        other, _ = self.other.backward(joined[:, -self._width :])
        below, _ = self.bottom.backward(release(joined[:, : self._width]).astype(delta.dtype) / len(delta))
        self.bottom.descend(below, run.rate, run.optimiser == "adam")
        for part, gradients in ((self.other, other), (self.top, top)) if not run.frozen else ():
            part.descend([each / len(delta) for each in gradients], run.rate, run.optimiser == "adam")
        return below


def recorded(threat: SplitThreat, data: LabelSet, planted: Labels, seed: int) -> SplitRun:
    """Return the run of ``seed``, the same one for the same arguments: every attack of a trial meets it.

    Canaries have the ``planted`` labels, and are the first of a random order; its last records measure accuracy.
    """
    with threadpool_limits(limits=1, user_api="blas"):  # sums must not depend on the number of cores
        return _recorded(threat, data, planted.tobytes(), seed)


@functools.lru_cache(maxsize=8)
def _recorded(threat: SplitThreat, data: LabelSet, planted: bytes, seed: int) -> SplitRun:
    rng = np.random.default_rng(seed)
    order, n, first = rng.permutation(data.n_records), threat.n_training, threat.n_records
    natural = data.labels[order]
    labels = natural[:n].copy()
    labels[:first] = np.frombuffer(planted, dtype=np.intp)
    for defence in threat.defences:
        with gate.attribute_errors(defence, quote=False):
            labels = defence.trained(labels, threat.n_classes, rng)
    own, other = _standard(np.asarray(data.features)[order], n, _DTYPES[threat.run.precision])
    parties = _Parties(threat, own.shape[1], other.shape[1], rng)
    known = []
    for k in range(threat.n_classes):
        rows = first + np.flatnonzero(natural[first:n] == k)[: threat.run.shots]
        known.append(np.stack([rows, np.full(rows.size, k)]))
    view = _run(parties, own[:n], other[:n], labels, np.concatenate(known, axis=1), threat, rng)
    said = parties.logits(parties.bottom.forward(own[n:]), other[n:]).argmax(axis=1)
    accuracy = float(np.mean(said == natural[n:]))
    return SplitRun(view=gate.seal(view), trained=labels, natural=natural[:n], test_accuracy=accuracy)


def _standard(features: Floats, n: int, dtype: Any) -> tuple[Floats, Floats]:
    """Return the features of both parties, the first half of the columns the feature party's."""
    kept, spread = features.std(axis=0) > 1e-9, features[:n].std(axis=0)
    scaled = ((features - features[:n].mean(axis=0)) / np.where(spread > 1e-9, spread, 1))[:, kept].astype(dtype)
    half = (scaled.shape[1] + 1) // 2
    return scaled[:, :half], scaled[:, half:]


def _run(
    parties: _Parties, own: Floats, other: Floats, labels: Labels, shots: Labels, threat: SplitThreat, rng: Any
) -> SplitView:
    run, n, share = threat.run, len(labels), threat.facts.smoothing
    soft = ((1 - share) * np.eye(threat.n_classes)[labels] + share / threat.n_classes).astype(own.dtype)
    embeddings, gradients = (np.zeros((run.epochs, n, threat.width), dtype=own.dtype) for _ in range(2))
    step, tops, kept = np.zeros((run.epochs, n), np.intp), list[Any](), list[Any]()

    def release(cut: Floats) -> Floats:
        batch = CutBatch(gradients=cut, labels=labels[rows], top=tops[-1])
        for stage in threat.defences:
            with gate.attribute_errors(stage, quote=False):
                found = gate.numbers_of(np.asarray(stage.released(batch, rng)), cut.shape)
            batch = attrs.evolve(batch, gradients=found)
        gradients[epoch, rows] = batch.gradients
        return np.asarray(batch.gradients)

    for epoch in range(run.epochs):
        for rows in np.split(rng.permutation(n), range(run.batch, n, run.batch)):
            step[epoch, rows] = len(tops)
            tops.append(parties.linear())
            before = [part.ravel().copy() for part in parties.bottom.weights]
            z = embeddings[epoch, rows] = parties.bottom.forward(own[rows])
            below = parties.learn(softmax(parties.logits(z, other[rows]), axis=1) - soft[rows], release)
            if run.encrypted:
                kept.append((np.concatenate(before), np.concatenate([part.ravel() for part in below])))
    return SplitView(
        threat=threat,
        embeddings=embeddings,
        gradients=None if run.encrypted else gradients,
        step=step,
        features=own,
        targets=np.arange(threat.n_records),
        shots=shots,
        top_weights=np.array(tops) if run.top_known and run.top is Side.LINEAR else None,
        own=np.array(kept) if run.encrypted else None,
    )

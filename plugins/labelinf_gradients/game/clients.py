"""What happens at the clients: a network is trained, private samples are drawn, labelled and turned into releases."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import LabelSet, of_channel
from labelinf_core.contracts.errors import ComponentError, InputError
from labelinf_gradients.game.effects import GradientFacts, LabelFamily
from labelinf_gradients.game.gradient import (
    ActiveGradientDefence,
    GradientDefence,
    GradientThreat,
    Layout,
    Shared,
)
from labelinf_gradients.game.networks import Activation, Network, Perceptron
from labelinf_gradients.recovery.tensors import rounded_to

__all__ = ["Client", "Federation", "Samples", "needed", "scaled", "train"]

_SLACK = 1e-9  # relative, for the rounding of lengths
_BATCH, _RATE = 32, 3e-3  # of the training before the attack: Adam at its usual constants otherwise


@attrs.frozen(kw_only=True)
class Federation:
    """A network and the records it was, and was not, trained on. Made once for every seed and kept.

    Attributes:
        network: Trained, in the precision of the gradients.
        trained_on: Indices of the records that it was trained on.
        held_out: Indices of the others.
    """

    network: Network = attrs.field(eq=False)
    trained_on: NDArray[np.intp] = attrs.field(eq=False)
    held_out: NDArray[np.intp] = attrs.field(eq=False)

    @classmethod
    def start(cls, data: LabelSet, **settings: Any) -> Federation:
        """Return the federation of a data set and settings (see :func:`_start`), from the cache if it is there."""
        features = scaled(data)
        digest = hashlib.blake2b(features.tobytes() + data.labels.tobytes()).hexdigest()
        return _start(_Source(digest=digest, features=features, data=data), **settings)


@attrs.frozen(kw_only=True)
class _Source:
    """A data set that is equal to any other with the same contents."""

    digest: str
    features: NDArray[np.float64] = attrs.field(eq=False)
    data: LabelSet = attrs.field(eq=False)


def scaled(data: LabelSet) -> NDArray[np.float64]:
    """Return the features, every column scaled to [0, 1].

    Raises:
        InputError: The label set has no features.
    """
    if data.features is None:
        raise InputError(f"label set {data.title!r} has no features; the gradient channel needs them: try digits.")
    low, high = data.features.min(axis=0), data.features.max(axis=0)
    return np.asarray((data.features - low) / np.where(high > low, high - low, 1))


@functools.lru_cache(maxsize=64)
def _start(
    source: _Source,
    *,
    network: str,
    hidden: tuple[int, ...],
    activation: Activation,
    bias: bool,
    epochs: int,
    precision: str,
    seed: int,
) -> Federation:
    """Train a network on a random half of the records."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(source.data.n_records)
    half = len(order) // 2
    n_inputs, n_classes = source.features.shape[1], source.data.n_classes
    made: Network
    if network == "mlp":
        start = Perceptron.random((n_inputs, *hidden, n_classes), rng, bias=bias, activation=activation)
        labels = np.eye(n_classes)[source.data.labels[order[:half]]]
        made = train(start, source.features[order[:half]], labels, epochs=epochs, rng=rng).astype(precision)
    else:
        from labelinf_gradients.game.own_network import load

        made = load(network, n_inputs=n_inputs, n_classes=n_classes, precision=precision, seed=seed)
    return Federation(network=made, trained_on=order[:half], held_out=order[half:])


def train(
    network: Perceptron, x: NDArray[np.float64], labels: NDArray[np.float64], *, epochs: int, rng: np.random.Generator
) -> Perceptron:
    """Train with Adam on batches of 32.

    Args:
        network: Where to start.
        x: Inputs, shape ``(n, d)``.
        labels: Soft labels, shape ``(n, C)``.
        epochs: Passes over the data; 0 returns the network as it is.
        rng: Source of the order.
    """
    first = {name: np.zeros(shape) for name, shape in network.shapes.items()}
    second = {name: np.zeros(shape) for name, shape in network.shapes.items()}
    count = 0
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), _BATCH):
            rows, count = order[start : start + _BATCH], count + 1
            step = {}
            for name, gradient in network.mean_gradient(x[rows], labels[rows]).items():
                first[name] += 0.1 * (gradient - first[name])
                second[name] += 0.001 * (gradient**2 - second[name])
                mean, square = first[name] / (1 - 0.9**count), second[name] / (1 - 0.999**count)
                step[name] = -_RATE * mean / (np.sqrt(square) + 1e-8)
            network = network.moved(step)
    return network


def needed(threat: GradientThreat, n_samples: int) -> int:
    """Return how many records so many samples take: two each where they are mixed."""
    return 2 * n_samples if threat.family is LabelFamily.MIXUP else n_samples


@attrs.frozen(kw_only=True, eq=False)
class Samples:
    """Private samples, batch by batch.

    Attributes:
        inputs: Shape ``(n_releases, batch, d)``.
        labels: Soft labels, shape ``(n_releases, batch, C)``.
    """

    inputs: NDArray[np.float64]
    labels: NDArray[np.float64]

    @property
    def classes(self) -> NDArray[np.intp]:
        """The heaviest class of every sample, shape ``(n_releases * batch,)``."""
        return np.asarray(self.labels.reshape(-1, self.labels.shape[2]).argmax(axis=1))

    @classmethod
    def draw(
        cls,
        x: NDArray[np.float64],
        classes: NDArray[np.intp],
        threat: GradientThreat,
        rng: np.random.Generator,
    ) -> Samples:
        """Draw samples from the rows of ``x`` and label them as the threat model's family says.

        Raises:
            InputError: There are too few rows.
        """
        n = threat.n_records
        need = needed(threat, n)
        if need > len(x):
            raise InputError(f"{need} different samples are needed and there are {len(x)}; lower 'samples'.")
        rows = rng.permutation(len(x))[:need]
        inputs, labels = x[rows[:n]], np.eye(threat.n_classes)[classes[rows[:n]]]
        if threat.family is LabelFamily.SMOOTHING:
            factor = rng.uniform(0, threat.smoothing, (n, 1))
            labels = (1 - factor) * labels + factor / threat.n_classes
        elif threat.family is LabelFamily.MIXUP:
            weight = rng.uniform(0, 1, (n, 1))
            inputs = weight * inputs + (1 - weight) * x[rows[n:]]
            labels = weight * labels + (1 - weight) * np.eye(threat.n_classes)[classes[rows[n:]]]
        shape = (n // threat.batch, threat.batch)
        return cls(inputs=inputs.reshape(*shape, -1), labels=labels.reshape(*shape, -1))


@attrs.frozen(kw_only=True, eq=False)
class Client:
    """Computes releases and passes them through the defences.

    Attributes:
        network: The network everybody knows.
        threat: What a client does.
        actives: The defences' parts in this game, from the client outward.
    """

    network: Network
    threat: GradientThreat
    actives: tuple[Watched, ...]

    @classmethod
    def start(cls, network: Network, threat: GradientThreat, rng: np.random.Generator) -> Client:
        """Start a client of a threat model's defences: each gets a generator of its own, in order."""
        actives, n_stages = [], len(threat.defences)
        behind = (*(known.facts for known in threat.before[1:]), threat.facts)[:n_stages]
        for each, facts, generator in zip(threat.defences, behind, rng.spawn(n_stages), strict=True):
            defence = of_channel(each, GradientDefence, "defence", "gradient")
            with gate.attribute_errors(defence, quote=False):
                active = defence.start(threat, generator)
            actives.append(Watched(active=active, defence=defence, facts=facts, final=threat.facts))
        return cls(network=network, threat=threat, actives=tuple(actives))

    def releases(self, samples: Samples) -> Mapping[str, NDArray[Any]]:
        """Return what the client sends about every batch, by parameter, shape ``(n_releases, *shape)``.

        Raises:
            InputError: A gradient is not finite.
        """
        shapes = {name: self.network.shapes[name] for name in self._shared}
        flat = [self._release(*sample) for sample in enumerate(zip(samples.inputs, samples.labels, strict=True))]
        with np.errstate(over="ignore"):
            sent = rounded_to(np.array(flat), self.threat.precision)
        self._require_finite(sent)
        parts = zip(shapes.items(), _layout(shapes), strict=True)
        return {name: sent[:, place].reshape(-1, *shape) for (name, shape), place in parts}

    def clean(self, samples: Samples) -> Mapping[str, NDArray[Any]]:
        """Return what the client would send without defences that change numbers."""
        return attrs.evolve(self, actives=()).releases(samples)

    @property
    def _shared(self) -> tuple[str, ...]:
        last = self.network.classifier_names
        names = last if self.threat.shared is Shared.LAST else tuple(self.network.shapes)
        return names if self.threat.biases_shared else tuple(name for name in names if not name.endswith("bias"))

    def _require_finite(self, rows: NDArray[Any], first: int = 0) -> None:
        if not np.isfinite(rows).all():
            raise InputError(
                f"the gradient of release {first + int(np.argwhere(~np.isfinite(rows))[0, 0])} is not finite in "
                f"{self.threat.precision}: look for overflowing weights, features or noise."
            )

    def _release(self, number: int, sample: tuple[NDArray[np.float64], NDArray[np.float64]]) -> NDArray[np.float64]:
        (x, labels), network, total = sample, self.network, np.zeros(1)
        layout = _layout({name: network.shapes[name] for name in self._shared})
        for _ in range(self.threat.steps):
            own = network.gradients(x, labels)
            flat = np.concatenate([own[name].reshape(len(x), -1) for name in self._shared], axis=1).astype(np.float64)
            self._require_finite(flat.sum(axis=1, keepdims=True).T, number)
            for active in self.actives:
                flat = active.examples(flat, layout)
            total = total + flat.mean(axis=0)
            if self.threat.steps > 1:
                network = network.moved({name: -self.threat.rate * part.mean(axis=0) for name, part in own.items()})
        total /= self.threat.steps
        for active in self.actives:
            total = active.release(total, layout)
        return total


@attrs.frozen(kw_only=True)
class Watched:
    """An active defence whose lengths are compared with what is known of them: every proof about noise depends on it.

    Attributes:
        active: A defence's part in one game.
        defence: Who is to blame.
        facts: What is known behind it.
        final: What is known behind all defences.
    """

    active: ActiveGradientDefence
    defence: GradientDefence
    facts: GradientFacts
    final: GradientFacts

    def examples(self, gradients: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        """Pass the samples' own gradients, shape ``(batch, d)``.

        Raises:
            ComponentError: The defence fails, or they are longer behind it than its effects allow.
        """
        with gate.attribute_errors(self.defence, quote=False):
            passed = gate.numbers_of(self.active.examples(gradients, layout), gradients.shape)
        self._compare(np.atleast_2d(passed), self.facts)
        return passed

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        """Pass the average, shape ``(d,)``.

        Raises:
            ComponentError: The defence fails, or it is longer behind it than its effects allow.
        """
        with gate.attribute_errors(self.defence, quote=False):
            passed = gate.numbers_of(self.active.release(gradient, layout), gradient.shape)
        if self.facts.bounded:
            self._compare(passed[None], self.final)
        return passed

    def _compare(self, rows: NDArray[np.float64], known: GradientFacts) -> None:
        for order, most in ((2, known.clip), (1, known.clip_sum)):
            if np.isfinite(most) and (np.linalg.norm(rows, ord=order, axis=1) > most * (1 + _SLACK)).any():
                raise ComponentError("it makes a clipped gradient longer, and its effects do not say so", self.defence)


def _layout(shapes: Mapping[str, tuple[int, ...]]) -> Layout:
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes.values())])
    return tuple(slice(int(start), int(end)) for start, end in itertools.pairwise(ends))

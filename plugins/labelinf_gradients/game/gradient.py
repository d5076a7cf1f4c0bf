"""The gradient channel: clients of federated learning release gradients of samples whose labels are private.

The adversary knows the network and sees one gradient per batch, as a mapping from parameter names to arrays. Everything
else it can know stands in :class:`GradientThreat`; :class:`GradientOracle` is its whole view.

A **defence** of this channel changes what a client does. Some only change facts that the client obeys (its labels are
smoothed, its batch is larger, its biases stay at home): they override :meth:`GradientDefence.tell`. Others change
numbers: their :class:`Guard` is given every sample's flat gradient before the batch is averaged, and the flat average
before it leaves.
"""

from __future__ import annotations

import abc
import enum
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Attack, Defence, Guess
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients.game.networks import Network

__all__ = [
    "GradientAttack",
    "GradientDefence",
    "GradientGuess",
    "GradientOracle",
    "GradientThreat",
    "Guard",
    "LabelFamily",
    "Layout",
    "Shared",
]

Layout = tuple[slice, ...]  #: where the parameter tensors lie in a flat gradient


class LabelFamily(enum.Enum):
    """What a client does to its hard labels before training."""

    ONE_HOT = "one-hot"
    SMOOTHING = "smoothing"
    MIXUP = "mixup"


class Shared(enum.Enum):
    """Which gradients a client sends."""

    LAST = "last"
    ALL = "all"


@attrs.frozen(kw_only=True)
class GradientThreat(ThreatModel):
    """What the adversary of the gradient channel knows.

    Attributes:
        batch: Samples per released gradient.
        steps: Local steps of gradient descent behind one release; 1 is a plain gradient.
        rate: Step length of those steps.
        family: What clients do to their labels.
        smoothing: Largest smoothing factor, drawn anew for every sample.
        shared: Which layers are released.
        has_bias: Whether the last layer has a bias; its value is public with the network.
        bias_shared: Whether gradients of biases are released.
        features_public: Whether the adversary knows the inputs of the samples and guesses labels only.
        auxiliary: Labelled samples of the same kind that the adversary holds.
        precision: Number format of the gradients, ``"float32"`` or ``"float64"``.
        clip: Largest Euclidean norm of one sample's released gradient; infinity when it is not clipped.
        noise_std: Standard deviation of the noise on every released entry.
        altered: Whether a defence changes entries in another way (rounds, drops, ...).
        defences: What stands between, from the client outward.
    """

    batch: int = 1
    steps: int = 1
    rate: float = 0.0
    family: LabelFamily = LabelFamily.ONE_HOT
    smoothing: float = 0.5
    shared: Shared = Shared.LAST
    has_bias: bool = False
    bias_shared: bool = False
    features_public: bool = False
    auxiliary: int = 0
    precision: str = "float32"
    clip: float = math.inf
    noise_std: float = 0.0
    altered: bool = False
    defences: tuple[Defence, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether a release is exactly the gradient of its batch, up to rounding."""
        return self.noise_std == 0 and not self.altered and self.steps == 1 and math.isinf(self.clip)

    @property
    def best_counts(self) -> tuple[int, ...]:
        """The guess of a batch's label counts that overlaps most with them on average, knowing class shares only.

        The j-th guess of class k is right with probability P(Bin(batch, share_k) >= j), which falls with j: the
        ``batch`` largest of these probabilities are the best guess.
        """
        counts = [0] * self.n_classes
        for _, k in self._best_gains:
            counts[k] += 1
        return tuple(counts)

    @property
    def baseline(self) -> float:
        """Expected overlap of :attr:`best_counts` with the truth; the majority share when a batch is one sample."""
        return sum(gain for gain, _ in self._best_gains) / self.batch

    @property
    def _best_gains(self) -> list[tuple[float, int]]:
        gains = [(p, k) for k, share in enumerate(self.prior) for p in _at_least(self.batch, share)]
        return sorted(gains, key=lambda item: (-item[0], item[1]))[: self.batch]


def _at_least(n: int, share: float) -> list[float]:
    """Return P(Bin(n, share) >= j) for j = 1..n."""
    terms = [math.comb(n, j) * share**j * (1 - share) ** (n - j) for j in range(n + 1)]
    return [min(1.0, math.fsum(terms[j:])) for j in range(1, n + 1)]


class GradientOracle:
    """The adversary's whole view. Its arrays cannot be written to.

    Attributes:
        network: The network, with its weights.
        releases: Gradient of every shared parameter, shape ``(n_releases, *shape)``; one release per batch.
        auxiliary: The adversary's own samples and labels, if it has any: inputs ``(n, d)`` and classes ``(n,)``.
        inputs: Inputs of the attacked samples, shape ``(n_releases, batch, d)``, when they are public.
    """

    __slots__ = ("_threat", "auxiliary", "inputs", "network", "releases")

    def __init__(
        self,
        threat: GradientThreat,
        network: Network,
        releases: Mapping[str, NDArray[Any]],
        *,
        auxiliary: tuple[NDArray[Any], NDArray[np.intp]] | None = None,
        inputs: NDArray[Any] | None = None,
    ) -> None:
        self._threat = threat
        self.network = network
        self.releases = MappingProxyType({name: gate.sealed(values) for name, values in releases.items()})
        self.auxiliary = auxiliary and (gate.sealed(auxiliary[0]), gate.sealed(auxiliary[1]))
        self.inputs = None if inputs is None else gate.sealed(inputs)

    @property
    def threat(self) -> GradientThreat:
        """What is public."""
        return self._threat

    @property
    def nonnegative(self) -> bool:
        """Whether the last layer's inputs are known to be non-negative."""
        return self.network.nonnegative

    @property
    def weight_gradients(self) -> NDArray[Any]:
        """Gradients of the last layer's weights, shape ``(n_releases, C, I)``."""
        return self.releases[self.network.classifier_names[0]]

    @property
    def bias_gradients(self) -> NDArray[Any] | None:
        """Gradients of the last layer's bias, shape ``(n_releases, C)``; None when they are not released."""
        names = self.network.classifier_names
        return self.releases.get(names[1]) if len(names) > 1 else None


@attrs.frozen(kw_only=True, eq=False)
class GradientGuess(Guess):
    """What an attack of this channel answers: classes, and soft labels where it knows them.

    Classes stand release by release; within a batch their order does not matter.

    Attributes:
        soft: Guessed soft labels, shape ``(n_records, C)``, or None.
    """

    soft: NDArray[np.float64] | None = None


class GradientAttack(Attack, abc.ABC):
    """An attack of the gradient channel."""

    @abc.abstractmethod
    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Guess the labels of all releases.

        Args:
            oracle: The only view of the clients.
            rng: The attack's own randomness.
        """


class Guard:
    """A defence in one game. The default lets everything through."""

    def examples(self, gradients: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        """Change the samples' own gradients, shape ``(batch, d)``, before they are averaged."""
        return gradients

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        """Change the averaged gradient, shape ``(d,)``, before it leaves the client."""
        return gradient


class GradientDefence(Defence):
    """A defence of the gradient channel. Says in :meth:`tell` what it changes; overrides :meth:`start` to do more.

    A guard may shorten the samples' own gradients. One that lengthens them, in the Euclidean or the 1-norm, says in
    :meth:`tell` that neither ``clip`` nor ``label_epsilon`` holds any more.
    """

    @property
    def transparent(self) -> bool:
        """Whether a release passes as it came, save for noise added to it that does not depend on it.

        Noise is certified behind such defences only: what another one makes of a clipped gradient may be longer. A
        defence with a guard of its own is not taken for transparent unless it says so.
        """
        return type(self).start is GradientDefence.start

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> Guard:
        """Return this defence's part in one game.

        Args:
            threat: What is public.
            rng: Its own source of randomness; the adversary never sees it.
        """
        return Guard()

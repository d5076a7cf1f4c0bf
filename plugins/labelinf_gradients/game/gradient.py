"""The gradient channel: clients of federated learning release gradients of samples whose labels are private.

The adversary knows the network and sees one gradient per batch, as a mapping from parameter names to arrays. Everything
else it can know stands in :class:`GradientThreat`; :class:`GradientOracle` is its whole view.

A **defence** of this channel changes what a client does, and says what in its effects. Some only give orders that the
client obeys (its labels are smoothed, its batch is larger, its biases stay at home). Others change numbers: their
:class:`ActiveGradientDefence` gets every sample's flat gradient before the batch is averaged, and the flat average
before it leaves.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Attack, Defence, Guess, Overlap
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients.game.effects import VOCABULARY, GradientFacts, LabelFamily
from labelinf_gradients.game.networks import Network

__all__ = [
    "ActiveGradientDefence",
    "GradientAttack",
    "GradientDefence",
    "GradientGuess",
    "GradientOracle",
    "GradientThreat",
    "LabelFamily",
    "Layout",
    "Shared",
]

Layout = tuple[slice, ...]  #: where the parameter tensors lie in a flat gradient


class Shared(enum.Enum):
    """Which gradients a client sends."""

    LAST = "last"
    ALL = "all"


def _computed(name: str) -> Any:
    """Return a field that nobody sets: a fact, computed from the effects."""
    return attrs.field(init=False, default=attrs.Factory(lambda self: getattr(self.facts, name), takes_self=True))


@attrs.frozen(kw_only=True)
class GradientThreat(ThreatModel):
    """What the adversary of the gradient channel knows. Facts are computed from the effects; nobody sets them.

    What the client itself does is ``own_effects``; the attributes from ``batch`` on are read from the facts.

    Attributes:
        shared: Which layers are released.
        has_bias: Whether the network has biases; their values are public with it.
        head_bias: Whether its last layer has one of them.
        features_public: Whether the adversary knows the inputs of the samples and guesses labels only.
        auxiliary: Labelled samples of the same kind that the adversary holds.
        precision: Number format of the gradients: ``"float32"``, ``"float64"``, ``"float16"`` or ``"bfloat16"``.
        population: Records of the data set that samples are drawn from without replacement; 0: there is no end of them.
        spare: How many of them might have been in the place of a sample, and are neither that nor anything else.
        bias_shared: Whether the gradient of the last layer's bias is released.
    """

    vocabulary: ClassVar[Container[type]] = VOCABULARY

    shared: Shared = Shared.LAST
    has_bias: bool = False
    head_bias: bool = True
    features_public: bool = False
    auxiliary: int = 0
    precision: str = "float32"
    population: int = 0
    spare: int = 0
    batch: int = _computed("batch")
    steps: int = _computed("steps")
    rate: float = _computed("rate")
    family: LabelFamily = _computed("family")  # noqa: RUF009
    smoothing: float = _computed("smoothing")
    clip: float = _computed("clip")
    noise_std: float = _computed("noise_std")
    altered: bool = _computed("altered")
    bias_shared: bool = attrs.field(init=False)

    def start(self) -> GradientFacts:
        """Return what is known of a client that does nothing."""
        return GradientFacts()

    @bias_shared.default
    def _has_one_and_releases_it(self) -> bool:
        return self.has_bias and self.head_bias and self.facts.biases

    @property
    def biases_shared(self) -> bool:
        """Whether gradients of any biases are released."""
        return self.has_bias and self.facts.biases

    @property
    def clean(self) -> bool:
        """Whether a release is exactly the gradient of its batch, up to rounding."""
        return bool(self.facts.clean)

    @property
    def best_counts(self) -> tuple[int, ...]:
        """The guess of a batch's label counts that overlaps most with them on average, knowing class shares only."""
        counts = [0] * self.n_classes
        for _, k in Overlap(size=self.batch).best(self.prior):
            counts[k] += 1
        return tuple(counts)

    @property
    def baseline(self) -> float:
        """Expected overlap of :attr:`best_counts` with the truth; the majority share when a batch is one sample."""
        return Overlap(size=self.batch).blind(self.prior)


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
        inputs: Rebuilt inputs of the first records, shape ``(m, d)``, NaN where nothing came out, or None.
    """

    soft: NDArray[np.float64] | None = None
    inputs: NDArray[np.float64] | None = None


class GradientAttack(Attack, abc.ABC):
    """An attack of the gradient channel. Overrides :meth:`missing_requirement` to say what it needs."""

    def unsupported_reason(self, threat: ThreatModel) -> str:
        """Why this attack cannot be played under ``threat``; empty when it can."""
        return self.missing_requirement(threat) if isinstance(threat, GradientThreat) else "needs the gradient channel"

    def missing_requirement(self, threat: GradientThreat) -> str:
        """What this attack needs and ``threat`` does not give, as a short clause; empty when it can be played."""
        return ""

    @abc.abstractmethod
    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Guess the labels of all releases.

        Args:
            oracle: The only view of the clients.
            rng: The attack's own randomness.
        """


class ActiveGradientDefence:
    """A defence in one game. The default lets everything through."""

    def examples(self, gradients: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        """Change the samples' own gradients, shape ``(batch, d)``, before they are averaged."""
        return gradients

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        """Change the averaged gradient, shape ``(d,)``, before it leaves the client."""
        return gradient


class GradientDefence(Defence, ActiveGradientDefence):
    """A defence of the gradient channel. Says in ``effects`` what it does (:mod:`labelinf_gradients.game.effects`).

    Orders that the client obeys are effects alone; who changes numbers overrides ``examples`` or
    ``release`` as well. The run itself watches lengths: who makes a clipped gradient longer, and does not say so,
    has failed.
    """

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> ActiveGradientDefence:
        """Return this defence's part in one game: itself, unless it has something to remember or to draw.

        Args:
            threat: What is public.
            rng: Its own source of randomness; the adversary never sees it.
        """
        return self

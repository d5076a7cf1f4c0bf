"""The game of the gradient channel: real features, a really trained network, one release per batch.

What is not modelled: batch normalisation with the batch's own statistics and dropout (modules run in evaluation mode),
momentum and other local optimisers (local steps of federated averaging are plain gradient descent on the whole batch),
and clients that take part several times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import (
    ABSTAIN,
    Defence,
    Guess,
    LabelSet,
    Measure,
    Overlap,
    Rule,
    Setting,
    of_channel,
)
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import ComponentError, InputError
from labelinf_core.contracts.images import Gallery, as_png
from labelinf_core.contracts.planted import PlantedChannel, Round
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.plugin.descriptors import Kind
from labelinf_gradients.game.clients import Client, Federation, Samples, needed, scaled
from labelinf_gradients.game.effects import Batched, GradientFacts, LabelFamily, MixedPairs, Smoothed
from labelinf_gradients.game.gradient import (
    GradientAttack,
    GradientDefence,
    GradientGuess,
    GradientOracle,
    GradientThreat,
    Shared,
)
from labelinf_gradients.game.networks import Activation
from labelinf_gradients.reconstruction.quality import as_images, colours_of, likeness, psnr
from labelinf_gradients.recovery.tensors import FORMATS

__all__ = ["GradientChannel", "SampleRound", "cosine"]

_STRONGEST = (
    "exact-solver",
    "known-features",
    "last-bias",
    "hidden-bias",
    "defence-aware",
    "zero-mask",
    "visible-entries",
    "own-samples",
    "matched-filter",
    "rank-one-likelihood",
    "dictionary-counts",
    "idlg",
)
_ON_BATCHES = (
    "rehearsed-counts",
    "joint-recovery",
    "sample-by-sample",
    "moment-counts",
    "row-minima",  # of entries that are left here and there, when what others rest on is gone
    "ilrg",
    "llg",
    "rlg",
)

_SHOWN = 8
_EXACT = 400.0  # dB; more than doubles can tell
_at_least_one = attrs.validators.ge(1)
_not_negative = attrs.validators.ge(0)


@attrs.frozen(kw_only=True, eq=False)
class SampleRound(Round):
    """Samples, batch by batch, and their releases.

    Attributes:
        samples: The samples.
    """

    samples: Samples

    @classmethod
    def of(cls, samples: Samples, oracle: GradientOracle) -> SampleRound:
        """Return the round in which ``oracle`` shows ``samples``; within a batch there is no order."""
        n_releases, classes = len(samples.labels), samples.classes
        measure = Overlap(size=classes.size // n_releases)
        return cls(labels=classes, view=oracle, measure=measure, queries=n_releases, samples=samples)

    def evidence(self, guess: Guess) -> Mapping[str, Any]:
        """Say how near soft labels and rebuilt inputs of single samples are."""
        return {**_soft_evidence(guess, self.samples), **_seen(guess, self.samples)[0]}

    def gallery(self, guess: Guess) -> Gallery | None:
        """Return the first of the rebuilt inputs, where they are images."""
        return _seen(guess, self.samples)[1]


@attrs.frozen(kw_only=True)
class GradientChannel(PlantedChannel):
    """Clients release gradients of samples whose labels are private.

    The label set's features, scaled to [0, 1], are split in halves: the network is trained on one, and the attacked
    samples are drawn afresh in every trial from the other.

    Attributes:
        network: ``mlp``, our perceptron in NumPy, or ``module:function``, called as ``function(n_inputs, n_classes)``
            and returning a PyTorch module that ends in a linear layer; it stays as it was made, trained or not, and
            ``hidden``, ``activation`` and ``epochs`` are for the perceptron alone.
        hidden: Widths of the perceptron's hidden layers.
        activation: After every hidden layer.
        bias: Whether layers have biases.
        epochs: Training before the attack, in passes over the data; 0 is an untrained network.
        samples: Samples attacked per trial.
        batch: Samples per released gradient.
        targets: What clients do to their labels: ``one-hot``, ``smoothing`` or ``mixup``.
        smoothing: Largest smoothing factor; every sample draws its own.
        shared: Layers whose gradients are released: ``last`` or ``all``.
        members: Attack samples that the network was trained on, instead of held-out ones.
        features_public: The adversary knows the samples' features and guesses labels only.
        auxiliary: Labelled samples that the adversary holds.
        precision: Format of what is released: ``float32``, ``float64``, ``float16`` or ``bfloat16``. Networks compute
            in the first two, in float32 for the halves.
    """

    default_labels: ClassVar[str] = "digits"
    rank: ClassVar[int] = 30
    attacks: ClassVar[type[GradientAttack]] = GradientAttack
    defences: ClassVar[type[GradientDefence]] = GradientDefence
    uniform: ClassVar[bool] = False  # samples are drawn with their features

    network: str = "mlp"
    hidden: tuple[int, ...] = attrs.field(
        default=(64,), validator=attrs.validators.deep_iterable(attrs.validators.ge(1))
    )
    activation: Activation = Activation.RELU
    bias: bool = False
    epochs: int = attrs.field(default=3, validator=_not_negative)
    samples: int = attrs.field(default=64, validator=_at_least_one)
    batch: int = attrs.field(default=1, validator=_at_least_one)
    targets: LabelFamily = LabelFamily.ONE_HOT
    smoothing: float = attrs.field(default=0.5, validator=[attrs.validators.gt(0), attrs.validators.le(1)])
    shared: Shared = Shared.LAST
    members: bool = False
    features_public: bool = False
    auxiliary: int = attrs.field(default=200, validator=_not_negative)
    precision: str = attrs.field(default="float32", validator=attrs.validators.in_(tuple(FORMATS)))

    @classmethod
    def strongest(cls, threat: ThreatModel | None = None) -> tuple[str, ...]:
        """Return the attacks of which each is the strongest somewhere; those on batches where there is one."""
        one = isinstance(threat, GradientThreat) and threat.batch == 1
        return _STRONGEST if one else (*_STRONGEST, *_ON_BATCHES)

    @classmethod
    def measures(cls) -> tuple[Measure, ...]:
        """Return how much of the gradient's direction is left for training."""
        return (Measure(key="gradient cosine", title="gradient cosine"),)

    @classmethod
    def templates(cls) -> Mapping[Kind, str]:
        """Return what new components of this channel are begun from."""
        kinds = (Kind.ATTACK, Kind.DEFENCE)
        return {kind: f"labelinf_gradients:templates/{kind.value}.py.jinja" for kind in kinds}

    @classmethod
    def rules(cls) -> Mapping[Kind, Sequence[Rule]]:
        """Return the contract of this channel's components."""
        from labelinf_gradients.rules import RULES

        return RULES

    def known(self, data: LabelSet) -> GradientThreat:
        """Return what the adversary knows of clients without a defence."""
        return GradientThreat(
            n_records=self.samples,
            n_classes=data.n_classes,
            prior=data.prior,
            shared=self.shared,
            has_bias=self.bias,
            head_bias=self._head_bias(data),
            features_public=self.features_public,
            auxiliary=self.auxiliary,
            precision=self.precision,
            population=data.n_records,
            own_effects=(Batched(size=self.batch), *self._labelling),
            # Noise hides one sample's gradient; a module of somebody's own may put one into those that follow.
            game="" if self.network == "mlp" else f"network {self.network}",
        )

    def fitted(self, threat: ThreatModel) -> GradientThreat:
        """Return ``threat`` with as many samples as whole batches hold.

        Raises:
            InputError: A batch needs more samples.
        """
        told = of_channel(threat, GradientThreat, "threat model", "gradient")
        if told.batch > self.samples:
            raise InputError(f"samples={self.samples} must be >= the batch of {told.batch}.")
        n_samples = self.samples - self.samples % told.batch
        trained = told.population // 2
        pool = trained if self.members else told.population - trained - self.auxiliary
        return attrs.evolve(told, n_records=n_samples, spare=max(0, pool - needed(told, n_samples)))

    def _head_bias(self, data: LabelSet) -> bool:
        """Whether the last layer has a bias: a module's may stand without on layers that have them."""
        if self.network == "mlp" or not self.bias or data.features is None:
            return True
        return len(self._federation(data, 0).network.classifier_names) > 1

    @property
    def _labelling(self) -> tuple[Effect[GradientFacts], ...]:
        if self.targets is LabelFamily.ONE_HOT:
            return ()
        return (Smoothed(most=self.smoothing) if self.targets is LabelFamily.SMOOTHING else MixedPairs(),)

    def begin(self, data: LabelSet, threat: GradientThreat, rng: np.random.Generator) -> SampleRound:
        """Draw samples afresh, and release what one of the networks makes of them."""
        federation = self._federation(data, int(rng.integers(2**32)))
        oracle, samples = self._deal(data, threat, federation, rng)
        return SampleRound.of(samples, oracle)

    def check(self, data: LabelSet) -> None:
        """Look at the features and at the user's network before anything is played.

        Raises:
            InputError: There are no features, or the network cannot be used.
        """
        scaled(data)
        if self.network != "mlp":
            shapes = self._federation(data, 0).network.shapes
            if self.bias and not any(name.endswith("bias") for name in shapes):
                raise InputError(f"bias=true, but network {self.network!r} has no bias.")

    def utility(self, data: LabelSet, defences: tuple[Defence, ...], rng: np.random.Generator) -> Mapping[str, float]:
        """Return what the defences leave of a gradient: the mean cosine of what is released with what was computed.

        Raises:
            InputError: As :meth:`threat` and :meth:`check`.
        """
        threat: GradientThreat = self.threat(Setting(data=data, defences=defences))
        federation = self._federation(data, int(rng.integers(2**32)))
        x, classes = scaled(data), data.labels
        samples = Samples.draw(x[federation.held_out], classes[federation.held_out], threat, rng)
        client = Client.start(federation.network, threat, rng)
        return {"gradient cosine": cosine(client.clean(samples), client.releases(samples))}

    def _federation(self, data: LabelSet, seed: int) -> Federation:
        return Federation.start(
            data,
            network=self.network,
            hidden=self.hidden,
            activation=self.activation,
            bias=self.bias,
            epochs=self.epochs,
            precision="float64" if self.precision == "float64" else "float32",
            seed=seed,
        )

    def _deal(
        self,
        data: LabelSet,
        threat: GradientThreat,
        federation: Federation,
        rng: np.random.Generator,
    ) -> tuple[GradientOracle, Samples]:
        x, classes = scaled(data), data.labels
        held_out = rng.permutation(federation.held_out)
        if threat.auxiliary >= len(held_out):
            raise InputError(f"auxiliary={threat.auxiliary} must be < {len(held_out)}, the records kept from training.")
        known, rest = held_out[: threat.auxiliary], held_out[threat.auxiliary :]
        pool = federation.trained_on if self.members else rest
        samples = Samples.draw(x[pool], classes[pool], threat, rng)
        client = Client.start(federation.network, threat, rng)
        oracle = GradientOracle(
            threat,
            federation.network,
            client.releases(samples),
            auxiliary=(x[known], classes[known]) if threat.auxiliary else None,
            inputs=samples.inputs if threat.features_public else None,
        )
        return oracle, samples


def _soft_evidence(guess: Guess, samples: Samples) -> dict[str, Any]:
    """Say how close soft labels of single samples are; within a batch there is no order to compare them in."""
    if not isinstance(guess, GradientGuess) or guess.soft is None or samples.labels.shape[1] > 1:
        return {}
    soft = np.array(guess.soft, dtype=float, subok=False)  # an object of the attack's own would be shown the truth
    if soft.shape != samples.labels[:, 0].shape:
        raise ComponentError(f"its soft labels have shape {soft.shape}, expected {samples.labels[:, 0].shape}")
    error = np.abs(soft - samples.labels[:, 0]).sum(axis=1)
    error = np.where(np.asarray(guess.labels) == ABSTAIN, np.inf, error)
    return {"soft labels within 1e-3": float(np.mean(error < 1e-3)), "median L1": float(np.median(error))}


def _seen(guess: Guess, samples: Samples) -> tuple[dict[str, float], Gallery | None]:
    """Return the quality of rebuilt inputs of single samples, and the first of them as images where they are some.

    Args:
        guess: What an attack answered.
        samples: The truth.

    Raises:
        ComponentError: There are more inputs than samples, or they are of another width.
    """
    if not isinstance(guess, GradientGuess) or guess.inputs is None or samples.inputs.shape[1] > 1:
        return {}, None
    own = np.array(guess.inputs, dtype=float, subok=False)  # an object of the attack's own would be shown the truth
    truth = samples.inputs[:, 0]
    if own.ndim != 2 or not 0 < len(own) <= len(truth) or own.shape[1] != truth.shape[1]:
        raise ComponentError(f"its inputs have shape {own.shape}, expected at most {truth.shape}")
    truth, whole = truth[: len(own)], np.isfinite(own).all(axis=1)
    found = np.where(whole[:, None], own, 0.0)
    quality = {
        "inputs rebuilt": float(np.mean(whole)),
        "median PSNR, dB": float(np.median(np.minimum(psnr(found, truth), _EXACT))),
    }
    if not colours_of(truth.shape[1]):
        return quality, None
    quality["median SSIM"] = float(np.median(likeness(found, truth)))
    true, rebuilt = (tuple(map(as_png, as_images(rows[:_SHOWN]))) for rows in (truth, found))
    says = f"{quality['median PSNR, dB']:.0f} dB, SSIM {quality['median SSIM']:.2f}"
    return quality, Gallery(true=true, rebuilt=rebuilt, says=says)


def cosine(one: Mapping[str, NDArray[Any]], other: Mapping[str, NDArray[Any]]) -> float:
    """Return the mean cosine of releases with the same parameters; 0 where one of them is zero."""
    a, b = (np.concatenate([part.reshape(len(part), -1) for part in item.values()], axis=1) for item in (one, other))
    sizes = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(np.mean(np.einsum("nd,nd->n", a, b) / np.where(sizes > 0, sizes, np.inf)))

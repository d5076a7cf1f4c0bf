"""What defences of this channel do, as data, and what is known of a release behind them.

Some effects are orders that the client obeys whatever else stands there: what it does to its labels, how many samples
and steps are behind a release, which gradients stay at home. The others say what becomes of numbers. All samples are
changed first, in the order of the defences, then averaged, then the average is changed in the same order.

A proof about noise compares a release with the noise alone. It holds where the gradient under the noise is no longer
than the clip says, so a noise is *proved* only behind effects whose influence on that length is known: dropped entries
shorten, signs and levels and factors may lengthen. What comes after a proved noise costs it nothing, unless it changes
the samples before they reach it. Noise that was drawn in floating point proves nothing at all: its low bits tell a zero
from what is nearly zero (labelinf theory, corrections, D1).

Example:
    >>> from labelinf_gradients.game.effects import GaussianNoise
    >>> from labelinf_gradients.game.effects import NoiseAdded, NormClipped, GradientFacts, EntriesRounded
    >>> private = NoiseAdded(std=2.0, step=2**-20, proof=GaussianNoise(std=2.0))
    >>> facts = fold([NormClipped(norm=1.0), private], GradientFacts())
    >>> [proved.noise.std for proved in facts.proved], facts.clip, facts.noise_std
    ([2.0], 1.0, 2.0)
    >>> fold([NormClipped(norm=1.0), EntriesRounded(), private], GradientFacts()).proved
    ()
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import ClassVar

import attrs

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.effects import Effect, fold
from labelinf_gradients import certificates
from labelinf_privacy.noise.shipped import NOISE_MODELS

__all__ = [
    "EFFECTS",
    "VOCABULARY",
    "Batched",
    "Dropped",
    "EntriesRounded",
    "GaussianNoise",
    "GradientFacts",
    "LabelFamily",
    "LaplaceNoise",
    "Lengthened",
    "LocalSteps",
    "MixedPairs",
    "NoiseAdded",
    "NoiseProof",
    "NormClipped",
    "Proved",
    "Smoothed",
    "Withheld",
    "fold",
]


class LabelFamily(enum.Enum):
    """What a client does to its hard labels before training."""

    ONE_HOT = "one-hot"
    SMOOTHING = "smoothing"
    MIXUP = "mixup"


@attrs.frozen(kw_only=True)
class GradientFacts:
    """What is known of a release.

    Attributes:
        batch: Samples per released gradient.
        steps: Local steps of gradient descent behind one release; 1 is a plain gradient.
        rate: Step length of those steps.
        family: What clients do to their labels.
        smoothing: Largest smoothing factor, drawn anew for every sample.
        biases: Whether gradients of biases are released.
        clip: Largest Euclidean norm of one sample's gradient; infinity when it is not clipped.
        clip_sum: Largest 1-norm of one sample's gradient.
        altered: Whether entries are changed by something else than noise added to them.
        bounded: Whether the average is still no longer than the samples' clip, and free of noise.
        linear: Whether it still is the samples' average, so that one sample moves it by its share only.
        noises: All that is added, from the client outward.
        proved: Those whose proof holds as far as the stages in front of them are concerned.
    """

    batch: int = 1
    steps: int = 1
    rate: float = 0.0
    family: LabelFamily = LabelFamily.ONE_HOT
    smoothing: float = 0.5
    biases: bool = True
    clip: float = math.inf
    clip_sum: float = math.inf
    altered: bool = False
    bounded: bool = True
    linear: bool = True
    noises: tuple[NoiseAdded, ...] = ()
    proved: tuple[Proved, ...] = ()

    def unknown(self) -> GradientFacts:
        """Return what is left behind a stage that does not say what it does: the orders, which the client obeys."""
        worst = attrs.evolve(
            self, clip=math.inf, clip_sum=math.inf, altered=True, bounded=False, linear=False, proved=()
        )
        return attrs.evolve(worst, noises=(*self.noises, NoiseAdded(std=math.inf)))

    @property
    def noise_std(self) -> float:
        """Standard deviation of all noise together on every released entry."""
        return math.hypot(*(noise.std / (self.batch if noise.of_sum else 1) for noise in self.noises))

    @property
    def proportional(self) -> bool:
        """Whether a release of one sample is its gradient, up to rounding, times a positive factor that clips."""
        return not self.noises and not self.altered and self.steps == 1

    @property
    def clean(self) -> bool:
        """Whether a release is exactly the gradient of its batch, up to rounding."""
        return self.proportional and math.isinf(self.clip)

    @property
    def label_delta(self) -> float:
        """The delta that goes with :attr:`label_epsilon`: none."""
        return 0.0

    @property
    def label_epsilon(self) -> float:
        """Epsilon of label-DP; infinity without.

        The local steps of a whole batch move its network by every label: there one label changes all gradients.
        """
        alone, apart = self.batch == 1, self.steps == 1
        held = (item.noise.proof.epsilon(self) for item in self.proved if alone or (apart and item.linear))
        return min(held, default=math.inf)


@attrs.frozen(kw_only=True)
class NoiseProof:
    """What a noise on a grid denies to every attack on one sample whose gradient is no longer than the clip.

    Nothing, of noise drawn in floating point, and of all whose proof nobody has written down.
    """

    statement: ClassVar[str] = ""

    def accuracy(self, facts: GradientFacts, prior: Sequence[float]) -> float:
        """Return the largest accuracy of any attack; 1 where the proof says nothing."""
        return 1.0

    def overlap(self, facts: GradientFacts, blind: float) -> float:
        """Return the largest mean overlap with the labels of a batch, which is ``blind`` without a release."""
        return 1.0

    def hides(self, facts: GradientFacts, labellings: int) -> float:
        """Return how often a release is, in effect, drawn from a law of no label: the mass that all laws share."""
        return 0.0

    def epsilon(self, facts: GradientFacts) -> float:
        """Return the epsilon of label-DP that one release has; infinity where it has none."""
        return math.inf


@attrs.frozen(kw_only=True)
class GaussianNoise(NoiseProof):
    """Normal noise rounded to the grid on which the sum of a batch lies: what rounding noise and sum together gives.

    Attributes:
        std: Standard deviation on the sum.
        exposures: Releases that one sample takes part in; the proof covers all of them together.
        whole: Whether the clip is of all that is sent together, and not of every sample.
    """

    statement: ClassVar[str] = "labelinf theory, certificates: Gaussian"

    std: float
    exposures: int = 1
    whole: bool = False

    def accuracy(self, facts: GradientFacts, prior: Sequence[float]) -> float:
        """Return ``Phi(Phi^-1(1/K) + mu)``, ``mu = sqrt(exposures) clip / std``, for equal shares."""
        return 1.0 if math.isinf(facts.clip) else certificates.gaussian(self._mu(facts), prior)

    def overlap(self, facts: GradientFacts, blind: float) -> float:
        """Return what is left of a batch, see :func:`labelinf_gradients.certificates.gaussian_overlap`."""
        return 1.0 if math.isinf(facts.clip) else certificates.gaussian_overlap(self._mu(facts), blind, self._of(facts))

    def hides(self, facts: GradientFacts, labellings: int) -> float:
        """Return the mass that all laws share, see :func:`labelinf_gradients.certificates.gaussian_shared`."""
        far = math.isinf(facts.clip)
        return 0.0 if far else certificates.gaussian_shared(self._of(facts) * self._mu(facts), labellings)

    def _of(self, facts: GradientFacts) -> int:
        """Return how many clips a release is long at most."""
        return 1 if self.whole else facts.batch

    def _mu(self, facts: GradientFacts) -> float:
        return math.sqrt(self.exposures) * facts.clip / self.std


@attrs.frozen(kw_only=True)
class LaplaceNoise(NoiseProof):
    """Laplace noise of scale ``2 S / epsilon`` rounded to the grid on which the sum of a batch lies.

    Attributes:
        norm: S, the 1-norm that it hides.
        privacy: Epsilon.
    """

    statement: ClassVar[str] = "labelinf theory, certificates: Laplace"

    norm: float
    privacy: float

    @property
    def scale(self) -> float:
        """Of the noise on the sum, rounded up: noise one rounding smaller would prove one rounding less."""
        return math.nextafter(2 * self.norm / self.privacy, math.inf)

    def accuracy(self, facts: GradientFacts, prior: Sequence[float]) -> float:
        """Return ``min(h / K, 1 - (1 - 1/K) / h)``, ``h = e^(epsilon / 2)``, for equal shares."""
        return certificates.laplace(self.privacy, prior) if facts.clip_sum <= self.norm else 1.0

    def overlap(self, facts: GradientFacts, blind: float) -> float:
        """Return what is left of a batch, see :func:`labelinf_gradients.certificates.laplace_overlap`."""
        fits = facts.clip_sum <= self.norm
        return certificates.laplace_overlap(self.privacy, blind, facts.batch) if fits else 1.0

    def hides(self, facts: GradientFacts, labellings: int) -> float:
        """Return ``e^(-B epsilon / 2)``: nothing is less probable, by more than that, than of the noise alone."""
        return math.exp(-facts.batch * self.privacy / 2) if facts.clip_sum <= self.norm else 0.0

    def epsilon(self, facts: GradientFacts) -> float:
        """Return epsilon where samples are as short as it takes."""
        return self.privacy if facts.clip_sum <= self.norm else math.inf


@attrs.frozen(kw_only=True)
class Proved:
    """A noise whose proof holds behind what stands in front of it.

    Attributes:
        noise: The noise.
        linear: Whether one sample moves what it hides by its share of the batch only.
    """

    noise: NoiseAdded
    linear: bool


@attrs.frozen(kw_only=True)
class Smoothed(Effect[GradientFacts]):
    """Labels are smoothed, with a factor of up to ``most`` drawn for every sample."""

    most: float

    def after(self, facts: GradientFacts) -> GradientFacts:
        """Return what is known of smoothed labels."""
        return attrs.evolve(facts, family=LabelFamily.SMOOTHING, smoothing=self.most)


@attrs.frozen(kw_only=True)
class MixedPairs(Effect[GradientFacts]):
    """Samples and labels are mixed in pairs, with a weight drawn for every pair."""

    def after(self, facts: GradientFacts) -> GradientFacts:
        """Return what is known of mixed labels."""
        return attrs.evolve(facts, family=LabelFamily.MIXUP)


@attrs.frozen(kw_only=True)
class Withheld(Effect[GradientFacts]):
    """Gradients of biases stay at home."""

    def after(self, facts: GradientFacts) -> GradientFacts:
        """Return what is known without them."""
        return attrs.evolve(facts, biases=False)


@attrs.frozen(kw_only=True)
class Batched(Effect[GradientFacts]):
    """A release is the mean of at least ``size`` samples' gradients."""

    size: int

    def after(self, facts: GradientFacts) -> GradientFacts:
        """Return what is known of the larger batch."""
        return attrs.evolve(facts, batch=max(facts.batch, self.size))


@attrs.frozen(kw_only=True)
class LocalSteps(Effect[GradientFacts]):
    """A release is the mean gradient of ``steps`` local steps of length ``rate``."""

    steps: int
    rate: float

    def after(self, facts: GradientFacts) -> GradientFacts:
        """Return what is known of several steps."""
        return attrs.evolve(facts, steps=self.steps, rate=self.rate)


@attrs.frozen(kw_only=True)
class NormClipped(Effect[GradientFacts]):
    """Every sample's gradient is scaled down to a norm.

    Attributes:
        norm: Largest norm.
        order: 2 for the Euclidean norm, 1 for the sum of absolute entries, which bounds the other too.
    """

    norm: float
    order: int = 2

    def after(self, facts: GradientFacts) -> GradientFacts:
        """Return how far samples reach. A noise in front of it no longer finds them on its grid."""
        return attrs.evolve(
            facts,
            clip=min(facts.clip, self.norm),
            clip_sum=min(facts.clip_sum, self.norm) if self.order == 1 else facts.clip_sum,
            proved=tuple(attrs.evolve(item, linear=False) for item in facts.proved),
        )


@attrs.frozen(kw_only=True)
class Lengthened(Effect[GradientFacts]):
    """Samples' own gradients may become longer."""

    def after(self, facts: GradientFacts) -> GradientFacts:
        """Return that no clip holds any more."""
        return attrs.evolve(facts, clip=math.inf, clip_sum=math.inf, altered=True)


@attrs.frozen(kw_only=True)
class Dropped(Effect[GradientFacts]):
    """Some entries of the average become zero; the others stay."""

    def after(self, facts: GradientFacts) -> GradientFacts:
        """Return that it is no longer, and no average any more."""
        return attrs.evolve(facts, altered=True, linear=False)


@attrs.frozen(kw_only=True)
class EntriesRounded(Effect[GradientFacts]):
    """Entries of the average become other numbers (signs, levels, multiples), which may be larger."""

    def after(self, facts: GradientFacts) -> GradientFacts:
        """Return that nothing bounds it any more."""
        return attrs.evolve(facts, altered=True, bounded=False, linear=False)


@attrs.frozen(kw_only=True)
class NoiseAdded(Effect[GradientFacts]):
    """Independent noise is added to every entry of the average.

    Attributes:
        std: Its standard deviation; infinity when it is not known.
        of_sum: It is made for the batch's sum, so that the average gets a batch's share of it.
        model: What it was drawn from in floating point; None of noise on a grid.
        step: Of the grid on which the noisy sum lies, fixed beforehand; 0 for noise drawn in floating point.
        proof: What it denies to every attack; needs a step.
    """

    std: float
    of_sum: bool = False
    model: NoiseModel | None = None
    step: float = 0.0
    proof: NoiseProof = attrs.field(factory=NoiseProof)

    def after(self, facts: GradientFacts) -> GradientFacts:
        """Return what is known of the noisy average. Another noise behind it does not find the average it hides."""
        sound = facts.bounded and self.step > 0 and type(self.proof) in (GaussianNoise, LaplaceNoise)
        proved = (*facts.proved, Proved(noise=self, linear=facts.linear)) if sound else facts.proved
        return attrs.evolve(facts, noises=(*facts.noises, self), proved=proved, bounded=False, linear=False)


EFFECTS: tuple[type[Effect[GradientFacts]], ...] = (
    Smoothed,
    MixedPairs,
    Withheld,
    Batched,
    LocalSteps,
    NormClipped,
    Lengthened,
    Dropped,
    EntriesRounded,
    NoiseAdded,
)  #: what a stage can say

VOCABULARY = NOISE_MODELS | (
    *EFFECTS,
    NoiseProof,
    GaussianNoise,
    LaplaceNoise,
)  #: with what effects may hold; a subclass, or what is of somebody else's making, is unknown

"""The contracts of noise: on what is released, and on labels."""

from __future__ import annotations

import abc
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LabelNoise", "Noise", "NoiseModel", "Weights"]

Weights = tuple[tuple[int, ...], ...]  #: row k: how many of the 2**64 words lead from label k to each answer


class Noise:
    """Randomness between private labels and what is released: :class:`NoiseModel`, or :class:`LabelNoise`."""


class LabelNoise(Noise, abc.ABC):
    """Noise on labels: an answer for every label, by a public law."""

    @abc.abstractmethod
    def weights(self, n_classes: int) -> Weights:
        """Return the law, exactly: K rows of K whole numbers, each row summing to ``2**64``.

        Raises:
            InputError: The parameters are not for K classes.
        """

    @abc.abstractmethod
    def label_epsilon(self, n_classes: int) -> float:
        """Return the epsilon of pure label-DP that it has, no less than what :meth:`weights` shows; infinity: none."""

    @abc.abstractmethod
    def sample(self, labels: NDArray[np.intp], n_classes: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return an answer for every label in 0..K-1, shape ``(n,)``, drawn by the law."""


class NoiseModel(Noise, abc.ABC):
    """A distribution of noise, with what the adversary may know of it.

    Additive by default. A multiplicative model (``multiplicative = True``) draws factors instead of terms.
    """

    multiplicative: bool = False

    @property
    def grid(self) -> float:
        """Step of the grid that value and noise are put on together; 0: none, and then nothing is certified."""
        return 0.0

    @abc.abstractmethod
    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values, shape ``(size,)``."""

    @property
    def bound(self) -> float:
        """Largest absolute value (of the factor minus one, when multiplicative); infinity, unless a model has one."""
        return math.inf

    @property
    @abc.abstractmethod
    def std(self) -> float:
        """Standard deviation; infinity when it does not exist."""

    @abc.abstractmethod
    def tail(self, delta: float) -> float:
        """A tau with P(abs(noise) > tau) <= ``delta``, for 0 < ``delta`` < 1 (ICML 2021, Definition 6)."""

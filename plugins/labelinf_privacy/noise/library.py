"""Noise of IBM's diffprivlib (Holohan et al., 2019), drawn by the library itself, to be evaluated like any other.

Whoever deploys diffprivlib can play the attacks against what it really draws. Its samplers are made to withstand
inversion: Laplace noise is a sum over four uniform draws (Holohan and Braghin, ESORICS 2021), normal noise a mean of
two. That defeats the attack on NumPy's sampler, which has one draw to find. It does not make the *release* safe: score
and noise are added in floats, on no grid, and where the noise is larger than the answer the units of doubles betray
the score whatever drew the noise. So, as all noise that is added in floats, it carries **no certificate** here; its
``geometric`` is on the integers, but inverts a 53-bit uniform draw, which reaches finitely many of them, and is not
proved either. Certified noise is drawn and added on a grid: :mod:`labelinf_privacy.noise.grid`.

The library draws one number at a time (about 5 microseconds), and is imported when first used (about a second).
``Vector`` perturbs a loss that is to be minimised and not a value: there is nothing here that it could be added to.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.gate import positive
from labelinf_privacy.noise.analytic_gaussian import AnalyticGaussian
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_privacy.noise.geometric import Geometric
from labelinf_privacy.noise.laplace import Laplace
from labelinf_privacy.noise.staircase import Staircase

__all__ = ["Library", "Mechanism"]


class Mechanism(enum.Enum):
    """What diffprivlib calls it."""

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"
    GAUSSIAN_ANALYTIC = "gaussian-analytic"
    GEOMETRIC = "geometric"
    STAIRCASE = "staircase"


@attrs.frozen(kw_only=True, slots=False)
class Library(NoiseModel):
    """What ``mechanism`` of diffprivlib adds to a value.

    Attributes:
        mechanism: Whose noise.
        epsilon: Of one answer, more than 0; at most 1 for ``gaussian``.
        delta: For the Gaussian mechanisms, in (0, 1); the others have none.
        sensitivity: In units of what is released, more than 0; a whole number for ``geometric``.
    """

    mechanism: Mechanism = Mechanism.LAPLACE
    epsilon: float = attrs.field(default=1.0, validator=positive)
    delta: float = attrs.field(default=1e-6, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])
    sensitivity: float = attrs.field(default=1.0, validator=positive)

    @sensitivity.validator
    def _fits(self, attribute: attrs.Attribute[float], value: float) -> None:
        if self.mechanism is Mechanism.GEOMETRIC and value != round(value):
            raise ValueError(
                f"sensitivity={value} must be a whole number for geometric noise, which is on the integers"
            )
        if self.mechanism is Mechanism.GAUSSIAN and self.epsilon > 1:
            raise ValueError(f"epsilon={self.epsilon} must be <= 1 for gaussian; gaussian-analytic takes any")

    @property
    def law(self) -> NoiseModel:
        """The distribution that the library means to draw from."""
        match self.mechanism:
            case Mechanism.LAPLACE:
                return Laplace(scale=self.sensitivity / self.epsilon)
            case Mechanism.GAUSSIAN:  # Dwork and Roth, 2014, Theorem A.1
                return Gaussian(scale=self.sensitivity * math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon)
            case Mechanism.GAUSSIAN_ANALYTIC:
                return AnalyticGaussian(epsilon=self.epsilon, delta=self.delta, sensitivity=self.sensitivity)
            case Mechanism.GEOMETRIC:
                return Geometric(scale=self.sensitivity / self.epsilon, step=1.0)
            case Mechanism.STAIRCASE:
                return Staircase(epsilon=self.epsilon, sensitivity=self.sensitivity)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` values, one after the other, from one seed that ``rng`` gives, shape ``(size,)``."""
        drawing = self._drawing(int(rng.integers(2**31)))
        return np.array([drawing.randomise(0) for _ in range(size)], dtype=np.float64)

    def _drawing(self, seed: int) -> Any:
        from diffprivlib import mechanisms

        settings: dict[str, Any] = {"epsilon": self.epsilon, "sensitivity": self.sensitivity, "random_state": seed}
        match self.mechanism:
            case Mechanism.LAPLACE:
                return mechanisms.Laplace(**settings)
            case Mechanism.GAUSSIAN:
                return mechanisms.Gaussian(**settings, delta=self.delta)
            case Mechanism.GAUSSIAN_ANALYTIC:
                return mechanisms.GaussianAnalytic(**settings, delta=self.delta)
            case Mechanism.GEOMETRIC:
                return mechanisms.Geometric(**settings | {"sensitivity": round(self.sensitivity)})
            case Mechanism.STAIRCASE:
                return mechanisms.Staircase(**settings)

    @property
    def std(self) -> float:
        """That of the law."""
        return self.law.std

    def tail(self, delta: float) -> float:
        """That of the law."""
        return self.law.tail(delta)

"""Noise from any continuous distribution of SciPy, by its name there."""

from __future__ import annotations

import functools
import math
from typing import Any

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.gate import positive
from labelinf_privacy.noise.quantiles import central_bound

__all__ = ["Distribution"]


@attrs.frozen(kw_only=True, slots=False)
class Distribution(NoiseModel):
    """``scale`` times a draw of ``scipy.stats``'s distribution ``family`` (Aggarwal et al., ICML 2021, Theorem 9).

    Attributes:
        family: Name in ``scipy.stats``, for example ``"t"``, ``"logistic"`` or ``"gumbel_r"``.
        shape: Its shape parameters, in SciPy's order; ``[3]`` for ``"t"`` with 3 degrees of freedom.
        scale: In units of the score, more than 0.
    """

    family: str = attrs.field(default="logistic")
    shape: tuple[float, ...] = attrs.field(default=(), converter=tuple)
    scale: float = attrs.field(default=0.01, validator=positive)

    @family.validator
    def _exists(self, attribute: attrs.Attribute[str], value: str) -> None:
        if not isinstance(getattr(scipy.stats, value, None), scipy.stats.rv_continuous):
            raise ValueError(
                f"family={value!r} must be a continuous distribution of scipy.stats, for example 'logistic'"
            )

    @shape.validator
    def _fits(self, attribute: attrs.Attribute[tuple[float, ...]], value: tuple[float, ...]) -> None:
        family = getattr(scipy.stats, self.family)
        if len(value) != family.numargs or not family._argcheck(*value):
            raise ValueError(
                f"shape={list(value)} must be {family.numargs} valid shape parameters of {self.family!r} "
                f"({family.shapes or 'it has none'})"
            )

    @functools.cached_property
    def _frozen(self) -> Any:
        return getattr(scipy.stats, self.family)(*self.shape, scale=self.scale)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values, shape ``(size,)``."""
        return np.asarray(self._frozen.rvs(size=size, random_state=rng), dtype=np.float64)

    @property
    def bound(self) -> float:
        """The larger end of the support."""
        return float(np.abs(self._frozen.support()).max())

    @property
    def std(self) -> float:
        """Infinity where it does not exist."""
        std = float(self._frozen.std())
        return math.inf if math.isnan(std) else std

    def tail(self, delta: float) -> float:
        """From the quantiles at ``delta / 2`` and ``1 - delta / 2``."""
        return central_bound(lambda level: float(self._frozen.ppf(level)), delta)

"""The noise models that ship: the exact types whose bounds and deviations proofs may use."""

from __future__ import annotations

from labelinf_privacy.noise.analytic_gaussian import AnalyticGaussian
from labelinf_privacy.noise.chi_square import ChiSquare
from labelinf_privacy.noise.discrete_gaussian import DiscreteGaussian
from labelinf_privacy.noise.distribution import Distribution
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_privacy.noise.geometric import Geometric
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_privacy.noise.laplace import Laplace
from labelinf_privacy.noise.library import Library
from labelinf_privacy.noise.multiplicative import Multiplicative
from labelinf_privacy.noise.quantiles import Quantiles
from labelinf_privacy.noise.staircase import Staircase
from labelinf_privacy.noise.sub_exponential import SubExponential
from labelinf_privacy.noise.two_point import TwoPoint
from labelinf_privacy.noise.uniform import Uniform

__all__ = ["NOISE_MODELS"]

NOISE_MODELS: tuple[type, ...] = (
    AnalyticGaussian,
    ChiSquare,
    DiscreteGaussian,
    Distribution,
    Gaussian,
    Geometric,
    GridGaussian,
    GridLaplace,
    Laplace,
    Library,
    Multiplicative,
    Quantiles,
    Staircase,
    SubExponential,
    TwoPoint,
    Uniform,
)  #: a model that derives from one of these is somebody's own

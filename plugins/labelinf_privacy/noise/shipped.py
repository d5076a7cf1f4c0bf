"""The noise models that ship: the exact types whose bounds and deviations proofs may use."""

from __future__ import annotations

from labelinf_core.contracts.effects import TypesByName

__all__ = ["NOISE_MODELS"]

NOISE_MODELS = TypesByName.of(
    "labelinf_privacy.noise",
    {
        "analytic_gaussian": ("AnalyticGaussian",),
        "chi_square": ("ChiSquare",),
        "discrete_gaussian": ("DiscreteGaussian",),
        "distribution": ("Distribution",),
        "gaussian": ("Gaussian",),
        "geometric": ("Geometric",),
        "grid_gaussian": ("GridGaussian",),
        "grid_laplace": ("GridLaplace",),
        "laplace": ("Laplace",),
        "library": ("Library",),
        "multiplicative": ("Multiplicative",),
        "quantiles": ("Quantiles",),
        "staircase": ("Staircase",),
        "sub_exponential": ("SubExponential",),
        "two_point": ("TwoPoint",),
        "uniform": ("Uniform",),
    },
)  #: a model that derives from one of these is somebody's own

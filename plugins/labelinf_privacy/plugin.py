"""Registers the noise models. Imports nothing numerical."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelinf_core import Descriptor, Kind, Reference, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterator

labelinf_contract = 1

_ICML = "Aggarwal et al., ICML 2021"


def _noise(name: str, summary: str, work: str, statement: str, target: str) -> Descriptor:
    return Descriptor(
        kind=Kind.NOISE,
        name=name,
        summary=summary,
        reference=Reference(work=work, statement=statement),
        target=f"labelinf_privacy.noise.{target}",
    )


_MODELS = (
    _noise("uniform", "uniform on [-tau, tau]", _ICML, "Definition 4", "uniform:Uniform"),
    _noise("two-point", "tau or -tau, each half of the time", _ICML, "Definition 4", "two_point:TwoPoint"),
    _noise("quantiles", "any distribution, by its quantiles", _ICML, "Theorem 9", "quantiles:Quantiles"),
    _noise(
        "distribution", "any continuous distribution of scipy.stats", _ICML, "Theorem 9", "distribution:Distribution"
    ),
    _noise(
        "sub-exponential",
        "any noise that is subE(lambda^2, nu)",
        _ICML,
        "Lemma 8 and Theorem 10, repaired (I-17)",
        "sub_exponential:SubExponential",
    ),
    _noise(
        "chi-square", "centred chi-square: subE(4, 4)", _ICML, "Appendix B.4, repaired (I-17)", "chi_square:ChiSquare"
    ),
    _noise(
        "multiplicative",
        "a factor in [1 - alpha, 1 + alpha]",
        _ICML,
        "Theorem 11, repaired (I-18, I-19)",
        "multiplicative:Multiplicative",
    ),
    _noise("laplace", "double exponential: pure DP", "Dwork et al., TCC 2006", "Proposition 1", "laplace:Laplace"),
    _noise("gaussian", "normal: Gaussian DP", "Dong, Roth and Su, JRSS B 2022", "Theorem 2.7", "gaussian:Gaussian"),
    _noise(
        "analytic-gaussian",
        "normal, the least that is (epsilon, delta)-DP",
        "Balle and Wang, ICML 2018",
        "Theorem 8",
        "analytic_gaussian:AnalyticGaussian",
    ),
    _noise(
        "geometric",
        "discrete Laplace on a grid: pure DP of rounded scores",
        "Ghosh, Roughgarden and Sundararajan, STOC 2009",
        "Section 2",
        "geometric:Geometric",
    ),
    _noise(
        "staircase",
        "the pure-DP noise of least mean error",
        "Geng and Viswanath, IEEE Trans. Inf. Theory 2016",
        "Theorem 1",
        "staircase:Staircase",
    ),
)


@hookimpl
def labelinf_noise_models() -> Iterator[Descriptor]:
    """Yield the noise models of the papers and of differential privacy."""
    return iter(_MODELS)

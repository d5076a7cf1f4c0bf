"""Random noise on every answer: what it denies to every attack that spends the query budget.

Each answer moves by at most the sensitivity ``L / N`` when one label changes. Gaussian noise of standard deviation s
makes q adaptive answers exactly ``L sqrt(q) / (N s)``-Gaussian-DP; Laplace noise makes them a product of Laplace
pairs; any other pure DP is at worst a product of randomised responses.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import attrs
import scipy

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.statistics.profiles import Profile
from labelinf_privacy.composition import PureProduct
from labelinf_privacy.label_dp import accuracy, gaussian_mu_for
from labelinf_privacy.laplace_product import LaplaceProduct
from labelinf_privacy.noise.grid import GridNoise
from labelinf_scores.bounds.common import EXACT_NOISE, any_score, counts_allowance, independent
from labelinf_scores.bounds.groups import alike, on_average
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["PrivateScores", "profiles"]


@attrs.frozen(kw_only=True)
class PrivateScores(Bound):
    """Ceilings from private noise over the query budget, and how much noise a target needs.

    Attributes:
        gain: What attacks may gain over the majority guess, for the noise that suffices: a share of what there is to
            gain, in (0, 1). The default is 60 % of the labels of two equal classes.
    """

    gain: float = attrs.field(default=0.2, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """One ceiling for every private model of noise between, and one for labels perturbed anew every time."""
        facts = any_score(threat)
        if facts is None or facts.members or facts.query_budget is None or math.isinf(facts.span):
            return ()
        return tuple(self._ceilings(facts, facts.query_budget))

    def _ceilings(self, facts: ScoreThreat, queries: int) -> Iterator[Ceiling]:
        for title, profile in profiles(facts, queries):
            against = functools.partial(_against, profile, facts.prior)
            reached, allowance = on_average(facts, against), counts_allowance(facts, against)
            yield Ceiling(
                accuracy=reached,
                exact=min(1.0, reached + allowance),
                statement="labelinf theory, noise over the query budget",
                conditions=f"{title}, {queries} queries; {independent(facts)}; {EXACT_NOISE}",
                allowance=allowance,
            )

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """The Gaussian and the Laplace scale that hold every attack to the target."""
        facts = any_score(threat)
        if facts is None or facts.members or facts.query_budget is None or facts.baseline == 1:
            return ()
        groups = alike(facts)
        if groups is None or not facts.facts.neighbours_scored:  # the counts, or a refusal, may tell every label
            return ()
        target, shift = facts.baseline + self.gain * (1 - facts.baseline), groups[0] * facts.shift
        return (
            _gaussian_needed(facts, facts.query_budget, target, shift),
            _laplace_needed(facts, facts.query_budget, target, shift),
        )


def profiles(facts: ScoreThreat, queries: int) -> Iterator[tuple[str, Callable[[int], Profile]]]:
    """Yield what every private stage gives away when the labels of so many records change."""
    for model, steps in facts.facts.private_noise():
        title = f"{type(model).__name__} noise of scale {model.scale:.4g} on a grid of {model.step:.4g}"
        yield title, functools.partial(_noise, model, steps, queries)
    if math.isfinite(facts.answer_epsilon):
        yield (
            f"labels perturbed anew, epsilon {facts.answer_epsilon:.4g} an answer",
            lambda moved: PureProduct(epsilon=moved * facts.answer_epsilon, queries=queries),
        )


def _noise(model: GridNoise, steps: Fraction, queries: int, moved: int) -> Profile:
    return model.privacy(moved * steps, queries)


def _against(profile: Callable[[int], Profile], prior: tuple[float, ...], moved: int) -> float:
    """Return the largest accuracy on a label that so many records tell."""
    return accuracy(profile(moved), prior)


def _gaussian_needed(facts: ScoreThreat, queries: int, target: float, shift: float) -> BoundValue:
    mu = gaussian_mu_for(target, facts.prior)
    return BoundValue(
        title=f"Gaussian noise that holds every attack to {target:.1%} of labels",
        direction=Direction.CEILING,
        quantity="noise",
        value=shift * math.sqrt(queries) / mu,
        formula="s = m L sqrt(q) / (N mu), m records a group; two equal classes: mu = 2 Phi^-1(a)",
        conditions=f"standard deviation, {queries} adaptive queries; {independent(facts, counted=False)}",
        statement="Dong, Roth and Su, JRSS B 2022, Corollary 3.3; labelinf theory, Gaussian noise",
    )


def _laplace_needed(facts: ScoreThreat, queries: int, target: float, shift: float) -> BoundValue:
    return BoundValue(
        title=f"Laplace scale that holds every attack to {target:.1%} of labels",
        direction=Direction.CEILING,
        quantity="noise",
        value=shift / _laplace_epsilon(queries, facts.prior, target) if math.isfinite(facts.span) else math.inf,
        formula="b = m L / (N eps0), m records a group, eps0 from the product of q Laplace pairs",
        conditions=f"scale b, {queries} adaptive queries; {independent(facts, counted=False)}",
        statement="Dwork et al., TCC 2006, Proposition 1; labelinf theory, Laplace noise",
    )


@functools.lru_cache(maxsize=64)
def _laplace_epsilon(queries: int, prior: tuple[float, ...], target: float) -> float:
    """Return the epsilon of one answer with which ``queries`` of them reach the target exactly."""

    def excess(epsilon: float) -> float:
        return accuracy(LaplaceProduct(epsilon=epsilon, queries=queries), prior) - target

    low = high = gaussian_mu_for(target, prior) / math.sqrt(queries)
    while excess(low) > 0:
        low /= 2
    while excess(high) < 0:
        high *= 2
    return float(scipy.optimize.brentq(excess, low, high, rtol=1e-6))

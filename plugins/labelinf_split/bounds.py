"""What no feature party can guess more of, whatever it does: behind Gaussian noise, and behind randomised labels.

:mod:`labelinf_split.defences.published` and :mod:`labelinf_split.defences.certified` say where nothing is, and why.
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, PerGame
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.statistics.profiles import normal_cdf, normal_quantile
from labelinf_privacy.label_dp import likeliest, pure_accuracy, pure_exact
from labelinf_split.game.view import SplitThreat

__all__ = ["CutCeilings"]

_ROUNDED = 1e-12  # what the arithmetic of a ceiling may lack
_UNIFORM = "clean labels are used for nothing else, no validation, no early stopping; labels uniform and independent"


@attrs.frozen(kw_only=True)
class CutCeilings(Bound):
    """``Phi(Phi^-1(1 / K) + shift)`` behind noise (V14, V17), ``e^eps / (e^eps + K - 1)`` behind drawn labels (V16).

    Guesses of probability ``a_y`` under the reference are right with ``sum_y Phi(Phi^-1(a_y) + shift) / K`` at most,
    which is concave in a, and all ``a_y`` sum to 1.

    It holds in every game. Given what was released labels are independent, and a release of one record moves what is
    known of that record alone. So what all can still be guessed with are supermartingales of which one moves at a time,
    and the probability of k right guesses, which is linear in each of them, is at most that of as many coins.
    """

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """One line for every ceiling."""
        formula = "Phi(Phi^-1(1/K) + sqrt(T) S / s), or e^eps / (e^eps + K - 1)"
        return tuple(each.line("labels of a split run", formula) for each in self.ceilings(threat))

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """The ceilings; none where a condition is not met."""
        if not isinstance(threat, SplitThreat):
            return ()
        found, facts, epsilon = [], threat.facts, threat.label_epsilon
        if math.isfinite(facts.shift):
            most = min(1.0, normal_cdf(normal_quantile(1 / threat.n_classes) + facts.shift) + _ROUNDED)
            said = f"{facts.releases} releases a person in all; noise of a scale that depends on no data"
            found.append(_ceiling("V14", said, most, most, most))
        if math.isfinite(epsilon):
            said = f"label-DP, epsilon = {epsilon:.4g}, one stored draw a person, over all runs and restarts"
            most, exact = pure_accuracy(epsilon, threat.prior), pure_exact(epsilon, threat.prior, threat.n_records)
            found.append(_ceiling("V16", said, most, exact, likeliest(epsilon, max(threat.prior))))
        return tuple(found)


def _ceiling(number: str, said: str, accuracy: float, exact: float, share: float) -> Ceiling:
    where, conditions = f"labelinf theory, split, {number}", f"{said}; {_UNIFORM}"
    return Ceiling(accuracy=accuracy, exact=exact, statement=where, conditions=conditions, game=PerGame(share=share))

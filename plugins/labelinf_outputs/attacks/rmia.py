"""RMIA for labels: robust likelihood ratios against a population (after Zarifzadeh, Liu and Shokri, ICML 2024).

Membership of x is scored by the share of a population z that it beats,

    Pr_z[ LR(x) / LR(z) >= gamma ],     LR(x) = p(x | victim) / E p(x | reference models).

Here x is "record i has label k", its probability that of class k, and the population all such pairs of other records
and of labels nobody claims: only one in K of them was trained on. The rank in a population, instead of a ratio that is
taken at its word, makes records comparable, so it says how sure a guess is; within a record the class with the largest
ratio is guessed. References trained on a label and not stand for the mean with equal weight, as far as there are both.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_outputs.attacks.answering import AbstainingAttack, best_class, lead
from labelinf_outputs.attacks.calibrated import needs_references
from labelinf_outputs.game.memorisation import with_and_without
from labelinf_outputs.game.output import OutputOracle, OutputThreat, References

__all__ = ["Rmia", "mean_log_probability"]

Floats = NDArray[np.float64]


def mean_log_probability(references: References) -> Floats:
    """Return the logarithm of what references say on average, in and out weighing the same, shape ``(n, K)``."""
    said = np.exp(references.log_probabilities)
    own = references.trained[:, :, None] == np.arange(said.shape[2])
    with_label, without, inside, outside = with_and_without(said, own)
    mean = np.where(inside & outside, (with_label + without) / 2, said.mean(axis=0))
    return np.log(np.maximum(mean, 1e-300))


@attrs.frozen(kw_only=True)
class Rmia(AbstainingAttack):
    """Guesses the class whose likelihood ratio is largest; how sure is said by its rank in the population.

    Attributes:
        gamma: By which factor a member of the population must be beaten, at least 1.
        abstain: Share of the canaries on which it declines, in [0, 1).
    """

    gamma: float = attrs.field(default=2.0, validator=attrs.validators.ge(1))

    def missing_requirement(self, threat: OutputThreat) -> str:
        """It needs references to compare with."""
        return needs_references(threat, 1)

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        """Compare with references, rank in the population; the lead in rank is the confidence, then that in ratio."""
        ratios = oracle.query().log_probabilities - mean_log_probability(oracle.references())
        population = np.sort(ratios, axis=None)
        beaten = np.searchsorted(population, ratios - math.log(self.gamma), side="right") / population.size
        # The rank takes few values where records are few: the ratio itself decides between equals.
        return self.answer(best_class(ratios), lead(beaten) + 1e-9 * np.tanh(lead(ratios)))

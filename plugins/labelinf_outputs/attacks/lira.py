"""The likelihood-ratio attack for labels (after Carlini et al., IEEE S&P 2022).

For every canary and class, the log-odds ``log p_k - log(1 - p_k)`` of the reference models are two samples: from models
that were trained on that label, and from the others. Each gets a Gaussian; the class with the largest log-likelihood
ratio of the victim's log-odds is guessed. Few references determine a variance badly, so each is drawn half-way to the
mean variance of all canaries; a canary whose label no reference was trained on borrows the mean shift.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_outputs.attacks.answering import AbstainingAttack, best_class, lead
from labelinf_outputs.attacks.calibrated import needs_references
from labelinf_outputs.game.memorisation import with_and_without
from labelinf_outputs.game.output import OutputOracle, OutputThreat, References

__all__ = ["Lira", "log_odds", "log_ratios"]

Floats = NDArray[np.float64]

_LEAST = 4
_TINY = 1e-12


def log_odds(log_probabilities: Floats) -> Floats:
    """Return ``log p_k - log(1 - p_k)``, computed from the other classes so that it does not saturate.

    The sum over the others is what stands before plus what stands behind: two running sums, O(K).
    """
    before, behind = (np.full_like(log_probabilities, -np.inf) for _ in range(2))
    before[..., 1:] = np.logaddexp.accumulate(log_probabilities[..., :-1], axis=-1)
    behind[..., :-1] = np.logaddexp.accumulate(log_probabilities[..., :0:-1], axis=-1)[..., ::-1]
    return np.asarray(log_probabilities - np.logaddexp(before, behind))


def log_ratios(victim: Floats, references: References) -> Floats:
    """Return the log-likelihood ratio of every class, shape ``(n, K)``.

    Args:
        victim: Log-probabilities, shape ``(n, K)``.
        references: Reference models.
    """
    seen, said = log_odds(victim), log_odds(references.log_probabilities)
    own = references.trained[:, :, None] == np.arange(seen.shape[1])
    with_label, without = _means(said, own)
    high, low = _variances(said - with_label, own), _variances(said - without, ~own)
    return _log_density(seen, with_label, high) - _log_density(seen, without, low)


def _means(said: Floats, own: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    with_label, without, inside, outside = with_and_without(said, own)
    both = inside & outside
    shift = float((with_label - without)[both].mean()) if both.any() else 0.0
    return np.where(inside, with_label, without + shift), np.where(outside, without, with_label - shift)


def _variances(deviations: Floats, used: NDArray[np.bool_]) -> Floats:
    counts = used.sum(axis=0)
    squares = np.where(used, deviations**2, 0).sum(axis=0)
    enough = counts > 1
    pooled = squares[enough].sum() / max((counts[enough] - 1).sum(), 1)
    each = np.where(enough, squares / np.maximum(counts - 1, 1), pooled)
    return np.asarray((each + pooled) / 2 + _TINY)


def _log_density(x: Floats, mean: Floats, variance: Floats) -> Floats:
    return np.asarray(-((x - mean) ** 2) / (2 * variance) - np.log(variance) / 2)


@attrs.frozen(kw_only=True)
class Lira(AbstainingAttack):
    """Guesses the class with the largest likelihood ratio; needs four reference models.

    Attributes:
        abstain: Share of the canaries on which it declines, in [0, 1).
    """

    def missing_requirement(self, threat: OutputThreat) -> str:
        """It needs enough reference models for a variance."""
        return needs_references(threat, _LEAST)

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        """Weigh the victim against the references; the lead of the best class is the confidence."""
        ratios = log_ratios(oracle.query().log_probabilities, oracle.references())
        return self.answer(best_class(ratios), lead(ratios))

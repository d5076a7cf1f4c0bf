"""A learned attack: how the evidence is weighed is learned from the reference models, whose labels are known.

Each reference in turn plays the victim for the others, which gives as many examples as there are references times
canaries: for every class k of every canary what the victim says (its log-odds), what the references say of it, how that
compares (:mod:`~labelinf_outputs.attacks.calibrated`) and the likelihood ratio (:mod:`~labelinf_outputs.attacks.lira`);
and the label that was planted. A conditional logit (McFadden, 1974),

    P(label = k) proportional to exp(w . evidence_k),

is fitted to them by Newton's method with a small ridge, and read for the real victim. Nothing of the victim enters the
fit. The evidence is per class, so that there is one vector w whatever K.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_outputs.attacks.answering import AbstainingAttack, best_class, lead
from labelinf_outputs.attacks.calibrated import balanced_base, needs_references
from labelinf_outputs.attacks.lira import log_odds, log_ratios
from labelinf_outputs.game.output import OutputOracle, OutputThreat, References

__all__ = ["Learned", "evidence", "fit"]

Floats = NDArray[np.float64]

_LEAST = 3
_PLAYERS = 8  # references that play the victim
_LARGEST = 30.0  # evidence beyond this says no more
_RIDGE = 1e-3
_STEPS = 50
_ENOUGH = 500_000  # classes of canaries, over all players, to learn from


def evidence(victim: Floats, references: References) -> Floats:
    """Return what speaks for every class of every canary, shape ``(n, K, F)``.

    Args:
        victim: Log-probabilities, shape ``(n, K)``.
        references: Models that know nothing of the victim's labels.
    """
    base = balanced_base(references)
    ratios = log_ratios(victim, references)
    gain = victim - base
    parts = [log_odds(victim), base, gain - gain.mean(axis=1, keepdims=True), ratios, np.tanh(ratios)]
    return np.asarray(np.clip(np.stack(parts, axis=2), -_LARGEST, _LARGEST))


def fit(found: Floats, labels: NDArray[np.intp]) -> Floats:
    """Return the weights of a conditional logit, shape ``(F,)``.

    Args:
        found: Evidence, shape ``(n, K, F)``.
        labels: Classes 0..K-1, shape ``(n,)``.
    """
    chosen = found[np.arange(labels.size), labels].mean(axis=0)
    weights = np.zeros(found.shape[2])
    scale = found.std(axis=(0, 1)) ** 2 + 1e-12
    for _ in range(_STEPS):
        shares = _shares(found @ weights)
        expected = np.einsum("nk,nkf->nf", shares, found)
        gradient = chosen - expected.mean(axis=0) - _RIDGE * scale * weights
        spread = np.einsum("nk,nkf,nkg->fg", shares, found, found) - expected.T @ expected
        step = np.linalg.solve(spread / labels.size + np.diag(_RIDGE * scale), gradient)
        size = np.abs(step * np.sqrt(scale)).max()
        weights += step / max(size, 1.0)
        if size < 1e-8:
            break
    return np.asarray(weights)


def _shares(scores: Floats) -> Floats:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _thinned(references: References, players: int) -> References:
    """Return references that say no more than a few weights need: every second canary, every third, and so on."""
    every = -(-players * references.log_probabilities[0].size // _ENOUGH)
    rows = np.s_[:, ::every]
    return References(
        log_probabilities=references.log_probabilities[rows],
        planted=references.planted[rows],
        trained=references.trained[rows],
    )


@attrs.frozen(kw_only=True)
class Learned(AbstainingAttack):
    """Guesses the class for which the evidence speaks, weighed as it pays on reference models; needs three of them.

    Attributes:
        abstain: Share of the canaries on which it declines, in [0, 1).
    """

    def missing_requirement(self, threat: OutputThreat) -> str:
        """It needs references that can play the victim for others."""
        return needs_references(threat, _LEAST)

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        """Learn the weights, then weigh; the lead of the best class is the confidence."""
        references = oracle.references()
        players = range(min(len(references.planted), _PLAYERS))
        some = _thinned(references, len(players))
        rehearsed = [evidence(some.log_probabilities[player], some.without(player)) for player in players]
        weights = fit(np.concatenate(rehearsed), some.planted[: len(players)].ravel())
        scores = evidence(oracle.query().log_probabilities, references) @ weights
        return self.answer(best_class(scores), lead(scores))

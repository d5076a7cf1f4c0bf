"""Randomised response: labels are perturbed before anything is scored (Warner, JASA 1965).

A label is kept with probability ``e**eps / (e**eps + K - 1)`` and otherwise replaced by another class, each as likely.
Perturbed once, whatever is computed afterwards is post-processing: the guarantee holds for any number of queries, which
no other defence of this channel can say at so small a price. Perturbed anew for every query, it composes.

The score of perturbed labels leans towards a blind guess. Since a perturbed label k costs on average
``(keep - r) cost(label) + r sum_j cost(j)`` with ``r = (1 - keep) / (K - 1)``, the *debiased* score
``(S(perturbed) - r sum_j S(all j)) / (keep - r)`` is right on average, and noisier by ``1 / (keep - r)``.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import TunableParameter
from labelinf_core.contracts.threat import ThreatModel
from labelinf_privacy.label_noise.exact import no_less
from labelinf_privacy.randomised_response import keep_probability, perturb
from labelinf_scores.defences.answers import combined
from labelinf_scores.defences.placing import need_nothing_random_nearer
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Perturbed, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["PerturbedLabels"]


@attrs.frozen(kw_only=True)
class PerturbedLabels(ScoreDefence):
    """Scores perturbed labels.

    Stage: the labels. Guarantee: pure label-DP with ``epsilon``, once for any number of queries, or for every single
    answer when ``fresh``. Utility: a bias towards a blind guess's score, or its price in noise when ``debiased``.

    Attributes:
        epsilon: Label-DP, more than 0; of the whole game, or of one answer when ``fresh``.
        fresh: Whether every query has labels perturbed anew.
        debiased: Whether the released score is corrected to be right on average.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    fresh: bool = False
    debiased: bool = False

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that scores perturbed labels."""
        perturbing = _Perturbing(self.epsilon, threat.n_classes, self.fresh, rng)
        return _Debiasing(perturbing, self.epsilon, threat.n_classes) if self.debiased else perturbing

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """Labels survive with the probability of all perturbations together; the guarantee is the better one.

        Raises:
            InputError: Debiased, but something random stands nearer to the scorer.
        """
        if self.debiased:
            need_nothing_random_nearer(threat, "a debiased randomised-response")
        return (Perturbed(epsilon=no_less(self.epsilon, threat.n_classes), fresh=self.fresh, debiased=self.debiased),)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """Epsilon."""
        return (
            TunableParameter(
                title="randomised response once, label-DP epsilon",
                template="randomised-response(epsilon={})",
                weakest=20.0,
                strongest=0.01,
            ),
        )


class _Perturbing(ActiveScoreDefence):
    """Perturbs the labels when it first sees them and keeps to that, or perturbs them every time."""

    def __init__(self, epsilon: float, n_classes: int, fresh: bool, rng: np.random.Generator) -> None:
        self._epsilon = epsilon
        self._n_classes = n_classes
        self._fresh = fresh
        self._rng = rng
        self._perturbed: NDArray[np.intp] | None = None

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        if self._perturbed is None or self._fresh:
            self._perturbed = perturb(labels, self._epsilon, self._n_classes, self._rng)
        return ask(self._perturbed, query)


class _Debiasing(ActiveScoreDefence):
    """Corrects the score of perturbed labels by the scores of constant ones, which depend on no label."""

    def __init__(self, perturbing: ActiveScoreDefence, epsilon: float, n_classes: int) -> None:
        self._perturbing = perturbing
        keep = keep_probability(epsilon, n_classes)
        lost = (1 - keep) / (n_classes - 1)
        self._weights = [1 / (keep - lost), *[-lost / (keep - lost)] * n_classes]

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        constants = [ask(np.full_like(labels, label), query) for label in range(len(self._weights) - 1)]
        return combined([self._perturbing.answer(labels, query, ask), *constants], self._weights)

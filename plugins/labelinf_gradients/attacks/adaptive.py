"""The attack of an adversary who knows the defences: it picks by what the threat model says, never by the truth."""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import UnfitError
from labelinf_gradients.attacks.bayes import KnownFeatures, OwnSamples
from labelinf_gradients.attacks.bias import LastBias
from labelinf_gradients.attacks.counts import Dictionary, Llg, Moments
from labelinf_gradients.attacks.exact import ExactSolver
from labelinf_gradients.attacks.guesses import PriorGuess
from labelinf_gradients.attacks.instances import JointRecovery, SampleBySample
from labelinf_gradients.attacks.noisy import FilterDirection, Likelihood, MatchedFilter
from labelinf_gradients.attacks.rehearsed import RehearsedCounts
from labelinf_gradients.attacks.visible_entries import VisibleEntries
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat, LabelFamily

__all__ = ["DefenceAware"]


@attrs.frozen(kw_only=True)
class DefenceAware(GradientAttack):
    """Plays the first of its attacks, strongest first, that the threat model admits.

    Single samples: the Bayes rule for public features, closed forms, the exact solver; under noise the mixture of its
    own samples, for dropped entries those that are visible, for otherwise altered gradients the matched filter, for
    soft labels the likelihood. Batches: sample by sample, joint recovery, then counts, rehearsed on its own data first.
    One that finds, as it plays, that the module does not suit it (a tied head) makes way for the next.
    """

    def choose(self, threat: GradientThreat) -> GradientAttack:
        """Return the attack that is played first under ``threat``."""
        return self._admitted(threat)[0]

    def _admitted(self, threat: GradientThreat) -> tuple[GradientAttack, ...]:
        soft = threat.family is not LabelFamily.ONE_HOT
        altered = (MatchedFilter(direction=FilterDirection.MEAN), MatchedFilter(direction=FilterDirection.ONES))
        candidates: tuple[GradientAttack, ...] = (
            KnownFeatures(),
            *((LastBias(),) if threat.clean else ()),
            ExactSolver(),
            OwnSamples(),
            VisibleEntries(),
            *((Likelihood(),) if soft else altered),
            SampleBySample(),
            JointRecovery(),
            RehearsedCounts(),
            Moments(),
            Dictionary(),
            Llg(),
        )
        return (*(attack for attack in candidates if not attack.unsupported_reason(threat)), PriorGuess())

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Play it, and say which it was."""
        *attacks, last = self._admitted(oracle.threat)
        for attack in attacks:
            try:
                return _named(attack, attack.run(oracle, rng))
            except UnfitError:
                continue
        return _named(last, last.run(oracle, rng))


def _named(attack: GradientAttack, guess: Guess) -> Guess:
    return attrs.evolve(guess, evidence={**guess.evidence, "played": type(attack).__name__})

"""Attacks on batches that recover every sample exactly, and say so when they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.doing import say
from labelinf_gradients.attacks.common import spread_counts
from labelinf_gradients.attacks.counts import class_gradients, class_means, features_of_auxiliary
from labelinf_gradients.batches.counts import fractional_dictionary, fractional_llg, largest_remainder
from labelinf_gradients.batches.instances import recover_batch
from labelinf_gradients.batches.joint import recover_cost, recover_jointly
from labelinf_gradients.batches.result import Batch
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat, LabelFamily

__all__ = ["JointRecovery", "SampleBySample"]

_SEARCH = "joint-recovery: label counts tried"
_COARSE = ("float16", "bfloat16")


@attrs.frozen(kw_only=True)
class SampleBySample(GradientAttack):
    """Finds each sample where the softmax meets the gradient's column space (labelinf theory, batches).

    Needs no bias gradient and no data of its own; exact for batches up to half the number of classes.
    """

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs unaltered gradients of one-hot labels, and room in the column space."""
        few = threat.batch <= threat.n_classes // 2
        return _refusal(threat) if few else "needs a batch of at most half the classes"

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Recover every release; samples that are not found are guessed from the prior."""

        def one(gradient: NDArray[Any]) -> Batch:
            return recover_batch(
                gradient,
                oracle.network.classifier.weights,
                batch=oracle.threat.batch,
                rng=rng,
                bias=oracle.network.classifier.bias,
                nonnegative=oracle.nonnegative,
            )

        threat = oracle.threat
        prior = np.repeat(np.arange(threat.n_classes), threat.best_counts)
        return _guess(oracle, one, np.tile(prior, (len(oracle.weight_gradients), 1)))


@attrs.frozen(kw_only=True)
class JointRecovery(GradientAttack):
    """Fits all samples of a batch at once, label counts by label counts (labelinf theory, joint recovery).

    Reaches batches up to two less than the number of classes. One fit costs the fifth power of the batch: fewer counts
    are tried where all would take more work than allowed, and the evidence says what was tried and that it ended
    there; where not even one can be, it refuses.

    Attributes:
        tries: Label counts tried per release at most.
        work: Products spent on all releases of a game at most; 2e11 are three minutes of a slow core.
    """

    tries: int = attrs.field(default=12, validator=[attrs.validators.ge(1), attrs.validators.le(10_000)])
    work: float = attrs.field(default=2e11, validator=[attrs.validators.gt(0), attrs.validators.lt(float("inf"))])

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs unaltered gradients of one-hot labels, and enough equations."""
        if threat.batch > threat.n_classes - 2:
            return "needs a batch of at most K - 2"
        slow = (
            "" if self._affordable(threat) else "would take more work than allowed on batches of this size (work=...)"
        )
        return _refusal(threat) or slow

    def _affordable(self, threat: GradientThreat) -> int:
        """Return how many label counts can be tried for every release, by the products that a fit takes."""
        one = recover_cost(threat.n_classes, threat.batch) * max(1, threat.n_records // threat.batch)
        return min(self.tries, int(self.work // one))

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Recover every release; where no counts explain it, guess the nearest ones."""
        typical, batch, tries = None, oracle.threat.batch, self._affordable(oracle.threat)
        estimates = fractional_llg(oracle.weight_gradients, batch)
        if oracle.auxiliary is not None:
            typical = class_means(features_of_auxiliary(oracle), oracle.auxiliary[1], oracle.threat.n_classes)
            estimates = fractional_dictionary(oracle.weight_gradients, class_gradients(oracle), batch)
        remaining = enumerate(estimates)
        nearest = spread_counts(largest_remainder(np.clip(estimates, 0, None), batch)).reshape(-1, batch)

        def one(gradient: NDArray[Any]) -> Batch:
            number, estimate = next(remaining)
            return recover_jointly(
                gradient,
                oracle.network.classifier.weights,
                batch=batch,
                estimate=estimate,
                typical=typical,
                rng=rng,
                bias=oracle.network.classifier.bias,
                tries=tries,
                trying=lambda at: say(_SEARCH, number * tries + at, len(estimates) * tries),
            )

        guess = _guess(oracle, one, nearest)
        return attrs.evolve(guess, evidence={**guess.evidence, "search": self._said(guess.evidence, tries)})

    def _said(self, evidence: Mapping[str, Any], tries: int) -> str:
        left = evidence["batches"] - evidence["batches explained"]
        limit = f"tries={self.tries}" if tries == self.tries else f"work={self.work:g}, of tries={self.tries}"
        return (
            f"tried {tries} label counts a batch at most ({limit}), those nearest to an estimate first; stopped there "
            f"on {left} of {evidence['batches']} batches, whose labels are guesses"
        )


def _refusal(threat: GradientThreat) -> str:
    if threat.family is not LabelFamily.ONE_HOT:
        return "needs one-hot labels"
    if threat.precision in _COARSE:
        return f"needs more digits than {threat.precision} has: rounding alone fills the column space"
    return "" if threat.clean else "needs unaltered gradients"


def _guess(oracle: GradientOracle, recover: Callable[[NDArray[Any]], Batch], otherwise: NDArray[np.intp]) -> Guess:
    """Recover every release, fill up with ``otherwise`` (shape ``(n, batch)``), and say how many were certain."""
    batch = oracle.threat.batch
    labels, complete, exact = [], 0, 0
    for gradient, spare in zip(oracle.weight_gradients, otherwise, strict=True):
        found = recover(gradient)
        whole = len(found.classes) == batch
        complete += found.complete and whole
        exact += found.exact and whole
        labels.append(np.concatenate([found.classes, spare])[:batch])
    evidence = {"batches": len(labels), "batches explained": complete, "features to 1e-3": exact}
    return Guess(labels=np.concatenate(labels), evidence=evidence)

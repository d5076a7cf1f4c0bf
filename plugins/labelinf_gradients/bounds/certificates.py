"""Ceilings on label accuracy, or the plain statement that there is none."""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Direction, PerGame
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients import certificates
from labelinf_gradients.finite_pool import at_least, best_overlap, counts_bits, shares_moved
from labelinf_gradients.game.effects import NoiseProof
from labelinf_gradients.game.gradient import GradientThreat, LabelFamily, Shared
from labelinf_privacy.noise.gaussian import Gaussian

__all__ = ["GradientCertificate", "KnownFeatureBayes"]

_CONDITIONS = (
    "{behind}, features private, labels drawn from the class shares: independently, or out of a data set in random "
    "order, class counts and all labels that are not in play being known"
)


@attrs.frozen(kw_only=True)
class GradientCertificate(Bound):
    """What noise on clipped gradients denies to every attack; says "certificate: none" where nothing does.

    All of it follows from the effects of the pipeline (:mod:`labelinf_gradients.game.effects`). Clipping alone, top-k,
    signs, quantisation, aggregation, soft labels, dropped biases and noise drawn in floats certify nothing.
    """

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """Return one ceiling for every noise whose proof holds: samples with features that the adversary lacks."""
        if not isinstance(threat, GradientThreat) or threat.features_public:
            return ()
        alone = threat.batch == 1  # local steps, or a cut in between, leave the grid of the noise on a sum
        proofs = [item.noise.proof for item in threat.facts.proved if alone or (item.linear and threat.steps == 1)]
        return tuple(item for item in (_of(proof, threat) for proof in proofs) if item.reached < 1 or item.exact < 1)

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return one line per certificate, or one that says there is none."""
        if not isinstance(threat, GradientThreat):
            return ()
        lines = [item.line("label accuracy, any attack", "see the statement") for item in self.ceilings(threat)]
        none = Ceiling(accuracy=1.0, conditions="any attack", statement="labelinf theory, certificates")
        return tuple(lines) or (none.line("certificate: none", "none"),)


@attrs.frozen(kw_only=True)
class KnownFeatureBayes(Bound):
    """What the Bayes rule reaches when features are public and normal noise is all there is: no more noise, no less.

    A floor. With noise of real numbers nothing is better; noise drawn in floats leaves low bits to read besides.

    Attributes:
        norm: ``|x|``, the norm of a sample's last-layer feature, more than 0.
    """

    norm: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return the Bayes accuracy for features of this norm; nothing where the noise or what it hides is another."""
        if not isinstance(threat, GradientThreat) or not _one_last_layer_gradient(threat):
            return ()
        if not threat.facts.noises or not all(isinstance(noise.model, Gaussian) for noise in threat.facts.noises):
            return ()
        value = certificates.bayes_public(self.norm / threat.noise_std, threat.n_classes)
        return (
            BoundValue(
                title=f"label accuracy, public features of norm {self.norm:g}",
                direction=Direction.FLOOR,
                quantity="accuracy",
                value=value,
                formula="integral phi(u - d) Phi(u)^(K-1) du, d = |x| / sigma",
                conditions="Gaussian noise and nothing else, last layer only, labels drawn evenly whatever the "
                "features; the best attack there is on noise of real numbers",
                statement="labelinf theory, certificates: exact Bayes",
            ),
        )


def _of(proof: NoiseProof, threat: GradientThreat) -> Ceiling:
    """Return what a noise denies, whoever knows the class counts: the one way from a proof to what is printed.

    Whoever recovers all labels has all of one release too, so that is no likelier than what is reached.
    """
    single, bits, allowance = threat.batch == 1, 0.0, 0.0
    accuracy = proof.accuracy(threat.facts, threat.prior) if single else proof.overlap(threat.facts, threat.baseline)
    if threat.population:
        bits, allowance = counts_bits(threat.prior, threat.population), _known(threat, proof, accuracy)
    all_of_them = math.log2(accuracy) * (threat.n_records // threat.batch) if accuracy else -math.inf
    behind = "one sample per release" if single else f"batches of {threat.batch}, of which the overlap is counted"
    return Ceiling(
        accuracy=accuracy,
        statement=proof.statement if single else "labelinf theory, certificates: batches",
        conditions=_CONDITIONS.format(behind=behind),
        exact=min(1.0, accuracy + allowance, math.exp2(min(0.0, all_of_them + bits))),
        allowance=allowance,
        game=PerGame(share=accuracy, bits=bits) if single else None,  # labels of a batch hang together
    )


def _known(threat: GradientThreat, proof: NoiseProof, ceiling: float) -> float:
    """Return how much more is reached by whoever knows the class counts, and all labels that are not in play.

    Of the other releases some tell nothing (:meth:`NoiseProof.hides`); all labels behind the rest are taken as known.
    """
    labels = sum(share > 0 for share in threat.prior)
    silent = proof.hides(threat.facts, math.comb(threat.batch + labels - 1, threat.batch))
    allowance = 0.0
    for others, chance in at_least(max(0, threat.n_records // threat.batch - 1), silent):
        left = min(threat.population, threat.spare + threat.batch * (1 + others))
        blind = best_overlap(threat.prior, threat.population, n_left=left, batch=threat.batch)
        more = max(0.0, proof.overlap(threat.facts, blind) - ceiling)
        if threat.batch == 1:
            more = min(more, shares_moved(threat.prior, threat.population, n_left=left))
        allowance += chance * more
    return allowance


def _one_last_layer_gradient(threat: GradientThreat) -> bool:
    """Return whether a release is ``(p - e_k) x'`` of one public x, noise aside."""
    single = threat.batch == 1 and threat.steps == 1 and threat.family is LabelFamily.ONE_HOT
    weights_only = threat.shared is Shared.LAST and not threat.bias_shared
    whole = math.isinf(threat.clip) and not threat.altered
    return threat.features_public and single and weights_only and whole

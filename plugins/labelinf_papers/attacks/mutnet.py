"""MutNet played: any attack that sends predictions, where only a model is scored.

Aggarwal et al. (AISTATS 2022, section 5) hide a prediction vector in a network. As printed the network returns one
vector whatever it is shown, which on a mean over records tells no more than the class counts; what is submitted here
are the two forms that do tell labels apart (:mod:`labelinf_papers.mutnet`, labelinf theory, MutNet):

* where the board runs a model on all records at once, a **batch head**: it need not know a single feature;
* where it runs it on one record at a time and the features are public, an **interpolating** network: its outputs bend
  at every record. Behind secret features there is nothing to send.

Every query of the inner attack becomes such a network. Its outputs are the wanted ones up to rounding, which is
rehearsed on what is known and told to the inner attack as an error of the score; so nothing is certain beforehand.

Example::

    labelinf attack mutnet --labels breast-cancer --channel 'score(model=batch)'
"""

from __future__ import annotations

import functools

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Attack, Guess
from labelinf_papers.mutnet import batch_head, interpolating
from labelinf_scores.attacks.hybrid import Hybrid
from labelinf_scores.game.effects import Supposed
from labelinf_scores.game.models import ModelBoard, Run
from labelinf_scores.game.networks import MutNet
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.scoring import Answer, Query
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["SubmittedMutNet"]

_MOST_RECORDS = 4000  # an interpolating network has a hidden unit for each
_NEAREST_ONE = 1 - 2.0**-53
_LEAST = 2.0**-1000
_SPARE = 16  # times what was seen to be off when it was rehearsed
_ROUND_TRIP = 2.0**-46  # of a logit to a probability and back, generously


@attrs.frozen(kw_only=True)
class SubmittedMutNet(ScoreAttack):
    """Sends every prediction vector of another attack as a network.

    Attributes:
        inner: What asks; it sends predictions.
    """

    submits = True

    inner: Attack = attrs.field(factory=Hybrid)

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """A model must be able to tell records apart, and the inner attack must be able to do with its error."""
        models = threat.models
        if models is None or models.run is Run.HIDDEN_ROWS:
            return "a model that sees one secret record at a time cannot tell which it is"
        if models.run is Run.ROWS:
            if threat.n_records > _MOST_RECORDS:
                return f"more than {_MOST_RECORDS} records to interpolate"
            if np.unique(_known(models), axis=0).shape[0] < threat.n_records:
                return "needs records that differ in their features"
        return self.inner.unsupported_reason(_planned(threat))

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Let the inner attack ask; what it asks is sent as a network."""
        threat = oracle.threat

        def answer(query: Query) -> Answer:
            return oracle.submit(_network(_targets(query.predictions), threat))

        inner = self.inner
        if not isinstance(inner, ScoreAttack):
            raise TypeError(f"inner={type(inner).__name__} must be an attack of the score channel")
        planned = _planned(threat)
        guess = inner.run(ScoreOracle(planned, answer), rng)
        form = "batch head" if _reads_places(threat) else "interpolating"
        return attrs.evolve(guess, evidence={**guess.evidence, "network": form, "supposed error": _error(threat)})


def _reads_places(threat: ScoreThreat) -> bool:
    return threat.models is not None and threat.models.run is Run.BATCH


def _known(models: ModelBoard | None) -> NDArray[np.float64]:
    """Return features that are public.

    Raises:
        ValueError: They are not.
    """
    if models is None or models.features is None:
        raise ValueError("the features are secret")
    return models.features


def _targets(predictions: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return the wanted probabilities of every class, strictly inside of (0, 1)."""
    return np.clip(np.asarray(predictions, dtype=np.float64), _LEAST, _NEAREST_ONE)


def _network(target: NDArray[np.float64], threat: ScoreThreat) -> MutNet:
    """Return what predicts ``target``; the same projection always, so that its error is the one that was rehearsed."""
    rng = np.random.default_rng(0)
    if _reads_places(threat):
        return batch_head(target, n_features=threat.models.n_features if threat.models else 1, rng=rng)
    return interpolating(_known(threat.models), target, rng=rng)


@functools.lru_cache(maxsize=32)
def _planned(threat: ScoreThreat) -> ScoreThreat:
    """Return what the inner attack meets: a board for predictions whose scores are off by what networks are."""
    told = attrs.evolve(threat, models=None)
    return told.supposing(Supposed(bound=told.noise_bound + _error(threat)))


@functools.lru_cache(maxsize=32)
def _error(threat: ScoreThreat) -> float:
    """Return how far a mean of costs may be off because a network returns it, as it was rehearsed."""
    if _reads_places(threat):
        return _ROUND_TRIP
    widest = min(threat.reach, 80.0) / 2
    drawn = np.random.default_rng(1).uniform(-widest, widest, threat.n_records)
    target = _targets(1 / (1 + np.exp(drawn)))
    returned = _targets(_network(target, threat)(_known(threat.models))[:, 0])
    return _SPARE * float(np.abs(np.log(returned / target)).max()) + _ROUND_TRIP

"""Noise on the released score, from any noise model, drawn afresh for every query or once for every distinct one.

Fresh noise is averaged out by asking again. *Sticky* noise is a keyed hash of the query: asking again returns the
same answer, and an attacker must change the query a little to draw anew.
"""

from __future__ import annotations

import hashlib
import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.channels.score import AddedNoise, Answer, Ask, Guard, Query, ScoreDefence, ScoreThreat
from labelinf_core.components import Knob, NoiseModel
from labelinf_core.threat import ThreatModel
from labelinf_privacy.noise.uniform import Uniform
from labelinf_scores.defences.answers import add, scaled

__all__ = ["ScoreNoise"]


@attrs.frozen(kw_only=True)
class ScoreNoise(ScoreDefence):
    """Adds (or, for a multiplicative model, multiplies by) a draw of ``model``.

    Stage: the answer. Guarantee: the model's, composed over the queries asked; none for bounded noise. Utility: the
    released score errs by the noise.

    Attributes:
        model: What is drawn.
        sticky: Whether the same query always gets the same draw.
    """

    model: NoiseModel = attrs.field(factory=Uniform)
    sticky: bool = False

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> Guard:
        """Return a guard that adds noise."""
        return _Sticky(self.model, rng) if self.sticky else _Fresh(self.model, rng)

    def effect(self, threat: ScoreThreat) -> ScoreThreat:
        """Bounds add up, and so do variances; a factor is told apart."""
        fresh = threat.noise_fresh or not self.sticky
        if self.model.multiplicative:
            return attrs.evolve(_magnified(threat, 1 + self.model.bound), noise_fresh=fresh)
        return attrs.evolve(
            threat,
            noise=(*threat.noise, AddedNoise(model=self.model, jump=threat.jump)),
            noise_bound=threat.noise_bound + self.model.bound,
            noise_std=math.hypot(threat.noise_std, self.model.std),
            noise_fresh=fresh,
        )

    @classmethod
    def knobs(cls, threat: ThreatModel) -> tuple[Knob, ...]:
        """The scale of Gaussian, Laplace and uniform noise."""
        wide = getattr(threat, "span", math.inf)
        if math.isinf(wide):
            return ()
        narrow = wide / threat.n_records * 1e-3
        return tuple(
            Knob(
                title=title, template=f"score-noise(model={model}({symbol}={{}}))", weakest=narrow, strongest=wide * 10
            )
            for title, model, symbol in (
                ("Gaussian noise, standard deviation s of the score", "gaussian", "scale"),
                ("Laplace noise, scale b of the score", "laplace", "scale"),
                ("uniform noise, bound tau of the score", "uniform", "tau"),
            )
        )


def _magnified(threat: ScoreThreat, factor: float) -> ScoreThreat:
    return attrs.evolve(
        threat,
        noise_factor=(1 + threat.noise_factor) * factor - 1,
        magnification=threat.magnification * factor,
        noise_bound=threat.noise_bound * factor,
        noise_std=threat.noise_std * factor,
    )


class _Fresh(Guard):
    def __init__(self, model: NoiseModel, rng: np.random.Generator) -> None:
        self._model = model
        self._rng = rng

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        drawn = float(self._model.sample(self._generator(query), 1)[0])
        answer = ask(labels, query)
        return scaled(answer, drawn) if self._model.multiplicative else add(answer, drawn)

    def _generator(self, query: Query) -> np.random.Generator:
        return self._rng


class _Sticky(_Fresh):
    def __init__(self, model: NoiseModel, rng: np.random.Generator) -> None:
        super().__init__(model, rng)
        self._key = rng.bytes(32)

    def _generator(self, query: Query) -> np.random.Generator:
        digest = hashlib.blake2b(_bytes(query.predictions), key=self._key, digest_size=32).digest()
        return np.random.default_rng(int.from_bytes(digest, "big"))


def _bytes(predictions: NDArray[np.generic]) -> bytes:
    """Return what identifies a query: equal predictions of one shape have equal bytes."""
    if predictions.dtype == object:
        return repr(predictions.tolist()).encode()
    plain = np.ascontiguousarray(predictions, dtype=np.float64) + 0.0  # -0.0 and 0.0 are the same prediction
    return repr(plain.shape).encode() + plain.tobytes()

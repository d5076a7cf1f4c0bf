"""Noise on the released score, from any noise model, drawn afresh for every query or once for every distinct one.

Fresh noise is averaged out by asking again. *Sticky* noise is a keyed hash of the query: asking again returns the
same answer, and an attacker must change the query a little to draw anew.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel, TunableParameter
from labelinf_core.contracts.threat import ThreatModel
from labelinf_privacy.noise.grid import GridNoise, fine_step
from labelinf_privacy.noise.uniform import Uniform
from labelinf_privacy.words import KeyedWords, SeededWords
from labelinf_scores.defences.answers import add, scaled
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Added, Scaled, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.shapes import columns

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

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that adds noise."""
        # Who makes no doubles itself may score one column and two apart: one draw for both would show by how much.
        doubles = {threat.arithmetic, threat.input_format or threat.arithmetic} == {"float64"}
        folded = doubles and not threat.loss.takes_logits
        return _Sticky(self.model, rng, folded=folded) if self.sticky else _Fresh(self.model, rng)

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """Bounds add up, and so do variances; a factor is told apart."""
        effect = Scaled if self.model.multiplicative else Added
        return (effect(model=self.model, sticky=self.sticky),)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """The scale of Gaussian, Laplace and uniform noise."""
        wide = getattr(threat, "span", math.inf)
        if math.isinf(wide):
            return ()
        narrow, step = wide / threat.n_records * 1e-3, fine_step(wide / threat.n_records)
        return tuple(
            TunableParameter(title=title, template=f"score-noise(model={model})", weakest=narrow, strongest=wide * 10)
            for title, model in (
                ("Gaussian noise, standard deviation s of the score", f"grid-gaussian(scale={{}}, step={step!r})"),
                ("Laplace noise, scale b of the score", f"grid-laplace(scale={{}}, step={step!r})"),
                ("uniform noise, bound tau of the score", "uniform(tau={})"),
            )
        )


_FEW, _MANY = 8, 512  # draws at a time


class _Fresh(ActiveScoreDefence):
    def __init__(self, model: NoiseModel, rng: np.random.Generator) -> None:
        self._model = model
        self._rng = rng
        self._asked = 0
        self._drawn: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        if isinstance(self._model, GridNoise):
            # Who is to be answered in three bits moves the score by much more than one label does.
            answer = ask(labels, attrs.evolve(query, precision=None))
            return float(self._model.together(np.array([answer]), self._steps(self._model, query))[0])
        answer, drawn = ask(labels, query), float(self._model.sample(self._generator(query), 1)[0])
        return scaled(answer, drawn) if self._model.multiplicative else add(answer, drawn)

    def _steps(self, model: GridNoise, query: Query) -> NDArray[np.int64]:
        """Return one draw. Exact draws are dear one by one: each time as many are made as there have been before."""
        if not self._drawn.size:
            self._drawn = model.steps(SeededWords(self._rng), min(max(_FEW, self._asked), _MANY))
        self._asked += 1
        drawn, self._drawn = self._drawn[:1], self._drawn[1:]
        return drawn

    def _generator(self, query: Query) -> np.random.Generator:
        return self._rng


class _Sticky(_Fresh):
    def __init__(self, model: NoiseModel, rng: np.random.Generator, *, folded: bool) -> None:
        super().__init__(model, rng)
        self._key = rng.bytes(32)
        self._folded = folded

    def _steps(self, model: GridNoise, query: Query) -> NDArray[np.int64]:
        return model.steps(self._words(query), 1)

    def _generator(self, query: Query) -> np.random.Generator:
        return np.random.default_rng(self._words(query).words(4))

    def _words(self, query: Query) -> KeyedWords:
        return KeyedWords(self._key, _bytes(query.predictions, folded=self._folded))


def _bytes(predictions: NDArray[Any], *, folded: bool) -> bytes:
    """Return what identifies a query: predictions that the curator cannot tell apart have equal bytes."""
    plain = np.ascontiguousarray(predictions, dtype=np.float64) + 0.0  # -0.0 and 0.0 are the same prediction
    if folded:
        plain = columns(plain)
    elif predictions.dtype == object and not (predictions == plain).all():
        return repr((plain.shape, [_exact(value) for value in predictions.flat])).encode()
    return repr(plain.shape).encode() + plain.tobytes()


def _exact(value: Any) -> str:
    """Return a number in full, whatever its type and precision."""
    return str(gmpy2.mpq(value)) if gmpy2.is_finite(gmpy2.mpfr(value)) else repr(value)

"""Attacks on the low bits of noise in floats: the certificate is about real numbers, the release is a double.

One query a record, at the widest gap that the clip allows; all other rows tell nothing. For every label the unnoised
score is known to the last bit, and :mod:`labelinf_scores.plans.low_bits` says how well noise can have led from it to
the answer. Records still in doubt are asked about again while the budget lasts.

Noise on a grid that is fixed beforehand, put on it together with the score, leaves nothing to see in low bits. That is
what certificates rest on, so :class:`UlpGrid` plays there as well: were score and noise to meet in floats after all, it
would see it, and otherwise it weighs labels by the law of the noise, which is all that is left.
"""

from __future__ import annotations

import abc
import functools
import itertools
import math
from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess, NoiseModel
from labelinf_core.contracts.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_privacy.noise.grid import GridNoise
from labelinf_privacy.noise.laplace import Laplace
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.decoders.posterior import likeliest_labels, scored_prior
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.low_bits import laplace_draws, reaching_doubles, whole_steps
from labelinf_scores.plans.probe import Probe
from labelinf_scores.plans.sizing import reach

__all__ = ["LowBits", "SupportOfTheSampler", "UlpGrid"]

_WIDEST = 700.0  # gap of a row, where nothing clips
_LOW = 2**10 - 1  # the bits of a score that units of noise from 1/2 to 512 uncover
_SURE = 1e-9  # chance of another label at which a record is not asked about again


class LowBits(ScoreAttack, abc.ABC):
    """Weighs the labels of one record by how well noise can have led from their scores to the answer."""

    tries: ClassVar[int] = 1

    @abc.abstractmethod
    def weight(self, answer: float, score: float, model: NoiseModel) -> float:
        """Return what is proportional to the probability of ``answer`` when ``score`` was computed; NaN: unknown."""

    def misfit(self, model: NoiseModel) -> str:
        """Return why this attack has no use for noise of ``model``; empty when it has."""
        return ""

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Noise added to doubles, and nothing else that an unnoised score could not be computed through."""
        if threat.arithmetic != "float64" or threat.summation != "numpy":
            return "needs scores that it can compute to the last bit, in doubles"
        if len(threat.noise) != 1 or threat.noise_factor or threat.magnification != 1:
            return "needs one stage of noise that is added"
        model = threat.noise[0].model
        last = threat.decimals == _decimals(threat) and threat.jump <= threat.noise[0].jump + model.grid
        plain = last and threat.averaged in (None, threat.n_records)
        if not (plain and threat.ordered and threat.scored == 1 and not threat.ladder_step):
            return "needs the score of all records, rounded or not, with noise on it and nothing else"
        return self.misfit(model)

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask about one record after the other, and then about those in doubt, the most doubtful first."""
        query = _one_record(oracle.threat, self.tries)
        logs = np.log(np.tile(scored_prior(oracle.threat), (oracle.threat.n_records, 1)))
        explained = asked = 0
        try:
            for record in itertools.chain(range(len(logs)), _doubtful(logs, oracle)):
                weights = self._weights(query, oracle, record)
                asked += 1
                explained += int(weights.max() > 0)
                if weights.max() > 0:  # otherwise the score was not what it was taken for
                    with np.errstate(divide="ignore"):
                        logs[record] += np.log(weights)
        except QueriesExhaustedError:
            pass
        shares = _shares(logs)
        return Guess(
            labels=likeliest_labels(shares, oracle.threat),
            evidence={
                "answers explained": float(explained / asked) if asked else 0.0,
                "named": int(np.count_nonzero(shares.max(axis=1) > 1 - _SURE)),
            },
        )

    def _weights(self, query: _OneRecord, oracle: ScoreOracle, record: int) -> NDArray[np.float64]:
        """Ask about one record and weigh its labels; all alike where nothing is learnt."""
        nothing = np.ones(oracle.threat.n_classes)
        predictions, scores = query.lay(record)
        try:
            answer = float(oracle.query(predictions))
        except QueryRefusedError:
            return nothing
        model = oracle.threat.noise[0].model
        found = np.array([self.weight(answer, score, model) for score in scores])
        return nothing if np.isnan(found).any() or not math.isfinite(answer) else found


def _doubtful(logs: NDArray[np.float64], oracle: ScoreOracle) -> Iterator[int]:
    """Yield the record in most doubt, again and again: while the budget lasts, thrice a record at most."""
    for _ in range(int(min(oracle.remaining, 3 * len(logs)))):
        certainty = _shares(logs).max(axis=1)
        if certainty.min() > 1 - _SURE:
            return
        yield int(np.argmin(certainty))


def _shares(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)))


@functools.lru_cache(maxsize=32)
def _one_record(threat: ScoreThreat, tries: int) -> _OneRecord:
    """Return the queries of a threat model, which are the same in every game."""
    return _OneRecord(threat, tries)


@attrs.frozen(eq=False, slots=False)
class _OneRecord:
    """Queries about one record, and the scores that they can have.

    Attributes:
        threat: What is public.
        tries: How many gaps to choose from, so that the scores differ in as many of their low bits as can be.
    """

    threat: ScoreThreat
    tries: int
    _chosen: dict[int, tuple[NDArray[np.float64], list[float]]] = attrs.field(factory=dict, init=False)

    @functools.cached_property
    def _rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A row that tells nothing, and rows in which labels cost nearly as differently as the clip allows."""
        probe = Probe(threat=self.threat)
        gap = min(reach(probe), _WIDEST) / (self.threat.n_classes - 1)
        telling = probe.rows(gap * (1 - np.arange(self.tries) / (64 * self.tries)))
        return np.asarray(probe.neutral, dtype=np.float64), np.asarray(telling, dtype=np.float64)

    def lay(self, record: int) -> tuple[NDArray[np.float64], list[float]]:
        """Return what to send, and the score that the curator computes for every label of the record."""
        if record not in self._chosen:
            laid = ((row, self._scores(self._about(record, row), record)) for row in self._rows[1])
            self._chosen[record] = max(laid, key=lambda pair: _differing_bits(pair[1]))
        row, scores = self._chosen[record]
        return self._about(record, row), scores

    def _about(self, record: int, row: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = np.tile(self._rows[0], (self.threat.n_records, 1))
        rows[record] = row
        return rows

    def _scores(self, predictions: NDArray[np.float64], record: int) -> list[float]:
        numbers, edge = make_arithmetic(self.threat.arithmetic), self.threat.clip
        read = np.clip(predictions, edge, 1 - edge) if edge else predictions
        labels = np.zeros(self.threat.n_records, dtype=np.intp)
        scores = []
        for labels[record] in range(self.threat.n_classes):
            scores.append(float(numbers.release(self.threat.loss.score(labels, read, numbers))))
        decimals = _decimals(self.threat)
        return scores if decimals is None else [round(score, decimals) for score in scores]


def _decimals(threat: ScoreThreat) -> int | None:
    """Return to how many decimals scores are rounded before the noise; None when they are not."""
    jump = threat.noise[0].jump
    return threat.decimals if jump and jump == threat.step else None


def _differing_bits(scores: list[float]) -> int:
    """Return in how many of their lowest bits the two most alike of neighbouring labels differ."""
    bits = [int(math.ldexp(score, 53)) for score in scores]
    return min(((one ^ other) & _LOW).bit_count() for one, other in itertools.pairwise(bits))


@attrs.frozen(kw_only=True)
class SupportOfTheSampler(LowBits):
    """Counts the uniform draws from which NumPy's Laplace sampler comes to the answer (Mironov, CCS 2012)."""

    def misfit(self, model: NoiseModel) -> str:
        """The samplers of other noise are not inverted here: on a grid nothing of the sampler is left."""
        return "" if isinstance(model, Laplace) else "inverts NumPy's Laplace sampler only"

    def weight(self, answer: float, score: float, model: NoiseModel) -> float:
        """The number of draws."""
        assert isinstance(model, Laplace)
        return laplace_draws(answer, score, model.scale)


@attrs.frozen(kw_only=True)
class UlpGrid(LowBits):
    """Asks of an answer only whether some double added to a score gives it, whatever the sampler.

    Where the noise is larger than the answer, it is a multiple of a unit that answers of that size are finer than: the
    bits beyond are those of the score.
    """

    tries: ClassVar[int] = 16

    def weight(self, answer: float, score: float, model: NoiseModel) -> float:
        """The room that the doubles leave; on a grid, whether the sum was made in doubles, and the law of the noise."""
        if not isinstance(model, GridNoise):
            return reaching_doubles(answer, score)
        on_grid = model.floats(np.array([round(answer / model.step)]))[0] == answer
        bits = 1.0 if on_grid else whole_steps(answer, score, model.step)
        return bits * math.exp(-((abs(answer - score) / model.scale) ** model.norm) / model.norm)

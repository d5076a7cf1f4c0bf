"""A scorer that no name was found for, attacked by running it: nothing has to be recognised."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Within
from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_core.statistics.proportions import clopper_pearson
from labelinf_scores.attacks.simulate import played
from labelinf_scores.audit.scorer import Extraction
from labelinf_scores.game.scoring import Query, Scorer
from labelinf_scores.simulation.formats import Numbers, telling, usual
from labelinf_scores.simulation.reals import RealReading, read_reals
from labelinf_scores.simulation.simulator import Simulator

__all__ = ["extraction", "judged", "made_reals", "simulated", "tolerated"]

_TOLERANCE = 0.01  # of the interquartile range
_PRIOR = 10  # made targets a record


@attrs.define(kw_only=True, eq=False)
class _Host:
    """Answers about the private labels, so often and no more."""

    scorer: Scorer
    labels: NDArray[Any]
    queries: int
    spent: int = 0

    def __call__(self, rows: NDArray[Any]) -> Any:
        if self.queries and self.spent >= self.queries:
            raise QueriesExhaustedError(f"all {self.queries} queries are spent.")
        self.spent += 1
        return self.scorer.score(self.labels, Query(predictions=rows))


def simulated(
    scorer: Scorer,
    data: LabelSet,
    *,
    queries: int,
    rng: np.random.Generator,
    simulations: int = 60_000,
    tolerance: float | None = None,
) -> Extraction:
    """Play the attack that runs the scorer on made labels, in the first format that it takes.

    Args:
        scorer: What is audited.
        data: The private labels; the attack knows their class totals, or of real numbers their quartiles.
        queries: The budget; 0 is unlimited.
        rng: For the order of the records, and for the attack.
        simulations: Most labellings that are scored.
        tolerance: How near a guess of a real number must be; a hundredth of their interquartile range if None.
    """
    labels = rng.permutation(data.labels if data.reals is None else data.reals)
    game = Simulator(
        score=lambda made, rows: scorer.score(made, Query(predictions=rows)),
        n_records=data.n_records,
        n_classes=data.n_classes,
        limit=simulations,
    )
    host = _Host(scorer=scorer, labels=labels, queries=queries)
    if data.reals is None:
        return _classes(game, host, data, rng)
    return _reals(game, host, tolerated(data.reals, tolerance), rng)


def tolerated(reals: NDArray[np.float64], tolerance: float | None) -> float:
    """Return the tolerance that was given, else a hundredth of the interquartile range, or of the range."""
    low, quarter, rest, high = np.quantile(reals, [0, 0.25, 0.75, 1])
    return float(_TOLERANCE * (rest - quarter or high - low)) if tolerance is None else tolerance


def _classes(game: Simulator, host: _Host, data: LabelSet, rng: np.random.Generator) -> Extraction:
    began = time.perf_counter()
    form = telling(game, usual(game.n_classes), lambda: rng.integers(game.n_classes, size=game.n_records), rng)
    if form is None:
        return Extraction(attack="simulate", refusal="the scorer takes none of the usual submissions")
    totals = tuple(np.bincount(data.labels, minlength=data.n_classes).tolist())
    guess = played(game, host, form, totals, rng)
    return extraction(guess.labels == host.labels, max(data.prior), host.spent, began, guess.evidence)


def _reals(game: Simulator, host: _Host, tolerance: float, rng: np.random.Generator) -> Extraction:
    began, prior = time.perf_counter(), made_reals(host.labels)
    form = Numbers(low=float(prior[0]), high=float(prior[-1]))
    if not game.accepts(rng.choice(prior, game.n_records), form.spread(game.n_records, rng)):
        return Extraction(attack="simulate", refusal="the scorer takes no submission of one number a record")
    found = read_reals(game, host, [form], prior, rng=rng, limit=host.queries or None, tolerance=tolerance)
    if found.drawn:
        return Extraction(attack="simulate", refusal="the scorer draws, and real labels are not read through noise")
    if not host.spent:
        return Extraction(attack="simulate", refusal="no submission that was tried shows anything of a label")
    right, baseline, measure = judged(found, host.labels, tolerance)
    evidence = {"labels read": int(found.read.sum()), "replayed": found.replayed, "simulations": game.calls}
    return extraction(right, baseline, host.spent, began, evidence, measure)


def made_reals(truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers of the same range and quartiles, in order: training labels tell a participant as much."""
    return np.interp(np.linspace(0, 4, _PRIOR * truth.size), np.arange(5), np.quantile(truth, [0, 0.25, 0.5, 0.75, 1]))


def judged(found: RealReading, truth: NDArray[np.float64], tolerance: float) -> tuple[NDArray[np.bool_], float, str]:
    """Return which values are right, what the best constant has, and by which measure.

    Where the scorer sees no more of the labels than their order, it is ranks that are right within half of one.
    """
    guess, measure, said = found.values, Within(tolerance=tolerance), f"within {tolerance:.3g}"
    if found.ranks_only:
        guess, truth, measure, said = _ranks(guess), _ranks(truth), Within(tolerance=0.5), "by rank"
    return measure.placed(guess, truth) == truth, measure.chance(truth, 0), said


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks; equals have the mean of theirs."""
    _, place, many = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(many) - (many + 1) / 2)[place])


def extraction(
    right: NDArray[np.bool_],
    baseline: float,
    queries: int,
    began: float,
    evidence: Mapping[str, Any],
    measure: str = "",
) -> Extraction:
    """Return what an attack got that knew this many labels; ``began`` is when its game did."""
    accuracy = clopper_pearson(int(right.sum()), right.size)
    gained = max(0.0, (accuracy.value - baseline) / (1 - baseline)) * right.size if baseline < 1 else 0.0
    return Extraction(
        attack="simulate",
        accuracy=accuracy,
        baseline=baseline,
        measure=measure,
        exact=bool(right.all()),
        queries=queries,
        labels_per_query=gained / queries if queries else 0.0,
        seconds=time.perf_counter() - began,
        evidence=evidence,
    )

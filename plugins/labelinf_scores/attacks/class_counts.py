"""What a leaderboard gives away when it does not tell which record is which: how many labels of each class there are.

If the order of the records is secret, every row of a query may as well be the same; then N times the score is the sum
over classes of count times cost, and K - 1 queries give all counts, up to noise (Aggarwal et al., AISTATS 2022,
concluding remarks: the *set* of labels is recovered, "without associating them to individual datapoints"). More than
the counts cannot be learnt: permuting the records changes nothing that is released.

The class shares count as public in every threat model here, so the guess is the majority class and gains nothing; the
counts stand in the evidence.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_scores.constructions.class_rows import class_rows
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle, answered
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.probe import Probe
from labelinf_scores.plans.sizing import reach, tells_nothing

__all__ = ["ClassCounts"]


@attrs.frozen(kw_only=True)
class ClassCounts(ScoreAttack):
    """Counts the labels of every class, whatever the order of the records.

    Attributes:
        repeats: Queries for each class, averaged; more than one helps against fresh noise.
    """

    repeats: int = attrs.field(default=1, validator=attrs.validators.ge(1))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Some losses have no rows in which one class stands out."""
        if threat.n_classes > 2 and not threat.loss.has_class_rows:
            return "counting more than two classes needs a loss with rows of any costs"
        return tells_nothing(threat)

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask about one class after the other; the last takes what is left."""
        threat = oracle.threat
        probe = Probe(threat=threat, bits=96 + threat.n_records.bit_length())
        counts = [_count(probe, oracle, k, self.repeats) for k in range(threat.n_classes - 1)]
        known = not any(math.isnan(count) for count in counts)
        every = [*counts, threat.n_records - sum(counts)] if known else counts
        majority = int(np.argmax(every)) if known else threat.majority
        evidence = {f"records of class {k}": count for k, count in enumerate(every) if not math.isnan(count)}
        return Guess(labels=np.full(threat.n_records, majority), evidence=evidence)


def _count(probe: Probe, oracle: ScoreOracle, k: int, repeats: int) -> float:
    """Return how many records of class k there are, rounded; NaN when no answer came."""
    row = _row(probe, k)
    costs = probe.costs(row[None])[0]
    other = costs[(k + 1) % len(costs)]
    answers = []
    rows = np.tile(row, (probe.threat.n_records, 1))
    for _, total in answered(range(repeats), lambda _: probe.total(oracle, 0, rows)):
        with probe.ledger():
            answers.append(float((total - probe.threat.n_records * other) / (costs[k] - other)))
    if not answers:
        return math.nan
    return float(np.clip(round(float(np.mean(answers))), 0, probe.threat.n_records))


def _row(probe: Probe, k: int) -> NDArray[np.float64]:
    """Return a row in which class k costs as much more than every other class as the clip allows."""
    threat = probe.threat
    widest = min(reach(probe), 1e6)
    if threat.n_classes == 2:
        return np.asarray(probe.rows(np.array([-widest]))[0])
    raised = np.zeros((1, threat.n_classes))
    raised[0, k] = widest - math.log(threat.n_classes)
    return np.asarray(class_rows(threat.loss, raised, probe.own)[0])

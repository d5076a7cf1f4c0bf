"""All labels at once from noisy scores: signs in orthogonal columns, as far apart as the clip allows.

The papers spend a query on few records at a time, and noise hits each of them in full. Here every query pushes every
record up or down, by the signs of a row of a Hadamard matrix, and least squares sorts the records out again: against
random noise this is better than one label per query by a factor of sqrt(N) at the same number of queries (labelinf
theory, Hadamard least squares; it is the reconstruction from noisy sums of I. Dinur and K. Nissim, PODS 2003, with
the best possible design).

With q >= N queries every label is right with probability ``Phi(L sqrt(q) / (2 N s))`` under noise of standard
deviation s, which no attack can beat for Gaussian noise. With fewer queries than labels the posterior of every sign
is found by message passing, about as many labels as that pays for.

Formal guarantee: with q >= N queries (q an order of a Hadamard matrix) and every score within tau < L / (2N), all
labels are right. Held by ``tests/scores/robust/test_hadamard_attack.py``.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.certificates.error import present_error
from labelinf_scores.constructions.hadamard_matrix import Hadamard
from labelinf_scores.decoders.least_squares import sign_estimates
from labelinf_scores.decoders.message_passing import posterior_logits
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle, answered
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.sign_plan import SignPlan
from labelinf_scores.plans.sign_rows import SignRows, labels_from_bits, n_bits, no_sign_rows

__all__ = ["HadamardAttack"]

_FAR_LESS = 2.0  # times the noise that is seen; below that, what is told is believed


@attrs.frozen(kw_only=True)
class HadamardAttack(ScoreAttack):
    """Pushes all records up or down by Hadamard signs and takes the least-squares estimate.

    Attributes:
        queries_per_label: Most queries per label (and bit of a label) when the budget is unlimited; it stops earlier
            when the noise allows.
    """

    queries_per_label: int = attrs.field(default=16, validator=attrs.validators.ge(1))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Some losses have no rows of this form."""
        return no_sign_rows(threat)

    def plans(self, threat: ScoreThreat) -> list[SignPlan]:
        """Return how the queries are spent, for every bit of the label."""
        bits = n_bits(threat.n_classes)
        budget = None if threat.query_budget is None else threat.query_budget // bits
        return [
            SignPlan.choose(SignRows(threat=threat, bit=bit), budget=budget, most=self.queries_per_label)
            for bit in range(bits)
        ]

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, while the noise stays below L / (2N) and the budget pays for a square design."""
        plans = self.plans(threat)
        gap = min(plan.rows.gap for plan in plans)
        if gap <= 0 or not threat.facts.intact or not all(plan.is_square for plan in plans):
            return None
        return Promise(
            survives=gap / (2 * threat.n_records),
            present=max(present_error(threat, float(plan.rows.costs.max())) for plan in plans),
            statement="labelinf theory, Hadamard least squares",
            conditions="as many queries per bit of a label as a Hadamard matrix with a column per record has rows",
            strict=True,
        )

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask about every bit of the labels in turn."""
        threat = oracle.threat
        plans = self.plans(threat)
        promise = self.promise(threat)
        trusted = promise is not None and promise.certified
        logits = np.stack([_bit_logits(plan, oracle, rng, trusted=trusted) for plan in plans])
        return Guess(
            labels=labels_from_bits(logits, threat),
            evidence={
                "queries per bit": plans[0].queries,
                "order": plans[0].order,
                "records asked about": plans[0].n_records,
                "gap": plans[0].rows.gap,
                "noise of an answer, in signs": plans[0].rows.noise(),
                "predicted accuracy on what is scored": float(np.prod([plan.accuracy for plan in plans])),
            },
        )


def _bit_logits(plan: SignPlan, oracle: ScoreOracle, rng: np.random.Generator, *, trusted: bool) -> NDArray[np.float64]:
    """Ask what the plan says and return half the log-odds of the bit for all N records."""
    n = plan.rows.threat.n_records
    logits = np.full(n, plan.rows.bias)
    if plan.queries == 0:
        return logits
    matrix = Hadamard.of_order(plan.order)
    records = rng.permutation(n)[: plan.n_records]
    # Random signs make one column look like another, whatever the labels are.
    flips = rng.choice(np.array([-1, 1]), plan.n_records)
    asked, answers = _ask(plan, oracle, matrix, records, flips, rng.permutation(plan.order)[: plan.queries])
    if len(asked) == plan.order:
        by_row = np.empty(plan.order)
        by_row[asked] = answers
        estimates = sign_estimates(matrix, by_row)[: plan.n_records] * flips
        # A certified estimate needs no opinion about the classes, and must not be swayed by one.
        logits[records] = estimates / _spread(plan, estimates) + (0.0 if trusted else plan.rows.bias)
    elif len(asked):
        bias = plan.rows.bias * flips
        logits[records] = posterior_logits(matrix, asked, answers, noise=plan.rows.noise(), bias=bias) * flips
    return logits


def _spread(plan: SignPlan, estimates: NDArray[np.float64]) -> float:
    """Return the variance of an estimate: as told, unless the estimates show that there is far less noise than that.

    Signs are plus or minus one, so that what their squares exceed one by is noise.
    """
    seen = float(np.mean(estimates**2)) - 1
    return min(plan.spread, max(_FAR_LESS * seen, 1e-12))


def _ask(
    plan: SignPlan,
    oracle: ScoreOracle,
    matrix: Hadamard,
    records: NDArray[np.intp],
    flips: NDArray[np.intp],
    indices: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Ask row after row; return those that were answered, and the answers."""
    ways = np.zeros(plan.rows.threat.n_records, dtype=np.intp)

    def ask(index: int) -> float:
        ways[records] = matrix.row(index)[: len(records)] * flips
        return plan.rows.ask(oracle, ways)

    found = list(answered(indices.tolist(), ask))
    return np.array([index for index, _ in found], dtype=np.intp), np.array([answer for _, answer in found])

"""All labels at once from noisy scores, by linear programming.

Random signs push the records up and down; a linear program finds the labels that explain the answers best (C. Dwork,
F. McSherry, K. Talwar, STOC 2007). Against Gaussian noise Hadamard least squares is at least as good. Against
*bounded* noise that is asked about often it is much better, because the largest deviation is what bounded noise
limits: with four queries per label, uniform noise of a whole L / sqrt(N) is not enough.
"""

from __future__ import annotations

import functools
import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_scores.decoders.linear_programming import Norm, fit_signs
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle, answered
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.sign_rows import SignRows, labels_from_bits, n_bits, no_sign_rows

__all__ = ["LinearProgram"]

_MOST_RECORDS = 400  # the program grows with the square
_SURE = 1 - 1e-9
_AUTO = "auto"


@attrs.frozen(kw_only=True)
class LinearProgram(ScoreAttack):
    """Pushes all records by random signs and fits the labels by linear programming.

    Attributes:
        objective: What is minimised: ``"l1"``, the sum of the deviations; ``"linf"``, the largest; ``"auto"``, the
            largest where the noise is bounded and the sum otherwise.
        queries_per_label: Most queries per label (and bit of a label), whatever the budget.
    """

    objective: str = attrs.field(default=_AUTO, validator=attrs.validators.in_((_AUTO, *(norm.value for norm in Norm))))
    queries_per_label: float = attrs.field(default=4.0, validator=attrs.validators.gt(0))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """The program grows with the square of the records."""
        if threat.n_records > _MOST_RECORDS:
            return f"more than {_MOST_RECORDS} records make the program too large"
        return no_sign_rows(threat)

    def norm(self, threat: ScoreThreat) -> Norm:
        """Return how deviations are weighed under ``threat``."""
        if self.objective == _AUTO:
            return Norm.LINF if math.isfinite(threat.noise_bound) and threat.label_keep == 1 else Norm.L1
        return Norm(self.objective)

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask about every bit of the labels in turn."""
        threat = oracle.threat
        bits = n_bits(threat.n_classes)
        most = math.ceil(self.queries_per_label * threat.n_records)
        queries = int(min(most, oracle.remaining // bits))
        logits = [self._bit_logits(SignRows(threat=threat, bit=bit), queries, oracle, rng) for bit in range(bits)]
        return Guess(
            labels=labels_from_bits(np.stack(logits), threat),
            evidence={"queries per bit": queries, "objective": self.norm(threat).value},
        )

    def _bit_logits(
        self, rows: SignRows, queries: int, oracle: ScoreOracle, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        n = oracle.threat.n_records
        plan = (rng.choice(np.array([-1, 1]), n) for _ in range(queries))
        found = list(answered(plan, functools.partial(rows.ask, oracle)))
        if not found:
            return np.full(n, rows.bias)
        design, answers = map(np.array, zip(*found, strict=True))
        fitted = fit_signs(design, answers, self.norm(oracle.threat))
        return np.asarray(np.arctanh(fitted.clip(-_SURE, _SURE)) + rows.bias)

"""Against the Ladder: every query is lowered until its answer must say something.

A Ladder answers a score only when it is lower than the best one by a step. So every query is offset
(:mod:`~labelinf_scores.plans.ladder_offsets`) to lie below the last answer, whatever the labels asked about. There
are two ways to read an answer:

* **rungs**: the gaps of a block are whole steps, doubling from row to row. Every labelling then has a rung of its own:
  m labels a query, while ``K**(m-1) (K-1) N step`` is within the clip and the descent is long enough. Unclipped, one
  query tells all labels.
* **edge**: the two labels of one record lie on either side of the point from which on the Ladder answers. Whether it
  answers tells the label, however narrow the gap. The rarer class is the one that falls, so few rungs are spent.

A metric, or a mean of another loss, is asked about one record after the other
(:mod:`~labelinf_scores.attacks.ladder_steps`).

It goes on for as long as there are rungs: a bounded loss has ``span / step`` of them (labelinf theory, the Ladder).

Formal guarantee: with rows that need not sum to one, every label while the descent is long enough. Held by
``tests/scores/defences/test_ladder_attack.py``.

Example::

    labelinf attack ladder-descent --labels y.csv --defence 'ladder(step=0.01)'
"""

from __future__ import annotations

import contextlib
import functools
import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN, Guess
from labelinf_core.contracts.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.ladder_steps import beginning, climbed
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import ScoredMetric
from labelinf_scores.plans.ladder_offsets import FreeOffset, Laid
from labelinf_scores.plans.ladder_plan import SAFE, LadderPlan
from labelinf_scores.seen_through import unreadable

__all__ = ["LadderDescent"]


@attrs.frozen(kw_only=True)
class LadderDescent(ScoreAttack):
    """Recovers labels through the Ladder, one query below the other.

    Attributes:
        proper: Whether rows sum to one even where the curator would score others.
    """

    proper: bool = False

    def reads(self, metric: ScoredMetric | None) -> bool:
        """Any: whether a score improves is seen of all."""
        return True

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """There must be a Ladder, and nothing random before it."""
        if _is_stepped(threat):
            return _unread(threat)
        if unfit := _unfit(threat, proper=self.proper):
            return unfit
        return "" if self.plan(threat).is_possible else "no label stands out from the error of the score"

    def plan(self, threat: ScoreThreat) -> LadderPlan:
        """Return how the Ladder of ``threat`` is descended."""
        return LadderPlan.choose(threat, proper=self.proper or threat.normalised)

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, when rows need not sum to one and the descent is long enough whatever the labels."""
        if _is_stepped(threat):
            return None
        plan = self.plan(threat)
        if not isinstance(plan.offset, FreeOffset) or not plan.is_possible:
            return None
        return Promise(
            survives=plan.survives,
            present=plan.error,
            statement="labelinf theory, the Ladder",
            conditions="rows that do not sum to one are scored as they are; the curator answers every query on the "
            "true labels of all records, in order; the class counts are public",
            proved=plan.is_long_enough
            and threat.facts.intact
            and threat.allows(plan.queries)
            and not threat.reads.fraction,  # costs of fixed point are too coarse to put a score where it is wanted
            strict=True,
        )

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Descend until all labels are read, or the queries or the rungs run out."""
        if _is_stepped(oracle.threat):
            return _stepped(oracle, rng)
        plan = self.plan(oracle.threat)
        descent = _Descent(plan, oracle)
        try:
            descent.go()
            ended = ""
        except (QueriesExhaustedError, QueryRefusedError) as error:
            ended = str(error)
        evidence = {
            "labels per query": max(1, plan.n_labels),
            "read by": "rungs" if plan.n_labels else "the edge",
            "labels read": int(np.count_nonzero(descent.known >= 0)),
            "last answer": descent.best,
            "ended": ended or "all read" if (descent.known >= 0).all() else ended or "no rungs left",
        }
        return Guess(labels=likeliest_labels(certainly(descent.known, plan.threat), plan.threat), evidence=evidence)


class _Descent:
    """One game.

    Attributes:
        known: Labels read, -1 elsewhere, shape ``(N,)``.
        best: The last answer.
    """

    def __init__(self, plan: LadderPlan, oracle: ScoreOracle) -> None:
        self._plan = plan
        self._oracle = oracle
        self.known = np.full(plan.threat.n_records, -1, dtype=np.intp)
        self.best = math.inf

    def go(self) -> None:
        """Ask until everything is read or the bottom is reached.

        Raises:
            QueriesExhaustedError: The budget is spent.
            QueryRefusedError: The curator declines: what it would have answered is not known, so this ends it.
        """
        while (unread := int(np.count_nonzero(self.known < 0))) > 0:
            weights = self._plan.weights(unread)
            if not (self._by_rung(weights) if self._plan.n_labels else self._by_edge(weights)):
                return

    def _by_rung(self, weights: NDArray[np.float64]) -> bool:
        """Read a block; False when it does not fit below the last answer any more."""
        step = self._plan.step
        spread = float(weights.sum()) * (self._plan.threat.n_classes - 1) / self._plan.threat.n_records
        highest = self._lay(weights, math.inf).lowest
        target = step * math.floor(min(self.best - step - spread, highest) / step - SAFE)
        if len(weights) == len(self.known):
            target = 0.0
        laid = self._lay(weights, target)
        if abs(laid.lowest - target) > SAFE * step:
            return False
        sums = functools.reduce(np.add.outer, laid.gaps) / self._plan.threat.n_records + laid.lowest
        self.best = self._ask(laid)
        nearest = int(np.abs(sums - self.best).argmin())
        self._write(np.array(np.unravel_index(nearest, sums.shape)))
        return True

    def _by_edge(self, weights: NDArray[np.float64]) -> bool:
        """Read one record; False when the edge is below every score that can be had."""
        step, gap = self._plan.step, abs(float(weights[0])) / self._plan.threat.n_records
        target = self.best - self._plan.threat.facts.ladder_edge - gap / 2
        laid = self._lay(weights, target)
        if laid.lowest > target + SAFE * gap:
            return False
        before, self.best = self.best, self._ask(laid)
        if laid.lowest >= target - SAFE * gap:
            fell = self.best < before - step / 2
            self._write(np.array([self._plan.falling if fell else 1 - self._plan.falling]))
        return True

    def _lay(self, weights: NDArray[np.float64], target: float) -> Laid:
        return self._plan.offset.lay(weights, self.known, target)

    def _ask(self, laid: Laid) -> float:
        """Ask, and return the rung that was answered."""
        answer = float(self._oracle.query(laid.rows))
        if not math.isfinite(answer):
            raise QueryRefusedError(f"the score is {answer}.")
        return self._plan.step * round(answer / self._plan.step)

    def _write(self, labels: NDArray[np.intp]) -> None:
        self.known[np.flatnonzero(self.known < 0)[: len(labels)]] = labels


def _stepped(oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
    """Ask about one record after the other."""
    threat, last = oracle.threat, math.nan

    def answers(predictions: NDArray[np.float64]) -> bool:
        nonlocal last
        before = last
        try:
            last = float(oracle.query(predictions))
        except QueriesExhaustedError:
            raise
        except QueryRefusedError:
            return False
        return last != before

    known = np.full(threat.n_records, ABSTAIN, dtype=np.intp)
    start, expected = beginning(threat, rng)
    with contextlib.suppress(QueriesExhaustedError):
        climbed(threat, start, answers, known, math.inf)
    evidence = {"read by": "improvements, one record at a time", "labels read": int(np.count_nonzero(known != ABSTAIN)),
                "right in a rehearsal": expected, "last answer": last}  # fmt: skip
    return Guess(labels=likeliest_labels(certainly(known, threat), threat), evidence=evidence)


def _is_stepped(threat: ScoreThreat) -> bool:
    """Whether offsets cannot be laid, so that records are asked about one by one."""
    return threat.metric is not None or not (threat.loss.is_log_loss or threat.loss.takes_logits)


def _unread(threat: ScoreThreat) -> str:
    """Say why no record can be asked about by itself; empty when one can."""
    noisy = threat.noise_std > 0 or threat.noise_factor > 0 or threat.magnification != 1 or threat.facts.label_fresh
    reasons = (
        (threat.ladder_step == 0, "there is no Ladder to descend"),
        (noisy, "needs scores without noise before the Ladder"),
        (unreadable(threat) != "", unreadable(threat)),
        (max(threat.prior) == 1, "there is one class only"),
    )
    return next((reason for is_so, reason in reasons if is_so), "")


def _unfit(threat: ScoreThreat, *, proper: bool) -> str:
    """Say why no Ladder can be descended under ``threat``; empty when one can."""
    proper = proper or threat.normalised
    is_noisy = threat.noise_std > 0 or threat.noise_factor > 0 or threat.magnification != 1
    reasons = (
        (threat.ladder_step == 0, "there is no Ladder to descend"),
        (not threat.loss.is_log_loss, "needs the log-loss of probabilities"),
        (is_noisy or threat.facts.label_fresh, "needs scores without noise before the Ladder"),
        (unreadable(threat) != "", unreadable(threat)),
        (proper and threat.n_classes > 2, "more than two classes need rows that do not sum to one"),
        (proper and threat.label_keep < 1, "needs to know how often every class is scored"),
    )
    return next((reason for is_so, reason in reasons if is_so), "")

"""Says when an observation contradicts what was proved, with everything that is counted looked at.

A ceiling bounds what an attack *expects*. Five tests ask whether the trials of a cell contradict one, each at an equal
part of 5 %, divided by the number of cells and of ceilings:

* the **mean**: the interval of Korn and Graubard lies above it. Sharp with many trials, approximate with few;
* the **mean, by betting**: exact with any number of trials, and only assumes that the ceiling holds in every trial
  whatever came before it. One trial of share x below a ceiling c gives p = c / x at best: an expectation alone does not
  keep a defence from giving everything away in a share c of the games;
* **one game**: where the ceiling says what holds in every single game (:class:`PerGame`), every trial has a p-value of
  its own, and one trial is enough;
* **exact recovery**: the interval of Clopper and Pearson lies above its ceiling;
* **what was spent**: an attack that never spent more than m queries did as one that cannot, so what holds for a budget
  of m holds. As m is seen afterwards, its share of the error is ``1 / ((m + 1) (m + 2))``; all of them sum to one.

A certificate of label-DP has one more: the trials prove a larger epsilon. And an attack that asked nothing and knows
more than a blind guess read the labels from elsewhere: that says nothing of the defence, so its result is void.
"""

from __future__ import annotations

from collections.abc import Sequence

from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.evaluator import statistics
from labelinf_core.evaluator.records import Implied, Trial

__all__ = ["ERROR", "TESTS", "contradicted", "reads_elsewhere"]

ERROR = 1 - statistics.CONFIDENCE  #: probability that an honest table of any size raises an alarm
TESTS = 5


def contradicted(played: Sequence[Trial], implied: Implied, n_cells: int) -> bool:
    """Return whether the trials of a cell contradict a ceiling or a certificate.

    Args:
        played: The trials that were played to the end, at least one.
        implied: What was known before.
        n_cells: Cells of the table.
    """
    error = ERROR / n_cells / TESTS
    if any(_denied(played, ceiling, error / len(implied.ceilings)) for ceiling in implied.ceilings):
        return True
    audits = [trial.audited.p_value for trial in played if trial.audited]
    if statistics.combined(audits) <= error:
        return True
    most = max(played, key=lambda trial: trial.queries)
    seen = error / ((most.queries + 1) * (most.queries + 2))
    return any(_denied(played, ceiling, seen / len(most.ceilings)) for ceiling in most.ceilings)


def reads_elsewhere(played: Sequence[Trial], baseline: float, n_cells: int) -> bool:
    """Return whether trials in which nothing was asked know more than a blind guess."""
    unasked = [trial for trial in played if trial.queries == 0]
    if not unasked:
        return False
    correct, guesses = sum(trial.n_correct for trial in unasked), sum(trial.n_records for trial in unasked)
    return statistics.no_query_p_value(correct, guesses, baseline) <= ERROR / n_cells


def _denied(played: Sequence[Trial], ceiling: Ceiling, error: float) -> bool:
    shares = [trial.n_correct / trial.n_records for trial in played]
    confidence = 1 - 2 * error  # of an interval one end of which is looked at
    accuracy = statistics.alarm_accuracy(shares, played[0].n_records, confidence)
    exact = statistics.exact_recovery([share == 1 for share in shares], confidence)
    if ceiling.denies(accuracy.low, exact.low) or statistics.betting_p_value(shares, ceiling.reached) <= error:
        return True
    return ceiling.game is not None and _game(played, ceiling.game.share, ceiling.game.bits) <= error


def _game(played: Sequence[Trial], share: float, bits: float) -> float:
    return statistics.combined(
        [statistics.game_p_value(trial.n_correct, trial.n_records, share=share, bits=bits) for trial in played]
    )

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

import numpy as np

from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.evaluator.records import Implied
from labelinf_core.evaluator.tally import PlayedTrials
from labelinf_core.statistics import proportions

__all__ = ["ERROR", "TESTS", "contradicted", "reads_elsewhere"]

ERROR = 1 - proportions.CONFIDENCE  #: probability that an honest table of any size raises an alarm
TESTS = 5


def contradicted(played: PlayedTrials, implied: Implied, n_cells: int) -> bool:
    """Return whether the trials of a cell contradict a ceiling or a certificate.

    Args:
        played: The trials that were played to the end, at least one.
        implied: What was known before.
        n_cells: Cells of the table.
    """
    error = ERROR / n_cells / TESTS
    if any(_denied(played, ceiling, error / len(implied.ceilings)) for ceiling in implied.ceilings):
        return True
    if proportions.combined(played.audits) <= error:
        return True
    most = int(played.queries.max())
    seen = error / ((most + 1) * (most + 2))
    return any(_denied(played, ceiling, seen / len(played.ceilings)) for ceiling in played.ceilings)


def reads_elsewhere(played: PlayedTrials, baseline: float, n_cells: int, *, blind: bool) -> bool:
    """Return whether trials in which nothing was asked, or that do not look, know more than a blind guess."""
    unasked = (played.queries == 0) | blind
    if not unasked.any():
        return False
    correct, guesses = int(played.correct[unasked].sum()), int(played.records[unasked].sum())
    return proportions.no_query_p_value(correct, guesses, baseline) <= ERROR / n_cells


def _denied(played: PlayedTrials, ceiling: Ceiling, error: float) -> bool:
    shares, n_records = played.shares, int(played.records[0])
    confidence = 1 - 2 * error  # of an interval one end of which is looked at
    accuracy = proportions.alarm_accuracy(shares, n_records, confidence)
    exact = proportions.exact_recovery(shares == 1, confidence)
    if ceiling.denies(accuracy.low, exact.low) or proportions.betting_p_value(shares, ceiling.reached) <= error:
        return True
    return ceiling.game is not None and _game(played, ceiling.game.share, ceiling.game.bits) <= error


def _game(played: PlayedTrials, share: float, bits: float) -> float:
    games, times = np.unique(np.stack([played.correct, played.records], axis=1), axis=0, return_counts=True)
    each = [proportions.game_p_value(int(correct), int(n), share=share, bits=bits) for correct, n in games]
    return proportions.combined(np.repeat(each, times))

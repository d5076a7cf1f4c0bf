"""The placebo's verdict: results of attacks that guess labels which nothing depends on are void.

A placebo guess is right with probability 1/K, independently of all others, whenever the view says nothing about the
redrawn labels; so the number of correct ones over all trials of a cell is binomial and its p-value exact. Holm's
correction runs over all cells of the table: without it one honest attack in a hundred would be called leaky.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labelinf_core.contracts.components import Placebo
from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.evaluator.records import Status, Trial
from labelinf_core.evaluator.statistics import holm, p_value

__all__ = ["LEVEL", "placebo_p_value", "void_verdicts"]

LEVEL = 0.01  #: probability that any honest attack of a table is called leaky


def placebo_p_value(placebos: Sequence[Placebo]) -> float:
    """Return the exact one-sided p-value of so many correct placebo guesses, pooled over trials."""
    correct = sum(item.n_correct for item in placebos)
    return p_value(correct, sum(item.n_records for item in placebos), placebos[0].chance)


def void_verdicts(trials: Mapping[str, Sequence[Trial]]) -> Mapping[str, Verdict]:
    """Return the verdict of every cell whose result is void.

    Args:
        trials: The trials of every cell of the table, by the cell's name.
    """
    tried = {}
    for cell, played in trials.items():
        if placebos := [item.placebo for item in played if item.status is Status.OK and item.placebo]:
            tried[cell] = placebos
    adjusted = holm([placebo_p_value(placebos) for placebos in tried.values()])
    return {
        cell: Verdict.VIEW_REVEALS if placebos[0].declared else Verdict.LEAKY
        for (cell, placebos), p in zip(tried.items(), adjusted, strict=True)
        if p <= LEVEL
    }

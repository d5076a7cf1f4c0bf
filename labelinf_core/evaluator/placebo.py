"""The placebo's verdict: results of attacks that guess labels which nothing depends on are void.

A placebo guess is right with probability 1/K, independently of all others, whenever the view says nothing about the
redrawn labels; so the number of correct ones over all trials of a cell is binomial and its p-value exact. Holm's
correction runs over all cells of the table: without it one honest attack in a hundred would be called leaky.
"""

from __future__ import annotations

from collections.abc import Mapping

from labelinf_core.contracts.components import Placebo
from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.statistics.proportions import holm, p_value

__all__ = ["LEVEL", "placebo_p_value", "void_verdicts"]

LEVEL = 0.01  #: probability that any honest attack of a table is called leaky


def placebo_p_value(placebo: Placebo) -> float:
    """Return the exact one-sided p-value of so many correct placebo guesses."""
    return p_value(placebo.n_correct, placebo.n_records, placebo.chance)


def void_verdicts(placebos: Mapping[str, Placebo | None]) -> Mapping[str, Verdict]:
    """Return the verdict of every cell whose result is void.

    Args:
        placebos: How every cell of the table fared, all its trials together, by the cell's name.
    """
    tried = {cell: placebo for cell, placebo in placebos.items() if placebo is not None}
    adjusted = holm([placebo_p_value(placebo) for placebo in tried.values()])
    return {
        cell: Verdict.VIEW_REVEALS if placebo.declared else Verdict.LEAKY
        for (cell, placebo), p in zip(tried.items(), adjusted, strict=True)
        if p <= LEVEL
    }

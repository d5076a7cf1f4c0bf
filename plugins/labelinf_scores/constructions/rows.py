"""Which rows suit a curator: exact ones for the log-loss in floats, the loss's own for everything else.

Example:
    >>> from labelinf_scores.game.threat import ScoreThreat
    >>> from labelinf_scores.metrics.log_loss import LogLoss
    >>> threat = ScoreThreat(n_records=9, n_classes=2, prior=(0.5, 0.5), loss=LogLoss(), arithmetic="float64",
    ...                      summation="numpy", scorer_clip=2.0**-52)
    >>> rows_for(threat).neutral.certain_cost
    0.6931471805599453
"""

from __future__ import annotations

from labelinf_scores.certificates.row_costs import LOG_ERROR
from labelinf_scores.constructions.log_rows import FreeRows, ProperRows
from labelinf_scores.constructions.loss_rows import LossRows, RowMaker, format_of
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["FreeRows", "LossRows", "ProperRows", "RowMaker", "computes_as_it_reads", "rows_for"]


def rows_for(threat: ScoreThreat, *, proper: bool = True) -> RowMaker:
    """Return the maker of rows for a curator.

    Args:
        threat: What is public about it.
        proper: Whether probabilities must sum to one.
    """
    if threat.loss.is_log_loss and computes_as_it_reads(threat):
        return ProperRows(threat=threat) if proper else FreeRows(threat=threat)
    return LossRows(threat=threat)


def computes_as_it_reads(threat: ScoreThreat) -> bool:
    """Whether predictions are read and costs computed in one and the same format of the machine."""
    return threat.arithmetic in LOG_ERROR and format_of(threat) == threat.arithmetic

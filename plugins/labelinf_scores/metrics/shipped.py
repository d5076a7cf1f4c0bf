"""What a board can score and a proof can rest on: the losses and metrics that ship, by exact type.

A certificate uses three things of what is scored: how far one label moves it, how large its costs are, and whether
labels of one class have a score, too. Shipped classes state them in closed form, and tests hold them against every
labelling of small boards. A class that derives from one of these can override anything, and a loss that carries a
user's function can compute anything: both are foreign, and foreign is unknown.

Example:
    >>> from labelinf_scores.metrics.bregman import Bregman
    >>> is_closed(Bregman()), is_closed(Bregman(generator="math:sqrt", derivative="math:exp"))
    (True, False)
"""

from __future__ import annotations

from labelinf_core.contracts.effects import closed
from labelinf_scores.metrics.bregman import Bregman
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.readings import (
    affine,
    classes,
    columns,
    counts,
    deviations,
    discounts,
    grades,
    lists,
    ranks,
    squares,
    sums,
    tops,
)
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

__all__ = ["ALWAYS_SCORED", "LOSSES", "METRICS", "is_closed"]

LOSSES: tuple[type, ...] = (
    Bregman,
    Brier,
    ItakuraSaito,
    LogLoss,
    NormLike,
    SigmoidLogLoss,
    SoftmaxLogLoss,
    SquaredEuclidean,
)

ALWAYS_SCORED: tuple[type, ...] = (
    affine.AffineLogLoss,
    classes.ClassAccuracy,
    classes.ClassBalancedAccuracy,
    classes.ClassError,
    classes.ClassMatthews,
    classes.MacroF1,
    classes.MicroF1,
    classes.WeightedF1,
    counts.Accuracy,
    counts.BalancedAccuracy,
    counts.ErrorRate,
    counts.F1,
    counts.F2,
    counts.FBeta,
    counts.Jaccard,
    counts.Matthews,
    counts.Precision,
    counts.Recall,
    counts.Specificity,
    deviations.MeanAbsoluteError,
    deviations.PinballLoss,
    discounts.Ndcg,
    lists.AveragePrecision,
    lists.ReciprocalRank,
    squares.MeanSquaredError,
    squares.RootMeanSquaredError,
    squares.RootMeanSquaredLogError,
    tops.PrecisionAtK,
)  #: metrics that labels of one class have, too: where there may be none, that there is none tells of labels

METRICS: tuple[type, ...] = (
    *ALWAYS_SCORED,
    affine.D2LogLoss,
    classes.ClassKappa,
    columns.MacroAuc,
    columns.PairwiseAuc,
    counts.CohenKappa,
    counts.Lift,
    counts.Youden,
    deviations.D2AbsoluteError,
    grades.LinearKappa,
    grades.QuadraticKappa,
    ranks.Gini,
    ranks.RocAuc,
    squares.R2,
    sums.BrierScore,
    sums.LogLossScore,
    sums.MeanLoss,
    tops.LiftAtK,
)

_SHIPPED = frozenset((*LOSSES, *METRICS))


def is_closed(scored: object) -> bool:
    """Whether a loss or a metric ships, and carries nobody else's code."""
    if type(scored) is Bregman and scored.foreign:
        return False
    inner = getattr(scored, "loss", None)
    return closed(scored, _SHIPPED) and (inner is None or is_closed(inner))

"""What a board can score and a proof can rest on: the losses and metrics that ship, by exact type.

A certificate uses three things of what is scored: how far one label moves it, how large its costs are, and whether
labels of one class have a score, too. Shipped classes state them in closed form, and tests hold them against every
labelling of small boards. A class that derives from one of these can override anything, and a loss that carries a
user's function can compute anything: both are foreign, and foreign is unknown.

They are listed by name, so that an attack which asks whether something is closed imports none of them.

Example:
    >>> from labelinf_scores.metrics.bregman import Bregman
    >>> is_closed(Bregman()), is_closed(Bregman(generator="math:sqrt", derivative="math:exp"))
    (True, False)
"""

from __future__ import annotations

from labelinf_core.contracts.effects import TypesByName, closed

__all__ = ["ALWAYS_SCORED", "LOSSES", "METRICS", "is_closed"]

LOSSES = TypesByName.of(
    "labelinf_scores.metrics",
    {
        "bregman": ("Bregman",),
        "brier": ("Brier",),
        "itakura_saito": ("ItakuraSaito",),
        "log_loss": ("LogLoss",),
        "norm_like": ("NormLike",),
        "sigmoid_log_loss": ("SigmoidLogLoss",),
        "softmax_log_loss": ("SoftmaxLogLoss",),
        "squared_euclidean": ("SquaredEuclidean",),
    },
)

ALWAYS_SCORED = TypesByName.of(
    "labelinf_scores.metrics.readings",
    {
        "affine": ("AffineLogLoss",),
        "classes": (
            "ClassAccuracy",
            "ClassBalancedAccuracy",
            "ClassError",
            "ClassMatthews",
            "MacroF1",
            "MicroF1",
            "WeightedF1",
        ),
        "counts": (
            "Accuracy",
            "BalancedAccuracy",
            "ErrorRate",
            "F1",
            "F2",
            "FBeta",
            "Jaccard",
            "Matthews",
            "Precision",
            "Recall",
            "Specificity",
        ),
        "deviations": ("MeanAbsoluteError", "PinballLoss"),
        "discounts": ("Ndcg",),
        "lists": ("AveragePrecision", "ReciprocalRank"),
        "squares": ("MeanSquaredError", "RootMeanSquaredError", "RootMeanSquaredLogError"),
        "tops": ("PrecisionAtK",),
    },
)  #: metrics that labels of one class have, too: where there may be none, that there is none tells of labels

METRICS = ALWAYS_SCORED | TypesByName.of(
    "labelinf_scores.metrics.readings",
    {
        "affine": ("D2LogLoss",),
        "classes": ("ClassKappa",),
        "columns": ("MacroAuc", "PairwiseAuc"),
        "counts": ("CohenKappa", "Lift", "Youden"),
        "deviations": ("D2AbsoluteError",),
        "grades": ("LinearKappa", "QuadraticKappa"),
        "ranks": ("Gini", "RocAuc"),
        "squares": ("R2",),
        "sums": ("BrierScore", "LogLossScore", "MeanLoss"),
        "tops": ("LiftAtK",),
    },
)

_SHIPPED = LOSSES | METRICS


def is_closed(scored: object) -> bool:
    """Whether a loss or a metric ships, and carries nobody else's code."""
    if not closed(scored, _SHIPPED) or getattr(scored, "foreign", False):
        return False
    inner = getattr(scored, "loss", None)
    return inner is None or is_closed(inner)

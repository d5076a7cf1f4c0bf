"""Descriptors of the losses."""

from __future__ import annotations

from labelinf_core import Descriptor, Kind, Reference

__all__ = ["DESCRIPTORS"]

_ICML = "Aggarwal et al., ICML 2021"
_AISTATS = "Aggarwal et al., AISTATS 2022"


def _loss(name: str, summary: str, work: str, statement: str, target: str) -> Descriptor:
    return Descriptor(
        kind=Kind.LOSS,
        name=name,
        channel="score",
        summary=summary,
        reference=Reference(work=work, statement=statement),
        target=f"labelinf_scores.metrics.{target}",
    )


DESCRIPTORS: tuple[Descriptor, ...] = (
    _loss(
        "log-loss",
        "cross-entropy of predicted probabilities, two classes or more",
        _ICML,
        "Definitions 1 and 2, corrected",
        "log_loss:LogLoss",
    ),
    _loss(
        "softmax-log-loss",
        "cross-entropy of the softmax of logits, never clipped",
        _AISTATS,
        "equation 5",
        "softmax_log_loss:SoftmaxLogLoss",
    ),
    _loss(
        "sigmoid-log-loss",
        "cross-entropy of the sigmoid of logits, two classes, never clipped",
        _AISTATS,
        "equation 14",
        "sigmoid_log_loss:SigmoidLogLoss",
    ),
    _loss(
        "itakura-saito",
        "1 / theta + ln theta - 1 of the true label's probability, two classes",
        _AISTATS,
        "equation 8, corrected",
        "itakura_saito:ItakuraSaito",
    ),
    _loss(
        "squared-euclidean",
        "halved Brier score, bounded by 1, two classes or more",
        _AISTATS,
        "equation 10",
        "squared_euclidean:SquaredEuclidean",
    ),
    _loss(
        "norm-like",
        "norm-like divergence of order alpha, two classes",
        _AISTATS,
        "equation 11",
        "norm_like:NormLike",
    ),
    _loss(
        "bregman",
        "Bregman divergence of any convex generator, two classes",
        _AISTATS,
        "Lemma 1, corrected",
        "bregman:Bregman",
    ),
)

"""Descriptors of the defences of the score channel."""

from __future__ import annotations

from labelinf_core import Descriptor, Kind, Reference

__all__ = ["DESCRIPTORS"]

_ICML = "Aggarwal et al., ICML 2021"
_AISTATS = "Aggarwal et al., AISTATS 2022"
_OWN = "labelinf theory"


def _defence(name: str, summary: str, work: str, statement: str, target: str) -> Descriptor:
    return Descriptor(
        kind=Kind.DEFENCE,
        name=name,
        channel="score",
        summary=summary,
        reference=Reference(work=work, statement=statement),
        target=f"labelinf_scores.defences.{target}",
    )


DESCRIPTORS: tuple[Descriptor, ...] = (
    _defence("clip", "clips predictions to [epsilon, 1 - epsilon]", "scikit-learn", "log_loss", "clip:Clip"),
    _defence(
        "enforce-row-sums",
        "rejects or renormalises rows that do not sum to one",
        _ICML,
        "Definition 1, corrected (I-1)",
        "row_sums:EnforceRowSums",
    ),
    _defence("round", "rounds the score to d decimals", _OWN, "rounding and counting", "rounding:Round"),
    _defence(
        "score-noise",
        "adds noise of any model to the score, fresh or sticky",
        _ICML,
        "Section 4",
        "score_noise:ScoreNoise",
    ),
    _defence(
        "worst-case-noise",
        "errs by at most tau, always so as to hide the same secret records",
        _OWN,
        "worst-case noise",
        "worst_case_noise:WorstCaseNoise",
    ),
    _defence(
        "laplace-dp",
        "Laplace noise calibrated to pure label-DP",
        "Dwork et al., TCC 2006",
        "Proposition 1",
        "laplace_dp:LaplaceDp",
    ),
    _defence(
        "gaussian-dp",
        "Gaussian noise calibrated to (epsilon, delta)-label-DP",
        "Balle and Wang, ICML 2018",
        "Theorem 8",
        "gaussian_dp:GaussianDp",
    ),
    _defence(
        "snapping",
        "Laplace noise that is private in floating point",
        "Mironov, CCS 2012",
        "Section 5",
        "snapping:Snapping",
    ),
    _defence(
        "privacy-budget",
        "grants as many answers as a label-DP budget pays for",
        "Dwork et al., TCC 2006",
        "basic composition",
        "privacy_budget:PrivacyBudget",
    ),
    _defence(
        "randomised-response",
        "perturbs labels before scoring, once or for every query",
        "Warner, JASA 1965",
        "Section 1",
        "randomised_response:RandomisedResponse",
    ),
    _defence(
        "subset",
        "scores a secret part of the records, fixed or fresh",
        _OWN,
        "scoring part of the records",
        "subset:Subset",
    ),
    _defence("query-limit", "grants at most so many scores", "folklore", "rate limit", "query_limit:QueryLimit"),
    _defence(
        "minimum-batch",
        "refuses queries that say something about few records only",
        _ICML,
        "Algorithms 1 and 3",
        "minimum_batch:MinimumBatch",
    ),
    _defence(
        "refuse-constructions",
        "refuses predictions that look like a construction",
        _AISTATS,
        "Section 5",
        "refuse_constructions:RefuseConstructions",
    ),
    _defence(
        "ladder",
        "answers only improvements on the best score so far",
        "Blum and Hardt, ICML 2015",
        "Figure 1",
        "ladder:Ladder",
    ),
    _defence(
        "thresholdout",
        "answers from an open half of the records unless the other disagrees",
        "Dwork et al., Science 2015",
        "Thresholdout",
        "thresholdout:Thresholdout",
    ),
    _defence(
        "permute-labels",
        "a private leaderboard: labels in a secret order",
        _AISTATS,
        "Section 7",
        "permute_labels:PermuteLabels",
    ),
)

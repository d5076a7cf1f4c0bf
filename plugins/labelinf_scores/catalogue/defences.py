"""Descriptors of the defences of the score channel."""

from __future__ import annotations

from labelinf_core import Descriptor, Kind, Reference

__all__ = ["DESCRIPTORS"]

_ICML = "Aggarwal et al., ICML 2021"


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
    _defence("none", "releases the score as computed", "folklore", "baseline", "identity:Identity"),
    _defence("clip", "clips predictions to [epsilon, 1 - epsilon]", _ICML, "Section 5", "clip:Clip"),
    _defence("round", "rounds the score to d decimals", _ICML, "Section 5", "rounding:Round"),
    _defence(
        "score-noise",
        "adds noise of any model to the score, fresh or sticky",
        _ICML,
        "Section 4",
        "score_noise:ScoreNoise",
    ),
    _defence(
        "laplace-dp",
        "Laplace noise calibrated to epsilon-label-DP for each answer",
        "Dwork et al., TCC 2006",
        "Proposition 1",
        "laplace_dp:LaplaceDp",
    ),
    _defence(
        "randomised-response",
        "perturbs every label once, before anything is scored",
        "Warner, JASA 1965",
        "Section 1",
        "randomised_response:RandomisedResponse",
    ),
    _defence("query-limit", "grants at most so many scores", "folklore", "rate limit", "query_limit:QueryLimit"),
)

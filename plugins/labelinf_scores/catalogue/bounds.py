"""Descriptors of the bounds of the score channel."""

from __future__ import annotations

from labelinf_core import Descriptor, Kind, Reference

__all__ = ["DESCRIPTORS"]

_ICML = "Aggarwal et al., ICML 2021"
_AISTATS = "Aggarwal et al., AISTATS 2022"
_OWN = "labelinf theory"


def _bound(name: str, summary: str, work: str, statement: str, target: str) -> Descriptor:
    return Descriptor(
        kind=Kind.BOUND,
        name=name,
        channel="score",
        summary=summary,
        reference=Reference(work=work, statement=statement),
        target=f"labelinf_scores.bounds.{target}",
    )


DESCRIPTORS: tuple[Descriptor, ...] = (
    _bound(
        "construction-noise",
        "the noise that each construction survives",
        f"{_ICML}; {_AISTATS}",
        "Algorithms 1 to 3; Theorems 1 to 3",
        "constructions:ConstructionNoise",
    ),
    _bound(
        "counting",
        "few possible answers carry few bits, so most labels stay open",
        _OWN,
        "counting",
        "counting:Counting",
    ),
    _bound(
        "gaussian-capacity",
        "few queries through Gaussian noise carry few bits",
        _OWN,
        "capacity of Gaussian noise",
        "gaussian_capacity:GaussianCapacity",
    ),
    _bound(
        "hadamard-noise",
        "the random noise that many queries see through",
        _OWN,
        "Hadamard least squares",
        "hadamard:HadamardNoise",
    ),
    _bound("label-dp", "what label-DP of the whole game denies", _OWN, "label-DP ceilings", "label_dp:LabelDp"),
    _bound(
        "one-query",
        "noise above which m labels do not fit into one query",
        f"{_ICML}; {_AISTATS}",
        "Theorems 5 and 6; Theorem 9; corrected",
        "one_query:OneQuery",
    ),
    _bound(
        "private-noise",
        "what private noise denies over the query budget, and how much is needed",
        "Dong, Roth and Su, JRSS B 2022",
        "Corollary 3.3",
        "private_scores:PrivateScores",
    ),
    _bound(
        "sensitivity",
        "how far one label moves the score: no noise is private without a clip",
        "Dwork et al., TCC 2006",
        "Proposition 1",
        "sensitivity:Sensitivity",
    ),
    _bound(
        "unseen-records",
        "records that no answer depends on, or whose order is unknown",
        f"{_OWN}; {_AISTATS}",
        "scoring part of the records; Section 7",
        "unseen:Unseen",
    ),
    _bound(
        "worst-case-noise",
        "the noise from which on labels can be hidden for ever",
        _OWN,
        "worst-case noise",
        "worst_case:WorstCaseNoise",
    ),
)

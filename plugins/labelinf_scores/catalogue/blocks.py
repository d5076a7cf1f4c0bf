"""Descriptors of the block attacks: as many labels per query as can be certified."""

from __future__ import annotations

from labelinf_core import Descriptor, Kind, Reference

__all__ = ["DESCRIPTORS"]

_OURS = "labelinf theory"


def _attack(name: str, summary: str, reference: Reference, target: str) -> Descriptor:
    return Descriptor(
        kind=Kind.ATTACK,
        name=name,
        channel="score",
        summary=summary,
        reference=reference,
        target=f"labelinf_scores.attacks.{target}",
    )


DESCRIPTORS: tuple[Descriptor, ...] = (
    _attack(
        "binary-weights",
        "two classes, as many labels per query as are proved to be read right for every labelling",
        Reference(work=_OURS, statement="the one-unit certificate"),
        "binary_weights:BinaryWeights",
    ),
    _attack(
        "mixed-radix",
        "K classes, the labels of a block as the digits of one number",
        Reference(work=_OURS, statement="mixed radix; instead of Aggarwal et al., AISTATS 2022, Theorem 3"),
        "mixed_radix:MixedRadix",
    ),
    _attack(
        "adaptive-weights",
        "records already decoded are set to their labels, so that later queries carry more",
        Reference(work=_OURS, statement="the one-unit certificate, adaptive"),
        "adaptive_weights:AdaptiveWeights",
    ),
    _attack(
        "unnormalised-weights",
        "rows that need not sum to one, which a scorer only warns about",
        Reference(work=_OURS, statement="the one-unit certificate, free rows"),
        "unnormalised_weights:UnnormalisedWeights",
    ),
    _attack(
        "conway-guy",
        "narrower weights with distinct sums: one label more per query where rounding or noise is the limit",
        Reference(work="Bohman, Proceedings of the AMS 1996", statement="Conway and Guy's sequence"),
        "conway_guy:ConwayGuyWeights",
    ),
    _attack(
        "detecting-matrix",
        "two classes, many labels per query at every noise that one label per query survives",
        Reference(work="Cantor and Mills, Canadian Journal of Mathematics 1966", statement="detecting matrices"),
        "detecting_matrix:DetectingMatrix",
    ),
    _attack(
        "hybrid",
        "two classes, private labels and a detecting matrix in every query: best against coarse rounding",
        Reference(work=_OURS, statement="hybrid of binary weights and detecting matrices"),
        "hybrid:Hybrid",
    ),
)

"""Descriptors of the noise-robust attacks."""

from __future__ import annotations

from labelinf_core import Descriptor, Kind, Reference

__all__ = ["DESCRIPTORS"]

_ICML = "Aggarwal et al., ICML 2021"
_AISTATS = "Aggarwal et al., AISTATS 2022"


def _attack(name: str, summary: str, work: str, statement: str, target: str) -> Descriptor:
    return Descriptor(
        kind=Kind.ATTACK,
        name=name,
        channel="score",
        summary=summary,
        reference=Reference(work=work, statement=statement),
        target=f"labelinf_scores.attacks.{target}",
    )


DESCRIPTORS: tuple[Descriptor, ...] = (
    _attack(
        "majority",
        "guesses the most frequent class for every record and asks nothing",
        "folklore",
        "baseline",
        "majority:Majority",
    ),
    _attack(
        "powers-blocks",
        "a few labels per query by gaps that double from row to row, decoded greedily",
        _ICML,
        "Algorithm 3, corrected; AISTATS 2022, Theorems 1 and 3",
        "powers_blocks:PowersBlocks",
    ),
    _attack(
        "powers-exhaustive",
        "all labels from one noisy score: gaps that double, nearest labelling",
        _ICML,
        "Algorithm 2, Theorem 4",
        "powers_exhaustive:PowersExhaustive",
    ),
    _attack(
        "hadamard",
        "pushes all records by orthogonal signs and solves by least squares; message passing when queries are few",
        "labelinf theory",
        "Hadamard least squares; after Dinur and Nissim, PODS 2003",
        "hadamard:HadamardAttack",
    ),
    _attack(
        "linear-program",
        "pushes all records by random signs and fits the labels by linear programming",
        "Dwork, McSherry and Talwar, STOC 2007",
        "LP decoding",
        "linear_program:LinearProgram",
    ),
    _attack(
        "averaging",
        "blocks of doubling gaps, repeated at different scales and averaged",
        _ICML,
        "Algorithm 3, repeated",
        "averaging:Averaging",
    ),
    _attack(
        "doubling",
        "blocks of doubling gaps without knowing the noise: every reading is checked by a second one",
        _AISTATS,
        "concluding remarks, unknown noise",
        "doubling:Doubling",
    ),
    _attack(
        "ladder-descent",
        "offsets every query to lie below the last answer of a Ladder, which then has to tell",
        "labelinf theory",
        "the Ladder; against Blum and Hardt, ICML 2015",
        "ladder_descent:LadderDescent",
    ),
    _attack(
        "subset-inference",
        "two classes, scores on a secret part of the records: who is in it, and their labels",
        "labelinf theory",
        "scoring part of the records",
        "subset_inference:SubsetInference",
    ),
    _attack(
        "camouflage",
        "random predictions that look honest, as many as there are labels: what detectors let through",
        "labelinf theory",
        "detectors; after Dinur and Nissim, PODS 2003",
        "camouflage:Camouflage",
    ),
    _attack(
        "class-counts",
        "counts the labels of every class when the order of the records is secret",
        _AISTATS,
        "concluding remarks, private leaderboards",
        "class_counts:ClassCounts",
    ),
)

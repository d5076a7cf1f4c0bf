"""What a certificate rests on and says, in whole numbers: for the ledger's first row, where ``verify`` reads it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from labelinf_guard.certificate.statement import Certificate, thousandths
from labelinf_guard.metrics import GuardMetric
from labelinf_guard.policy import Policy, exact
from labelinf_guard.terms import Sizes, final_ratio, noise_of, scale_of, steps_of

__all__ = ["claims_of", "whole_terms"]


def claims_of(found: Certificate) -> dict[str, int]:
    """Return what is printed, in thousandths of all labels, rounded up as it is printed."""
    said = {"now": found.now, "after": found.after, "line": None if found.void else found.line}
    return {name: thousandths(share) for name, share in said.items() if share is not None}


def whole_terms(policy: Policy, metric: GuardMetric, sizes: Sizes) -> dict[str, Any]:
    """Return the terms: numbers of labels, and ratios as numerator and denominator; None where there is none.

    The first form of the arithmetic was not written down: boards that were begun with it compare equal.
    """
    noise = noise_of(policy, metric, sizes.public, policy.release.noise)
    told = None if noise is None else steps_of(noise, sizes.largest, policy.budget.per_board)
    return {
        "public": sizes.public,
        "sealed": sizes.sealed,
        "classes": len(policy.board.classes),
        "known": policy.target.counts_known,
        "perfect": None if policy.perfect is None else _ratio(exact(policy.perfect)),
        "doubt": _ratio(exact(policy.target.doubt)),
        "grouped": sizes.public_effective is not None or sizes.sealed_effective is not None,
        "effective": _ratio(sizes.public_effective),
        "sealed_effective": _ratio(sizes.sealed_effective),
        "units": sizes.public_groups,
        "levels": scale_of(policy, metric).answers,
        "noise": None if told is None else [told.moved, told.answers, *_numbers(told.variance)],
        "flip": _ratio(exact(policy.public.flip)),
        "final": _final(policy, metric, sizes),
        **({"form": sizes.form} if sizes.form > 1 else {}),
    }


def _final(policy: Policy, metric: GuardMetric, sizes: Sizes) -> dict[str, Any] | None:
    part = policy.final
    if not (part.scores or part.ranks):
        return None
    scale, ratio = scale_of(policy, metric), final_ratio(policy, metric, sizes)
    return {
        "scores": part.scores,
        "ranks": part.ranks,
        "ratio": _ratio(ratio),
        "decimals": scale.decimals,
        "first": scale.first,
        "levels": scale.answers,
        **({} if part.scores else {"among": policy.budget.per_board}),
    }


def _ratio(value: Fraction | None) -> list[int] | None:
    return None if value is None else _numbers(value)


def _numbers(value: Fraction) -> list[int]:
    return [value.numerator, value.denominator]

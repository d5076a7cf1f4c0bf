"""Descriptors of the attacks that spell out integers: primes, their powers and logarithms, and binary weights."""

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
        "primes",
        "all labels of two classes from one exact log-loss, as the divisors of an integer",
        _ICML,
        "Theorem 1",
        "primes:Primes",
    ),
    _attack(
        "prime-powers",
        "all labels of K classes from one exact log-loss, as the exponents of primes",
        _ICML,
        "Theorem 8 (Theorem 3 in exact arithmetic)",
        "prime_powers:PrimePowers",
    ),
    _attack(
        "prime-blocks",
        "a few labels per query in bounded precision, as the divisors of an integer",
        _ICML,
        "Algorithm 1; Theorem 3 for K classes, repaired",
        "prime_blocks:PrimeBlocks",
    ),
    _attack(
        "prime-blocks-printed",
        "Algorithm 1 with as many labels per query as it prints, which is too many",
        _ICML,
        "Algorithm 1, line 4, as printed",
        "prime_blocks_printed:PrimeBlocksPrinted",
    ),
    _attack(
        "log-primes",
        "a few labels per query of any loss, against noise, with logarithms of primes as gaps",
        _AISTATS,
        "Construction 2, Theorem 2, Corollary 2",
        "log_primes:LogPrimes",
    ),
    _attack(
        "exact-binary",
        "all labels of two classes from one exact score of any loss, in N + O(log N) bits",
        "labelinf theory",
        "binary weights",
        "exact_binary:ExactBinary",
    ),
)

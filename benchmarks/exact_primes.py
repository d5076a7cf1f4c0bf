"""All labels from one exact score: how the cost grows, and how the papers' own method compares.

Usage::

    python benchmarks/exact_primes.py                        # 1 000 to 100 000 labels
    python benchmarks/exact_primes.py --sizes 1000000        # minutes

Everything is CPU seconds of one process. *decode* is what the adversary computes from the score: one exponential of
N ln N bits, one rounding and one remainder tree. *division* is the papers' way to find the divisors ("checking each
p_i one by one", ICML 2021, Theorem 1), on the same integer; *tree* is the remainder tree alone. *growth* is the cost of
decoding against the row before, beside the growth of the number of bits: quasi-linear means that the first exceeds the
second only by the logarithms.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import gmpy2
import numpy as np

from labelinf_papers.attacks.prime_powers import classes_of_score
from labelinf_papers.constructions.binary_weights import binary_bits
from labelinf_papers.decoders.divisibility import divisors
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.primes import first_primes, needed_bits, prime_predictions, prime_product
from labelinf_scores.metrics.log_loss import LogLoss

_DIVISION_UP_TO = 100_000  # labels: a quadratic method


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def measure(n: int) -> dict[str, float]:
    """Play Theorem 1 against ``n`` random labels and return the CPU seconds of every step."""
    labels = np.random.default_rng(0).integers(0, 2, n)
    (primes, predictions), build = timed(lambda: (first_primes(n), prime_predictions(first_primes(n))))
    bits = needed_bits(primes)
    numbers = make_arithmetic("exact").at_precision(bits)
    score, curator = timed(lambda: LogLoss().score(labels, predictions, numbers))
    found, decode = timed(lambda: classes_of_score(score, primes, 2, bits=bits))
    if found is None or not np.array_equal(found, labels):
        raise AssertionError(f"{n} labels were not recovered")
    integer = prime_product(primes[labels == 1])
    _, tree = timed(lambda: divisors(integer, primes))
    division = (
        timed(lambda: [gmpy2.is_divisible(integer, p) for p in primes.tolist()])[1] if n <= _DIVISION_UP_TO else 0
    )
    return {
        "n": n,
        "bits": bits,
        "build": build,
        "curator": curator,
        "decode": decode,
        "tree": tree,
        "division": division,
    }


def growth(sizes: list[int]) -> None:
    print(
        f"{'labels':>9} {'bits':>11} {'(binary)':>9} {'build':>7} {'curator':>8} {'decode':>8} {'tree':>7} "
        f"{'division':>8} {'ratio':>7} {'growth':>7} {'of bits':>7}"
    )
    before: dict[str, float] = {}
    for n in sizes:
        row = measure(n)
        ratio = f"{row['division'] / row['tree']:6.1f}x" if row["division"] else "-"
        risen = f"{row['decode'] / before['decode']:6.1f}x {row['bits'] / before['bits']:6.1f}x" if before else ""
        print(
            f"{n:9,} {row['bits']:11,} {binary_bits(n):9,} {row['build']:7.3f} {row['curator']:8.3f} "
            f"{row['decode']:8.3f} {row['tree']:7.4f} {row['division']:8.3f} {ratio:>7} {risen}",
            flush=True,
        )
        before = row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[1_000, 10_000, 30_000, 100_000], help="numbers of labels"
    )
    growth(parser.parse_args().sizes)


if __name__ == "__main__":
    main()

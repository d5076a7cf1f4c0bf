"""S51, AISTATS 2022, Theorem 10: 3**(2**i) * N * tau is a misprint for 3**(2**i N tau)."""

from __future__ import annotations

import itertools
import math

import pytest

from labelinf_papers.set_valued import separation
from labelinf_scores.constructions.powers import power_gaps


def separation_of(gaps: list[float]) -> float:
    labellings = itertools.product((0, 1), repeat=len(gaps))
    return separation([math.fsum(g for g, k in zip(gaps, x, strict=True) if k) for x in labellings]) / len(gaps)


def test_the_printed_entries_collide() -> None:
    """Erratum A-14: N = 3, tau = 3: v = (81, 729, 59049) and 81 * 729 = 59049."""
    v = [3 ** (2**i) * 9 for i in (1, 2, 3)]
    assert v == [81, 729, 59049]
    assert v[0] * v[1] == v[2]
    products = [
        math.prod(x for x, k in zip(v, labels, strict=True) if k) for labels in itertools.product((0, 1), repeat=3)
    ]
    assert separation(products) == 0


@pytest.mark.parametrize(("n", "tau"), [(3, 3.0), (1, 10.0), (5, 0.2)])
def test_the_repaired_entries_separate_by_two_tau_ln_three(n: int, tau: float) -> None:
    gaps = power_gaps(n, n_records=n, tau=tau, base=3.0).tolist()
    assert separation_of(gaps) == pytest.approx(2 * tau * math.log(3), rel=1e-9)

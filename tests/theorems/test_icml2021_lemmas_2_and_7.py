"""S16, ICML 2021, Lemmas 2 and 7: v_i = 3 e**(2**i N tau) does not separate; v_i = 3**(2**i N tau) does."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import pytest

from labelinf_papers.set_valued import separation
from labelinf_scores.constructions.powers import power_gaps

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())["lemma2_counterexample"]
LABELLINGS = list(itertools.product((0, 1), repeat=3))


def products(v: list[int]) -> dict[tuple[int, ...], int]:
    return {labels: math.prod(x for x, k in zip(v, labels, strict=True) if k) for labels in LABELLINGS}


def test_the_printed_vector_gives_two_labellings_one_score() -> None:
    """Erratum I-9: N = 3 and tau = ln 3 / 6 make e**(2**i N tau) = 3**(2**(i-1)), so v = (9, 27, 243), exactly."""
    v = [3 * 3 ** (2 ** (i - 1)) for i in (1, 2, 3)]
    assert v == VECTORS["v"]
    assert math.log(3) / 6 == pytest.approx(VECTORS["tau"])
    first, second = map(tuple, VECTORS["collision"])
    assert products(v)[first] == products(v)[second] == 243
    assert separation(list(products(v).values())) == 0


def test_the_repaired_vector_gives_every_labelling_its_own() -> None:
    tau = math.log(3) / 6
    gaps = power_gaps(3, n_records=3, tau=tau, base=3.0)
    sums = [float(gaps @ labels) / 3 for labels in LABELLINGS]
    assert separation(sums) == pytest.approx(2 * tau * math.log(3), rel=1e-12)
    assert separation(sums) == pytest.approx(0.402316, abs=1e-6)


def test_labellings_that_agree_on_the_block_score_the_same_and_others_differ_by_more_than_two_tau() -> None:
    """Lemma 2 with the repaired vector: N = 5 rows, m = 3 of them used, the others at v = 1."""
    n, m, tau = 5, 3, 0.05
    logs = [*power_gaps(m, n_records=n, tau=tau, base=3.0), 0.0, 0.0]
    scores = {
        labels: sum(x for x, k in zip(logs, labels, strict=True) if k) / n
        for labels in itertools.product((0, 1), repeat=n)
    }
    for one, other in itertools.combinations(scores, 2):
        if one[:m] == other[:m]:
            assert scores[one] == scores[other]
        else:
            assert abs(scores[one] - scores[other]) > 2 * tau


def test_lemma_7_is_the_same_with_the_block_size_in_place_of_n() -> None:
    n, m, tau = 7, 3, 0.05
    repaired = power_gaps(m, n_records=m, tau=tau, base=3.0)
    sums = [float(repaired @ labels) / n for labels in LABELLINGS]
    assert separation(sums) == pytest.approx(2 * m * tau * math.log(3) / n, rel=1e-12)
    assert separation(sums) > 2 * m * tau / n
    colliding = [math.log(3) + 2**i * m * (math.log(3) / (2 * m)) for i in (1, 2, 3)]
    assert colliding[0] + colliding[1] == pytest.approx(colliding[2], rel=1e-14)

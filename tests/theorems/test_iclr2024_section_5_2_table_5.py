"""E11: what is noised in Table 5 (Wang et al., ICLR 2024, Section 5.2), and what stays exposed."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_papers.published.iclr_table5 import PRINTED_LOSS, Noised, Ratios, Study, honest_row, paper_cell


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.digits(8)


def errors(study: Study, levels: tuple[float, ...]) -> np.ndarray:
    return np.array([paper_cell(study, std, Noised.ROW, Ratios.CLEAN, np.random.default_rng(0))[1] for std in levels])


@pytest.mark.slow
def test_the_printed_errors_grow_as_those_of_a_standard_deviation(study: Study) -> None:
    """First order in the standard deviation: tenfold a decade. As variances the same levels give the root of ten."""
    printed = np.array(PRINTED_LOSS[:3])
    as_deviation = errors(study, (1e-4, 1e-3, 1e-2))
    as_variance = errors(study, (1e-3, 10**-2.5))

    assert printed[1:] / printed[:-1] == pytest.approx([10, 10], rel=0.15)
    assert as_deviation[1:] / as_deviation[:-1] == pytest.approx([10, 10], rel=0.35)
    assert as_variance[1:] / as_variance[:-1] == pytest.approx([10**0.5], rel=0.35)


@pytest.mark.long
def test_with_all_entries_noised_the_search_fails_while_row_sums_still_read_the_label(study: Study) -> None:
    accuracy, _ = paper_cell(study, 1e-2, Noised.ALL, Ratios.NOISED, np.random.default_rng(0))
    row_only, _ = paper_cell(study, 1e-2, Noised.ROW, Ratios.CLEAN, np.random.default_rng(0))
    _, _, sums, soft = honest_row(study, 1e-1, np.random.default_rng(0))

    assert row_only == 1
    assert accuracy < 0.7
    assert sums == 1
    assert soft == 0

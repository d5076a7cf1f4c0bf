"""E17: two per cent of the labels are not flipped (Khan et al., BLIA, 2025, section 6 against section 3)."""

from __future__ import annotations

from labelinf_papers.published.blia import rows


def test_two_per_cent_are_canaries_of_which_half_are_flipped() -> None:
    """Section 6: "we flipped 2% of the training datasets label"; section 3 flips canaries with probability 1/2."""
    for row in rows():
        canaries = row.canaries / row.train_size
        assert abs(canaries - 0.02) < 1e-4  # Table 1: two per cent are *canaries*
        assert abs(canaries / 2 - 0.01) < 1e-4  # so that about one per cent of the labels change

"""The records that this channel is measured on."""

from __future__ import annotations

import numpy as np

from labelinf_outputs.labels.census_like import CensusLike
from labelinf_outputs.labels.digits_parity import DigitsParity


def test_digits_are_even_or_odd() -> None:
    data = DigitsParity().load()

    assert (data.n_records, data.n_classes, data.provenance) == (1797, 2, "real")
    assert data.features is not None
    assert data.features.shape == (1797, 64)


def test_the_census_is_made_and_called_so() -> None:
    data = CensusLike(n_records=500).load()

    assert data.provenance == "made"
    assert data.features is not None
    assert data.features.shape == (500, 105)
    assert 0.2 < data.prior[1] < 0.4


def test_the_census_follows_its_seed() -> None:
    def features(seed: int) -> object:
        return np.asarray(CensusLike(n_records=100, seed=seed).load().features).tolist()

    assert features(0) == features(0)
    assert features(0) != features(1)

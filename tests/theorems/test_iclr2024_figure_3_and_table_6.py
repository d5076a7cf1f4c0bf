"""E10: 51 dB is the floor of truncated 8-bit images (Wang et al., ICLR 2024, Figure 3 and Table 6)."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.reconstruction.quality import psnr

IMAGES = np.random.default_rng(0).integers(0, 256, (50, 3072)).astype(float)


@pytest.mark.parametrize(("error", "on_floats"), [(1e-2, 88), (1e-4, 128), (1e-8, 208)])
def test_truncation_hides_six_orders_of_magnitude(error: float, on_floats: float) -> None:
    found = IMAGES + np.random.default_rng(1).normal(0, error, IMAGES.shape)
    truncated = np.clip(found, 0, 255).astype(np.uint8)

    assert np.median(psnr(truncated, IMAGES, span=256)) == pytest.approx(51.19, abs=0.1)
    assert np.median(psnr(found, IMAGES, span=255)) == pytest.approx(on_floats, abs=0.5)


def test_the_floor_is_half_of_the_pixels_falling_by_one() -> None:
    truth = np.full((1, 1000), 7.0)
    assert psnr(truth - np.arange(1000) % 2, truth, span=256) == pytest.approx(51.18, abs=5e-3)
    assert all(abs(printed - 51.18) < 0.25 for printed in (51.41, 51.30))

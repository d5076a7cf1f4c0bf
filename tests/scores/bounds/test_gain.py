"""Few bits raise nobody's share of labels by more than the gain that is printed, whoever knows what."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from labelinf_scores.bounds.entropy import fano_accuracy
from labelinf_scores.bounds.gain import gain_ceiling


def largest_gain(posteriors: list[float], sizes: list[int]) -> float:
    """Return the most that one bit about independent binary labels can add, over all functions of them.

    Args:
        posteriors: P(label 1) of every group.
        sizes: Labels in every group, all the same.
    """
    n = len(posteriors)
    points = np.array(list(itertools.product((0, 1), repeat=n)))
    weights = np.prod(np.where(points == 1, posteriors, 1 - np.array(posteriors)), axis=1)
    told = (np.arange(2 ** len(points))[:, None] >> np.arange(len(points))) & 1  # every function of the labels
    ones = [(part * weights) @ points for part in (told, 1 - told)]
    both = [(part * weights).sum(axis=1, keepdims=True) for part in (told, 1 - told)]
    right = sum(np.maximum(one, all_ - one) for one, all_ in zip(ones, both, strict=True))
    share = right @ np.array(sizes) / sum(sizes)
    blind = np.maximum(posteriors, 1 - np.array(posteriors)) @ np.array(sizes) / sum(sizes)
    return float(share.max() - blind)


@pytest.mark.parametrize("gain", [0.001, 0.01, 0.1, 0.3, 0.5])
def test_a_coin_that_is_told_through_a_noisy_channel_gains_no_more(gain: float) -> None:
    wrong = 0.5 - gain
    bits = 1 + sum(share * math.log2(share) for share in (wrong, 1 - wrong) if share)
    assert gain_ceiling(bits=bits, n_effective=1, least=0.5) >= gain
    assert gain_ceiling(bits=bits, n_effective=1, perfect=0.5) >= gain


PROFILES = [[0.5] * 4, [1.0, 1.0, 1.0, 0.5], [0.9, 0.6, 0.5, 0.2], [0.95] * 4, [0.5, 0.99, 0.7], [0.14, 0.86]]


@pytest.mark.parametrize("posteriors", PROFILES, ids=str)
def test_one_bit_never_gains_more_whatever_the_posteriors(posteriors: list[float]) -> None:
    perfect = float(np.mean(np.maximum(posteriors, 1 - np.array(posteriors))))

    bound = gain_ceiling(bits=1, n_effective=len(posteriors), perfect=perfect)

    assert largest_gain(posteriors, [1] * len(posteriors)) <= bound + 1e-12
    assert bound <= gain_ceiling(bits=1, n_effective=len(posteriors))


def test_equal_posteriors_are_not_the_worst_case() -> None:
    """Sure of three labels and a coin on the fourth: one bit makes it 100 %, where Fano at .875 has less."""
    share = 0.875 + largest_gain([1.0, 1.0, 1.0, 0.5], [1] * 4)
    entropy = 4 * (-0.875 * math.log2(0.875) - 0.125 * math.log2(0.125))

    assert share == 1
    assert fano_accuracy(bits=1, entropy=entropy, n_records=4, n_classes=2) < 0.95
    assert 0.875 + gain_ceiling(bits=1, n_effective=4, perfect=0.875) >= 1

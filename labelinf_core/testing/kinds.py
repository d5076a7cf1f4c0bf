"""Rules for the kinds of component that belong to no channel: noise models and label sources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from labelinf_core.contracts.components import LabelSource, NoiseModel, Rule
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.testing.rules import require

__all__ = ["RULES"]

_HEAVY = 60  # kurtosis


def _stays_within_its_bounds(noise: NoiseModel) -> None:
    drawn = np.asarray(noise.sample(np.random.default_rng(5), 20_000), dtype=float)
    require(drawn.shape == (20_000,), f"sample(rng, 20000) has shape {drawn.shape}")
    size = np.abs(drawn - 1 if noise.multiplicative else drawn)
    require(float(size.max()) <= noise.bound * (1 + 1e-12), f"it drew {size.max()}, beyond its bound {noise.bound}")
    # 20 000 draws exceed a true 1 % tail more than 300 times with probability below 1e-10 (Chernoff).
    beyond = int(np.count_nonzero(size > noise.tail(0.01)))
    require(beyond <= 300, f"{beyond} of 20000 draws lie beyond tail(0.01) = {noise.tail(0.01)}")


def _has_its_standard_deviation(noise: NoiseModel) -> None:
    drawn = np.asarray(noise.sample(np.random.default_rng(6), 20_000), dtype=float)
    kurtosis = float(np.mean((drawn - drawn.mean()) ** 4)) / max(float(drawn.var()), 1e-300) ** 2
    if not math.isfinite(noise.std) or kurtosis > _HEAVY:
        return  # a sample says little about the deviation of tails as heavy as these
    slack = 6 * math.sqrt(max(kurtosis - 1, 0) / 20_000) / 2 * noise.std + 1e-12  # six standard errors
    require(abs(float(drawn.std()) - noise.std) <= slack, f"its draws deviate by {drawn.std()}, not by {noise.std}")


def _stays_on_its_grid(noise: NoiseModel) -> None:
    if noise.grid == 0:
        return
    steps = np.asarray(noise.sample(np.random.default_rng(7), 5_000), dtype=float) / noise.grid
    require(bool(np.all(np.abs(steps - np.rint(steps)) <= 1e-9 * (1 + np.abs(steps)))), "it drew off its grid")
    require(len(np.unique(np.rint(steps))) > 1, "it drew one value only: that is no noise")


def _loads_labels_in_range(source: LabelSource) -> None:
    data = source.load()
    require(data.labels.ndim == 1, f"labels have shape {data.labels.shape}, expected one dimension")
    require(data.n_records > 0, "there are no labels")
    require(0 <= data.labels.min() <= data.labels.max() < data.n_classes, "labels must be 0..K-1")


RULES: Mapping[Kind, Sequence[Rule]] = {
    Kind.NOISE: (
        ("stays-within-its-bounds", _stays_within_its_bounds),
        ("has-its-standard-deviation", _has_its_standard_deviation),
        ("stays-on-its-grid", _stays_on_its_grid),
    ),
    Kind.LABELS: (("loads-labels-in-range", _loads_labels_in_range),),
}  #: the rules for kinds that belong to no channel

"""Rules for the kinds of component that belong to no channel: noise models and label sources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from labelinf_core.contracts.components import LabelNoise, LabelSource, Noise, NoiseModel, Rule
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.testing.rules import NotApplicableError, require

__all__ = ["RULES"]

_HEAVY = 60  # kurtosis


def _of_numbers(component: Noise) -> NoiseModel:
    if not isinstance(component, NoiseModel):
        raise NotApplicableError("it is noise on labels")
    return component


def _of_labels(component: Noise) -> LabelNoise:
    if not isinstance(component, LabelNoise):
        raise NotApplicableError("it is noise on numbers")
    return component


def _stays_within_its_bounds(component: Noise) -> None:
    noise = _of_numbers(component)
    drawn = np.asarray(noise.sample(np.random.default_rng(5), 20_000), dtype=float)
    require(drawn.shape == (20_000,), f"sample(rng, 20000) has shape {drawn.shape}")
    size = np.abs(drawn - 1 if noise.multiplicative else drawn)
    require(float(size.max()) <= noise.bound * (1 + 1e-12), f"it drew {size.max()}, beyond its bound {noise.bound}")
    # 20 000 draws exceed a true 1 % tail more than 300 times with probability below 1e-10 (Chernoff).
    beyond = int(np.count_nonzero(size > noise.tail(0.01)))
    require(beyond <= 300, f"{beyond} of 20000 draws lie beyond tail(0.01) = {noise.tail(0.01)}")


def _has_its_standard_deviation(component: Noise) -> None:
    noise = _of_numbers(component)
    drawn = np.asarray(noise.sample(np.random.default_rng(6), 20_000), dtype=float)
    kurtosis = float(np.mean((drawn - drawn.mean()) ** 4)) / max(float(drawn.var()), 1e-300) ** 2
    if not math.isfinite(noise.std) or kurtosis > _HEAVY:
        return  # a sample says little about the deviation of tails as heavy as these
    slack = 6 * math.sqrt(max(kurtosis - 1, 0) / 20_000) / 2 * noise.std + 1e-12  # six standard errors
    require(abs(float(drawn.std()) - noise.std) <= slack, f"its draws deviate by {drawn.std()}, not by {noise.std}")


def _stays_on_its_grid(component: Noise) -> None:
    noise = _of_numbers(component)
    if noise.grid == 0:
        raise NotApplicableError("it has no grid")
    steps = np.asarray(noise.sample(np.random.default_rng(7), 5_000), dtype=float) / noise.grid
    require(bool(np.all(np.abs(steps - np.rint(steps)) <= 1e-9 * (1 + np.abs(steps)))), "it drew off its grid")
    require(len(np.unique(np.rint(steps))) > 1, "it drew one value only: that is no noise")


def _has_the_epsilon_of_its_law(component: Noise) -> None:
    noise = _of_labels(component)
    for n_classes in (2, 3, 10):
        rows = noise.weights(n_classes)
        square = len(rows) == n_classes and all(len(row) == n_classes for row in rows)
        require(square, f"weights({n_classes}) are not {n_classes} rows of {n_classes}")
        whole = all(type(weight) is int and weight >= 0 for row in rows for weight in row)
        require(whole and all(sum(row) == 2**64 for row in rows), "every row must be whole numbers that sum to 2**64")
        claimed = noise.label_epsilon(n_classes)
        for column in zip(*rows, strict=True):
            if max(column) and math.isfinite(claimed):
                shown = math.log(max(column)) - math.log(min(column)) if min(column) else math.inf
                require(shown <= claimed + 1e-12, f"it claims epsilon {claimed}, and its law shows {shown}")


def _draws_by_its_law(component: Noise) -> None:
    noise = _of_labels(component)
    for label in range(3):
        answers = noise.sample(np.full(20_000, label, dtype=np.intp), 3, np.random.default_rng(8 + label))
        counts = np.bincount(np.asarray(answers), minlength=3)
        require(counts.shape == (3,) and counts.sum() == 20_000, "it answered something that is no class")
        for count, weight in zip(counts, noise.weights(3)[label], strict=True):
            share = weight / 2**64
            # Six standard errors, and for rare answers a count that chance exceeds with probability below 1e-9.
            slack = 6 * math.sqrt(20_000 * share * (1 - share)) + (10 if share else 0)
            require(abs(count - 20_000 * share) <= slack, f"it drew {count} of 20000 where its law says {share}")


def _loads_labels_in_range(source: LabelSource) -> None:
    data = source.load()
    require(data.labels.ndim == 1, f"labels have shape {data.labels.shape}, expected one dimension")
    require(data.n_records > 0, "there are no labels")
    require(0 <= data.labels.min() <= data.labels.max() < data.n_classes, "labels must be 0..K-1")


def _loads_the_same_again(source: LabelSource) -> None:
    one, two = source.load(), source.load()
    same = np.array_equal(one.labels, two.labels) and one.class_names == two.class_names
    require(same, "loaded twice it gives two sets of labels; a seed must be a parameter")
    require(one.public == two.public, "whether its labels are public must not change")


def _names_its_classes(source: LabelSource) -> None:
    data = source.load()
    names = data.class_names
    require(len(names) >= 2, f"it has {len(names)} classes, expected at least 2")
    require(all(isinstance(name, str) for name in names), "names of classes must be text")
    require(len(set(names)) == len(names), "two of its classes have one name")
    require(data.title and data.provenance, "its labels need a title and a provenance")


def _has_a_row_of_features_for_every_label(source: LabelSource) -> None:
    data = source.load()
    if data.features is None:
        raise NotApplicableError("it has no features")
    rows = np.shape(data.features)[:1]
    require(rows == (data.n_records,), f"features have {rows} rows, expected {data.n_records}: one for every label")
    require(data.features.ndim == 2, f"features have shape {data.features.shape}, expected two dimensions")
    require(bool(np.isfinite(data.features).all()), "features must be finite numbers")


RULES: Mapping[Kind, Sequence[Rule]] = {
    Kind.NOISE: (
        ("stays-within-its-bounds", _stays_within_its_bounds),
        ("has-its-standard-deviation", _has_its_standard_deviation),
        ("stays-on-its-grid", _stays_on_its_grid),
        ("has-the-epsilon-of-its-law", _has_the_epsilon_of_its_law),
        ("draws-by-its-law", _draws_by_its_law),
    ),
    Kind.LABELS: (
        ("loads-labels-in-range", _loads_labels_in_range),
        ("loads-the-same-again", _loads_the_same_again),
        ("names-its-classes", _names_its_classes),
        ("has-a-row-of-features-for-every-label", _has_a_row_of_features_for_every_label),
    ),
}  #: the rules for kinds that belong to no channel

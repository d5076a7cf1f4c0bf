"""G27: what the gradient of a last layer's adapter says of labels: all of one record, of a batch not even counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_gradients.audit.readers import look_at
from labelinf_gradients.game.networks import softmax


def gradients(
    weights: np.ndarray, adapter: np.ndarray, features: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of ``W`` and of ``B``, zero itself, summed over a batch."""
    errors = softmax(features @ weights.T) - np.eye(len(weights))[labels]
    return errors.T @ features, errors.T @ (features @ adapter.T)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(3, 12), rank=st.integers(1, 4))
def test_one_record_is_determined_and_its_row_is_the_longest(seed: int, n_classes: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    weights, adapter = rng.normal(size=(n_classes, 20)), rng.normal(size=(rank, 20))
    label = rng.integers(n_classes, size=1)

    _, found = gradients(weights, adapter, rng.normal(size=(1, 20)) * rng.uniform(0.01, 1), label)
    looked = look_at([{"B": found}], n_classes=n_classes, layer=None)

    assert looked.tables["row lengths of 'B'"].argmax() == label[0]
    odd = [k for k in range(n_classes) if (np.sign(found[k]) == -np.sign(np.delete(found, k, 0))).all()]
    assert odd == [label[0]]


def test_two_classes_are_not_determined() -> None:
    rng = np.random.default_rng(0)
    weights, adapter, feature = rng.normal(size=(2, 5)), rng.normal(size=(2, 5)), rng.normal(size=(1, 5))

    _, one = gradients(weights, adapter, feature, np.array([0]))
    _, other = gradients(weights, adapter, -feature, np.array([1]))

    assert one == pytest.approx(other, abs=1e-12)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 8), rank=st.integers(1, 6), batch=st.integers(2, 5))
def test_a_batch_of_two_labels_has_a_twin_with_other_counts(seed: int, n_classes: int, rank: int, batch: int) -> None:
    """The twin differs in W's own gradient, which nobody sends: an adapter hides how feature and error are tied."""
    rng = np.random.default_rng(seed)
    weights, adapter = rng.normal(size=(n_classes, 20)), rng.normal(size=(rank, 20))
    features, labels = rng.normal(size=(batch, 20)) * 0.5, rng.integers(n_classes, size=batch)
    labels[:2] = 0, 1
    p = softmax(features @ weights.T)
    errors, seen = p - np.eye(n_classes)[labels], features @ adapter.T

    t = 0.5 * p[0, 1] / (p[0, 1] + 1 - p[1, 1])
    other = (1 - t) * errors[0] + t * errors[1] + np.eye(n_classes)[0]
    both = np.concatenate([weights, adapter])
    logits = np.stack([features[0] @ weights.T, np.log(other)])
    entering = np.stack([seen[0] - (1 - t) / t * seen[1], seen[1] / t])
    twin_features, twin_labels = features.copy(), labels.copy()
    twin_features[:2] = np.linalg.lstsq(both, np.concatenate([logits, entering], axis=1).T)[0].T
    twin_labels[1] = 0
    whole, found = gradients(weights, adapter, features, labels)
    twin_whole, twin = gradients(weights, adapter, twin_features, twin_labels)

    assert other.min() > 0
    assert twin == pytest.approx(found, rel=1e-6, abs=1e-7)
    assert sorted(twin_labels) != sorted(labels)
    assert np.abs(twin_whole - whole).max() > 1e-4

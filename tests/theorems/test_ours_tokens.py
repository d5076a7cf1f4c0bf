"""G28: an output bias's gradient bounds how often every token is a label, whatever the probabilities are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_gradients.batches.tokens import token_labels


def bounds(p: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the least and the most counts of all tokens, and whether they are said to be exact."""
    g = (p - np.eye(p.shape[1])[labels]).mean(axis=0)
    found = token_labels(g[:, None], g[:, None], bias_gradient=g.astype(np.float32), places=len(p))
    least, spare = np.zeros(p.shape[1], dtype=int), len(p) - int(found.least.sum())
    least[found.tokens] = found.least
    most = least + spare
    assert (most[found.tokens] == found.most).all()
    return least, most, found.exact


def test_the_worked_example() -> None:
    least, most, exact = bounds(np.array([[0.5, 0.3, 0.2]] * 2), np.array([1, 2]))

    assert least.tolist() == most.tolist() == [0, 1, 1]
    assert exact


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), places=st.integers(1, 40), tokens=st.integers(2, 30), sharp=st.floats(0.01, 20))
def test_counts_are_within_their_bounds(seed: int, places: int, tokens: int, sharp: float) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(tokens, 1 / sharp) + 1e-2, size=places)
    labels = rng.integers(tokens, size=places)

    least, most, _ = bounds(p, labels)
    counts = np.bincount(labels, minlength=tokens)

    assert (least <= counts).all()
    assert (counts <= most).all()

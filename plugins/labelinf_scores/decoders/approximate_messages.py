"""Labels from noisy answers to random rows: approximate message passing.

An answer is ``r_q = sum_i f_qi . b(y_i) + noise`` with random features ``f_qi`` of zero mean and unit covariance, and a
point ``b(k)`` for every class. Correlating answers with features estimates every point at once, each disturbed by all
the others; what is believed of those is subtracted, without what it already contained, and so on (D. L. Donoho,
A. Maleki, A. Montanari, "Message-passing algorithms for compressed sensing", *PNAS* 106, 2009). The noise need not be
known: the disturbance is read off from what is left unexplained, a link that bends included.

Example: seven labels in two classes, each answer the sum over a random half.
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rows = np.array([rng.permutation([0, 0, 0, 0, 1, 1, 1, 1]) for _ in range(40)])
    >>> labels = np.array([0, 1, 1, 0, 1, 0, 0, 1])
    >>> features, points = np.array([[-1.0], [1.0]]), np.array([[-0.5], [0.5]])
    >>> answers = (features[rows, 0] * points[labels, 0]).sum(axis=1)
    >>> found = class_shares(rows, answers, features=features, points=points, prior=np.array([0.5, 0.5]))
    >>> found.argmax(axis=1).tolist() == labels.tolist()
    True
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["class_shares"]

_STEPS = 40
_DAMPING = 0.7
_SETTLED = 1e-5
_LEAST = 1e-9  # variance of a disturbance, of points of unit length: numbers are divided by it

Floats = NDArray[np.float64]


def class_shares(
    rows: NDArray[np.integer],
    answers: Floats,
    *,
    features: Floats,
    points: Floats,
    prior: Floats,
    noise: float = 0.0,
    together: float = 1.0,
) -> Floats:
    """Return the probability of every class of every record, shape ``(n_records, n_points)``.

    Args:
        rows: Which level every record was given, shape ``(q, n_records)``, levels ``0..L-1``.
        answers: Shape ``(q,)``, in units in which features times points add up to them; their mean tells nothing.
        features: Of a level, shape ``(L, D)``, of zero mean and unit variance in each direction over a row.
        points: Of a class, shape ``(n_points, D)``.
        prior: Of the classes, shape ``(n_points,)``.
        noise: Least standard deviation of an answer: what is explained better is explained too well.
        together: Share of what disturbs a record that comes from others in the same answer: 0 where it is alone there.
    """
    q, n = rows.shape
    centre = prior @ points
    design = [features[:, d].astype(np.float32)[rows] for d in range(features.shape[1])]
    told, log_prior = answers - answers.mean(), np.log(np.maximum(prior, 1e-300))
    # Only what differs from row to row tells of a record: one that had the same place in all has told nothing.
    asked = (
        q * np.maximum(np.mean([column.var(axis=0, dtype=np.float64) for column in design], axis=0), _LEAST)[:, None]
    )
    least = max(noise**2, _LEAST * q * float((points**2).sum(axis=1).max()))
    mean = np.tile(centre, (n, 1))
    left, unexplained, shares = 0.0, np.zeros(q), np.tile(prior, (n, 1))
    for _ in range(_STEPS):
        explained = sum(column @ mean[:, d] for d, column in enumerate(design))
        unexplained = told - (explained - np.mean(explained)) + left * unexplained
        seen = mean + np.stack([unexplained @ column for column in design], axis=1) / asked
        spread = max(float(unexplained @ unexplained) / q, least)
        shares = _posterior(seen, points, spread / asked, log_prior)
        believed = shares @ points
        variance = float((shares @ (points**2).sum(axis=1) - (believed**2).sum(axis=1)).sum())
        left = together * variance / spread
        moved = _DAMPING * (believed - mean)
        mean = mean + moved
        if float(np.abs(moved).max()) < _SETTLED:
            break
    return shares


def _posterior(seen: Floats, points: Floats, spread: Floats, log_prior: Floats) -> Floats:
    """Return the shares of classes whose points are seen through Gaussian noise of a variance of each record's own."""
    fit = (seen @ points.T - (points**2).sum(axis=1) / 2) / spread + log_prior
    fit -= fit.max(axis=1, keepdims=True)
    shares = np.exp(fit)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))

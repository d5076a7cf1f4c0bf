"""Metrics that scikit-learn computes: a method for each is its function's name.

Example:
    >>> import numpy as np
    >>> scikit_learn("accuracy_score")(None, np.array([0, 1]), np.array([1, 1]))
    0.5
"""

from __future__ import annotations

import importlib
from typing import Any

from numpy.typing import NDArray

__all__ = ["scikit_learn"]


def scikit_learn(function: str, **given: Any) -> Any:
    """Return a method of a metric that is scikit-learn's own function of labels and predictions.

    Args:
        function: Its name in ``sklearn.metrics``, which is imported when it is called.
        given: What else it is called with.
    """

    def library(metric: Any, labels: NDArray[Any], predictions: NDArray[Any]) -> float:
        return float(getattr(importlib.import_module("sklearn.metrics"), function)(labels, predictions, **given))

    library.__doc__ = f"Return ``sklearn.metrics.{function}``."
    return library

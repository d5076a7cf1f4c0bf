"""Models of diffprivlib (Holohan et al., 2019), which state an epsilon about whole records.

Their bounds are taken from the features, which are public where labels are what is private.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError

__all__ = ["DpBayes", "DpForest", "DpLogistic"]

Floats = NDArray[np.float64]


class DpBayes:
    """Gaussian naive Bayes.

    Args:
        epsilon: Of a record.
        random_state: Of its noise.
    """

    def __init__(self, epsilon: float = 1.0, random_state: int | None = None) -> None:
        self._known: dict[str, Any] = {"epsilon": epsilon, "random_state": random_state}

    def fit(self, features: Floats, labels: NDArray[np.intp]) -> DpBayes:
        """Train on labels 0..K-1."""
        bounds = features.min(axis=0) - 1e-6, features.max(axis=0) + 1e-6
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it thinks of its parameters
            self._model = self._make(bounds, np.unique(labels)).fit(features, labels)
        self.classes_ = self._model.classes_
        return self

    def predict_proba(self, features: Floats) -> Floats:
        """Return probabilities, shape ``(n, K)``."""
        return np.asarray(self._model.predict_proba(features))

    def _make(self, bounds: tuple[Floats, Floats], classes: NDArray[np.intp]) -> Any:
        from diffprivlib.models import GaussianNB

        return GaussianNB(bounds=bounds, **self._known)


class DpForest(DpBayes):
    """A random forest of 10 trees of random splits."""

    def _make(self, bounds: tuple[Floats, Floats], classes: NDArray[np.intp]) -> Any:
        from diffprivlib.models import RandomForestClassifier

        return RandomForestClassifier(n_estimators=10, bounds=bounds, classes=classes.tolist(), **self._known)


class DpLogistic(DpBayes):
    """Logistic regression by a perturbed objective (Chaudhuri, Monteleoni and Sarwate, JMLR 2011)."""

    def _make(self, bounds: tuple[Floats, Floats], classes: NDArray[np.intp]) -> Any:
        from diffprivlib.models import LogisticRegression

        norm = float(np.linalg.norm(np.maximum(*np.abs(bounds))))
        try:
            return LogisticRegression(data_norm=norm, **self._known)
        except TypeError as error:
            raise InputError(
                "victim 'dp-logistic': that of diffprivlib 0.6.6 runs with scikit-learn below 1.8 and SciPy below 1.18."
            ) from error

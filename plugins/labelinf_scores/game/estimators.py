"""An estimator of scikit-learn that predicts a submission: for scorers called as ``scorer(estimator, X, y)``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_estimator"]


def as_estimator(labels: NDArray[Any], predictions: NDArray[Any]) -> Any:
    """Return an estimator that predicts this, whatever features it is shown.

    Args:
        labels: Those that it is scored on: classes, or numbers that are not whole, which it then predicts.
        predictions: A class or a number a row, the probability of the second of two classes, or one of every class.
    """
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    real = labels.dtype.kind == "f" and (labels != np.rint(labels)).any()
    found, columns = np.unique(labels), predictions.shape[1] if predictions.ndim == 2 else 2
    lacking = labels.dtype.kind in "biuf" and found.size < columns  # some class, so that its number is its column's
    classes = predictions if real else np.arange(columns) if lacking else found
    shares = predictions if real else _shares(classes, predictions)
    as_they_are = real or (predictions.ndim == 1 and classes.size > 2)

    def predict(self: object, X: object) -> NDArray[Any]:  # scikit-learn's names, of methods too
        return predictions if as_they_are else classes[shares.argmax(axis=1)]

    def predict_proba(self: object, X: object) -> NDArray[Any]:
        return shares

    if real:
        return type("Submitted", (RegressorMixin, BaseEstimator), {"predict": predict})()
    told = {"classes_": classes, "predict": predict, "predict_proba": predict_proba}
    return type("Submitted", (ClassifierMixin, BaseEstimator), told)()


def _shares(classes: NDArray[Any], predictions: NDArray[Any]) -> NDArray[np.float64]:
    """Return a probability for every class."""
    if predictions.ndim == 2:
        return predictions
    if classes.size == 2 and not np.isin(predictions, classes).all():
        return np.stack([1 - predictions, predictions], axis=1)
    return np.asarray(predictions[:, None] == classes, dtype=np.float64)

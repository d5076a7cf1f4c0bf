"""The real data sets that scikit-learn bundles."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["load_bunch"]


def load_bunch(name: str) -> Any:
    """Return scikit-learn's bunch for ``"breast-cancer"``, ``"digits"`` or ``"wine"``.

    Its loader itself uses what newer versions of NumPy deprecate; those warnings are not the caller's business.
    """
    from sklearn import datasets

    loaders = {
        "breast-cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
        "wine": datasets.load_wine,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return loaders[name]()

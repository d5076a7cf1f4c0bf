"""Real label sets with features that scikit-learn bundles: nothing is downloaded."""

from __future__ import annotations

import warnings
from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.components import LabelSet, LabelSource

__all__ = ["BreastCancer", "Digits", "load_bunch"]


@attrs.frozen(kw_only=True)
class BreastCancer(LabelSource):
    """Breast Cancer Wisconsin (Diagnostic): 569 records, 30 features, classes malignant (212) and benign (357).

    Data set D3 of Aggarwal et al., ICML 2021, Table 2. Classes are in scikit-learn's order.
    """

    def load(self) -> LabelSet:
        """Return the labels and features."""
        return _label_set("breast-cancer")


@attrs.frozen(kw_only=True)
class Digits(LabelSource):
    """Optical recognition of handwritten digits: 1 797 records, 64 features (8 x 8 pixels, 0 to 16), 10 classes."""

    def load(self) -> LabelSet:
        """Return the labels and features."""
        return _label_set("digits")


def load_bunch(name: str) -> Any:
    """Return scikit-learn's bunch for ``"breast-cancer"``, ``"digits"`` or ``"wine"``.

    Its loader itself uses what newer versions of NumPy deprecate; those warnings are not the caller's business.
    """
    from sklearn import datasets

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return getattr(datasets, f"load_{name.replace('-', '_')}")()


def _label_set(name: str) -> LabelSet:
    bunch = load_bunch(name)
    return LabelSet(
        labels=np.asarray(bunch.target, dtype=np.intp),
        class_names=tuple(map(str, bunch.target_names)),
        title=name,
        provenance="real",
        public=True,
        features=np.asarray(bunch.data, dtype=np.float64),
    )

"""Labels as somebody holds them: a list, a vector, a column of a frame. Nothing is written to a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_data.npy_file import labels_of
from labelinf_data.posteriors import with_posteriors

__all__ = ["label_set", "label_texts", "label_vector", "labels_first", "named_scorer"]

_MISSING = frozenset({"None", "nan", "NaN", "<NA>", "NaT"})  #: how what is no label prints


def label_set(y: ArrayLike, features: Any = None, groups: Any = None, posteriors: str = "") -> LabelSet:
    """Return private labels with what is known of their records.

    Args:
        y: Names or numbers, shape ``(n_records,)``, or a frame of one column.
        features: Numbers, shape ``(n_records, n_features)``.
        groups: Which records belong together: a name for each, shape ``(n_records,)``.
        posteriors: ``FILE.csv:columns`` of a perfect model's probabilities.

    Raises:
        InputError: They cannot be used as they are.
    """
    features, groups = (None if part is None else np.asarray(part) for part in (features, groups))
    found = labels_of(label_vector(y), title="y", place="y", features=features, groups=groups)
    return with_posteriors(found, posteriors, {}, "y") if posteriors else found


def label_texts(y: ArrayLike) -> list[str]:
    """Return the name of every label.

    Raises:
        InputError: They are no vector.
    """
    return [str(value) for value in label_vector(y)]


def labels_first(y: object, call: str) -> None:
    """Refuse what stands where the labels belong.

    Args:
        y: What stands there.
        call: The call as it should be.

    Raises:
        InputError: It is a name or a function.
    """
    if callable(y) or isinstance(y, str | os.PathLike):
        raise InputError(f"labels come first since 0.2: labelinf.{call}.")


def label_vector(y: ArrayLike) -> NDArray[Any]:
    """Return labels as a vector; names where they are objects.

    Raises:
        InputError: They are none.
    """
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:  # a frame of one column
        labels = labels[:, 0]
    if labels.ndim != 1 or not labels.size:
        raise InputError(
            f"y must hold one label a record, as a list or a vector, and is {type(y).__name__} of shape {labels.shape}."
        )
    return _named(labels) if labels.dtype == object else labels


def _named(labels: NDArray[np.object_]) -> NDArray[np.str_]:
    """Return names of labels of any type; what is missing has none: None, NaN, pandas' NA and NaT."""
    texts = [str(item) if isinstance(item, str) or str(item) not in _MISSING else "" for item in labels]
    return np.array(texts, dtype=str)


def named_scorer(scorer: str | Callable[..., float] | None) -> str | None:
    """Return how the command line would name a function.

    Raises:
        InputError: It has no name by which it could be found.
    """
    if scorer is None or isinstance(scorer, str):
        return scorer

    if not getattr(scorer, "__qualname__", "").isidentifier():
        raise InputError(
            "scorer must be a function with a name, defined in a module or a notebook, so that it is found."
        )
    return f"{scorer.__module__}:{scorer.__qualname__}"

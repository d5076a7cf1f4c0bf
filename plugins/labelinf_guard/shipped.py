"""Metrics of the score room as scorers of a board: run like the host's own, in a child that is seen by nobody.

``getattr`` of this module makes a function of any metric and number of classes, ``f-beta(beta=2)|2``, which is called
with labels (or the values they stand for) and rows as a host's own function is. What a library warns of may depend on
labels; in the child nobody hears it.

Example:
    >>> import numpy as np
    >>> from labelinf_guard import shipped
    >>> getattr(shipped, "recall|2")(np.array([1, 1, 0]), np.array([1, 0, 0]))
    0.5
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.readings.registry import metric

__all__ = ["shipped", "written"]

_CLASSES = (Rows.COUNTS, Rows.CLASSES, Rows.GRADES)
_LISTS = (Rows.RANKS, Rows.DISCOUNTS, Rows.PRECISIONS, Rows.FIRST, Rows.COLUMNS)
_VALUES = (Rows.REALS, Rows.LEVELS)


def written(name: str, parameters: Mapping[str, float]) -> str:
    """Return a metric and its parameters as one word."""
    said = (f"{key}={int(value) if value == int(value) else value}" for key, value in parameters.items())
    return f"{name}({', '.join(said)})" if parameters else name


@functools.lru_cache(maxsize=64)  # every look loads all plugins anew, and bounds look for every setting
def shipped(word: str, classes: int) -> tuple[ScoredMetric, bool]:
    """Return a metric that a board can score, and whether it takes classes instead of probabilities.

    Raises:
        InputError: There is none of that name, or it is not of these classes.
    """
    found = metric(word, "[board] metric").of_classes(classes)
    if found.rows not in (*_CLASSES, *_LISTS, *_VALUES):
        raise InputError(f"[board] metric = {word!r} scores costs, which no submission has. Take ours instead.")
    if found.two_classes and classes > 2:
        raise InputError(f"[board] metric = {word!r} is of two classes, and there are {classes}.")
    return found, found.rows in _CLASSES


def __getattr__(name: str) -> Callable[[NDArray[np.intp], NDArray[Any]], float]:
    if name.startswith("_"):
        raise AttributeError(name)
    importlib.import_module("sklearn.metrics")  # before the time of a score begins
    return functools.partial(_score, name)


def _score(name: str, labels: NDArray[np.intp], rows: NDArray[Any]) -> float:
    word, _, classes = name.rpartition("|")
    found, _ = shipped(word, int(classes))
    one = rows[:, 1] if rows.ndim == 2 and not found.columns else rows
    return found.score(labels, one.astype(np.float64))

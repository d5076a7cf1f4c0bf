"""From a user's labels, whatever they are called, to classes 0..K-1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

import numpy as np

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError

__all__ = ["in_order", "is_missing", "is_number", "label_set", "one_name_each"]

_MANY = 10  # records, from which on a class each is a mistake


def label_set(values: Sequence[str], *, title: str, place: str) -> LabelSet:
    """Number the classes in sorted order: by value when every name is a number, otherwise alphabetically.

    Numbers that are too many for classes are real labels.

    Args:
        values: One class name per record, none empty.
        title: What a report calls the set.
        place: How a message names where the values stand, for example ``"y.csv: column 'label'"``.

    Raises:
        InputError: There are fewer than two classes, or about as many as records, or a class has two names.
    """
    names = in_order(values)
    numbers = all(map(is_number, names))
    if len(names) < 2:
        raise InputError(
            f"{place} has one class only in all {len(values)} rows. Labels of at least two classes are needed."
        )
    many = len(values) >= _MANY and len(names) > len(values) / 2
    if many and not numbers:
        raise InputError(
            f"{place} has {len(names)} different values in {len(values)} rows, too many for classes. Is it the column "
            f"with the labels?"
        )
    if not many:
        one_name_each(names, place)
    index = {name: k for k, name in enumerate(names)}
    return LabelSet(
        labels=np.array([index[value] for value in values], dtype=np.intp),
        class_names=names,
        title=title,
        provenance="user's file",
        reals=np.array(values, dtype=np.float64) if many else None,
    )


def in_order(values: Iterable[str]) -> tuple[str, ...]:
    """Return the different names in order: by value when every one is a number, otherwise alphabetically."""
    names = sorted(set(values))
    return tuple(sorted(names, key=float) if all(map(is_number, names)) else names)


def is_missing(value: str) -> bool:
    """Whether a text says that there is no label."""
    return value.strip().lower() in ("", "nan")


def one_name_each(names: Sequence[str], place: str) -> None:
    """Refuse one number under two names: a file put together of two would have more classes, or groups, than it has.

    Raises:
        InputError: There is one.
    """
    numbers: dict[Decimal, str] = {}
    for name in filter(is_number, names):
        other = numbers.setdefault(Decimal(name), name)
        if other != name:
            raise InputError(f"{place} has the number {other} also as {name}: one or two? Write it in one way.")


def is_number(name: str) -> bool:
    """Whether ``name`` is a finite number."""
    try:
        return math.isfinite(float(name))
    except ValueError:
        return False

"""A user's NumPy file: a vector of labels in ``.npy``, or one of the arrays in ``.npz``. Nothing is unpickled."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, LabelSource
from labelinf_core.contracts.errors import InputError
from labelinf_data.arrays import read_arrays
from labelinf_data.encode import is_missing, label_set
from labelinf_data.groups import group_numbers, groups_of_file
from labelinf_data.posteriors import with_posteriors

__all__ = ["NpyFile", "labels_of"]


@attrs.frozen(kw_only=True)
class NpyFile(LabelSource):
    """One vector of numbers or strings.

    Attributes:
        path: The file.
        column: Name of the array in a ``.npz`` file; may be left out when there is only one besides the features.
        features: Name of the array in a ``.npz`` file that holds the records' features, one row each, where there are
            any.
        groups: Name of the array in a ``.npz`` file that says which records belong together, or ``FILE.csv:column``.
        posteriors: ``FILE.csv:columns`` with the probabilities of the classes as a perfect model would give them.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".npy", ".npz")
    example_parameters: ClassVar[dict[str, str]] = {"path": str(Path(__file__).parent / "examples" / "six.npy")}

    path: str = attrs.field(validator=attrs.validators.min_len(1))
    column: str = ""
    features: str = ""
    groups: str = ""
    posteriors: str = ""

    @classmethod
    def columns(cls, path: str) -> tuple[str, ...]:
        """Return the names of an archive's arrays."""
        return tuple(read_arrays(path)) if path.endswith(".npz") else ()

    def load(self) -> LabelSet:
        """Return the labels.

        Raises:
            InputError: The file cannot be used as it is; the message says what is wrong.
        """
        inner = "" if ":" in self.groups else self.groups
        values, features, groups = _arrays(self.path, self.column, self.features, inner)
        found = labels_of(values, features=features, groups=groups, title=Path(self.path).name, place=self.path)
        if self.groups and not inner:
            found = attrs.evolve(found, groups=groups_of_file(self.groups, found.n_records))
        return with_posteriors(found, self.posteriors, {}, self.path) if self.posteriors else found


def labels_of(
    values: NDArray[Any],
    *,
    title: str,
    place: str,
    features: NDArray[Any] | None = None,
    groups: NDArray[Any] | None = None,
) -> LabelSet:
    """Return labels that stand in arrays.

    Args:
        values: Numbers or strings, shape ``(n_records,)``.
        title: What a report calls the set.
        place: How a message names where they stand.
        features: Numbers, shape ``(n_records, n_features)``.
        groups: The name of every record's group, ``n_records`` of them.

    Raises:
        InputError: They cannot be used as they are; the message says what is wrong.
    """
    if values.dtype.kind not in "biuUf":
        raise InputError(f"{place} holds values of type {values.dtype}. Labels must be numbers or strings.")
    if values.ndim != 1 or not values.size:
        raise InputError(f"{place} holds an array of shape {values.shape}. Labels must be a vector, not empty.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise InputError(f"{place} has {values[row]} at index {row}. Every record needs a label.")
    texts = [str(value) for value in values]
    if missing := [row for row, text in enumerate(texts) if is_missing(text)]:
        raise InputError(f"{place} has no label at index {missing[0]}. Every record needs one.")
    names = None if groups is None else [str(value) for value in groups.ravel()]
    return attrs.evolve(
        label_set(texts, title=title, place=place),
        features=None if features is None else _checked(place, features, len(values)),
        groups=None if names is None else group_numbers(names, f"{place}: groups", len(values)),
    )


def _arrays(
    path: str, column: str, features: str, groups: str
) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]:
    """Return the labels, and the features and groups when they are wanted."""
    loaded = read_arrays(path)
    if "" in loaded:
        if wanted := column or features or groups:
            raise InputError(f"{path} holds one array, none called {wanted!r}; a .npz file holds several.")
        return loaded[""], None, None
    labels = _member(path, [name for name in loaded if name not in (features, groups)], column)
    told, belong = (loaded[_member(path, list(loaded), name)] if name else None for name in (features, groups))
    return loaded[labels], told, belong


def _checked(path: str, features: NDArray[Any], n_records: int) -> NDArray[np.float64]:
    wanted = features.dtype.kind in "biuf" and features.ndim == 2 and features.shape[1] > 0
    if not wanted or features.shape[0] != n_records:
        found = f"features are {features.dtype} of shape {features.shape}"
        raise InputError(f"{path}: {found}; expected numbers of shape ({n_records}, at least 1).")
    finite = np.isfinite(features).all(axis=1)
    if not finite.all():
        raise InputError(f"{path}: features of record {int(np.argmin(finite))} are not all finite numbers.")
    return features.astype(np.float64)


def _member(path: str, names: list[str], column: str) -> str:
    if column in names:
        return column
    if not column and len(names) == 1:
        return names[0]
    several = f"has {len(names)} arrays; name the one with the labels: column, or --column on the command line"
    wanted = f"has no array {column!r}" if column else several
    raise InputError(f"{path} {wanted}. Arrays are {', '.join(map(repr, names)) or 'none'}.")

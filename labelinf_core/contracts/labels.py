"""Private labels, and the contract of whatever they come from."""

from __future__ import annotations

import abc
import math
from collections import Counter
from typing import TYPE_CHECKING, ClassVar

import attrs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LabelSet", "LabelSource", "group_sizes"]


@attrs.frozen(kw_only=True, eq=False)
class LabelSet:
    """Private labels and where they come from.

    Attributes:
        labels: Integers 0..K-1, shape ``(n_records,)``.
        class_names: The user's own name of every class, length K.
        title: What a report calls it.
        provenance: ``"real"``, ``"published label counts, random order"``, ``"user's file"`` or that it is made up.
        features: Real features, shape ``(n_records, n_features)``, where there are any.
        public: Whether anybody may know these labels (made or bundled data). Unknown means private: the randomness of
            a run on private labels is keyed with a secret, and its results are published in coarse figures only.
        groups: Number of every record's group, shape ``(n_records,)``: labels of one group (a patient, a household)
            may depend on each other. None: not known, so that records are taken for independent, and that is said.
        perfect: Share of the labels that a perfect model is right on, the mean of the records' largest posteriors,
            where that is assumed.
        reals: The labels themselves where they are real numbers, too many for classes, shape ``(n_records,)``; then
            ``labels`` numbers the different ones. Only what asks for them is handed any.
    """

    labels: NDArray[np.intp]
    class_names: tuple[str, ...]
    title: str
    provenance: str
    features: NDArray[np.float64] | None = None
    public: bool = False
    groups: NDArray[np.intp] | None = None
    perfect: float | None = None
    reals: NDArray[np.float64] | None = None

    @property
    def n_records(self) -> int:
        """N, the number of labels."""
        return int(self.labels.size)

    @property
    def n_classes(self) -> int:
        """K, the number of classes."""
        return len(self.class_names)

    @property
    def prior(self) -> tuple[float, ...]:
        """Share of every class, length K."""
        counts = [int((self.labels == k).sum()) for k in range(self.n_classes)]
        return tuple(count / self.n_records for count in counts)

    @property
    def values(self) -> tuple[float, ...]:
        """The number every class stands for (a rating, a count, an amount): its name where all names are numbers.

        Names that are none, or not all different as numbers, stand for 0, 1, ..., K - 1.
        """
        try:
            found = tuple(float(name) for name in self.class_names)
        except ValueError:
            found = ()
        plain = len(set(found)) == self.n_classes and all(map(math.isfinite, found))
        return found if plain else tuple(map(float, range(self.n_classes)))

    @property
    def group_sizes(self) -> tuple[tuple[int, int], ...]:
        """How many groups there are of every size: pairs (records, groups), small groups first; none: not known."""
        return group_sizes(self.groups)


def group_sizes(groups: NDArray[np.intp] | None) -> tuple[tuple[int, int], ...]:
    """Return how many groups there are of every size, as pairs (records, groups); none of groups that are not known."""
    return () if groups is None else tuple(sorted(Counter(Counter(groups.tolist()).values()).items()))


class LabelSource(abc.ABC):
    """Where private labels come from.

    Attributes:
        suffixes: Endings of the files it reads (``".csv"``), empty text for any that no other source reads; such a
            source has the parameters ``path``, ``column``, ``features``, ``groups`` and ``posteriors``.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def columns(cls, path: str) -> tuple[str, ...]:
        """Return the names of a file's columns or arrays, for a shell to complete; empty where there are none.

        Raises:
            InputError: The file cannot be read.
        """
        return ()

    @abc.abstractmethod
    def load(self) -> LabelSet:
        """Return the labels.

        Raises:
            InputError: A user's file cannot be used as it is.
        """

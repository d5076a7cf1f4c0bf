"""An attack, and what it stands beside."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_equality.game import EqualityAttack, EqualityOracle

__all__ = ["MostFrequentClass", "Partition"]


@attrs.frozen(kw_only=True)
class MostFrequentClass(EqualityAttack):
    """Guesses the class with the largest share for every record; asks nothing."""

    def run(self, oracle: EqualityOracle, rng: np.random.Generator) -> Guess:
        """Look at nothing."""
        return Guess(labels=np.full(oracle.threat.n_records, oracle.threat.majority))


@attrs.frozen(kw_only=True)
class Partition(EqualityAttack):
    """Compares every record with one of each group found so far; the larger a group, the larger the share it is given.

    Without noise it sorts N records of K classes with N (K - 1) questions at most. Which group is which class is not
    told by any answer: it is guessed from the sizes.

    Attributes:
        repeat: How often each pair is asked about; the majority of the answers counts. At least 1.
    """

    repeat: int = attrs.field(default=1, validator=attrs.validators.ge(1))

    def run(self, oracle: EqualityOracle, rng: np.random.Generator) -> Guess:
        """Sort as long as the budget lasts; records that it does not reach are given the most frequent class."""
        threat = oracle.threat
        groups: list[list[int]] = []
        for record in rng.permutation(threat.n_records).tolist():
            if oracle.remaining < self.repeat * max(len(groups), 1):
                break
            self._place(record, groups, oracle)
        return Guess(labels=_named(groups, oracle), evidence={"groups found": len(groups)})

    def _place(self, record: int, groups: list[list[int]], oracle: EqualityOracle) -> None:
        for group in groups[: oracle.threat.n_classes - 1]:
            equal = sum(oracle.equal(record, group[0]) for _ in range(self.repeat))
            if 2 * equal > self.repeat:
                group.append(record)
                return
        if len(groups) < oracle.threat.n_classes:
            groups.append([record])
        else:
            groups[-1].append(record)


def _named(groups: list[list[int]], oracle: EqualityOracle) -> NDArray[np.intp]:
    """Return labels: the largest group is of the class with the largest share, and so on."""
    threat = oracle.threat
    labels = np.full(threat.n_records, threat.majority)
    classes = sorted(range(threat.n_classes), key=lambda k: -threat.prior[k])
    for label, group in zip(classes, sorted(groups, key=len, reverse=True), strict=False):
        labels[group] = label
    return labels

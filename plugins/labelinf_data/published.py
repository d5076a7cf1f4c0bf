"""Label sets of the papers' experiments, as published label counts in a seeded random order.

The attacks of the score channel never look at features, so a label multiset of the right size and class counts plays
the same game as the data set itself. Nothing is downloaded and nothing is claimed to be the real order.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from labelinf_core.contracts.components import LabelSet, LabelSource

__all__ = ["COUNTS", "Counts"]

COUNTS: dict[str, dict[str, int]] = {
    "haberman": {"survived": 225, "died": 81},
    "breast-cancer": {"malignant": 212, "benign": 357},
    "banknote": {"genuine": 762, "forged": 610},
    "titanic": {"died": 1490, "survived": 711},
    "imdb": {"negative": 12500, "positive": 12500},
    "satellite": {
        "red soil": 1531,
        "cotton crop": 703,
        "grey soil": 1356,
        "damp grey soil": 625,
        "vegetation stubble": 707,
        "very damp grey soil": 1508,
    },
    "cifar-10": dict.fromkeys(
        ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"), 6000
    ),
    "mnist": dict(zip("0123456789", (6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958), strict=True)),
}  #: class counts of the sets in Aggarwal et al., ICML 2021 (Table 2) and AISTATS 2022 (section 6)


@attrs.frozen(kw_only=True)
class Counts(LabelSource):
    """A published label set: the right number of every class, in random order.

    Attributes:
        name: ``haberman``, ``breast-cancer``, ``banknote``, ``titanic``, ``imdb``, ``satellite``, ``cifar-10`` or
            ``mnist``.
        seed: Of the order.
    """

    example_parameters: ClassVar[dict[str, str]] = {"name": "titanic"}

    name: str = attrs.field()
    seed: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    @name.validator
    def _is_published(self, attribute: attrs.Attribute[str], value: str) -> None:
        if value not in COUNTS:
            raise ValueError(f"name={value!r} must be one of {', '.join(COUNTS)}")

    def load(self) -> LabelSet:
        """Return the labels."""
        counts = COUNTS[self.name]
        labels = np.repeat(np.arange(len(counts), dtype=np.intp), list(counts.values()))
        return LabelSet(
            labels=np.random.default_rng(self.seed).permutation(labels),
            class_names=tuple(counts),
            title=self.name,
            provenance="published label counts, random order",
            public=True,
        )

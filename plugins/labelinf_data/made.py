"""Made labels: independent draws from a distribution over the classes. For trying things out; never evidence."""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_core.contracts.components import LabelSet, LabelSource

__all__ = ["Made"]


@attrs.frozen(kw_only=True)
class Made(LabelSource):
    """Random labels.

    Attributes:
        n_records: N, at least 1.
        n_classes: K, at least 2.
        prior: Probability of every class, length K, summing to one; uniform when empty.
        seed: Of the draws.
    """

    n_records: int = attrs.field(default=1000, validator=attrs.validators.ge(1))
    n_classes: int = attrs.field(default=2, validator=attrs.validators.ge(2))
    prior: tuple[float, ...] = attrs.field(default=())
    seed: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    @prior.validator
    def _is_a_distribution(self, attribute: attrs.Attribute[tuple[float, ...]], value: tuple[float, ...]) -> None:
        if value and (len(value) != self.n_classes or min(value) < 0 or abs(sum(value) - 1) > 1e-9):
            raise ValueError(
                f"prior={list(value)} must be n_classes={self.n_classes} shares that are not negative and sum to one"
            )

    def load(self) -> LabelSet:
        """Draw the labels."""
        shares = np.array(self.prior or [1 / self.n_classes] * self.n_classes)
        rng = np.random.default_rng(self.seed)
        return LabelSet(
            labels=rng.choice(self.n_classes, size=self.n_records, p=shares / shares.sum()).astype(np.intp),
            class_names=tuple(str(k) for k in range(self.n_classes)),
            title=f"{self.n_records} made labels",
            provenance="made",
            public=True,
        )

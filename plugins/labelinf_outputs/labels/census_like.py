"""A made data set in the shape of a census table. Made here, and called so: it is evidence about this set only.

Eight categorical columns with as many levels as those of the Adult set (Kohavi, 1996), one-hot, with uneven shares, and
six numeric ones. The label follows a logistic model of them with 25 to 30 % positives, and is itself random: no
classifier exceeds about 85 %, and training on memorises.
"""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_core.contracts.components import LabelSet, LabelSource

__all__ = ["CensusLike"]

_LEVELS = (8, 16, 7, 14, 6, 5, 2, 41)
_NUMERIC = 6
_NEGATIVE_SHARE = 0.76
_SHARPNESS = 2.5  # standard deviation of the log-odds


@attrs.frozen(kw_only=True)
class CensusLike(LabelSource):
    """Made records with categorical and numeric features and two classes.

    Attributes:
        n_records: N, at least 10.
        seed: Of everything.
    """

    n_records: int = attrs.field(default=6000, validator=attrs.validators.ge(10))
    seed: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    def load(self) -> LabelSet:
        """Make the records."""
        rng = np.random.default_rng(self.seed)
        columns, weights = [], []
        for levels in _LEVELS:
            drawn = rng.choice(levels, self.n_records, p=rng.dirichlet(np.ones(levels)))
            columns.append(np.eye(levels)[drawn])
            weights.append(rng.standard_normal(levels))
        columns.append(rng.standard_normal((self.n_records, _NUMERIC)))
        weights.append(rng.standard_normal(_NUMERIC))
        features = np.hstack(columns)
        sums = features @ np.concatenate(weights)
        log_odds = _SHARPNESS * (sums - np.quantile(sums, _NEGATIVE_SHARE)) / sums.std()
        return LabelSet(
            labels=np.asarray(rng.random(self.n_records) < 1 / (1 + np.exp(-log_odds)), dtype=np.intp),
            class_names=("low", "high"),
            title="census-like",
            provenance="made",
            public=True,
            features=features,
        )

"""What a curator of the score channel is asked, and what computes its answers."""

from __future__ import annotations

from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Answer", "Query", "Scorer", "ScorerFacts"]

Answer = Any  #: a float, or a ``gmpy2.mpfr`` from a curator that computes exactly


@attrs.frozen(kw_only=True, eq=False)
class Query:
    """One prediction vector.

    Attributes:
        predictions: Shape ``(n_records,)``, the predicted probability of class 1 (two classes only), or
            ``(n_records, n_classes)``; floats, or ``gmpy2`` rationals and reals in an object array. Losses on logits
            take logits instead of probabilities.
        precision: Bits of the answer asked for; only an exact curator heeds it.
    """

    predictions: NDArray[Any]
    precision: int | None = None


@attrs.frozen(kw_only=True)
class ScorerFacts:
    """What is public about a scorer.

    Attributes:
        arithmetic: Name of the arithmetic it computes in.
        clip: It clips probabilities to ``[clip, 1 - clip]``; 0 when it does not.
        summation: ``"numpy"``, ``"exact"`` or ``"unknown"``.
        input_format: Name of the arithmetic that predictions are rounded to first.
    """

    arithmetic: str
    clip: float
    summation: str
    input_format: str


class Scorer(Protocol):
    """Computes the score of a query."""

    @property
    def facts(self) -> ScorerFacts:
        """What is public about it."""

    def score(self, labels: NDArray[np.intp], query: Query) -> Any:
        """Return the score of ``query`` against ``labels``."""

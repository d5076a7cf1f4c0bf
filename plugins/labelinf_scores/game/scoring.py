"""What a curator of the score channel is asked, and what computes its answers."""

from __future__ import annotations

import numbers
from typing import Any, Protocol

import attrs
import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_scores.game.facts import ScoreFacts

__all__ = ["Answer", "Query", "Scorer", "ScorerFacts", "as_numbers"]

_PLAIN = frozenset({float, int, bool, type(gmpy2.mpz()), type(gmpy2.mpq()), type(gmpy2.mpfr())})

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
        effects: What else it does; :class:`~labelinf_core.contracts.effects.Unknown` when all of this is assumed.
    """

    arithmetic: str
    clip: float
    summation: str
    input_format: str
    effects: tuple[Effect[ScoreFacts], ...] = ()


class Scorer(Protocol):
    """Computes the score of a query."""

    @property
    def facts(self) -> ScorerFacts:
        """What is public about it."""

    def score(self, labels: NDArray[np.intp], query: Query) -> Any:
        """Return the score of ``query`` against ``labels``."""


def as_numbers(predictions: NDArray[Any]) -> NDArray[Any]:
    """Return predictions whose elements are plain numbers: objects, or doubles.

    A narrower type would be computed with in its own precision: ``1 - 1e-4`` is 1 in half precision, and no clip.

    An object may compare as one number and compute as another, or remember who looked at it. Each is asked for its
    value once, before anything else looks at it.

    Raises:
        QueryRefusedError: An element has no value.
    """
    if predictions.dtype != object:
        return predictions.astype(np.float64) if predictions.dtype.kind in "biuf" else predictions
    plain = np.empty(predictions.shape, dtype=object)
    plain.flat = [_value(item) for item in predictions.flat]
    return plain


def _value(item: Any) -> Any:
    if type(item) in _PLAIN:
        return item
    try:
        if isinstance(item, numbers.Rational):
            return gmpy2.mpq(int(item.numerator), int(item.denominator))
        return float(item)
    except Exception as error:  # an object of the adversary's making may do anything
        raise QueryRefusedError(f"a prediction of type {type(item).__name__} is no number.") from error

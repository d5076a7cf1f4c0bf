r"""Tokens that are labels at the places of a language model's batch, from its last layer's gradient, and how often.

Every place i with a label is one sample: ``G = (1/N) sum_i (p_i - e_{y_i}) h_i'``, ``g = (1/N) sum_i (p_i - e_{y_i})``;
ignored places (-100) are in no sum; labels are hard. With a bias nothing is assumed: as ``p_i >= 0``, token v is a
label at least ``-N g_v`` times, and the counts are exact where these, rounded up, add up to N (proved).

Without one, a label's row of G is about ``-h_i / N`` and any other row about N / V of that: a gap parts the set, where
probabilities are small; it is asked to be wide. Where N < d, N is the rank of G, and the left singular vectors span the
``p_i - e``: so ``h = -N G_v``, less what other places have in row v, is the state of a token with *one* place if and
only if ``softmax(W h) - e_v`` is in that space, up to rounding. All others have at least two places. Where every token
has one, the (state, token) pairs are the fixed point of ``h_i = sum_j p_j[y_i] h_j - N G_{y_i}``, and that it explains
all of G is their certificate. A head that is tied to the embedding has long rows for tokens of the input too.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.game.networks import softmax

__all__ = ["TokenLabels", "token_labels"]

_ROUNDING = 1e-3  # of a count
_GAP, _WIDE = 5.0, 10.0  # between rows of labels and others: for the set, and for what one place is told by
_RANK = 1e-6  # of the largest singular value
_INSIDE = 0.1  # of what a state does to probabilities: so much may be outside the space
_EXPLAINED = 1e-3  # of the gradient
_STEPS, _SETTLED = 30, 1e-9


@attrs.frozen(kw_only=True, eq=False)
class TokenLabels:
    """Tokens that are labels somewhere.

    Attributes:
        tokens: The set, ascending, shape ``(k,)``; empty where no gap tells it.
        least: How often each is a label at least, shape ``(k,)``.
        most: How often at most; 0 where that is not known.
        places: N; 0 where it is not known.
        proved: Whether every token is surely one, and its bounds hold, whatever the probabilities are; others may lack.
        states: What enters the last layer at the place of every token, shape ``(k, d)``, where all of the gradient is
            explained by one place each.
    """

    tokens: NDArray[np.intp]
    least: NDArray[np.intp]
    most: NDArray[np.intp]
    places: int
    proved: bool = False
    states: NDArray[np.float64] | None = None

    @property
    def exact(self) -> bool:
        """Whether all counts are known."""
        return bool(len(self.tokens) and (self.least == self.most).all())


def token_labels(
    gradient: NDArray[Any],
    weights: NDArray[Any],
    *,
    bias_gradient: NDArray[Any] | None = None,
    places: int = 0,
    tied: bool = False,
) -> TokenLabels:
    """Return which tokens are labels in a batch, and how often.

    Args:
        gradient: Of the last layer's weights, a mean over places, shape ``(V, d)``.
        weights: Of that layer, shape ``(V, d)``.
        bias_gradient: Of its bias, shape ``(V,)``, if it has one.
        places: N, those with a label; 0: not known.
        tied: Whether the embedding has the same weights: without a bias the set is then one of labels and inputs.
    """
    if bias_gradient is not None and places:
        return _proved(bias_gradient.astype(np.float64), places)
    only = bias_gradient if tied else None
    whole = (gradient if only is None else only[:, None]).astype(np.float64)
    lengths = np.linalg.norm(whole, axis=1, keepdims=True)
    scale = 1 / np.maximum(lengths / np.median(lengths), np.finfo(float).tiny)  # rounding is then the same everywhere
    even = whole * scale
    values, right = np.linalg.eigh(even.T @ even)
    kept = values > _RANK**2 * values[-1]
    rank = int(kept.sum())
    tokens, gap = _longest(whole, places * (1 + (tied and only is None)) or len(whole) // 2)
    least, most = np.ones(len(tokens), dtype=np.intp), np.zeros(len(tokens), dtype=np.intp)
    told = TokenLabels(tokens=tokens, least=least, most=most, places=places)
    if not tied and len(tokens) <= rank < len(values):
        total, w = places or rank, weights.astype(np.float64)
        states, explained = _states(total * whole, w, tokens)
        if explained:
            return attrs.evolve(told, most=least, places=total, states=states)
        if gap >= _WIDE and rank == places:
            single = _of_one_place(states, w, tokens, even @ (right[:, kept] / np.sqrt(values[kept])), scale)
            told = _within(told, np.where(single, 1, 2))
            return attrs.evolve(told, most=np.where(single, 1, told.most))
    if gap < _GAP:
        return attrs.evolve(told, tokens=tokens[:0], least=least[:0], most=most[:0])
    return told if tied or not places else _within(told, least)


def _within(told: TokenLabels, least: NDArray[np.intp]) -> TokenLabels:
    """Return the set with counts from ``least`` on that can still add up to N."""
    return attrs.evolve(told, least=least, most=least + max(0, told.places - int(least.sum())))


def _proved(bias: NDArray[np.float64], places: int) -> TokenLabels:
    least = np.ceil(np.maximum(-places * bias - _ROUNDING, 0)).astype(np.intp)
    tokens, spare = np.flatnonzero(least), places - int(least.sum())
    least = least[tokens]
    if spare < 0:  # a sum over places and no mean
        return TokenLabels(tokens=tokens, least=np.minimum(least, 1), most=0 * least, places=places)
    return TokenLabels(tokens=tokens, least=least, most=least + spare, places=places, proved=True)


def _longest(gradient: NDArray[np.float64], most: int) -> tuple[NDArray[np.intp], float]:
    """Return the rows before the widest gap of lengths, at most ``most``, ascending, and how wide it is."""
    lengths = np.linalg.norm(gradient, axis=1)
    order = np.argsort(-lengths)[: most + 1]
    logs = np.log(np.maximum(lengths[order], np.finfo(float).tiny))
    widest = int(np.diff(logs).argmin())
    return np.sort(order[: widest + 1]), float(np.exp(logs[widest] - logs[widest + 1]))


def _states(
    gradient: NDArray[np.float64], weights: NDArray[np.float64], tokens: NDArray[np.intp]
) -> tuple[NDArray[np.float64], bool]:
    """Return sums of the states at every token's places, as of one place each, and whether those explain the sum."""
    rows, own = np.arange(len(tokens)), -gradient[tokens]
    states = own
    for _ in range(_STEPS):
        p = softmax(states @ weights.T)
        before, states = states, own + p[:, tokens].T @ states
        if np.abs(states - before).max() < _SETTLED * np.abs(states).max():
            break
    p = softmax(states @ weights.T)
    p[rows, tokens] -= 1
    left = np.linalg.norm(gradient - p.T @ states) / max(float(np.linalg.norm(gradient)), np.finfo(float).tiny)
    return states, bool(left < _EXPLAINED)


def _of_one_place(
    states: NDArray[np.float64],
    weights: NDArray[np.float64],
    tokens: NDArray[np.intp],
    left: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Return for which tokens ``softmax(W h) - e`` is in the space of all errors, up to a share of what W h does."""
    errors = softmax(states @ weights.T)
    sizes = np.linalg.norm((errors - 1 / len(weights)) * scale[:, 0], axis=1)
    errors[np.arange(len(tokens)), tokens] -= 1
    errors *= scale[:, 0]
    outside = errors - (errors @ left) @ left.T
    return np.asarray(np.linalg.norm(outside, axis=1) < _INSIDE * sizes)

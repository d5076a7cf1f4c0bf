"""The scalar problem that is left once a gradient is factored, and how well a scale ``t`` solves it."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.recovery.patterns import Pattern

__all__ = ["FAINT", "Misfit", "Problem", "outside"]

_FLOOR = 1e-30  # entries below this share of the gradient are taken for zero
FAINT = 16  #: how many smallest numbers may be lost in one sum
_WIDEST_SPREAD = 1e3  # logits further apart are not known well enough to excuse a misfit


@attrs.frozen(kw_only=True, eq=False)
class Misfit:
    """What a scale leaves unexplained, ``h = t p - a`` outside the exclusion set S.

    Attributes:
        values: ``h``, zero on S, and centred outside it unless the label's other entries are known to be zero.
        slopes: ``dh / dt``, treated alike.
        labels: Pseudo labels ``y(t) = h / t`` in full, shape ``(k, C)``.
        inside: S, the indices of their largest entries, shape ``(k, |S|)``.
        yardstick: What ``h`` is measured by, entry by entry, shape ``(k, C)``; infinite on S. It is the size of ``a``
            and of what rounded logits put into ``t p``. Entries of a gradient are rounded relative to themselves, so
            that a share of each entry says far more than a share of the whole gradient; where ``h`` is centred, the
            rounding of all entries goes into each, and all have the same yardstick.
    """

    values: NDArray[np.float64]
    slopes: NDArray[np.float64]
    labels: NDArray[np.float64]
    inside: NDArray[np.intp]
    yardstick: NDArray[np.float64]

    @property
    def share(self) -> NDArray[np.float64]:
        """The unexplained share of the gradient outside S, root mean square over its entries, shape ``(k,)``."""
        return self.in_shares(self.values)

    def in_shares(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the root mean square over the entries outside S of ``values`` in units of the yardstick."""
        part = values / self.yardstick
        return np.asarray(np.sqrt(np.einsum("nc,nc->n", part, part) / (part.shape[1] - self.inside.shape[1])))

    @property
    def newton_step(self) -> NDArray[np.float64]:
        """The Gauss-Newton step of ``t`` for entries rounded relative to themselves, shape ``(k,)``.

        Not finite where the misfit does not depend on ``t``.
        """
        return _step(self.values / self.yardstick, self.slopes / self.yardstick)

    @property
    def least_squares_step(self) -> NDArray[np.float64]:
        """The same for entries that all carry the same noise."""
        return _step(self.values, self.slopes)


@attrs.frozen(kw_only=True, eq=False)
class Problem:
    """``n`` gradients, each reduced to two vectors.

    The pseudo label of a scale is ``y(t) = softmax(t w + b) - a / t`` (Wang et al., ICLR 2024, eq. 4, in units of the
    feature's norm: ``t`` is ``+-|x|``, bounded whatever the state of training).

    Attributes:
        column: ``a``, proportional to ``p - y``, shape ``(n, C)``.
        slopes: ``w = W v``, shape ``(n, C)``.
        offsets: ``b``, known biases, shape ``(C,)``; None without.
        least: The smallest number that the gradients' type holds at full precision.
    """

    column: NDArray[np.float64]
    slopes: NDArray[np.float64]
    offsets: NDArray[np.float64] | None = None
    least: float = 0.0

    @property
    def n_classes(self) -> int:
        """C, the number of classes."""
        return int(self.column.shape[1])

    @property
    def informative(self) -> NDArray[np.bool_]:
        """Whether a gradient is more than zeros and what underflow has left of small numbers, shape ``(n,)``."""
        return np.asarray(np.abs(self.column).max(axis=1) > FAINT * self.least)

    def take(self, rows: NDArray[np.intp] | slice) -> Problem:
        """Return the gradients of ``rows``."""
        return attrs.evolve(self, column=self.column[rows], slopes=self.slopes[rows])

    def rescaled(self, rows: NDArray[np.intp], factors: NDArray[np.float64]) -> Problem:
        """Return the gradients of ``rows``, each without its factor."""
        return attrs.evolve(self.take(rows), column=self.column[rows] / factors[:, None])

    def probabilities(self, scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``softmax(t w + b)``, shape ``(n, C)``."""
        logits = scales[:, None] * self.slopes
        if self.offsets is not None:
            logits += self.offsets
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits

    def labels(self, scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the pseudo labels ``y(t)``, shape ``(n, C)``; each sums to one whatever ``t`` is."""
        return np.asarray(self.probabilities(scales) - self.column / scales[:, None])

    def misfit(self, scales: NDArray[np.float64], pattern: Pattern) -> Misfit:
        """Return what each scale leaves unexplained.

        Multiplying the pseudo label by ``t`` removes the spurious minima at infinity of the variance loss (Wang et
        al., ICLR 2024, Appendix B.2): ``h`` does not vanish there unless ``a`` itself is constant outside S.
        """
        p = self.probabilities(scales)
        explained = scales[:, None] * p
        h = explained - self.column
        labels = h / scales[:, None]
        inside = _largest(labels, pattern.excluded)
        mean = np.einsum("nc,nc->n", p, self.slopes)
        p *= 1 + scales[:, None] * (self.slopes - mean[:, None])
        return Misfit(
            yardstick=self._yardstick(scales, explained, inside, alike=not pattern.zero),
            values=outside(h, inside, centre=not pattern.zero),
            slopes=outside(p, inside, centre=not pattern.zero),
            labels=labels,
            inside=inside,
        )

    def _yardstick(
        self, scales: NDArray[np.float64], explained: NDArray[np.float64], inside: NDArray[np.intp], *, alike: bool
    ) -> NDArray[np.float64]:
        spread = np.minimum(np.abs(scales) * np.ptp(self.slopes, axis=1), _WIDEST_SPREAD)
        explained *= spread[:, None]
        explained *= explained
        explained += self.column**2
        at = np.arange(len(scales))[:, None]
        if alike:
            explained[at, inside] = 0
            explained[:] = explained.sum(axis=1, keepdims=True) / (explained.shape[1] - inside.shape[1])
        floor = _FLOOR * np.abs(self.column).max(axis=1) + FAINT * self.least * (1 + np.abs(scales))
        size = np.maximum(np.sqrt(explained, out=explained), floor[:, None])
        size[at, inside] = np.inf
        return np.asarray(size)


def _step(values: NDArray[np.float64], slopes: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.einsum("nc,nc->n", values, slopes) / np.einsum("nc,nc->n", slopes, slopes))


def _largest(labels: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    if count == 1:
        return np.asarray(labels.argmax(axis=1)[:, None], dtype=np.intp)
    last = labels.shape[1] - count
    return np.asarray(np.argpartition(labels, last, axis=1)[:, last:], dtype=np.intp)


def outside(values: NDArray[np.float64], inside: NDArray[np.intp], *, centre: bool) -> NDArray[np.float64]:
    """Set the entries ``inside`` to zero, in place, and centre the others; return ``values``."""
    at = np.arange(len(values))[:, None]
    values[at, inside] = 0
    if centre:
        rest = values.shape[1] - inside.shape[1]
        values -= values.sum(axis=1, keepdims=True) / rest
        values[at, inside] = 0
    return values

"""Labels from gradients, and what denies them, as functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from labelinf.shown import ShownResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from labelinf_core.contracts.pictures import Picture
    from labelinf_gradients.recovery.results import Recovery, RecoveryStatus

__all__ = ["Recovered", "recover", "shield"]


@attrs.frozen(kw_only=True)
class Recovered(ShownResult):
    """What gradients of a last layer give away.

    Attributes:
        recovery: All of it, with every other candidate.
    """

    recovery: Recovery

    @property
    def labels(self) -> NDArray[np.float64]:
        """Soft labels, shape ``(n, C)``; NaN where there is no candidate."""
        return self.recovery.labels

    @property
    def hard(self) -> NDArray[np.intp]:
        """The heaviest class of every label, shape ``(n,)``; -1 where there is no candidate."""
        return self.recovery.hard

    @property
    def status(self) -> tuple[RecoveryStatus, ...]:
        """What the evidence says of every label."""
        return self.recovery.status

    def lines(self) -> Iterator[str]:
        """Yield how many labels come out, and what may be behind those that do not."""
        counts: dict[str, int] = {}
        for status in self.status:
            counts[status.value] = counts.get(status.value, 0) + 1
        told = ", ".join(f"{n} {word.replace('_', ' ')}" for word, n in counts.items())
        yield f"{len(self.status)} gradients: {told}"
        yield from filter(None, (self.recovery.condition, self.recovery.remark))

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield one row a gradient: class, status, what the label leaves unexplained, how far ahead of any other."""
        for at, status in enumerate(self.status):
            yield {
                "gradient": at,
                "class": int(self.hard[at]),
                "status": status.value,
                "unexplained": float(self.recovery.residual[at]),
                "confidence": float(self.recovery.confidence[at]),
            }

    def pictures(self) -> Iterator[Picture]:
        """Yield the labels that came out, a series a gradient, for up to six of them."""
        from labelinf_core.contracts.pictures import Picture, Series

        known = [at for at, hard in enumerate(self.hard) if hard >= 0][:6]
        if known:
            yield Picture(
                title="Labels recovered from gradients",
                x="class",
                y="weight of the class in the label",
                series=tuple(
                    Series(
                        name=f"gradient {at}", points=tuple((float(k), float(w)) for k, w in enumerate(self.labels[at]))
                    )
                    for at in known
                ),
            )


def recover(gradient: Any, layer: Any, **settings: Any) -> Recovered:
    """Recover label and feature from every gradient of a last linear layer under softmax cross-entropy.

    >>> import labelinf as li, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> weights, feature = rng.normal(size=(3, 8)), rng.normal(size=8)
    >>> scores = np.exp(weights @ feature)
    >>> gradient = np.outer(scores / scores.sum() - [0, 1, 0], feature)
    >>> li.recover(gradient, weights).hard
    array([1])

    Args:
        gradient: One sample's gradient of the layer's weights each, shape ``(n, C, I)`` or ``(C, I)``.
        layer: The layer's weights, shape ``(C, I)``, or the layer itself: an object with ``weight`` and ``bias``.
        **settings: ``family``, ``bias``, ``nonnegative``, ``precision`` and ``scaled``, as
            ``labelinf_gradients.recovery.solver.recover`` takes them.

    Raises:
        InputError: Shapes do not fit, weights are not finite, or the family cannot be recovered from so few classes.
    """
    from labelinf_gradients.recovery.solver import recover as solved

    return Recovered(recovery=solved(gradient, layer, **settings))


def shield(update: Any, *, norm: float, multiplier: float) -> Any:
    """Return a client's update behind the change that ``labelinf audit client`` names: clipped, and noise on a grid.

    >>> import labelinf as li, numpy as np
    >>> sent = li.shield({"weight": np.ones((2, 3)), "bias": np.ones(2)}, norm=1, multiplier=2.241)
    >>> sent["weight"].shape, sent["bias"].shape
    ((2, 3), (2,))

    Whatever was computed from some records and is clipped as a whole, whole batches and local steps included, lies
    within ``norm`` of nothing at all; noise of ``multiplier * norm`` on every entry hides that much. It is the system's
    own randomness: no seed makes it come out again, and every call is one more answer about its records.

    Args:
        update: A gradient or a change of parameters, not the new parameters themselves: a mapping from names, or a
            sequence, of arrays or tensors. It must hold the same parameters whatever the records are.
        norm: To which all of it together is clipped; chosen without a look at private records.
        multiplier: Standard deviation of the noise over ``norm``.

    Returns:
        A mapping or a list of arrays of float64; what is done with them afterwards costs nothing of what is proved.

    Raises:
        InputError: It is nothing that can be clipped, or norm or multiplier are no positive numbers.
    """
    from labelinf_gradients.shielding import shielded

    return shielded(update, norm=norm, multiplier=multiplier)

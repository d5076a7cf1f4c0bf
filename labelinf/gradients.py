"""Labels from gradients, and what denies them, as functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelinf.labels import label_set, labels_first
from labelinf.results import AuditResult
from labelinf.shown import WIDTH, ShownResult, shows
from labelinf_core.contracts.fractions import fraction
from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_gradients.audit.asked import ClientQuestion, audited
from labelinf_gradients.audit.words import answer, lines
from labelinf_gradients.recovery.results import Recovery, RecoveryStatus
from labelinf_gradients.recovery.solver import recover as solved
from labelinf_gradients.shielding import shielded

__all__ = ["Recovered", "audit_client", "recover", "shield"]


@attrs.frozen(kw_only=True, repr=False)
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
    return Recovered(recovery=solved(gradient, layer, **settings))


@shows("auditing")
def audit_client(
    y: ArrayLike,
    client: str | Path | Callable[..., Any] | Mapping[str, ArrayLike],
    model: str | Callable[..., Any],
    *,
    features: ArrayLike,
    samples: int = 64,
    batch: int = 1,
    clients: int = 1,
    own: int = 300,
    gain: str | float = 0.1,
    seed: int = 0,
) -> AuditResult:
    """Attack what your federated-learning client sends, as ``labelinf audit client`` does.

    >>> import labelinf as li, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def model(n_inputs, n_classes):
    ...     return [rng.normal(size=(n_classes, n_inputs)), np.zeros(n_classes)]
    >>> def client(weights, x, labels):
    ...     logits = x @ weights[0].T + weights[1]
    ...     off = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) - np.eye(len(weights[1]))[labels]
    ...     return [off.T @ x, off.sum(axis=0)]
    >>> x, y = rng.normal(size=(60, 5)), rng.integers(0, 3, 60)
    >>> li.audit_client(y, client, model, features=x, samples=20, own=30).word.value
    'leaks'

    Args:
        y: Labels of the records, shape ``(n_records,)``; where there are as many saved updates, those behind them.
        client: Called as ``client(module, x, labels)``: it returns its update, a gradient, a change of the parameters
            or the trained module, by name or in order. Or its name, ``"module:function"``; or a mapping or a file with
            an array for every parameter, one update of one record (a language model's: of texts) along the first axis.
        model: Makes the module: ``model(n_inputs, n_classes)``, a torch module or the arrays of a perceptron; or its
            name.
        features: Of the records, shape ``(n_records, n_features)``.
        samples: Labels to attack.
        batch: Records behind an update.
        clients: Updates that are summed before anybody sees them.
        own: The adversary's own records.
        gain: What a proved change may leave any attack over the blind guess, a fraction: ``"10%"`` or ``.1``.
        seed: Of all that is drawn.

    Returns:
        What was found; a row for every attack with the labels that it had right.

    Raises:
        InputError: There are too few records, or client or model cannot be used.
        ComponentError: The client hung, or ended its process.
    """
    labels_first(y, "audit_client(y, client, model, features=x)")
    found = audited(
        ClientQuestion(
            client=os.fspath(client) if isinstance(client, Path) else client,
            model=model,
            data=label_set(y, features),
            builder=Builder(Host.load()),
            gain=fraction(gain, "gain"),
            samples=samples,
            batch=batch,
            clients=clients,
            own=own,
            seed=seed,
            aligned=True,
        )
    )
    table = tuple(map(attrs.asdict, getattr(found, "scores", ())))
    return AuditResult(
        report=found, decision=found, words=(*answer(found).lines(WIDTH), "", *lines(found)), table=table
    )


def shield(update: Any, *, norm: float, multiplier: float, before: Any = None) -> Any:
    """Return a client's update behind the change that ``labelinf audit client`` names: clipped, and noise on a grid.

    >>> import labelinf as li, numpy as np
    >>> sent = li.shield({"weight": np.ones((2, 3)), "bias": np.ones(2)}, norm=1, multiplier=2.241)
    >>> sent["weight"].shape, sent["bias"].shape
    ((2, 3), (2,))

    Whatever was computed from some records and is clipped as a whole, whole batches and local steps included, lies
    within ``norm`` of nothing at all; noise of ``multiplier * norm`` on every entry hides that much. It is the system's
    own randomness: no seed makes it come out again, and every call is one more answer about its records.

    Args:
        update: A gradient or a change of parameters: a mapping from names, or a sequence, of arrays or tensors. It must
            hold the same parameters whatever the records are. With ``before``, the trained module or its parameters.
        norm: To which all of it together is clipped; chosen without a look at private records.
        multiplier: Standard deviation of the noise over ``norm``.
        before: The module, or its parameters, as they were before training, where ``update`` is what came of it: the
            change of the parameters that are trained is shielded then, and nothing else is sent.

    Returns:
        Arrays of float64, or tensors like those given, by name or in a list; what is done then costs nothing proved.

    Raises:
        InputError: It is nothing that can be clipped, or norm or multiplier are no positive numbers.
    """
    return shielded(update, norm=norm, multiplier=multiplier, before=before)

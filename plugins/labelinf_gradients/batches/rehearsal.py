"""Counts of classes from rehearsed releases: the adversary draws batches of its own samples and learns from them.

What a row of the gradient says of its class is not linear once a network is trained: of non-negative features a
negative row sum proves its class present, however small it is. So the marginal posterior ``P(n_k >= j)`` is learnt from
rehearsed batches, for all classes together, as a correction of the prior's by what the row shows: its sum, its least
entry, their ranks among the classes, and the linear estimate of :mod:`labelinf_gradients.batches.posterior`. The B
largest of these probabilities are guessed (labelinf theory, corrections, D4).

Which estimate is believed is settled on rehearsed batches of other samples, the blind guess and the published ones
among them, so that the choice never falls behind any of them but by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.batches.posterior import posterior_counts

__all__ = ["ReferenceSamples", "chosen_counts", "tails"]

Conduct = Callable[[NDArray[np.intp]], NDArray[np.float64]]

_LEARNT, _JUDGED = 160, 80  # rehearsed batches: to learn from, and to choose by
_BINS = 12
_RIDGE = 20.0


@attrs.frozen(kw_only=True, eq=False)
class ReferenceSamples:
    """The adversary's own samples at the last layer.

    Attributes:
        errors: ``p - y``, shape ``(m, C)``.
        features: What enters the last layer, shape ``(m, I)``.
        classes: Shape ``(m,)``.
        prior: Share of every class, shape ``(C,)``.
        numbers: Which of all own samples they are.
    """

    errors: NDArray[np.float64]
    features: NDArray[np.float64]
    classes: NDArray[np.intp]
    prior: NDArray[np.float64]
    numbers: NDArray[np.intp] = attrs.field(
        default=attrs.Factory(lambda self: np.arange(len(self.classes)), takes_self=True)
    )

    def take(self, rows: NDArray[np.intp]) -> ReferenceSamples:
        """Return some of the samples."""
        return attrs.evolve(
            self,
            errors=self.errors[rows],
            features=self.features[rows],
            classes=self.classes[rows],
            numbers=self.numbers[rows],
        )

    def rehearse(
        self, count: int, batch: int, rng: np.random.Generator, conduct: Conduct | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return gradients of ``count`` batches drawn by the prior, shape ``(count, C, I)``, and their class counts."""
        n_classes = len(self.prior)
        weights = (self.prior / np.maximum(np.bincount(self.classes, minlength=n_classes), 1))[self.classes]
        rows = rng.choice(len(self.classes), size=(count, batch), p=weights / weights.sum())
        if conduct is None:
            gradients = np.array([self.errors[own].T @ self.features[own] for own in rows]) / batch
        else:
            gradients = np.array([conduct(self.numbers[own]) for own in rows])
        return gradients, np.array([np.bincount(self.classes[own], minlength=n_classes) for own in rows])


def chosen_counts(
    gradients: NDArray[Any],
    own: ReferenceSamples,
    *,
    batch: int,
    others: Mapping[str, Callable[[NDArray[Any]], NDArray[np.intp]]],
    rng: np.random.Generator,
    noise: float = 0.0,
    conduct: Conduct | None = None,
) -> tuple[NDArray[np.intp], str]:
    """Return counts of every release, shape ``(n, C)``, and the estimate that was chosen for them.

    Args:
        gradients: Mean gradients of the last layer's weights, shape ``(n, C, I)``.
        own: The adversary's own samples.
        batch: B.
        others: Estimates beside the posterior ones, the blind guess among them: each from gradients to counts.
        rng: Of the rehearsal.
        noise: Standard deviation of noise on every entry of a release.
        conduct: What a client sends of some own samples, by their numbers; without it, their mean gradient.
    """
    order = rng.permutation(len(own.classes))
    fitted, played = own.take(order[::2]), own.take(order[1::2])
    played = played if len(played.classes) >= 2 else own

    def rehearsed(some: ReferenceSamples, count: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        seen, truth = some.rehearse(count, batch, rng, conduct)
        return seen + noise * rng.normal(size=seen.shape), truth

    prior = tails(own.prior, batch)
    seen, truth = rehearsed(played, _LEARNT)
    model = _Rows.learn(seen, truth, _linear(seen, fitted, batch, noise), prior)
    # What was learnt of large batches is learnt of their few samples: it is judged on others.
    seen, truth = rehearsed(fitted, _JUDGED)
    trials = {
        **{name: estimate(seen) for name, estimate in others.items()},
        "linear posterior": _linear(seen, played, batch, noise),
    }
    trials["rehearsed posterior"] = model.counts(seen, trials["linear posterior"], batch)
    score = {name: np.minimum(counts, truth).sum() for name, counts in trials.items()}
    best = max(score, key=lambda name: (score[name], name in others))
    if best in others:
        return others[best](gradients), best
    linear = _linear(gradients, own, batch, noise)
    return (linear if best == "linear posterior" else model.counts(gradients, linear, batch)), best


def _linear(gradients: NDArray[Any], own: ReferenceSamples, batch: int, noise: float) -> NDArray[np.intp]:
    along = own.features.mean(axis=0)
    along = along / max(float(along @ along), np.finfo(float).tiny)
    return posterior_counts(
        own.errors * (own.features @ along)[:, None],
        np.eye(len(own.prior))[own.classes],
        batch * gradients.astype(np.float64) @ along,
        prior=own.prior,
        units=batch,
        batch=batch,
        noise=batch * noise * float(np.linalg.norm(along)),
    )


def tails(prior: NDArray[np.float64], batch: int) -> NDArray[np.float64]:
    """Return ``P(n_k >= j)`` before anything is seen, shape ``(C, batch)``, j from 1."""
    from scipy.stats import binom

    return np.asarray(binom.sf(np.arange(batch)[None, :], batch, prior[:, None]))


@attrs.frozen(kw_only=True, eq=False)
class _Rows:
    """What rows of a gradient say of their classes."""

    edges: NDArray[np.float64]
    slopes: NDArray[np.float64]
    prior: NDArray[np.float64]

    @classmethod
    def learn(
        cls,
        gradients: NDArray[np.float64],
        counts: NDArray[np.intp],
        linear: NDArray[np.intp],
        prior: NDArray[np.float64],
    ) -> _Rows:
        shown = _shown(gradients, linear, prior)
        edges = np.quantile(shown.reshape(-1, shown.shape[2]), np.linspace(0, 1, _BINS + 1)[1:-1], axis=0)
        basis = _basis(shown, edges)
        beyond = counts.reshape(-1, 1) > np.arange(prior.shape[1])[None, :]
        error = beyond - np.broadcast_to(prior, (len(counts), *prior.shape)).reshape(beyond.shape)
        gram = basis.T @ basis + _RIDGE * np.eye(basis.shape[1])
        return cls(edges=edges, slopes=np.linalg.solve(gram, basis.T @ error), prior=prior)

    def counts(self, gradients: NDArray[Any], linear: NDArray[np.intp], batch: int) -> NDArray[np.intp]:
        """Return the counts whose probabilities are the largest, shape ``(n, C)``."""
        basis = _basis(_shown(gradients.astype(np.float64), linear, self.prior), self.edges)
        chances = (basis @ self.slopes).reshape(len(gradients), *self.prior.shape) + self.prior
        chances = np.minimum.accumulate(chances, axis=2)  # P(n_k >= j) falls with j
        flat = np.argsort(-chances.reshape(len(gradients), -1), axis=1, kind="stable")[:, :batch]
        return np.array(
            [np.bincount(row // self.prior.shape[1], minlength=len(self.prior)) for row in flat], dtype=np.intp
        )


def _shown(gradients: NDArray[np.float64], linear: NDArray[np.intp], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what is looked at, shape ``(n, C, 5)``: no scale is, for clients clip."""
    sums, least = gradients.sum(axis=2), gradients.min(axis=2)
    parts = []
    for part in (sums, least):
        size = np.maximum(np.abs(part).mean(axis=1, keepdims=True), np.finfo(float).tiny)
        parts += [part / size, part.argsort(axis=1).argsort(axis=1) + 0.0]
    return np.stack([*parts, linear - prior.sum(axis=1)], axis=2)


def _basis(shown: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    flat = shown.reshape(-1, shown.shape[2])
    steps = [flat[:, k, None] > edges[None, :, k] for k in range(flat.shape[1])]
    return np.concatenate([np.ones((len(flat), 1)), *steps], axis=1)

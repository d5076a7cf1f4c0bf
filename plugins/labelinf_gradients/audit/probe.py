"""What a client does, learnt by trying it out on records whose labels are the auditor's own.

Explanations are tried from the simplest on: the gradient, of smoothed labels, with weight decay, in training mode, with
every record's own part clipped, and what local training moves. One is accepted only if it explains *every* batch up to
the form of the numbers (:mod:`labelinf_gradients.audit.judge`). What none explains is unknown, and unknown is never
taken for safe.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.audit.conduct import Conduct
from labelinf_gradients.audit.judge import ExplanationFit, fitted, signs_agree
from labelinf_gradients.audit.moves import Optimiser, Training, gradient
from labelinf_gradients.audit.seen import UpdateRows, look
from labelinf_gradients.audit.training import candidates, rounded
from labelinf_gradients.audit.updates import UserClient
from labelinf_gradients.game.networks import Network

__all__ = ["probe"]

_PROBES = 8
_REPEATS = 12
_SOME = 0.95  # of the entries that have a gradient: fewer are a choice of them
_LENGTHS = 60  # of records, at which clipping is tried
_SAME_LENGTH = 0.01
_FAR = 0.1  # of an update: more than any rounding leaves that is allowed for
_ON_GRID = -1  # levels that are yet to be counted

Rows = NDArray[np.float64]  #: what would be sent about every batch, shape ``(n, d)``
Explained = tuple[Conduct, Rows]


@attrs.frozen(kw_only=True, eq=False)
class _Trial:
    """A client's answers about some batches, and what would be sent about them."""

    network: Network
    seen: UpdateRows
    x: NDArray[np.float64]
    labels: NDArray[np.float64]
    quiet: int
    gaps: bool = False
    signs: bool = False

    @functools.cached_property
    def plain(self) -> Rows:
        """Gradients."""
        return self._rows(self.network, self.labels)

    @functools.cached_property
    def even(self) -> Rows:
        """Gradients of labels that are all classes alike."""
        return self._rows(self.network, np.full_like(self.labels, 1 / self.labels.shape[2]))

    @functools.cached_property
    def records(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Every record's own gradient, shape ``(n, batch, d)``, and its length, shape ``(n, batch)``."""
        n, batch = self.x.shape[:2]
        rows, lengths = np.empty((n, batch, len(self.seen.entries))), np.empty((n, batch))
        for place in np.ndindex(n, batch):
            one = slice(place[1], place[1] + 1)
            whole = gradient(self.network, self.x[place[0], one], self.labels[place[0], one], self.seen.names)
            rows[place], lengths[place] = whole[self.seen.entries], np.linalg.norm(whole)
        return rows, lengths

    def short(self, norm: float = 0.0) -> Rows:
        """Return means of records' own gradients, none longer than ``norm``; all of one length without."""
        rows, lengths = self.records
        norm = norm or float(lengths[lengths > 0].min(initial=np.inf))
        share = np.minimum(1, norm / np.maximum(lengths, 1e-300))
        return np.asarray(np.einsum("nbd,nb->nd", rows, share) / rows.shape[1])

    def trained(self, row: int, training: Training) -> NDArray[np.float64]:
        """Return what training on one batch moves."""
        return training.moved(self.network, self.x[row], self.labels[row], self.seen.names)[self.seen.entries]

    def in_training(self) -> Rows | None:
        """Return gradients in training mode, None where that makes no difference."""
        own = getattr(self.network, "training", lambda: None)()
        return None if own is None or self.x.shape[1] == 1 else self._rows(own, self.labels)

    def fit(self, *basis: Rows, steps: int = 1) -> ExplanationFit | None:
        """Return how rows, or sums of them, explain what was sent."""
        return fitted(self.seen, np.array(basis), steps=steps, gaps=self.gaps)

    def surely_not(self, first: NDArray[np.float64]) -> bool:
        """Whether what would be sent about the first batch is so far off that the others need not be looked at."""
        if self.seen.differs or self.seen.grid is not None:
            return False
        sent = self.seen.sent[0]
        apart = (np.abs(sent) - np.abs(first))[sent != 0] if self.gaps else np.abs(sent) - np.abs(first)
        return bool(np.linalg.norm(apart) > _FAR * np.linalg.norm(sent))

    def _rows(self, network: Network, labels: NDArray[np.float64]) -> Rows:
        pairs = zip(self.x, labels, strict=True)
        return np.array([gradient(network, x, own, self.seen.names)[self.seen.entries] for x, own in pairs])


def probe(client: UserClient, x: NDArray[np.float64], classes: NDArray[np.intp], batch: int) -> Conduct:
    """Return what a client does with batches of some records.

    Args:
        client: The client.
        x: Records, shape ``(n, d)``.
        classes: Their classes.
        batch: How many it takes at a time.
    """
    n_classes = len(client.network.classifier.weights)
    rows = np.arange(_PROBES * batch).reshape(_PROBES, batch) % len(x)
    told = classes[rows]
    told[::2] = (told[::2] + 1) % n_classes  # wrong ones too: what a trained module learns from those is not small
    sent = [client(x[own], labels) for own, labels in zip(rows, told, strict=True)]
    said = np.array([any(part.any() for part in update.values()) for update in sent])
    spoken = np.flatnonzero(said) if said.any() else np.arange(len(sent))
    again = [client(x[rows[spoken[0]]], told[spoken[0]]) for _ in range(_REPEATS)]
    seen = look([sent[n] for n in spoken], again, client.network.parameters, np.random.default_rng(0))
    labels = np.eye(n_classes)[told]
    trial = _Trial(
        network=client.network,
        seen=seen,
        x=x[rows[spoken]],
        labels=labels[spoken],
        quiet=len(sent) - len(spoken),
    )
    if seen.silent:
        return Conduct(known=False, precision=seen.precision, remarks=("nothing but zeros",))
    alive = np.abs(trial.plain) > 0
    gaps = bool(alive.any() and np.mean(seen.sent[alive] != 0) < _SOME)
    signs = seen.one_size and (seen.gaps_differ or not seen.differs)
    sparse = attrs.evolve(trial, gaps=True, signs=signs)
    # Few entries lie on a grid by chance: that a choice of them is exact comes before a rounding to few levels.
    exactly = ((own, found) for own in [sparse] * gaps for found in _gradients(own) if not found[0].levels)
    dense = attrs.evolve(trial, signs=signs and not gaps)
    whatever = ((own, found) for own in (dense, sparse)[: 1 + gaps] for found in _explanations(own))
    for own, (found, predicted) in itertools.chain(exactly, whatever):
        return _in_form(found, predicted, own)
    return _unknown(trial, gaps)


def _explanations(trial: _Trial) -> Iterator[Explained]:
    """Yield what explains all that was sent, the simplest first."""
    seen = trial.seen
    yield from _gradients(trial)
    sign = signs_agree(seen, trial.plain) if trial.signs else 0
    if sign:
        yield Conduct(sign=sign, factor=math.nan, levels=1), trial.plain
    in_training = trial.in_training()
    if in_training is not None and (fit := trial.fit(in_training)):
        yield attrs.evolve(_factor(fit), in_training=True), in_training
    yield from _clipped(trial)
    yield from _trained(trial)


def _factor(fit: ExplanationFit, unit: float = 1.0) -> Conduct:
    factors = np.abs(fit.factors) * unit
    sign = -1 if np.median(fit.factors) < 0 else 1
    factor = float(np.median(factors)) if fit.same else math.nan
    return Conduct(sign=sign, factor=factor, left=fit.left, levels=_ON_GRID if fit.on_grid else 0)


def _gradients(trial: _Trial) -> Iterator[Explained]:
    """Explain by one gradient, of labels as they are or smoothed, alone or with the parameters added."""
    seen, start = trial.seen, np.broadcast_to(trial.seen.start, trial.plain.shape)
    for smooth, decayed in ((False, False), (True, False), (False, True), (True, True)):
        basis = (trial.plain, *((trial.even,) * smooth), *((start,) * decayed))
        fit = trial.fit(*basis)
        if fit is None:
            continue
        weight = fit.others[0] if smooth else 0.0
        smoothing, decay = weight / (1 + weight), fit.others[-1] / (1 + weight) if decayed else 0.0
        if fit.same and trial.x.shape[1] > 1 and seen.differs and trial.fit(trial.short()) is not None:
            fit = attrs.evolve(fit, same=None)  # noise hides whether every record is clipped
        if 0 <= smoothing < 1 and decay >= 0:
            predicted = (1 - smoothing) * trial.plain + decay * start
            predicted = predicted + smoothing * trial.even if smooth else predicted
            yield attrs.evolve(_factor(fit, 1 + weight), smoothing=smoothing, decay=decay), predicted


def _clipped(trial: _Trial) -> Iterator[Explained]:
    """Explain by means of records whose own gradients are clipped, at the length that leaves least."""
    if trial.x.shape[1] == 1 or trial.seen.grid is not None or trial.gaps:
        return
    lengths = trial.records[1]

    def left(norm: float) -> float:
        own = trial.short(norm)
        factor = float((own * trial.seen.sent).sum()) / max(float((own * own).sum()), 1e-300)
        return float(np.linalg.norm(trial.seen.sent - factor * own))

    norms = np.unique(np.quantile(lengths[lengths > 0], np.linspace(0, 1, _LENGTHS)))
    best = int(np.argmin([left(float(norm)) for norm in norms]))
    low, high = norms[max(0, best - 1)], norms[min(len(norms) - 1, best + 1)]
    for _ in range(60):  # thirds: what is left falls, then rises
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, two) if left(float(one)) <= left(float(two)) else (one, high)
    norm = float((low + high) / 2)
    fit = trial.fit(trial.short(norm))
    if fit is not None and fit.same is not False:
        size, all_clipped = float(np.median(np.abs(fit.factors))), norm <= lengths.min() * (1 + 1e-6)
        conduct = attrs.evolve(_factor(fit), by_record=True, clip=size * norm)
        yield attrs.evolve(conduct, factor=math.nan if all_clipped else conduct.factor), trial.short(norm)


def _trained(trial: _Trial) -> Iterator[Explained]:
    """Explain by local training, found on the first batch."""
    seen = trial.seen
    live = seen.sent[0] != 0 if trial.gaps else np.ones(len(seen.entries), dtype=bool)
    mean = seen.sent[0] if trial.gaps else np.concatenate([seen.sent[:1], seen.again]).mean(axis=0)
    size = sum(part.size for part in trial.network.parameters.values())

    def moved(training: Training) -> NDArray[np.float64]:
        return np.asarray(trial.trained(0, training)[live])

    noise = 0.0
    if seen.differs and not trial.gaps and seen.noise is not None:
        noise = float(np.linalg.norm(seen.noise)) / math.sqrt(1 + len(seen.again))
    given = mean[live], trial.plain[0, live], seen.start[live], moved
    for training in candidates(*given, size=size, noise=noise):
        near = min(
            rounded(training), key=lambda other: float(np.linalg.norm(np.abs(moved(other)) - np.abs(mean[live])))
        )
        for own in (training, near):
            found = _accepted(trial, own)
            if found is not None:
                yield _fewest(trial, own, found)
                break


def _fewest(trial: _Trial, training: Training, found: Explained) -> Explained:
    """Return the same with the fewest steps that explain as much, and what else does."""
    about, (conduct, predicted) = False, found
    while (other := _with_steps(training, training.steps - 1)) and (fewer := _accepted(trial, other)):
        training, (conduct, predicted), about = other, fewer, True
    more = _with_steps(training, training.steps + 1)
    about = about or (more is not None and _accepted(trial, more) is not None)
    twin = {Optimiser.ADAM: Optimiser.ADAMW, Optimiser.ADAMW: Optimiser.ADAM}.get(training.optimiser)
    alike = twin is not None and _accepted(trial, attrs.evolve(training, optimiser=twin)) is not None
    return attrs.evolve(conduct, about=about, or_else=twin if alike else None), predicted


def _with_steps(training: Training, steps: int) -> Training | None:
    """Return a training that moves about as far in other steps; None where that would be one gradient, or none."""
    if steps < (1 if training.optimiser.adaptive else 2):
        return None
    other = attrs.evolve(training, steps=steps)
    return attrs.evolve(other, rate=training.rate * training.reach / other.reach)


def _accepted(trial: _Trial, training: Training) -> Explained | None:
    first = trial.trained(0, training)
    if trial.surely_not(first):
        return None
    predicted = np.array([first, *(trial.trained(row, training) for row in range(1, len(trial.x)))])
    fit = trial.fit(predicted, steps=training.steps)
    if fit is None or fit.same is False or abs(abs(float(np.median(fit.factors))) - 1) > 0.02:
        return None
    conduct = Conduct(
        sign=-1 if np.median(fit.factors) > 0 else 1,
        factor=training.rate * training.reach,
        steps=training.steps,
        rate=training.rate,
        decay=training.decay,
        optimiser=training.optimiser,
        levels=_ON_GRID if fit.on_grid else 0,
        left=fit.left,
    )
    return conduct, predicted


def _in_form(found: Conduct, predicted: Rows, trial: _Trial) -> Conduct:
    """Add what the numbers show: format, noise, levels, gaps, and a norm that is never exceeded."""
    seen, noise = trial.seen, 0.0
    if seen.differs and not trial.gaps and seen.grid is None and seen.noise is not None:
        noise = float(np.sqrt(np.mean(seen.noise**2)))
    found = attrs.evolve(found, precision=seen.precision, noise=noise)
    if seen.grid is not None and found.levels == _ON_GRID:
        found = attrs.evolve(found, levels=seen.grid.values)
    if trial.gaps or trial.quiet:
        kept = min(seen.share, 0.999) if trial.gaps else 1.0
        found = attrs.evolve(found, kept=kept, silent=trial.quiet / (trial.quiet + len(trial.x)))
    if math.isnan(found.factor) and not noise and not trial.gaps and not found.levels and not found.by_record:
        longest = np.sort(seen.lengths)[-3:]
        found = attrs.evolve(
            found, clip=float(longest[-1]) if np.ptp(longest) < _SAME_LENGTH * longest[-1] else math.inf
        )
    return found


def _unknown(trial: _Trial, gaps: bool) -> Conduct:
    """Say what is seen of a client that nothing explains; its sign and factor are those that are nearest."""
    seen, remarks = trial.seen, []
    if seen.differs:
        noise = None if gaps else seen.noise
        size = "" if noise is None else f", by noise of standard deviation {np.sqrt(np.mean(noise**2)):.3g}"
        remarks.append(f"the same records are not always answered alike{size}")
    if trial.quiet:
        remarks.append(f"nothing at all about {trial.quiet} of {trial.quiet + len(trial.x)} batches")
    if gaps:
        remarks.append(f"{seen.share:.1%} of the entries are not zero")
    if seen.grid is not None:
        remarks.append(f"{seen.grid.values} different values")
    factors = np.einsum("nd,nd->n", seen.sent, trial.plain) / np.maximum((trial.plain**2).sum(axis=1), 1e-300)
    middle = float(np.median(factors))
    return Conduct(
        known=False,
        sign=-1 if middle < 0 else 1,
        factor=abs(middle) or 1.0,
        precision=seen.precision,
        left=1.0,
        remarks=tuple(remarks),
    )

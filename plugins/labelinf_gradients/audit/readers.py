"""Labels from updates of any parameters, no last layer needed: equations that hold of some, and imitation of all.

Where logits are linear in a parameter with a row for every class (an output bias, or B in a last layer's adapter
``W + B A``), one record's gradient of it is ``(p - y) v'``, and ``1 - p_y`` is the sum of all other ``p_k``: the row of
the label is the longest. Behind a known last layer W, frozen or kept at home, what is added to its inputs (the bias of
a layer norm or of a hidden ReLU layer) has ``W'(p - y)`` in those of its entries that are not zero, and least squares
give ``p - y`` back. Everything else is learnt: kernel ridge regression on updates about the adversary's own records,
with their labels and with others. Which reader is best is judged on own records that none has learnt of.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.game.networks import Layer

__all__ = ["Looked", "best_readers", "look_at"]

_LEARNT, _JUDGED = 240, 80  # updates to learn from, and to choose by
_WIDTH = 256  # of a parameter's sketch
_ALONE = 12  # parameters that are looked at alone
_RIDGE = 1e-3  # of every update
_TINY = 1e-150
_IN_COMMON = 0.5  # of updates' squares, that is in their mean at least where they are new parameters: of no gradients

Rows = NDArray[np.float64]
Numbers = NDArray[np.intp]
Read = Callable[["Looked"], Rows]  #: from looks at updates to a score for every class
KERNELS: Mapping[str, Callable[[Rows], Rows]] = {
    "cosine": lambda cosines: cosines,
    "square": lambda cosines: cosines**2,  # the same for either sign of a factor
    "Gaussian": lambda cosines: np.exp(4 * (cosines - 1)),
}


@attrs.frozen(kw_only=True, eq=False)
class Looked:
    """What is kept of updates.

    Attributes:
        tables: A number for every class, by what was computed of which parameter, shape ``(n, C)``.
        targets: Outputs and their errors, of a last layer with other outputs than classes, shape ``(n, 2 q)``.
        sketches: Of every parameter, shape ``(n, k)``.
    """

    tables: Mapping[str, Rows]
    targets: Rows
    sketches: Mapping[str, Rows]

    def take(self, rows: Numbers) -> Looked:
        """Return looks at some of the updates."""
        tables, sketches = ({name: part[rows] for name, part in some.items()} for some in (self.tables, self.sketches))
        return Looked(tables=tables, targets=self.targets[rows], sketches=sketches)


def look_at(
    updates: Iterable[Mapping[str, NDArray[np.float64]]],
    *,
    n_classes: int,
    layer: Layer | None,
    names: tuple[str, ...] = (),
) -> Looked:
    """Return what is kept of updates, one after another: together they may be large.

    Args:
        updates: By parameter.
        n_classes: C.
        layer: The last layer, where it is known.
        names: Of its parameters, where they are updated.
    """
    doubles = ({name: part.astype(np.float64) for name, part in update.items()} for update in updates)
    parts = [
        (dict(_tables(update, n_classes, layer)), _target(update, layer, names), dict(_sketches(update)))
        for update in doubles
    ]
    first = parts[0]
    return Looked(
        tables={name: np.array([part[0][name] for part in parts]) for name in first[0]},
        targets=np.array([part[1] for part in parts]),
        sketches={name: np.array([part[2][name] for part in parts]) for name in first[2]},
    )


def _tables(update: Mapping[str, Rows], n_classes: int, layer: Layer | None) -> Iterator[tuple[str, Rows]]:
    for name, part in update.items():
        whole = part.reshape(len(part), -1) if part.ndim else part.reshape(1, 1)
        for what, rows in {"row": whole, **({"column": whole.T} if part.ndim == 2 else {})}.items():
            if len(rows) >= n_classes:
                yield f"{what} lengths of {name!r}", _scaled(np.linalg.norm(rows[:n_classes], axis=1))
                yield f"{what} sums of {name!r}", rows[:n_classes].sum(axis=1)
                yield f"shares of {what} sums of {name!r}", _scaled(rows[:n_classes].sum(axis=1))
            if layer is not None and len(layer.weights) == n_classes and len(rows) == layer.weights.shape[1]:
                error = _behind(rows, layer)
                yield f"errors behind {what}s of {name!r}", error
                yield f"sizes of errors behind {what}s of {name!r}", np.abs(error)


def _behind(rows: Rows, layer: Layer) -> Rows:
    """Return ``p - y`` up to a factor from ``W'(p - y)``, which is the left factor of ``rows`` where that is alive."""
    left = rows[:, 0]
    if rows.shape[1] > 1:
        left = rows @ rows[np.linalg.norm(rows, axis=1).argmax()]
    alive = left != 0
    ways = np.concatenate([layer.weights.T[alive].astype(np.float64), np.ones((1, len(layer.weights)))])
    return _scaled(np.linalg.lstsq(ways, np.append(left[alive], 0))[0])


def _target(update: Mapping[str, Rows], layer: Layer | None, names: tuple[str, ...]) -> Rows:
    """Return a last layer's outputs and their errors: under squared loss a target is their weighted sum."""
    if layer is None or len(names) < 2 or not set(names) <= set(update):
        return np.zeros(0)
    errors = update[names[1]]
    feature = update[names[0]].reshape(len(errors), -1).T @ errors / max(float(errors @ errors), _TINY)
    return np.append(layer(feature[None])[0], errors)


def _sketches(update: Mapping[str, Rows]) -> Iterator[tuple[str, Rows]]:
    for number, (name, part) in enumerate(update.items()):
        row: Rows = part.ravel().astype(np.float64)
        if row.size > _WIDTH:  # Charikar, Chen, Farach-Colton (2002): inner products are kept, up to noise
            places, signs = _hashed(number, row.size)
            row = np.bincount(places, weights=signs * row, minlength=_WIDTH).astype(np.float64)
        yield name, row


@functools.lru_cache(maxsize=1024)
def _hashed(number: int, size: int) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    rng = np.random.default_rng(number)
    return rng.integers(_WIDTH, size=size, dtype=np.uint8), rng.integers(2, size=size, dtype=np.int8) * 2 - 1


def _scaled(row: Rows) -> Rows:
    return np.asarray(row / max(float(np.abs(row).mean()), _TINY))


def best_readers(
    sent: Callable[[Numbers, Numbers], Mapping[str, NDArray[np.float64]]],
    look: Callable[[Iterable[Mapping[str, NDArray[np.float64]]]], Looked],
    classes: Numbers,
    prior: Rows,
    size: int,
    rng: np.random.Generator,
) -> dict[str, Callable[[Looked], Numbers]]:
    """Return the best equation and the best imitation, by name: each from looks at updates to counts, ``(n, C)``.

    Args:
        sent: What is sent about some own records, by their numbers, with some labels.
        look: At updates.
        classes: Of all own records.
        prior: Share of every class.
        size: Records behind an update.
        rng: Of the records that are learnt of.
    """
    order = rng.permutation(len(classes))
    half = len(order) // 2
    rows = np.concatenate(
        [rng.choice(order[:half], size=(_LEARNT, size)), rng.choice(order[half:], size=(_JUDGED, size))]
    )
    other = rng.choice(len(prior), size=rows.shape, p=prior)
    other[_LEARNT:] = classes[rows[_LEARNT:]]
    labels = np.where(rng.random(rows.shape) < 0.5, classes[rows], other)
    seen = look(sent(own, told) for own, told in zip(rows, labels, strict=True))
    counts = np.array([np.bincount(told, minlength=len(prior)) for told in labels])
    learnt, judged = np.arange(_LEARNT), np.arange(_LEARNT, len(rows))
    found: dict[str, tuple[int, str, Callable[[Looked, Rows], Read]]] = {}
    for kind, name, learn in _learners(seen, size):
        guess = _whole(learn(seen.take(learnt), counts[learnt])(seen.take(judged)), size)
        right = int(np.minimum(guess, counts[judged]).sum())
        if kind not in found or right > found[kind][0]:
            found[kind] = right, name, learn
    readers = {name: learn(seen, counts) for _, name, learn in found.values()}
    return {name: functools.partial(_counted, read, size) for name, read in readers.items()}


def _counted(read: Read, size: int, looked: Looked) -> Numbers:
    return _whole(read(looked), size)


def _learners(seen: Looked, size: int) -> Iterator[tuple[str, str, Callable[[Looked, Rows], Read]]]:
    """Yield everything that can be learnt: its kind, its name, and how."""
    for name in seen.tables:
        yield "equation", name, functools.partial(_line, name=name)
    if seen.targets.shape[1] and size == 1:
        yield "equation", "targets of the last layer", _targets
    alone = sorted(seen.sketches, key=lambda name: seen.sketches[name].shape[1])[:_ALONE]
    for names in (tuple(seen.sketches), *((name,) for name in alone)):
        for kernel in KERNELS.values():
            name = "imitation" if len(names) > 1 else f"imitation of {names[0]!r}"
            yield "imitation", name, functools.partial(_kernel, names=names, kernel=kernel)


def _line(own: Looked, counts: Rows, *, name: str) -> Read:
    """Learn how counts follow the numbers of a table, by one slope for all classes."""
    means = own.tables[name].mean(axis=0)
    off = own.tables[name] - means
    slope = float((off * (counts - counts.mean(axis=0))).sum()) / max(float((off**2).sum()), _TINY)
    return lambda looked: counts.mean(axis=0) + slope * (looked.tables[name] - means)


def _targets(own: Looked, counts: Rows) -> Read:
    """Learn a target from outputs and errors, as a number: the nearest class's."""
    ones = np.ones((len(counts), 1))
    weights = np.linalg.lstsq(np.concatenate([own.targets, ones], axis=1), counts.argmax(axis=1).astype(float))[0]
    ways = np.arange(counts.shape[1])
    return lambda looked: -np.abs((looked.targets @ weights[:-1] + weights[-1])[:, None] - ways)


def _kernel(own: Looked, counts: Rows, *, names: tuple[str, ...], kernel: Callable[[Rows], Rows]) -> Read:
    """Learn counts by kernel ridge regression on parameters of length one, less what all updates have in common."""
    middles = {name: own.sketches[name].mean(axis=0) for name in names}
    for name, middle in middles.items():
        middle *= float(middle @ middle) > _IN_COMMON * float((own.sketches[name] ** 2).sum(axis=1).mean())

    def ways(looked: Looked, name: str) -> Rows:
        rows = looked.sketches[name] - middles[name]
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _TINY))

    learnt = {name: ways(own, name).T for name in names}

    def cosines(looked: Looked) -> Rows:
        return np.asarray(sum(ways(looked, name) @ learnt[name] for name in names) / len(names))

    gram, mean = kernel(cosines(own)), counts.mean(axis=0)
    weights = np.linalg.solve(gram + _RIDGE * len(gram) * np.eye(len(gram)), counts - mean)
    return lambda looked: mean + kernel(cosines(looked)) @ weights


def _whole(scores: Rows, size: int) -> Numbers:
    """Return counts of ``size`` in all, each given to the class that lacks most, shape ``(n, C)``."""
    counts = np.zeros(scores.shape, dtype=np.intp)
    for _ in range(size):
        counts[np.arange(len(scores)), (scores - counts).argmax(axis=1)] += 1
    return counts

"""A scorer as the benchmark plays it: what a host wrote, what it takes, where it is from, and a form without a name.

Record ``i`` is row ``i`` of the labels ``y``, of the submission ``x`` and of each public column of the host's table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Draws = np.random.Generator
Rows = Callable[[int, Draws], Array]
Columns = Mapping[str, Array]

# Keys, and the row of the table of marks each stands for.
FAMILIES = {
    "smooth": "AUC, partial AUC, average precision, Spearman, Pearson, Brier skill, log-loss, mixtures",
    "counts": "confusion and utility metrics, KS, ECE, best F1, recall at FPR .1, Dice; 2 or 3 decimals",
    "ties": "Gini and others with ties broken by order or hash, Amex, Dice per image, NDCG per user, C-index",
    "classes": "4 to 6 classes, ratings: top-3, log-loss, macro-F1, CRPS, RMSLE, SMAPE, pinball, BLEU",
    "many": "10-class accuracy, exact match of texts",
    "cases": "answers for every case",
    "bits": "medals, one bit, improved or not, best so far",
    "hidden": "hidden public 30 %",
    "several": "several AUCs at once (macro, columns, groups), MAP@k, quadratic kappa, R2, precision@k with order ties",
    "noise": "noise, law known only by drawing from the simulator",
    "reals": "real values",
    "drawn": "drawn from hidden parameters",
    "unreadable": "constant, a function of totals alone, invariant under relabelling",
}


class Opaque:
    # No docstring, no name, no module: whoever is handed this knows what it answers and can copy it, state and all.
    __slots__ = ("_call",)
    __module__ = "host"

    def __init__(self, call: Callable[[Array, Array], Any]) -> None:
        self._call = call

    def __call__(self, y: Array, x: Array) -> Any:
        return self._call(y, x)

    def __repr__(self) -> str:
        return "<scorer>"


Opaque.__name__ = Opaque.__qualname__ = "scorer"
for _member in ("__init__", "__call__", "__repr__"):
    getattr(Opaque, _member).__qualname__ = _member
    getattr(Opaque, _member).__module__ = "host"


@attrs.frozen(kw_only=True)
class _Hosted:
    """The function with the host's columns bound, as ``f(y, x)``."""

    score: Callable[..., Any]
    public: Callable[[int], Columns]
    draws: Mapping[str, Draws]

    def __call__(self, y: Array, x: Array) -> Any:
        return self.score(y, x, **self.public(len(y)), **self.draws)


def nothing(n: int) -> Columns:
    """No public column."""
    return {}


@attrs.frozen(kw_only=True)
class Scored:
    """A scorer, its labels and its submissions.

    Attributes:
        name: For tables only; an attack is handed `opaque`.
        source: Where hosts have it from.
        family: A key of `FAMILIES`.
        score: What the host wrote: ``score(y, x, **columns)``; ``rng=`` too if noisy; if stateful, a class without
            arguments whose instances are boards.
        labels: The values that a label may have, or what draws real targets.
        shares: Of each value, for `truth`; alike if None.
        columns: Labels of one record.
        sample: Draws a submission that the host takes.
        public: The host's columns for ``n`` records: the adversary knows them as well as the code.
        readable: False if no attack can read labels from it: it may only come back as not read.
    """

    name: str
    source: str
    family: str = attrs.field(validator=attrs.validators.in_(FAMILIES))
    score: Callable[..., Any]
    labels: tuple[Any, ...] | Rows = (0, 1)
    shares: tuple[float, ...] | None = None
    columns: int = 1
    sample: Rows
    public: Callable[[int], Columns] = nothing
    noisy: bool = False
    stateful: bool = False
    readable: bool = True

    def truth(self, n: int, rng: Draws) -> Array:
        """Draw labels that no feature tells anything of: ``(n,)``, or ``(n, columns)`` if there are several."""
        size = n * self.columns
        if callable(self.labels):
            flat = self.labels(size, rng)
        else:
            shares = (0.63, 0.37) if self.labels == (0, 1) and self.shares is None else self.shares
            flat = np.array(self.labels)[rng.choice(len(self.labels), size, p=shares)]
        return flat.reshape(n, self.columns) if self.columns > 1 else flat

    def fresh(self, rng: Draws) -> Callable[[Array, Array], Any]:
        """Return ``f(y, x)``: a new board without history, whose noise is drawn from ``rng``."""
        score = self.score() if self.stateful else self.score
        return _Hosted(score=score, public=self.public, draws={"rng": rng} if self.noisy else {})

    def opaque(self, rng: Draws) -> Callable[[Array, Array], Any]:
        """Return `fresh` without name, docstring and module.

        Host and attack take one each: a copy of the host's has the host's state and draws in it.
        """
        return Opaque(self.fresh(rng))

    def call(self, y: Array, x: Array) -> Any:
        """Return what a fresh board answers first."""
        return self.fresh(np.random.default_rng())(y, x)


def scored(family: str, source: str, **about: Any) -> Callable[[Callable[..., Any]], Scored]:
    """Return a decorator that makes a `Scored` of what a host wrote; ``sample`` is of probabilities if unsaid."""

    def wrap(score: Callable[..., Any]) -> Scored:
        name = score.__name__.strip("_").replace("_", " ")
        return Scored(name=name, source=source, family=family, score=score, **{"sample": probabilities} | about)

    return wrap


# Submissions, as hosts' samples have them.


def probabilities(n: int, rng: Draws) -> Array:
    return rng.random(n)


def simplex(k: int) -> Rows:
    """Return what draws ``k`` probabilities a record that sum to 1."""
    return lambda n, rng: rng.dirichlet(np.ones(k), n)


def table(k: int) -> Rows:
    """Return what draws ``k`` probabilities a record, each its own."""
    return lambda n, rng: rng.random((n, k))


def chosen(*values: Any) -> Rows:
    """Return what draws one of the values for each record."""
    return lambda n, rng: rng.choice(np.array(values), n)


def between(low: float, high: float) -> Rows:
    return lambda n, rng: rng.uniform(low, high, n)


def log_normal(n: int, rng: Draws) -> Array:
    return np.exp(rng.normal(3.0, 0.7, n))


def normal(n: int, rng: Draws) -> Array:
    return rng.normal(0.0, 1.0, n)


# Public columns: the same for everyone, drawn once for each number of records.


def public(**columns: Rows) -> Callable[[int], Columns]:
    """Return columns of the host's table, each from its sampler."""

    @functools.cache
    def made(n: int) -> Columns:
        rng = np.random.default_rng(n)
        values = {name: rows(n, rng) for name, rows in columns.items()}
        for value in values.values():
            value.setflags(write=False)
        return values

    return made


def blocks(size: int) -> Rows:
    """Return what numbers users or images of about ``size`` records, in the order of the table."""
    return lambda n, rng: np.sort(rng.integers(max(1, n // size), size=n))


def weights(n: int, rng: Draws) -> Array:
    return np.round(rng.gamma(2.0, 0.5, n) + 0.1, 2)


def identifiers(n: int, rng: Draws) -> Array:
    """Return identifiers as hosts make them: their order has nothing to do with the table's."""
    return rng.permutation(n)


def usage(share: float) -> Rows:
    """Return what says which records count on the public board."""
    return lambda n, rng: rng.permutation(n) < round(share * n)

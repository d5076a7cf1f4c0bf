"""Another labelling that fits the whole log: the proof that a label is open (M42), checked in whole numbers.

A mixed-integer programme proposes; only what fits every answer exactly is believed. That there is none is a solver's
word in floats and proves nothing: it is reported as such, apart from what is proved.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.audit.log.certificate import Labels, Log, Mask, scaled_rows, signs

__all__ = ["Search", "fitting_labels", "other_labelling"]


@attrs.frozen(kw_only=True, eq=False)
class Search:
    """What became of a search for labels.

    Attributes:
        labels: Labels that fit the log, checked in whole numbers; None when none was found.
        exhausted: Whether the solver says that there are none; in floats, so not a proof.
    """

    labels: Labels | None = None
    exhausted: bool = False


Floats = NDArray[np.float64]

_INFEASIBLE = 2  # scipy's status


def other_labelling(log: Log, labels: Labels, wanted: Mask, seconds: float) -> Search:
    """Look for labels that fit the log and differ from ``labels`` somewhere in ``wanted``.

    Args:
        log: The answers.
        labels: Labels that fit.
        wanted: Where they must differ at least once, shape ``(N,)``.
        seconds: Time limit.
    """
    sign = signs(labels, wanted).astype(np.float64)
    return _solve(log, -sign, seconds, extra=(sign, 1.0 + float(sign @ labels)))


def fitting_labels(log: Log, seconds: float) -> Labels | None:
    """Return any labels that fit the log: what an outsider without the labels can find; None when none was found."""
    return _solve(log, np.zeros(log.n_records), seconds).labels


def _solve(
    log: Log,
    cost: Floats,
    seconds: float,
    extra: tuple[Floats, float] | None = None,
) -> Search:
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows, low, high = scaled_rows(log.readings)
    constraints = [
        LinearConstraint(rows, low, high),
        LinearConstraint(np.ones((1, log.n_records)), log.n_positive, log.n_positive),
    ]
    if extra is not None:
        constraints.append(LinearConstraint(extra[0][None, :], extra[1], np.inf))
    found = milp(
        cost,
        constraints=constraints,
        integrality=np.ones(log.n_records, dtype=np.int64),
        bounds=Bounds(0, 1),
        options={"time_limit": max(seconds, 0.1)},
    )
    if found.x is None:
        return Search(exhausted=found.status == _INFEASIBLE)
    proposed = np.rint(found.x).astype(np.intp)
    return Search(labels=proposed if log.holds(proposed) else None)

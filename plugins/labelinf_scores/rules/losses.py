"""Rules for losses of the score channel: what is computed is what is decomposed, in doubles and exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.testing.rules import NotApplicableError, belongs, require
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss

__all__ = ["RULES"]

_GAP = 0.25
_STEPS = np.array([_GAP / 4, -_GAP / 4])
_N = 9
_ULPS = 64  # of doubles: rounding of costs and of their sum, beside that of the prediction


def _predictions(loss: AdditiveLoss, n_classes: int) -> NDArray[np.float64]:
    """Return rows that the loss takes: probabilities, or logits."""
    rng = np.random.default_rng(2)
    if n_classes == 2:
        return rng.uniform(0.05, 0.95, _N) if _takes_probabilities(loss) else rng.uniform(-4, 4, _N)
    return rng.dirichlet(np.ones(n_classes), _N) if _takes_probabilities(loss) else rng.uniform(-4, 4, (_N, n_classes))


def _takes_probabilities(loss: AdditiveLoss) -> bool:
    return not loss.takes_logits


def _rows(loss: AdditiveLoss, n_classes: int) -> NDArray[Any] | None:
    """Return rows of two steps; None where a loss has none for so many classes."""
    try:
        return np.asarray(loss.rows(_STEPS, n_classes, make_arithmetic("float64")))
    except (ValueError, NotImplementedError):
        return None


def _inverts_its_gap(component: object) -> None:
    loss, numbers = belongs(component, AdditiveLoss), make_arithmetic("float64")
    predictions = numbers.convert(np.atleast_1d(loss.prediction(np.array([_GAP, -_GAP]), numbers)))
    costs = loss.costs(predictions, numbers)
    gaps = costs[:, 1] - costs[:, 0]
    require(np.allclose(gaps, [_GAP, -_GAP], rtol=1e-9), f"asked for gaps of {_GAP}, got {gaps}")


def _inverts_its_steps(component: object) -> None:
    loss, numbers = belongs(component, AdditiveLoss), make_arithmetic("float64")
    if (rows := _rows(loss, 3)) is None:
        raise NotApplicableError("it has no rows for three classes")
    require(rows.shape == (2, 3), f"rows for two steps and three classes have shape {rows.shape}")
    require(loss.fault(rows, 2, 3) == "", "it makes rows that it does not take itself")
    steps = np.diff(loss.costs(numbers.convert(rows), numbers), axis=1)
    require(np.allclose(steps, _STEPS[:, None], rtol=1e-6, atol=1e-9), f"asked for steps of {_STEPS}, got {steps}")


def _makes_rows_of_any_costs(component: object) -> None:
    loss, numbers = belongs(component, AdditiveLoss), make_arithmetic("float64")
    if not loss.has_class_rows:
        raise NotApplicableError("it says that it has no rows of any costs whatever")
    lowered = -np.array([[0.0, 0.3, 1.0], [0.7, 0.0, 0.1], [0.0, 0.0, 2.0]])
    rows = np.asarray(loss.class_rows(lowered, numbers))
    require(rows.shape == (3, 3), f"rows for three costs of three classes have shape {rows.shape}")
    require(loss.fault(rows, 3, 3) == "", "it makes rows that it does not take itself")
    costs = loss.costs(numbers.convert(rows), numbers)
    more = costs - costs.min(axis=1, keepdims=True)
    require(np.allclose(more, -lowered, rtol=1e-9, atol=1e-12), f"asked for costs of {-lowered}, got {more}")


def _is_the_mean_of_its_costs(component: object) -> None:
    loss, numbers = belongs(component, AdditiveLoss), make_arithmetic("float64")
    for n_classes in (2, 3) if _rows(loss, 3) is not None else (2,):
        rows = _predictions(loss, n_classes)
        labels = np.arange(_N, dtype=np.intp) % n_classes
        costs = loss.costs(numbers.convert(rows), numbers)
        require(costs.shape == (_N, n_classes), f"costs have shape {costs.shape}, expected ({_N}, {n_classes})")
        mean = math.fsum(costs[np.arange(_N), labels]) / _N
        score = float(loss.score(labels, rows, numbers))
        agree = math.isclose(score, mean, rel_tol=1e-12, abs_tol=1e-12)
        require(agree, f"the score is {score}, the mean of the costs {mean}")


def _agrees_with_itself_exactly(component: object) -> None:
    """Doubles and exact arithmetic differ by a few units in the last place of the largest cost."""
    loss = belongs(component, AdditiveLoss)
    rows, labels = _predictions(loss, 2), np.arange(_N, dtype=np.intp) % 2
    double, exact = make_arithmetic("float64"), make_arithmetic("exact").at_precision(200)
    one, two = float(loss.score(labels, rows, double)), float(loss.score(labels, rows, exact))
    largest = float(np.abs(loss.costs(double.convert(rows), double)).max())
    allowed = _ULPS * np.finfo(float).eps * max(largest, 1.0)
    require(abs(one - two) <= allowed, f"in doubles it is {one}, exactly {two}: {abs(one - two)} apart")


def _stays_within_its_span(component: object) -> None:
    loss, numbers, clip = belongs(component, AdditiveLoss), make_arithmetic("float64"), 0.01
    if not _takes_probabilities(loss):
        costs = loss.costs(numbers.convert(np.linspace(-30, 30, 101)), numbers)
        widest = float(np.abs(costs[:, 1] - costs[:, 0]).max())
        require(widest <= loss.span(0.0), f"a gap of {widest} exceeds the span {loss.span(0.0)}")
        return
    costs = loss.costs(numbers.convert(np.linspace(clip, 1 - clip, 101)), numbers)
    widest = float(np.abs(costs[:, 1] - costs[:, 0]).max())
    require(widest <= loss.span(clip) * (1 + 1e-9), f"a gap of {widest} exceeds the span {loss.span(clip)}")
    require(widest >= loss.span(clip) * (1 - 1e-9), f"no gap comes near the span {loss.span(clip)}: {widest}")


RULES: tuple[tuple[str, Callable[[Any], None]], ...] = (
    ("inverts-its-gap", _inverts_its_gap),
    ("inverts-its-steps", _inverts_its_steps),
    ("makes-rows-of-any-costs", _makes_rows_of_any_costs),
    ("is-the-mean-of-its-costs", _is_the_mean_of_its_costs),
    ("agrees-with-itself-exactly", _agrees_with_itself_exactly),
    ("stays-within-its-span", _stays_within_its_span),
)  #: what every loss is held to, beside what holds for all components

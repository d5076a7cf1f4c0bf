"""What a scoring function gives away about itself: its loss, clipping, rounding, number format and noise.

The probe is the adversary's own first step: it asks for scores and looks at the numbers. It never sees a label; the
one thing it must estimate on the way, the share of each class, follows from scores of constant predictions.

The idea, per fact:

* **noise**: the same query twice; different answers are noise, and their spread is its size.
* **decimals**: the fewest decimals that write down every answer of a panel of random predictions.
* **loss**: a constant prediction theta scores ``share_1 cost(theta, 1) + share_0 cost(theta, 0)``. Two constants give
  the shares, a third must then agree.
* **clip**: certainty about one class is charged what a prediction equal to the clip costs.
* **row sums**: halved rows are refused, renormalised, or scored as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import LabelinfError
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss

__all__ = ["ScorerFindings", "probe"]

Ask = Callable[[NDArray[np.float64]], float]

_REPEATS = 8
_PANEL = 24
_MOST_DECIMALS = 12
_TIGHT = 1e-9
_NEVER = 1e-18


@attrs.frozen(kw_only=True)
class ScorerFindings:
    """What a probe learnt.

    Attributes:
        loss: Name of the loss that explains the answers, or empty when none does.
        clip: Probabilities are clipped to ``[clip, 1 - clip]``; 0 when no clipping shows.
        clip_error: How far off that may be, relative to it.
        decimals: Decimals of the answers, or None when they come in full.
        single_precision: Whether every answer is a single-precision number.
        noise_std: Standard deviation of repeated answers; 0 when they agree.
        normalised: Whether rows that do not sum to one are refused or renormalised.
        queries: How many queries the probe asked.
    """

    loss: str
    clip: float
    clip_error: float
    decimals: int | None
    single_precision: bool
    noise_std: float
    normalised: bool
    queries: int

    @classmethod
    def nothing(cls) -> ScorerFindings:
        """Return that nothing was learnt: no row of probabilities was answered."""
        return cls(
            loss="",
            clip=0.0,
            clip_error=0.0,
            decimals=None,
            single_precision=False,
            noise_std=0.0,
            normalised=True,
            queries=0,
        )

    def sentence(self) -> str:
        """Say it in one line."""
        noise = f"noise of standard deviation {self.noise_std:.3g}" if self.noise_std else "deterministic"
        digits = "all digits" if self.decimals is None else f"{self.decimals} decimals"
        clip = f"clip about {self.clip:.2g}" if self.clip else "no clip found"
        loss = f"mean {self.loss}" if self.loss else "no additive loss that is known here"
        rows = "rows are normalised" if self.normalised else "rows need not sum to one"
        width = ", single precision" if self.single_precision else ""
        return f"{loss}, {clip}, {digits}{width}, {rows}, {noise}"


def probe(
    ask: Ask,
    *,
    n_records: int,
    n_classes: int,
    losses: Mapping[str, AdditiveLoss],
    rng: np.random.Generator,
) -> ScorerFindings:
    """Learn what can be learnt of a scorer by asking it.

    Args:
        ask: Scores predictions of shape ``(n_records, n_classes)``, rows of probabilities.
        n_records: N.
        n_classes: K.
        losses: Candidates by name, tried in order.
        rng: For the panel of random predictions.

    Raises:
        LabelinfError: The scorer cannot score honest predictions.
    """
    counted = _Counted(ask)
    panel = rng.dirichlet(np.full(n_classes, 2.0), size=(_PANEL, n_records))
    repeated = np.array([counted(panel[0]) for _ in range(_REPEATS)])
    noise = float(repeated.std(ddof=1)) if np.ptp(repeated) > 0 else 0.0
    answers = np.array([repeated[0], *(counted(predictions) for predictions in panel[1:])])
    decimals = _decimals(answers)
    single = decimals is None and bool(np.all(np.float32(answers) == answers))
    format_error = (float(np.finfo(np.float32).eps) if single else _TIGHT) * max(1.0, float(np.abs(answers).max()))
    tolerance = max(6 * noise, 0.5 * 10.0 ** -(decimals or 99), format_error)
    loss, clip, clip_error = _explain(_Constants(counted, n_records, n_classes), losses, tolerance)
    return ScorerFindings(
        loss=loss,
        clip=clip,
        clip_error=clip_error,
        decimals=decimals,
        single_precision=single,
        noise_std=noise,
        normalised=_normalises(counted, panel[0], tolerance),
        queries=counted.asked,
    )


def _explain(constants: _Constants, losses: Mapping[str, AdditiveLoss], tolerance: float) -> tuple[str, float, float]:
    for name, loss in losses.items():
        shares = constants.shares(loss, tolerance)
        if shares is not None:
            return name, *constants.clip(loss, shares, tolerance)
    return "", 0.0, 0.0


@attrs.define
class _Counted:
    ask: Ask
    asked: int = 0

    def __call__(self, predictions: NDArray[np.float64]) -> float:
        self.asked += 1
        return float(self.ask(predictions))


def _decimals(answers: NDArray[np.float64]) -> int | None:
    """Return the fewest decimals that write every answer; None when they need more than a dozen."""
    for decimals in range(_MOST_DECIMALS + 1):
        if np.all(np.abs(np.round(answers, decimals) - answers) <= 4 * np.spacing(np.abs(answers))):
            return decimals
    return None


@attrs.define
class _Constants:
    """Scores of constant predictions: every record gets the same row."""

    ask: _Counted
    n_records: int
    n_classes: int

    def score(self, row: NDArray[np.float64]) -> float:
        return self.ask(np.tile(row, (self.n_records, 1)))

    def shares(self, loss: AdditiveLoss, tolerance: float) -> NDArray[np.float64] | None:
        """Return the class shares under which ``loss`` explains the answers, or None when none do."""
        rows, fresh = self._rows(0.7), self._rows(0.35)
        try:
            costs = _costs(loss, rows)
            found = np.linalg.solve(costs, np.array([self.score(row) for row in rows]))
            misses = np.abs(np.array([self.score(row) for row in fresh]) - _costs(loss, fresh) @ found)
        except (LabelinfError, ValueError, np.linalg.LinAlgError):
            return None
        amplified = tolerance * (1 + float(np.abs(np.linalg.inv(costs)).sum()) * float(costs.max()))
        fits = misses.max() <= amplified and abs(found.sum() - 1) <= amplified
        return found if fits else None

    def clip(self, loss: AdditiveLoss, shares: NDArray[np.float64], tolerance: float) -> tuple[float, float]:
        """Return the prediction that costs as much as certainty is charged, and its relative error.

        Both are 0 when nothing is clipped.
        """
        try:
            charged = self.score(_row(self.n_classes, 0.0))
        except LabelinfError:
            return 0.0, 0.0
        found = self._costing(loss, shares, charged)
        if found <= 2 * _NEVER:
            return 0.0, 0.0
        # The shares are off by a few times the tolerance, and so is what certainty is charged.
        off = 4 * (1 + charged) * tolerance
        low, high = (self._costing(loss, shares, charged + side * off) for side in (1, -1))
        return found, min(1.0, (high - low) / found)

    def _costing(self, loss: AdditiveLoss, shares: NDArray[np.float64], charged: float) -> float:
        """Return the clip under which certainty about class 0 is charged so much."""
        low, high = math.log(_NEVER), math.log(0.25)
        for _ in range(60):
            middle = (low + high) / 2
            if float(_costs(loss, _row(self.n_classes, math.exp(middle))[None])[0] @ shares) > charged:
                low = middle
            else:
                high = middle
        return math.exp(high)

    def _rows(self, probability: float) -> NDArray[np.float64]:
        """Return one row for every class, which favours it with ``probability``."""
        other = (1 - probability) / (self.n_classes - 1)
        return np.full((self.n_classes, self.n_classes), other) + (probability - other) * np.eye(self.n_classes)


def _row(n_classes: int, clip: float) -> NDArray[np.float64]:
    """Return certainty about class 0 as a scorer that clips would read it."""
    row = np.full(n_classes, clip)
    row[0] = 1 - clip
    return row


def _costs(loss: AdditiveLoss, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    numbers = make_arithmetic("float64")
    with numbers.context():
        return np.asarray(loss.costs(numbers.convert(rows), numbers), dtype=np.float64)


def _normalises(ask: _Counted, rows: NDArray[np.float64], tolerance: float) -> bool:
    """Whether halved rows are refused, or scored as if they had not been halved."""
    try:
        halved, plain = ask(rows / 2), ask(rows)
    except LabelinfError:
        return True
    return abs(halved - plain) <= tolerance

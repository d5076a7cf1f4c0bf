"""Curves of an audit as SVG: what it accuses at which price, and what canaries could show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.findings import Ranking
from labelinf_outputs.audit.power import SIZES, Power

__all__ = ["power_curves", "roc", "roc_points"]

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT, _MARGIN = 460, 300, 48
_LEGEND = 170  # to the right of the plot
_INKS = ("#b00020", "#1565c0", "#2e7d32", "#6a1b9a", "#e65100")


def roc_points(ranking: Ranking, n_canaries: int, n_classes: int) -> NDArray[np.float64]:
    """Return false and true positive rates of accusing "record i has label k", surest first, shape ``(n, 2)``.

    Of all m K such sentences m are true and m (K - 1) false; a guess is one of them.

    Args:
        ranking: The guesses of one model.
        n_canaries: m.
        n_classes: K.
    """
    true = np.cumsum(ranking.right) / n_canaries
    false = np.cumsum(~ranking.right) / (n_canaries * (n_classes - 1))
    return np.column_stack([false, true])


def roc(ranking: Ranking, n_canaries: int, n_classes: int, claim: PrivacyClaim) -> str:
    """Return the ROC curve, both axes logarithmic, down to one accusation; what pure DP allows stands beside it."""
    least = 1 / (n_canaries * (n_classes - 1))
    found = roc_points(ranking, n_canaries, n_classes)
    keep = np.unique(np.geomspace(1, len(found), min(len(found), 400)).astype(int)) - 1
    floor = min(least, 0.5)
    curves: list[tuple[str, Points]] = [("found", [(x or floor / 2, y) for x, y in found[keep] if y])]
    grid = np.geomspace(floor / 2, 1, 60).tolist()
    curves.append(("chance", [(x, x) for x in grid]))
    if claim.made and claim.exact:
        allowed = [
            (x, min(math.exp(min(claim.epsilon, 700)) * x, 1 - math.exp(-claim.epsilon) * (1 - x))) for x in grid
        ]
        curves.append((f"at most, under {claim}", allowed))
    ticks = [10.0**-power for power in range(math.ceil(-math.log10(floor)) + 1)]
    return _svg(curves, ticks, ticks, "false positive rate", "true positive rate")


def power_curves(plan: Power) -> str:
    """Return the power against true epsilons, by the number of canaries, logarithmic."""
    curves = [(name, [(size, plan.of(size, level)) for size in SIZES]) for name, level in plan.truths()]
    return _svg(curves, [20, 100, 500, 2000], [0.0, 0.5, 0.8, 1.0], "canaries", "power", linear=True)


def _svg(
    curves: Iterable[tuple[str, Points]],
    across: Sequence[float],
    up: Sequence[float],
    below: str,
    beside: str,
    *,
    linear: bool = False,
) -> str:
    """Draw curves over a logarithmic abscissa; the ordinate is linear from 0 to 1, or logarithmic."""
    left, right, low = math.log(min(across) / 2), math.log(max(across)), math.log(min(min(up), 1) or 1)

    def place(x: float, y: float) -> str:
        height = y if linear else 1 - math.log(max(y, math.exp(low))) / (low or -1)
        share = (math.log(x) - left) / (right - left or 1)
        return (
            f"{_MARGIN + share * (_WIDTH - 2 * _MARGIN):.1f},{_HEIGHT - _MARGIN - height * (_HEIGHT - 2 * _MARGIN):.1f}"
        )

    parts = [f'<svg viewBox="0 0 {_WIDTH + _LEGEND} {_HEIGHT}" role="img" aria-label="{beside} by {below}">']
    for x in across:
        column = place(x, max(up)).split(",")[0]
        parts.append(f'<text x="{column}" y="{_HEIGHT - _MARGIN + 16}" text-anchor="middle">{x:g}</text>')
    for y in up:
        row = place(max(across), y).split(",")[1]
        parts.append(f'<text x="{_MARGIN - 6}" y="{row}" text-anchor="end">{y:g}</text>')
        parts.append(f'<line x1="{_MARGIN}" x2="{_WIDTH - _MARGIN}" y1="{row}" y2="{row}" class="grid"/>')
    for number, (name, points) in enumerate(curves):
        ink = _INKS[number % len(_INKS)]
        line = " ".join(place(x, y) for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{ink}" stroke-width="2"/>')
        at = f'x="{_WIDTH - _MARGIN + 8}" y="{_MARGIN + 14 * number}"'
        parts.append(f'<text {at} style="fill:{ink}">{escape(name)}</text>')
    parts.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{below}</text>')
    parts.append(
        f'<text x="12" y="{_HEIGHT / 2}" transform="rotate(-90 12 {_HEIGHT / 2})" text-anchor="middle">{beside}</text>'
    )
    return "".join([*parts, "</svg>"])

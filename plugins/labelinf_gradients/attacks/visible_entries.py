"""Labels from the few entries of a gradient that are left: their signs and sizes, class by class.

Dropping entries leaves the others as they were. Entry (k, i) of the last layer is ``(p_k - y_k) x_i``: its sign tells
``y`` where the feature's is known, and its size tells it too, since ``|p_k - y_k|`` of the label is unlike the others'.
What signs and logarithms of sizes an entry has in each class, the adversary learns from its own samples.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_gradients.attacks.common import flat, given, one_sample_each
from labelinf_gradients.game.effects import Dropped
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat, LabelFamily

__all__ = ["VisibleEntries", "likeliest_by_visible"]

_SOFTLY = 0.5  # pseudo-counts of a sign
_BELIEVED = 10.0  # own samples after which a class's spread is believed rather than the spread of all
_STRONGEST = 1e-12  # of the largest entry: smaller ones are rounding
_LEAST_SPREAD = 0.05  # of a logarithm


@attrs.frozen(kw_only=True)
class VisibleEntries(GradientAttack):
    """Compares sign and log-size of the entries that are left with those of its own samples, class by class."""

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs own samples, one-hot labels, and entries that were dropped or left alone."""
        if threat.batch > 1 or not threat.auxiliary:
            return one_sample_each(threat) or "needs auxiliary samples"
        if threat.family is not LabelFamily.ONE_HOT:
            return "needs one-hot labels"
        dropped = any(isinstance(effect, Dropped) for effect in threat.effects)
        return "" if dropped and threat.facts.bounded and not threat.noise_std else "needs entries that were dropped"

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Compare every release."""
        x, classes = given(oracle.auxiliary)
        own = oracle.network.gradients(x, np.eye(oracle.threat.n_classes)[classes])
        seen = flat(oracle.releases)
        labels = likeliest_by_visible(
            flat({name: own[name] for name in oracle.releases}), classes, seen, oracle.threat.prior
        )
        return Guess(labels=labels)


def likeliest_by_visible(
    own: NDArray[np.float64], classes: NDArray[np.intp], seen: NDArray[np.float64], prior: tuple[float, ...]
) -> NDArray[np.intp]:
    """Return the likeliest class of every release, shape ``(n,)``.

    Args:
        own: Gradients of the adversary's own samples, shape ``(m, d)``.
        classes: Their classes.
        seen: Releases, zero where an entry was dropped, shape ``(n, d)``.
        prior: Share of every class.
    """
    n_classes, floor = len(prior), _STRONGEST * max(float(np.abs(own).max(initial=0)), np.finfo(float).tiny)
    logs, alive = np.log(np.maximum(np.abs(own), floor)), np.abs(own) > floor
    member = np.eye(n_classes)[classes].T
    count = member.sum(axis=1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        at_all = np.maximum(alive.sum(axis=0), 1)
        middle = (logs * alive).sum(axis=0) / at_all
        whole = np.maximum(((logs - middle) ** 2 * alive).sum(axis=0) / at_all, _LEAST_SPREAD)
        present = member @ alive
        mean = (member @ (logs * alive) + middle) / (present + 1)
        square = member @ (logs**2 * alive) - 2 * mean * (member @ (logs * alive)) + mean**2 * present
        spread = np.maximum((square + _BELIEVED * whole) / (present + _BELIEVED), _LEAST_SPREAD)
    rising = np.log((member @ (own > floor) + _SOFTLY) / (count + 3 * _SOFTLY))
    falling = np.log((member @ (own < -floor) + _SOFTLY) / (count + 3 * _SOFTLY))
    chosen = []
    for row in seen:
        at = np.flatnonzero(np.abs(row) > floor)
        size = np.log(np.abs(row[at]))
        signs = np.where(row[at] > 0, rising[:, at], falling[:, at])
        fit = signs - (size - mean[:, at]) ** 2 / (2 * spread[:, at]) - np.log(spread[:, at]) / 2
        chosen.append(int(np.argmax(fit.sum(axis=1) + np.log(np.maximum(prior, 1e-300)))))
    return np.array(chosen, dtype=np.intp)

"""Rows that push every record one of two ways, as far as the clip allows: what sign designs ask.

Up, label 1 costs the gap G more than label 0; down, G less; at rest, nothing depends on the label. For K classes one
*bit* of the label is asked about at a time: up, all classes whose bit is set cost G more than those whose bit is not.
So N times the score is a known constant plus ``(G / 2) * sum_i a_i z_i`` with a_i in {-1, 0, 1} the way a record is
pushed and z_i = +1 or -1 its bit: one noisy sum of signs per query.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.constructions.class_rows import class_rows
from labelinf_scores.decoders.posterior import likeliest_labels, scored_prior
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.probe import Probe
from labelinf_scores.plans.sizing import reach, tells_nothing, typical_error
from labelinf_scores.seen_through import averaged_records

__all__ = ["SignRows", "bit_signs", "labels_from_bits", "n_bits", "no_sign_rows"]

_TIMES_NOISE = 32.0  # an exact curator that does not clip is asked with gaps this many times N the noise
_RAREST = 1e-9  # share of a class that is said to be empty: never quite impossible


@attrs.frozen(kw_only=True)
class SignRows:
    """The rows for one bit of the label.

    Attributes:
        threat: What is public.
        bit: Which bit of the class number is asked about.
    """

    threat: ScoreThreat
    bit: int = 0

    @functools.cached_property
    def probe(self) -> Probe:
        """Knows what rows cost."""
        return Probe(threat=self.threat, bits=128)

    @functools.cached_property
    def templates(self) -> NDArray[Any]:
        """One row for each way: down, at rest, up; shape ``(3, K)``."""
        gaps = np.array([-1.0, 0.0, 1.0]) * _widest(self.probe)
        if self.threat.n_classes == 2:
            return self.probe.rows(gaps)
        raised = gaps[:, None] * bit_signs(self.threat.n_classes, self.bit) / 2
        return class_rows(self.threat.loss, raised, self.probe.own)

    @functools.cached_property
    def costs(self) -> NDArray[np.float64]:
        """What the templates cost for every label, shape ``(3, K)``."""
        return self.probe.costs(self.templates).astype(float)

    @functools.cached_property
    def gap(self) -> float:
        """G, how far a record's bit moves N times the score."""
        signs = bit_signs(self.threat.n_classes, self.bit)
        up = self.costs[2]
        return float(up[signs > 0].min() - up[signs < 0].max())

    def ask(self, oracle: ScoreOracle, ways: NDArray[np.integer[Any]]) -> float:
        """Ask with every record pushed its way and return the noisy sum ``sum_i a_i z_i``.

        Args:
            oracle: The curator.
            ways: a, shape ``(N,)``, entries -1, 0 and 1.

        Raises:
            QueriesExhaustedError: The budget is spent.
            QueryRefusedError: The curator declines.
        """
        answer = self.probe.answer(oracle, self.templates[ways + 1])
        middles = (self.costs.min(axis=1) + self.costs.max(axis=1)) / 2
        return 2 * averaged_records(self.threat) * (float(answer) - float(middles[ways + 1].mean())) / self.gap

    @property
    def bias(self) -> float:
        """Half the log-odds of the bit among the labels that are scored, before asking."""
        prior = scored_prior(self.threat).clip(_RAREST)
        signs = bit_signs(self.threat.n_classes, self.bit)
        return math.log(prior[signs > 0].sum() / prior[signs < 0].sum()) / 2

    def noise(self) -> float:
        """Return the standard deviation of :meth:`ask` that the threat lets expect."""
        error = typical_error(self.threat, typical_score=float(self.costs.max()) / 2)
        return 2 * averaged_records(self.threat) * error / self.gap


def bit_signs(n_classes: int, bit: int) -> NDArray[np.intp]:
    """Return +1 for the classes whose number has the bit set and -1 for the others, shape ``(K,)``."""
    return np.asarray(2 * (np.arange(n_classes) >> bit & 1) - 1)


def n_bits(n_classes: int) -> int:
    """Return how many bits number the classes."""
    return (n_classes - 1).bit_length()


def labels_from_bits(logits: NDArray[np.float64], threat: ScoreThreat) -> NDArray[np.intp]:
    """Return the likeliest true labels.

    Args:
        logits: Half the log-odds of every bit of every scored label, shape ``(n_bits, N)``.
        threat: Gives the class shares, and how labels are perturbed.
    """
    prior = scored_prior(threat).clip(_RAREST)
    signs = np.array([bit_signs(threat.n_classes, bit) for bit in range(len(logits))])
    plus = np.array([prior[row > 0].sum() / prior.sum() for row in signs])[:, None]
    # The bits of a class are not independent: exchange the product of their shares for the class's own.
    alone = np.log(np.where(signs > 0, plus, 1 - plus)).sum(axis=0)
    scores = np.log(prior) - alone - np.logaddexp(0, -2 * logits[:, :, None] * signs[:, None, :]).sum(axis=0)
    scored = np.exp(scores - scores.max(axis=1, keepdims=True))
    return likeliest_labels(scored / scored.sum(axis=1, keepdims=True), threat)


def no_sign_rows(threat: ScoreThreat) -> str:
    """Say why there are no such rows here; empty when there are."""
    if threat.n_classes > 2 and not threat.loss.has_class_rows:
        return "pushing half of more than two classes needs a loss with rows of any costs"
    return tells_nothing(threat)


def _widest(probe: Probe) -> float:
    threat = probe.threat
    widest = reach(probe)
    if math.isinf(widest):
        noise = max(b for b in (threat.noise_bound, threat.noise_std, 0.0) if math.isfinite(b))
        return max(1.0, _TIMES_NOISE * threat.n_records * noise)
    return widest - (math.log(threat.n_classes) if threat.n_classes > 2 else 0.0)

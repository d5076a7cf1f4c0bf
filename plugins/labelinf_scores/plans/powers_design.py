"""What one query of the powers attacks looks like under a threat: how many labels, with which gaps."""

from __future__ import annotations

import functools
import math
from typing import Any

import attrs
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.certificates.error import present_error
from labelinf_scores.constructions.class_rows import class_rows
from labelinf_scores.constructions.powers import class_exponents, largest_tau, power_gaps, units
from labelinf_scores.decoders.superincreasing import margin
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.probe import Probe
from labelinf_scores.plans.sizing import expected_error, spans, tells_nothing

__all__ = ["PowersDesign", "is_unlimited", "no_powers"]

_GUARD_BITS = 24  # an exact answer is finer than the narrowest gap by this much
_MOST_EXACT = 512  # labels in one exact query: its precision and its rows grow together
_MOST_NOISY = 40  # the same against noise: the widest gap is 2**m times the noise
_FULL = 1 - 2.0**-40  # of the span: the widest gap must not round to more than all of it
_MOST_FINITE = 64  # more than any float format can tell apart


@attrs.frozen(kw_only=True)
class PowersDesign:
    """Gaps that double from row to row, sized for one threat.

    Attributes:
        threat: What is public.
        n_labels: m, the records that one query asks about.
        tau: The papers' parameter; see :func:`labelinf_scores.constructions.powers.power_gaps`.
        base: The papers' base.
    """

    threat: ScoreThreat
    n_labels: int
    tau: float
    base: float

    @classmethod
    def choose(cls, threat: ScoreThreat, *, base: float, tau: float = 0.0, n_labels: int = 0) -> PowersDesign:
        """Size the gaps.

        Args:
            threat: What is public.
            base: The papers' base.
            tau: Noise to survive; 0 takes it from the threat, and widens the gaps until they fill the clip. Where the
                clip does not hold the gaps, it is made smaller.
            n_labels: m; 0 takes as many as survive.

        Raises:
            ValueError: There are no such rows; see :func:`no_powers`.
        """
        if is_unlimited(threat):
            return cls._unlimited(threat, base, tau, n_labels)
        probe = Probe(threat=threat)
        designs = [cls._within(room, probe, base, tau, n_labels) for room in _rooms(probe)]
        return max(designs, key=lambda design: (design.n_labels, design.slack, design.tau))

    @classmethod
    def _unlimited(cls, threat: ScoreThreat, base: float, tau: float, n_labels: int) -> PowersDesign:
        tau = tau or 1.01 * expected_error(threat, 1.0)
        doublings = _MOST_NOISY if tau else _MOST_EXACT
        per_label = threat.n_classes if threat.n_classes > 2 else 1
        n_labels = n_labels or min(max(1, doublings // per_label), threat.n_records)
        tau = tau or largest_tau(n_labels, n_records=threat.n_records, span=1.0, n_classes=threat.n_classes, base=base)
        return cls(threat=threat, n_labels=n_labels, tau=tau, base=base)

    @classmethod
    def _within(cls, room: float, probe: Probe, base: float, tau: float, n_labels: int) -> PowersDesign:
        threat = probe.threat
        fill = functools.partial(
            largest_tau, n_records=threat.n_records, span=room * _FULL, n_classes=threat.n_classes, base=base
        )
        if n_labels:
            return cls(threat=threat, n_labels=n_labels, tau=min(tau or math.inf, fill(n_labels)), base=base)
        needed = tau or expected_error(threat, probe.largest_cost(room))
        most = _MOST_EXACT if threat.arithmetic == "exact" else _MOST_FINITE
        per_label = threat.n_classes if threat.n_classes > 2 else 1
        for m in range(min(threat.n_records, most // per_label), 1, -1):
            design = cls(threat=threat, n_labels=m, tau=tau or fill(m), base=base)
            # The first test is cheap; the second sees what rounding the rows to the curator's format left.
            if fill(m) >= needed and design.slack > 1:
                return design
        return cls(threat=threat, n_labels=1, tau=min(tau or math.inf, fill(1)), base=base)

    @property
    def unit(self) -> float:
        """Distance between neighbouring sums, ``2 N tau ln(base)``."""
        return 2 * self.threat.n_records * self.tau * math.log(self.base)

    @property
    def widest(self) -> float:
        """Span of the widest row."""
        return self.unit / 2 * units(self.n_labels, self.threat.n_classes)

    def ask(self, oracle: ScoreOracle, block: slice) -> Any:
        """Ask about a block of records and return the noisy sum of their costs; see :meth:`Probe.total`."""
        return self.probe.total(oracle, block.start, self.rows[: block.stop - block.start])

    @functools.cached_property
    def probe(self) -> Probe:
        """Asks about this design's rows, of an exact curator with the precision they need."""
        total = self.threat.n_records * math.log(self.threat.n_classes) + 2 * self.widest
        bits = math.ceil(math.log2(total / self.unit)) + _GUARD_BITS
        return Probe(threat=self.threat, bits=max(64, bits))

    @functools.cached_property
    def rows(self) -> NDArray[Any]:
        """The rows of one query, shape ``(n_labels, K)``, narrowest first."""
        threat = self.threat
        if threat.n_classes == 2:
            return self.probe.rows(power_gaps(self.n_labels, n_records=threat.n_records, tau=self.tau, base=self.base))
        lowered = class_exponents(self.n_labels, threat.n_classes) * (self.unit / 2)
        return class_rows(threat.loss, -lowered, self.probe.own)

    @functools.cached_property
    def costs(self) -> NDArray[Any]:
        """What every label of every row costs, shape ``(n_labels, K)``."""
        return self.probe.costs(self.rows)

    @functools.cached_property
    def survives(self) -> float:
        """Largest error of the score under which every label is recovered: half the separation that was built."""
        with self.probe.ledger():
            return max(0.0, float(margin(self.costs.tolist()) / self.threat.n_records))

    @property
    def slack(self) -> float:
        """How many times its expected error the design survives."""
        present = expected_error(self.threat, self.probe.largest_cost(self.widest))
        return self.survives / present if present else math.inf

    def promise(self, statement: str, queries: int) -> Promise | None:
        """Say what is certain when all records are asked about; None when it would rest on labels not scored."""
        if not self.threat.facts.intact or not self.threat.allows(queries):
            return None
        return Promise(
            survives=self.survives,
            present=present_error(self.threat, float(self.costs.max())),
            statement=statement,
            conditions=f"every score is within tau of the mean loss of the true labels; rows span {self.widest:.4g}",
            strict=True,
        )


def is_unlimited(threat: ScoreThreat) -> bool:
    """Whether neither a clip nor a number format limits the gaps."""
    return threat.arithmetic == "exact" and math.isinf(threat.reach)


def no_powers(threat: ScoreThreat) -> str:
    """Say why the papers' rows do not exist here; empty when they do."""
    if threat.n_classes > 2 and not threat.loss.has_class_rows:
        return "powers for more than two classes need a loss with rows of any costs"
    if nothing := tells_nothing(threat):
        return nothing
    if is_unlimited(threat) and not math.isfinite(expected_error(threat, 1.0)):
        return "needs a clip, or noise of a size that is known, to size its gaps by"
    return "" if _rooms(Probe(threat=threat)) else f"no room for rows of {threat.n_classes} classes within the clip"


def _rooms(probe: Probe) -> list[float]:
    """Return the gaps that fit into a row, beside what normalising a row of several classes takes."""
    lost = math.log(probe.threat.n_classes) if probe.threat.n_classes > 2 else 0.0
    return [span - lost for span in spans(probe) if span > lost]

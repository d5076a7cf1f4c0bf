"""Points over a good model: what is left to gain where a perfect model is right on a share p* of the labels.

Whoever predicts well already has less to gain: ``1 - p*`` at most, ``p*`` the mean of the records' largest posteriors,
equal or not. For labels that are independent given all that the model knows (labelinf theory, guard, B4, corrected):

* **B bits** gain ``min( sqrt(ln2 B / 2N), sqrt(ln2 (1 - p*) B / N), 1 - p* )`` at most (:mod:`.gain`);
* **privacy** of one label gains ``(1 - p*) D`` at most, D the total variation between any two of its values. *Proof.*
  ``max_j p_j f_j <= p_1 f_1 + sum_(j > 1) p_j (f_j - f_1)+``, record by record;
* **a share t** of the records that any answer depends on gains ``t (1 - p*)`` at most.

``p*`` is an assumption. Where it is too small nothing is wrong: all three fall with it. It is too large where a model
is surer of itself than it is right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.statistics.profiles import ApproximateProfile, Profile
from labelinf_scores.bounds.counting import transcript_bits
from labelinf_scores.bounds.gain import gain_ceiling
from labelinf_scores.bounds.groups import counts_answer
from labelinf_scores.bounds.private_scores import profiles
from labelinf_scores.bounds.unseen import ever_seen
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["PerfectModel"]


@attrs.frozen(kw_only=True)
class PerfectModel(Bound):
    """Points over a perfect model of an accuracy that is assumed, from counting, privacy and parts of the records."""

    several_metrics: ClassVar[bool] = True

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return one line for everything that limits the gain; none without an assumption, or of groups."""
        if not isinstance(threat, ScoreThreat) or threat.perfect is None or threat.groups:
            return ()
        facts = threat  # of a scorer that nobody knows, what stages of ours state of bits, labels and rows survives
        perfect = threat.perfect
        found = [*_counted(facts, perfect), *_private(facts, perfect), *_apart(facts, perfect)]
        return tuple(item for item in found if item.value < 1 - perfect)


def _counted(facts: ScoreThreat, perfect: float) -> Iterator[BoundValue]:
    bits = transcript_bits(facts) + counts_answer(facts)
    if math.isfinite(bits):
        value = gain_ceiling(bits=bits, n_effective=facts.n_records, perfect=perfect)
        formula = "min( sqrt(ln2 B / 2N), sqrt(ln2 (1 - p*) B / N), 1 - p* )"
        yield _line(perfect, value, formula, f"B = {bits:.1f} bits in all answers, class counts charged as one more")


def _private(facts: ScoreThreat, perfect: float) -> Iterator[BoundValue]:
    found: list[tuple[str, Profile]] = []
    if facts.known and not facts.members and facts.query_budget is not None and math.isfinite(facts.span):
        found += [(title, profile(1)) for title, profile in profiles(facts, facts.query_budget)]
    if math.isfinite(facts.label_epsilon):
        epsilon, delta = facts.label_epsilon, facts.label_delta
        found.append((f"label-DP with epsilon = {epsilon:.4g}", ApproximateProfile(epsilon, delta)))
    for title, profile in found:
        value = (1 - perfect) * profile.delta(0.0)
        yield _line(perfect, value, "(1 - p*) delta(0)", f"{title}; class counts are not known besides")


def _apart(facts: ScoreThreat, perfect: float) -> Iterator[BoundValue]:
    seen = ever_seen(facts)
    if seen < 1:
        value = seen * (1 - perfect)
        yield _line(
            perfect,
            value,
            "t (1 - p*)",
            f"t = {seen:.2%} of the records scored, on average over which; counts are unknown",
        )


def _line(perfect: float, value: float, formula: str, conditions: str) -> BoundValue:
    return BoundValue(
        title=f"points over a perfect model that is right on {perfect:.1%} of the labels",
        direction=Direction.CEILING,
        quantity="gain",
        value=value,
        formula=formula,
        conditions=f"{conditions}; labels are independent given all that a perfect model knows; {perfect:.1%} is the "
        f"mean of the posteriors that were given, an assumption",
        statement="labelinf theory, guard, gain over a perfect model",
    )

"""Counting: answers that can take only so many values carry only so many bits (theory: rounding and counting).

Whatever the queries, and whatever noise that does not look at the labels, all labels come out with probability at most
``R**q / M`` (M the number of label orders), and the mean accuracy obeys Fano and, of more than two classes, the
rate-distortion function. R follows from rounding, from the number format of the score, and for the Ladder from its
transcripts, which are few because they never rise.

No record has a guarantee of its own from this: a deterministic answer that is not constant is never private.
"""

from __future__ import annotations

import math
from typing import ClassVar

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Direction, PerGame
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.bounds.common import UNRELATED
from labelinf_scores.bounds.entropy import counts_bits, fewest_answers, label_bits, told_accuracy
from labelinf_scores.bounds.groups import alike, counts_answer, grouped_gain, said
from labelinf_scores.certificates.error import arithmetic_error, present_error
from labelinf_scores.game.effects import Hidden, Moved
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["Counting", "answer_bits", "ladder_bits", "transcript_bits"]

_DOUBLE = 64.0
_SLACK = 1 + 2.0**-50  # a step of 1e-5 is no power of ten in doubles


def answer_bits(threat: ScoreThreat) -> float:
    """Return log2 of R, the number of values that one answer can take; infinity when it is not limited.

    The scores of one query lie within L of each other, so that rounding to a step leaves ``floor(L / step) + 2``.
    The errors of their arithmetic, and stages nearer to the scorer that move an answer themselves, widen L; what
    depends on earlier answers has no such L. Of several metrics R is the product of theirs (M34).
    """
    if threat.members:
        return sum(map(answer_bits, threat.members))
    widths = [_format_bits(threat)]
    if threat.metric is not None and threat.facts.intact and threat.facts.silent and not _several(threat):
        widths.append(math.log2(threat.metric.values(threat.totals)))
    if threat.step:
        largest, known = threat.facts.largest, threat.computes.known
        off = arithmetic_error(threat, largest) if known and math.isfinite(largest) else math.inf  # of the real score
        span = threat.span + 2 * off
        width = threat.magnification * span + max(0.0, threat.jump - threat.step)
        if math.isfinite(width):
            widths.append(math.log2(math.floor(width / threat.step * _SLACK) + 2))
    return min(widths)


def _format_bits(threat: ScoreThreat) -> float:
    """Return log2 of what one answer can be: a number of the format, or a refusal.

    Where an answer is no one score, or nothing is known of it, it is a double all the same, if scores are doubles: a
    stage lets out nothing else. Before any stage a user's function may return a text, a list or a whole number of any
    length, which can hold every label.
    """
    bits = threat.computes.bits
    if not threat.known or _several(threat):
        bare = not threat.defences and any(isinstance(effect, Unknown) for effect in threat.own_effects)
        bits = _DOUBLE if threat.computes.doubles and not bare else math.inf
    return bits + math.log2(1 + 2.0**-bits) if threat.refuses else bits


def _several(threat: ScoreThreat) -> bool:
    """Whether a stage makes one answer of several scores, or of a look at the labels."""
    return any(isinstance(effect, Hidden | Moved) for effect in (*threat.own_effects, *threat.effects))


def ladder_bits(span: float, step: float, queries: int) -> float:
    """Return log2 of ``C(q + J, J)``, ``J = ceil(span / step)``: the transcripts of the Ladder, which never rise.

    An improvement is answered by a smaller multiple of the step, everything else by the last answer (Blum and Hardt,
    ICML 2015).
    """
    levels = math.ceil(span / step)
    logs = math.lgamma(queries + levels + 1) - math.lgamma(queries + 1) - math.lgamma(levels + 1)
    return logs / math.log(2)


def transcript_bits(threat: ScoreThreat) -> float:
    """Return log2 of the number of transcripts that the query budget allows; of several metrics they multiply."""
    if threat.members:
        return sum(map(transcript_bits, threat.members))
    told: float = threat.facts.told_bits
    if threat.query_budget is None:
        return told
    bits = min(told, threat.query_budget * answer_bits(threat))
    height = _fall(threat) if threat.ladder_step > 0 else math.inf
    if math.isfinite(height):
        bits = min(bits, ladder_bits(height, threat.ladder_step, threat.query_budget))
    return bits


def _fall(threat: ScoreThreat) -> float:
    """Return how far the answers of a Ladder can fall in all; infinity when that is not known.

    The first score may be any, and so may the last: what counts is the range of the loss over all predictions, not the
    span of one row. Of the clipped log-loss they are the same, unless clipped rows are renormalised: then a row of
    several classes may cost more than the clip lets it.
    """
    plain = threat.noise_std == threat.noise_factor == 0 and threat.magnification == 1
    within = threat.loss.is_log_loss and (threat.n_classes == 2 or not threat.normalised)
    if not (plain and within and threat.facts.least > 0):
        return math.inf
    return threat.span + 2 * present_error(threat.beside_ladder, -math.log(threat.facts.least))


def _gain(threat: ScoreThreat) -> tuple[BoundValue, ...]:
    """Return the points over a perfect model, known class counts charged as one more answer."""
    bits = transcript_bits(threat)
    gain = grouped_gain(threat, bits)
    if gain >= 1 - 1 / threat.n_classes or not alike(threat):
        return ()
    return (
        BoundValue(
            title="points over a perfect model",
            direction=Direction.CEILING,
            quantity="gain",
            value=gain,
            formula="sqrt(ln2 B / 2 N_eff), N_eff = (sum m)^2 / sum m^2 of groups of m labels, N without groups",
            conditions=f"B = {bits + counts_answer(threat):.1f} bits in all answers, known class counts charged as one "
            f"more, on average over them; given what a perfect model knows, which may be most labels, {said(threat)}",
            statement="labelinf theory, counting",
        ),
    )


@attrs.frozen(kw_only=True)
class Counting(Bound):
    """Ceilings from the number of transcripts, and the queries that all labels take at least."""

    several_metrics: ClassVar[bool] = True

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """One ceiling, when the transcripts are fewer than the label orders."""
        if not isinstance(threat, ScoreThreat):
            return ()
        facts = threat
        bits, entropy = transcript_bits(facts), label_bits(facts.prior, facts.n_records)
        if bits >= entropy or facts.groups:  # orders of groups are not equally likely, and counts may tell them all
            return ()
        return (
            Ceiling(
                accuracy=told_accuracy(bits=bits, prior=facts.prior, n_records=facts.n_records),
                exact=math.exp2(bits - entropy),
                statement="labelinf theory, counting and Fano",
                conditions=f"{bits:.1f} bits in all answers, {entropy:.1f} in the labels in random order, class counts "
                f"known (charged as one more answer); {UNRELATED}; {said(facts)}; no guarantee for any one record",
                game=PerGame(share=facts.baseline, bits=bits + counts_bits(facts.prior, facts.n_records)),
            ),
        )

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """The queries without which no attack recovers all labels."""
        if not isinstance(threat, ScoreThreat) or not 0 < answer_bits(threat) < math.inf:
            return ()
        facts, bits = threat, answer_bits(threat)
        if facts.groups:
            return _gain(facts)
        return (
            *_gain(facts),
            BoundValue(
                title="queries without which no attack recovers all labels",
                direction=Direction.CEILING,
                quantity="queries",
                value=fewest_answers(label_bits(facts.prior, facts.n_records), bits),
                formula="q >= log2(N! / prod n_k!) / log2 R",
                conditions=f"an answer takes at most R = 2**{bits:.2f} values; class counts known; {said(facts)}",
                statement="labelinf theory, counting",
            ),
        )

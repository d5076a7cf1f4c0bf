"""What the adversary of the score channel knows: facts of the scorer, and the fold of what the defences do."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs

from labelinf_core.contracts.components import of_channel
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_privacy.noise.shipped import NOISE_MODELS
from labelinf_scores.arithmetic.formats import Format, format_named
from labelinf_scores.game.effects import EFFECTS, Laddered, Supposed
from labelinf_scores.game.facts import AddedNoise, ScoreFacts, side_by_side
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.readings.base import ScoredMetric, Totals
from labelinf_scores.metrics.shipped import is_closed

if TYPE_CHECKING:
    from labelinf_scores.game.models import ModelBoard

__all__ = ["ScoreThreat"]


_ADDED_UP = ("float64", "float32")  # formats whose every operation rounds once
_SPARE = 16  # roundings of a cost and of the division


def _folded(name: str) -> Any:
    """A field that the fold of the effects computes: nobody can set it."""
    computed = attrs.Factory(lambda threat: getattr(threat.facts, name), takes_self=True)
    return attrs.field(init=False, eq=False, repr=False, default=computed)


def _rounding(threat: ScoreThreat) -> float:
    """Return by what share a mean is off at most: every cost and every addition rounds once, whatever the order.

    Of an arithmetic that is not known nothing is said: infinity.
    """
    if threat.computes.exact:
        return 0.0
    plain = threat.arithmetic in _ADDED_UP
    return (threat.n_records + _SPARE) * 2.0**-threat.computes.significant if plain else math.inf


@attrs.frozen(kw_only=True)
class ScoreThreat(ThreatModel):
    """What the adversary of the score channel knows and may spend.

    What is given is the scorer; the fields from ``known`` on are computed from the facts, and explained at
    :class:`~labelinf_scores.game.facts.ScoreFacts`.

    Attributes:
        loss: The loss that the score averages over the records; in a game about a metric that is no such mean, what
            stands in its place for the sake of its span.
        metric: What is scored, where that is no mean of a loss.
        arithmetic: What the curator computes in: ``"exact"``, ``"float64"``, ``"float32"``, ``"fpa:PHI"``, ...
        summation: ``"numpy"`` when the mean is NumPy's pairwise one, ``"exact"``, or ``"unknown"``.
        input_format: Arithmetic that predictions are rounded to before anything is computed; None: ``arithmetic``.
        scorer_clip: The scorer itself clips probabilities to ``[scorer_clip, 1 - scorer_clip]``; 0: it does not.
        scorer_least: Where it may clip at the least, where that is not known exactly; None: there.
        values: What every class stands for, where a metric scores numbers; empty: 0, 1, ..., K - 1.
        models: How models are run, where they are submitted instead of predictions; None: they are not.
        granted: Queries that the channel grants; None: any number.
        assumed: Whether what anybody states is planned with, and what is unknown does nothing; then nothing is certain.
    """

    vocabulary: ClassVar[Container[type]] = NOISE_MODELS | EFFECTS

    loss: AdditiveLoss
    metric: ScoredMetric | None = None
    arithmetic: str
    summation: str
    input_format: str | None = None
    scorer_clip: float = 0.0
    scorer_least: float | None = None
    values: tuple[float, ...] = ()
    models: ModelBoard | None = None
    granted: int | None = None
    assumed: bool = False
    known: bool = _folded("known")
    clip: float = _folded("clip")
    normalised: bool = _folded("normalised")
    decimals: int | None = _folded("decimals")
    step: float = _folded("step")
    noise_bound: float = _folded("noise_bound")
    noise_std: float = _folded("noise_std")
    noise_fresh: bool = _folded("noise_fresh")
    noise_factor: float = _folded("noise_factor")
    noise: tuple[AddedNoise, ...] = _folded("noise")
    jump: float = _folded("jump")
    magnification: float = _folded("magnification")
    label_keep: float = _folded("label_keep")
    answer_epsilon: float = _folded("answer_epsilon")
    scored: float = _folded("scored")
    scored_fresh: bool = _folded("scored_fresh")
    averaged: int | None = _folded("averaged")
    ladder_step: float = _folded("ladder_step")
    ordered: bool = _folded("ordered")
    query_budget: int | None = _folded("query_budget")
    shared_budget: int | None = _folded("shared_budget")
    refuses: bool = _folded("refuses")
    span: float = _folded("span")
    reach: float = _folded("reach")
    shift: float = _folded("shift")
    sensitivity: float = _folded("sensitivity")

    def start(self) -> ScoreFacts:
        """Return what is known of the scorer; of several metrics together, what stands side by side says (M34)."""
        if self.members:
            return side_by_side([member.facts for member in self.members])
        return ScoreFacts(
            n_records=self.n_records,
            n_classes=self.n_classes,
            loss=self.loss,
            known=not self.assumed,
            clip=self.scorer_clip,
            least=self.scorer_clip if self.scorer_least is None else self.scorer_least,
            unit=self.reads.read,
            query_budget=self.granted,
            rounding=_rounding(self),
        )

    def foreign(self) -> tuple[str, ...]:
        """What is scored, where that does not ship or carries somebody's own code: nothing is known of it."""
        scored = self.loss if self.metric is None else self.metric
        return () if self.assumed or is_closed(scored) else (type(scored).__name__,)

    def _understood(self) -> Iterator[Effect[Any]]:
        """Where it is assumed, what is stated counts whatever it holds, and what is unknown does nothing."""
        if not self.assumed:
            yield from super()._understood()
        elif not self.members:
            yield from (effect for effect in (*self.own_effects, *self.effects) if type(effect) in EFFECTS)

    @property
    def computes(self) -> Format:
        """What is known of the format that scores are computed in."""
        return format_named(self.arithmetic)

    @property
    def reads(self) -> Format:
        """What is known of the format that predictions are rounded to first."""
        return format_named(self.input_format or self.arithmetic)

    @property
    def totals(self) -> Totals:
        """The class totals, which are public.

        Raises:
            ValueError: There is only one class.
        """
        counts = tuple(round(share * self.n_records) for share in self.prior)
        values = tuple(int(value) if value == math.floor(value) else Fraction(value) for value in self.values)
        return Totals(counts=counts, values=values) if values else Totals(counts=counts)

    @classmethod
    def together(cls, members: Sequence[Self]) -> Self:
        """Return what is known of a board that publishes several metrics of every submission (M34).

        What it says of one score, its span, is that of the metric that one label moves furthest.
        """
        return attrs.evolve(max(members, key=lambda member: member.span), members=tuple(members))

    def spending(self, queries: int) -> ScoreThreat:
        """Return this with so many queries granted, whose answers are of every metric."""
        return attrs.evolve(self, granted=queries, members=tuple(item.spending(queries) for item in self.members))

    def allows(self, queries: int) -> bool:
        """Whether ``queries`` fit into the budget."""
        return self.query_budget is None or queries <= self.query_budget

    @property
    def optimistic(self) -> ScoreThreat:
        """What an attack plans with: as though stages of which nothing is known did nothing. Nothing is certain of it.

        The same where everything is known and shown: a board may keep what it runs models on to itself.
        """
        told = self if self.known else self.supposing(Supposed())
        hidden = self.models is not None and self.models.public is not self.models
        return attrs.evolve(told, models=self.models.public) if hidden and self.models else told

    def supposing(self, error: Supposed) -> ScoreThreat:
        """Return this with ``error`` in the place of what is unknown."""
        return attrs.evolve(self, assumed=True, effects=(*self.effects, error))

    @property
    def beside_ladder(self) -> ScoreThreat:
        """What the adversary would know if the Ladder answered every score.

        A Ladder may answer with any earlier score, so that its own error has no bound; who relies on its rungs, to read
        labels or to count transcripts, needs how far off the score is that it compares. That has no bound unless there
        is exactly one Ladder: what one has rounded, or not answered, the next one takes for the score.
        """
        if self.facts.ladders == 0:
            return self
        others = tuple(effect for effect in self.effects if not isinstance(effect, Laddered))
        return attrs.evolve(self, effects=others if self.facts.ladders == 1 else (*others, Supposed(bound=math.inf)))


def score_threat(threat: ThreatModel) -> ScoreThreat:
    """Return ``threat`` as the score channel's.

    Raises:
        InputError: It belongs to another channel.
    """
    return of_channel(threat, ScoreThreat, "threat model", "score")

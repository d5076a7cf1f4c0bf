"""What the defences of the score channel do, as data, and what is known of an answer behind them.

A defence names its effects, from the curator outward; their fold are the
:class:`~labelinf_scores.game.facts.ScoreFacts` behind it.

What a stage *claims* is checked where it can be computed: a :class:`Budgeted` epsilon that the noise does not pay for
counts for nothing.

Example: a stage that rounds lets one label move the answer by a step more than its cost. Unknown undoes what was known.
    >>> from labelinf_scores.game.effects import Clipped, Rounded
    >>> from labelinf_scores.game.facts import ScoreFacts
    >>> from labelinf_core.contracts.effects import Unknown, fold
    >>> from labelinf_scores.metrics.log_loss import LogLoss
    >>> start = ScoreFacts(n_records=100, n_classes=2, loss=LogLoss())
    >>> facts = fold([Clipped(epsilon=0.01), Rounded(step=0.5)], start)
    >>> round(facts.sensitivity, 4), facts.noise_bound
    (0.546, 0.25)
    >>> fold([Clipped(epsilon=0.01), Unknown(stage="mine")], start).sensitivity
    inf
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.effects import Effect
from labelinf_privacy.randomised_response import keep_probability
from labelinf_scores.game.facts import AddedNoise, ScoreFacts

__all__ = [
    "EFFECTS",
    "Added",
    "Budgeted",
    "Clipped",
    "Confined",
    "Hidden",
    "Laddered",
    "Ledgered",
    "Moved",
    "Perturbed",
    "Ranked",
    "Refusing",
    "Reordered",
    "Rounded",
    "RowSums",
    "Sampled",
    "Scaled",
    "ScoreEffect",
    "Supposed",
]


class ScoreEffect(Effect[ScoreFacts]):
    """Something that a stage does to a score. The list is closed: see :data:`EFFECTS`."""


@attrs.frozen(kw_only=True)
class Clipped(ScoreEffect):
    """Probabilities are moved into ``[epsilon, 1 - epsilon]``."""

    epsilon: float

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """The narrower of two clips counts; what the format cannot hold is no clip."""
        visible = facts.unit <= self.epsilon * 2.0**-40
        least = self.epsilon if visible else max(0.0, self.epsilon - facts.unit)
        return attrs.evolve(facts, clip=max(facts.clip, self.epsilon), least=max(facts.least, least))


@attrs.frozen(kw_only=True)
class RowSums(ScoreEffect):
    """Rows of probabilities sum to one when they are scored."""

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """Nothing else changes."""
        return attrs.evolve(facts, normalised=True)


@attrs.frozen(kw_only=True)
class Confined(ScoreEffect):
    """Predicted values are cut to ``[low, high]``: what lies beyond counts as the nearer end."""

    low: float
    high: float

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """This range is cut to first, then the one nearer to the scorer: ranges apart leave one of its ends."""
        low, high = (min(max(end, facts.lowest), facts.highest) for end in (self.low, self.high))
        return attrs.evolve(facts, lowest=low, highest=high, loss=facts.loss.confined(low, high))


@attrs.frozen(kw_only=True)
class Rounded(ScoreEffect):
    """Answers are rounded to the nearest multiple of ``step``."""

    step: float

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """Half a step more error; one label may move the answer by one step more; the coarsest rounding counts."""
        return attrs.evolve(
            facts,
            step=max(facts.step, self.step),
            grid=self.step,
            noise_bound=facts.noise_bound + self.step / 2,
            jump=facts.jump + self.step,
        )


@attrs.frozen(kw_only=True)
class Added(ScoreEffect):
    """A draw of ``model`` is added: for every query, or (``sticky``) for every distinct one.

    A model with a grid puts the score on it as well, so that what is released is a multiple of its step. A sticky draw
    hides a score that is the same whenever the query is: where anything nearer to the scorer or to the labels is drawn
    anew, answers to one query differ by what the noise does not hide.
    """

    model: NoiseModel
    sticky: bool = False

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """Bounds add up, and so do variances."""
        step = self.model.grid
        coarse = 0.0 if _is_multiple(facts.grid, step) else step
        varying = facts.noise_fresh or facts.label_fresh or facts.scored_fresh
        added = AddedNoise(
            model=self.model,
            magnification=facts.magnification,
            jump=facts.jump,
            sticky=self.sticky,
            drawn_anew=not (self.sticky and varying),
        )
        return attrs.evolve(
            facts,
            noise=(*facts.noise, added),
            noise_bound=facts.noise_bound + self.model.bound + coarse / 2,
            noise_std=math.hypot(facts.noise_std, self.model.std),
            noise_fresh=facts.noise_fresh or not self.sticky,
            jump=facts.jump + coarse,
            grid=step,
        )


@attrs.frozen(kw_only=True)
class Scaled(ScoreEffect):
    """Answers are multiplied by a draw of ``model``, whose factors lie within ``1 ± bound``."""

    model: NoiseModel
    sticky: bool = False

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """Every difference grows, noise and jumps too; how far the score itself is off depends on its size."""
        factor = 1 + self.model.bound
        return attrs.evolve(
            facts,
            noise_factor=(1 + facts.noise_factor) * factor - 1,
            magnification=facts.magnification * factor,
            noise_bound=_times(facts.noise_bound, factor),
            noise_std=_times(facts.noise_std, factor),
            noise_fresh=facts.noise_fresh or not self.sticky,
            jump=_times(facts.jump, factor),
            grid=0.0,
        )


@attrs.frozen(kw_only=True)
class Moved(ScoreEffect):
    """Answers are moved by at most ``bound``, in whatever way, with a look at the labels or without.

    Attributes:
        bound: Infinity: they may be any numbers.
        std: Standard deviation of what is random in it.
        fresh: Whether asking again draws anew.
        blind: Whether it depends on the answer and the query alone. Otherwise it may put into every answer the labels
            that stages nearer to the scorer had hidden.
    """

    bound: float
    std: float = 0.0
    fresh: bool = False
    blind: bool = False

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """What looks at labels can move two answers apart by twice as much, and undoes what hid them."""
        seen = facts if self.blind or self.bound == 0 else self._shown(facts)
        return attrs.evolve(
            seen,
            noise_bound=facts.noise_bound + self.bound,
            noise_std=math.hypot(facts.noise_std, self.std),
            noise_fresh=facts.noise_fresh or self.fresh,
            jump=facts.jump + 2 * self.bound,
            grid=facts.grid if self.bound == 0 else 0.0,
        )

    @staticmethod
    def _shown(facts: ScoreFacts) -> ScoreFacts:
        return attrs.evolve(
            facts,
            noise=(),
            step=0.0,
            scored=1.0,
            scored_fresh=False,
            ordered=True,
            answer_epsilon=math.inf,
            label_epsilon=math.inf,
            label_delta=0.0,
            told_bits=math.inf,
            information=math.inf,
            ladder_step=0.0,
        )


@attrs.frozen(kw_only=True)
class Perturbed(ScoreEffect):
    """Labels go through K-ary randomised response before they are scored.

    Attributes:
        epsilon: Of the response, whence the probability that a label is kept.
        fresh: Whether they are perturbed anew for every query; otherwise once for all.
        debiased: Whether the score is corrected to be right on average; only next to the scorer.
    """

    epsilon: float
    fresh: bool = False
    debiased: bool = False

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """Labels survive with the probability of all perturbations together; the better guarantee counts.

        What noise nearer to the scorer pays for counts as long as it proves something of perturbed labels, too.
        """
        if self.debiased and not facts.plain:
            return facts.unknown()
        keep = keep_probability(self.epsilon, facts.n_classes)
        lost = (1 - keep) / (facts.n_classes - 1)
        told = attrs.evolve(
            facts,
            label_keep=facts.label_keep * keep + (1 - facts.label_keep) * lost,
            label_fresh=facts.label_fresh or self.fresh,
        )
        if self.debiased:
            # No score of any labels any more: its error has no small bound.
            magnified = told.magnification / (keep - lost)
            told = attrs.evolve(told, debiased=True, magnification=magnified, noise_bound=math.inf, grid=0.0)
        told = self._anew(told, keep) if self.fresh else told
        if len(tuple(told.private_noise())) < len(tuple(facts.private_noise())):
            told = attrs.evolve(told, label_epsilon=math.inf, label_delta=0.0)
        if self.fresh or self.epsilon > told.label_epsilon:
            return told
        return attrs.evolve(told, label_epsilon=self.epsilon, label_delta=0.0)

    def _anew(self, facts: ScoreFacts, keep: float) -> ScoreFacts:
        """Fresh noise on the score: at most the span, and seldom nearly that much."""
        span = facts.magnification * facts.span
        return attrs.evolve(
            facts,
            noise=tuple(attrs.evolve(item, drawn_anew=item.drawn_anew and not item.sticky) for item in facts.noise),
            answer_epsilon=min(facts.answer_epsilon, self.epsilon),
            noise_fresh=True,
            noise_bound=facts.noise_bound + span,
            noise_std=math.hypot(facts.noise_std, span * math.sqrt(keep * (1 - keep) / facts.n_records)),
        )


@attrs.frozen(kw_only=True)
class Sampled(ScoreEffect):
    """``size`` records, drawn at random, are scored: the same ones always, or new ones for every query.

    Attributes:
        size: How many; public.
        fresh: Whether they are drawn anew for every query.
        others: Whether the other records may show in answers, too.
    """

    size: int
    fresh: bool = False
    others: bool = False

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """Each record counts for more; a fresh subset is fresh noise. What stands nearer sees these labels alone."""
        if not facts.plain:
            return facts.unknown() if self.fresh or self.others else self._only(facts)
        scored = 1.0 if self.others else self.size / facts.n_records
        told = attrs.evolve(facts, scored=scored, averaged=self.size, scored_fresh=self.fresh)
        if not self.fresh or self.size == facts.n_records:
            return told
        spread = facts.span / (2 * math.sqrt(self.size))
        return attrs.evolve(told, noise_fresh=True, noise_bound=facts.span, noise_std=spread)

    def _only(self, facts: ScoreFacts) -> ScoreFacts:
        """Return what is known whatever stands nearer to the scorer, which is handed no other labels.

        A stage nearer to it draws as many records as it says, of those it is handed: all of them, where they are no
        more. And what noise was worth for all records it is not for fewer, each of which counts for more.
        """
        within = 1.0 if facts.scored_fresh else facts.scored
        told = attrs.evolve(facts.of_any_scorer(), scored=min(within, self.size / facts.n_records), scored_fresh=False)
        if not (facts.noise or facts.ranked):
            return told
        return attrs.evolve(told, label_epsilon=math.inf, label_delta=0.0, information=facts.told_bits)


@attrs.frozen(kw_only=True)
class Ledgered(ScoreEffect):
    """All answers to all participants together tell at most so many bits, whatever is nearer to the scorer.

    Attributes:
        bits: Logarithm of the number of transcripts, whatever is drawn.
        information: Mutual information of labels and answers; infinity: no less than ``bits`` says.
    """

    bits: float
    information: float = math.inf

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """The smaller of two limits counts."""
        least = min(facts.information, self.information, self.bits)
        return attrs.evolve(facts, told_bits=min(facts.told_bits, self.bits), information=least)


@attrs.frozen(kw_only=True)
class Hidden(ScoreEffect):
    """The labels of ``count`` secret records, drawn at random once, never enter an answer. Only next to the scorer."""

    count: int

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """Fewer records are seen; what that does to the error is told apart."""
        if not facts.plain:
            return facts.unknown()
        return attrs.evolve(facts, scored=1 - self.count / facts.n_records)


@attrs.frozen(kw_only=True)
class Laddered(ScoreEffect):
    """Only improvements by more than ``step`` are answered, everything else by the last answer.

    Attributes:
        step: What answers are multiples of.
        nearest: Whether any score is answered of which a lower multiple is the nearest: half a step may be enough.
    """

    step: float
    nearest: bool = False

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """An answer may be any earlier one: its error has no bound, and neither has what one label does to it."""
        return attrs.evolve(
            facts,
            ladder_step=max(self.step, facts.ladder_step),
            ladder_edge=self.step / 2 if self.nearest else self.step,
            ladders=facts.ladders + 1,
            noise_bound=math.inf,
            jump=math.inf,
            grid=self.step,
        )


@attrs.frozen(kw_only=True)
class Ranked(ScoreEffect):
    """No score is answered but one more than how many queries before it had a better one."""

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """What is known of scores says nothing of such an answer; what no score tells, no rank does."""
        return attrs.evolve(facts.of_any_scorer(), ranked=True)


@attrs.frozen(kw_only=True)
class Reordered(ScoreEffect):
    """Records are compared in a secret random order."""

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """Nobody knows which row is whose."""
        return attrs.evolve(facts, ordered=False)


@attrs.frozen(kw_only=True)
class Refusing(ScoreEffect):
    """A query may be declined for what it looks like."""

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """No attack can promise anything."""
        return attrs.evolve(facts, refuses=True)


@attrs.frozen(kw_only=True)
class Budgeted(ScoreEffect):
    """At most ``queries`` answers are granted.

    Attributes:
        queries: How many.
        shared: Whether all participants together have no more.
        epsilon: Label-DP that they are meant to have together; counts where the noise nearer to the scorer pays for it
            and nobody is answered beyond them: where they are shared.
        delta: The delta that goes with it.
    """

    queries: int
    shared: bool = False
    epsilon: float = math.inf
    delta: float = 0.0

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """The smaller of two budgets counts."""
        told = attrs.evolve(facts, query_budget=_fewer(facts.query_budget, self.queries))
        if not self.shared:
            return told
        told = attrs.evolve(told, shared_budget=_fewer(facts.shared_budget, self.queries))
        better = (self.epsilon, self.delta) < (facts.label_epsilon, facts.label_delta)
        if not better or not facts.pays(self.queries, self.epsilon, self.delta):
            return told
        return attrs.evolve(told, label_epsilon=self.epsilon, label_delta=self.delta)


@attrs.frozen(kw_only=True)
class Supposed(ScoreEffect):
    """What an attack plans with where it knows no better: nothing is certain of it.

    Attributes:
        bound: Largest error supposed; None: as it is told.
        std: Its standard deviation supposed; None: as it is told.
    """

    bound: float | None = None
    std: float | None = None

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        """Noise that is supposed stands for all that was told."""
        told = attrs.evolve(facts, known=False)
        if self.bound is not None:
            told = attrs.evolve(told, noise_bound=self.bound, noise_factor=0.0)
        return told if self.std is None else attrs.evolve(told, noise_std=self.std)


EFFECTS: tuple[type[ScoreEffect], ...] = (
    Clipped,
    Confined,
    RowSums,
    Rounded,
    Added,
    Scaled,
    Moved,
    Perturbed,
    Sampled,
    Ledgered,
    Hidden,
    Laddered,
    Ranked,
    Reordered,
    Refusing,
    Budgeted,
    Supposed,
)  #: what a stage can say; a subclass or an effect of somebody else's making is unknown


def _fewer(granted: int | None, queries: int) -> int:
    return queries if granted is None else min(granted, queries)


def _times(value: float, factor: float) -> float:
    """Return the product, 0 for no value whatever the factor."""
    return value * factor if value else 0.0


def _is_multiple(grid: float, step: float) -> bool:
    """Whether every multiple of ``grid`` is one of ``step``; so it is when ``step`` is 0, any number."""
    if not grid or not step:
        return step == 0
    ratio = grid / step
    return ratio > 0.5 and abs(ratio - round(ratio)) <= 1e-9 * ratio

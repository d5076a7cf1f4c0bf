"""What is known of a score as it is released: the numbers that attacks and bounds ask for.

Nobody sets them: they are the fold of what the stages say they do (:mod:`labelinf_scores.game.effects`). Two numbers
carry most of it: ``noise_bound``, how far an answer may be off, and :attr:`ScoreFacts.sensitivity`, how far one label
may move it. That has two parts, because stages further out enlarge them differently: the label's own cost,
``magnification * L / N``, and a ``jump``, which is there because an answer that is rounded, or moved by whoever looks
at the labels, can move by a whole step when its score moves by next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Self

import attrs

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.statistics.profiles import gaussian_mu
from labelinf_privacy.noise.grid import GridNoise
from labelinf_scores.metrics.additive import AdditiveLoss

__all__ = ["SLACK", "AddedNoise", "ScoreFacts", "side_by_side"]

SLACK = 1 + 2.0**-40  #: for numbers that were computed along two roads


@attrs.frozen(kw_only=True)
class AddedNoise:
    """Noise that was added to the score, and what stood nearer to the scorer.

    Attributes:
        model: What is drawn.
        magnification: Factor on every difference of the score that the noise is added to.
        jump: How much further than by its cost one label can move that score.
        sticky: Whether the same query always gets the same draw.
        drawn_anew: Whether every answer has a draw that no other answer about another score has. Otherwise differences
            of answers are free of it.
    """

    model: NoiseModel
    magnification: float
    jump: float
    sticky: bool
    drawn_anew: bool


@attrs.frozen(kw_only=True)
class ScoreFacts:
    """What is known of a released score. Only effects change it.

    Attributes:
        n_records: N.
        n_classes: K.
        loss: What the score averages.
        known: Whether every stage has said what it does; otherwise nothing is promised and nothing certified.
        clip: Probabilities are clipped to ``[clip, 1 - clip]`` before scoring; 0 when they are not.
        least: What a probability is at least once it has been clipped *and* rounded to the curator's format.
        unit: By how much that rounding moves a probability at most.
        normalised: Whether rows of probabilities must sum to one.
        lowest: Predicted values below count as this one.
        highest: Predicted values above count as this one.
        step: Of the coarsest rounding, 0 without any.
        grid: Step that every answer is a multiple of, 0 when that is not known.
        noise_bound: Largest absolute difference between the computed and the released score; infinity: unbounded.
        noise_std: Standard deviation of that difference, 0 without noise.
        noise_fresh: Whether asking again draws new noise.
        noise_factor: Largest relative difference (multiplicative noise), 0 without.
        noise: Additive models, from the curator outward; every query, or every distinct one, has its own draw.
        jump: How much further than by its cost one label can move the answer.
        rounding: How far a computed score may be off the real one, over twice the span; infinity: nobody knows.
        magnification: Factor by which every difference of the score is enlarged.
        label_keep: Probability that the label scored for a record is its true one.
        label_fresh: Whether labels are perturbed anew for every query.
        debiased: Whether the score is corrected for the perturbation.
        answer_epsilon: Pure label-DP of one answer that comes from neither ``noise`` nor a release once for all.
        label_epsilon: Label-DP of everything released; infinity: none.
        label_delta: The delta that goes with it.
        told_bits: Logarithm of how many transcripts all participants together can be shown; infinity: no limit.
        information: What they tell of the labels at most, in bits of mutual information.
        scored: Expected share of the records that the score depends on.
        scored_fresh: Whether every query is scored on records drawn anew.
        averaged: Records that one score averages over; None: all.
        ladder_step: Least improvement that the Ladder answers; 0 without it.
        ladder_edge: How far below its last answer a score must be for it to answer.
        ladders: How many of them there are.
        ranked: Whether answers are ranks among the queries before, and no scores.
        ordered: Whether row i of the predictions is compared with record i in an order that never changes.
        query_budget: Queries the adversary may ask; None: unlimited.
        shared_budget: Answers granted to all participants together; None: unlimited.
        refuses: Whether a query may be declined for what it looks like.
    """

    n_records: int
    n_classes: int
    loss: AdditiveLoss
    known: bool = True
    clip: float = 0.0
    least: float = 0.0
    unit: float = 0.0
    normalised: bool = False
    lowest: float = -math.inf
    highest: float = math.inf
    step: float = 0.0
    grid: float = 0.0
    noise_bound: float = 0.0
    noise_std: float = 0.0
    noise_fresh: bool = False
    noise_factor: float = 0.0
    noise: tuple[AddedNoise, ...] = ()
    jump: float = 0.0
    rounding: float = 0.0
    magnification: float = 1.0
    label_keep: float = 1.0
    label_fresh: bool = False
    debiased: bool = False
    answer_epsilon: float = math.inf
    label_epsilon: float = math.inf
    label_delta: float = 0.0
    told_bits: float = math.inf
    information: float = math.inf
    scored: float = 1.0
    scored_fresh: bool = False
    averaged: int | None = None
    ladder_step: float = 0.0
    ladder_edge: float = 0.0
    ladders: int = 0
    ranked: bool = False
    ordered: bool = True
    query_budget: int | None = None
    shared_budget: int | None = None
    refuses: bool = False

    def unknown(self) -> Self:
        """Return these facts at their worst: only budgets, which the oracle keeps itself, survive."""
        return type(self)(
            n_records=self.n_records,
            n_classes=self.n_classes,
            loss=self.loss,
            known=False,
            query_budget=self.query_budget,
            shared_budget=self.shared_budget,
            noise_bound=math.inf,
            noise_std=math.inf,
            noise_fresh=True,
            jump=math.inf,
            magnification=math.inf,
            refuses=True,
        )

    def of_any_scorer(self) -> Self:
        """Return these facts at their worst but for what holds of any function of the labels that it is handed.

        Whoever hands on other numbers, ranks say, or hands on fewer labels, keeps these, and no others.
        """
        names = ("scored", "scored_fresh", "label_epsilon", "label_delta", "told_bits", "information")
        return attrs.evolve(self.unknown(), **{name: getattr(self, name) for name in names})

    @property
    def span(self) -> float:
        """L, the most by which one record's label can move N times the score."""
        return self.loss.span(self.least)

    @property
    def largest(self) -> float:
        """The largest cost of a row, in absolute value."""
        return self.loss.largest(self.least, self.n_classes)

    @property
    def reach(self) -> float:
        """The widest gap an attack can be sure of: the span of the clip as declared, without its rounding."""
        return self.loss.span(self.clip)

    @property
    def shift(self) -> float:
        """L / N, magnified: the most by which one label can move the score before it is rounded."""
        return self.moved(self.magnification, 0.0)

    @property
    def sensitivity(self) -> float:
        """The most by which one label can move the score as released, whatever noise is in it: L / N and the jump."""
        return self.moved(self.magnification, self.jump)

    def moved(self, magnification: float, jump: float) -> float:
        """Return how far one label moves a score whose differences are magnified and which jumps."""
        return math.inf if math.isinf(magnification) else magnification * self.span / self.size + jump

    @property
    def size(self) -> int:
        """Records that one score averages over."""
        return self.averaged or self.n_records

    @property
    def decimals(self) -> int | None:
        """Decimals of the coarsest rounding; None without any, or when its step is no power of ten."""
        if not self.step:
            return None
        decimals = round(-math.log10(self.step))
        return decimals if 10.0**-decimals == self.step else None

    @property
    def whole(self) -> bool:
        """Whether every score is about all records, in an order that never changes."""
        return self.ordered and self.scored == 1 and self.size == self.n_records

    @property
    def silent(self) -> bool:
        """Whether an answer is a function of one score: nothing random in it, and nothing of earlier answers."""
        return not (self.noise_std or self.noise_factor or self.ladders) and self.magnification == 1

    @property
    def intact(self) -> bool:
        """Whether every query is answered, on the true labels of all records, in order: what every promise rests on."""
        return self.known and self.whole and self.label_keep == self.magnification == 1 and not self.refuses

    @property
    def plain(self) -> bool:
        """Whether an answer is the score itself: what stages that ask several times, or about others, must stand on."""
        exact = self.silent and self.noise_bound == 0 and not self.step
        return self.known and exact and self.whole and self.label_keep == 1 and math.isinf(self.answer_epsilon)

    @property
    def deterministic(self) -> bool:
        """Whether the released score is a function of labels and query alone: nothing random, nothing of before."""
        random = self.noise_std or self.noise_factor or self.label_keep < 1
        return self.known and self.whole and not random and not self.ladders

    @property
    def error(self) -> float:
        """How far a computed score may be off the real one: by a share of the costs that it sums up.

        Costs are taken to be twice as large as they are, and at least twice the span of a clip of 1/4.
        """
        if not self.rounding:
            return 0.0
        return self.rounding * 2 * max(self.loss.span(min(self.least, 0.25)), self.largest)

    def computed_apart(self, magnification: float, jump: float) -> float:
        """Return how far one label moves a score as it is computed, the errors of both sums included."""
        return self.moved(magnification, jump) + 2 * magnification * self.error

    @property
    def neighbours_scored(self) -> bool:
        """Whether there is a score whatever one label is, or those of one group.

        Labels of some records, or perturbed ones, may be of one class, as how many there are of each is public of all
        of them only; and so may all be where a class has one record, or one group.
        """
        some = self.scored < 1 or self.size != self.n_records or self.label_keep < 1
        return self.loss.always_scored if some else self.loss.neighbours_scored

    def private_noise(self) -> Iterator[tuple[GridNoise, Fraction]]:
        """Yield the models that prove something here, and by how many steps one label moves what they are added to.

        None does where labels decide whether there is a score at all.
        """
        if not self.neighbours_scored:
            return
        for noise in self.noise:
            distance = self.computed_apart(noise.magnification, noise.jump)
            if isinstance(noise.model, GridNoise) and noise.drawn_anew and math.isfinite(distance):
                yield noise.model, noise.model.moved(distance)

    @property
    def answer_price(self) -> float:
        """Pure label-DP of one answer; infinity: none."""
        return min([self.answer_epsilon, *(model.epsilon_for(moved) for model, moved in self.private_noise())])

    def pays(self, queries: int, epsilon: float, delta: float) -> bool:
        """Whether ``queries`` answers together are (``epsilon``, ``delta``)-label-DP, as far as that is computed."""
        if delta == 0:
            return queries * self.answer_price <= epsilon * SLACK
        mus = [model.mu_for(moved) for model, moved in self.private_noise()]
        return min(mus, default=math.inf) * math.sqrt(queries) <= gaussian_mu(epsilon, delta) * SLACK


def side_by_side(boards: Sequence[ScoreFacts]) -> ScoreFacts:
    """Return what is known of all that several boards of the same labels, with draws of their own, say together.

    Epsilons add up, where no delta goes with them, and a budget is the largest; of all else the worst is supposed.
    """
    pure = all(facts.label_delta == 0 for facts in boards)
    return attrs.evolve(
        max(boards, key=lambda facts: facts.span).unknown(),
        known=all(facts.known for facts in boards),
        label_epsilon=sum(facts.label_epsilon for facts in boards) if pure else math.inf,
        query_budget=_largest([facts.query_budget for facts in boards]),
        shared_budget=_largest([facts.shared_budget for facts in boards]),
    )


def _largest(budgets: Sequence[int | None]) -> int | None:
    """Return the largest budget; None, no limit, is larger than any."""
    return None if None in budgets else max(budget for budget in budgets if budget is not None)

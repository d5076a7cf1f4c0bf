"""Random pipelines on games so small that every labelling is played: what the fold says is held against what happens.

Stages are drawn from the shipped ones and from an outside author's, who declares all, or nothing. Two labellings are
compared under the same draws, so that what moves an answer is the label alone.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, QueriesExhaustedError, QueryRefusedError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_privacy.noise.grid import GridNoise, decimal
from labelinf_scores.bounds.counting import answer_bits
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.row_sums import EnforceRowSums
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, Curator, Query, ScoreDefence
from labelinf_scores.game.effects import Added, Clipped, Moved, Rounded, Sampled, ScoreEffect
from labelinf_scores.game.facts import ScoreFacts
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean
from labelinf_scores.rules.games import channel_of, threat_of

Labels = NDArray[np.intp]
Rows = NDArray[np.float64]

BUILDER = Builder(Host.load())
SLACK = 1e-9
EPSILONS = (0.01, 0.2)

SHIPPED = (
    *(f"clip(epsilon={epsilon})" for epsilon in EPSILONS),
    *("enforce-row-sums", "enforce-row-sums(action=reject)", "round(decimals=0)", "round(decimals=1)"),
    *("round(decimals=2)", "ladder(step=0.1)", "worst-case-noise(tau=0.4)", "worst-case-noise(tau=0.05)", "snapping"),
    *("subset(share=0.5)", "subset(share=0.7, fresh=True)", "thresholdout", "permute-labels"),
    *("randomised-response(epsilon=1.0)", "randomised-response(epsilon=2.0, fresh=True)"),
    *("randomised-response(epsilon=1.0, debiased=True)", "randomised-response(epsilon=2.0, fresh=True, debiased=True)"),
    *("score-noise(model=uniform(tau=0.05))", "score-noise(model=two-point(tau=0.1), sticky=True)"),
    *("score-noise(model=multiplicative(alpha=0.1))", "score-noise(model=multiplicative(alpha=0.9), sticky=True)"),
    *("score-noise(model=grid-laplace(scale=0.2, step=0.25))", "score-noise(model=grid-gaussian(scale=1, step=0.1))"),
    *("score-noise(model=laplace(scale=0.1), sticky=True)", "laplace-dp", "laplace-dp(epsilon=2, queries=2)"),
    *("gaussian-dp(delta=0.01, queries=3)", "privacy-budget(epsilon=3)", "query-limit(queries=2)", "minimum-batch"),
    "refuse-constructions(outweighing=3)",
)
LOSSES = {
    2: ("log-loss", "squared-euclidean", "itakura-saito", "norm-like", "bregman", "sigmoid-log-loss"),
    3: ("log-loss", "squared-euclidean", "softmax-log-loss"),
}
SCORERS = ("float64", "float64", "float64", "exact", "float32", "float16", "fpa:21")


@pytest.fixture(scope="module", autouse=True)
def few_draws() -> Iterator[None]:
    """A defence draws noise for many queries at once, and is asked three here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelinf_scores.defences.score_noise._MANY", 4)
        yield


@attrs.frozen(kw_only=True)
class Stage(ScoreDefence):
    """An outside stage: what it declares, and what it does to an answer."""

    declared: tuple[ScoreEffect, ...] | None
    kind: str
    size: float = 0.1

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return Outside(self, rng)

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return super().does(threat) if self.declared is None else self.declared


@attrs.frozen
class Outside(ActiveScoreDefence):
    stage: Stage
    rng: np.random.Generator

    def answer(self, labels: Labels, query: Any, ask: Any) -> Any:
        size, parity = self.stage.size, int(labels.sum() + 7 * labels[0]) % 2
        match self.stage.kind:
            case "coarse":
                return math.floor(float(ask(labels, query)) / size + 0.5) * size
            case "nudge":
                return float(ask(labels, query)) + size * math.cos(float(np.sum(query.predictions, dtype=float)))
            case "jitter":
                return float(ask(labels, query)) + size * float(self.rng.uniform(-1, 1))
            case "spy":
                return float(ask(labels, query)) + size * (2 * parity - 1)
            case "stretch":
                return float(ask(labels, query)) * (1 + size)
            case "both":
                inside = attrs.evolve(query, predictions=np.clip(query.predictions, 0.1, 0.9))
                return math.floor(float(ask(labels, inside)) / size + 0.5) * size
            case "first-half":
                rows = np.arange(max(1, labels.size // 2))
                return ask(labels[rows], attrs.evolve(query, predictions=query.predictions[rows]))
            case "any-one":
                rows = self.rng.integers(labels.size, size=1)
                return ask(labels[rows], attrs.evolve(query, predictions=query.predictions[rows]))
        return float(np.dot(labels, 3.0 ** np.arange(labels.size)))  # tells everything


class Halves(Sampled):
    """An effect of somebody else's making, which claims that scoring half of the records changes nothing."""

    def after(self, facts: ScoreFacts) -> ScoreFacts:
        return facts


OUTSIDE = (
    Stage(declared=(Rounded(step=0.3),), kind="coarse", size=0.3),
    Stage(declared=(Rounded(step=1.0),), kind="coarse", size=1.0),
    Stage(declared=(Moved(bound=0.2, blind=True),), kind="nudge", size=0.2),
    Stage(declared=(Moved(bound=0.2, std=0.2, fresh=True, blind=True),), kind="jitter", size=0.2),
    Stage(declared=(Moved(bound=0.05),), kind="spy", size=0.05),
    Stage(declared=(Moved(bound=math.inf),), kind="tell"),
    Stage(declared=(Clipped(epsilon=0.1), Rounded(step=0.2)), kind="both", size=0.2),
    Stage(declared=(Halves(size=1),), kind="first-half"),
    Stage(declared=(Sampled(size=1, fresh=True),), kind="any-one"),
    Stage(declared=None, kind="tell"),
    Stage(declared=None, kind="coarse", size=0.5),
    Stage(declared=None, kind="stretch", size=2.0),
    Stage(declared=None, kind="first-half"),
)


def _built(spec: str, kind: str = "defence") -> Any:
    return BUILDER.build(Kind(kind), spec, "test")


STAGES: tuple[ScoreDefence, ...] = (*map(_built, SHIPPED), *OUTSIDE)


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Game:
    """One pipeline, and the labellings and queries that are tried on it."""

    channel: ScoreChannel
    n_classes: int
    n_records: int
    pipeline: tuple[ScoreDefence, ...]
    queries: tuple[Rows, ...]
    answered: dict[Any, list[Any]] = attrs.field(factory=dict, repr=False)

    @functools.cached_property
    def threat(self) -> ScoreThreat:
        return self.behind(self.pipeline)

    def behind(self, stages: tuple[ScoreDefence, ...]) -> ScoreThreat:
        return threat_of(self.channel, self.some, *stages, n_classes=self.n_classes)

    @property
    def some(self) -> Labels:
        """Labels with which the game is described: as few classes as there are records do not matter to facts."""
        return np.arange(self.n_records, dtype=np.intp) % self.n_classes

    def labellings(self) -> Iterator[Labels]:
        for labels in itertools.product(range(self.n_classes), repeat=self.n_records):
            yield np.array(labels, dtype=np.intp)

    def neighbours(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        for one in map(tuple, self.labellings()):
            for row, label in itertools.product(range(self.n_records), range(self.n_classes)):
                if label > one[row]:
                    yield one, (*one[:row], label, *one[row + 1 :])

    def answers(self, labels: Labels, seed: int = 0) -> list[Any]:
        """Return what is answered, None where it is declined; the same seed gives the same draws."""
        if (key := (tuple(labels), seed)) not in self.answered:
            self.answered[key] = self.asked(labels, self.queries, seed)
        return self.answered[key]

    def asked(self, labels: Labels, queries: Iterable[Rows], seed: int = 0, threat: Any = None) -> list[Any]:
        """Return what is answered to other queries, or by another pipeline, however many answers are granted."""
        known = threat or self.threat
        curator = self.channel.curator(labels, known, np.random.default_rng(seed))
        return [_asked(curator, query) for query in queries]


def _asked(curator: Curator, query: Rows) -> Any:
    try:
        return curator.answer(Query(predictions=query))
    except QueryRefusedError:
        return None


@st.composite
def games(draw: st.DrawFn) -> Game:
    """Draw a game."""
    n_classes = draw(st.sampled_from((2, 2, 3)))
    n_records = draw(st.integers(2, 4 if n_classes == 2 else 3))
    loss = _built(draw(st.sampled_from(LOSSES[n_classes])), "loss")
    channel = channel_of(loss=loss, scorer=draw(st.sampled_from(SCORERS)), queries=draw(st.sampled_from((1, 2, 50))))
    drawn = draw(st.lists(st.sampled_from(STAGES), min_size=1, max_size=4))
    if draw(st.booleans()):
        drawn = [Clip(epsilon=0.2), *drawn]  # what has no limit is told nothing of
    return game_of(channel, drawn, n_classes, n_records, draw(st.integers(0, 99)))


def game_of(channel: ScoreChannel, drawn: Iterable[ScoreDefence], n_classes: int, n_records: int, seed: int) -> Game:
    """Return a game on the stages that fit where they would stand."""
    labels = np.arange(n_records, dtype=np.intp) % n_classes
    pipeline: tuple[ScoreDefence, ...] = ()
    for stage in drawn:
        try:
            threat_of(channel, labels, *pipeline, stage, n_classes=n_classes)
        except InputError:
            continue
        pipeline = (*pipeline, stage)
    rng = np.random.default_rng(seed)
    queries = tuple(_rows(channel.loss, n_classes, n_records, rng) for _ in range(3))
    return Game(channel=channel, n_classes=n_classes, n_records=n_records, pipeline=pipeline, queries=queries)


def _rows(loss: AdditiveLoss, n_classes: int, n_records: int, rng: np.random.Generator) -> Rows:
    """Return rows, extreme ones among them, whether they sum to one or not."""
    shape = (n_records, n_classes) if n_classes > 2 or rng.random() < 0.5 else (n_records,)
    if loss.takes_logits:
        return rng.choice([-3.0, 0.0, 0.5, 3.0], shape)
    return rng.choice([1e-4, 0.003, 0.05, 0.3, 0.5, 0.9, 0.997, 1 - 1e-4], shape)


def _allowed(facts: ScoreFacts) -> float:
    """Return what the curator's own arithmetic adds to a difference of two answers."""
    return 2 * facts.magnification * facts.error if facts.rounding else 0.0


def _moves(game: Game, seeds: int = 2) -> Iterator[tuple[float, float]]:
    """Yield pairs of answers to one query, of two labellings that differ in one label, under the same draws."""
    for seed in range(seeds):
        said = {tuple(labels): game.answers(labels, seed) for labels in game.labellings()}
        for one, two in game.neighbours():
            for left, right in zip(said[one], said[two], strict=True):
                if left is not None and right is not None:
                    yield left, right


def one_label_moves_an_answer_no_further_than_told(game: Game) -> None:
    facts = game.threat.facts
    most = facts.sensitivity + _allowed(facts)
    if math.isfinite(most):
        for left, right in _moves(game):
            assert abs(float(left) - float(right)) <= most * (1 + SLACK) + 1e-12


def _before_scoring(stages: Iterable[ScoreDefence]) -> tuple[ScoreDefence, ...]:
    """Return what stages do to queries and labels, without what they do to answers."""
    clipping = (Clip(epsilon=0.1) if getattr(stage, "kind", "") == "both" else stage for stage in stages)
    return tuple(stage for stage in clipping if isinstance(stage, Clip | EnforceRowSums | PermuteLabels))


def _explaining(game: Game, labels: Labels, facts: ScoreFacts) -> Iterator[tuple[Labels, list[int]]]:
    """Yield the labels and the rows that answers may be about: what is hidden once stays hidden."""
    rows = [list(range(game.n_records))]
    if facts.size < game.n_records and not facts.scored_fresh:
        rows = [list(chosen) for chosen in itertools.combinations(range(game.n_records), facts.size)]
    known = facts.label_keep == 1 or facts.label_fresh
    scored = [tuple(labels)] if known else [tuple(item) for item in game.labellings()]
    if not facts.ordered:
        scored = [order for item in scored for order in itertools.permutations(item)]
    for item, chosen in itertools.product(dict.fromkeys(scored), rows):
        yield np.array(item, dtype=np.intp), chosen


def answers_are_as_far_from_scores_as_told(game: Game) -> None:
    """Some labels of those that may have been scored explain every answer, up to the bound and the factor."""
    facts = game.threat.facts
    if math.isinf(facts.noise_bound) or not facts.known:
        return
    plain = tuple(stage for stage in _before_scoring(game.pipeline) if isinstance(stage, Clip | EnforceRowSums))
    for labels, seed in itertools.product(list(game.labellings())[::3], range(2)):
        answers = game.answers(labels, seed)
        assert any(
            all(
                answer is None or _is_near(answer, score, facts)
                for answer, score in zip(answers, _scores(game, plain, other, rows), strict=True)
            )
            for other, rows in _explaining(game, labels, facts)
        )


def _scores(game: Game, stages: Any, labels: Labels, rows: list[int]) -> list[Any]:
    part = attrs.evolve(game, n_records=len(rows), pipeline=stages)
    return part.asked(labels[rows], [query[rows] for query in game.queries])


def _is_near(answer: Any, score: Any, facts: ScoreFacts) -> bool:
    if score is None:
        return False
    exact = float(score)
    if math.isinf(exact):
        return math.isinf(float(answer))
    slack = facts.noise_bound * SLACK + 1e-9 * (1 + abs(exact))
    return abs(float(answer) - exact) <= facts.noise_bound + facts.noise_factor * abs(exact) + slack


def what_is_no_noise_is_a_function_of_labels_and_query(game: Game) -> None:
    if game.threat.facts.deterministic:
        for labels in game.labellings():
            alone = [game.asked(labels, [query], seed)[0] for seed, query in enumerate(game.queries)]
            assert game.answers(labels, seed=9) == alone


def asking_again_helps_only_where_told(game: Game) -> None:
    facts = game.threat.facts
    if not (facts.noise_fresh or facts.scored_fresh or facts.label_fresh):
        twice = [query for query in game.queries for _ in range(2)]
        for labels in game.labellings():
            answers = game.asked(labels, twice)
            assert answers[::2] == answers[1::2]


def answers_stay_on_the_grid(game: Game) -> None:
    facts = game.threat.facts
    if facts.grid and facts.known:
        for answer in itertools.chain.from_iterable(map(game.answers, game.labellings())):
            if answer is not None and math.isfinite(answer):
                steps = Fraction(float(answer)) / decimal(facts.grid)
                assert abs(steps - round(steps)) <= 1e-9 * (1 + abs(steps))


def nothing_is_declined_unless_told(game: Game) -> None:
    """Fixed point apart, whose range ends where 1e-4 has a logarithm."""
    if game.channel.scorer.startswith("fpa"):
        return
    if not game.threat.facts.refuses and not any("reject" in str(stage) for stage in game.pipeline):
        assert not any(None in game.answers(labels) for labels in game.labellings())


def no_more_queries_are_answered_than_told(game: Game) -> None:
    threat = game.threat
    if threat.query_budget is not None and threat.query_budget <= 3:
        oracle = ScoreOracle(threat, lambda query: 0.0)
        for _ in range(threat.query_budget):
            oracle.query(game.queries[0])
        with pytest.raises(QueriesExhaustedError):
            oracle.query(game.queries[0])


def a_plain_answer_is_the_score(game: Game) -> None:
    if game.threat.facts.plain:
        stages = tuple(stage for stage in game.pipeline if isinstance(stage, Clip | EnforceRowSums))
        for labels in game.labellings():
            scores = game.asked(labels, game.queries, threat=game.behind(stages))
            assert all(answer in (None, score) for answer, score in zip(game.answers(labels), scores, strict=True))


def answers_take_as_many_values_as_told(game: Game) -> None:
    """Under the same draws: noise that does not look at labels tells nothing apart."""
    threat = game.threat
    if threat.known and threat.facts.size == game.n_records and not (threat.facts.rounding and threat.facts.error):
        values = [game.answers(labels)[0] for labels in game.labellings()]
        assert len({float(value) for value in values if value is not None}) <= 2 ** answer_bits(threat) * (1 + SLACK)


@attrs.frozen(kw_only=True, eq=False)
class Probed(ScoreDefence):
    """Shows what reaches noise on a grid."""

    model: GridNoise

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Added(model=self.model),)


def what_noise_hides_moves_no_further_than_it_is_charged_for(game: Game) -> None:
    """The value that meets noise on a grid, in steps: what the price of an answer is computed from."""
    charged = dict(game.threat.facts.private_noise())
    for place, stage in enumerate(game.pipeline):
        threat = threat_of(game.channel, game.some, *game.pipeline[:place], n_classes=game.n_classes)
        model = next((item.model for item in stage.effects(threat) if isinstance(item, Added)), None)
        if isinstance(model, GridNoise) and model in charged:
            outward = _before_scoring(game.pipeline[place + 1 :])
            shown = (*game.pipeline[:place], Probed(model=model), *outward)
            probed = attrs.evolve(game, pipeline=shown, answered={})
            for left, right in _moves(probed):
                steps = model.steps_of(np.array([left, right], dtype=object))
                assert abs(int(steps[0] - steps[1])) <= charged[model]


CHECKS = (
    one_label_moves_an_answer_no_further_than_told,
    answers_are_as_far_from_scores_as_told,
    what_is_no_noise_is_a_function_of_labels_and_query,
    asking_again_helps_only_where_told,
    answers_stay_on_the_grid,
    nothing_is_declined_unless_told,
    no_more_queries_are_answered_than_told,
    a_plain_answer_is_the_score,
    answers_take_as_many_values_as_told,
    what_noise_hides_moves_no_further_than_it_is_charged_for,
)


def nothing_false(game: Game) -> None:
    for check in CHECKS:
        check(game)


SPACED = Stage(declared=(Rounded(step=0.5),), kind="coarse", size=0.5)


@pytest.mark.long
@pytest.mark.parametrize("near", [(Clip(epsilon=0.01),), (Clip(epsilon=0.4), SPACED)], ids=["plain", "rounded"])
def test_what_every_stage_alone_and_behind_a_rounding_says_is_what_happens(near: tuple[ScoreDefence, ...]) -> None:
    """Two records; clipped at .4, one label moves a score by .1, and its multiple of one half by a half."""
    for seed, stage in enumerate(STAGES):
        nothing_false(game_of(channel_of(loss=SquaredEuclidean(), queries=2), (*near, stage), 2, 2, seed))


@pytest.mark.long
@given(games())
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
def test_what_the_fold_says_is_what_happens(game: Game) -> None:
    nothing_false(game)


@pytest.mark.slow
@given(games())
@settings(max_examples=700, suppress_health_check=[HealthCheck.too_slow])
def test_what_the_fold_says_is_what_happens_in_many_games(game: Game) -> None:
    nothing_false(game)

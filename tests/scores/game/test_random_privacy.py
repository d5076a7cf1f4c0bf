"""Random pipelines whose draws can be enumerated: privacy and ceilings are held against the law of what is released.

Every stage has a second implementation here, which returns the *law* of its answers. What is drawn once for a whole
game (perturbed labels, a secret subset, a secret order) is a *coin*, thrown before; everything else is drawn for every
query. So the law of several answers is a sum over coins of products, and its largest ratio between labellings that
differ in one label, and the best guess of all, are computed without simulation.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from statistics import NormalDist
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_privacy.noise.grid import GridNoise
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_privacy.noise.two_point import TwoPoint
from labelinf_privacy.randomised_response import keep_probability
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.privacy_budget import PrivacyBudget
from labelinf_scores.defences.query_limit import QueryLimit
from labelinf_scores.defences.randomised_response import PerturbedLabels
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.defences.subset import Subset
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.effects import Budgeted, Moved, Rounded, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean
from labelinf_scores.rules.games import channel_of, threat_of

Labels = tuple[int, ...]
Law = Mapping[float, float]  #: the probability of every answer
Ask = Callable[[Labels, tuple[float, ...]], Law]

BUILDER = Builder(Host.load())
LOSS, NUMBERS = SquaredEuclidean(), make_arithmetic("float64")
SEEN = 1e-8  #: what is rarer is cut off with the tails
SLACK = 1e-6  #: what cutting tails off may do to a ratio of what is not


@attrs.frozen(kw_only=True)
class Outside(ScoreDefence):
    """A stage of somebody else's."""

    declared: tuple[ScoreEffect, ...] | None
    moved: str = ""

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return super().does(threat) if self.declared is None else self.declared


STAGES: tuple[ScoreDefence, ...] = (
    *(Clip(epsilon=0.1), Clip(epsilon=0.3), RoundScore(decimals=0), RoundScore(decimals=1), PermuteLabels()),
    *(PerturbedLabels(epsilon=0.7), PerturbedLabels(epsilon=1.5), PerturbedLabels(epsilon=1.2, fresh=True)),
    *(Subset(share=0.5), Subset(share=0.75, fresh=True), QueryLimit(queries=1), QueryLimit(queries=2)),
    *(ScoreNoise(model=GridLaplace(scale=0.4, step=0.4)), ScoreNoise(model=GridLaplace(scale=0.8, step=0.5))),
    *(ScoreNoise(model=GridGaussian(scale=0.5, step=0.25)), ScoreNoise(model=TwoPoint(tau=0.3))),
    *(PrivacyBudget(epsilon=1.5), PrivacyBudget(epsilon=4.0)),
    Outside(declared=(Rounded(step=0.3),), moved="coarse"),
    Outside(declared=(Moved(bound=0.3, blind=True),), moved="nudge"),
    Outside(declared=(Moved(bound=0.3),), moved="spy"),
    Outside(declared=(Budgeted(queries=1, epsilon=0.1, shared=True),)),
    Outside(declared=(Budgeted(queries=2, epsilon=3.0, shared=True),)),
    Outside(declared=(Budgeted(queries=2, epsilon=1.0, delta=0.05, shared=True),)),
    Outside(declared=(Budgeted(queries=2, epsilon=3.0, delta=0.05, shared=True),)),
    Outside(declared=None, moved="spy"),
)


@attrs.frozen(kw_only=True, eq=False)
class Game:
    """Two classes, few records, a pipeline, as many queries as are granted (or two)."""

    n_records: int
    pipeline: tuple[ScoreDefence, ...]
    queries: tuple[tuple[float, ...], ...]

    @property
    def threat(self) -> ScoreThreat:
        labels = np.arange(self.n_records, dtype=np.intp) % 2
        return threat_of(channel_of(loss=LOSS, queries=len(self.queries)), labels, *self.pipeline)

    def worlds(self) -> Iterator[tuple[tuple[Any, ...], float]]:
        """Yield every throw of the coins, one for each stage, with its probability."""
        for throw in itertools.product(*(_coins(stage, self.n_records) for stage in self.pipeline)):
            yield tuple(coin for coin, _ in throw), math.prod(chance for _, chance in throw)

    @functools.cache  # noqa: B019  # a game lives as long as its test
    def laws(self, labellings: tuple[Labels, ...]) -> NDArray[np.float64]:
        """Return the probability of every transcript under every labelling, shape (labellings, transcripts)."""
        asked, total = self.queries[: self.threat.query_budget], None
        for coins, chance in self.worlds():
            ask = functools.reduce(_behind, zip(self.pipeline, coins, strict=True), _score)
            tables = [_table([ask(labels, query) for labels in labellings], self._support(query)) for query in asked]
            joint = functools.reduce(lambda one, two: (one[:, :, None] * two[:, None, :]).reshape(len(one), -1), tables)
            total = chance * joint if total is None else total + chance * joint
        assert total is not None
        return total

    @functools.cache  # noqa: B019
    def _support(self, query: tuple[float, ...]) -> dict[float, int]:
        found: dict[float, int] = {}
        for coins, _ in self.worlds():
            ask = functools.reduce(_behind, zip(self.pipeline, coins, strict=True), _score)
            for labels in itertools.product((0, 1), repeat=self.n_records):
                for answer in ask(labels, query):
                    found.setdefault(answer, len(found))
        return found


def _table(laws: list[Law], support: dict[float, int]) -> NDArray[np.float64]:
    table = np.zeros((len(laws), len(support)))
    for row, law in zip(table, laws, strict=True):
        for answer, chance in law.items():
            row[support[answer]] += chance
    return table


def _score(labels: Labels, query: tuple[float, ...]) -> Law:
    return {_seen(float(LOSS.score(np.array(labels), np.array(query), NUMBERS))): 1.0}


def _seen(value: float) -> float:
    """One name for numbers that differ by rounding errors only."""
    return round(value, 9) + 0.0


def _coins(stage: ScoreDefence, n_records: int) -> list[tuple[Any, float]]:
    """Return what a stage may draw for a whole game, and how likely."""
    if isinstance(stage, PerturbedLabels) and not stage.fresh:
        return _flips(stage, n_records)
    if isinstance(stage, Subset) and not stage.fresh:
        rows = list(itertools.combinations(range(n_records), max(1, round(stage.share * n_records))))
        return [(chosen, 1 / len(rows)) for chosen in rows]
    if isinstance(stage, PermuteLabels):
        orders = list(itertools.permutations(range(n_records)))
        return [(order, 1 / len(orders)) for order in orders]
    return [(None, 1.0)]


def _flips(stage: PerturbedLabels, n_records: int) -> list[tuple[Any, float]]:
    keep = keep_probability(stage.epsilon, 2)
    return [
        (flips, math.prod(1 - keep if flip else keep for flip in flips))
        for flips in itertools.product((0, 1), repeat=n_records)
    ]


def _mixed(laws: Iterator[tuple[Law, float]]) -> Law:
    found: dict[float, float] = defaultdict(float)
    for law, weight in laws:
        for answer, chance in law.items():
            found[answer] += weight * chance
    return found


def _mapped(law: Law, change: Callable[[float], float]) -> Law:
    return _mixed(({_seen(change(answer)): 1.0}, chance) for answer, chance in law.items())


def _behind(ask: Ask, stage_and_coin: tuple[ScoreDefence, Any]) -> Ask:
    """Return what is answered behind one more stage."""
    stage, coin = stage_and_coin

    def answer(labels: Labels, query: tuple[float, ...]) -> Law:
        match stage:
            case Clip():
                return ask(labels, tuple(min(max(value, stage.epsilon), 1 - stage.epsilon) for value in query))
            case RoundScore():
                return _mapped(ask(labels, query), lambda value: round(value, stage.decimals))
            case PerturbedLabels(fresh=True):
                return _mixed((ask(_flipped(labels, flips), query), p) for flips, p in _flips(stage, len(labels)))
            case PerturbedLabels():
                return ask(_flipped(labels, coin), query)
            case Subset(fresh=True):
                rows = list(itertools.combinations(range(len(labels)), max(1, round(stage.share * len(labels)))))
                return _mixed((ask(*_part(labels, query, chosen)), 1 / len(rows)) for chosen in rows)
            case Subset():
                return ask(*_part(labels, query, coin))
            case PermuteLabels():
                return ask(tuple(labels[row] for row in coin), query)
            case ScoreNoise(model=GridNoise() as model):
                return _mixed((_on_grid(model, value), chance) for value, chance in ask(labels, query).items())
            case ScoreNoise(model=TwoPoint() as model):
                law = ask(labels, query)
                return _mixed((_mapped(law, lambda value, by=by: value + by), 0.5) for by in (-model.tau, model.tau))
            case Outside(moved="coarse"):
                return _mapped(ask(labels, query), lambda value: math.floor(value / 0.3 + 0.5) * 0.3)
            case Outside(moved="nudge"):
                return _mapped(ask(labels, query), lambda value: value + 0.3 * math.cos(9 * value))
            case Outside(moved="spy"):
                return _mapped(ask(labels, query), lambda value: value + 0.3 * (-1) ** labels[0])
        return ask(labels, query)

    return answer


def _flipped(labels: Labels, flips: Labels) -> Labels:
    return tuple(label ^ flip for label, flip in zip(labels, flips, strict=True))


def _part(labels: Labels, query: tuple[float, ...], rows: tuple[int, ...]) -> tuple[Labels, tuple[float, ...]]:
    return tuple(labels[row] for row in rows), tuple(query[row] for row in rows)


@functools.lru_cache(maxsize=4096)
def _on_grid(model: GridNoise, value: float) -> Law:
    middle = int(model.steps_of(np.array([value]))[0])
    return {_seen((middle + k) * model.step): chance for k, chance in _pmf(model).items()}


@functools.cache
def _pmf(model: GridNoise) -> dict[int, float]:
    """Return the law of the integers nearest to Laplace, or to normal, deviates; tails below 1e-14 are cut off."""
    wide = model.scale / model.step
    if isinstance(model, GridLaplace):
        rate = 1 / wide
        law = {
            k: math.sinh(rate / 2) * math.exp(-rate * abs(k)) if k else -math.expm1(-rate / 2) for k in range(-80, 81)
        }
    else:
        unit = NormalDist(0, wide).cdf
        law = {k: unit(0.5 - abs(k)) - unit(-0.5 - abs(k)) for k in range(-40, 41)}
    return {k: chance for k, chance in law.items() if chance > 1e-14}


@st.composite
def games(draw: st.DrawFn) -> Game:
    """Draw a game; a stage that does not fit where it would stand is left out."""
    n_records = draw(st.sampled_from((2, 2, 4)))
    pipeline: tuple[ScoreDefence, ...] = ()
    for stage in draw(st.lists(st.sampled_from(STAGES), min_size=1, max_size=4)):
        try:
            threat_of(channel_of(loss=LOSS), np.arange(n_records, dtype=np.intp) % 2, *pipeline, stage)
        except InputError:
            continue
        pipeline = (*pipeline, stage)
    row = st.tuples(*[st.sampled_from((0.0, 0.05, 0.2, 0.4, 0.5, 0.85, 1.0))] * n_records)
    queries = draw(st.lists(row, min_size=1, max_size=2))
    return Game(n_records=n_records, pipeline=pipeline, queries=tuple(queries))


def _pairs(n_records: int) -> tuple[tuple[Labels, ...], list[tuple[int, int]]]:
    """Return all labellings, and the pairs of them that differ in one label, both ways."""
    every = tuple(itertools.product((0, 1), repeat=n_records))
    pairs = itertools.permutations(range(len(every)), 2)
    return every, [(one, two) for one, two in pairs if sum(map(int.__ne__, every[one], every[two])) == 1]


def _ratio(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    seen = one > SEEN
    with np.errstate(divide="ignore"):
        return float(np.max(np.log(one[seen]) - np.log(np.maximum(two[seen], 0.0))))


def labels_are_as_private_as_told(game: Game) -> None:
    threat = game.threat
    if math.isinf(threat.label_epsilon) or not threat.known:
        return
    every, pairs = _pairs(game.n_records)
    laws = game.laws(every)
    for one, two in pairs:
        if threat.label_delta == 0:
            assert _ratio(laws[one], laws[two]) <= threat.label_epsilon + SLACK
        else:
            beyond = np.maximum(laws[one] - math.exp(threat.label_epsilon) * laws[two], 0).sum()
            assert beyond <= threat.label_delta + SLACK


def one_answer_costs_what_is_told(game: Game) -> None:
    price = game.threat.facts.answer_price
    if math.isfinite(price) and game.threat.known:
        every, pairs = _pairs(game.n_records)
        laws = attrs.evolve(game, queries=game.queries[:1]).laws(every)
        assert max(_ratio(laws[one], laws[two]) for one, two in pairs) <= price + SLACK


def labels_survive_as_often_as_told(game: Game) -> None:
    kept = 1.0
    for stage in game.pipeline:
        if isinstance(stage, PerturbedLabels):
            keep = keep_probability(stage.epsilon, 2)
            kept = kept * keep + (1 - kept) * (1 - keep)
    if game.threat.known:
        assert game.threat.label_keep == pytest.approx(kept)


def nobody_guesses_better_than_any_ceiling(game: Game) -> None:
    """The best guess of all, by somebody who knows the class counts: half of the labels are ones, in some order."""
    threat, n = game.threat, game.n_records
    stated = theory(BUILDER, "score", threat).ceilings
    if not stated:
        return
    orders = tuple(order for order in itertools.product((0, 1), repeat=n) if sum(order) == n // 2)
    laws = game.laws(orders) / len(orders)
    ones = np.array(orders).T @ laws
    accuracy = float(np.maximum(ones, laws.sum(axis=0) - ones).sum() / n)
    exact = float(laws.max(axis=0).sum())
    for item in stated:
        assert not item.denies(accuracy - SLACK, exact - SLACK), item


CHECKS = (
    labels_are_as_private_as_told,
    one_answer_costs_what_is_told,
    labels_survive_as_often_as_told,
    nobody_guesses_better_than_any_ceiling,
)


def nothing_false(game: Game) -> None:
    for check in CHECKS:
        check(game)


PRIVATE = (
    (PerturbedLabels(epsilon=0.7),),
    (PerturbedLabels(epsilon=1.2, fresh=True),),
    (ScoreNoise(model=GridLaplace(scale=0.8, step=0.5)), PrivacyBudget(epsilon=4.0)),
    (
        ScoreNoise(model=GridLaplace(scale=0.8, step=0.5)),
        Outside(declared=(Budgeted(queries=2, epsilon=0.7, shared=True),)),
    ),
    (
        ScoreNoise(model=GridGaussian(scale=0.5, step=0.25)),
        Outside(declared=(Budgeted(queries=2, epsilon=2.0, delta=0.05, shared=True),)),
    ),
)


@pytest.mark.long
@pytest.mark.parametrize("private", PRIVATE, ids=["once", "fresh", "noise", "two of too little noise", "Gaussian"])
def test_no_stage_beside_a_private_one_makes_its_certificate_false(private: tuple[ScoreDefence, ...]) -> None:
    """Behind it, as somebody who looks at labels would stand, and in front of it."""
    queries = ((0.0, 1.0), (1.0, 0.0))[: 2 if isinstance(private[-1], Outside) else 1]
    for stage, nearer in itertools.product(STAGES, (True, False)):
        pipeline = (stage, *private) if nearer else (*private, stage)
        try:
            nothing_false(Game(n_records=2, pipeline=pipeline, queries=queries))
        except InputError:
            continue


@given(games())
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_certified_holds_for_the_law_of_what_is_released(game: Game) -> None:
    nothing_false(game)


@pytest.mark.slow
@given(games())
@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_certified_holds_for_the_law_of_what_is_released_in_many_games(game: Game) -> None:
    nothing_false(game)

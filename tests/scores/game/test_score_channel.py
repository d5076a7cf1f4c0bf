"""The game of the score channel: what the curator answers, what the oracle shows and counts, what a trial records."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import Attack, Guess, LabelSet, Setting
from labelinf_core.contracts.errors import ComponentError, InputError, QueriesExhaustedError, QueryRefusedError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_papers.set_valued import discrete_lp
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Curator, Query, ScoreDefence
from labelinf_scores.game.effects import Moved, ScoreEffect
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle, blocks, needed_queries
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss

DATA = LabelSet(labels=np.array([0, 1, 1, 0, 1, 1, 1]), class_names=("no", "yes"), title="seven", provenance="made")


@attrs.frozen(kw_only=True)
class OnePerQuery(ScoreAttack):
    """Asks about one record at a time and remembers what it saw in its evidence."""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        labels = np.zeros(oracle.threat.n_records, dtype=np.intp)
        for row in range(len(labels)):
            predictions = np.full(len(labels), 0.5)
            predictions[row] = 0.25
            labels[row] = oracle.query(predictions) > np.log(2)
        return Guess(labels=labels, evidence={"draw": float(rng.random())})


@attrs.frozen(kw_only=True)
class Misshapen(ScoreAttack):
    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=np.zeros(3, dtype=np.intp))


@attrs.frozen(kw_only=True)
class Foreign(Attack):
    pass


class _Adding(ActiveScoreDefence):
    def __init__(self, amount: float, twice: bool) -> None:
        self.amount, self.twice = amount, twice

    def answer(self, labels: np.ndarray, query: Query, ask: Ask) -> Answer:
        answer = ask(labels, query) + self.amount
        return answer * 2 if self.twice else answer


@attrs.frozen(kw_only=True)
class Adding(ScoreDefence):
    """Adds a number to every answer, and may double the sum; tells what it adds."""

    amount: float = 0.5
    twice: bool = False
    random: bool = False

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _Adding(float(rng.random()) if self.random else self.amount, self.twice)

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Moved(bound=abs(self.amount)),)


class _Flipping(ActiveScoreDefence):
    def answer(self, labels: np.ndarray, query: Query, ask: Ask) -> Answer:
        return ask(1 - labels, query)


@attrs.frozen(kw_only=True)
class Flipping(ScoreDefence):
    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _Flipping()


def setting(attack: Attack | None = None, *defences: ScoreDefence) -> Setting:
    return Setting(data=DATA, attack=attack or OnePerQuery(), defences=defences)


def curator_of(channel: ScoreChannel, *defences: ScoreDefence, seed: int = 0) -> Curator:
    threat = channel.threat(setting(None, *defences))
    return channel.curator(DATA.labels, threat, np.random.default_rng(seed))


def play(channel: ScoreChannel, attack: Attack | None = None, *defences: ScoreDefence, seed: int = 0) -> object:
    rngs = {"curator_rng": np.random.default_rng(seed), "attack_rng": np.random.default_rng(seed + 1)}
    return channel.play(setting(attack, *defences), **rngs)


HALVES = Query(predictions=np.full(7, 0.5))
LEANING = Query(predictions=np.full(7, 0.75))


@pytest.mark.parametrize("scorer", ["sklearn", "sklearn:float32", "float64", "float32", "exact", "fpa:53"])
def test_one_label_per_query_recovers_them_all_through_every_scorer(scorer: str) -> None:
    outcome = play(ScoreChannel(loss=LogLoss(), scorer=scorer))

    assert (outcome.n_correct, outcome.n_records, outcome.queries) == (7, 7, 7)


def test_a_guess_is_reported_in_the_order_of_the_label_set() -> None:
    outcome = play(ScoreChannel(loss=LogLoss()), seed=3)

    assert outcome.guess.tolist() == outcome.truth.tolist() == DATA.labels.tolist()


def test_every_trial_scores_the_labels_in_an_order_of_its_own() -> None:
    seen = set()

    @attrs.frozen(kw_only=True)
    class Spy(OnePerQuery):
        def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
            guess = super().run(oracle, rng)
            seen.add(tuple(guess.labels.tolist()))
            return guess

    for seed in range(8):
        play(ScoreChannel(loss=LogLoss()), Spy(), seed=seed)
    assert len(seen) > 1
    assert all(sum(order) == 5 for order in seen)


def test_a_trial_depends_on_its_two_generators_alone() -> None:
    channel = ScoreChannel(loss=LogLoss())
    first, again = (play(channel, None, Adding(random=True), seed=5) for _ in range(2))

    assert first.evidence == again.evidence
    assert first.guess.tolist() == again.guess.tolist()


def test_the_threat_model_is_what_is_public() -> None:
    threat = ScoreChannel(loss=LogLoss(), scorer="sklearn", queries=9).threat(setting(None, Adding(amount=0.25)))

    assert (threat.n_records, threat.n_classes, threat.query_budget) == (7, 2, 9)
    assert threat.prior == pytest.approx((2 / 7, 5 / 7))
    assert (threat.arithmetic, threat.summation, threat.input_format) == ("float64", "numpy", "float64")
    assert threat.clip == np.finfo(float).eps
    assert threat.span == pytest.approx(36.04365)
    assert threat.noise_bound == 0.25
    assert threat.defences == (Adding(amount=0.25),)
    assert threat.facts.deterministic
    assert threat.allows(9)
    assert not threat.allows(10)


def test_single_precision_predictions_are_said_to_be_rounded_first() -> None:
    threat = ScoreChannel(loss=LogLoss(), scorer="sklearn:float32").threat(setting())

    assert threat.input_format == "float32"
    assert threat.clip == np.finfo(np.float32).eps
    assert threat.span == pytest.approx(15.942385, abs=1e-5)


def test_a_pipeline_runs_from_the_curator_outward() -> None:
    """Written [add, double]: the score is first increased, then the second stage adds and doubles."""
    curator = curator_of(ScoreChannel(loss=LogLoss()), Adding(amount=1.0), Adding(amount=0.25, twice=True))

    assert curator.answer(HALVES) == pytest.approx(2 * (np.log(2) + 1.0 + 0.25))


def test_a_defence_may_ask_about_other_labels() -> None:
    right = curator_of(ScoreChannel(loss=LogLoss())).answer(LEANING)
    flipped = curator_of(ScoreChannel(loss=LogLoss()), Flipping()).answer(LEANING)

    assert right == pytest.approx(-(5 * np.log(0.75) + 2 * np.log(0.25)) / 7)
    assert flipped == pytest.approx(-(2 * np.log(0.75) + 5 * np.log(0.25)) / 7)


def test_every_defence_has_a_generator_of_its_own() -> None:
    channel = ScoreChannel(loss=LogLoss())
    one = curator_of(channel, Adding(random=True)).answer(HALVES)
    both = curator_of(channel, Adding(random=True), Adding(random=True)).answer(HALVES)

    assert both - np.log(2) != pytest.approx(2 * (one - np.log(2)))
    assert curator_of(channel, Adding(random=True), seed=0).answer(HALVES) == one
    assert curator_of(channel, Adding(random=True), seed=1).answer(HALVES) != one


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (np.full(6, 0.5), r"predictions have shape \(6,\), expected \(7, 2\) or \(7,\)\."),
        (np.full(7, 1.5), r"prediction 1\.5 in row 0 must be a probability between 0 and 1\."),
        (np.full(7, np.nan), r"prediction nan in row 0 must be a probability between 0 and 1\."),
    ],
)
def test_malformed_predictions_are_refused_before_anything_is_asked(predictions: np.ndarray, message: str) -> None:
    curator = curator_of(ScoreChannel(loss=LogLoss()), Adding())

    with pytest.raises(QueryRefusedError, match=message):
        curator.answer(Query(predictions=predictions))


def test_the_oracle_counts_refused_queries_and_stops_at_the_budget() -> None:
    channel = ScoreChannel(loss=LogLoss(), queries=2)
    oracle = ScoreOracle(channel.threat(setting()), curator_of(channel).answer)

    assert (oracle.spent, oracle.remaining) == (0, 2)
    with pytest.raises(QueryRefusedError):
        oracle.query(np.full(3, 0.5))
    assert oracle.query(np.full(7, 0.5)) == pytest.approx(np.log(2))
    with pytest.raises(QueriesExhaustedError, match=r"all 2 queries are spent\."):
        oracle.query(np.full(7, 0.5))
    assert (oracle.spent, oracle.remaining) == (2, 0)


def test_without_a_budget_the_queries_do_not_end() -> None:
    channel = ScoreChannel(loss=LogLoss())
    oracle = ScoreOracle(channel.threat(setting()), curator_of(channel).answer)

    assert oracle.remaining == float("inf")


def test_the_oracle_shows_the_threat_model_and_nothing_else() -> None:
    public = {name for name in dir(ScoreOracle) if not name.startswith("_")}

    assert public == {"beside", "query", "remaining", "simulated", "simulates", "spent", "submit", "threat"}
    assert "labels" not in {field.name for field in attrs.fields(ScoreThreat)}


def test_a_curator_does_not_print_its_labels() -> None:
    assert "labels" not in repr(curator_of(ScoreChannel(loss=LogLoss()), Adding()))


def test_a_guess_of_the_wrong_shape_is_an_error() -> None:
    with pytest.raises(ComponentError, match=r"guessed an array of shape \(3,\), expected \(7,\)"):
        play(ScoreChannel(loss=LogLoss()), Misshapen())


def test_a_component_of_another_channel_is_named() -> None:
    with pytest.raises(InputError, match="attack Foreign does not belong to the score channel"):
        ScoreChannel(loss=LogLoss()).threat(setting(Foreign()))
    with pytest.raises(InputError, match="threat model ThreatModel does not belong to the score channel"):
        Adding().effects(ThreatModel(n_records=2, n_classes=2, prior=(0.5, 0.5)))


def test_a_loss_that_does_not_add_up_over_the_records_is_refused() -> None:
    assert not isinstance(discrete_lp, type)  # such losses are functions, for the negative results only
    with pytest.raises(InputError, match="loss object does not belong to the score channel"):
        ScoreChannel(loss=object()).threat(setting())  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "m", "sizes"), [(7, 3, [3, 3, 1]), (6, 3, [3, 3]), (2, 5, [2]), (1, 1, [1])])
def test_blocks_cover_every_record_once(n: int, m: int, sizes: list[int]) -> None:
    found = blocks(n, m)

    assert [part.stop - part.start for part in found] == sizes
    assert np.concatenate([np.arange(n)[part] for part in found]).tolist() == list(range(n))
    assert needed_queries(n, m) == len(sizes)


def test_an_array_of_the_attacks_making_is_not_passed_on() -> None:
    """A subclass could watch which of its rows a defence or the scorer reads, and so see a secret subset."""
    read: list[object] = []

    class Watching(np.ndarray):
        def __getitem__(self, key: object) -> object:
            read.append(key)
            return super().__getitem__(key)

    curator = curator_of(ScoreChannel(loss=LogLoss(), scorer="float64"))
    oracle = ScoreOracle(curator.threat, curator.answer)
    answer = oracle.query(np.full(7, 0.5).view(Watching))

    assert answer == pytest.approx(np.log(2))
    assert read == []

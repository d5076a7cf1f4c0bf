"""In every channel, what an attack returns that is no guess is its own failure, named; nothing is scored."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import Channel, Guess, LabelSet, Setting
from labelinf_core.contracts.errors import ComponentError
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.effects import EntriesRounded
from labelinf_gradients.game.gradient import GradientAttack, GradientDefence, GradientGuess
from labelinf_outputs.game.channel import OutputChannel
from labelinf_outputs.game.output import OutputAttack, OutputDefence
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, Query, ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.rules.games import channel_of, threat_of

Offence = Callable[[Any], Any]


class MuteError(Exception):
    """Cannot say what it is about."""

    def __str__(self) -> str:
        raise RuntimeError


def _meddle(oracle: Any) -> Any:
    oracle.threat = attrs.evolve(oracle.threat, n_records=1)
    return np.zeros(1, dtype=np.intp)


def _mute(oracle: Any) -> Any:
    raise MuteError


def _zeros(oracle: Any) -> Any:
    return np.zeros(oracle.threat.n_records, dtype=np.intp)


def _force(oracle: Any) -> Any:
    """Change what is public from under the evaluator, past every guard that Python has."""
    n = oracle.threat.n_records
    for name, value in {"n_records": 1, "n_classes": 10**6, "perfect": 0.0, "prior": (1.0,)}.items():
        object.__setattr__(oracle.threat, name, value)
    return np.full(n, 10**6)


class Hiding(dict[str, Any]):
    """Evidence that cannot be read."""

    def items(self) -> Any:
        raise SystemExit(3)


ZOO: dict[str, tuple[Offence, str]] = {
    "nan": (lambda oracle: np.full(oracle.threat.n_records, np.nan), "type float64, expected integers"),
    "half": (lambda oracle: np.full(oracle.threat.n_records, 0.5), "type float64, expected integers"),
    "million": (lambda oracle: _zeros(oracle) + 10**6, "it guessed 1000000, expected classes"),
    "short": (lambda oracle: np.zeros(1, dtype=np.intp), "it guessed an array of shape"),
    "none": (lambda oracle: None, "it guessed an array of shape"),
    "meddle": (_meddle, "AttributeError"),
    "exit": (lambda oracle: sys.exit(3), "SystemExit: 3"),
    "force": (_force, "it guessed 1000000, expected classes"),
    "mute": (_mute, "MuteError: a MuteError that cannot be written"),
}


@attrs.frozen(kw_only=True, eq=False)
class ScoreOffender(ScoreAttack):
    """Returns what it is told to."""

    offence: Offence
    evidence: Any = attrs.field(factory=dict)

    def run(self, oracle: Any, rng: np.random.Generator) -> Any:
        return Guess(labels=self.offence(oracle), evidence=self.evidence)


@attrs.frozen(kw_only=True, eq=False)
class GradientOffender(GradientAttack):
    """Returns what it is told to."""

    offence: Offence
    evidence: Any = attrs.field(factory=dict)

    def run(self, oracle: Any, rng: np.random.Generator) -> Any:
        return Guess(labels=self.offence(oracle), evidence=self.evidence)


@attrs.frozen(kw_only=True, eq=False)
class OutputOffender(OutputAttack):
    """Returns what it is told to."""

    offence: Offence
    evidence: Any = attrs.field(factory=dict)

    def run(self, oracle: Any, rng: np.random.Generator) -> Any:
        return Guess(labels=self.offence(oracle), evidence=self.evidence)


CHANNELS: dict[str, tuple[Channel, Any]] = {
    "score": (ScoreChannel(loss=LogLoss(), scorer="float64"), ScoreOffender),
    "gradient": (GradientChannel(epochs=0, samples=8, auxiliary=4, hidden=(4,)), GradientOffender),
    "output": (OutputChannel(victim="logistic", references=0), OutputOffender),
}


@pytest.fixture(scope="module")
def data() -> LabelSet:
    rng = np.random.default_rng(0)
    labels = np.arange(80, dtype=np.intp) % 2
    features = rng.standard_normal((80, 4)) + labels[:, None]
    return LabelSet(labels=labels, class_names=("a", "b"), title="made", provenance="made", features=features)


def _play(channel: Channel, data: LabelSet, attack: Any, *defences: Any) -> Any:
    setting = Setting(data=data, attack=attack, defences=defences)
    return channel.play(setting, curator_rng=np.random.default_rng(1), attack_rng=np.random.default_rng(2))


@pytest.mark.parametrize("name", list(CHANNELS))
@pytest.mark.parametrize("offence", list(ZOO))
def test_what_is_no_guess_is_the_attacks_own_failure(name: str, offence: str, data: LabelSet) -> None:
    (channel, make), (does, fault) = CHANNELS[name], ZOO[offence]
    attack = make(offence=does)
    with pytest.raises(ComponentError, match=fault) as told:
        _play(channel, data, attack)
    assert told.value.component is attack


EVIDENCE: dict[str, tuple[Any, str]] = {
    "hiding": (Hiding(), "SystemExit: 3"),
    "list": ([1], "its evidence is a list"),
    "object": ({"a": object()}, "its evidence 'a' is a object"),
    "none": (None, "its evidence is a NoneType"),
}


@pytest.mark.parametrize("name", list(CHANNELS))
@pytest.mark.parametrize("kind", list(EVIDENCE))
def test_evidence_that_is_none_is_the_attacks_own_failure_and_not_the_channels(
    name: str, kind: str, data: LabelSet
) -> None:
    (channel, make), (found, fault) = CHANNELS[name], EVIDENCE[kind]
    attack = make(offence=_zeros, evidence=found)
    with pytest.raises(ComponentError, match=fault) as told:
        _play(channel, data, attack)
    assert told.value.component is attack


class Peeking:
    """Soft labels that keep what they are compared with."""

    seen: ClassVar[list[Any]] = []

    def __sub__(self, other: Any) -> Any:
        self.seen.append(other)
        return other * 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.zeros((8, 2))


@attrs.frozen(kw_only=True, eq=False)
class SoftOffender(GradientAttack):
    """Returns soft labels of its own making."""

    soft: Any

    def run(self, oracle: Any, rng: np.random.Generator) -> Any:
        return GradientGuess(labels=_zeros(oracle), soft=self.soft)


def test_soft_labels_are_numbers_before_they_meet_the_truth(data: LabelSet) -> None:
    channel, _ = CHANNELS["gradient"]
    _play(channel, data, SoftOffender(soft=Peeking()))
    assert Peeking.seen == []
    attack = SoftOffender(soft=np.zeros(3))
    with pytest.raises(ComponentError, match=r"its soft labels have shape \(3,\), expected \(8, 2\)") as told:
        _play(channel, data, attack)
    assert told.value.component is attack


@pytest.mark.parametrize("name", list(CHANNELS))
def test_a_plain_guess_is_scored_and_labels_stay_as_they_are(name: str, data: LabelSet) -> None:
    channel, make = CHANNELS[name]
    before = data.labels.copy()
    outcome = _play(channel, data, make(offence=_zeros))
    assert 0 <= outcome.n_correct <= outcome.n_records
    assert np.array_equal(data.labels, before)


class Writing(ActiveScoreDefence):
    """Writes into the labels it is handed, and says them aloud when that fails."""

    def answer(self, labels: Any, query: Query, ask: Any) -> Any:
        try:
            labels[0] = 1 - labels[0]
        except ValueError as error:
            raise RuntimeError(f"the labels are {labels.tolist()}") from error
        return ask(labels, query)


@attrs.frozen(kw_only=True)
class WritingDefence(ScoreDefence):
    """Starts an active defence that writes."""

    def start(self, threat: Any, rng: np.random.Generator) -> ActiveScoreDefence:
        return Writing()


def test_a_defence_cannot_write_labels_and_its_words_are_not_repeated(data: LabelSet) -> None:
    asking = ScoreOffender(offence=lambda oracle: oracle.query(np.full(oracle.threat.n_records, 0.5)))
    defence = WritingDefence()
    with pytest.raises(ComponentError) as told:
        _play(CHANNELS["score"][0], data, asking, defence)
    assert told.value.component is defence
    assert str(told.value) == "it raised RuntimeError"


def _raises(*_: Any) -> Any:
    raise ZeroDivisionError("the labels are 0 1 1")


SPOILT: dict[str, tuple[Any, str]] = {
    "raises": (_raises, "it raised ZeroDivisionError"),
    "nothing": (lambda given: None, "it returned a NoneType, expected an array of numbers"),
    "nan": (lambda given: given * np.nan, "it returned numbers that are not finite"),
    "short": (lambda given: given[..., :1], "it returned an array of shape"),
    "text": (lambda given: given.astype(str), "it returned a ndarray, expected an array of numbers"),
}


@attrs.frozen(kw_only=True)
class GradientSpoiler(GradientDefence):
    """Hands something else on."""

    way: str

    def effects(self, threat: Any) -> Any:
        return (EntriesRounded(),)

    def examples(self, gradients: Any, layout: Any) -> Any:
        return SPOILT[self.way][0](gradients)


@attrs.frozen(kw_only=True)
class OutputSpoiler(OutputDefence):
    """Hands something else on, or trains something else."""

    way: str

    def release(self, probabilities: Any, rng: np.random.Generator) -> Any:
        return SPOILT[self.way][0](probabilities)


@attrs.frozen(kw_only=True)
class Broken(OutputDefence):
    """Cannot be started, or does not train."""

    way: str

    def start(self, threat: Any, rng: np.random.Generator) -> Any:
        return _raises() if self.way == "start" else self

    def train(self, task: Any, train: Any, rng: np.random.Generator) -> Any:
        if self.way == "writes":
            task.targets[0] = 0
        return _raises() if self.way == "train" else None


@pytest.mark.parametrize("way", list(SPOILT))
@pytest.mark.parametrize(("name", "spoiler"), [("gradient", GradientSpoiler), ("output", OutputSpoiler)])
def test_what_a_defence_hands_on_is_looked_at_and_it_is_named(
    name: str, spoiler: Any, way: str, data: LabelSet
) -> None:
    (channel, make), defence = CHANNELS[name], spoiler(way=way)
    with pytest.raises(ComponentError, match=SPOILT[way][1]) as told:
        _play(channel, data, make(offence=_zeros), defence)
    assert told.value.component is defence
    assert "labels are" not in str(told.value)


@pytest.mark.parametrize(
    ("way", "fault"),
    [
        ("start", "it raised ZeroDivisionError"),
        ("train", "it raised ZeroDivisionError"),
        ("none", "it trained a NoneType, expected Trained"),
        ("writes", "it raised ValueError"),
    ],
)
def test_a_defence_of_outputs_that_fails_while_it_trains_is_named(way: str, fault: str, data: LabelSet) -> None:
    (channel, make), defence = CHANNELS["output"], Broken(way=way)
    with pytest.raises(ComponentError, match=fault) as told:
        _play(channel, data, make(offence=_zeros), defence)
    assert told.value.component is defence
    assert "labels are" not in str(told.value)


class Watching(np.ndarray):
    """An array that could tell which of its rows are read."""


def test_a_query_is_a_copy_of_plain_type() -> None:
    seen: list[Query] = []
    oracle = ScoreOracle(threat_of(channel_of(), np.array([0, 1, 0, 1])), lambda query: (seen.append(query), 0.0)[1])
    asked = np.full(4, 0.5).view(Watching)
    oracle.query(asked)

    assert type(seen[0].predictions) is np.ndarray
    assert not np.shares_memory(seen[0].predictions, asked)

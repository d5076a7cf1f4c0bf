"""Rules that use a component: a small curator is set up around it and played with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labelinf_core.contracts.components import Rule
from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.testing.rules import NotApplicableError, belongs, one_guess_each, require
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.game.curator import Curator, ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.scorers import LossScorer
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.brier import Brier

__all__ = ["RULES", "small_game"]

_N = 12
_BUDGET = 64
_GAP = 0.25


def small_game(*defences: ScoreDefence, seed: int = 0) -> tuple[ScoreOracle, np.ndarray[Any, Any]]:
    """Return an oracle for twelve made labels scored by the squared error in doubles, and the labels.

    Args:
        defences: What stands between, from the curator outward.
        seed: Of the labels and of the defences' randomness.

    Raises:
        InputError: The defences do not fit together.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, _N)
    labels[:2] = (0, 1)
    loss = Brier()
    threat = ScoreThreat(
        n_records=_N,
        n_classes=2,
        prior=(0.5, 0.5),
        loss=loss,
        arithmetic="float64",
        summation="numpy",
        granted=_BUDGET,
    ).through(defences)
    scorer = LossScorer(loss=loss, numbers=make_arithmetic("float64"))
    return ScoreOracle(threat, Curator.start(labels, threat, scorer, rng).answer), labels


def _guesses_every_record(attack: ScoreAttack) -> None:
    oracle, _ = _playable(attack)
    one_guess_each(attack.run(oracle, np.random.default_rng(1)).labels, _N, 2)


def _is_reproducible(attack: ScoreAttack) -> None:
    first, _ = _playable(attack)
    second, _ = _playable(attack)
    one = attack.run(first, np.random.default_rng(2)).labels
    two = attack.run(second, np.random.default_rng(2)).labels
    require(np.array_equal(one, two), "the same generator must give the same guess; draw from rng alone")
    require(first.spent == second.spent, "the same generator must spend the same queries")


def _keeps_its_promise(attack: ScoreAttack) -> None:
    oracle, truth = _playable(attack)
    promise = attack.promise(oracle.threat)
    if promise is None or not promise.certified:
        raise NotApplicableError("it promises nothing here")
    guess = attack.run(oracle, np.random.default_rng(3)).labels
    require(np.array_equal(guess, truth), "it promised every label and missed some")


def _playable(attack: object) -> tuple[ScoreOracle, np.ndarray[Any, Any]]:
    attack = belongs(attack, ScoreAttack)
    oracle, labels = small_game()
    if refusal := attack.refusal(oracle.threat):
        raise NotApplicableError(f"it cannot play here: {refusal}")
    return oracle, labels


def _answers_numbers(defence: ScoreDefence) -> None:
    for answer in _answers(defence):
        require(math.isfinite(answer), f"it answered {answer}, expected a finite number")


def _is_seeded(defence: ScoreDefence) -> None:
    require(_answers(defence) == _answers(defence), "the same generator must give the same answers")


def _tells_its_noise(defence: ScoreDefence) -> None:
    plain, _ = small_game()
    oracle, _ = _defended(defence)
    threat = oracle.threat
    if not threat.facts.deterministic or threat.clip or math.isinf(threat.noise_bound):
        raise NotApplicableError("what it adds is not bounded")
    for predictions in _panel():
        try:
            moved = abs(oracle.query(predictions) - plain.query(predictions))
        except QueryRefusedError:
            continue
        require(
            moved <= threat.noise_bound * (1 + 1e-9) + 1e-12,
            f"it moved a score by {moved}, but tells the adversary {threat.noise_bound}",
        )


def _answers(defence: ScoreDefence) -> list[float]:
    oracle, _ = _defended(defence)
    answers = []
    for predictions in _panel():
        try:
            answers.append(float(oracle.query(predictions)))
        except QueryRefusedError:
            continue
    return answers


def _defended(defence: object) -> tuple[ScoreOracle, np.ndarray[Any, Any]]:
    try:
        return small_game(belongs(defence, ScoreDefence))
    except InputError as error:
        raise NotApplicableError(f"it cannot stand alone: {error}") from error


def _panel() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(4)
    return [rng.uniform(0.05, 0.95, _N) for _ in range(5)]


def _inverts_its_gap(loss: AdditiveLoss) -> None:
    if not isinstance(loss, AdditiveLoss):
        raise NotApplicableError("not an additive loss")
    numbers = make_arithmetic("float64")
    predictions = numbers.convert(np.atleast_1d(loss.prediction(np.array([_GAP, -_GAP]), numbers)))
    costs = loss.costs(predictions, numbers)
    gaps = costs[:, 1] - costs[:, 0]
    require(np.allclose(gaps, [_GAP, -_GAP], rtol=1e-9), f"asked for gaps of {_GAP}, got {gaps}")


def _stays_within_its_span(loss: AdditiveLoss) -> None:
    if not isinstance(loss, AdditiveLoss):
        raise NotApplicableError("not an additive loss")
    if loss.takes_logits:
        raise NotApplicableError("its predictions are not probabilities")
    numbers, clip = make_arithmetic("float64"), 0.01
    costs = loss.costs(numbers.convert(np.linspace(clip, 1 - clip, 101)), numbers)
    widest = float(np.abs(costs[:, 1] - costs[:, 0]).max())
    require(widest <= loss.span(clip) * (1 + 1e-9), f"a gap of {widest} exceeds the span {loss.span(clip)}")
    require(widest >= loss.span(clip) * (1 - 1e-9), f"no gap comes near the span {loss.span(clip)}: {widest}")


RULES: Mapping[Kind, Sequence[Rule]] = {
    Kind.ATTACK: (
        ("guesses-every-record", _guesses_every_record),
        ("is-reproducible", _is_reproducible),
        ("keeps-its-promise", _keeps_its_promise),
    ),
    Kind.DEFENCE: (
        ("answers-numbers", _answers_numbers),
        ("is-seeded", _is_seeded),
        ("tells-its-noise", _tells_its_noise),
    ),
    Kind.LOSS: (
        ("inverts-its-gap", _inverts_its_gap),
        ("stays-within-its-span", _stays_within_its_span),
    ),
}  #: what every component of the score channel is held to, beside what holds for all components

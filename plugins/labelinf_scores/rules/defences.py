"""Rules for defences of the score channel: what is observed of a small game is compared with what is declared.

A **guarantee** is tried in a game so small that the strongest attack can be learnt: four records, two of each class, in
one of six orders. The same query, which tells all orders apart, is asked as often as the budget allows; the mean answer
of every order is learnt from half of the games, and in the others the likeliest order is guessed. Whoever states a
ceiling below what that reaches is convicted, by a bet that needs no assumption on how guesses hang together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.statistics.proportions import betting_p_value
from labelinf_core.testing.rules import NotApplicableError, belongs, require, untouched
from labelinf_scores.bounds.counting import Counting
from labelinf_scores.bounds.gaussian_capacity import GaussianCapacity
from labelinf_scores.bounds.label_dp import LabelDp
from labelinf_scores.bounds.private_scores import PrivateScores
from labelinf_scores.bounds.unseen import Unseen
from labelinf_scores.game.curator import Query, ScoreDefence
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.rules.games import Labels, channel_of, placed, small_game, started

__all__ = ["RULES"]

_N, _QUERIES = 12, 4
_SLACK = 1e-9
_ORDERS = tuple(np.array(order, dtype=np.intp) for order in sorted(set(itertools.permutations((0, 0, 1, 1)))))
_TELLING = np.array([0.1, 0.3, 0.6, 0.95])  # squared errors whose sums differ from order to order
_GAMES = 80  # of every order: half to learn from, half to guess
_IMPROBABLE = 1e-6
_BOUNDS = (Counting(), GaussianCapacity(), LabelDp(), PrivateScores(), Unseen())


def _pipeline(component: object) -> tuple[ScoreDefence, ...]:
    return placed(belongs(component, ScoreDefence), channel_of(), small_game()[1])


def _panel() -> Iterator[NDArray[np.float64]]:
    rng = np.random.default_rng(4)
    for _ in range(5):
        yield rng.uniform(0.05, 0.95, _N)


def _answers(oracle: ScoreOracle, times: int = 1) -> list[float]:
    """Return what is answered to a few queries, NaN where one is declined."""
    return [_asked(oracle, row) for row in _panel() for _ in range(times)]


def _asked(oracle: ScoreOracle, row: NDArray[np.float64]) -> float:
    try:
        return float(oracle.query(row))
    except QueryRefusedError:
        return math.nan


def _answers_numbers(defence: ScoreDefence) -> None:
    for answer in _answers(small_game(*_pipeline(defence))[0]):
        require(not math.isinf(answer), f"it answered {answer}, expected a finite number")


def _is_seeded(defence: ScoreDefence) -> None:
    one, two = (_answers(small_game(*_pipeline(defence))[0]) for _ in range(2))
    require(np.array_equal(one, two, equal_nan=True), "the same generator must give the same answers")


def _leaves_its_input_alone(defence: ScoreDefence) -> None:
    pipeline, channel, labels = _pipeline(defence), channel_of(), small_game()[1].copy()
    threat = started(channel, labels, np.random.default_rng(0), *pipeline).threat
    curator = channel.curator(labels, threat, np.random.default_rng(0))
    for row in _panel():
        with untouched(labels=labels, predictions=row):
            try:
                curator.answer(Query(predictions=row))
            except QueryRefusedError:
                continue


def _tells_its_noise(defence: ScoreDefence) -> None:
    (plain, _), (oracle, _) = small_game(), small_game(*_pipeline(defence))
    threat = oracle.threat
    if not threat.facts.deterministic or threat.clip or math.isinf(threat.noise_bound):
        raise NotApplicableError("it does not say that what it adds is bounded")
    for exact, answer in zip(_answers(plain), _answers(oracle), strict=True):
        moved = abs(answer - exact)
        within = math.isnan(moved) or moved <= threat.noise_bound * (1 + _SLACK) + 1e-12
        require(within, f"it moved a score by {moved}, but tells the adversary {threat.noise_bound}")


def _says_whether_asking_again_helps(defence: ScoreDefence) -> None:
    oracle, _ = small_game(*_pipeline(defence))
    if oracle.threat.noise_fresh or oracle.threat.scored_fresh:
        raise NotApplicableError("it says that asking again draws anew")
    twice = np.array(_answers(oracle, times=2)).reshape(-1, 2)
    same = np.array_equal(twice[:, 0], twice[:, 1], equal_nan=True)
    require(same, "asked the same again it answers differently; its effects must say that it draws anew")


def _tells_its_sensitivity(defence: ScoreDefence) -> None:
    """With the same draws, one label moves an answer by no more than is told."""
    pipeline, channel, labels = _pipeline(defence), channel_of(), small_game()[1]
    threat = started(channel, labels, np.random.default_rng(0), *pipeline).threat
    if math.isinf(threat.sensitivity) or threat.label_keep < 1 or threat.scored < 1 or not threat.ordered:
        raise NotApplicableError("it tells no sensitivity, or hides which labels are scored")
    before = _answers(started(channel, labels, np.random.default_rng(0), *pipeline))
    for row in range(2, _N):
        flipped = labels.copy()
        flipped[row] = 1 - flipped[row]
        after = _answers(started(channel, flipped, np.random.default_rng(0), *pipeline))
        moved = float(np.nanmax(np.abs(np.subtract(after, before)), initial=0.0))
        within = moved <= threat.sensitivity * (1 + _SLACK) + 1e-12
        require(within, f"one label moved an answer by {moved}; it tells the adversary {threat.sensitivity}")


def _states_its_guarantee(defence: ScoreDefence) -> None:
    threat = small_game(*_pipeline(defence))[0].threat
    require(threat.label_epsilon >= 0, f"it states label-DP with epsilon {threat.label_epsilon}, expected at least 0")
    require(0 <= threat.label_delta <= 1, f"it states label-DP with delta {threat.label_delta}, expected 0 to 1")


def _keeps_its_guarantee(defence: ScoreDefence) -> None:
    channel = channel_of(queries=_QUERIES)
    pipeline = placed(belongs(defence, ScoreDefence), channel, _ORDERS[0])
    threat = started(channel, _ORDERS[0], np.random.default_rng(0), *pipeline).threat
    stated = [item for bound in _BOUNDS for item in bound.ceilings(threat)]
    lowest = min((item.reached for item in stated), default=1.0)
    if lowest >= 1:
        raise NotApplicableError("certificate: none")
    shares = _told_apart(lambda labels, rng: ScoreOracle(threat, channel.curator(labels, threat, rng).answer))
    p = betting_p_value(shares, lowest)
    require(
        p > _IMPROBABLE,
        f"orders of four labels are told apart, {np.mean(shares):.1%} right; its guarantee allows {lowest:.1%}",
    )


def _told_apart(start: Callable[[Labels, np.random.Generator], ScoreOracle]) -> list[float]:
    """Return the share of labels right in every game that was guessed."""
    seeded = np.random.default_rng
    shown = np.array(
        [[_seen(start(labels, seeded([j, game]))) for game in range(_GAMES)] for j, labels in enumerate(_ORDERS)]
    )
    learnt, guessed = shown[:, : _GAMES // 2], shown[:, _GAMES // 2 :]
    middle, width = learnt.mean(axis=1), learnt.std(axis=1) + 1e-12
    surprise = ((guessed[:, :, None] - middle) / width) ** 2 / 2 + np.log(width)
    guesses = np.array(_ORDERS)[surprise.argmin(axis=2)]
    return list((guesses == np.array(_ORDERS)[:, None]).mean(axis=2).ravel())


def _seen(oracle: ScoreOracle) -> float:
    answers = [_asked(oracle, _TELLING) for _ in range(_QUERIES)]
    known = [answer for answer in answers if not math.isnan(answer)]
    return float(np.mean(known)) if known else 0.0


RULES: tuple[tuple[str, Callable[[Any], None]], ...] = (
    ("answers-numbers", _answers_numbers),
    ("is-seeded", _is_seeded),
    ("leaves-its-input-alone", _leaves_its_input_alone),
    ("tells-its-noise", _tells_its_noise),
    ("tells-its-sensitivity", _tells_its_sensitivity),
    ("says-whether-asking-again-helps", _says_whether_asking_again_helps),
    ("states-its-guarantee", _states_its_guarantee),
    ("keeps-its-guarantee", _keeps_its_guarantee),
)  #: what every defence of this channel is held to, beside what holds for all components

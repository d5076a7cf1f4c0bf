"""Rules for bounds of the score channel: exhaustive search over every guess never contradicts a ceiling.

Four records, two of each class, in one of six orders. What is answered is a function of the order and, where labels are
perturbed, of the draws, all of which are enumerated; so the accuracy of the best guess, and its probability of being
right throughout, are sums over what can be seen. Nothing is simulated.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.testing.bounds import RULES as ALL
from labelinf_core.testing.rules import NotApplicableError, belongs, require
from labelinf_privacy.label_dp import pure_accuracy
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.randomised_response import PerturbedLabels
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.subset import Subset
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.rules.games import Labels, channel_of, started, threat_of

__all__ = ["RULES", "best_guess"]

_ORDERS = tuple(np.array(order, dtype=np.intp) for order in sorted(set(itertools.permutations((0, 0, 1, 1)))))
_ROWS = (np.array([0.1, 0.3, 0.6, 0.95]), np.array([0.9, 0.9, 0.1, 0.1]), np.array([0.5, 0.5, 0.5, 0.9]))
_SLACK = 1e-9

Seen = Iterator[tuple[Hashable, Labels, float]]  #: what is seen, the labels, and the probability of both


def best_guess(seen: Seen) -> tuple[float, float]:
    """Return the largest accuracy of any guess, and the largest probability of guessing all labels.

    Args:
        seen: Everything that can happen, probabilities summing to one.
    """
    right: dict[Hashable, Any] = defaultdict(lambda: 0.0)
    whole: dict[Hashable, dict[tuple[int, ...], float]] = defaultdict(lambda: defaultdict(float))
    for view, labels, probability in seen:
        right[view] = right[view] + probability * np.eye(2)[labels]
        whole[view][tuple(labels)] += probability
    accuracy = sum(float(table.max(axis=1).mean()) for table in right.values())
    return accuracy, sum(max(table.values()) for table in whole.values())


def _asked(defence: ScoreDefence, queries: int) -> Callable[[], Iterator[tuple[ScoreThreat, Seen]]]:
    """Every choice of ``queries`` rows, asked of every order through a defence without draws."""

    def games() -> Iterator[tuple[ScoreThreat, Seen]]:
        channel = channel_of(queries=queries)
        threat = threat_of(channel, _ORDERS[0], defence)
        for rows in itertools.product(_ROWS, repeat=queries):
            yield threat, _answered(channel, defence, rows)

    return games


def _answered(channel: Any, defence: ScoreDefence, rows: Any) -> Seen:
    for labels in _ORDERS:
        oracle = started(channel, labels, np.random.default_rng(0), defence)
        yield tuple(float(oracle.query(row)) for row in rows), labels, 1 / len(_ORDERS)


def _perturbed() -> Iterator[tuple[ScoreThreat, Seen]]:
    """Randomised response, everything perturbed shown: more than any score of it tells."""
    for epsilon in (0.2, 1.0, 3.0):
        threat = threat_of(channel_of(), _ORDERS[0], PerturbedLabels(epsilon=epsilon))
        keep = pure_accuracy(epsilon, (0.5, 0.5))
        yield (
            threat,
            (
                (shown, labels, float(np.prod(np.where(np.array(shown) == labels, keep, 1 - keep))) / len(_ORDERS))
                for labels in _ORDERS
                for shown in itertools.product((0, 1), repeat=4)
            ),
        )


def _part() -> Iterator[tuple[ScoreThreat, Seen]]:
    """A secret half of the records, shown with its labels."""
    threat = threat_of(channel_of(), _ORDERS[0], Subset(share=0.5))
    rows = list(itertools.combinations(range(4), 2))
    yield (
        threat,
        (((chosen, *labels[list(chosen)]), labels, 1 / len(rows) / 6) for labels in _ORDERS for chosen in rows),
    )


def _unordered() -> Iterator[tuple[ScoreThreat, Seen]]:
    yield threat_of(channel_of(), _ORDERS[0], PermuteLabels()), (((), labels, 1 / 6) for labels in _ORDERS)


_GAMES = (
    *(_asked(RoundScore(decimals=decimals), queries) for decimals, queries in itertools.product((0, 1, 2), (1, 2))),
    _perturbed,
    _part,
    _unordered,
)


def _is_never_contradicted(component: Bound) -> None:
    bound, tried = belongs(component, Bound), 0
    for games in _GAMES:
        for threat, seen in games():
            if not (ceilings := bound.ceilings(threat)):
                continue
            tried += 1
            accuracy, exact = best_guess(seen)
            for item in ceilings:
                most = f"the best guess has {accuracy:.4f} and is right throughout with {exact:.4f}"
                stated = f"its ceiling is {item.reached:.4f} and {item.exact + item.allowance:.4f}"
                require(not item.denies(accuracy - _SLACK, exact - _SLACK), f"{most}; {stated} ({item.statement})")
    if not tried:
        raise NotApplicableError("it denies nothing in the games that can be searched")


def _speaks_of_small_games(component: Bound) -> None:
    """Check that it answers whatever the game, down to one record and one query."""
    bound = belongs(component, Bound)
    for queries, defences in itertools.product((0, 1, 5), ((), (RoundScore(decimals=2),), (Subset(share=0.5),))):
        try:
            threat: ThreatModel = threat_of(channel_of(queries=queries), _ORDERS[0], *defences)
        except InputError:
            continue
        bound.evaluate(threat)
        bound.ceilings(threat)


RULES: tuple[tuple[str, Callable[[Any], None]], ...] = (
    *ALL,
    ("speaks-of-small-games", _speaks_of_small_games),
    ("is-never-contradicted", _is_never_contradicted),
)  #: what every bound of this channel is held to

"""What a board scores is what the score room reads: two descriptions of a metric, held to each other exactly."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_guard import shipped
from labelinf_guard.board import Board, TeamAnswer
from labelinf_guard.clock import StepClock
from labelinf_guard.metrics import METRICS, metric_named
from labelinf_guard.policy import BoardPart, Policy
from labelinf_guard.scoring import OwnMetric
from labelinf_guard.terms import metric_of
from labelinf_scores.metrics.readings.base import Released, Totals
from labelinf_scores.metrics.readings.registry import metric

GRID = Fraction(1, 2**40)  # on which a board puts costs


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_boards_score_tells_the_reader_of_the_same_metric_these_labels_and_no_others(name: str) -> None:
    rng = np.random.default_rng(5)
    board, reader = metric_named(name, {}, ["0", "1"]), metric(name)
    for _ in range(40):
        labels = rng.permutation(np.repeat([0, 1], rng.integers(2, 12, 2)))
        chance = np.round(rng.uniform(0.02, 0.98, labels.size), 3)
        if board.classes_predicted:
            chance = (chance > 0.5).astype(float)
        rows = chance.astype(int) if board.classes_predicted else np.stack([1 - chance, chance], axis=1)
        totals = Totals.binary(n_records=labels.size, n_positive=int(labels.sum()))

        read = reader.reading(chance, board.score(labels, rows, 2), totals, Released(noise=GRID))

        assert read.holds(labels)
        gone, come = (rng.choice(np.flatnonzero(labels == label)) for label in (1, 0))
        exchanged = labels.copy()
        exchanged[[gone, come]] = 0, 1
        told_apart = read.coefficients[gone] != read.coefficients[come]
        assert read.holds(exchanged) is not bool(told_apart)


@pytest.mark.parametrize(
    ("word", "classes", "scores"),
    [
        ("mcc", 2, (1, -1)),
        ("f-beta(beta=2)", 2, (1, 0)),
        ("average-precision", 2, (1, None)),
        ("error", 2, (0, 1)),
        ("macro-f1", 3, (1, 0)),
        ("quadratic-kappa", 3, (1, None)),
        ("roc-auc-ovr", 3, (1, 0.25)),
        ("roc-auc-ovo", 4, (1, 1 / 3)),
    ],
)
def test_every_metric_of_classes_that_ships_is_one_of_a_board(
    word: str, classes: int, scores: tuple[float, float | None]
) -> None:
    """The truth scores best, and its opposite worst; smaller is better where it is."""
    name, _, rest = word.partition("(")
    parameters = {"beta": 2.0} if rest else {}
    part = BoardPart(
        labels="l",
        id="i",
        label="y",
        classes=list("0123"[:classes]),
        metric=name,
        parameters=parameters,
        low=-1.0,
        high=1.0,
    )
    found = metric_of(Policy(board=part), Path())
    assert isinstance(found, OwnMetric)
    assert found.function == f"labelinf_guard.shipped:{word}|{classes}"
    assert found.minimise is (word == "error")
    labels = np.arange(36) % classes
    for wanted, right in zip(scores, (labels, (labels + 1) % classes), strict=True):
        rows = right if found.classes_predicted else np.eye(classes)[right] * 0.8 + 0.2 / classes
        if wanted is not None:
            assert getattr(shipped, f"{word}|{classes}")(labels, rows) == pytest.approx(wanted)


@pytest.mark.slow
def test_a_metric_of_scores_is_scored_in_a_child(tmp_path: Path) -> None:
    labels = [at % 2 for at in range(30)]
    (tmp_path / "labels.csv").write_text("id,label\n" + "".join(f"r{at},{y}\n" for at, y in enumerate(labels)))
    (tmp_path / "board.toml").write_text(
        '[board]\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\nclasses = ["0", "1"]\n'
        'metric = "mcc"\nlow = -1.0\nhigh = 1.0\n'
        "[public]\nshare = 1.0\n[limits]\nseconds = 60.0\n[target]\ngain = 0.5\naccept_void = true\n"
    )
    board = Board.init(tmp_path / "board.toml", clock=StepClock())
    rows = "".join(f"r{at},{1 - y}\n" for at, y in enumerate(labels))
    told = board.submit("a", f"id,prediction\n{rows}".encode())
    assert told == TeamAnswer(score="-1.000", left=99)
    board.close()


@pytest.mark.parametrize(
    ("metric", "classes", "said"),
    [("mean-loss", 2, "no metric|scores costs"), ("recall", 3, "two classes"), ("none", 2, "no metric")],
)
def test_a_metric_that_no_board_can_score_is_refused(metric: str, classes: int, said: str) -> None:
    part = BoardPart(labels="l", id="i", label="y", classes=[str(k) for k in range(classes)], metric=metric)
    with pytest.raises(InputError, match=said):
        metric_of(Policy(board=part), Path())

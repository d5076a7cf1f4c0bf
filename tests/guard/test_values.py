"""Boards of values: a grid of labels, predictions cut to its range, exact scores, and what one label moves them."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_guard import shipped
from labelinf_guard.board import Board, TeamAnswer
from labelinf_guard.clock import StepClock
from labelinf_guard.files import State, derived, read_key
from labelinf_guard.ledger.verify import verify
from labelinf_guard.metrics import ExactMetric, metric_named
from labelinf_guard.policy import BoardPart, Policy, read_policy
from labelinf_guard.terms import Sizes, final_ratio, metric_of

GRID = "values = [-1.0, 4.0, 0.5]"
REST = "[public]\nshare = 0.5\n[release]\n{release}\n[target]\ngain = 0.95\ncounts_known = false\naccept_void = true\n"


def board(folder: Path, metric: str = "mse", release: str = "", classes: str = GRID) -> Path:
    values = np.random.default_rng(5).integers(-2, 9, 60) / 2
    rows = "".join(f"r{at:02d},{value:.2f}\n" for at, value in enumerate(values))
    (folder / "labels.csv").write_text(f"id,label\n{rows}")
    path = folder / "board.toml"
    head = f'[board]\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\n{classes}\nmetric = "{metric}"\n'
    path.write_text(head + REST.format(release=release))
    return path


def csv(rows: np.ndarray) -> bytes:
    return ("id,prediction\n" + "".join(f"r{at:02d},{row!r}\n" for at, row in enumerate(rows.tolist()))).encode()


def kinds() -> list[ExactMetric]:
    return [metric_named(name, {}, ["-1.0", "1.5", "4.0"]) for name in ("mae", "mse", "rmse")]


@pytest.mark.parametrize("metric", kinds(), ids=["mae", "mse", "rmse"])
def test_no_label_moves_a_score_of_values_further_than_is_said(metric: ExactMetric) -> None:
    """All labels of three records, and predictions at and beyond both ends; the bound is attained but for a grid."""
    ends = [np.array(rows) for rows in itertools.product((-9.0, -1.0, 0.3, 4.0), repeat=3)]
    moved = Fraction(0)
    for rows in ends:
        scores = {y: metric.score(np.array(y), rows, 3) for y in itertools.product(range(3), repeat=3)}
        assert all(metric.low <= score <= metric.high for score in scores.values())
        for one, other in itertools.combinations(scores, 2):
            if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
                moved = max(moved, abs(scores[one] - scores[other]))
    said = metric.move(3, 3)
    assert said is not None
    assert said * Fraction(999, 1000) <= moved <= said


@pytest.mark.parametrize("name", ["mae", "mse", "rmse"])
def test_an_answer_is_the_rounded_score_of_predictions_cut_to_the_range(name: str, tmp_path: Path) -> None:
    """What is far beyond costs no more than the end, and is the same submission: size cannot single out a label."""
    path = board(tmp_path, name)
    opened = Board.init(path, clock=StepClock())
    rows = np.random.default_rng(1).normal(1, 4, 60)
    told = opened.submit("a", csv(rows))
    assert isinstance(told, TeamAnswer)
    labels = (opened.scored - 2) / 2
    away = np.abs(np.clip(rows, -1, 4)[opened.public] - labels)
    score = {"mae": away.mean(), "mse": (away**2).mean(), "rmse": np.sqrt((away**2).mean())}[name]
    assert float(told.score) == pytest.approx(score, abs=5.001e-4)
    spent = opened.ledger.book.spent
    assert opened.submit("b", csv(np.where(rows > 4, 1e300, rows))) == TeamAnswer(score=told.score, left=100)
    assert opened.ledger.book.spent == spent
    assert "Not covered: guesses near a label that are not the label" in opened.certificate().sentences()[-1]
    opened.close()
    state = State.of(path)
    assert verify(state.ledger, derived(read_key(state.key), "chain")).faults == ()


@pytest.mark.parametrize("show", ["noise = 2.0", 'show = "records"', "low = 1.0\nhigh = 9.0"])
def test_values_have_noise_records_and_cuts(show: str, tmp_path: Path) -> None:
    opened = Board.init(board(tmp_path, "rmse" if "noise" in show else "mse", show), clock=StepClock())
    for at in range(3):
        told = opened.submit("a", csv(np.full(60, at / 2)))
        assert isinstance(told, TeamAnswer)
        assert 0 <= float(told.score) <= 25
    opened.close()


def test_ranks_of_scores_that_no_ledger_can_hold_are_refused_at_the_beginning(tmp_path: Path) -> None:
    """They are compared before they are cut: whether one of 10**8 fits into a row would have been up to the labels."""
    path = board(tmp_path, "mse", 'show = "ranks"\nhigh = 1.0', "values = [-1.0, 4000.0, 0.5]")
    with pytest.raises(InputError, match="scores of at most"):
        Board.init(path, clock=StepClock())


@pytest.mark.long
def test_every_metric_of_values_that_ships_is_one_of_a_board() -> None:
    from labelinf_scores.metrics.readings.registry import metric

    names = [item.descriptor.name for item in Host.load().catalogue(Kind.METRIC)]
    found = [name for name in names if name not in ("mean-loss", "weighted-log-loss") and metric(name).of_values]
    assert {"mae", "mse", "pinball", "r2", "rmse", "rmsle"} <= set(found)
    values = np.arange(30) % 3 * 2.0
    for name in found:
        part = BoardPart(labels="l", id="i", label="y", classes=["0", "2", "4"], metric=name, low=-9.0, high=9.0)
        taken, own = metric_of(Policy(board=part), Path()), metric(name)
        assert taken.minimise is not own.higher
        assert getattr(shipped, f"{name}|3")(values, values) == (1 if own.higher else 0)


@pytest.mark.slow
def test_a_metric_of_values_is_scored_in_a_child(tmp_path: Path) -> None:
    path = board(tmp_path, "r2", classes=f"{GRID}\nlow = -9.0\nhigh = 1.0")
    path.write_text(path.read_text() + "[limits]\nseconds = 60.0\n")
    opened = Board.init(path, clock=StepClock())
    told = opened.submit("a", csv((opened._labels.codes - 2) / 2))
    assert told == TeamAnswer(score=" 1.000", left=99)  # as wide as what is below zero
    opened.close()


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ("values = [0.0, 1.0]", "values must be three numbers"),
        ("values = [0.0, 1.0, 0.3]", "whole steps must lead"),
        ("values = [0.0, inf, 1.0]", "values must be three numbers"),
        ('values = [0.0, 1.0, 0.5]\nclasses = ["0", "1"]', "either classes or values"),
        ('classes = ["no", "yes"]', "must be numbers where a metric is of values"),
        ('classes = ["1", "1.00000000000000000001"]', "must be different numbers"),
        ("", "classes"),
    ],
)
def test_a_grid_that_is_none_is_refused(classes: str, said: str, tmp_path: Path) -> None:
    path = board(tmp_path, classes=classes)
    with pytest.raises(InputError, match=said):
        metric_of(read_policy(path), tmp_path)


def test_a_metric_that_scores_nothing_of_these_values_is_refused(tmp_path: Path) -> None:
    """Logarithms of what is below zero: every submission would be told that it could not be scored."""
    with pytest.raises(InputError, match="needs values that are not below zero"):
        Board.init(board(tmp_path, "rmsle", classes=f"{GRID}\nlow = 0.0\nhigh = 9.0"))


@pytest.mark.parametrize("metric", ["mse", "rmse"])
def test_sealed_scores_of_values_are_released_with_noise(metric: str, tmp_path: Path) -> None:
    """Of a root, which is no mean of numbers, the noise of the release is not counted."""
    path = board(tmp_path, metric)
    path.write_text(path.read_text().replace("counts_known = false", "") + "[final]\nscores = 2\nnoise = 3.0\n")
    opened = Board.init(path, clock=StepClock())
    for team in "ab":
        assert isinstance(opened.submit(team, csv(np.full(60, float(ord(team) % 4)))), TeamAnswer)
    assert [row["team"] for row in opened.release()] == ["a", "b"]
    opened.close()
    state = State.of(path)
    assert verify(state.ledger, derived(read_key(state.key), "chain")).faults == ()
    two = attrs.evolve(
        read_policy(path), board=BoardPart(labels="l", id="i", label="y", values=[0, 1, 1], metric=metric)
    )
    ratio = final_ratio(two, metric_of(two, tmp_path), Sizes(public=30, sealed=30))
    assert (ratio is None) is (metric == "rmse")


def test_a_label_off_the_grid_is_named_by_its_row_alone(tmp_path: Path) -> None:
    path = board(tmp_path)
    with (tmp_path / "labels.csv").open("a") as file:
        file.write("r99,0.77\n")
    with pytest.raises(InputError, match="row 62 and 0 others have a label that is no class") as told:
        Board.init(path)
    assert "0.77" not in str(told.value)
    assert read_policy(path).board.classes[:3] == ["-1.0", "-0.5", "0.0"]

"""What a scorer is said to agree with is found on made labels, and decides only which attacks are tried first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn import metrics

from labelinf_core.cli import main
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.errors import InputError
from labelinf_scores.game.agreement import Fit
from labelinf_scores.game.likeness import Likeness, likeness
from labelinf_scores.game.scorers import ImportedScorer
from labelinf_scores.game.scoring import ScorerFacts
from labelinf_scores.metrics.unnamed import Unnamed

N = 40
LABELS = np.random.default_rng(0).permutation(np.arange(N) < 16).astype(np.intp)
PART = np.random.default_rng(1).permutation(N) < 18
WEIGHTS = np.random.default_rng(2).uniform(0.5, 2, N)

Scores = Callable[[Any, Any], Any]


def found(score: Scores, labels: Any = LABELS, names: tuple[str, ...] = ("0", "1")) -> Likeness:
    facts = ScorerFacts(
        arithmetic="float64",
        clip=0.0,
        summation="unknown",
        input_format="float64",
        effects=(Unknown(stage="theirs"),),
    )
    data = LabelSet(labels=np.asarray(labels), class_names=names, title="made", provenance="made")
    return likeness(ImportedScorer(target="theirs:score", function=score, facts=facts), data, "theirs")


def costs(labels: Any, predictions: Any, clip: float = 1e-15) -> Any:
    rows = np.clip(predictions, clip, 1 - clip)
    rows = np.stack([1 - rows, rows], axis=1) if rows.ndim == 1 else rows
    return -np.log(rows[np.arange(len(labels)), labels])


def column(score: Scores) -> Scores:
    def scores(labels: Any, predictions: Any) -> float:
        if np.ndim(predictions) != 1:
            raise ValueError("one column")
        return float(score(labels, predictions))

    return scores


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (lambda y, p: costs(y, p).mean(), "log-loss on every one of 8 answers"),
        (lambda y, p: round(-costs(y, p).mean(), 4), "log-loss times -1 to 4 decimals on"),
        (lambda y, p: 3.7 * costs(y, p).mean() + 0.25, "log-loss times 3.7 plus 0.25 on"),
        (column(metrics.roc_auc_score), "roc-auc on"),
        (lambda y, p: metrics.roc_auc_score(y, p[:, 1]), "roc-auc on"),
        (column(lambda y, p: np.mean(y == (p > 0.5))), "accuracy on"),
    ],
)
def test_what_gives_every_answer_is_said(score: Scores, said: str) -> None:
    assert f"agrees with {said}" in found(score).sentence()


@pytest.mark.parametrize(
    "score",
    [
        lambda y, p: np.average(costs(y, p), weights=WEIGHTS),
        lambda y, p: float(np.max(costs(y, p))),
        column(lambda y, p: metrics.roc_auc_score(y, p, max_fpr=0.4)),
        column(lambda y, p: 0.5 * metrics.roc_auc_score(y, p) + 0.5 * np.mean((y - p) ** 2)),
    ],
)
def test_what_is_not_quite_a_metric_is_called_none(score: Scores) -> None:
    learnt = found(score)
    assert learnt.name == ""
    assert isinstance(learnt.metric, Unnamed)
    assert "agrees with no metric that ships" in learnt.sentence()


@pytest.mark.parametrize("clip", [1e-15, 1e-6, 0.01])
def test_certainty_is_planned_with_no_further_than_it_is_charged(clip: float) -> None:
    assert clip <= found(lambda y, p: costs(y, p, clip).mean()).clip <= 1e3 * clip


def test_private_labels_are_never_shown_to_it() -> None:
    seen: list[bytes] = []

    def score(labels: Any, predictions: Any) -> float:
        seen.append(labels.tobytes())
        return float(costs(labels, predictions).mean())

    found(score)
    assert LABELS.tobytes() not in seen
    assert len(seen) < 200


def test_nothing_of_it_is_known_to_a_bound() -> None:
    data = LabelSet(labels=LABELS, class_names=("0", "1"), title="made", provenance="made")
    for score in (lambda y, p: costs(y, p).mean(), lambda y, p: np.average(costs(y, p), weights=WEIGHTS)):
        threat = found(score).threat(data, 30)
        assert not threat.known
        assert "theirs" in threat.undeclared


def test_which_records_are_scored_is_seen_where_every_one_of_them_always_counts() -> None:
    learnt = found(lambda y, p: costs(y[PART], p[PART]).mean())
    assert np.array_equal(learnt.scored, PART)
    assert "18 of 40 records are scored, as far as was seen" in learnt.sentence()
    assert found(column(lambda y, p: np.median(np.abs(y - p)))).scored.all()


def drawn(labels: Any, predictions: Any, rng: Any = np.random.default_rng(3)) -> float:  # noqa: B008
    return float(costs(labels, predictions).mean() + rng.normal())


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (drawn, "answers one question in several ways, so that it draws or keeps state"),
        (lambda y, p: 0.5, "all answers that were tried are the same"),
        (lambda y, p: float(np.mean(p)), "do not depend on the labels that it is given"),
        (lambda y, p: costs(LABELS, p).mean(), "do not depend on the labels that it is given"),
    ],
)
def test_what_draws_or_tells_nothing_is_said_to(score: Scores, said: str) -> None:
    assert said in found(score).sentence()


def test_classes_are_called_as_it_calls_them() -> None:
    def named(labels: Any, predictions: Any) -> float:
        if labels.dtype.kind != "U":
            raise TypeError("names")
        return float(np.mean(labels == predictions))

    assert "agrees with accuracy on" in found(named, names=("ham", "spam")).sentence()
    assert "labels as class names" in found(named, names=("ham", "spam")).sentence()


def test_what_takes_no_submission_is_told_what_was_sent_and_what_to_do() -> None:
    def wants_more(labels: Any, predictions: Any) -> float:
        raise KeyError("class 1 of record 3")

    with pytest.raises(InputError, match="made labels with one number, 2 columns or a class a record") as told:
        found(wants_more)
    assert "labelinf audit grader" in str(told.value)
    assert "record 3" not in str(told.value)


def test_a_rounding_hides_no_scale_and_five_answers_are_few() -> None:
    own = np.array([0.1, 0.2, 0.3, 0.4, 0.55, 0.7])
    assert Fit.of(own, np.round(3.3 * own + 0.2, 1), many=60) is None
    assert Fit.of(own, np.round(own, 1), many=60) == Fit(decimals=1)
    wide = np.array([0.0121049, 0.138471, 1.29437, 12.3456, 3.45721])
    assert Fit.of(wide, np.array([0.0121, 0.138, 1.29, 12.3, 3.46]), many=60) == Fit(digits=3)


BOARD = """
import numpy as np

W = 1 + np.arange(30) / 30

def weighed(labels, predictions):
    return float(np.average(np.abs(labels - predictions[:, 1]), weights=W))
"""


@pytest.mark.long
def test_a_board_without_a_name_is_played_by_running_it(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was played on what nothing explained; now what knows no metric reads it, and the others say why not."""
    (tmp_path / "noname.py").write_text(BOARD)
    (tmp_path / "y.csv").write_text("label\n" + "0\n1\n1\n" * 10)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    game = ("--scorer", "noname:weighed", "--labels", "y.csv")

    run = CliRunner().invoke(main, ["attack", "simulate", *game])
    assert (run.exit_code, "recovered  30 of 30 labels" in run.stdout) == (0, True), run.output
    run = CliRunner().invoke(main, ["attack", "hybrid", *game])
    assert "needs a metric that ships, and the scorer agrees with none" in " ".join(run.output.split())
    (tmp_path / "one.toml").write_text(
        '[[matrix]]\nchannel = "score"\nlabels = ["y.csv"]\nattacks = ["simulate(simulations=20)"]\ndefences = [[]]\n'
    )
    suite = ("matrix", "one.toml", *game, "--fail-on", "broken", "--out", "run", "--workers", "0", "--trials", "1")
    run = CliRunner().invoke(main, suite)
    assert run.exit_code == 3, run.output
    assert "an attack on it that fails shows nothing" in " ".join(run.output.split())

"""A scorer in any language, over JSON lines."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.game.scoring import Query
from labelinf_scores.metrics.brier import Brier

BRIER = """
import json, sys
for line in sys.stdin:
    game = json.loads(line)
    errors = [(row[1] - label) ** 2 for label, row in zip(game["labels"], game["predictions"])]
    print(json.dumps({"score": sum(errors) / len(errors)}), flush=True)
"""


def program(tmp_path: Path, source: str) -> str:
    path = tmp_path / "scorer.py"
    path.write_text(source)
    return f"cmd:{sys.executable} {path}"


def ask(name: str) -> float:
    scorer = make_scorer(name, Brier(), 2)
    predictions = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    return float(scorer.score(np.array([0, 1, 1]), Query(predictions=predictions)))


def test_a_program_scores_line_by_line(tmp_path: Path) -> None:
    name = program(tmp_path, BRIER)

    assert [ask(name), ask(name)] == pytest.approx([(0.01 + 0.04 + 0.25) / 3] * 2)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param("print('hello', flush=True)", "answered a line of 6 characters", id="no-json"),
        pytest.param("print('{\"loss\": 1}', flush=True)", "must answer every line with one such as", id="no-score"),
        pytest.param("raise SystemExit(3)", "has ended", id="ended"),
        pytest.param("print('{\"score\": NaN}', flush=True)", "answered a number that is not finite", id="nan"),
    ],
)
def test_a_program_that_answers_nonsense_is_one_sentence(tmp_path: Path, source: str, said: str) -> None:
    name = program(tmp_path, f"import sys\nsys.stdin.readline()\n{source}\nsys.stdin.readline()\n")

    with pytest.raises(InputError, match=said):
        ask(name)


def test_a_program_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"scorer 'cmd:no-such-program' cannot be started"):
        ask("cmd:no-such-program")


def test_a_long_answer_is_not_quoted_because_it_may_hold_the_labels() -> None:
    scorer = make_scorer("cmd:cat", Brier(), 2)

    with pytest.raises(InputError) as caught:
        scorer.score(np.array([0, 1, 1, 0]), Query(predictions=np.full(4, 0.5)))
    assert "answered a line of" in str(caught.value)
    assert "[0, 1" not in str(caught.value)

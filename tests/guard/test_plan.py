"""What ``plan`` says honest teams lose is what they lose, and its page is drawn without anything from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_guard.commands import guard
from labelinf_guard.plan import PlanQuestion, table
from labelinf_guard.recommendation import ContestSpread, honest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "guard.py"


@pytest.fixture(scope="module")
def study(loaded: Callable[[Path], ModuleType]) -> ModuleType:
    return loaded(BENCHMARK)


def _agrees(
    found: np.ndarray, said: tuple[ContestSpread, ContestSpread], least: tuple[float, float] = (0.03, 0.3)
) -> None:
    """Means of contests beside the plan's, within four standard errors and what normal errors of teams neglect.

    Of few contests the spread is known badly: ``least`` is what it is taken for at least.
    """
    error = np.maximum(found.std(axis=0, ddof=1), least) / math.sqrt(len(found))
    assert abs(found[:, 0].mean() - said[0].mean) <= 4 * error[0] + 0.02
    assert abs(found[:, 1].mean() - said[1].mean) <= 4 * error[1] + 0.1


@pytest.mark.long
def test_honest_teams_lose_what_the_plan_says_on_boards_that_are_played(study: ModuleType, tmp_path: Path) -> None:
    """Small boards, a fifth public: two contests of 40 teams through every step of a board."""
    rng = np.random.default_rng(1)
    policy = "[public]\nshare = 0.2\n"
    found = np.array([study.played(600, policy, rng, tmp_path / str(at)) for at in range(2)])
    # A board draws its public records itself: ten contests had a spread of .12 and .8, which two do not show.
    _agrees(found, honest(600, 0.2, 0.0, 3), least=(0.12, 0.8))


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 1])
def test_honest_teams_of_larger_boards_too(study: ModuleType, tmp_path: Path, at: int) -> None:
    rng = np.random.default_rng(2)
    _, share, noise, decimals, policy = study.STUDIES[at]
    found = np.array([study.played(3000, policy, rng, tmp_path / str(contest)) for contest in range(6)])
    _agrees(found, honest(3000, share, noise, decimals))


def test_marks_of_honest_teams() -> None:
    """Kendall .88 +- .05 at 25 000 labels of which a fifth is public; .98 at 100 000, 1 000 answers, noise .0006."""
    assert honest(25_000, 0.2, 0.0, 4)[0].mean == pytest.approx(0.88, abs=0.02)
    assert honest(100_000, 1.0, 0.0006, 6)[0].mean == pytest.approx(0.98, abs=0.01)
    assert honest(25_000, 0.2, 0.0, 4)[1].mean == pytest.approx(0.6, abs=0.15)


def test_the_benchmark_prints_the_marks_of_the_certificate(
    study: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    study.marks()
    said = capsys.readouterr().out
    for mark in (
        ": 10.0 points over a perfect model",
        "class counts known: 10.2 (over one that knows them)",
        "of the rest: 18.0",
        "0.5: 26 (24 with counts known)",
        "0.86: 94 (92 with counts known)",
        "0.93: 204 (202 with counts known)",
        "s = 0.0159\n",
        "s = 0.0043\n",
        "s = 0.0019\n",
        "0.691, one label's move 0.599",
        "20 answers: 53.7 %",
        "tau 0.88",
        "noise 0.0006: tau 0.98",
    ):
        assert mark in said


@pytest.mark.long
def test_every_policy_is_in_the_plan_and_569_labels_are_void() -> None:
    rows = table(PlanQuestion(records=25_000, teams=10))
    for word in ("public", "noise", "ledger", "replaced", "record of all teams", "final release", "ranks", "nothing"):
        assert any(word in row.policy for row in rows), word
    (best,) = [row for row in rows if row.recommended]
    kept = [row.kendall.mean for row in rows if row.kendall and "ranks" not in row.policy]
    assert best.kendall is not None
    assert best.kendall.mean == max(kept)
    ranks = next(row for row in rows if "ranks" in row.policy)
    assert not ranks.recommended
    small = table(PlanQuestion(records=569, teams=100))
    (poor,) = [row.worth for row in small if row.recommended]
    assert poor is not None
    assert "most of that order is chance" in "\n".join(poor.lines())
    assert small[-1].proves is None


def test_a_target_that_all_labels_may_be_public_for_is_planned_without_a_final_release() -> None:
    rows = table(PlanQuestion(records=5_000, teams=1, submissions=10, gain=0.3))
    assert any(row.recommended for row in rows)
    assert not any("final release" in row.policy for row in rows)


@pytest.mark.long
def test_a_plan_is_drawn_as_a_page_of_its_own(tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    asked = ["plan", "--records", "25000", "--teams", "10", "--html", str(page)]
    assert CliRunner().invoke(guard, asked, catch_exceptions=False).exit_code == 0
    text = page.read_text()
    assert text.count("<svg") == 2
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "(recommended)" in text
    refused = CliRunner().invoke(guard, [*asked[:-1], str(tmp_path / "none" / "plan.html")])
    assert refused.exit_code != 0
    assert "cannot be written" in refused.output


def test_a_policy_that_proves_nothing_is_called_void_where_its_point_is_missing(tmp_path: Path) -> None:
    """It had no point in the picture, which looks like no leak at all; and a long name moved its figures."""
    page = tmp_path / "plan.html"
    asked = ["plan", "--records", "25000", "--teams", "200", "--html", str(page)]

    done = CliRunner().invoke(guard, asked, catch_exceptions=False)

    rows = [line for line in done.output.splitlines() if line.startswith("then")]
    assert len({len(row) for row in rows}) == 1
    assert ">7 void</text>" in page.read_text()
    assert "(void: nothing is proved)" in page.read_text()

"""The scorers that an attack without metrics is measured on: each answers, has a source and hides its name."""

from __future__ import annotations

import importlib.util
import inspect
import pickle
import sys
from collections import Counter
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "scorers"
RECORDS = 60


def load() -> ModuleType:
    """Import the package without the other scripts beside it."""
    spec = importlib.util.spec_from_file_location("scorers", FOLDER / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scorers"] = module
    spec.loader.exec_module(module)
    return module


ZOO = load()
SEEDS = range(30)
EACH = [pytest.param(one, id=one.name) for one in ZOO.SCORERS] + [
    pytest.param(ZOO.drawn(np.random.default_rng(seed)), id=f"drawn {seed}") for seed in SEEDS
]


def drawn_game(one: Any, seed: int) -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(seed)
    return one.truth(RECORDS, rng), [one.sample(RECORDS, rng) for _ in range(4)]


def answers(one: Any, y: Any, xs: list[Any], seed: int = 0) -> bytes:
    """Return the bytes of all that a fresh board answers, refusals too."""
    board, told = one.fresh(np.random.default_rng(seed)), []
    for x in xs:
        try:
            told.append(board(y, x))
        except (AssertionError, ValueError) as refusal:
            told.append(str(refusal))
    return pickle.dumps(told)


def test_the_list_is_long_and_covers_every_row_of_the_marks() -> None:
    names = Counter(one.name for one in ZOO.SCORERS)
    assert len(ZOO.SCORERS) >= 60
    assert max(names.values()) == 1
    assert {one.family for one in ZOO.SCORERS} == set(ZOO.FAMILIES) - {"drawn"}
    assert all(len(one.source) > 10 for one in ZOO.SCORERS)


@pytest.mark.parametrize("one", EACH)
def test_it_answers_its_own_samples(one: Any) -> None:
    y, xs = drawn_game(one, seed=1)
    assert len(y) == len(xs[0]) == RECORDS
    told = pickle.loads(answers(one, y, xs))
    assert len(told) == len(xs)
    assert not any(isinstance(each, float) and not np.isfinite(each) for each in told)


@pytest.mark.parametrize("one", EACH)
def test_it_answers_the_same_twice_or_says_that_it_draws(one: Any) -> None:
    y, xs = drawn_game(one, seed=2)
    assert answers(one, y, xs, seed=0) == answers(one, y, xs, seed=0)
    assert (answers(one, y, xs, seed=0) != answers(one, y, xs, seed=1)) == one.noisy


@pytest.mark.parametrize("one", EACH)
def test_labels_move_it_unless_nothing_can_be_read(one: Any) -> None:
    moved = False
    for seed in range(3, 8):
        y, xs = drawn_game(one, seed)
        other = one.truth(RECORDS, np.random.default_rng(100 + seed))
        moved = moved or answers(one, y, xs) != answers(one, other, xs)
    assert moved == (one.name not in {"constant", "random numbers"})


@pytest.mark.parametrize("one", EACH)
def test_the_opaque_form_shows_no_name(one: Any) -> None:
    scorer = one.opaque(np.random.default_rng(0))
    assert list(inspect.signature(scorer).parameters) == ["y", "x"]
    assert type(scorer).__doc__ is None
    assert not hasattr(scorer, "__name__")
    shown = f"{scorer!r} {type(scorer)!r} {scorer.__call__!r} {type(scorer).__call__!r}"
    for word in (one.name, one.name.replace(" ", "_"), "scorers", *(module.__name__ for module in ZOO._MODULES)):
        assert word not in shown


def test_a_copy_of_a_board_has_its_state_and_goes_its_own_way() -> None:
    one = next(one for one in ZOO.SCORERS if one.name == "improved or not")
    y, board = np.array([0, 1, 1, 0]), one.opaque(np.random.default_rng(0))
    assert board(y, np.array([0, 1, 0, 1])) == "improved"
    copy = deepcopy(board)
    assert copy(y, np.array([0, 1, 1, 0])) == "improved"
    assert copy(y, np.array([0, 1, 1, 1])) == "not an improvement"
    assert board(y, np.array([0, 1, 1, 1])) == "improved"
    assert one.call(y, 1 - y) == "improved"


def test_what_cannot_be_read_is_the_same_for_other_labels() -> None:
    """Reversed or renamed labels answer alike, totals alone tell no record: no attack tells these apart."""
    rng, found = np.random.default_rng(9), {one.name: one for one in ZOO.SCORERS if not one.readable}
    for name, one in found.items():
        y, x = one.truth(RECORDS, rng), one.sample(RECORDS, rng)
        other = rng.permutation(y) if name == "totals alone" else len(one.labels) - 1 - y
        assert one.fresh(np.random.default_rng(0))(y, x) == pytest.approx(one.fresh(np.random.default_rng(0))(other, x))

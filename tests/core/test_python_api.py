"""``import labelinf as li``: functions that cost nothing until they are called."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import labelinf as li
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Verdict


def half_off(labels: np.ndarray, predictions: np.ndarray) -> float:
    """Mean log-loss, as a user would write it."""
    return float(np.mean(-np.log(np.where(labels == 1, predictions, 1 - predictions))))


def test_importing_it_imports_nothing() -> None:
    code = "import sys; old = set(sys.modules); import labelinf; print(*{*sys.modules} - old)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert {name.partition(".")[0] for name in done.stdout.split()} - set(sys.stdlib_module_names) == {"labelinf"}


def test_a_users_own_function_is_attacked_on_their_own_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or type(sys)(__name__))
    monkeypatch.setattr(sys.modules[__name__], "half_off", half_off, raising=False)
    y = np.array(["spam", "ham", "ham", "spam", "ham", "spam", "spam"] * 5)

    found = li.matrix(y, scorer=half_off, attacks=["prime-blocks"], trials=1)

    assert [result.cell.shown.pipeline for result in found.cells] == ["none"]
    assert found.cells[0].accuracy is not None
    assert (found.cells[0].accuracy.value, found.cells[0].verdict) == (1.0, Verdict.BROKEN_OBSERVED)
    assert found.cells[0].labels.class_names == ("ham", "spam")


def test_a_nameless_scorer_is_one_sentence() -> None:
    with pytest.raises(InputError, match="scorer must be a function with a name"):
        li.matrix([0, 1, 1], scorer=lambda labels, predictions: 0.0)


@pytest.mark.slow
def test_the_strongest_attacks_are_played_when_none_is_named_and_a_run_is_read_again(tmp_path: Path) -> None:
    found = li.matrix([0, 1, 1, 0, 1] * 4, scorer="float64", queries=30, trials=1)

    assert len(found.cells) > 3
    assert max(result.accuracy.value for result in found.cells if result.accuracy) == 1.0
    with pytest.raises(InputError):
        li.load(tmp_path / "nowhere")


def test_theory_without_playing() -> None:
    assert li.bounds(records=10, shares=(0.7, 0.3)).baseline == 0.7
    with pytest.raises(InputError, match="either how many labels there are"):
        li.bounds()

"""The shell completes names of components, suites and tables, and never fails where nothing fits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.shell_completion import ShellComplete

from labelinf_core.cli import main


def offered(*words: str) -> list[str]:
    *before, last = words
    found = ShellComplete(main, {}, "labelinf", "_LABELINF_COMPLETE").get_completions(before, last)
    return [item.value for item in found]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("attack", "binary-w"), "binary-weights"),
        (("matrix", "--attack", "hadam"), "hadamard"),
        (("matrix", "qui"), "quick"),
        (("matrix", "--channel", "gr"), "gradient"),
        (("bounds", "--defence", "randomised-r"), "randomised-response"),
        (("advise", "--metric", "f"), "f1"),
        (("bounds", "--labels", "breast"), "breast-cancer"),
        (("reproduce", "blia-in"), "blia-in-kind"),
        (("theorems", "S1"), "S16"),
        (("plugins", "show", "binary-w"), "binary-weights"),
        (("plugins", "check", "sc"), "scores"),
        (("audit", "log", "--metric", "roc"), "roc-auc"),
        (("matrix", "-p", "no:out"), "no:outputs"),
        (("audit", "outputs", "--attack", "lia-"), "lia-threshold"),
    ],
)
def test_what_is_installed_is_offered(words: tuple[str, ...], name: str) -> None:
    assert name in offered(*words)
    assert all(found.startswith(words[-1]) for found in offered(*words))


def test_where_nothing_fits_nothing_or_a_file_is_offered() -> None:
    assert offered("attack", "no-such") == []
    assert offered("matrix", "--labels", "no-such") == ["no-such"]


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "outputs"),
        ("audit", "outputs", "--seal"),
        ("audit", "log", "--scores"),
    ],
)
def test_where_a_file_is_meant_files_are_offered(words: tuple[str, ...]) -> None:
    """The shell offered nothing, as for a word of one's own."""
    found = ShellComplete(main, {}, "labelinf", "_LABELINF_COMPLETE").get_completions(list(words), "pre")

    assert [item.type for item in found] == ["file"]


def test_columns_of_the_named_file_are_offered(tmp_path: Path) -> None:
    table, arrays = tmp_path / "y.csv", tmp_path / "y.npz"
    table.write_text("id;outcome;out of hours\n1;0;2\n")
    np.savez(arrays, labels=[0, 1], features=[[0.0], [1.0]])

    assert offered("matrix", "--labels", str(table), "--column", "out") == ["outcome", "out of hours"]
    assert offered("bounds", "--labels", str(table), "--features", "id,outc") == ["id,outcome"]
    assert offered("attack", "--labels", str(arrays), "--column", "") == ["labels", "features"]
    assert offered("plant", str(table), "--column", "i") == ["id"]
    assert offered("audit", "log", "--labels", str(table), "--column", "i") == ["id"]
    for nothing in ("breast-cancer", str(tmp_path / "none.csv"), str(tmp_path)):
        assert offered("matrix", "--labels", nothing, "--column", "") == []
    arrays.write_bytes(b"no archive")
    assert offered("matrix", "--labels", str(arrays), "--column", "") == []

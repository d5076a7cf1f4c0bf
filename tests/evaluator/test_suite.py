"""A suite file is read, or its faults are told with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.suite import read_suite, shipped_suites
from labelinf_core.plugin.host import Host

HOST = Host.load()

GOOD = """
trials = 5
[[matrix]]
labels = "breast-cancer"
attacks = "majority"
defences = ["none", ["clip", "round(decimals=4)"], { name = "round", decimals = 3 }]
loss = "log-loss"
queries = [10, 20]
"""


def written(folder: Path, text: str) -> str:
    path = folder / "my suite.toml"
    path.write_text(text)
    return str(path)


def test_a_suite_is_read(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, GOOD), HOST)

    (matrix,) = suite.matrix
    assert (suite.title, suite.trials, suite.seed) == ("my suite", 5, 0)
    assert (matrix.labels, matrix.attacks, matrix.home(HOST)) == (["breast-cancer"], ["majority"], "score")
    assert matrix.defences[1:] == [["clip", "round(decimals=4)"], {"name": "round", "decimals": 3}]
    assert matrix.settings == {"loss": "log-loss", "queries": [10, 20]}


def test_the_quick_suite_is_shipped() -> None:
    assert "quick" in shipped_suites(HOST)
    assert read_suite("quick", HOST).matrix


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("trials = ]", "is not valid TOML: Invalid value (at line 1, column 10)."),
        ("trials = 5", ": matrix: is missing."),
        ("matrix = []", ": matrix must not be empty"),
        ("matrix = [3]", ": matrix[0]: "),
        ("trails = 5\n" + GOOD, ": unknown parameter 'trails'; did you mean 'trials'?"),
        (GOOD.replace("trials = 5", "trials = 0"), ": trials=0 must be >= 1"),
        (GOOD.replace("trials = 5", "trials = '5'"), ": trials: expected int, got '5'"),
        (GOOD.replace("trials = 5", "seed = -1"), ": seed=-1 must be >= 0"),
        (GOOD.replace("labels", "lables"), ": matrix[0].labels: is missing."),
        (GOOD.replace('"majority"', "[]"), ": matrix[0]: attacks must not be empty"),
    ],
)
def test_a_malformed_suite_is_told_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    name = written(tmp_path, text)

    with pytest.raises(InputError) as caught:
        read_suite(name, HOST)

    assert str(caught.value).startswith(name)
    assert message in str(caught.value)


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_suite(written(tmp_path, GOOD.replace("trials = 5", "trials = 'x'\nseed = 'y'")), HOST)

    assert len(str(caught.value).splitlines()) == 2


def test_a_missing_suite_names_the_shipped_ones() -> None:
    with pytest.raises(InputError, match=r"there is no suite file 'nosuch'; shipped suites are .*quick"):
        read_suite("nosuch", HOST)


def test_a_directory_is_no_suite(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_suite(str(tmp_path), HOST)


def test_a_suite_must_be_text(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(InputError, match="not text in UTF-8"):
        read_suite(str(path), HOST)

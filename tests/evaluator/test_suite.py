"""A suite file is read, or its faults are told with their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.suite import read_suite, shipped_suites
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.testing import CheckOutcome, run_checks

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


FAULTY_PARTS = """
from importlib import resources
from labelinf_core import hookimpl
from labelinf_core.plugin.descriptors import SuitePart
labelinf_contract = 2

@hookimpl
def labelinf_suites():
    return [SuitePart(suite="quick", file="faulty_suites:missing.toml"),
            SuitePart(suite="quick", file="faulty_suites:unknown.toml")]
"""
UNKNOWN = '[[matrix]]\nchannel = "score"\nlabels = "made"\nattacks = ["nobody-has-this"]\ndefences = ["none"]\n'


def test_a_faulty_part_of_a_suite_costs_its_own_cells_and_is_named_and_checked(
    install_fake: Callable[..., Path],
) -> None:
    """One bad table of an installed plugin, and nobody could play the suites that it adds to."""
    plain = make_plan(read_suite("quick", Host.load()), Builder(Host.load()), "quick")
    site = install_fake("faulty", entry="faulty", module="faulty_p", source=FAULTY_PARTS)
    (site / "faulty_suites").mkdir()
    (site / "faulty_suites" / "__init__.py").touch()
    (site / "faulty_suites" / "unknown.toml").write_text(UNKNOWN)
    host = Host.load()

    plan = make_plan(read_suite("quick", host), Builder(host), "quick")

    assert [cell.contest for cell in plan.cells] == [cell.contest for cell in plain.cells]
    missing, unknown = plan.left_out
    assert "faulty_suites:missing.toml" in missing
    assert unknown.startswith("faulty_suites:unknown.toml: matrix[")
    assert "no attack is called 'nobody-has-this'" in unknown
    (broken,) = [check for check in run_checks("faulty", host) if check.outcome is CheckOutcome.FAILED]
    assert broken.check == "plugin:faulty:suites-are-played"

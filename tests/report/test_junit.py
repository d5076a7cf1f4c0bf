"""A continuous-integration server reads leaks as failures, faults as errors, and refusals as skipped."""

from __future__ import annotations

import json
from collections.abc import Callable
from xml.etree import ElementTree as ET

import attrs
import pytest

from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.evaluator.records import Status
from labelinf_core.evaluator.results import Results
from labelinf_core.report.junit import as_junit
from labelinf_core.report.sarif import as_sarif

Played = Callable[..., Results]
ATTACKS = ["fake-reader", "fake-constant", "fake-raises", "fake-picky", "fake-liar"]


@pytest.fixture
def results(played: Played) -> Results:
    return played(ATTACKS, ["none"])


def cases(results: Results) -> dict[str, set[str]]:
    root = ET.fromstring(as_junit(results))
    return {case.get("name", "").partition("(")[0]: {child.tag for child in case} for case in root.iter("testcase")}


@pytest.mark.long
def test_each_outcome_has_its_word(results: Results) -> None:
    verdicts = {result.cell.shown.attack.partition("(")[0]: result.verdict for result in results.cells}
    told = cases(results)

    assert verdicts["fake-reader"] is Verdict.BROKEN_OBSERVED
    assert verdicts["fake-liar"] is Verdict.CONTRADICTION
    assert told == {
        "fake-reader": {"failure"},
        "fake-constant": set(),
        "fake-raises": {"error"},
        "fake-picky": {"skipped"},
        "fake-liar": {"error"},
    }


def test_the_counts_agree(results: Results) -> None:
    (suite,) = ET.fromstring(as_junit(results)).iter("testsuite")

    counts = {name: int(suite.get(name, "")) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": 5, "failures": 1, "errors": 2, "skipped": 1}


def test_a_message_with_forbidden_characters_is_still_xml(results: Results) -> None:
    broken = attrs.evolve(results.cells[0].implied, status=Status.ERROR, message="a\x00b<&\x1b[31m")
    odd = attrs.evolve(results, cells=(attrs.evolve(results.cells[0], implied=broken),))

    (error,) = ET.fromstring(as_junit(odd)).iter("error")
    assert error.get("message", "").endswith("a�b<&�[31m")


def test_what_shows_nothing_is_an_error_here_and_a_note_for_a_code_host(results: Results) -> None:
    (cell,) = (item for item in results.cells if item.cell.shown.attack.startswith("fake-constant"))
    cell = attrs.evolve(cell, verdict=Verdict.UNTESTED, tally=attrs.evolve(cell.tally, doubt="it is a guess"))
    doubted = attrs.evolve(results, cells=(cell,))

    assert cases(doubted) == {"fake-constant": {"error"}}
    (noted,) = json.loads(as_sarif(doubted))["runs"][0]["results"]
    assert (noted["level"], "it is a guess" in noted["message"]["text"]) == ("note", True)

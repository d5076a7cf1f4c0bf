"""A check that is known to fail says why, is counted, and must really fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelinf_core.contracts.errors import UnknownNameError
from labelinf_core.plugin.host import Host
from labelinf_core.testing import CheckOutcome, checks_of, run_checks

PLAYED, REFERENCED = "attack:fake-raises:guesses-every-record", "attack:fake-raises:has-a-reference"


@pytest.fixture
def host(fakes: Path) -> Host:
    return Host.load()


def test_a_known_failure_is_told_with_its_reason_and_a_mended_one_is_a_failure(host: Host) -> None:
    expected = {PLAYED: "it raises by design", REFERENCED: "none was written"}
    checks = {str(check): check for check in checks_of("fakes", host, expected_failures=expected)}

    known, mended = checks[PLAYED].result(), checks[REFERENCED].result()

    assert (known.outcome, known.reason) == (CheckOutcome.EXPECTED, "it raises by design")
    assert mended.outcome is CheckOutcome.FAILED
    assert mended.reason == "it is kept, though it was expected to be broken: none was written"


def test_a_check_that_does_not_exist_cannot_be_expected_to_fail(host: Host) -> None:
    with pytest.raises(UnknownNameError, match="has no check 'attack:fake-raises:flies'"):
        run_checks("fakes", host, expected_failures={"attack:fake-raises:flies": "it has no wings"})

"""One table of exit statuses, for every command."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from click.testing import Result

from labelinf_core.contracts.exits import TABLE, Exit
from labelinf_core.evaluator.records import Trial
from labelinf_core.evaluator.store import Store

Labelinf = Callable[..., Result]

ROOT = Path(__file__).parents[2]
ON = ["--workers", "0", "--labels", "fake-labels", "--trials", "1"]


def test_the_table_stands_in_the_help_and_in_the_docs(labelinf: Labelinf) -> None:
    shown = " ".join(labelinf("--help").stdout.split())
    page = (ROOT / "docs" / "exit-codes.md").read_text()

    assert TABLE in shown
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == [code.value for code in Exit]
    assert [int(code) for code in re.findall(r"\b(\d+) [a-z]", TABLE)] == [code.value for code in Exit]


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["matrix", "small.toml", *ON, "--only", "fake-reader/none"], Exit.DONE),
        (["matrix", "small.toml", *ON, "--only", "fake-reader/none", "--fail-on", "broken"], Exit.FOUND),
        (["matrix", "small.toml", *ON, "--attack", "fake-raises", "--only", "fake-raises/none"], Exit.INCOMPLETE),
        (["matrix", "no-such.toml"], Exit.INPUT),
        (["attack", "fake-raises", "--labels", "fake-labels"], Exit.INCOMPLETE),
        (["attack", "fake-dies", "--labels", "fake-labels"], Exit.INCOMPLETE),
        (["matrix", "small.toml", *ON, "--attack", "fake-dies", "--only", "fake-dies/none"], Exit.INCOMPLETE),
        (["attack", "fake-reader", "--labels", "fake-labels"], Exit.DONE),
        (["advise", "--records", "20", "--target", "epsilon<=0.1", "--only", "decimals"], Exit.INCONCLUSIVE),
        (["bounds", "--records", "20"], Exit.DONE),
        (["bounds"], Exit.INPUT),
        (["report", "nowhere"], Exit.INPUT),
        (["plugins", "check", "nobody"], Exit.INPUT),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, list) else value.name,
)
def test_what_a_status_means(labelinf: Labelinf, suite: str, arguments: list[str], status: Exit) -> None:
    assert labelinf(*arguments).exit_code == status


@pytest.mark.long
def test_a_run_that_is_stopped_says_so(labelinf: Labelinf, suite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("labelinf_core.evaluator.run.run", stop)

    assert labelinf("matrix", suite, "--workers", "0").exit_code == Exit.INTERRUPTED


@pytest.mark.long
def test_a_disk_that_is_full_in_mid_run_leaves_a_run_incomplete(
    labelinf: Labelinf, suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something was played, so it is no mistake in what was given."""
    keep = Store.keep_trial

    def fill(store: Store, cell: str, number: int, trial: Trial) -> None:
        store._connection.execute("PRAGMA max_page_count = 1")
        keep(store, cell, number, attrs.evolve(trial, message="x" * 1_000_000))

    monkeypatch.setattr(Store, "keep_trial", fill)
    done = labelinf("matrix", suite, "--workers", "0")

    assert done.exit_code == Exit.INCOMPLETE
    assert "the run record cannot be written any more" in done.stderr

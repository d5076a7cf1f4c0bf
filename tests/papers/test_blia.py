"""``labelinf reproduce blia-tables``."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest
from click.testing import CliRunner

from labelinf_core.cli.reproduce import reproduce
from labelinf_core.contracts.errors import PluginError, UnknownNameError
from labelinf_core.plugin.descriptors import Reference
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.reproductions import Reproduction
from labelinf_papers.published.blia_in_kind import Scale, blia_in_kind


def cli(*arguments: str) -> Any:
    @click.group()
    def main() -> None:
        pass

    main.add_command(reproduce)
    return CliRunner().invoke(main, ["reproduce", *arguments])


def test_it_lists_what_can_be_computed_again() -> None:
    listed = cli().output

    assert "blia-tables" in listed
    assert "Khan et al., BLIA, 2025" in listed


@pytest.mark.long
def test_it_prints_the_counts() -> None:
    printed = cli("blia-tables").output

    for line in (
        "above one half at 1 %: 37",
        "above one half at 1 %, Holm: 33",
        "not above one half as printed: 7",
        "above the label-DP ceiling at 1 %: 15",
        "above the label-DP ceiling at 1 %, Holm: 14",
    ):
        assert line in printed


def test_it_speaks_json() -> None:
    report = json.loads(cli("blia-tables", "--json").output)

    assert len(report["tables"][0]["rows"]) == 84
    assert len(report["tables"][1]["rows"]) == 15
    assert report["remarks"][0] == {"says": "entries", "value": 84}


def test_an_unknown_name_is_one_sentence() -> None:
    result = cli("tables")

    assert isinstance(result.exception, UnknownNameError)
    assert "no reproduction is called 'tables'. Known are " in str(result.exception)
    assert "blia-in-kind, blia-tables" in str(result.exception)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no_such_module:f", "cannot be imported"),
        ("time:time", "must return a Reproduced, got float"),
        ("math:ceil2", "cannot be imported"),
    ],
)
def test_a_faulty_reproduction_is_the_plugins_fault(target: str, message: str) -> None:
    faulty = Reproduction(name="x", summary="-", reference=Reference(work="w", statement="s"), target=target)

    with pytest.raises(PluginError, match=message):
        faulty.run()


def test_a_plugin_that_yields_something_else_is_named(install_fake: Any) -> None:
    source = (
        "from labelinf_core import hookimpl\nlabelinf_contract = 2\n"
        "@hookimpl\ndef labelinf_reproductions():\n    yield 'a table'\n"
    )
    install_fake("labelinf-odd", entry="odd", module="odd_plugin", source=source)

    with pytest.raises(PluginError, match="labelinf_reproductions must yield Reproduction objects, got str"):
        Host.load(strict=True).reproductions()


@pytest.mark.slow
def test_blia_in_kind_trains_and_finds_what_theory_says() -> None:
    """A small one: no honest attack above its ceiling, a loss that tells labels nobody saw, copies that tell more."""
    found = blia_in_kind(Scale(splits=1, references=3, budgets=(1.0,), groups=(9,)))
    rates, memory, copies = found.tables
    said = {item.says.partition(",")[0]: item.value for item in found.remarks}

    assert [len(table.rows) for table in found.tables] == [2, 2, 2]
    assert len(rates.rows[0]) == len(rates.columns)
    assert said["threshold: above the label-DP ceiling at 1 %"] == 0
    assert said["learned: above the label-DP ceiling at 1 %"] == 0
    assert said["delta-margin: beats chance on labels nobody saw"] == 2
    assert all(-0.2 < row[2] <= 1 for row in memory.rows)
    for row in (dict(zip(copies.columns, row, strict=True)) for row in copies.rows):
        assert row["ceiling for one"] < row["rate"] < row["ceiling for the group"]

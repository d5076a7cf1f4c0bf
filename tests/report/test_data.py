"""Results as data follow the documented schema, and hold nothing that depends on the machine."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.evaluator.records import Status
from labelinf_core.evaluator.results import Results
from labelinf_core.report.data import as_csv, as_json, seconds_of
from labelinf_core.report.formats import write_all

Played = Callable[..., Results]
SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "results.schema.json"
ATTACKS = ["fake-reader", "fake-coin(fails=0.5)", "fake-raises", "fake-picky", "fake-liar"]
DEFENCES: list[object] = ["none", ["fake-boast", "fake-noise"]]


@pytest.fixture
def results(played: Played) -> Results:
    return played(ATTACKS, DEFENCES)


def without_timings(results: Results, factor: float) -> Results:
    cells = tuple(
        attrs.evolve(cell, trials=tuple(attrs.evolve(trial, seconds=trial.seconds * factor) for trial in cell.trials))
        for cell in results.cells
    )
    return attrs.evolve(results, cells=cells)


@pytest.mark.long
def test_json_follows_the_schema(results: Results) -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)

    jsonschema.validate(json.loads(as_json(results)), schema)


def test_the_schema_describes_every_field_it_requires() -> None:
    schema = json.loads(SCHEMA.read_text())

    def check(node: Any) -> None:
        if isinstance(node, dict):
            if node.get("additionalProperties") is False:
                assert set(node["required"]) <= set(node["properties"])
            for inner in node.values():
                check(inner)
        elif isinstance(node, list):
            for inner in node:
                check(inner)

    check(schema)


def test_the_schema_knows_every_verdict_and_status() -> None:
    definitions = json.loads(SCHEMA.read_text())["$defs"]

    assert set(definitions["cell"]["properties"]["verdict"]["enum"]) == {verdict.value for verdict in Verdict}
    assert {*definitions["status"]["enum"], "bad input", "inconclusive"} == {status.value for status in Status}


def test_json_is_strict(results: Results) -> None:
    """An unbounded noise is the string "inf": no parser must understand a bare Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    document = json.loads(as_json(results), parse_constant=refuse)

    assert "inf" in {threat["facts"].get("noise_bound") for threat in document["threats"]}


def test_every_attack_on_the_same_defences_shares_a_threat_model(results: Results) -> None:
    document = json.loads(as_json(results))

    assert len(document["threats"]) == len(DEFENCES)
    assert {cell["threat"] for cell in document["cells"]} == {threat["id"] for threat in document["threats"]}


def test_durations_change_neither_json_nor_csv(results: Results) -> None:
    slower = without_timings(results, 100)

    assert as_json(slower) == as_json(results)
    assert as_csv(slower) == as_csv(results)
    assert "".join(seconds_of(slower)) != "".join(seconds_of(results))


def test_csv_has_one_row_per_cell(results: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(results))))

    assert len(rows) == len(results.cells) == 10
    first = rows[0]
    assert first["attack"] == "fake-reader(confidence=0.75, pause=0)"
    assert first["verdict"] == "broken, observed"  # a third party's promise certifies nothing
    assert float(first["accuracy_low"]) <= float(first["accuracy"]) == 1.0
    assert {row["status"] for row in rows} == {"ok", "error", "n/a"}


def test_seconds_have_one_row_per_trial(results: Results) -> None:
    rows = list(csv.DictReader(seconds_of(results)))

    assert len(rows) == sum(len(cell.trials) for cell in results.cells)
    assert all(float(row["seconds"]) >= 0 for row in rows)


def test_files_are_written_beside_the_record(results: Results, tmp_path: Path) -> None:
    write_all(results, tmp_path)

    assert (tmp_path / "results.json").read_text() == as_json(results)
    assert (tmp_path / "results.csv").read_text() == as_csv(results)
    assert (tmp_path / "seconds.csv").exists()


def test_a_place_that_cannot_be_written_is_told(results: Results, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="results cannot be written there"):
        write_all(results, tmp_path / "nowhere")

"""``labelinf reproduce``: figures of the two score papers as data, picture and comparison."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from labelinf_core.cli import main
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.reproductions import Reproduced
from labelinf_scores.published import games


def reproduce(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["reproduce", *arguments], catch_exceptions=False)


def computed(name: str) -> Reproduced:
    return next(item for item in Host.load().reproductions() if item.name == name).run()


def held(found: Reproduced) -> None:
    """Every figure is data, a picture where it was one, and says what the paper said and why it differs."""
    assert found.compared
    for item in found.compared:
        assert all((item.item, item.paper, item.measured, item.why))
    for table in found.tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.slow
def test_more_classes_fail_sooner_and_itakura_saito_is_perfect_in_220_queries(tmp_path: Path) -> None:
    run = reproduce("icml-figure4", "--into", str(tmp_path))

    assert run.exit_code == 0
    assert "the paper says" in run.stdout
    ET.parse(tmp_path / "icml-figure4-1.svg")
    rows = list(csv.DictReader((tmp_path / "icml-figure4-compared.csv").read_text(encoding="utf-8").splitlines()))
    ends = [int(part.rpartition(": ")[2]) for part in rows[0]["we measured"].split("; ")]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] > ends[-1] > 0

    found = computed("aistats-figure2")
    held(found)
    assert (found.compared[0].paper, found.compared[0].measured) == ("220 queries", "221 queries")


def test_a_machine_reads_the_same() -> None:
    document = json.loads(reproduce("icml-figure4", "--json").stdout)

    assert {"title", "tables", "pictures", "compared"} <= document.keys()


def test_a_length_ends_at_the_first_failure() -> None:
    exact = {1: 1.0, 2: 1.0, 3: 0.5, 4: 1.0}

    assert games.longest(exact, lambda n: Games(exact[n])) == 2  # type: ignore[arg-type]
    assert games.longest(exact, lambda n: Games(exact[n]), 0.5) == 4  # type: ignore[arg-type]


class Games:
    """What came of games, by the share in which every label came out."""

    def __init__(self, exact: float) -> None:
        self.exact = exact


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name", ["icml-figure1", "icml-figure2", "icml-table2", "aistats-figure1", "aistats-figure3", "aistats-figure4"]
)
def test_every_other_figure_is_data_picture_and_comparison(name: str) -> None:
    held(computed(name))

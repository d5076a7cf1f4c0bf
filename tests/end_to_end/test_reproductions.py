"""Every table and figure of the papers can be computed again: as data, drawn, and beside what is printed."""

from __future__ import annotations

import pytest

from labelinf_core.contracts.pictures import Picture
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.reproductions import Reproduced
from labelinf_core.report.svg import as_svg

DEAR = {"blia-in-kind", "iclr-figure2", "iclr-figure6", "iclr-reconstruction", "iclr-table5"}
SCORES = {f"icml-{what}" for what in ("figure1", "figure2", "figure4", "table2")} | {
    f"aistats-figure{number}" for number in (1, 2, 3, 4)
}  # held where the scores are tested


def held(found: Reproduced) -> None:
    assert found.compared
    for row in found.compared:
        assert all((row.quantity, row.paper, row.ours))
        assert all(figure.played.game and figure.played.n and figure.played.queries for figure in row.ours)
    assert all(len(row) == len(table.columns) for table in found.tables for row in table.rows)
    assert all(absent.item and absent.loader for absent in found.absent)
    assert found.pictures
    for picture in found.pictures:
        assert isinstance(picture, Picture)
        assert as_svg(picture, alone=True).lstrip().startswith("<svg")


def test_every_table_and_figure_that_is_promised_is_there() -> None:
    known = {item.name for item in Host.load(strict=True).reproductions()}

    assert known >= {*DEAR, *SCORES, "blia-tables"}


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name", ["blia-tables", *(pytest.param(each, marks=pytest.mark.slow) for each in sorted(DEAR))]
)
def test_it_is_data_picture_and_comparison(name: str) -> None:
    (found,) = (item for item in Host.load(strict=True).reproductions() if item.name == name)

    result = found.run()

    held(result)
    assert result.absent, "what cannot be had here is listed"

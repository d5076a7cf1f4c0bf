"""``labelinf reproduce iclr-table5``: every reading of the protocol, and the honest study beside it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from labelinf_core.plugin.host import Host
from labelinf_core.plugin.reproductions import Table
from labelinf_papers.published.iclr_table5 import LEVELS, PRINTED_ACCURACY, PRINTED_LOSS, Study, table5
from labelinf_papers.published.iclr_tables import _by_label, recovery_table


def test_it_is_listed() -> None:
    (found,) = (item for item in Host.load(strict=True).reproductions() if item.name == "iclr-table5")

    assert "Wang et al., ICLR 2024" in str(found.reference)
    assert found.target.endswith(":table5")


def test_the_study_is_of_smoothed_digits_whose_scalars_are_known() -> None:
    study = Study.digits(20, hidden=64)

    assert study.gradients.shape == (20, 10, 64)
    assert study.labels.sum(axis=1) == pytest.approx(np.ones(20))
    assert (np.abs(study.scalars) >= 4).all()  # coefficient 4, and |p - y| at most 1


@pytest.mark.slow
def test_all_readings_stand_beside_the_printed_figures() -> None:
    done = table5(3)
    readings, honest = done.tables

    assert len(readings.rows) == 14
    assert readings.rows[0][4:] == tuple(
        f"{accuracy:.0%} {loss:.1e}" for accuracy, loss in zip(PRINTED_ACCURACY, PRINTED_LOSS, strict=True)
    )
    assert [row[0] for row in readings.rows] == 7 * ["Gaussian"] + 7 * ["Laplace"]
    assert {row[1] for row in readings.rows} == {"standard deviation", "variance", "(as printed)"}
    assert readings.rows[7][4:] == ("100% 1.6e-04", "100% 8.1e-04", "100% 8.0e-03", "36% 8.0e-01")
    assert all(len(row) == len(readings.columns) == 4 + len(LEVELS) for row in readings.rows)
    assert [row[0] for row in honest.rows] == [1e-6, *LEVELS, 1.0]
    assert all(0 <= share <= 1 for row in honest.rows for share in row[1:])
    assert honest.rows[0][1:] == (1.0, 1.0, 1.0, 1.0)
    both = [2 * list(readings.rows[at][4:]) for at in (0, 7)]  # under either reading of the ratios, whatever the law
    assert [item.paper for item in done.compared] == [*both[0], *both[1], "45 % of labels"]
    scalars, classes, *_ = done.compared[-1].ours  # accuracy is of scalars
    assert (scalars.of, classes.of) == ("scalars, swarms", "classes, swarms")
    assert classes.value == 100 * honest.rows[3][1]
    assert {figure.played.n for item in done.compared for figure in item.ours} == {3}


def test_what_a_hard_label_costs_stands_beside_the_papers_figures() -> None:
    kinds = itertools.product(("mixup", "smoothing"), ("squared", "cosine"), ("no", "yes"))
    rows = tuple((*kind, "30.0 / 1.00", f"{20 + at}.5 / 0.90", f"{at}.5 / 0.10") for at, kind in enumerate(kinds))
    compared = list(
        _by_label(Table(title="", columns=("labels", "distance", "trained", "true", "ours", "iDLG"), rows=rows))
    )

    assert {item.paper for item in compared} == {"23.0 and 25.8 dB"}
    assert [[(own.of, own.value) for own in item.ours] for item in compared] == [
        [("iDLG", at + 0.5), ("ours", at + 20.5)] for at in (2, 3, 6, 7)
    ]


@pytest.mark.slow
def test_table_1_has_every_family_under_three_numbers_of_classes() -> None:
    table = recovery_table(20, 1)

    assert [row[1:3] for row in table.rows] == [
        (c, f) for c in (10, 17, 100) for f in ("smoothing", "mixup", "one-hot")
    ]
    assert all(row[3] == 1 for row in table.rows)
    assert {row[5] for row in table.rows if row[2] != "one-hot"} == {"hard labels only"}  # not "nan"

"""``labelinf reproduce``: figures of the two score papers as data, picture and comparison."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from click.testing import CliRunner, Result

from labelinf_core.cli import main
from labelinf_core.plugin.comparisons import Compared, Origin
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.reproductions import Reproduced
from labelinf_papers.published.games import Games, fewest, longest, play


def reproduce(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["reproduce", *arguments], catch_exceptions=False)


def computed(name: str) -> Reproduced:
    return next(item for item in Host.load().reproductions() if item.name == name).run()


def held(found: Reproduced) -> None:
    """Every figure is data with its game, and every row of a table has the labels and queries that it comes from."""
    assert found.compared
    for row in found.compared:
        assert all((row.quantity, row.paper, row.ours))
        for figure in row.ours:
            assert figure.played.n > 0
            assert figure.played.queries > 0
            assert "score(" in figure.played.game
    for table in found.tables:
        assert table.rows
        assert {"N", "queries", "labels a query", "games", "seed"} <= set(table.columns)
        assert "score(" in table.title
        assert all(len(row) == len(table.columns) for row in table.rows)


def rows(found: Reproduced, begins: str) -> list[Compared]:
    return [row for row in found.compared if row.quantity.startswith(begins)]


@pytest.mark.slow
def test_more_classes_fail_sooner(tmp_path: Path) -> None:
    run = reproduce("icml-figure4", "--out", str(tmp_path))

    assert run.exit_code == 0
    assert "the paper says" in run.stdout
    ET.parse(tmp_path / "icml-figure4-1.svg")
    read = list(csv.DictReader((tmp_path / "icml-figure4-compared.csv").read_text(encoding="utf-8").splitlines()))
    ends = [float(row["value"]) for row in read]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] > ends[-1] > 0
    assert [row["N"] for row in read] == [f"{end:.0f}" for end in ends]
    assert {(row["queries"], row["compared"]) for row in read} == {("1", "the same")}


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
def test_titanic_is_played_with_its_2201_labels(full: bool) -> None:
    """220 labels stood for 2 201, under noise that grows with the labels: "221 queries" was printed, of 99.2 %."""
    found = (item for item in Host.load().reproductions() if item.name == "aistats-figure2")
    result = next(found).run(full=full)

    held(result)
    for row in result.compared:
        (figure,) = row.ours
        assert figure.played.n == figure.n == 2201
        assert figure.value == figure.played.queries == -(-2201 // figure.played.per_query)
        assert row.notes == ()
    titanic = result.tables[0]
    at = dict(zip((line[titanic.columns.index("labels a query")] for line in titanic.rows), titanic.rows, strict=True))
    assert {line[0] for line in titanic.rows} == {2201}
    assert at[10.0][1] == 221
    assert 98 < at[10.0][titanic.columns.index("labels %")] < 99.9
    assert {line[0] for line in result.tables[2].rows} == {6430 if full else 2201}


@pytest.mark.slow
def test_the_page_shows_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    page = (Path(__file__).parents[2] / "docs" / "howto.md").read_text(encoding="utf-8")
    shown = page.partition("labelinf reproduce aistats-figure2, its first lines -->\n```text\n")[2].partition("```")[0]

    assert shown.count("compared") == 2
    assert "\n".join(map(str.rstrip, reproduce("aistats-figure2").stdout.splitlines())).startswith(shown.rstrip())


@pytest.mark.slow
def test_cross_entropy_is_played_with_2201_labels_and_says_whose_they_are() -> None:
    result = computed("aistats-figure3")

    held(result)
    assert {line[0] for table in result.tables for line in table.rows} == {2201}
    two, six, ten = rows(result, "labels recovered with as many queries as labels, noise 1")[0].ours
    assert 55 < two.value < 62  # 100 % were printed
    assert (two.n, six.n, ten.n) == (2201, 6430, 70_000)
    assert result.compared[0].notes == ("played with N = 2201, by the paper with 6430, 70000",)


@pytest.mark.slow
def test_a_vector_of_a_single_query_takes_a_single_query() -> None:
    """Construction 2 took two at N = 14; the row on more noise was another panel's."""
    result = computed("aistats-figure1")

    held(result)
    assert all(row.queries == 1 and row.notes == ("one query",) for row in result.compared)
    (itakura,) = rows(result, "(a)")
    assert [figure.value for figure in itakura.ours] == [figure.played.n for figure in itakura.ours]
    assert 10 <= itakura.ours[0].value <= 12
    assert 6 <= itakura.ours[-1].value <= 9
    assert [row.quantity[:3] for row in result.compared if row.quantity.endswith("more noise")] == [
        *("(a)", "(b)", "(b)", "(c)", "(d)")
    ]
    capped = [figure for row in result.compared for figure in row.ours if figure.value == figure.cap]
    assert all(figure.words.startswith("at least ") for figure in capped)


@pytest.mark.slow
def test_a_search_of_one_query_ends_where_it_fails_or_says_that_it_ended_itself() -> None:
    result = computed("aistats-figure4")
    row = result.compared[0]

    held(result)
    assert row.ours[1].of == "sigmoid"
    assert row.ours[1].words == f"at least {row.ours[1].cap} labels"


@pytest.mark.slow
def test_accuracy_under_every_noise_holds_as_far_as_it_was_played() -> None:
    """100 % under every noise was called the same, from N = 180."""
    result = computed("icml-figure1")
    few, *_, many = rows(result, "(g)")

    held(result)
    assert {figure.played.n for figure in few.ours} == {20}
    assert few.verdict == "the same"
    assert {figure.played.n for figure in many.ours} == {1000}
    assert many.ours[-1].value < 75
    assert many.verdict.endswith("noise 1: not the same")


@pytest.mark.long
def test_a_machine_reads_the_same() -> None:
    document = json.loads(reproduce("icml-figure4", "--json").stdout)

    assert {"title", "tables", "pictures", "compared"} <= document.keys()


def games(exact: float, n: int = 5, queries: int = 1) -> Games:
    played = Origin(game="score(scorer=float64)", n=n, queries=queries, games=4, seed=0)
    shares = np.array([1.0] * round(4 * exact) + [0.5] * round(4 - 4 * exact))
    return Games(played=played, shares=shares, seconds=0.0)


def test_a_length_ends_at_the_first_failure_or_at_its_own_end() -> None:
    exact = {1: games(1.0, 1), 2: games(1.0, 2), 3: games(0.5, 3), 4: games(1.0, 4)}

    assert (longest(list(exact), exact.__getitem__).words, longest([3, 4], exact.__getitem__).words) == (
        *("2 labels", "0 labels"),
    )
    assert longest(list(exact), exact.__getitem__).played.n == 2
    assert longest(list(exact), exact.__getitem__, 0.5).words == "at least 4 labels"


def test_the_fewest_queries_are_of_those_tried() -> None:
    tried = [games(1.0, 20, 20), games(1.0, 20, 10), games(0.5, 20, 5)]

    assert fewest(tried).words == "10 queries"
    assert fewest(tried[:2]).words == "at most 10 queries"
    assert fewest(tried[2:]).words == "more than 5 queries"


def test_a_game_is_named_with_what_it_took() -> None:
    found = play("log-primes(size=5, tau=1)", 14, channel="score(scorer=float64, loss=itakura-saito)", games=2)

    assert (found.played.n, found.played.queries, found.played.per_query, found.played.games) == (14, 3, 5, 2)
    assert "log-primes(size=5, tau=1)" in found.played.game


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["icml-figure2", "icml-figure4", "icml-table2"])
def test_every_other_figure_is_data_picture_and_comparison(name: str) -> None:
    held(computed(name))

"""A comparison's words are computed from its games: nobody can write "the same", "one query" or "at least" by hand."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from labelinf_core.plugin.comparisons import Compared, Measured, Origin, PaperClaim

ROOT = Path(__file__).parents[2]
COMPUTED = ("the same", "one query", "at least")


def played(n: int = 14, queries: int = 1) -> Origin:
    return Origin(game="powers(tau=1)", n=n, queries=queries, per_query=-(-n // queries), games=20, seed=0)


def figure(value: float, *, cap: float | None = None, floor: float | None = None, of: str = "") -> Measured:
    return Measured(value=value, unit="labels", of=of, played=played(), cap=cap, floor=floor)


def row(
    *ours: Measured, claim: PaperClaim | None = None, printed: tuple[float, ...] = (), queries: int | None = None
) -> Compared:
    return Compared(quantity="labels", paper="-", ours=ours, claim=claim, printed=printed, queries=queries)


def test_a_search_that_stopped_at_its_own_end_says_so() -> None:
    assert figure(13, cap=14).words == "13 labels"
    assert figure(14, cap=14).words == "at least 14 labels"
    assert figure(float("inf"), cap=14).words == "more than 14 labels"
    assert figure(3, floor=3).words == "at most 3 labels"
    assert figure(1).words == "1 label"


@pytest.mark.parametrize(
    ("values", "claim", "verdict"),
    [
        ((14, 12, 12, 6), PaperClaim.FALLS, "the same"),
        ((14, 6, 12), PaperClaim.FALLS, "not the same"),
        ((9, 9, 9), PaperClaim.FALLS, "not the same"),
        ((6, 9, 14), PaperClaim.RISES, "the same"),
        ((6, 6, 6), PaperClaim.ALIKE, "the same"),
        ((6, 7), PaperClaim.ALIKE, "not the same"),
    ],
)
def test_the_same_is_a_predicate_over_the_numbers(values: tuple[int, ...], claim: PaperClaim, verdict: str) -> None:
    assert row(*(figure(value) for value in values), claim=claim).verdict == verdict


def test_what_a_search_could_not_tell_is_not_decided() -> None:
    open_ = figure(14, cap=14)

    for claim in (PaperClaim.FALLS, PaperClaim.RISES, PaperClaim.ALIKE):
        assert row(open_, open_, claim=claim).verdict.startswith("not decided")
    assert row(open_, figure(6, cap=14), claim=PaperClaim.FALLS).verdict == "the same"
    assert row(figure(6, cap=14), open_, claim=PaperClaim.FALLS).verdict == "not the same"
    assert row(open_, claim=PaperClaim.EQUAL, printed=(20,)).verdict.startswith("not decided")
    assert row(open_, claim=PaperClaim.EQUAL, printed=(13,)).verdict == "not the same"


def test_a_row_of_several_figures_says_which_of_them_differ() -> None:
    several = (figure(100, of="noise 0.1"), figure(68.4, of="noise 1"))

    assert row(*several, claim=PaperClaim.EQUAL, printed=(100,)).verdict == "noise 0.1: the same; noise 1: not the same"
    assert row(*several, claim=PaperClaim.EQUAL, printed=(100, 68.4)).verdict == "the same"


def test_one_query_is_counted() -> None:
    assert row(figure(14), queries=1).notes == ("one query",)
    two = Measured(value=14, played=played(queries=2))

    assert row(two, queries=1).notes == ("2 queries, not one query",)
    assert row(figure(14), two, queries=1).notes == ("1 to 2 queries, not one query",)


def test_fewer_labels_than_the_papers_are_named() -> None:
    fewer = Measured(value=100, unit="%", played=played(n=220), n=2201)

    assert row(fewer).notes == ("played with N = 220, by the paper with 2201",)
    assert "N = 220" in fewer.played.words


@pytest.mark.parametrize("said", ["the same: five labels a query", "One query of primes", "at least 14"])
def test_no_author_writes_what_is_computed(said: str) -> None:
    with pytest.raises(ValueError, match="computed from the figures"):
        Compared(quantity=said, paper="-", ours=(figure(1),))
    with pytest.raises(ValueError, match="computed from the figures"):
        Compared(quantity="labels", paper="-", ours=(figure(1),), why=said)
    with pytest.raises(ValueError, match="computed from the figures"):
        figure(1, of=said)
    with pytest.raises(TypeError):
        Compared(quantity="labels", paper="-", ours=(figure(1),), verdict=said)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("claim", "printed"), [(PaperClaim.EQUAL, ()), (None, (1.0,)), (PaperClaim.EQUAL, (1.0, 2.0, 3.0))]
)
def test_printed_numbers_belong_to_figures(claim: PaperClaim | None, printed: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="one number, or one for each figure"):
        row(figure(1), figure(2), claim=claim, printed=printed)


def test_no_reproduction_has_such_words_in_a_string() -> None:
    """Titles, tables and pictures too; what a paper prints is quoted."""
    for path in sorted(ROOT.glob("plugins/*/published/*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.body[0].value) for node in ast.walk(tree)
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body
                and isinstance(node.body[0], ast.Expr)}  # fmt: skip
        docs |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "paper"
                 for part in ast.walk(node)}  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                assert not [word for word in COMPUTED if word in node.value.lower()], f"{path.name}: {node.value!r}"

"""The page says what the results say, and lets nothing that a plugin or a user wrote act as markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

import attrs
import pytest

from labelinf_core.evaluator.results import Results
from labelinf_core.report import words
from labelinf_core.report.html import as_html

Played = Callable[..., Results]
VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Reads a page strictly: every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag in {"td", "th"}:
            self.cells.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data


@pytest.fixture
def results(played: Played) -> Results:
    return played(["fake-reader", "fake-raises", "fake-liar"], ["none", ["fake-boast", "fake-noise"]])


@pytest.mark.long
def test_every_tag_is_closed(results: Results) -> None:
    assert Page(as_html(results)).open == []


def test_every_cell_is_shown_with_its_verdict(results: Results) -> None:
    page = Page(as_html(results))

    for result in results.cells:
        assert words.verdict(result) in page.text
    assert {"100 (at least 61) ▣", "error", "50.0 ±35 ‼"} < set(page.cells)


def test_contradictions_come_first(results: Results) -> None:
    text = as_html(results)

    assert results.contradictions
    assert text.index("Contradiction.") < text.index("<h2")


def test_what_others_wrote_is_text_not_markup(results: Results) -> None:
    wicked = attrs.evolve(results, plan=attrs.evolve(results.plan, title="<script>alert(1)</script>"))

    page = Page(as_html(wicked))

    assert "script" not in {tag for tag, _ in page.tags}


def test_it_needs_nothing_from_elsewhere(results: Results) -> None:
    text = as_html(results)

    for _, attributes in Page(text).tags:
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in text
    assert "@import" not in text


def test_every_link_leads_somewhere_on_the_page(results: Results) -> None:
    tags = Page(as_html(results)).tags
    places = [attributes["id"] for _, attributes in tags if "id" in attributes]
    links = {str(attributes["href"])[1:] for _, attributes in tags if "href" in attributes}

    assert len(places) == len(set(places))
    assert links
    assert links <= set(places)


def test_paper_has_the_legend_and_no_filter(played: Played) -> None:
    """The signs are explained where the cells are chosen, and print left all of it out."""
    text = as_html(played(["fake-reader"], ["none"]))
    paper = text.split("@media print")[1].split("</style>")[0]

    assert re.search(r"fieldset \+ fieldset, fieldset legend, input \{ display: none; \}", paper)
    assert not re.search(r"\bform\b", paper)

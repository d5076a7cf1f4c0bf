"""What a text is found by."""

from __future__ import annotations

import pytest

from labelinf_core.plugin.lookup import found, remembered


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Theorem 3", {"theorem 3"}),
        ("Thms. 3 and 8 (ICML)", {"theorem 3", "theorem 8", "icml"}),
        ("Tables 1 and 3 to 6", {"table 1", "table 3", "table 4", "table 5", "table 6"}),
        ("equations 4 and 5, Theorem 3", {"equation 4", "equation 5", "theorem 3"}),
        ("Section 3.4", {"section 3.4"}),
        ("thm7", {"theorem 7"}),
        ("I-9", {"i-9"}),
        ("the closest squarefree numbers", {"closest", "squarefree", "number"}),
        ("", set()),
    ],
)
def test_numbers_are_read_with_what_they_count(text: str, tokens: set[str]) -> None:
    assert remembered(text) == tokens


def test_every_number_must_be_there_and_most_of_the_words() -> None:
    items = ["Doe 2020, Theorem 3", "Doe 2020, Theorem 4", "Roe 2021, equations 3 and 4, Theorem 5"]

    def search(text: str) -> list[str]:
        return found(text, items, named=str, said=lambda item: "a lemma of Zorn" if "Roe" in item else "")

    assert search("doe theorem 3") == items[:1]
    assert search("equation 3") == items[2:]
    assert search("theorem 3; theorem 5") == [items[0], items[2]]
    assert search("Zorn") == items[2:]
    assert search("theorem") == search("") == []

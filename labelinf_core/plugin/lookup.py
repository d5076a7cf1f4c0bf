"""Finds statements and references by what people remember of them: a key, an erratum, "ICML Theorem 3", a few words.

Numbers are read with what they count, so that "equation 3" does not find "equations 4 and 5, Theorem 3", ranges are
spelled out ("Tables 3 to 8" is found by "Table 5"), and the usual abbreviations stand for their words.

Example:
    >>> sorted(remembered("Thms. 3 and 8 (ICML)"))
    ['icml', 'theorem 3', 'theorem 8']
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["found", "remembered"]

T = TypeVar("T")

_COUNTED = {
    short: word
    for word, shorts in {
        "algorithm": ("alg",),
        "appendix": ("app", "appendice"),
        "construction": (),
        "corollary": ("cor", "corollarie"),
        "definition": ("def",),
        "equation": ("eq",),
        "figure": ("fig",),
        "lemma": (),
        "proposition": ("prop",),
        "remark": (),
        "section": ("sec",),
        "table": ("tab",),
        "theorem": ("thm",),
    }.items()
    for short in (word, *shorts)
}
_IDLE = frozenset({"a", "al", "an", "as", "by", "et", "for", "in", "of", "on", "or", "printed", "the", "with"})
_TOKEN = re.compile(r"[a-z]+-\d+[a-z]?|[a-z]+|\d+(?:\.\d+)*")


@functools.lru_cache(maxsize=1024)
def remembered(text: str) -> frozenset[str]:
    """Return what a text can be found by: its words without endings, and its numbers with what they count."""
    tokens: set[str] = set()
    counted, last, ranging = "", 0, False
    for word in _TOKEN.findall(text.lower()):
        if word.isdigit():
            numbers = range(last + 1 if ranging and last else int(word), int(word) + 1)
            tokens.update(f"{counted} {number}".strip() for number in numbers)
            last, ranging = int(word), False
        elif word[0].isdigit():
            tokens.add(f"{counted} {word}".strip())
        elif (stem := word.removesuffix("s")) in _COUNTED:
            counted, last = _COUNTED[stem], 0
        elif word in ("and", "to"):
            ranging = word == "to"
        else:
            counted, last = "", 0
            tokens.update({stem if len(word) > 2 else word} - _IDLE)
    return frozenset(tokens)


def found(text: str, items: Iterable[T], *, named: Callable[[T], str], said: Callable[[T], str]) -> list[T]:
    """Return the items that a text calls to mind, best first.

    An item must have every number of the text; among these, those that share most of its words are kept.

    Args:
        text: What is remembered; parts that are separated by ``;`` are looked up one by one.
        items: Where to look.
        named: What an item is called.
        said: What else it can be found by; counts less than its name.
    """
    best: list[T] = []
    pool = [(item, remembered(named(item)), remembered(said(item))) for item in items]
    for part in text.split(";"):
        wanted = remembered(part)
        numbers = {token for token in wanted if token[-1].isdigit() and " " in token}
        scored = [
            (2 * len(wanted & name) + len(wanted & (words - name)), item)
            for item, name, words in pool
            if numbers <= name
        ]
        top = max((score for score, _ in scored), default=0)
        if wanted and top >= len(wanted):
            best += [item for score, item in scored if score == top and item not in best]
    return best

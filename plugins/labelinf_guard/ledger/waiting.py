"""The answers that waited for their beat, again: whether each is sealed, and what was told is what was kept.

Part of the second implementation: nothing of the first one is used.
"""

from __future__ import annotations

import bisect
import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["unlike"]


def unlike(
    kept: Sequence[tuple[Any, Any, Any]], entries: Sequence[Mapping[str, Any]], rules: Mapping[str, Any], key: bytes
) -> Iterator[str]:
    """Say where what was told is not what was kept.

    Args:
        kept: Number, answer and seal of each, by number.
        entries: Submissions, with ``digest``, and ``told`` where they are settled.
        rules: Of the first row.
        key: Of the chain.
    """
    answers: dict[int, int] = {}
    for number, symbol, seal in kept:
        of = entries[number]["digest"] if number < len(entries) else ""
        text = f"kept\0{number}\0{symbol}\0{of}".encode()
        if seal != hmac.new(key, text, hashlib.sha256).hexdigest():
            yield f"the answer that was kept of submission {number} was changed, or is of an earlier version"
            return
        answers[number] = symbol
    scores: list[int] = []
    record = 0
    for number, entry in enumerate(entries):
        if "told" not in entry:
            return
        own, told = answers.get(number), rules["answers"]
        if rules["rule"] == "records":
            told = record = max(record, own or 0)
        elif own is not None:
            told = len(scores) - bisect.bisect(scores, own) if rules["rule"] == "ranks" else own
            bisect.insort(scores, own)
        if entry["told"] != told:
            yield f"submission {number} was told something else than was kept of it"
            return

"""Who stands where, from nothing but what was told: the table of a board's public page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["STANDING"]

_Told = Sequence[tuple[str, int]]


def _best(told: _Told, minimise: bool) -> list[tuple[str, int]]:
    """Return every team with its best score."""
    best = dict[str, int]()
    for team, symbol in told:
        best[team] = (min if minimise else max)(best.get(team, symbol), symbol)
    return sorted(best.items(), key=lambda item: item[1], reverse=not minimise)


def _holders(told: _Told, minimise: bool) -> list[tuple[str, int]]:
    """Return who raised the record, each to the last record of its own; a greater symbol is always the better."""
    before = (0, *(symbol for _, symbol in told))
    raised = {team: symbol for (team, symbol), last in zip(told, before, strict=False) if symbol > last}
    return sorted(raised.items(), key=lambda item: -item[1])


def _ordered(told: _Told, minimise: bool) -> list[tuple[str, int]]:
    """Return teams by their best submission, from the ranks told alone: each is put where it was said to stand."""
    order: list[str] = []
    for team, behind in told:
        order.insert(behind, team)
    return [(team, place) for place, team in enumerate(dict.fromkeys(order))]


STANDING: dict[str, Callable[[_Told, bool], list[tuple[str, int]]]] = {
    "scores": _best,
    "records": _holders,
    "ranks": _ordered,
}  #: by what is shown: from teams and symbols in the order they were told, to teams and symbols, best first

"""What changed between a plan that was run and the plan that goes on from its record, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from labelinf_core.evaluator.cells import Cell, Plan

__all__ = ["changes", "shared"]


def shared(kept: Plan, plan: Plan) -> bool:
    """Return whether some attack meets the same defences on the same labels in both, wherever those were read."""
    return bool(_matchups(kept).keys() & _matchups(plan).keys() or _ids(kept) & _ids(plan))


def changes(kept: Plan, plan: Plan) -> Iterator[str]:
    """Say what changed since the record was written, and how many cells are played again for it."""
    for name in sorted({*kept.environment, *plan.environment}):
        there, here = kept.environment.get(name, "none"), plan.environment.get(name, "none")
        if there != here:
            yield f"{name} was {there} and is {here}: all {len(plan.cells)} cells are played again"
    if kept.trials != plan.trials:
        yield f"every cell was played {kept.trials} times and is played {plan.trials} times now"
    before, after = _matchups(kept), _matchups(plan)
    yield from _again(before, plan)
    if new := sum(cell.id not in _ids(kept) for key, cell in after.items() if key not in before):
        yield f"the suite changed: {new} cells are new"
    if gone := sum(cell.id not in _ids(plan) for key, cell in before.items() if key not in after):
        yield f"the suite changed: {gone} cells are left out"


def _ids(plan: Plan) -> set[str]:
    return {cell.id for cell in plan.cells}


def _matchups(plan: Plan) -> dict[tuple[str, ...], Cell]:
    """Return the cells by what they play, whatever the content of their labels and the versions of their plugins."""
    return {_matchup(cell): cell for cell in plan.cells}


def _matchup(cell: Cell) -> tuple[str, ...]:
    return (cell.channel, cell.labels, cell.attack, *cell.written)


def _again(before: dict[tuple[str, ...], Cell], plan: Plan) -> Iterator[str]:
    """Say which cells are played again, by reason."""
    reasons: dict[str, list[str]] = {}
    for cell in plan.cells:
        old = before.get(_matchup(cell))
        if old is not None and old.id != cell.id:
            reasons.setdefault(_moved(old, cell), []).append(f"{cell.shown.attack}/{cell.shown.pipeline}")
    for why, cells in reasons.items():
        more = f" and {len(cells) - 3} more" if len(cells) > 3 else ""
        yield f"{why}: {', '.join(cells[:3])}{more} played again"


def _moved(old: Cell, cell: Cell) -> str:
    """Say what changed in a cell."""
    told = [
        f"{name} was {old.versions.get(name, 'not needed')} and is {version}"
        for name, version in sorted(cell.versions.items())
        if old.versions.get(name) != version
    ]
    told += [f"{name} was edited" for name, content in sorted(cell.code.items()) if old.code.get(name) != content]
    changed = [f"the content of labels {cell.labels} changed"] if old.content != cell.content else []
    return ", ".join([*told, *changed]) or "other plugins are needed"

"""No room outgrows what ``lines.toml`` allows it, and a ceiling follows a room that has shrunk."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUDGET = tomllib.loads((ROOT / "lines.toml").read_text(encoding="utf-8"))
BESIDE = ("benchmarks", "docs", "examples", ".ci")
WEIGHED = {".py", ".toml", ".json", ".jinja", ""}  # beside the rooms; prose and pictures are not
LEEWAY = 200  # lines that a room may shrink by before its ceiling has to follow


def lines(files: Iterable[Path]) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def weights(root: Path) -> dict[str, int]:
    """Return what stands there, by the names of the budget."""
    homes = [*root.glob("labelinf*"), *root.glob("plugins/labelinf*")]
    found = {home.relative_to(root).as_posix(): lines(home.rglob("*.py")) for home in homes if home.is_dir()}
    beside = (file for folder in BESIDE for file in (root / folder).rglob("*"))
    found["together"] = lines(file for file in beside if file.is_file() and file.suffix in WEIGHED)
    return found


def faults(weighed: dict[str, int], budget: dict[str, dict[str, int]]) -> list[str]:
    """Return one sentence for each room that is not as its budget says."""
    told = [f"{name} has no ceiling in lines.toml: it has {weight} lines" for name, weight in weighed.items()
            if name not in budget]  # fmt: skip
    for name, entry in budget.items():
        weight, ceiling, goal = weighed.get(name, 0), entry["ceiling"], entry["goal"]
        if weight > ceiling:
            told.append(f"{name} has {weight} lines, at most {ceiling} are allowed: take as many from elsewhere")
        if ceiling > max(goal, weight + LEEWAY):
            told.append(f"{name} has {weight} lines: lower its ceiling of {ceiling} to {max(goal, weight)}")
    return told


def test_no_room_outgrows_its_budget() -> None:
    assert faults(weights(ROOT), {**BUDGET["rooms"], **BUDGET["beside"]}) == []


@pytest.mark.parametrize(
    ("weight", "ceiling", "fault"),
    [
        (900, 900, ""),
        (700, 900, ""),
        (901, 900, "at most 900 are allowed"),
        (699, 900, "lower its ceiling of 900 to 699"),
        (300, 900, "lower its ceiling of 900 to 500"),
        (100, 500, ""),  # below the goal there is room to grow
    ],
)
def test_a_ceiling_holds_and_follows(weight: int, ceiling: int, fault: str) -> None:
    told = faults({"room": weight}, {"room": {"ceiling": ceiling, "goal": 500}})

    assert told == [] if not fault else fault in told[0]


def test_a_room_without_a_budget_is_named() -> None:
    assert faults({"labelinf_more": 3}, {}) == ["labelinf_more has no ceiling in lines.toml: it has 3 lines"]


def test_files_are_counted_as_they_stand(tmp_path: Path) -> None:
    for name, text in {
        "labelinf_core/one.py": "a\n\nb\n",
        "plugins/labelinf_x/deep/two.py": "a\n",
        "plugins/labelinf_x/data.csv": "a\n" * 9,
        "docs/page.md": "prose\n" * 9,
        "docs/conf.py": "a\nb\n",
        ".ci/run": "a\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert weights(tmp_path) == {"labelinf_core": 3, "plugins/labelinf_x": 1, "together": 3}

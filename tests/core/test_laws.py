"""The laws of the house that a test can hold."""

from __future__ import annotations

import ast
import functools
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.errors import UnfitError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.testing import discovery_imports
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.rules.games import small_game, started

ROOT = Path(__file__).parents[2]
HOST = Host.load(strict=True)
DEFENCES = [item for item in HOST.catalogue(Kind.DEFENCE) if item.descriptor.channel == "score"]


def public_reach(start: object) -> Iterator[object]:
    """Everything an attack can get at by public attributes, items and iteration, from one object."""
    queue, seen = [start], set()
    while queue:
        thing = queue.pop()
        if id(thing) in seen or isinstance(thing, type | str | int | float | bytes | type(sys)):
            continue
        seen.add(id(thing))
        yield thing
        names = [name for name in dir(thing) if not name.startswith("_")]
        queue += [value for name in names if not callable(value := getattr(thing, name, None))]
        if isinstance(thing, dict):
            queue += thing.values()
        elif isinstance(thing, list | tuple | set | frozenset):
            queue += thing


def holds(thing: object, labels: np.ndarray[Any, Any]) -> bool:
    try:
        array = np.asarray(thing)
    except Exception:
        return False
    return array.shape == labels.shape and array.dtype.kind in "iub" and bool(np.array_equal(array, labels))


def stages(item: Any) -> list[ScoreDefence]:
    """The defence, behind the stage that it needs nearer to the scorer, if it needs one."""
    if item is None:
        return []
    build, name = Builder(HOST).build, item.descriptor.name
    needs = {"privacy-budget": ["laplace-dp(epsilon=1)"]}.get(name, [])
    spec = {"name": name, **getattr(item.load(), "example_parameters", {})}
    return [build(Kind.DEFENCE, stage, "test") for stage in (*needs, spec)]


@pytest.mark.parametrize("item", [None, *DEFENCES], ids=lambda item: item.descriptor.name if item else "no defence")
def test_an_attack_reaches_no_labels_through_its_oracle(item: Any) -> None:
    try:
        oracle, labels = small_game(*stages(item))
    except UnfitError:  # it acts on predicted values
        labels, mse = np.array([0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1]), Builder(HOST).build(Kind.METRIC, "mse", "test")
        oracle = started(ScoreChannel(metric=mse), labels, np.random.default_rng(0), *stages(item))

    reached = list(public_reach(oracle))

    assert any(thing is oracle.threat for thing in reached)
    assert not any(holds(thing, labels) for thing in reached)


def test_the_walk_would_find_labels_that_lie_about() -> None:
    class Leaky:
        def __init__(self) -> None:
            self.notes = {"answers": [np.array([1, 0, 1])]}

    assert any(holds(thing, np.array([1, 0, 1])) for thing in public_reach(Leaky()))


@pytest.mark.long
@pytest.mark.parametrize("module", ["labelinf_core", "labelinf_core.cli", "labelinf_core.specs"])
def test_listing_imports_nothing_heavy(module: str) -> None:
    assert discovery_imports(module) == frozenset()


@pytest.mark.parametrize("name", sorted(HOST.records))
def test_a_builtin_plugin_imports_nothing_heavy(name: str) -> None:
    assert discovery_imports(f"labelinf_{name}.plugin") == frozenset()


def test_nothing_unpickles_what_a_user_hands_in() -> None:
    root = Path(__file__).parents[2]
    sources = [*(root / "labelinf_core").rglob("*.py"), *(root / "plugins").rglob("*.py")]
    assert len(sources) > 30
    for path in sources:
        text = path.read_text(encoding="utf-8")
        if path.parts[-2:] == ("plugin", "worker.py"):  # written by a worker, read by whoever started it
            assert "pickle.load" not in text
        else:
            assert "import pickle" not in text, path
        assert "allow_pickle=True" not in text, path
        assert "joblib.load" not in text, path


@functools.cache
def sources() -> dict[str, tuple[Path, int]]:
    """Return every module of ours: its file and how many lines it has."""
    homes = [
        (ROOT, ROOT / "labelinf_core"),
        *((ROOT / "plugins", path) for path in (ROOT / "plugins").glob("labelinf_*")),
    ]
    return {
        ".".join(path.relative_to(home).with_suffix("").parts).removesuffix(".__init__"): (
            path,
            len(path.read_text().splitlines()),
        )
        for home, package in homes
        for path in package.rglob("*.py")
    }


@functools.cache
def imports(module: str) -> frozenset[str]:
    """Return the modules of ours that importing one imports: not what a checker of types or a function needs."""
    wanted: list[ast.stmt] = list(ast.parse(sources()[module][0].read_text()).body)
    names = {module.rpartition(".")[0]}
    for node in wanted:
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Try):
            wanted += node.body
    return frozenset(names & sources().keys())


def loaded(module: str) -> set[str]:
    """Return all that is imported with a module."""
    found, queue = set(), [module]
    while queue:
        if (name := queue.pop()) not in found:
            found.add(name)
            queue += imports(name)
    return found


@pytest.mark.parametrize(("room", "most"), [("scores", 6_620), ("gradients", 4_000), ("outputs", 5_800)])
def test_an_attack_stands_on_few_lines(room: str, most: int) -> None:
    """Whoever reads an attack has to read what it imports; half of them import no more than that."""
    attacks = [name for name in sources() if name.startswith(f"labelinf_{room}.attacks.")]
    lines = [sum(sources()[name][1] for name in loaded(attack)) for attack in attacks]

    assert len(attacks) > 5
    assert statistics.median(lines) <= most

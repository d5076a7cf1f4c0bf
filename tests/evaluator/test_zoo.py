"""A hundred and more faulty plugins: each costs at most its own cells, and is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

TABLE = """
[[matrix]]
labels = [{labels}]
loss = "log-loss"
scorer = "float64"
attacks = [{attacks}]
defences = [{defences}]
"""
GOOD = ("majority", "fake-reader")
HERE = Path(__file__).parent


@pytest.fixture
def zoo(loaded: Callable[[Path], ModuleType]) -> ModuleType:
    return loaded(HERE / "zoo.py")


def labelinf(folder: Path, site: Path, *arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "labelinf_core", *arguments]
    limited = {**os.environ, "PYTHONPATH": path, "LABELINF_MEMORY": "1"}
    return subprocess.run(command, cwd=folder, env=limited, capture_output=True, text=True, timeout=seconds)


def written(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def cells_of(
    folder: Path, site: Path, members: Sequence[tuple[str, str]], good: Sequence[str] = GOOD, **limits: float
) -> tuple[dict[str, dict], str]:  # type: ignore[type-arg]
    of = {place: [f"zoo-{p}-{way}" for p, way in members if p == place] for place, _ in members}
    attacks = [name for place in ("run", "promise", "refusal", "made", "module") for name in of.get(place, [])]
    defences = [name for place in ("does", "start") for name in of.get(place, [])]
    tables = [(["fake-labels(n=8)"], [*good, *attacks], ["none"])]
    tables += [(["fake-labels(n=8)"], ["fake-reader"], defences)] if defences else []
    tables += [(sources, ["majority"], ["none"])] if (sources := of.get("load")) else []
    filled = [TABLE.format(labels=written(x), attacks=written(y), defences=written(z)) for x, y, z in tables]
    (folder / "zoo.toml").write_text("".join(['title = "zoo"\ntrials = 1\n', *filled]))
    options = ["--workers", "2", "--timeout", f"{limits['timeout']:g}", "--json", "--out", "run"]
    done = labelinf(folder, site, "matrix", "zoo.toml", *options, seconds=limits["seconds"])
    assert done.returncode == limits.get("status", 4), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    document = json.loads(done.stdout)
    titles = {facts["digest"]: facts["title"] for facts in document["labels"]}
    named = {
        f"{titles[c['labels']]}/{c['attack'].partition('(')[0]}/{'+'.join(c['defences'])}": c for c in document["cells"]
    }
    return named, done.stderr


def check(
    cells: dict[str, dict],  # type: ignore[type-arg]
    errors: str,
    zoo: ModuleType,
    members: Sequence[tuple[str, str]],
    loading: Sequence[str],
    kinds: Sequence[str] = ("import", "hook"),
    good: Sequence[str] = GOOD,
) -> None:
    """Every neighbour plays as if it were alone, and everybody who does not is named."""
    for attack in good:
        cell = cells[f"made/{attack}/none"]
        assert (cell["status"], cell["played"]) == ("ok", 1), cell
        share = 1.0 if attack == "fake-reader" else 0.5
        assert cell["accuracy"]["value"] == share
    notes = "\n".join(cells["made/majority/none"]["notes"])
    for place, way in members:
        name, harmless = f"zoo-{place}-{way}", way in zoo.HARMLESS
        if place == "load":
            assert harmless or name in errors
        elif place in ("evaluate", "ceilings"):
            assert harmless or f"bound {name}" in notes, (name, notes)
        else:
            key = f"made/fake-reader/{name}" if place in ("does", "start") else f"made/{name}/none"
            cell = cells[key]
            nothing = way in ("nonsense", "huge") and place in ("made", "module", "does")
            assert (cell["status"] == "ok") == (harmless or nothing), cell
            assert cell["message"] or harmless or nothing
    for way in loading:
        for kind in kinds:
            assert f"bad-{kind}-{way} 1.0 was left out" in errors or way == "nonsense", errors


@pytest.mark.long
@pytest.mark.timeout(200)
def test_a_faulty_plugin_costs_its_own_cells_and_is_named(
    zoo: ModuleType, fakes: Path, install_fake: Callable[..., Path], tmp_path: Path
) -> None:
    """One of each kind of loss: in a trial, and while a hook is asked; the others are played by the slow tests."""
    members = (("run", "kills"),)
    site = zoo.install(install_fake, members, ["os-exit"], kinds=("hook",))

    found = cells_of(tmp_path, site, members, good=["majority"], timeout=60, seconds=180)

    check(*found, zoo, members, ["os-exit"], kinds=("hook",), good=["majority"])


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_whole_zoo_costs_its_own_cells(
    zoo: ModuleType, fakes: Path, install_fake: Callable[..., Path], tmp_path: Path
) -> None:
    """Every way to go wrong in every place, and while plugins are loaded, in one run."""
    assert len(zoo.EVERYTHING) + 2 * len(zoo.LOADING) >= 120
    members = [member for member in zoo.EVERYTHING if member[0] != "evaluate"]
    site = zoo.install(install_fake, members, zoo.LOADING, kinds=("import", "hook"))

    check(*cells_of(tmp_path, site, members, timeout=20, seconds=1450), zoo, members, zoo.LOADING)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_bound_that_goes_wrong_in_any_way_costs_itself(
    zoo: ModuleType, fakes: Path, install_fake: Callable[..., Path], tmp_path: Path
) -> None:
    members = [member for member in zoo.EVERYTHING if member[0] == "evaluate"]
    site = zoo.install(install_fake, members, ())

    check(*cells_of(tmp_path, site, members, timeout=20, seconds=850, status=0), zoo, members, ())


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_hook_that_is_asked_late_costs_what_it_would_have_said(
    zoo: ModuleType, fakes: Path, install_fake: Callable[..., Path], tmp_path: Path
) -> None:
    loading = [way for way in zoo.LOADING if way != "hangs"]  # two minutes
    site = zoo.install(install_fake, (), loading, kinds=("late",))

    listed = labelinf(tmp_path, site, "theorems", seconds=250)

    assert listed.returncode == 0
    assert "S16" in listed.stdout
    assert "bad-late-os-exit 1.0: labelinf_statements: its process ended with exit code 3" in listed.stderr
    for way in loading:
        assert f"bad-late-{way} 1.0: labelinf_statements" in listed.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_command_goes_on_and_names_who_failed(
    zoo: ModuleType, fakes: Path, install_fake: Callable[..., Path], tmp_path: Path
) -> None:
    ways = ("raises", "exits", "interrupts", "os-exit")
    members = [(place, way) for place in ("run", "evaluate", "module", "load") for way in ways] + [
        ("run", "hangs"),
        ("ceilings", "os-exit"),
    ]
    site = zoo.install(install_fake, members, ["os-exit"], kinds=("import", "late"))

    for way in ("exits", "os-exit", "hangs"):
        done = labelinf(
            tmp_path, site, "attack", f"zoo-run-{way}", "--labels", "fake-labels", "--timeout", "20", seconds=200
        )
        assert done.returncode == 4, done.stderr
        assert f"zoo-run-{way}" in done.stderr
        assert "Traceback" not in done.stderr
    said = {
        ("plugins", "show"): ["zoo-module-os-exit", "attack 'majority'"],
        ("bounds", "--records", "50"): [f"bound zoo-evaluate-{way}" for way in ways],
        ("metrics", "--records", "20"): ["f1"],
        ("reproduce",): ["blia-tables"],
        ("advise", "--records", "40", "--gain", "5%", "--only", "epsilon", "--questions", "0"): [
            "bound zoo-ceilings-os-exit could not be evaluated"
        ],
    }
    for command, words in said.items():
        done = labelinf(tmp_path, site, *command, seconds=300)
        assert done.returncode in (0, 3), (command, done.stderr)
        assert "Traceback" not in done.stderr
        for word in words:
            assert word in done.stdout + done.stderr, (command, word, done.stderr)

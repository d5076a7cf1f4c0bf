"""Shared fixtures."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

from labelinf_core.testing.rules import NotApplicableError

# The same examples in every run: what fails was broken by the change, and is not drawn on some other day. Fresh ones
# are drawn by `pytest --hypothesis-profile=fresh`. Deadlines would be about the machine.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("fresh", deadline=None)
settings.load_profile("steady")

InstallFake = Callable[..., Path]
Accused = Callable[..., set[str]]
Loaded = Callable[[Path], ModuleType]


@pytest.fixture(autouse=True)
def one_key(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Play every game of this process under one key: no verdict may depend on which run of the tests it is.

    Tests marked ``fresh_key`` are about the keys themselves, and draw them from the system.
    """
    if request.node.get_closest_marker("fresh_key") is None:
        monkeypatch.setattr("labelinf_core.evaluator.plan.new_key", lambda: "0f" * 32)


@pytest.fixture(scope="session")
def loaded() -> Loaded:
    """Return what runs a script as a module of its own, which nobody else imports."""

    def load(path: Path) -> ModuleType:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def accused() -> Accused:
    """Return the names of the rules that a component breaks; those that do not apply are not broken."""

    def breaks(component: object, rules: Iterable[tuple[str, Callable[[Any], None]]]) -> set[str]:
        broken = set()
        for name, rule in rules:
            try:
                rule(component)
            except NotApplicableError:
                continue
            except Exception:
                broken.add(name)
        return broken

    return breaks


@pytest.fixture
def install_fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstallFake:
    """Install a made-up distribution for one test, without pip: a dist-info folder and one module.

    Returns the folder, which a subprocess can put on its PYTHONPATH.
    """
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def install(
        dist: str,
        *,
        entry: str,
        module: str,
        source: str = "",
        version: str = "1.0",
        requires: tuple[str, ...] = (),
    ) -> Path:
        info = site / f"{dist.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        needs = "".join(f"Requires-Dist: {item}\n" for item in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: {version}\n{needs}")
        (info / "entry_points.txt").write_text(f"[labelinf]\n{entry} = {module}\n")
        if source:
            (site / f"{module}.py").write_text(source)
            monkeypatch.delitem(sys.modules, module, raising=False)
        return site

    return install


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the distribution of tests/site, whose components misbehave, for one test and its subprocesses."""
    site = Path(__file__).parent / "site"
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")])))
    return site

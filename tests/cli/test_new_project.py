"""What ``labelinf plugins new`` writes beside the component: a project that is built, tested and published."""

from __future__ import annotations

import tarfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Labelinf = Callable[..., Result]


@pytest.fixture
def project(labelinf: Labelinf, tmp_path: Path) -> Path:
    assert labelinf("plugins", "new", "labelinf-my-idea", "--kind", "attack").exit_code == 0
    return tmp_path / "labelinf-my-idea"


def test_it_has_all_that_a_repository_needs(project: Path) -> None:
    files = {str(file.relative_to(project)) for file in project.rglob("*") if file.is_file()}

    assert files >= {"tox.ini", "LICENSE", ".gitignore", ".github/workflows/ci.yml", "tests/test_labelinf_my_idea.py"}
    workflow = (project / ".github/workflows/ci.yml").read_text()
    assert "labelinf plugins check my-idea" in workflow
    assert "${{ matrix.python }}" in workflow


def test_it_depends_on_the_versions_that_have_its_contract(project: Path) -> None:
    described = tomllib.loads((project / "pyproject.toml").read_text())["project"]

    assert described["dependencies"] == ["labelinf>=0.1,<0.2"]


def test_an_attack_says_what_it_cannot_play(project: Path) -> None:
    assert "def missing_requirement(self, threat" in (project / "labelinf_my_idea" / "attack.py").read_text()


def test_it_is_published_by_its_build_backend(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = pytest.importorskip("hatchling.build")
    monkeypatch.chdir(project)

    wheel, source = backend.build_wheel("dist"), backend.build_sdist("dist")

    assert wheel == "labelinf_my_idea-0.1.0-py3-none-any.whl"
    with tarfile.open(project / "dist" / source) as archive:
        assert "labelinf_my_idea-0.1.0/LICENSE" in archive.getnames()

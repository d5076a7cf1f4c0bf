"""The command line in this process, in a directory of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from labelinf_core.cli import main

Labelinf = Callable[..., Result]


@pytest.fixture
def labelinf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Labelinf:
    """Return a function that runs the command line; faults of ours are raised, not swallowed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(os, "environ", os.environ.copy())

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments, catch_exceptions=False)

    return run


@pytest.fixture
def suite(tmp_path: Path, fakes: Path) -> str:
    """Write a small suite of fakes; return its name."""
    (tmp_path / "small.toml").write_text(
        """
        trials = 2
        [[matrix]]
        labels = "fake-labels"
        loss = "log-loss"
        scorer = "float64"
        attacks = ["fake-reader", "fake-constant"]
        defences = ["none", "fake-noise(scale=1)"]
        """
    )
    return "small.toml"

"""Text goes out whatever stands at the other end; a plugin whose hook fails stops no command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

InstallFake = Callable[..., Path]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_encoding_will_do(encoding: str) -> None:
    command = [sys.executable, "-m", "labelinf_core", "theorems", "S16"]

    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert "S16" in done.stdout.decode(encoding)


def test_a_reader_who_has_seen_enough_is_no_error() -> None:
    command = f"{sys.executable} -m labelinf_core theorems | head -n 1"

    done = subprocess.run(command, shell=True, capture_output=True, check=False)

    assert done.stderr == b""


def test_a_hook_that_fails_is_named_and_stops_no_command(
    install_fake: InstallFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "from labelinf_core import hookimpl\nlabelinf_contract = 1\n@hookimpl\n"
        "def labelinf_statements():\n    raise SystemExit('no more')\n"
    )
    site = install_fake("labelinf-rude", entry="rude", module="rude_plugin", source=source)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))

    done = subprocess.run(
        [sys.executable, "-m", "labelinf_core", "theorems"], capture_output=True, check=False, text=True
    )

    assert done.returncode == 0
    assert "S16" in done.stdout
    assert done.stderr == (
        "labelinf: plugin 'rude' of labelinf-rude 1.0: labelinf_statements raised SystemExit in "
        "rude_plugin, line 5; what it offers there is left out\n"
    )

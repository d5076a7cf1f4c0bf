"""The command answers at once: heavy libraries load when they are first needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "scipy", "sklearn", "diffprivlib", "gmpy2", "torch", "rich")

PROBE = """
import sys
from pathlib import Path
from labelinf_core.cli import main
try:
    main({arguments!r}, prog_name="labelinf")
except SystemExit as error:
    assert error.code == 0, error.code
print("IMPORTED", *(name for name in {heavy!r} if name in sys.modules))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["plugins"], ["plugins", "--json"], ["matrix", "--help"]])
def test_nothing_heavy_is_imported(arguments: list[str]) -> None:
    code = PROBE.format(arguments=arguments, heavy=HEAVY)

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "IMPORTED"
    assert len(done.stdout.splitlines()) > 5


def test_help_imports_click_and_nothing_else() -> None:
    code = PROBE.format(arguments=["--help"], heavy=("attr", "cattrs", "pluggy", "jinja2", "importlib.metadata"))

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "IMPORTED"


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "labelinf_core", "--version"], capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("labelinf, version ")


@pytest.mark.skipif(not hasattr(signal, "SIGTERM") or os.name == "nt", reason="no such signals here")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_stopped_while_it_is_imported_it_says_so(tmp_path: Path, name: str) -> None:
    """It gave a traceback of whatever was being imported, and 143 for a SIGTERM."""
    (tmp_path / "click.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(60)\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    process = subprocess.Popen(
        [sys.executable, "-m", "labelinf_core", "theorems"],
        env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"

    process.send_signal(getattr(signal, name))

    assert process.communicate(timeout=30) == ("", "labelinf: stopped\n")
    assert process.returncode == 130

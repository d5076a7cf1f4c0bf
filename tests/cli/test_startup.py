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


@pytest.mark.long
@pytest.mark.parametrize("arguments", [["--help"], ["plugins"], ["plugins", "--json"], ["matrix", "--help"]])
def test_nothing_heavy_is_imported(arguments: list[str]) -> None:
    code = PROBE.format(arguments=arguments, heavy=HEAVY)

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "IMPORTED"
    assert len(done.stdout.splitlines()) > 5


@pytest.mark.long
def test_bounds_need_no_library_that_is_slow_to_import() -> None:
    slow = ("sklearn", "pandas", "scipy.stats", "scipy.optimize", "diffprivlib")
    code = PROBE.format(arguments=["bounds", "--records", "300"], heavy=slow)

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "IMPORTED"


def test_help_imports_click_and_nothing_else() -> None:
    code = PROBE.format(arguments=["--help"], heavy=("attr", "cattrs", "pluggy", "jinja2", "importlib.metadata"))

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "IMPORTED"


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "labelinf_core", "--version"], capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("labelinf, version ")


@pytest.mark.long
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


@pytest.mark.long
def test_what_a_shell_has_put_into_the_background_is_not_stopped_from_the_keyboard(tmp_path: Path) -> None:
    """A shell has such a command ignore SIGINT, while it starts and while it plays."""
    (tmp_path / "asked.py").write_text(
        "import os, signal\n"
        "def score(labels, predictions):\n"
        "    os.kill(os.getppid(), signal.SIGINT); os.kill(os.getpid(), signal.SIGINT)\n"
        "    return 0.5\n"
    )
    (tmp_path / "y.csv").write_text("y\n0\n1\n0\n1\n")
    done = subprocess.run(
        [sys.executable, "-m", "labelinf_core", "audit", "scorer", "asked:score", "--labels", "y.csv", "--column", "y"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )  # fmt: skip

    assert "stopped" not in done.stderr
    assert done.returncode == 3
    assert "answers that were tried do not depend on the labels" in " ".join(done.stdout.split())

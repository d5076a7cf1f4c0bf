"""Runs the commands of README's example and of the pages in ``tutorials`` and writes what they print below them.

``python docs/outputs.py`` writes the pages; with ``--check`` it writes nothing, names the pages that say something else
than the commands, and exits with 1; ``--picture`` draws ``leakage.svg`` from README's matrix. A command stands in a block ``console`` behind ``$``; a comment ``# exit 1`` says how it
ends where that is not 0. Every page is played from the top in an empty folder of its own.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
KEY = "0f" * 32  # of private labels: drawn from the system otherwise, and a page must say the same every time
WIDTH = "100"

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
_EXIT = re.compile(r"\s+# exit (\d+)$")
_TIMES = re.compile(r"\d[\d.e-]* m?s\b|from \d+ installed")  # what depends on the machine, and on what is installed


class DifferentExitError(AssertionError):
    """A command of a page ended otherwise than the page says."""


def fresh(page: Path) -> str:
    """Return the page with what its commands print now."""
    with session() as folder:
        return _BLOCK.sub(
            lambda block: f"```console\n{''.join(_played(block[1], folder))}```", page.read_text(encoding="utf-8")
        )


def same(one: str, other: str) -> bool:
    """Whether two pages say the same, durations and the number of installed attacks left out."""
    return _TIMES.sub("", one) == _TIMES.sub("", other)


@contextmanager
def session() -> Iterator[Path]:
    """Yield an empty folder, in which commands are played."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        folder = Path(directory)
        stack.enter_context(patch("labelinf_core.evaluator.plan.new_key", lambda: KEY))
        stack.enter_context(patch.dict(os.environ, {"COLUMNS": WIDTH}))
        stack.enter_context(patch.object(sys, "path", [str(folder), *sys.path]))
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)
            sys.modules.pop("board", None)


def _played(block: str, folder: Path) -> Iterator[str]:
    commands = re.findall(r"^\$ (?:.*\\\n)*.*\n", block, re.MULTILINE)
    for command in commands:
        expected = int(found[1]) if (found := _EXIT.search(command)) else 0
        status, output = run(_EXIT.sub("", command)[2:].replace("\\\n", " ").strip(), folder)
        if status != expected:
            raise DifferentExitError(f"{command.strip()}: exit {status}, not {expected}\n{output}")
        yield command
        yield "".join(f"{line.rstrip()}\n" for line in output.rstrip().splitlines())


def run(command: str, folder: Path) -> tuple[int, str]:
    """Return the exit status of a command and what it prints; an installer lays metadata only."""
    from labelinf_core.cli import main

    words = shlex.split(command)
    if words[:3] == ["pip", "install", "-e"]:
        return 0, _installed(folder / words[3])
    if words[0] == "python":
        done = subprocess.run(
            command.replace("python", sys.executable, 1), shell=True, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr
    result = CliRunner().invoke(main, words[1:])
    return result.exit_code, result.output


def _installed(project: Path) -> str:
    """Lay metadata beside a package, as an installer would."""
    described = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    info = project / f"{described['name'].replace('-', '_')}-{described['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {described['name']}\nVersion: {described['version']}\n"
    )
    entries = "".join(f"{name} = {target}\n" for name, target in described["entry-points"]["labelinf"].items())
    (info / "entry_points.txt").write_text(f"[labelinf]\n{entries}")
    sys.path.insert(0, str(project))
    importlib.invalidate_caches()
    return ""


def leakage() -> str:
    """Return the picture of README: the strongest attack on every defence, in the run of its first command."""
    from labelinf import load
    from labelinf_core.report.svg import as_svg

    with session():
        run("labelinf matrix quick --out run", Path())
        return as_svg(next(load("run").pictures()), alone=True)


def main(arguments: list[str]) -> int:
    """Write the pages, or name those that are stale."""
    if arguments == ["--picture"]:
        (ROOT / "docs" / "leakage.svg").write_text(leakage(), encoding="utf-8")
        return 0
    stale = 0
    for page in PAGES:
        text = fresh(page)
        if same(text, page.read_text(encoding="utf-8")):
            continue
        stale += 1
        if arguments == ["--check"]:
            print(f"{page.name} is stale: python docs/outputs.py writes it anew")
        else:
            page.write_text(text, encoding="utf-8")
            print(f"wrote {page.name}")
    return int(stale > 0) if arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""How the cost of each command grows with the labels: processor time, memory, and the exponents that fit.

    python benchmarks/scale.py                       # 1 000 to 1 000 000 made labels: an hour
    python benchmarks/scale.py --sizes 1000 10000    # two minutes

Every line is one command in a process of its own, its workers included; *growth* is the slope of the logarithm of the
time over that of the labels, of the last three sizes and of the last two, where starting Python hides less.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

BOARD = """[board]
labels = "labels.csv"
id = "id"
label = "label"
classes = ["0", "1"]
metric = "accuracy"
[public]
share = 0.1
[budget]
per_board = 20
[target]
gain = 0.5
accept_void = true
"""
SCORER = "import numpy as np\ndef score(y, p):\n    return float(np.mean(abs(np.asarray(y) - np.asarray(p)) ** 1.5))\n"
COMMANDS = {
    "bounds": "bounds --labels labels.csv --column label",
    "advise (proofs)": "advise --labels labels.csv --column label --queries 20 --gain 5% --questions 0",
    "audit scorer": "audit scorer mine:score --labels labels.csv --column label --queries 20",
    "audit log-loss": "audit scorer sklearn --labels labels.csv --column label --queries 20",
    "guard plan": "guard plan --records {n} --teams 2 --submissions 10",
    "guard init": "guard init board.toml",
    "guard score": "guard score board.toml --team a predictions.csv",
    "guard verify": "guard verify board.toml",
}


def cost(command: str, folder: Path) -> tuple[float, float]:
    """Return the seconds of processor time, and the largest memory of one process in GB."""
    started = subprocess.Popen(  # what it prints is not looked at: a leak is no fault here
        [sys.executable, "-m", "labelinf_core", *command.split()], cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    told = started.stderr.read() if started.stderr else ""
    _, status, used = os.wait4(started.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1, 3):
        raise SystemExit(f"labelinf {command}: {told}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6


def main() -> None:
    """Print a line for every command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    sizes = parser.parse_args().sizes
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for n in sizes:
        rng = np.random.default_rng(n)
        labels = (rng.random(n) < 0.4).astype(int).tolist()
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            (folder / "board.toml").write_text(BOARD)
            (folder / "mine.py").write_text(SCORER)
            (folder / "labels.csv").write_text("id,label\n" + "".join(f"{i},{y}\n" for i, y in enumerate(labels)))
            (folder / "predictions.csv").write_text("id,prediction\n" + "".join(f"{i},{i % 2}\n" for i in range(n)))
            for name, command in COMMANDS.items():
                found[name].append(cost(command.format(n=n), folder))
                seconds, memory = found[name][-1]
                print(f"{name:15} {n:9,} labels {seconds:8.1f} s {memory:6.2f} GB", flush=True)
    for name, rows in found.items():
        told = np.log([(n, seconds) for n, (seconds, _) in zip(sizes, rows, strict=True)])
        fits = [f"N^{np.polyfit(*told[-last:].T, 1)[0]:.2f}" for last in (3, 2) if len(told) >= last]
        print(f"{name:15} growth {' and '.join(fits)}")


if __name__ == "__main__":
    main()

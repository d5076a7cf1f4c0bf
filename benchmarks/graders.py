"""The graders of MLE-bench, each attacked over made answers: how many give labels away, and of what nobody can say.

Nothing of theirs ships. A checkout of yours is named, and its graders are run on tables that are made up here: a line
of graders.txt says which columns each scores, and what stands in them. Those that score boxes or whole trips are left
out.

    python benchmarks/graders.py --mle-bench PATH [--only NAME] [--first NAME] [--simulations 4000]
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pandas as pd

from labelinf_core.contracts.errors import LabelinfError
from labelinf_scores.audit.grader import audited_grader
from labelinf_scores.game.host_tables import HostTable

ROWS = 20
UNUSED = ("py7zr", "tqdm", "tqdm.auto")  # that its helpers import, and grading does not need
# A competition, the column that names its rows, what is scored: COLUMN[,COLUMN][>WHERE IT IS PREDICTED]:KIND, or
# @NAME for columns the grader lists itself; +COLUMN:KIND is public, =COLUMN:KIND stands in the submission alone.
# Kinds: b bits, predicted by probabilities; h bits; T truths; kN, tN one of N numbers, texts; r reals; s quarters from
# 0 to 1; o one column of all is 1; e run lengths; p orders; n the size of an image.
TASKS = Path(__file__).with_suffix(".txt")


def main() -> None:
    """Audit all, print a line each, and how many ended how."""
    arguments = parsed()
    sys.path.insert(0, str(arguments.mle_bench))
    for name in UNUSED:
        sys.modules.setdefault(name, MagicMock())
    ends: Counter[str] = Counter()
    tasks = dict(_tasks())
    for folder in sorted((arguments.mle_bench / "mlebench" / "competitions").glob("*/grade.py")):
        name = folder.parent.name
        if name < arguments.first or (arguments.only and arguments.only != name):
            continue
        began = time.process_time() + children()
        end, why = audited(name, tasks.get(name, []), arguments.simulations)
        ends[end] += 1
        print(f"{name:56s} {end:13s} {time.process_time() + children() - began:5.1f} s  {why}", flush=True)
    print(f"{sum(ends.values())} graders: " + ", ".join(f"{many} {end}" for end, many in ends.most_common()))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mle-bench", type=Path, required=True, help="a checkout of yours")
    parser.add_argument("--only", default="", help="one competition")
    parser.add_argument("--first", default="", help="leave out those before it")
    parser.add_argument("--simulations", type=int, default=4_000)
    return parser.parse_args()


def children() -> float:
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _tasks() -> Iterator[tuple[str, list[str]]]:
    for line in TASKS.read_text(encoding="utf-8").replace("\n ", " ").strip().splitlines():
        name, *columns = line.split()
        yield name, columns


def audited(name: str, columns: list[str], simulations: int) -> tuple[str, str]:
    """Return how an audit ended, and what is to be said of it."""
    if not columns:
        return "left out", "it scores boxes, slices, trips or annotations, of which nothing is made here"
    try:
        module = importlib.import_module(f"mlebench.competitions.{name}.grade")
    except ImportError as error:
        return "not runnable", f"needs {error.name}"
    with tempfile.TemporaryDirectory() as folder:
        solution, sample = Path(folder, "answers.csv"), Path(folder, "sample_submission.csv")
        targets = made(module, columns, solution, sample)
        try:
            table = HostTable.read(module.grade, solution, sample, targets)
            report = audited_grader(name, table, simulations=simulations)
        except LabelinfError as error:
            return "refused", str(error)
    leak = report.leak
    share = leak.accuracy.value if leak.accuracy else 0.0
    end = "leaks" if report.decision.status == 1 else "not read"
    return end, f"{share:.0%} of {table.places} labels in {leak.queries} queries" + f" ({leak.refusal})" * bool(
        leak.refusal
    )


def made(module: ModuleType, columns: list[str], solution: Path, sample: Path) -> list[str]:
    """Write answers and a sample, and return which columns are private."""
    rng, (key, *rest) = np.random.default_rng(0), columns
    listed = [(part, *_listed(module, part.lstrip("+="))) for part in rest]
    width = sum(len(names) for part, names, _, kind in listed if kind != "o" and part[0] not in "+=")
    rows = max(6, ROWS // max(1, width))
    ids = [f"u{i // 5}_{i}" for i in range(rows)]
    true: dict[str, Any] = {key: ids}
    shown: dict[str, Any] = {key: ids}
    private = []
    for part, names, predicted, kind in listed:
        block = _values(kind, (rows, len(names)), rng)
        for at, (name, guess) in enumerate(zip(names, predicted, strict=True)):
            if part[0] != "=":
                true[name] = block[:, at]
            if part[0] != "+":
                shown[guess] = np.full(rows, _guess(kind, block, len(names)))
            private += [name] * (part[0] not in "+=")
    pd.DataFrame(true).to_csv(solution, index=False)
    pd.DataFrame(shown).to_csv(sample, index=False)
    return private


def _listed(module: ModuleType, part: str) -> tuple[list[str], list[str], str]:
    """Return the columns of a part, where they are predicted, and of what kind they are."""
    names, _, kind = part.partition(":")
    name, _, predicted = names.partition(">")
    columns = list(getattr(module, name[1:])) if name.startswith("@") else name.split(",")
    return columns, predicted.split(",") if predicted else columns, kind


def _values(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> Any:
    many, n = int(kind[1:] or 0), shape[0]
    if kind in "bh":
        return (rng.random(shape) < 0.4).astype(int)
    if kind == "o":
        return np.eye(shape[1], dtype=int)[rng.integers(shape[1], size=n)]
    if kind == "e":
        return np.array([f"{a} {b}" for a, b in rng.integers(1, 30, (n, 2))], dtype=object)[:, None]
    if kind == "p":
        return np.array(["1 2 3", "2 1 3", "3 1 2", "3 2 1"], dtype=object)[rng.integers(4, size=shape)]
    if kind[0] == "t":
        return np.array([f"word{i}" for i in range(many)], dtype=object)[rng.integers(many, size=shape)]
    simple = {"k": lambda: rng.integers(many, size=shape), "s": lambda: rng.integers(5, size=shape) / 4,
              "r": lambda: np.round(rng.gamma(2, 0.5, shape), 4), "n": lambda: np.full(shape, 40),
              "T": lambda: rng.random(shape) < 0.5}  # fmt: skip
    return simple[kind[0]]()


def _guess(kind: str, block: Any, columns: int) -> Any:
    """Return what a sample submission says of every row."""
    soft = {"b": 0.5, "s": 0.5, "r": 1.0, "o": 1 / columns}
    return soft.get(kind, block.ravel()[0])


if __name__ == "__main__":
    main()

"""Mutation testing: small faults are put into the code that certifies, and a fault that no test notices is printed.

    python .ci/mutation.py                     # planted by hand, then a sample, chosen by the commit, for five minutes
    python .ci/mutation.py --minutes 0         # planted by hand only
    python .ci/mutation.py --all               # every mutant
    python .ci/mutation.py --only statistics   # of the files whose path holds this

``.ci/mutants.toml`` says which files, which tests stand over each, which mutants are known to change nothing, and
which faults that once lived are planted by hand, every time. It fails for those, and for a survivor in a room that has
been ``swept``: all of whose mutants were played once, so that a sample cannot meet an old survivor there. Survivors
elsewhere are printed.

No file is ever changed: a mutant is compiled in a fork of a process that has the libraries loaded already, which takes
a second where a fresh interpreter takes ten. docs/decisions/0006-mutation-testing.md compares it with what exists.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
LOADED = (
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "hypothesis",
    "pytest",
    "attrs",
    "cattrs",
    "click",
    "sklearn.metrics",
)
SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
RENAMED = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
    "array": "asanyarray",
}
IDLE = ("annotation", "returns")  # fields in which a fault is none


class Mutant(NamedTuple):
    """The ``index``-th fault that a file allows."""

    file: str
    index: int
    line: int
    change: str


class Text(NamedTuple):
    """A fault planted by hand: a piece of source, and what stands there instead."""

    file: str
    before: str
    after: str
    tests: list[str]

    @property
    def planted(self) -> str:
        """The source with the fault.

        Raises:
            SystemExit: What is to be replaced does not stand there exactly once.
        """
        source = (ROOT / self.file).read_text(encoding="utf-8")
        if source.count(self.before) != 1:
            raise SystemExit(f"{self.before!r} stands {source.count(self.before)} times in {self.file}, expected once")
        return source.replace(self.before, self.after)


class Fault(NamedTuple):
    """A new value for a field of a node, or for one place of a list there."""

    node: ast.AST
    field: str
    place: int | None
    value: Any

    def plant(self) -> Fault:
        """Change the node; return what undoes it."""
        old = getattr(self.node, self.field)
        if self.place is None:
            setattr(self.node, self.field, self.value)
            return self._replace(value=old)
        was, old[self.place] = old[self.place], self.value
        return self._replace(value=was)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every node that a fault may stand in: not annotations, messages or what only type checkers read."""
    if isinstance(node, ast.keyword) and node.arg == "kw_only":
        return  # how a class is called, not what it says
    if isinstance(node, ast.Raise | ast.JoinedStr) or (
        isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    ):
        return
    yield node
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in IDLE:
                yield from walk(child)


def faults(tree: ast.AST) -> Iterator[Fault]:
    """Yield every fault of a tree."""
    for node in walk(tree):
        match node:
            case ast.Compare():
                yield from (Fault(node, "ops", n, SWAPPED[type(op)]()) for n, op in enumerate(node.ops))
            case ast.BinOp() | ast.BoolOp() | ast.AugAssign() if type(node.op) in SWAPPED:
                yield Fault(node, "op", None, SWAPPED[type(node.op)]())
            case ast.If() | ast.IfExp():
                yield Fault(node, "test", None, ast.UnaryOp(op=ast.Not(), operand=node.test))
            case ast.UnaryOp(op=ast.USub()):
                yield Fault(node, "op", None, ast.UAdd())
            case ast.Constant(value=bool(value)):
                yield Fault(node, "value", None, not value)
            case ast.Constant(value=int(value) | float(value)):
                yield Fault(node, "value", None, value + 1)
            case ast.Call(func=ast.Name(id=name) as called) if name in RENAMED:
                yield Fault(called, "id", None, RENAMED[name])
            case ast.Call(func=ast.Attribute(attr=name) as called) if name in RENAMED:
                yield Fault(called, "attr", None, RENAMED[name])


def mutants(file: str) -> Iterator[Mutant]:
    """Yield every mutant of a file, described by its function and the expression before and after."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    owner = {id(inner): node.name for node in ast.walk(tree) if hasattr(node, "name") for inner in ast.walk(node)}
    parent = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for index, fault in enumerate(list(faults(tree))):
        above = parent[id(fault.node)]
        shown = fault.node if isinstance(fault.node, ast.If) or not isinstance(above, ast.expr | ast.keyword) else above
        before, undo = _said(shown), fault.plant()
        change = f"{owner.get(id(fault.node), 'module')}: {before} -> {_said(shown)}"
        undo.plant()
        yield Mutant(file, index, getattr(fault.node, "lineno", 0), change)


def _said(node: ast.AST) -> str:
    return ast.unparse(node.test if isinstance(node, ast.If) else node)


class Planted(importlib.abc.MetaPathFinder):
    """Imports one module with its fault."""

    def __init__(self, mutant: Mutant | Text) -> None:
        self.mutant = mutant
        self.name = mutant.file.removeprefix("plugins/").removesuffix(".py").replace("/", ".")

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Find that module."""
        if name != self.name:
            return None
        mutant, source = self.mutant, ROOT / self.mutant.file

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> Any:
                if isinstance(mutant, Text):
                    return compile(mutant.planted, str(source), "exec")
                tree = ast.parse(source.read_text(encoding="utf-8"))
                list(faults(tree))[mutant.index].plant()
                return compile(ast.fix_missing_locations(tree), str(source), "exec")

        return importlib.util.spec_from_file_location(name, source, loader=Loader(name, str(source)))


def play(tests: list[str], mutant: Mutant | Text | None) -> int:
    """Fork, plant the fault, run the tests there; return the process."""
    process = os.fork()
    if process:
        return process
    os.setpgid(0, 0)  # so that what a test starts ends with it
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if mutant is not None:
        sys.meta_path.insert(0, Planted(mutant))
    import pytest

    options = [
        "-q",
        "-x",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "--hypothesis-seed=0",
        "-Wignore::pytest.PytestAssertRewriteWarning",
        f"--rootdir={ROOT}",
    ]
    os._exit(int(pytest.main([*options, *tests])))


def ended(process: int, seconds: float) -> int | None:
    """Return the exit code of a process, or None when it had to be stopped."""
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def by_hand(texts: list[Text]) -> bool:
    """Play what is planted by hand; return whether all of it is killed."""
    alive = []
    for text in texts:
        assert text.planted
        if ended(play(text.tests, text), 300) in (0, None):
            alive.append(text)
            print(f"SURVIVED {text.file}: {text.before} -> {text.after}", flush=True)
    print(f"{len(texts)} planted by hand: {len(texts) - len(alive)} killed", flush=True)
    return not alive


def main() -> int:
    """Play mutants until the time is up; 1 when one survived that has to be killed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--all", action="store_true", help="play every mutant, however long it takes")
    options.add_argument("--minutes", type=float, default=5.0, help="time for a sample (5)")
    options.add_argument("--seed", default="", help="what chooses the sample (the commit)")
    options.add_argument("--only", default="", help="files whose path holds this")
    chosen = options.parse_args()

    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]
    settings = tomllib.loads((ROOT / ".ci" / "mutants.toml").read_text(encoding="utf-8"))
    accepted = {(item["file"], item["change"]) for item in settings.get("accepted", ())}
    tests_of = {
        str(file.relative_to(ROOT)): room["tests"]
        for room in settings["room"]
        for pattern in room["files"]
        for file in sorted(ROOT.glob(pattern))
        if chosen.only in str(file)
    }
    swept = {
        str(file.relative_to(ROOT))
        for room in settings["room"]
        for pattern in room["files"]
        for file in ROOT.glob(pattern)
        if room.get("swept")
    }
    for name in LOADED:
        importlib.import_module(name)
    seed = chosen.seed or subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    pool = [mutant for file in tests_of for mutant in mutants(file)]
    random.Random(seed).shuffle(pool)

    sound = by_hand([Text(**item) for item in settings["planted"] if chosen.only in item["file"]])
    began = time.monotonic()
    baseline: dict[tuple[str, ...], float] = {}
    killed, survivors, known, late = 0, [], 0, 0
    for mutant in pool:
        if not chosen.all and time.monotonic() - began > chosen.minutes * 60:
            break
        tests = tests_of[mutant.file]
        if tuple(tests) not in baseline:
            start = time.monotonic()
            if (code := ended(play(tests, None), 600)) != 0:
                print(f"the tests of {mutant.file} fail without a fault (pytest exit code {code}): {' '.join(tests)}")
                return 2
            baseline[tuple(tests)] = time.monotonic() - start
        code = ended(play(tests, mutant), 20 + 5 * baseline[tuple(tests)])
        if code != 0:
            killed += 1
            late += code is None
        elif (mutant.file, mutant.change) in accepted:
            known += 1
        else:
            survivors.append(mutant)
            print(f"SURVIVED {mutant.file}:{mutant.line}: {mutant.change}", flush=True)
    played, seconds = killed + known + len(survivors), time.monotonic() - began
    print(
        f"{played} of {len(pool)} mutants of {len(tests_of)} files, seed {seed[:12]}, {seconds:.0f} s: "
        f"{killed} killed ({late} out of time), {known} known to change nothing, {len(survivors)} survived"
    )
    return int(not sound or any(mutant.file in swept for mutant in survivors))


if __name__ == "__main__":
    sys.exit(main())

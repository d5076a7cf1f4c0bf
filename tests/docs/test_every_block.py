"""Every command of README and of the pages runs, as it stands, in a folder with the files that its page speaks of."""

from __future__ import annotations

import importlib.util
import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from labelinf_core.cli import main

ROOT = Path(__file__).parents[2]
HAS_TORCH = importlib.util.find_spec("torch") is not None

ELSEWHERE = {
    "python3 -m venv": "makes environments from a registry: continuous integration does, and runs tox",
    "venv/bin/": "in the environment that the command above it makes",
    "labelinf matrix full --executor slurm": "needs a cluster; tests/evaluator/test_executors.py plays a made one",
    "labelinf matrix full --executor dask": "needs a cluster; tests/evaluator/test_executors.py plays a made one",
    "labelinf matrix full": "every attack on every defence: hours",
    "labelinf guard serve": "serves until it is stopped; tests/guard/test_served.py starts it and asks",
    "curl": "asks the board that is served above it",
    "labelinf reproduce --all": "a quarter of an hour; tests/end_to_end/test_reproductions.py runs each",
    "python benchmarks/score_queries.py --part large": "an hour",
    "python benchmarks/exact_primes.py": "minutes, and 631 MB: its page says when it was run",
}  #: what is not run here, by how it begins, and why
TORCH = ("labelinf attack exact-solver --labels digits --channel 'gradient(network=",)  # its page says that it needs it

CLIENT = """
import numpy as np

def make(n_inputs, n_classes):
    return [np.random.default_rng(0).normal(size=(n_classes, n_inputs)), np.zeros(n_classes)]

def update(model, x, labels):
    logits = x @ model[0].T + model[1]
    errors = np.exp(logits - logits.max(axis=1, keepdims=True))
    errors = errors / errors.sum(axis=1, keepdims=True) - np.eye(len(model[1]))[labels]
    return [errors.T @ x / len(x), errors.mean(axis=0)]
"""


METRIC = """
from sklearn.metrics import roc_auc_score

def score(solution, submission, row_id_column_name):
    return roc_auc_score(solution["sick"], submission["sick"])
"""
BLOCKS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("test_commands.py"))))
PAGES = [page for page in BLOCKS.PAGES if "tutorials" not in page]  # theirs run where what they print is compared


def lay_log(folder: Path) -> None:
    """A board's log: three submissions and their scores."""
    lay_private(folder, "outcome")
    (folder / "submissions").mkdir()
    scored = ["submission,score"]
    for number in range(3):
        told = [(i * 7 + number) % 11 / 11 for i in range(40)]
        rows = "".join(f"{i},{value}\n" for i, value in enumerate(told))
        (folder / "submissions" / f"s{number}.csv").write_text("id,prediction\n" + rows)
        scored.append(f"s{number},{roc_auc_score([i % 3 == 0 for i in range(40)], told)!r}")
    (folder / "scores.csv").write_text("\n".join(scored) + "\n")


def lay_private(folder: Path, column: str) -> None:
    (folder / "private.csv").write_text(f"id,{column}\n" + "".join(f"{i},{i % 3 == 0:d}\n" for i in range(40)))


def lay_runs(folder: Path) -> None:
    """Two runs that are kept."""
    for name in ("before", "after"):
        game = ["--labels", "labels.csv", "--column", "outcome", "--channel", "score", "--only", "majority/none"]
        CliRunner().invoke(main, ["matrix", *game, "--workers", "0", "--trials", "2", "--out", f"runs/{name}"])


def lay_board(folder: Path) -> None:
    """The board of the page, with labels of its columns."""
    page = (ROOT / "docs" / "guard.md").read_text(encoding="utf-8")
    (folder / "board.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    labels = np.random.default_rng(0).integers(0, 2, 25_000)
    (folder / "private").mkdir()
    (folder / "private" / "labels.csv").write_text(
        "image,grade\n" + "".join(f"r{i},{y}\n" for i, y in enumerate(labels))
    )
    (folder / "submission.csv").write_text("image,prediction\n" + "".join(f"r{i},{i % 2}\n" for i in range(25_000)))


def lay_models(folder: Path) -> None:
    """Records with features, prompts, and the examples."""
    data = load_breast_cancer()
    header = [*(f"f{number}" for number in range(30)), "diagnosis"]
    scaled = ((data.data - data.data.mean(axis=0)) / data.data.std(axis=0)).round(4)
    rows = [[*row, name] for row, name in zip(scaled.tolist(), data.target_names[data.target].tolist(), strict=True)]
    (folder / "patients.csv").write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")
    moods = "".join(f"prompt {number},{('bad', 'fair', 'good')[number % 3]}\n" for number in range(400))
    (folder / "prompts.csv").write_text("prompt,mood\n" + moods)
    shutil.copytree(ROOT / "examples", folder / "examples")


def lay_client(folder: Path) -> None:
    """The page's own client where PyTorch is, one in NumPy elsewhere."""
    page = (ROOT / "docs" / "gradients.md").read_text(encoding="utf-8")
    own = "import torch" + page.partition("```text\nimport torch")[2].partition("```")[0]
    for name in ("mine.py", "mymodule.py"):
        (folder / name).write_text(own if HAS_TORCH else CLIENT)


def lay_scorer(folder: Path) -> None:
    lay_private(folder, "label")
    shutil.copy(folder / "board.py", folder / "ourboard.py")


def lay_plugin(folder: Path) -> None:
    shutil.copytree(ROOT / "examples" / "labelinf-plugin-demo", folder, dirs_exist_ok=True)


def lay_benchmarks(folder: Path) -> None:
    (folder / "benchmarks").symlink_to(ROOT / "benchmarks")


def lay_how_tos(folder: Path) -> None:
    lay_runs(folder)
    lay_log(folder)
    (folder / "metric.py").write_text(METRIC)
    for name in ("solution", "sample_submission"):
        rows = "".join(f"p{i},{i % 3 == 0:d}\n" if name == "solution" else f"p{i},.5\n" for i in range(40))
        (folder / f"{name}.csv").write_text(f"patient,sick\n{rows}")


FILES: dict[str, Callable[[Path], None]] = {
    "README.md": lay_log,
    "docs/benchmarks.md": lay_benchmarks,
    "docs/defences.md": lay_scorer,
    "docs/gradients.md": lay_client,
    "docs/guard.md": lay_board,
    "docs/howto.md": lay_how_tos,
    "docs/log.md": lay_log,
    "docs/outputs.md": lay_models,
    "docs/plugins.md": lay_plugin,
}  #: what has to be there before a page's commands


def before(command: str, folder: Path) -> str:
    """Do what a page leaves to its reader between two commands; return the command with what he fills in."""
    if command.startswith("labelinf guard export"):  # a board's labels are scored by it or by the export, not by both
        shutil.rmtree(folder / "board.state")
    if command.startswith("labelinf audit outputs --probabilities predictions.csv"):
        train = [sys.executable, "audit_sklearn.py", "plan", "diagnosis"]
        done = subprocess.run(train, capture_output=True, text=True, check=True)
        (folder / "predictions.csv").write_text(done.stdout)
    if "--out plan" in command:
        shutil.rmtree(folder / "plan", ignore_errors=True)
    if "HEX" in command:
        told = CliRunner().invoke(main, ["guard", "status", "board.toml", "--json"])
        return command.replace("HEX", json.loads(told.stdout)["head"])
    return command


def elsewhere(command: str) -> bool:
    return command.startswith(tuple(ELSEWHERE)) or (not HAS_TORCH and command.startswith(TORCH))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_runs(page: str, loaded: Callable[[Path], ModuleType]) -> None:
    outputs = loaded(ROOT / "docs" / "outputs.py")
    with outputs.session() as folder:
        assert outputs.run("labelinf samples", folder)[0] == 0
        FILES.get(page, lambda folder: None)(folder)
        for command in BLOCKS.commands(page):
            if not elsewhere(command):
                status, printed = outputs.run(before(command.partition("  #")[0], folder), folder)
                assert status in (0, 1, 3), f"{page}: {command}: exit {status}\n{printed}"


def test_what_is_not_run_is_there_and_says_why() -> None:
    """Most commands run; a reason whose command is gone goes too."""
    written = [command for page in BLOCKS.PAGES for command in BLOCKS.commands(page)]

    assert [start for start in ELSEWHERE if not any(command.startswith(start) for command in written)] == []
    assert sum(map(elsewhere, written)) < len(written) / 4
    assert set(FILES) <= set(PAGES)


def test_a_command_that_is_gone_fails(loaded: Callable[[Path], ModuleType]) -> None:
    outputs = loaded(ROOT / "docs" / "outputs.py")
    with outputs.session() as folder:
        assert outputs.run("labelinf bounds --clip 0.1", folder)[0] == 2

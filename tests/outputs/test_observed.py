"""A finished model with nothing planted: what is observed of it, which proves nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray

from labelinf_outputs.commands import finished

Labels = NDArray[np.intp]


def files(folder: Path, labels: Labels, seen: Labels, models: list[NDArray[np.float64]]) -> list[str]:
    """Write the probabilities of class 1 that every model gives, and what is known of the records."""
    paths = []
    for number, said in enumerate(models):
        rows = (f"{row},{1 - value:.6f},{value:.6f}" for row, value in enumerate(said))
        (folder / f"m{number}.csv").write_text("\n".join(["record,no,yes", *rows]), encoding="utf-8")
        paths += [*["--reference"] * (number > 0), str(folder / f"m{number}.csv")]
    rows = (
        f"{row},{'yes' if label else 'no'},{known}" for row, (label, known) in enumerate(zip(labels, seen, strict=True))
    )
    (folder / "r.csv").write_text("\n".join(["record,label,seen", *rows]), encoding="utf-8")
    return [*paths, str(folder / "r.csv")]


def drawn(told: float, seed: int = 0) -> tuple[Labels, Labels, list[NDArray[np.float64]]]:
    """200 records a group; features tell all models something, and the first leans towards what it was trained on."""
    rng = np.random.default_rng(seed)
    labels, seen = rng.integers(0, 2, 400), np.repeat([1, 0], 200)
    features = 2 * labels - 1 + rng.standard_normal(400)
    odds = [features + 0.3 * rng.standard_normal(400) for _ in range(4)]
    odds[0] += told * seen * (2 * labels - 1)
    return labels, seen, [1 / (1 + np.exp(-item)) for item in odds]


def observed(arguments: list[str]) -> Result:
    return CliRunner().invoke(finished, [*arguments, "--json"])


def test_a_model_that_remembers_is_seen_and_nothing_is_proved(tmp_path: Path) -> None:
    found = observed(files(tmp_path, *drawn(1.0)))
    answer = json.loads(found.stdout)

    assert (found.exit_code, answer["decision"]["word"], answer["decision"]["status"]) == (3, "observed", 3)
    assert answer["trained"]["value"] > 0.9
    assert answer["placebo"]["value"] < 0.6
    assert answer["p_alike"] < 1e-6


def test_a_model_that_remembers_nothing_seldom_looks_otherwise(tmp_path: Path) -> None:
    """Of 40 such models at most 6 have p <= .05: of 40 at 5 %, more have a probability of 1.5 %."""
    p_alike = [json.loads(observed(files(tmp_path, *drawn(0.0, seed))).stdout)["p_alike"] for seed in range(40)]

    assert sum(p <= 0.05 for p in p_alike) <= 6


def test_groups_that_differ_look_like_memory_which_is_why_nothing_is_proved(tmp_path: Path) -> None:
    labels, seen, models = drawn(0.0)
    wrong = (seen == 0) & (np.random.default_rng(1).random(400) < 0.4)  # labels of the placebo are of worse quality
    found = CliRunner().invoke(finished, files(tmp_path, np.where(wrong, 1 - labels, labels), seen, models[:1]))

    assert found.exit_code == 3
    assert "or the groups differ otherwise" in found.stdout
    assert float(found.stdout.split("as often of both: p ")[1].split()[0]) < 1e-6


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("record,label,seen", "record,label,member"), "has no column 'seen'"),
        (("record,label,seen", "record,class,seen"), "has no column 'label'"),
        ((",1\n", ",2\n"), "row 2: seen must be 1"),
        ((",0\n", ",1\n"), "must hold records that were trained on and others"),
        (("yes", "nan"), "label must be one of no, yes"),
        (("399,", "400,"), "lacks 1 of 400 records"),
    ],
)
def test_what_cannot_be_observed_is_one_sentence(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    arguments = files(tmp_path, *drawn(0.0))
    path = tmp_path / "r.csv"
    path.write_text((path.read_text(encoding="utf-8") + "\n").replace(*change), encoding="utf-8")

    assert said in str(observed(arguments).exception)

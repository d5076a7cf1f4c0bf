"""Broken defences, as a stranger would ship them: the alarm of ``labelinf matrix`` catches them, from end to end.

Each tells the adversary, and so the bounds, what a sound one does; only what it draws is wrong. The strongest attack
then reads more than any attack could, and the sound twin in the same run stays below its ceiling.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from labelinf_core.cli import main

BROKEN = '''
import attrs
import numpy as np

from labelinf_core import Descriptor, Kind, Reference, hookimpl
from labelinf_scores.game.curator import ActiveScoreDefence
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_privacy.noise.laplace import Laplace
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.defences.score_noise import ScoreNoise

labelinf_contract = 2


@attrs.frozen(kw_only=True)
class ReusedSeed(ScoreNoise):
    """Gaussian noise, but every query draws from the same seed."""

    def start(self, threat, rng):
        return Reusing(self.model, int(rng.integers(2**32)))


class Reusing(ActiveScoreDefence):
    def __init__(self, model, seed):
        self.model, self.seed = model, seed

    def answer(self, labels, query, ask):
        return ask(labels, query) + self.model.sample(np.random.default_rng(self.seed), 1)[0]


@attrs.frozen(kw_only=True)
class OffByN(LaplaceDp):
    """Laplace noise for label-DP, but its scale is that of N times the score."""

    def start(self, threat, rng):
        right = self.does(threat)[0].model
        return ScoreNoise(model=Laplace(scale=right.scale / threat.n_records)).start(threat, rng)


@hookimpl
def labelinf_components():
    for name, target in (("reused-seed", "ReusedSeed"), ("off-by-n", "OffByN")):
        yield Descriptor(
            kind=Kind.DEFENCE,
            name=name,
            channel="score",
            summary="broken",
            reference=Reference(work="labelinf tests", statement=name),
            target=f"broken_defences:{target}",
        )
'''

SUITE = """
trials = 5
[[matrix]]
labels = "made(n_records=64, n_classes=2, seed=0)"
loss = "log-loss"
scorer = "float64"
queries = 64
attacks = ["majority", "hadamard"]
defences = [
    ["clip(epsilon=0.01)", "{sound}"],
    ["clip(epsilon=0.01)", "{broken}"],
]
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("sound", "broken"),
    [
        pytest.param(
            "score-noise(model=grid-gaussian(scale=0.5, step=1e-9))",
            "reused-seed(model=grid-gaussian(scale=0.5, step=1e-9))",
            marks=pytest.mark.slow,
        ),
        ("laplace-dp(epsilon=2, queries=64)", "off-by-n(epsilon=2, queries=64)"),
    ],
    ids=["reused-seed", "off-by-n"],
)
def test_a_broken_defence_raises_the_alarm_and_its_sound_twin_does_not(
    sound: str,
    broken: str,
    install_fake: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_fake("labelinf-broken", entry="broken", module="broken_defences", source=BROKEN)
    monkeypatch.chdir(tmp_path)
    Path("broken.toml").write_text(SUITE.format(sound=sound, broken=broken))
    arguments = ["matrix", "broken.toml", "--workers", "0", "--json", "--fail-on", "contradiction"]

    run = CliRunner().invoke(main, arguments, catch_exceptions=False)

    assert run.exit_code == 1
    name = broken.partition("(")[0]
    verdicts = {
        (cell["attack"].partition("(")[0], any(name in stage for stage in cell["defences"])): cell["verdict"]
        for cell in json.loads(run.stdout)["cells"]
    }
    assert verdicts["hadamard", True] == "contradiction"
    assert "contradiction" not in (verdicts["hadamard", False], verdicts["majority", False], verdicts["majority", True])

    shown = CliRunner().invoke(main, [*arguments[:4], "--fail-on", "contradiction"], catch_exceptions=False)
    assert "CONTRADICTION" in shown.stdout.upper()
    assert "noise over the query budget" in " ".join(shown.stdout.split())

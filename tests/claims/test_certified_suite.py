"""The suite ``certified``: every certificate of every room meets the strongest attacks there are, low bits included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import attrs
import numpy as np
import pytest
import sklearn.metrics

from labelinf_core.contracts.guarantees import Ceiling, PerGame
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.suite import read_suite
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.game.channel import ScoreChannel

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "certified.py"
HOST = Host.load()
CERTIFYING = {
    *("score-noise", "laplace-dp", "gaussian-dp", "randomised-response", "privacy-budget", "ladder", "subset"),
    *("round", "query-limit", "permute-labels", "guarded-board"),
    *("clipped-laplace", "clipped-gaussian"),
    *("label-rr", "rr-with-prior", "resampling-rr", "alibi", "lp-2st", "lp-mst", "pate", "pate-fm"),
}
LOW_BITS = {"ulp-grid", "zero-mask", "lia-threshold"}  # the last reads a model that forgets nothing, to the last bit


@pytest.fixture(scope="module")
def script(loaded: Callable[[Path], ModuleType]) -> ModuleType:
    return loaded(SCRIPT)


def lost(script: ModuleType, every: int, games: int) -> list[str]:
    found = script.tables(every)
    assert len(found) > 5
    for item in found * games:
        item.play(seed=1)
    return [f"{item.cell.attack} against {item.cell.defences}: {item.mean:.3f}" for item in script.beaten(found)]


@pytest.mark.long
def test_a_sample_of_the_suite_finds_no_certificate_that_is_beaten(script: ModuleType) -> None:
    assert lost(script, every=61, games=1) == []


@pytest.mark.slow
def test_a_larger_sample_finds_none_either(script: ModuleType) -> None:
    assert lost(script, every=3, games=6) == []


@pytest.mark.long
def test_every_mechanism_that_certifies_is_played_and_so_are_the_low_bits() -> None:
    builder = Builder(HOST)
    cells = make_plan(read_suite("certified", HOST), builder, "certified").cells
    assert {stage.partition("(")[0] for cell in cells for stage in cell.defences} >= CERTIFYING
    assert {cell.attack.partition("(")[0] for cell in cells} >= LOW_BITS
    listed = {item.descriptor.name for item in HOST.catalogue(Kind.DEFENCE)}
    assert listed >= CERTIFYING


@pytest.mark.long
def test_quick_games_are_those_that_the_evaluator_plays(script: ModuleType) -> None:
    found = script.tables(37)
    assert {type(item.channel) for item in found} == {ScoreChannel, *script.QUICK}
    for item in found:
        whole = attrs.evolve(item, shares=[])
        item.play(seed=2)
        whole.play(seed=2, fully=True)
        assert item.shares == whole.shares, item.name


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_quick_log_loss_is_scikit_learns_bit_by_bit(script: ModuleType, dtype: str, n_classes: int) -> None:
    quick, rng = script.LogLoss(), np.random.default_rng(n_classes)
    for n in range(1, 30):
        rows = rng.dirichlet(np.full(n_classes, 0.2), n).astype(dtype)
        labels, classes = rng.integers(n_classes, size=n), np.arange(n_classes)
        for predictions in (rows, rows[:, 1])[: 4 - n_classes]:
            expected = sklearn.metrics.log_loss(labels, predictions, labels=classes)
            assert quick(labels, predictions, labels=classes) == expected


def test_what_beats_a_certificate_is_seen(script: ModuleType) -> None:
    """The judge itself: a mean that is too high, and a single game that is too good."""
    ceiling = Ceiling(accuracy=0.6, statement="s", conditions="c", game=PerGame(share=0.6))

    def judged(*shares: float) -> bool:
        table = script.Table(cell=None, channel=None, setting=None, ceilings=[ceiling], shares=list(shares))
        table.n_records = 100
        return bool(script.beaten([table]))

    assert not judged(*[0.6] * 20)
    assert judged(*[0.66] * 20)
    assert judged(*[0.55] * 19, 0.95)

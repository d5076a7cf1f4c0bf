"""Unequal posteriors: what is left to gain over a model that is sure of most labels, against all answers of one bit."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import BoundValue
from labelinf_core.contracts.labels import LabelSet
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.csv_file import CsvFile
from labelinf_data.npy_file import NpyFile
from labelinf_scores.bounds.gain import gain_ceiling
from labelinf_scores.bounds.perfect_model import PerfectModel
from labelinf_scores.game.channel import ScoreChannel

N = 3
LABELLINGS = np.array(list(itertools.product((0, 1), repeat=N)))


def gains(posteriors: list[float], tells: np.ndarray) -> float:  # type: ignore[type-arg]
    """Return what the best rule gains from answers with law ``tells``, shape ``(answers, labellings)``."""
    ones = np.array(posteriors)
    weight = np.where(LABELLINGS == 1, ones, 1 - ones).prod(axis=1)
    joint = tells * weight
    right = sum(np.maximum(joint @ LABELLINGS[:, i], joint @ (1 - LABELLINGS[:, i])).sum() for i in range(N))
    return float(right / N - np.maximum(ones, 1 - ones).mean())


@pytest.mark.long
@settings(max_examples=40)
@given(posteriors=st.lists(st.floats(0, 1), min_size=N, max_size=N))
def test_no_answer_of_one_bit_gains_more(posteriors: list[float]) -> None:
    perfect = float(np.maximum(posteriors, 1 - np.array(posteriors)).mean())
    ceiling = gain_ceiling(bits=1, n_effective=N, perfect=perfect)
    for said in itertools.product((0, 1), repeat=2**N - 1):
        told = np.array((0, *said))
        assert gains(posteriors, np.array([told, 1 - told])) <= ceiling + 1e-12


@settings(max_examples=40)
@given(posteriors=st.lists(st.floats(0, 1), min_size=N, max_size=N), epsilon=st.floats(0.01, 5))
def test_no_private_answer_gains_more(posteriors: list[float], epsilon: float) -> None:
    """Labels kept with probability ``e^eps / (e^eps + 1)``: every pure mechanism on one of them is made from that."""
    perfect = float(np.maximum(posteriors, 1 - np.array(posteriors)).mean())
    keep = 1 / (1 + math.exp(-epsilon))
    same = (LABELLINGS[:, None] == LABELLINGS).sum(axis=2)
    law = keep**same * (1 - keep) ** (N - same)
    assert gains(posteriors, law) <= (1 - perfect) * math.tanh(epsilon / 2) + 1e-12


def lines(perfect: float | None, *defences: str, queries: int = 20, n: int = 400) -> dict[str, BoundValue]:
    data = LabelSet(labels=np.arange(n) % 2, class_names=("a", "b"), title="made", provenance="made", perfect=perfect)
    builder = Builder(Host.load())
    stages = builder.pipeline(list(defences), "test")
    threat = ScoreChannel(queries=queries).threat(Setting(data=data, defences=stages))
    return {item.formula.partition("(")[0]: item for item in PerfectModel().evaluate(threat)}


def test_each_limit_by_hand() -> None:
    """N = 40 000, 20 answers in steps of .1 that reach over ln 99; class counts are log2(N + 1) bits."""
    (counted,) = lines(0.95, "clip(epsilon=0.01)", "round(decimals=1)", n=40_000).values()
    span = math.log(99)
    bits = 20 * math.log2(math.floor(span / 0.1) + 2) + math.log2(40_001)
    assert counted.value == pytest.approx(math.sqrt(math.log(2) * 0.05 * bits / 40_000), rel=1e-6)
    (private,) = lines(0.9, "randomised-response(epsilon=1)").values()
    assert private.value == pytest.approx(0.1 * math.tanh(0.5), rel=1e-6)
    (apart,) = lines(0.9, "subset(share=0.25)").values()
    assert apart.value == pytest.approx(0.025)
    assert "posteriors that were given, an assumption" in apart.conditions
    assert apart.quantity == "gain"
    assert lines(None, "subset(share=0.25)") == {}
    assert lines(0.9, "score-noise(model=laplace(scale=1))") == {}


def written(path: Path, header: str, *rows: str) -> str:
    path.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    return str(path)


def test_posteriors_are_read_in_each_form(tmp_path: Path) -> None:
    own = written(tmp_path / "y.csv", "y,p,q", "a,.9,.1", "b,.2,.8", "a,.5,.5")
    other = written(tmp_path / "p.csv", "x", ".9", ".2", ".5")
    np.save(tmp_path / "y.npy", np.array([0, 1, 0]))
    for source in (
        CsvFile(path=own, column="y", posteriors="p"),
        CsvFile(path=own, column="y", posteriors="p,q"),
        CsvFile(path=own, column="y", posteriors=f"{other}:x"),
        NpyFile(path=str(tmp_path / "y.npy"), posteriors=f"{other}:x"),
    ):
        assert source.load().perfect == pytest.approx((0.9 + 0.8 + 0.5) / 3)
    three = written(tmp_path / "three.csv", "y,p", "a,.9", "b,.4", "c,.5")
    assert CsvFile(path=three, column="y", posteriors="p").load().perfect == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("posteriors", "said"),
    [
        ("nothing", "no column 'nothing' for the posteriors"),
        ("p,q,y", "name 3 columns; expected one, or one for each of 2 classes"),
        ("p,r", "must sum to one in every row"),
        ("far", "must be numbers from 0 to 1 in every row"),
        ("SHORT:x", "has posteriors of 2 records for 3 labels"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, posteriors: str, said: str) -> None:
    own = written(tmp_path / "y.csv", "y,p,q,r,far", "a,.9,.1,.2,2", "b,.2,.8,.2,no", "a,.5,.5,.5,")
    short = written(tmp_path / "short.csv", "x", ".9", ".2")
    with pytest.raises(InputError, match=said):
        CsvFile(path=own, column="y", posteriors=posteriors.replace("SHORT", short)).load()


def test_a_likeliest_class_below_chance_is_none(tmp_path: Path) -> None:
    three = written(tmp_path / "three.csv", "y,p", "a,.9", "b,.2", "c,.5")
    with pytest.raises(InputError, match="a probability of 1/3 at least"):
        CsvFile(path=three, column="y", posteriors="p").load()

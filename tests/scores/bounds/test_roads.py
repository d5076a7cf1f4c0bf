"""The same mechanism gets the same verdict by every road that leads to it.

The mechanisms are found among what is installed; whoever adds one is tested here without adding a test.
"""

from __future__ import annotations

import functools
from pathlib import Path

import attrs
import pytest

import labelinf as li
from labelinf_core.contracts.components import NoiseModel, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import LITTLE, MUCH, Ceiling, left_to_gain
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.records import Implied
from labelinf_core.evaluator.suite import read_suite
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder, Spec
from labelinf_privacy.noise.grid import GridNoise
from labelinf_scores.defences.calibration import CalibratedNoise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence

HOST = Host.load()
BUILDER = Builder(HOST)
CLIP = "clip(epsilon=0.01)"
N, Q = 200, 20


def _installed(kind: Kind, base: type) -> list[str]:
    listed = [item for item in HOST.catalogue(kind) if item.plugin.distribution == "labelinf"]
    return sorted(item.descriptor.name for item in listed if issubclass(item.load(), base))


CALIBRATED = _installed(Kind.DEFENCE, CalibratedNoise)
GRIDS = _installed(Kind.NOISE, GridNoise)
NEEDS = {"distribution": None, "geometric": {"scale": 0.5, "step": 0.01}}  # a law of the user's own; a step
MODELS = [name for name in _installed(Kind.NOISE, NoiseModel) if NEEDS.get(name, {}) is not None]


def implied(*defences: object) -> Implied:
    return li.bounds(labels=f"made(n_records={N})", queries=Q, channel="score", defences=list(defences))


def verdict(found: Implied) -> tuple[str, float]:
    """What the ceilings leave to gain, as a verdict and as a number; all of it where none stands."""
    left = left_to_gain(found.ceilings, found.baseline)
    return ("held" if left <= LITTLE else "partly" if left <= MUCH else "nothing"), left


def from_a_suite(path: Path, stage: Spec) -> tuple[Ceiling, ...]:
    """What a run says of a cell whose defence stands in a suite file as a table."""

    def table(spec: Spec) -> str:
        inside = {key: table(value) if isinstance(value, Spec) else repr(value) for key, value in spec.params.items()}
        return "{" + ", ".join([f"name = '{spec.name}'", *(f"{key} = {value}" for key, value in inside.items())]) + "}"

    path.write_text(
        f"title = 'roads'\ntrials = 1\n[[matrix]]\nchannel = 'score'\nlabels = 'made(n_records={N})'\n"
        f"queries = {Q}\nattacks = ['majority']\ndefences = [['{CLIP}', {table(stage)}]]\n"
    )
    (cell,) = make_plan(read_suite(str(path), HOST), BUILDER, "test").cells
    return TrialRunner(builder=BUILDER).imply(cell).ceilings


def test_there_is_something_to_compare() -> None:
    assert {"laplace-dp", "gaussian-dp"} <= set(CALIBRATED)
    assert {"grid-laplace", "grid-gaussian", "geometric"} <= set(GRIDS)
    assert {"laplace", "gaussian", "diffprivlib"} <= set(MODELS)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("name", CALIBRATED)
def test_noise_that_a_budget_asks_for_is_that_noise_by_name(name: str, epsilon: float) -> None:
    budget = Spec(name, {"epsilon": epsilon, "queries": Q})
    data = BUILDER.build(Kind.LABELS, f"made(n_records={N})", "test").load()
    behind = ScoreChannel(queries=Q).threat(Setting(data=data, defences=BUILDER.pipeline([CLIP], "test")))
    model = BUILDER.build(Kind.DEFENCE, budget, "test").model(behind)
    (noise,) = (each for each in GRIDS if type(model) is HOST.find(Kind.NOISE, each).load())
    spelled = Spec(noise, {field.name: getattr(model, field.name) for field in attrs.fields(type(model))})

    named, by_model = verdict(implied(CLIP, budget)), verdict(implied(CLIP, Spec("score-noise", {"model": spelled})))

    assert named[0] == by_model[0]
    assert named[1] == pytest.approx(by_model[1], abs=1e-9)
    assert epsilon > 1 or named[1] < 1


@pytest.mark.parametrize("sticky", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_noise_is_certified_on_a_grid_and_nowhere_else(name: str, sticky: bool) -> None:
    """Whatever the model: what is added in floats has no certificate, whichever library drew it."""
    model = Spec(name, NEEDS.get(name) or ({"scale": 0.5} if name in GRIDS else {}))
    stage = Spec("score-noise", {"model": model, "sticky": sticky})
    assert (verdict(implied(CLIP, stage))[1] < 1) == (name in GRIDS)


@pytest.mark.long
@pytest.mark.parametrize("name", _installed(Kind.DEFENCE, ScoreDefence))
def test_a_defence_is_the_same_as_text_as_an_object_and_in_a_suite(name: str, tmp_path: Path) -> None:
    """With every parameter as it is, and with every parameter spelled out."""
    read = functools.partial(implied, CLIP)
    try:
        spelled = BUILDER.full(Kind.DEFENCE, name, "test")
        as_text = read(name).ceilings
    except InputError as error:  # it needs parameters, or another stage in front of it: so does it everywhere
        with pytest.raises(InputError, match=str(error)[:20].translate(str.maketrans("()", ".."))):
            read(Spec(name))
        return
    assert read(Spec(name)).ceilings == read(str(spelled)).ceilings == read(spelled).ceilings == as_text
    assert from_a_suite(tmp_path / "suite.toml", Spec(name)) == as_text


def test_randomised_response_denies_the_same_of_scores_and_of_models() -> None:
    """One law of labels, in two rooms."""
    scores = li.bounds(labels="breast-cancer", channel="score", defences=["randomised-response(epsilon=0.7)"])
    models = li.bounds(labels="breast-cancer", channel="output", defences=["label-rr(epsilon=0.7)"])
    (of_scores,), (of_models,) = scores.ceilings, models.ceilings
    even = li.bounds(records=100, channel="score", defences=["randomised-response(epsilon=0.7)"]).ceilings[0]
    assert of_models.accuracy == even.accuracy  # planted labels are even, whatever the file's are
    assert of_scores.accuracy >= of_models.accuracy

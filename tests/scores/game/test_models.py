"""A board that scores models: MutNet reads every label there, and only a secret it cannot name stops it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_core.contracts.components import Defence, LabelSet, Outcome, Setting
from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_papers.attacks.gentle_networks import GentleNetworks
from labelinf_papers.attacks.mutnet import SubmittedMutNet
from labelinf_papers.mutnet import (
    ModelActivation,
    ModelLayer,
    MutNet,
    batch_head,
    for_any_sign,
    interpolating,
    published,
)
from labelinf_scores.attacks.hybrid import Hybrid
from labelinf_scores.bounds.constructions import ConstructionNoise
from labelinf_scores.bounds.hadamard import HadamardNoise
from labelinf_scores.bounds.unseen import Unseen
from labelinf_scores.defences.refuse_constructions import RefuseConstructions
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.models import ModelBoard, Run
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss

RUNS = (Run.BATCH, Run.ROWS)
FEATURES = np.random.default_rng(5).normal(size=(6, 3))


def labelled(labels: object, features: NDArray[np.float64] | None = FEATURES, n_classes: int = 2) -> LabelSet:
    names = tuple(map(str, range(n_classes)))
    shown = np.array(labels, dtype=np.intp)
    return LabelSet(labels=shown, class_names=names, title="made", provenance="made", features=features)


def oracle(data: LabelSet, run: Run, *defences: Defence) -> ScoreOracle:
    """An oracle for labels as they stand, in no fresh order."""
    channel = ScoreChannel(model=run)
    threat = channel.threat(Setting(data=data, defences=defences))
    return ScoreOracle(threat, channel.curator(data.labels, threat, np.random.default_rng(0)).answer)


def guessed(attack: ScoreAttack, data: LabelSet, run: Run, *defences: Defence) -> NDArray[np.intp]:
    return attack.run(oracle(data, run, *defences), np.random.default_rng(1)).labels


def played(attack: ScoreAttack, run: Run, *defences: Defence, n: int = 60) -> Outcome:
    rng = np.random.default_rng(2)
    data = labelled(np.arange(n) % 3 // 2, rng.normal(size=(n, 4)))
    setting = Setting(data=data, attack=attack, defences=defences)
    return ScoreChannel(model=run).play(
        setting, curator_rng=np.random.default_rng(3), attack_rng=np.random.default_rng(4)
    )


@pytest.mark.long
@pytest.mark.parametrize("run", RUNS)
def test_every_labelling_comes_out_of_a_board_of_models(run: Run) -> None:
    for labels in itertools.product((0, 1), repeat=5):
        if len(set(labels)) == 2:
            assert guessed(SubmittedMutNet(), labelled(labels, FEATURES[:5]), run).tolist() == list(labels)


@pytest.mark.parametrize("run", RUNS)
def test_labels_of_three_classes_come_out_too(run: Run) -> None:
    for labels in itertools.islice(itertools.permutations((0, 1, 2, 0, 1, 1)), 0, None, 60):
        assert guessed(SubmittedMutNet(), labelled(labels, n_classes=3), run).tolist() == list(labels)


def test_records_without_features_are_told_apart_by_their_number() -> None:
    labels = [0, 1, 1, 0, 1, 0, 0, 1]
    assert guessed(SubmittedMutNet(), labelled(labels, None), Run.ROWS).tolist() == labels


@pytest.mark.long
def test_the_printed_network_tells_class_counts_only() -> None:
    """One output whatever it is shown: labellings with the same counts have the same score (A-20)."""
    scores: dict[int, set[float]] = {}
    network = for_any_sign(np.array([0.3]), n_features=3, rng=np.random.default_rng(0))
    for labels in itertools.product((0, 1), repeat=6):
        if len(set(labels)) == 2:
            board = oracle(labelled(labels), Run.ROWS)
            scores.setdefault(sum(labels), set()).add(round(float(board.submit(network)), 12))
    assert [len(scores[count]) for count in range(1, 6)] == [1] * 5


def test_what_is_secret_is_in_no_view_of_the_adversary() -> None:
    data = labelled([0, 1, 0, 1, 0, 1])
    for run in (Run.BATCH, Run.HIDDEN_ROWS):
        shown = oracle(data, run).threat.models
        assert shown is not None
        assert shown.features is None
        with pytest.raises(QueryRefusedError):
            shown.outputs(MutNet(layers=()))
    assert oracle(data, Run.ROWS).threat.models.features is not None  # type: ignore[union-attr]


def test_behind_secret_records_one_at_a_time_nobody_beats_a_blind_guess() -> None:
    """The score is the same when two records change places with their labels: of which is which, nothing is told."""
    threat = ScoreChannel(model=Run.HIDDEN_ROWS).threat(Setting(data=labelled([0, 0, 0, 0, 1, 1])))

    assert (
        SubmittedMutNet().unsupported_reason(threat)
        == "a model that sees one secret record at a time cannot tell which it is"
    )
    assert min(ceiling.accuracy for ceiling in Unseen().ceilings(threat)) == pytest.approx(4 / 6)
    assert (*ConstructionNoise().evaluate(threat), *HadamardNoise().evaluate(threat)) == ()  # of what no row can name

    network = interpolating(FEATURES, np.linspace(0.1, 0.9, 6), rng=np.random.default_rng(0))
    labels = np.array([0, 0, 1, 0, 1, 0])
    turned = np.random.default_rng(0).permutation(6)
    one = oracle(labelled(labels), Run.HIDDEN_ROWS).submit(network)
    other = oracle(labelled(labels[turned], FEATURES[turned]), Run.HIDDEN_ROWS).submit(network)
    assert one == pytest.approx(other, abs=1e-12)


def test_one_record_at_a_time_undoes_a_network_that_reads_places() -> None:
    network = batch_head(np.full(6, 0.4), n_features=3, rng=np.random.default_rng(0))
    with pytest.raises(QueryRefusedError, match="one at a time"):
        oracle(labelled([0, 1, 0, 1, 0, 1]), Run.ROWS).submit(network)


@pytest.mark.long
def test_a_detector_that_sees_features_refuses_what_names_records_and_lets_gentle_networks_through() -> None:
    def play(attack: ScoreAttack, *defences: Defence) -> tuple[float, object]:
        outcome = played(attack, Run.ROWS, *defences)
        return outcome.n_correct / outcome.n_records, outcome.evidence.get("refused")

    looks = RefuseConstructions()
    assert play(SubmittedMutNet())[0] == 1
    assert play(SubmittedMutNet(), looks)[0] < 0.7  # all was refused, and it guesses the larger class: two thirds
    assert play(GentleNetworks(), looks) == (1.0, 0)
    assert play(GentleNetworks(), looks, RoundScore(decimals=1))[0] < 0.95


def test_without_the_features_the_same_detector_does_not_see_it() -> None:
    """Random predictions pass as a vector; as a network that is to return them they are steep."""
    rng = np.random.default_rng(0)
    data = labelled(np.arange(60) % 2, rng.normal(size=(60, 4)))
    target = 1 / (1 + np.exp(rng.normal(0, 3, 60)))
    threat = ScoreChannel().threat(Setting(data=data, defences=(RefuseConstructions(),)))
    plain = ScoreOracle(threat, ScoreChannel().curator(data.labels, threat, rng).answer)
    assert plain.query(target) > 0
    board = oracle(data, Run.ROWS, RefuseConstructions())
    assert board.threat.models is not None
    assert board.threat.models.features is not None
    network = interpolating(board.threat.models.features, target, rng=rng)
    with pytest.raises(QueryRefusedError, match="per unit of the features"):
        board.submit(network)


def test_who_sends_the_wrong_thing_is_refused_and_pays_for_it() -> None:
    board = oracle(labelled([0, 1, 0, 1, 0, 1]), Run.BATCH)
    for wrong in (
        lambda: board.query(np.full(6, 0.5)),
        lambda: board.submit("no model"),  # type: ignore[arg-type]
        lambda: board.submit(published(np.array([0.5]), n_features=7, rng=np.random.default_rng(0))),
        lambda: board.submit(
            MutNet(
                layers=(ModelLayer(weights=np.ones((18, 5)), bias=np.ones(5), activation=ModelActivation.SIGMOID),),
                whole_batch=True,
            )
        ),
    ):
        with pytest.raises(QueryRefusedError):
            wrong()
    assert board.spent == 4
    threat: ThreatModel = ScoreChannel().threat(Setting(data=labelled([0, 1])))
    assert SubmittedMutNet().unsupported_reason(threat) == "sends models, and this board scores predictions"
    assert Hybrid().unsupported_reason(board.threat) == "sends no models"
    assert Hybrid().promise(board.threat) is None


def test_a_model_that_is_more_than_numbers_is_none() -> None:
    class Curious(MutNet):
        def __call__(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
            raise AssertionError("it saw the records")

    with pytest.raises(QueryRefusedError, match="Curious"):
        oracle(labelled([0, 1, 0, 1, 0, 1]), Run.BATCH).submit(Curious(layers=()))


@pytest.mark.parametrize(
    ("channel", "data", "says"),
    [
        (ScoreChannel(model=Run.HIDDEN_ROWS), labelled([0, 1], None), "--features"),
        (
            ScoreChannel(model=Run.BATCH, loss=SoftmaxLogLoss(), scorer="float64"),
            labelled([0, 1], None),
            "takes logits",
        ),
        (ScoreChannel(model=Run.BATCH, scorer="mine:score"), labelled([0, 1], None), "one's own"),
    ],
)
def test_what_a_board_of_models_cannot_be_is_said(channel: ScoreChannel, data: LabelSet, says: str) -> None:
    with pytest.raises(InputError, match=says):
        channel.threat(Setting(data=data))


def test_records_that_look_alike_are_not_told_apart() -> None:
    data = labelled([0, 1, 0, 1], np.ones((4, 2)))
    threat = ScoreChannel(model=Run.ROWS).threat(Setting(data=data))
    assert SubmittedMutNet().unsupported_reason(threat) == "needs records that differ in their features"
    assert SubmittedMutNet().unsupported_reason(ScoreChannel(model=Run.BATCH).threat(Setting(data=data))) == ""


@pytest.mark.long
def test_many_records_are_run_in_parts() -> None:
    board = ModelBoard.of(Run.ROWS, labelled(np.arange(5000) % 2, None))
    assert board is not None
    wide = ModelLayer(weights=np.ones((1, 4096)), bias=np.zeros(4096), activation=ModelActivation.RELU)
    last = ModelLayer(weights=np.full((4096, 1), 1 / 4096), bias=np.zeros(1), activation=ModelActivation.SIGMOID)
    assert board.features is not None
    expected = 1 / (1 + np.exp(-np.maximum(board.features[:, 0], 0)))
    assert board.outputs(MutNet(layers=(wide, last))) == pytest.approx(expected)

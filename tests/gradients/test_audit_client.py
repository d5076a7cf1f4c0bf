"""A client in NumPy, without PyTorch: whatever it does to its updates, its labels come out."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from labelinf_core.cli import main
from labelinf_core.contracts.audited import AuditWord
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError, UnfitError
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_gradients.audit.chance import of_batches, overlaps, p_value
from labelinf_gradients.audit.change import flat
from labelinf_gradients.audit.client import ClientAudit, audit_client
from labelinf_gradients.audit.game import Together, guessed
from labelinf_gradients.audit.saved import audit_saved
from labelinf_gradients.audit.scale import UpdateScale
from labelinf_gradients.audit.updates import UserClient
from labelinf_gradients.audit.words import lines
from labelinf_gradients.game.networks import Perceptron
from labelinf_gradients.game.own_network import load
from labelinf_gradients.recovery.tensors import FORMATS, rounded_to

TEN_LINES = """
import numpy as np

def make(n_inputs, n_classes):
    return [np.random.normal(size=(n_classes, n_inputs)) / 8, np.zeros(n_classes)]

def update(model, x, labels):
    scores = np.exp(x @ model[0].T + model[1])
    error = scores / scores.sum(axis=1, keepdims=True) - np.eye(len(model[1]))[labels]
    return [error.T @ x / len(x), error.mean(axis=0)]
"""


@pytest.fixture(scope="module")
def network() -> Perceptron:
    return Perceptron.random((64, 16, 10), np.random.default_rng(0), dtype="float32")


def parts_of(network: Perceptron, row: Any) -> dict[str, Any]:
    """Return a flat row by parameter."""
    ends = np.cumsum([part.size for part in network.parameters.values()])[:-1]
    pieces = np.split(np.asarray(row, dtype=np.float32), ends)
    return {k: own.reshape(v.shape) for own, (k, v) in zip(pieces, network.parameters.items(), strict=True)}


def clipped(row: Any, rng: Any) -> Any:
    return row * min(1, 0.5 / np.linalg.norm(row))


def eight_bits(row: Any, rng: Any) -> Any:
    return np.rint(row / np.abs(row).max() * 127) * np.abs(row).max() / 127


def largest(row: Any, rng: Any) -> Any:
    return np.where(np.abs(row) >= np.quantile(np.abs(row), 0.9), row, 0)


@pytest.mark.long
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize(
    "change",
    [
        lambda row, rng: -0.25 * row,
        clipped,
        lambda row, rng: row + 0.01 * rng.normal(size=row.shape),
        largest,
        lambda row, rng: row * (rng.random(row.shape) < 0.2),
        lambda row, rng: np.sign(row),
        eight_bits,
        lambda row, rng: rounded_to(row, "bfloat16"),
        lambda row, rng: rounded_to(row, "float16"),
        lambda row, rng: np.sin(40 * row),
        lambda row, rng: row * (1 + 0.05 * rng.normal(size=row.shape)),
        lambda row, rng: row[::-1],
    ],
)
def test_labels_come_out_whatever_becomes_of_a_gradient(network: Perceptron, change: Any, batch: int) -> None:
    """Signs, levels, masks, half precision, sines of the entries, and all of them in another order."""
    rng = np.random.default_rng(1)

    def sent(model: Any, x: Any, classes: Any) -> Any:
        return parts_of(network, change(flat(network.mean_gradient(x, np.eye(10)[classes])), rng))

    found = audited(network, None, batch=batch, samples=32, function=sent)

    assert found.leaks
    assert found.scores[0].correct >= (31 if batch == 1 else 26)
    assert found.control is not None
    assert found.control.given >= (28 if batch == 1 else 22)


@pytest.mark.long
@pytest.mark.parametrize("change", [lambda row, rng: row * 0, lambda row, rng: rng.normal(size=row.shape)])
def test_what_has_nothing_to_do_with_labels_is_no_leak(network: Perceptron, change: Any) -> None:
    rng = np.random.default_rng(1)

    def sent(model: Any, x: Any, classes: Any) -> Any:
        return parts_of(network, change(flat(network.mean_gradient(x, np.eye(10)[classes])), rng))

    assert audited(network, None, batch=1, samples=32, function=sent).word is AuditWord.UNSHOWN


def test_scale_and_noise_of_updates_are_measured(network: Perceptron) -> None:
    rng, bunch = np.random.default_rng(1), load_bunch("digits")

    def measured(change: Any) -> UpdateScale:
        def function(model: Any, x: Any, classes: Any) -> Any:
            return parts_of(network, change(flat(network.mean_gradient(x, np.eye(10)[classes]))))

        client = UserClient(function=function, name="mine", network=network)
        return UpdateScale.measured(
            client, network, bunch.data[:80] / 16, np.asarray(bunch.target[:80], dtype=np.intp), 4
        )

    plain = measured(lambda row: -0.25 * row)
    noisy = measured(lambda row: 2 * row + 0.01 * rng.normal(size=row.shape))
    other = measured(lambda row: rng.normal(size=row.shape))

    assert (plain.factor, plain.noise) == (pytest.approx(-0.25), 0)
    assert plain.left < 1e-6
    assert (noisy.factor, noisy.noise) == (pytest.approx(2, rel=0.01), pytest.approx(0.01, rel=0.05))
    assert other.left > 0.9
    assert measured(lambda row: row * 0).factor == 1


@pytest.mark.long
def test_clients_that_are_summed_are_attacked_together(network: Perceptron) -> None:
    """Four clients of two records each: the sum is all that is seen."""
    bunch = load_bunch("digits")
    names = tuple("0123456789")
    data = LabelSet(labels=bunch.target, class_names=names, title="digits", provenance="real", features=bunch.data)

    def function(model: Any, x: Any, classes: Any) -> Any:
        return parts_of(network, 0.5 * flat(network.mean_gradient(x, np.eye(10)[classes])))

    client = UserClient(function=function, name="mine", network=network)
    both = Together(client=client, clients=2)(bunch.data[:4] / 16, bunch.target[:4])
    halves = client(bunch.data[:2] / 16, bunch.target[:2]), client(bunch.data[2:4] / 16, bunch.target[2:4])
    settings: dict[str, Any] = {"samples": 32, "batch": 2, "own": 100, "gain": 0.1, "rng": np.random.default_rng(0)}
    found = audit_client(client, data, Builder(Host.load()), clients=4, **settings)

    assert all(np.allclose(both[name], halves[0][name] + halves[1][name]) for name in both)
    assert (found.batch, found.clients, found.n_records) == (2, 4, 32)
    assert found.leaks
    assert found.scores[0].correct == 32


def audited(network: Perceptron, change: Any, *, batch: int, samples: int = 64, function: Any = None) -> ClientAudit:
    """Audit a client that sends what ``change`` makes of its labels, learnt as they are."""
    bunch = load_bunch("digits")
    names = tuple("0123456789")
    data = LabelSet(labels=bunch.target, class_names=names, title="digits", provenance="real", features=bunch.data)
    rng = np.random.default_rng(3)

    def learnt(model: Any, x: Any, classes: Any) -> Any:
        return network.mean_gradient(x, np.eye(10)[change(classes, rng)])

    client = UserClient(function=function or learnt, name="mine", network=network)
    settings: dict[str, Any] = {"own": 100, "gain": 0.1, "rng": np.random.default_rng(0)}
    return audit_client(client, data, Builder(Host.load()), samples=samples, batch=batch, **settings)


@pytest.mark.long
@pytest.mark.parametrize(("kept", "least", "most"), [(2.0, 0.7, 2.0), (4.5, 2.5, 4.5)])
def test_the_label_dp_that_an_update_does_not_have_is_proved(
    network: Perceptron, kept: float, least: float, most: float
) -> None:
    """Randomised response is as private as its epsilon, and nearly so much is refuted; batches prove none."""
    keep = np.exp(kept) / (np.exp(kept) + 9)

    def answered(classes: Any, rng: Any) -> Any:
        others = (classes + rng.integers(1, 10, size=len(classes))) % 10
        return np.where(rng.random(len(classes)) < keep, classes, others)

    found = audited(network, answered, batch=1, samples=400)

    assert found.control is not None
    assert least < found.control.epsilon < most
    assert f"no label-DP of epsilon {found.control.epsilon:.2f}, delta 1e-05" in "".join(lines(found))
    batches = audited(network, lambda classes, rng: classes, batch=4, samples=32)
    assert batches.control is not None
    assert batches.control.epsilon == 0


def test_a_batch_is_one_observation() -> None:
    """Sixteen batches of 32 that stand or fall together are sixteen answers, not 512."""
    right = np.repeat([32, 0], [12, 4])

    counted, alone = of_batches(right, 32, tried=1), of_batches(np.repeat([1, 0], [384, 128]), 1, tried=1)
    every = of_batches(np.full(16, 32), 32, tried=1)

    assert counted.value == alone.value == 0.75
    assert counted.low < 0.5 < 0.7 < alone.low
    assert every.low == pytest.approx(of_batches(np.ones(16, dtype=np.intp), 1, tried=1).low)
    assert of_batches(np.array([32]), 32, tried=1).low < 0.1


@pytest.mark.long
def test_what_knows_nothing_of_the_labels_is_no_leak() -> None:
    """Batches whose records all have one class: a guess fits them wholly or not at all. Its p-value is exact."""
    rng, pool = np.random.default_rng(0), np.repeat(np.arange(10), 40)
    found = []
    for _ in range(60):
        truth = rng.permutation(pool)[:24].reshape(3, 8)
        found.append(p_value([rng.integers(10, size=(3, 8)) for _ in range(2)], truth, pool, rng))

    assert np.mean(np.array(found) <= 0.05) <= 0.12
    assert np.mean(np.array(found) <= 0.5) <= 0.65
    assert p_value([truth], truth, pool, rng) == 0.001


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_overlaps_are_those_of_multisets(n: int, batch: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    guess, truth = rng.integers(-1, 3, (n, batch)), rng.integers(3, size=(2, n, batch))

    slow = [
        [(Counter(g[g >= 0].tolist()) & Counter(t.tolist())).total() for g, t in zip(guess, own, strict=True)]
        for own in truth
    ]

    assert overlaps(guess, truth).tolist() == slow


def test_an_attack_that_does_not_suit_the_module_has_not_failed() -> None:
    def raises(error: Exception) -> Any:
        def player(oracle: Any, rng: Any) -> Any:
            raise error

        return player

    players = {"other": raises(UnfitError("it needs a bias.")), "broken": raises(InputError("the client fails."))}

    guesses, (other, broken) = guessed(players, None, np.random.default_rng(0))  # type: ignore[arg-type]

    assert not guesses
    assert (other.unfit, other.failed) == ("it needs a bias.", "")
    assert (broken.unfit, broken.failed) == ("", "the client fails.")


@pytest.mark.long
def test_labels_and_records_are_told_apart_by_other_labels(network: Perceptron) -> None:
    """A client that learns labels of its own gives its records' classes away all the same, by the records alone."""
    honest = audited(network, lambda classes, rng: classes, batch=1)
    own_labels = audited(network, lambda classes, rng: rng.integers(10, size=len(classes)), batch=1)

    assert honest.leaks
    assert honest.control is not None
    assert honest.control.given > 60
    assert not honest.control.by_records
    assert not own_labels.leaks or (own_labels.control is not None and own_labels.control.by_records)


@pytest.mark.long
def test_ten_lines_in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ten_lines_of_mine.py").write_text(TEN_LINES)
    monkeypatch.syspath_prepend(str(tmp_path))

    command = ["audit", "client", "ten_lines_of_mine:update", "--model", "ten_lines_of_mine:make", "--json"]
    done = CliRunner().invoke(main, command)

    assert done.exit_code == 1, done.output
    found = json.loads(done.output)
    assert found["scores"][0]["correct"] == found["n_records"] == 64
    assert found["change"].startswith("clipped-gaussian(")
    assert len(TEN_LINES.strip().splitlines()) <= 10


@pytest.mark.long
def test_attacks_that_show_nothing_pass_no_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One label of one is no evidence, and ended with 0: the client sends its gradient as it is."""
    (tmp_path / "one_of_mine.py").write_text(TEN_LINES)
    monkeypatch.syspath_prepend(str(tmp_path))

    command = ["audit", "client", "one_of_mine:update", "--model", "one_of_mine:make", "--samples", "1", "--own", "100"]
    done = CliRunner().invoke(main, command)

    assert done.exit_code == 3, done.output
    assert "NO LEAK SHOWN" in done.output


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            [np.ones((3, 7))],
            r"array of shape \(3, 7\) where weights of shape \(n, 64\), outputs by inputs, or their",
        ),
        ([np.ones((3, 64)), np.ones(4)], r"array of shape \(4,\) where weights of shape \(n, 3\)"),
        ([np.ones((3, 64))], "has 3 outputs for 10 classes"),
        ([], "returned no arrays"),
    ],
)
def test_arrays_that_are_no_network_are_one_sentence(
    arrays: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import types

    module: Any = types.ModuleType("arrays_of_mine")
    module.make = lambda n_inputs, n_classes: arrays
    monkeypatch.setitem(__import__("sys").modules, "arrays_of_mine", module)

    with pytest.raises(InputError, match=message):
        load("arrays_of_mine:make", n_inputs=64, n_classes=10, precision="float32", seed=0)


SAVED_MODEL = """
import numpy as np

def make(n_inputs, n_classes):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n_classes, n_inputs)) / 8, np.zeros(n_classes)]
"""


@pytest.mark.parametrize(
    ("wrong", "status", "words"),
    [(0, 1, "the file's"), (4, 1, "if every update is of one record"), (24, 3, "the updates fit other labels")],
)
def test_saved_updates_that_fit_other_labels_determine_nothing(
    wrong: int, status: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "saved_model_of_mine.py").write_text(SAVED_MODEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    network = load("saved_model_of_mine:make", n_inputs=64, n_classes=10, precision="float32", seed=0)
    bunch = load_bunch("digits")
    labels = np.asarray(bunch.target[:24], dtype=np.intp)
    trained_on = np.where(np.arange(24) < wrong, (labels + 1) % 10, labels)
    sent = [network.mean_gradient(bunch.data[[n]] / 16, np.eye(10)[trained_on[[n]]]) for n in range(24)]
    path = tmp_path / "updates.npz"
    np.savez(path, labels=labels, **{k: np.array([u[k] for u in sent], dtype=np.float32) for k in sent[0]})
    command = ["audit", "client", str(path), "--model", "saved_model_of_mine:make"]

    done = CliRunner().invoke(main, command)
    several = CliRunner().invoke(main, [*command, "--batch", "4"])

    assert done.exit_code == status, done.output
    assert words in done.output
    assert ("INCONCLUSIVE" not in done.output) == (status == 1)
    assert f"right        {24 - wrong} of 24" in done.output
    assert several.exit_code == 2
    assert "one record each" in several.output


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_saved_batches_in_a_half_are_no_single_records(name: str) -> None:
    """One record dominates each batch; another class has two percent of it, which rounding cannot leave."""
    network = Perceptron.random((64, 10), np.random.default_rng(0), dtype="float32")
    bunch = load_bunch("digits")

    def sent(row: int, share: float) -> Any:
        rows = [network.mean_gradient(bunch.data[[n]] / 16, np.eye(10)[bunch.target[[n]]]) for n in (row, row + 1)]
        return {k: rounded_to((1 - share) * rows[0][k] + share * rows[1][k], name).astype(float) for k in rows[0]}

    alone, batches = ([sent(row, share) for row in range(20)] for share in (0.0, 0.02))

    assert audit_saved(alone, None, network, FORMATS[name]).certain > 10
    assert audit_saved(alone, None, network, FORMATS[name]).assumes.startswith("every update is of one record")
    assert audit_saved(batches, None, network, FORMATS[name]).certain == 0


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_saved_mixtures_of_one_class_determine_no_other_class(name: str) -> None:
    """What passes for one record has the class of all of them, and a file is printed to assume that it is of one."""
    network = Perceptron.random((64, 10), np.random.default_rng(0), dtype="float32")
    bunch, rng = load_bunch("digits"), np.random.default_rng(1)
    own, mixtures = rng.integers(10, size=40), []
    for label in own:
        rows = rng.choice(np.flatnonzero(bunch.target == label), 2, replace=False)
        sent = [network.mean_gradient(bunch.data[[n]] / 16, np.eye(10)[[label]]) for n in rows]
        mixtures.append({k: rounded_to(0.98 * sent[0][k] + 0.02 * sent[1][k], name).astype(float) for k in sent[0]})

    found = audit_saved(mixtures, own, network, FORMATS[name])

    assert found.agree == found.certain


def test_labels_of_saved_updates_are_one_for_each(network: Perceptron) -> None:
    update = {k: np.zeros(v.shape) for k, v in network.parameters.items()}

    with pytest.raises(InputError, match=r"has shape \(2, 4\), expected \(2,\)"):
        audit_saved([update, update], np.zeros((2, 4), dtype=np.intp), network, FORMATS["float32"])


def test_a_regression_in_numpy_gives_its_targets_away() -> None:
    """Of a layer with one output: that less half the bias's gradient is the target, and the nearest class is known."""
    bunch = load_bunch("digits")
    layer = [np.random.default_rng(0).normal(size=(1, 64)) / 8, np.zeros(1)]
    network = load(lambda n, c: layer, n_inputs=64, n_classes=10, precision="float32", seed=0, headless=True)

    def function(model: Any, x: Any, classes: Any) -> Any:
        error = 2 * (x @ model[0].T + model[1] - classes[:, None]) / len(x)
        return [error.T @ x, error.sum(axis=0)]

    found = audit_client(
        UserClient(function=function, name="mine", network=network),
        LabelSet(
            labels=bunch.target,
            class_names=tuple("0123456789"),
            title="digits",
            provenance="real",
            features=bunch.data,
        ),
        Builder(Host.load()),
        samples=32,
        batch=1,
        own=60,
        gain=0.1,
        rng=np.random.default_rng(0),
    )

    assert found.leaks
    assert not found.headed
    assert found.scores[0].attack == "targets of the last layer"
    assert found.scores[0].correct == 32

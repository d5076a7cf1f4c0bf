"""The honest forms of MutNet, and that labels come out of what they predict."""

from __future__ import annotations

import importlib.util
import itertools

import numpy as np
import pytest

from labelinf_papers.mutnet import batch_head, for_any_sign, interpolating, published, to_torch
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.powers import power_gaps
from labelinf_scores.decoders.superincreasing import greedy_decode
from labelinf_scores.metrics.log_loss import LogLoss

NUMBERS = make_arithmetic("float64")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_a_batch_head_gives_every_place_its_own_output(rng: np.random.Generator) -> None:
    target = rng.uniform(0.01, 0.99, 12)
    network = batch_head(target, n_features=4, rng=rng)
    for _ in range(5):
        assert network(rng.normal(0, 50, (12, 4))) == pytest.approx(target, abs=1e-15)


def test_a_batch_head_reads_places_not_records(rng: np.random.Generator) -> None:
    target = rng.uniform(0.01, 0.99, 6)
    batch = rng.normal(size=(6, 2))
    network = batch_head(target, n_features=2, rng=rng)
    assert network(batch[::-1]) == pytest.approx(network(batch))


def test_an_interpolating_network_gives_every_record_its_output_wherever_it_stands(rng: np.random.Generator) -> None:
    features, target = rng.normal(size=(40, 5)), rng.uniform(0.001, 0.999, 40)
    network = interpolating(features, target, rng=rng)
    assert network.layers[0].weights.shape == (5, 39)
    assert np.abs(network(features)[:, 0] - target).max() < 1e-9
    order = rng.permutation(40)
    assert network(features[order])[:, 0] == pytest.approx(network(features)[order, 0])


def test_the_number_of_a_record_is_a_feature_that_will_do(rng: np.random.Generator) -> None:
    target = np.array([0.3, 0.9, 0.5, 0.1])
    network = interpolating(np.arange(4.0)[:, None], target, rng=rng)
    assert network(np.array([[2.0], [0.0]]))[:, 0] == pytest.approx([0.5, 0.3])


def test_a_single_record_needs_no_hidden_unit(rng: np.random.Generator) -> None:
    assert interpolating(np.ones((1, 3)), np.array([0.25]), rng=rng)(np.ones((1, 3))).item() == pytest.approx(0.25)


def test_labels_come_out_of_the_score_of_an_interpolating_network(rng: np.random.Generator) -> None:
    """Twenty of forty records carry a gap, the others predict one half; every labelling tried is decoded."""
    n, m, tau = 40, 20, 1e-7
    gaps = np.concatenate([power_gaps(m, n_records=n, tau=tau), np.zeros(n - m)])
    features = rng.normal(size=(n, 8))
    network = interpolating(features, LogLoss().prediction(gaps, NUMBERS), rng=rng)
    base = LogLoss().costs(LogLoss().prediction(gaps, NUMBERS), NUMBERS)[:, 0].sum()
    for _ in range(20):
        labels = rng.integers(0, 2, n)
        score = LogLoss().score(labels, network(features)[:, 0], NUMBERS)
        assert greedy_decode([[0.0, gap] for gap in gaps[:m]], n * score - base) == labels[:m].tolist()


def test_records_that_look_alike_cannot_be_told_apart(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="distinct"):
        interpolating(np.ones((2, 3)), np.array([0.2, 0.8]), rng=rng)


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, np.nan])
def test_a_target_at_or_beyond_the_ends_is_an_error(bad: float, rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        published(np.array([0.5, bad]), n_features=2, rng=rng)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        interpolating(np.arange(2.0)[:, None], np.array([0.5, bad]), rng=rng)


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed")
def test_without_pytorch_the_export_says_what_is_missing(rng: np.random.Generator) -> None:
    with pytest.raises(ImportError, match="torch"):
        to_torch(published(np.array([0.5]), n_features=1, rng=rng))


def test_the_pytorch_export_computes_the_same(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    features, target = rng.normal(size=(10, 3)), rng.uniform(0.1, 0.9, 10)
    networks = [
        published(target[:2], n_features=3, rng=rng),
        for_any_sign(target[:2], n_features=3, rng=rng),
        batch_head(target, n_features=3, rng=rng),
        interpolating(features, target, rng=rng),
    ]
    for network, sign in itertools.product(networks, (-1, 1)):
        exported = to_torch(network)(torch.from_numpy(sign * features)).detach().numpy()
        assert exported == pytest.approx(network(sign * features), abs=1e-12)

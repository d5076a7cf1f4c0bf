"""What is proved of a client's whole update behind noise, and that it is what the client behind the change does."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import attrs
import numpy as np
import pytest

import labelinf as li
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_gradients.audit.change import Tried, allowed, behind, smallest_multiplier, usual_norm
from labelinf_gradients.audit.client import ClientAudit, audit_client
from labelinf_gradients.audit.updates import UserClient
from labelinf_gradients.audit.words import _costs, _stopped
from labelinf_gradients.bounds.certificates import GradientCertificate
from labelinf_gradients.defences.clipping import ClippedGaussian
from labelinf_gradients.game.effects import Batched
from labelinf_gradients.game.gradient import GradientThreat
from labelinf_gradients.game.networks import Perceptron


def threat(batch: int, prior: tuple[float, ...], n_records: int = 20_000) -> GradientThreat:
    return GradientThreat(n_records=n_records, n_classes=len(prior), prior=prior, effects=(Batched(size=batch),))


def test_one_record_has_the_certificate_of_its_gradient() -> None:
    own, defence = threat(1, (0.5, 0.3, 0.2), n_records=100), ClippedGaussian(multiplier=1.5)
    (ceiling,) = GradientCertificate().ceilings(attrs.evolve(own.behind(defence), population=100))

    assert allowed(1.5, own, 1) == ceiling.reached > ceiling.accuracy


@pytest.mark.parametrize(("batch", "clients"), [(1, 1), (2, 1), (3, 1), (2, 2), (4, 2)])
@pytest.mark.parametrize("multiplier", [0.5, 2.0])
def test_no_attack_on_the_best_of_codes_has_more_than_is_proved(batch: int, clients: int, multiplier: float) -> None:
    """Every labelling of a client's records is a direction of its own; the best guess is played, by all posteriors.

    ``batch`` counts the records of all clients, whose updates are seen one by one: their sum tells no more.
    """
    rng, prior, size = np.random.default_rng(0), (0.6, 0.4), batch // clients
    each = np.array(np.meshgrid(*[[0, 1]] * size)).reshape(size, -1).T.sum(axis=1)  # ones in every labelling
    shares = prior[1] ** each * prior[0] ** (size - each)
    n, codes = 20_000, len(each)
    drawn = rng.choice(codes, size=(n, clients), p=shares)
    seen = np.eye(codes)[drawn] + multiplier * rng.normal(size=(n, clients, codes))
    weights = shares * np.exp(seen / multiplier**2)
    weights /= weights.sum(axis=2, keepdims=True)
    ones = np.zeros((n, batch + 1))
    ones[:, 0] = 1
    for client in range(clients):  # of all clients together
        ones = sum(
            np.pad(ones, ((0, 0), (each[code], 0)))[:, : batch + 1] * weights[:, client, [code]]
            for code in range(codes)
        )
    counts = np.arange(batch + 1)
    overlap = 1 - np.abs(counts[:, None] - counts) / batch
    guess = (ones @ overlap).argmax(axis=1)
    right = overlap[guess, each[drawn].sum(axis=1)]

    error = right.std() / np.sqrt(n)
    assert threat(batch, prior).baseline - 4 * error < right.mean()
    assert right.mean() < allowed(multiplier, threat(batch, prior), clients) + 4 * error


@pytest.mark.parametrize(
    ("counts", "batch"),
    [((1, 1), 1), ((2, 2), 1), ((1, 4), 1), ((1, 1, 1), 1), ((3, 2, 1), 1), ((2, 2), 2), ((3, 3), 2), ((2, 1, 1), 2)],
)
@pytest.mark.parametrize("multiplier", [0.7, 2.0, 8.0])
def test_no_attack_that_knows_the_class_counts_has_more_than_is_printed(
    counts: tuple[int, ...], batch: int, multiplier: float
) -> None:
    """All updates are seen and every labelling of one is a direction: the posterior of all orders of labels is exact.

    76.0 % of two labels, one of each class, came out where at most 69.2 % was printed.
    """
    labels = [label for label, count in enumerate(counts) for _ in range(count)]
    orders = np.array(sorted(set(itertools.permutations(labels)))).reshape(-1, len(labels) // batch, batch)
    kinds, code = np.unique(np.sort(orders, axis=2).reshape(-1, batch), axis=0, return_inverse=True)
    code = code.reshape(orders.shape[:2])
    overlap = np.array([[sum((Counter(a) & Counter(b)).values()) / batch for b in kinds] for a in kinds])
    rng, n = np.random.default_rng(0), 20_000
    true = code[rng.integers(len(code), size=n)]
    seen = np.eye(len(kinds))[true] / multiplier + rng.normal(size=(n, code.shape[1], len(kinds)))
    logs = np.sum([seen[:, update, code[:, update]] for update in range(code.shape[1])], axis=0) / multiplier
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    expected = (chances @ np.eye(len(kinds))[code[:, 0]]) @ overlap  # of every guess of the first update
    right = overlap[expected.argmax(axis=1), true[:, 0]]

    own = threat(batch, tuple(count / len(labels) for count in counts), len(labels))
    said = allowed(multiplier, own, 1)
    error = right.std() / np.sqrt(n)
    assert right.mean() < said + 4 * error
    assert batch > 1 or multiplier < 8 or said < own.baseline + 0.1  # no vacuous number


@pytest.mark.parametrize(("batch", "clients"), [(1, 1), (8, 1), (8, 4)])
def test_the_smallest_multiplier_is_the_smallest(batch: int, clients: int) -> None:
    own = threat(batch, (0.1,) * 10, n_records=1600)
    found = smallest_multiplier(own, 0.1, clients)

    assert allowed(found, own, clients) <= own.baseline + 0.1 < allowed(found - 0.002, own, clients)
    assert smallest_multiplier(own, 1e-6, clients) == np.inf
    assert usual_norm(np.array([0.0, 0.1234, 0.5, 9])) == 0.5
    assert usual_norm(np.zeros(3)) == 1


def test_a_shielded_update_is_clipped_as_a_whole_and_noise_is_on_every_parameter() -> None:
    sent = {"a": np.full((2, 3), 100.0), "b": np.zeros(4)}
    shielded = behind(lambda x, classes: sent, ClippedGaussian(norm=2.0, multiplier=1e-3), np.random.default_rng(0))

    full = shielded(np.zeros((1, 1)), np.zeros(1, dtype=np.intp))

    assert [(name, part.shape) for name, part in full.items()] == [("a", (2, 3)), ("b", (4,))]
    assert np.linalg.norm(full["a"]) == pytest.approx(2, abs=0.02)
    assert (full["b"] != 0).all()
    assert np.abs(full["b"]).max() < 0.02


@pytest.mark.long
def test_the_change_is_tried_on_the_client_itself() -> None:
    """Batches of four, two clients summed."""
    bunch, network = load_bunch("digits"), Perceptron.random((64, 16, 10), np.random.default_rng(0), dtype="float32")
    names = tuple("0123456789")
    data = LabelSet(labels=bunch.target, class_names=names, title="digits", provenance="real", features=bunch.data)

    def update(model: Any, x: Any, classes: Any) -> Any:
        return {k: -0.1 * part for k, part in network.mean_gradient(x, np.eye(10)[classes]).items()}

    client = UserClient(function=update, name="mine", network=network)
    settings: dict[str, Any] = {"own": 100, "gain": 0.1, "rng": np.random.default_rng(0), "clients": 2}
    audit = audit_client(client, data, Builder(Host.load()), samples=64, batch=4, **settings)

    assert audit.leaks
    assert audit.change.startswith("clipped-gaussian(norm=")
    assert audit.allows <= audit.baseline + 0.1
    assert audit.tried is not None
    assert not audit.refuted
    assert audit.tried.correct < audit.scores[0].correct
    said = _stopped(audit)
    assert "around the whole update by every client: any attack has at most" in said
    assert f"tried on your client: {audit.tried.correct} of 64 by {audit.tried.attack}" in said
    assert "T updates about the same records need sqrt(T) times" in _costs(audit)


def test_a_user_puts_the_same_around_her_update() -> None:
    update = {"a": np.full((2, 3), 1e3, dtype=np.float32), "b": np.array(np.nan)}

    one, two = (li.shield(update, norm=3.0, multiplier=1e-3) for _ in range(2))
    listed = li.shield(list(update.values()), norm=3.0, multiplier=1e-3)

    assert {name: part.shape for name, part in one.items()} == {"a": (2, 3), "b": ()}
    assert np.linalg.norm(one["a"]) == pytest.approx(3, abs=0.05)
    assert abs(one["b"]) < 0.05  # what is no number says nothing
    assert (one["a"] != two["a"]).all()
    assert np.unique(one["a"] * 2.0**30 % 1).tolist() == [0]  # on a grid
    assert [part.shape for part in listed] == [(2, 3), ()]
    for wrong in ({"norm": 0.0}, {"multiplier": np.inf}, {"update": []}, {"update": np.ones(3)}):
        with pytest.raises(InputError, match=r"must be positive numbers|as a mapping or a list"):
            li.shield(**{"update": update, "norm": 1.0, "multiplier": 1.0, **wrong})


def found(**more: Any) -> ClientAudit:
    share = Interval(low=0, value=0, high=1)
    some: dict[str, Any] = {
        "batch": 1,
        "clients": 1,
        "n_records": 64,
        "scores": (),
        "share": share,
    }
    return ClientAudit(**some, p_value=1.0, baseline=0.1, **more)


def test_what_beats_a_proof_takes_it_back() -> None:
    more = Tried(attack="some", correct=60, share=Interval(low=0.8, value=0.9, high=1.0), louder=9.0)
    beaten = found(change="clipped-gaussian(norm=1, multiplier=2)", allows=0.2, tried=more)

    assert beaten.refuted
    assert _stopped(beaten).startswith("nothing known: behind clipped-gaussian(")
    assert "proved" not in _stopped(beaten)
    assert _costs(beaten) == ""


def test_no_change_where_the_gain_is_everything() -> None:
    assert smallest_multiplier(threat(1, (0.95, 0.05)), 0.1) == np.inf
    assert _stopped(found()).startswith("nothing: ")

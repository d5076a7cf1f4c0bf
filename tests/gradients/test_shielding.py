"""A client behind a shield of labelinf's own is seen to be, and nothing else is taken for one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

import labelinf as li
from labelinf_core.contracts.audited import AuditWord
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.exits import Exit
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.statistics.proportions import clopper_pearson
from labelinf_data.bundled import load_bunch
from labelinf_gradients.audit.asked import ClientQuestion
from labelinf_gradients.audit.asked import audited as asked
from labelinf_gradients.audit.client import ClientAudit
from labelinf_gradients.audit.updates import UserClient
from labelinf_gradients.audit.words import _costs, _stopped, answer, lines
from labelinf_gradients.defences.clipping import ClippedGaussian
from labelinf_gradients.game.networks import Perceptron

NETWORK = Perceptron.random((4, 5, 3), np.random.default_rng(0), dtype="float32")
X, CLASSES = np.random.default_rng(1).normal(size=(2, 4)), np.array([1, 2])
SHIELD = {"norm": 1.0, "multiplier": 2.0}


def changes(n: int = 4) -> list[Any]:
    return [np.ones_like(part) for part in NETWORK.parameters.values()][:n]


def seen(update: Callable[[list[Any], Any], Any]) -> set[ClippedGaussian | None]:
    client = UserClient(function=lambda model, x, classes: update(model, classes), name="mine", network=NETWORK)
    for row in range(2):
        client(X[[row]], CLASSES[[row]])
    return client.shields


@pytest.mark.parametrize(
    "update",
    [
        lambda model, classes: li.shield(changes(), **SHIELD),
        lambda model, classes: dict(zip(NETWORK.parameters, li.shield(changes(), **SHIELD), strict=True)),
        lambda model, classes: list(
            li.shield(dict(zip(NETWORK.parameters, changes(), strict=True)), **SHIELD).values()
        ),
        lambda model, classes: [part.astype(np.float32) for part in li.shield(changes(), **SHIELD)],
        lambda model, classes: [part.astype(np.float16) for part in li.shield(changes(), **SHIELD)],
    ],
)
def test_what_came_out_is_what_was_sent(update: Any) -> None:
    assert seen(update) == {ClippedGaussian(**SHIELD)}


@pytest.mark.parametrize("norm", [0.01, 100.0])
def test_new_parameters_are_the_old_ones_and_what_came_out(norm: float) -> None:
    def update(model: list[Any], classes: Any) -> Any:
        return [
            old + part.astype(np.float32)
            for old, part in zip(model, li.shield(changes(), norm=norm, multiplier=1), strict=True)
        ]

    assert seen(update) == {ClippedGaussian(norm=norm, multiplier=1)}


@pytest.mark.parametrize(
    "update",
    [
        lambda model, classes: changes(),
        lambda model, classes: li.shield(changes(2), **SHIELD) + changes()[2:],
        lambda model, classes: [part * classes[0] for part in li.shield(changes(), **SHIELD)],
        lambda model, classes: [part + 1e-9 * classes[0] for part in li.shield(changes(), **SHIELD)],
        lambda model, classes: [li.shield(changes(), **SHIELD) for _ in range(2)][classes[0] % 2],
        lambda model, classes: [-part for part in li.shield(changes(), **SHIELD)] if classes[0] == 1 else changes(),
    ],
)
def test_what_had_more_done_to_it_did_not_come_out_of_a_shield(update: Any) -> None:
    assert None in seen(update)


def named() -> dict[str, Any]:
    return dict(zip(NETWORK.parameters, li.shield(changes(), **SHIELD), strict=True))


@pytest.mark.parametrize(
    "update",
    [
        lambda model, classes: [part.astype(f"float{16 * classes[0]}") for part in li.shield(changes(), **SHIELD)],
        lambda model, classes: [part.astype("float16").astype(f"float{32 * classes[0]}") for part in named().values()],
        lambda model, classes: dict(list(named().items())[:: 2 * classes[0] - 3]),
        lambda model, classes: [*named().values()] if classes[0] == 1 else named(),
        lambda model, classes: (sent := named()) | {f"also {classes[0]}": sent[next(iter(sent))]},
    ],
    ids=["rounding", "type", "order", "list or mapping", "name of a copy"],
)
def test_how_an_update_is_written_is_not_the_labels_doing(update: Any) -> None:
    """Each told the label of every record, and was held: what came out of the shield was what was sent."""
    client = UserClient(function=lambda model, x, classes: update(model, classes), name="mine", network=NETWORK)
    for row in range(2):
        client(X[[row]], CLASSES[[row]])
    assert None in client.shields or client.tells_more


def test_arrays_that_are_changed_in_place_are_no_longer_what_came_out() -> None:
    def update(model: list[Any], classes: Any) -> Any:
        sent = li.shield(changes(), **SHIELD)
        sent[0] += classes[0]
        return sent

    assert seen(update) == {None}


def test_a_norm_that_follows_the_records_is_not_one_shield() -> None:
    assert len(seen(lambda model, classes: li.shield(changes(), norm=float(classes[0]), multiplier=2))) == 2


def test_parameters_that_come_and_go_are_one_sentence() -> None:
    with pytest.raises(InputError, match="sends other parameters about some records than about others"):
        seen(
            lambda model, classes: dict(list(zip(NETWORK.parameters, changes(), strict=True))[2 * (classes[0] == 1) :])
        )


@pytest.mark.parametrize(
    ("update", "numbers"),
    [
        (np.ones(3), {}),
        ("abc", {}),
        ([None, np.ones(2)], {}),
        ([[[1, 2], [1]]], {}),
        ([("weight", np.ones(2))], {}),
        ({"a": {"b": np.ones(2)}}, {}),
        ([np.ones(2) * 1j], {}),
        ([np.ones(2)], {"norm": "1"}),
        ([np.ones(2)], {"norm": None}),
        ([np.ones(2)], {"norm": 1e-320}),
        ([np.ones(2)], {"norm": 1e200, "multiplier": 1e200}),
        ([np.ones(2)], {"norm": np.array([1.0, 2.0])}),
        ([np.ones(2)], {"multiplier": -4.0}),
        ([np.ones(2)], {"multiplier": np.nan}),
    ],
)
def test_a_mistake_is_one_sentence_in_an_audit_too_and_holds_nothing_that_was_given(update: Any, numbers: Any) -> None:
    with pytest.raises(InputError, match=r"^li\.shield") as alone:
        li.shield(update, **{"norm": 1.0, "multiplier": 4.0, **numbers})
    with pytest.raises(InputError) as audited:
        seen(lambda model, classes: li.shield(update, **{"norm": 1.0, "multiplier": 4.0, **numbers}))

    assert str(audited.value) == f"client 'mine' fails: {alone.value}"
    assert "4" not in str(alone.value)


class Told(dict[str, Any]):
    """A mapping with an attribute."""


@pytest.mark.parametrize("carry", ["attribute", "column order", "view", "name", "tail"])
def test_what_carries_more_than_numbers_came_out_of_no_shield(carry: str) -> None:
    """Each of these is written as the same numbers under the same names, and tells a label all the same."""

    class Name(str):
        label: int

    def update(model: Any, classes: Any) -> Any:
        sent = dict(zip(NETWORK.parameters, li.shield(changes(), **SHIELD), strict=True))
        first = next(iter(sent))
        if carry == "attribute":
            sent = Told(sent)
            sent.label = classes[0]  # type: ignore[attr-defined]
        elif carry == "column order":
            sent[first] = np.asfortranarray(sent[first])
        elif carry == "view":
            sent[first] = np.concatenate([sent[first], np.full_like(sent[first], classes[0])], axis=1)[:, : X.shape[1]]
        elif carry == "tail":
            sent[first] = np.append(sent[first], classes[0])[:-1].reshape(sent[first].shape)
        else:
            sent = {Name(name): part for name, part in sent.items()}
        return sent

    assert seen(update) == {None}


@pytest.mark.parametrize("names", [False, True])
def test_the_change_since_before_training_is_what_is_shielded(names: bool) -> None:
    old = {name: np.full(part.shape, 7.0) for name, part in NETWORK.parameters.items()}
    new = {name: part + 1e-3 for name, part in old.items()}
    before, update = (old, new) if names else (list(old.values()), list(new.values()))

    sent = li.shield(update, before=before, norm=1, multiplier=1e-9)

    assert type(sent) is type(update)
    flat = np.concatenate([part.ravel() for part in (sent.values() if names else sent)])
    np.testing.assert_allclose(flat, 1e-3, atol=1e-6)


@pytest.mark.parametrize("before", ["abc", 3, [], [np.ones(2)], {"other": np.ones(4)}])
def test_a_before_that_does_not_fit_is_one_sentence(before: Any) -> None:
    with pytest.raises(InputError, match=r"li\.shield takes as before what training began with"):
        li.shield([np.ones(3)], before=before, norm=1, multiplier=1)


def test_a_model_that_is_its_own_before_is_refused() -> None:
    """Its change is 0, so that noise alone would be sent for ever, and nobody would notice."""
    weights = [np.ones(3), np.ones(2)]
    with pytest.raises(InputError, match="before is the very model that was trained"):
        li.shield(weights, before=weights, norm=1, multiplier=1)


def earlier(kept: list[Any], sent: Any) -> Any:
    """Send the update before."""
    kept.append(sent)
    return kept[-2] if len(kept) > 1 else sent


def momentum(kept: list[Any], sent: Any) -> Any:
    kept[:] = [{name: part + 0.9 * (kept[0][name] if kept else 0) for name, part in sent.items()}]
    return kept[0]


def first_ever(kept: list[Any], sent: Any) -> Any:
    """Add the first update of all to every other: full after one call, and never changed again."""
    kept[:] = kept or [sent]
    return {name: part + kept[0][name] for name, part in sent.items()}


def rehearsed(kept: list[Any], sent: Any) -> Any:
    """Add what a memory of 64 updates holds, which is full before an audit is half over."""
    kept += [sent] if len(kept) < 64 else []
    return {name: part + sum(one[name] for one in kept) for name, part in sent.items()}


def every_third(kept: list[Any], sent: Any) -> Any:
    """Send the sum of three updates at every third call, and nothing at the others."""
    kept.append(sent)
    if len(kept) % 3:
        return {name: 0 * part for name, part in sent.items()}
    return {name: sum(one[name] for one in kept[-3:]) for name in sent}


@pytest.mark.long
@pytest.mark.parametrize("keep", [earlier, momentum, first_ever, rehearsed, every_third])
def test_what_is_kept_between_calls_takes_the_proof_back(keep: Callable[[list[Any], Any], Any]) -> None:
    """A shield hides one update about a record: the same record in a later one is a second answer."""
    kept: list[Any] = []
    found = audited(change=lambda sent: keep(kept, sent))

    assert found.shield is not None
    assert not found.repeats
    assert found.word is AuditWord.UNSHOWN
    assert "keeps something between calls" in _stopped(found)


def audited(seed: int = 0, change: Callable[[Any], Any] = lambda sent: sent) -> ClientAudit:
    bunch, network = load_bunch("digits"), Perceptron.random((64, 16, 10), np.random.default_rng(0), dtype="float32")
    names = tuple("0123456789")
    data = LabelSet(labels=bunch.target, class_names=names, title="digits", provenance="real", features=bunch.data)

    def update(model: Any, x: Any, classes: Any) -> Any:
        return li.shield(change(network.mean_gradient(x, np.eye(10)[classes])), norm=1, multiplier=3)

    def model(n_inputs: int, n_classes: int) -> Any:
        return list(network.parameters.values())

    settings: dict[str, Any] = {"own": 100, "gain": 0.1, "samples": 32, "seed": seed}
    found = asked(ClientQuestion(client=update, model=model, data=data, builder=Builder(Host.load()), **settings))
    assert isinstance(found, ClientAudit)
    return found


@pytest.mark.long
def test_an_audit_says_what_is_proved_of_the_shield_that_it_sees() -> None:
    held = audited()
    loose = attrs.evolve(held, enough=False)

    assert held.shield == ClippedGaussian(norm=1, multiplier=3)
    assert not held.leaks
    assert held.baseline < held.allows < held.baseline + 0.1
    assert held.status is Exit.INCONCLUSIVE  # somebody's own code is never certified
    assert "any attack has at most" in _stopped(held)
    assert "larger multiplier" not in _stopped(held)
    assert lines(held)[-1].startswith("ceiling      1")
    assert loose.status is Exit.INCONCLUSIVE
    assert "more than --gain allows" in _stopped(loose)


@pytest.mark.long
@pytest.mark.parametrize("p_value", [0.001, 0.04, 1.0])
@pytest.mark.parametrize("correct", [3, 14])
def test_what_a_proof_allows_is_no_leak_however_sure_it_is(p_value: float, correct: int) -> None:
    """A shield draws from the system's randomness, so every seed's audit is one of many that could have been."""
    held = attrs.evolve(audited(), p_value=p_value, share=clopper_pearson(correct, 64, 0.95), allows=0.3, enough=True)
    loose = attrs.evolve(held, enough=False)

    assert held.held
    assert not held.leaks
    assert held.status is Exit.INCONCLUSIVE
    assert "within what its shield allows" in answer(held).leaks
    assert loose.status is (Exit.FOUND if p_value <= 0.01 and correct == 14 else Exit.INCONCLUSIVE)


def test_what_beats_a_shield_takes_its_proof_back() -> None:
    share = Interval(low=0.8, value=0.9, high=1.0)
    some: dict[str, Any] = {"batch": 1, "clients": 1, "n_records": 64, "scores": (), "baseline": 0.1, "allows": 0.2}
    beaten = ClientAudit(share=share, p_value=1.0, shield=ClippedGaussian(), enough=True, **some)

    assert beaten.refuted
    assert beaten.word is AuditWord.UNSHOWN
    assert _stopped(beaten).startswith("nothing known")
    assert _costs(beaten) == ""
    assert "none as it is" in lines(beaten)[-1]


def test_what_is_sent_beside_the_parameters_and_follows_the_records_takes_every_all_clear_back() -> None:
    sent: dict[str, Any] = {}

    def told(beside: Callable[[Any], Any]) -> bool:
        def update(model: Any, x: Any, classes: Any) -> Any:
            sent.update(zip(NETWORK.parameters, li.shield(changes(), **SHIELD), strict=True))
            return {**sent, **beside(classes)}

        client = UserClient(function=update, name="mine", network=NETWORK)
        for row in range(2):
            client(X[[row]], CLASSES[[row]])
        return client.tells_more

    assert not told(lambda classes: {})
    assert not told(lambda classes: {"n": len(classes), "mean": np.zeros(2)})
    first, second = list(NETWORK.parameters)[:2]
    assert told(lambda classes: {"which": (sent[first], sent[second])[classes[0] % 2]})
    for more in (
        lambda y: {"n": y[0]},
        lambda y: {"n": [str(y[0])]},
        lambda y: {f"n{y[0]}": 1},
        lambda y: {"n": {"a": y[0]}},
    ):
        assert told(more)
    assert found_with(tells_more=True, **SHIELDED).word is AuditWord.UNSHOWN
    assert any("beside parameters" in line for line in lines(found_with(tells_more=True)))
    assert found_with(**SHIELDED).held
    assert not found_with(tells_more=True, **SHIELDED).held
    assert found_with(**SHIELDED).word is AuditWord.UNSHOWN


SHIELDED: dict[str, Any] = {"shield": ClippedGaussian(), "enough": True}


def found_with(**more: Any) -> ClientAudit:
    share = Interval(low=0, value=0, high=1)
    some: dict[str, Any] = {"batch": 1, "clients": 1, "n_records": 64, "scores": (), "baseline": 0.1}
    return ClientAudit(share=share, p_value=1.0, **some, **more)


class Tensor:
    """What of a tensor a shield needs: single precision, and a maker of tensors like itself."""

    def __init__(self, values: Any, dtype: str = "float32") -> None:
        self.values, self.dtype, self.flag = np.asarray(values, dtype=dtype), dtype, "of its records"

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.values

    def is_floating_point(self) -> bool:
        return self.values.dtype.kind == "f"

    def double(self) -> Tensor:
        return Tensor(self.values, "float64")

    def new_tensor(self, values: Any) -> Tensor:
        made = Tensor(values, self.dtype)
        del made.flag
        return made


@pytest.mark.parametrize("before", [False, True])
def test_tensors_in_are_tensors_out_of_their_own_type_and_nothing_else_of_them(before: bool) -> None:
    update = {"w": Tensor(np.ones((2, 3))), "steps": Tensor([1, 2], "int64"), "own": np.ones(2)}
    old = {name: np.zeros(np.shape(getattr(part, "values", part))) for name, part in update.items()}

    sent = li.shield(update, norm=1, multiplier=1e-6, **({"before": old} if before else {}))

    assert [type(part) for part in sent.values()] == [Tensor, Tensor, np.ndarray]
    assert [sent[name].dtype for name in ("w", "steps")] == ["float32", "float64"]  # no noise is cut off a whole number
    assert not hasattr(sent["w"], "flag")
    length = np.sqrt(6 + 5 + 2)
    np.testing.assert_allclose(sent["w"].numpy(), np.ones((2, 3)) / length, atol=1e-4)
    np.testing.assert_allclose(sent["steps"].numpy(), np.array([1, 2]) / length, atol=1e-4)


def test_a_module_of_torch_is_sent_as_tensors() -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 2).half()
    old = [part.detach().clone() for part in layer.parameters()]
    with torch.no_grad():
        layer.weight += 1

    sent = li.shield(layer, before=copy.deepcopy(layer.__class__(3, 2).half()), norm=1, multiplier=1)
    changed = li.shield([part - own for part, own in zip(layer.parameters(), old, strict=True)], norm=1, multiplier=1)

    assert all(part.dtype == torch.float16 and not part.requires_grad for part in [*sent.values(), *changed])
    layer.load_state_dict({name: layer.state_dict()[name] + sent[name] for name in sent})

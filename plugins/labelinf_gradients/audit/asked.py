"""One road from a client as its user names it to its audit: the command, ``li.audit_client`` and ``check`` take it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.doing import say
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.game import columns_of, labels_spec
from labelinf_core.evaluator.labels import load_labels
from labelinf_core.plugin.worker import apart, watch
from labelinf_core.specs import Builder
from labelinf_core.specs.own_code import name_of, watched_function
from labelinf_gradients.audit.client import ClientAudit, audit_client
from labelinf_gradients.audit.game import format_known
from labelinf_gradients.audit.saved import Saved, audit_saved
from labelinf_gradients.audit.updates import UserClient, format_seen, read_updates, updates_of
from labelinf_gradients.game.clients import scaled
from labelinf_gradients.game.own_network import load
from labelinf_gradients.recovery.tensors import FORMATS

__all__ = ["ClientQuestion", "audited", "is_saved", "records_of"]

_FIRST, _AGAIN = 100, 8  # updates about other records, and those that are asked for twice


@attrs.frozen(kw_only=True)
class ClientQuestion:
    """What is asked of a client.

    Attributes:
        client: A function of a model, records and labels, or its name; or updates that were saved: a file, or an array
            for every parameter by its name, one update along the first axis.
        model: Makes the model, ``f(n_inputs, n_classes)``, or its name.
        data: Records and labels.
        builder: Of the attacks that are installed.
        gain: What a change may leave any attack beyond the blind guess, as a share.
        samples: Labels to attack.
        batch: Records behind an update of one client.
        clients: Whose updates are summed before anybody sees them.
        own: Labelled records that the adversary holds.
        seed: Of all draws.
        aligned: Whether the data are those behind saved updates, where there are as many.
    """

    client: str | Callable[..., Any] | Mapping[str, ArrayLike]
    model: str | Callable[..., Any]
    data: LabelSet
    builder: Builder
    gain: float
    samples: int = 64
    batch: int = 1
    clients: int = 1
    own: int = 300
    seed: int = 0
    aligned: bool = False


def records_of(builder: Builder, table: str, column: str, what: str) -> LabelSet:
    """Return labels with the records that a client trains on: of a table all other columns, of arrays ``features``.

    Args:
        builder: Builds the label source.
        table: A file, or a label source by its name; empty: scikit-learn's digits.
        column: Of the labels.
        what: What a message calls it.

    Raises:
        InputError: They cannot be had.
    """
    features, arrays = "", columns_of(builder.host, table)
    if Path(table).suffix == ".npz":
        features = next((name for name in ("features", "x", "X") if name in arrays), "")
    elif len(arrays) > 1 and column:
        features = "*"
    spec = labels_spec(builder.host, table or "digits", column=column, features=features)
    return load_labels(builder, spec, what)


def is_saved(client: object) -> bool:
    """Whether that is a file of updates, or updates."""
    return isinstance(client, Mapping) or str(client).endswith((".npz", ".safetensors"))


def audited(asked: ClientQuestion) -> ClientAudit | Saved:
    """Audit a client in a worker, or updates that were saved.

    Raises:
        InputError: There are too few records, or client, updates or model cannot be used.
        ComponentError: The client hung, or ended its process.
    """
    saved, data = is_saved(asked.client), asked.data
    if saved and asked.batch * asked.clients > 1:
        raise InputError(
            "Saved updates are read as those of one record each, and nothing is said of larger ones: leave out batch "
            "and clients, or give the client's code."
        )
    width = scaled(data).shape[1]
    network = load(asked.model, n_inputs=width, n_classes=data.n_classes, seed=asked.seed, headless=True)
    if saved:
        if isinstance(asked.client, Mapping):
            arrays = {name: np.asarray(part) for name, part in asked.client.items()}
            updates, truth = updates_of(arrays, network, "client"), None
        else:
            updates, truth = read_updates(str(asked.client), network)
        if asked.aligned and data.n_records == len(updates):
            truth = data.labels
        known = format_known(format_seen(updates), updates[0], network)
        return audit_saved(updates, truth, network, FORMATS[known])
    assert not isinstance(asked.client, Mapping)
    name = name_of(asked.client)
    client = UserClient(function=watched_function(asked.client, "client"), name=name, network=network)

    def play() -> ClientAudit:
        return audit_client(
            client,
            data,
            asked.builder,
            samples=asked.samples,
            batch=asked.batch,
            own=asked.own,
            gain=asked.gain,
            rng=np.random.default_rng(asked.seed),
            clients=asked.clients,
            progress=lambda name, total: say(name, 0, total),
        )

    found = apart(f"client {name}", play, once=False, parts=True)
    return found if found.shield is None else attrs.evolve(found, repeats=_repeats(client, data, asked.batch))


def _repeats(client: UserClient, data: LabelSet, batch: int) -> bool:
    """Whether what goes into a shield is the same for the same records, whatever else the client was asked before.

    Two copies of this process, in which the client was asked nothing yet, ask it: one about some records, the other
    about many others first, and then about the same ones, the last one first. What is kept, counted, summed or filled
    once comes out of step. Where no process can be copied, nobody knows.
    """
    if watch.worker or not hasattr(os, "fork"):
        return False
    x = scaled(data)
    rows = np.arange((_FIRST + _AGAIN) * batch).reshape(-1, batch) % len(x)
    batches = [(x[part], data.labels[part]) for part in rows]
    others, same = batches[:_FIRST], batches[_FIRST:]
    asked = (same, [*others, *reversed(same)])
    one, other = (apart(f"client {client.name}", partial(client.shielded, of), once=False) for of in asked)
    return one == other[: -_AGAIN - 1 : -1] and all(len(given) == 1 for given in one)

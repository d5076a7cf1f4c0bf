"""``labelinf check`` of a federated-learning client: its code, or updates that it sent."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from labelinf_core.contracts.checked import Checked, CheckQuestion, functions_in, the_function
from labelinf_core.evaluator.game import labels_spec
from labelinf_core.evaluator.labels import load_labels
from labelinf_core.plugin.worker import apart
from labelinf_core.specs.own_code import watched_function
from labelinf_gradients.audit.client import ClientAudit, audit_client
from labelinf_gradients.audit.saved import Saved, audit_saved
from labelinf_gradients.audit.updates import UserClient, format_seen, read_updates
from labelinf_gradients.audit.words import answer, lines
from labelinf_gradients.game.clients import scaled
from labelinf_gradients.game.own_network import load
from labelinf_gradients.recovery.tensors import FORMATS

__all__ = ["ClientCheck"]

_SAVED = (".npz", ".safetensors")
_MODELS = ("model", "module", "net", "network")
_SAMPLES, _OWN = 64, 300


class ClientCheck:
    """A client's function of a model, records and labels; or a file of updates, with ``--model``."""

    def takes(self, asked: CheckQuestion) -> bool:
        """Whether it is a module with a client, a function that comes with a model, or a file that does."""
        if asked.path.suffix == ".py" and not asked.function:
            return any(map(_trains, functions_in(asked.path).values()))
        return "model" in asked.given and (":" in asked.thing or asked.path.suffix in _SAVED)

    def check(self, asked: CheckQuestion) -> Checked:
        """Audit the client on its own labels, or on digits.

        Raises:
            InputError: The model is missing, or something cannot be used.
        """
        model = asked.needed("model", "which function makes the client's model, f(n_inputs, n_classes)")
        named = labels_spec(asked.builder.host, asked.table or "digits", column=asked.column)
        data = load_labels(asked.builder, named, "the table of labels")
        network = load(model, n_inputs=scaled(data).shape[1], n_classes=data.n_classes, precision="float32", seed=0)
        found: ClientAudit | Saved
        if asked.path.suffix in _SAVED:
            updates, truth = read_updates(asked.thing, network)
            found = audit_saved(updates, truth, network, FORMATS[format_seen(updates)])
            name = asked.thing
        else:
            name = the_function(asked, _trains) if asked.path.suffix == ".py" else asked.thing
            client = UserClient(function=watched_function(name, "client"), name=name, network=network)

            def audit() -> ClientAudit:
                return audit_client(
                    client,
                    data,
                    asked.builder,
                    samples=min(_SAMPLES, data.n_records // 2),
                    batch=1,
                    own=min(_OWN, data.n_records // 2),
                    gain=asked.given["gain"],
                    rng=np.random.default_rng(0),
                )

            found = apart(f"client {name}", audit, once=False, parts=True)
        return Checked(
            what=f"{name}, {data.title}",
            decision=found,
            answer=answer(found),
            then=f"labelinf audit client {name} --model {model} --help",
            lines=(*lines(found),),
            deploy=_deployer(found, asked.path, name, model)
            if isinstance(found, ClientAudit) and found.change
            else None,
        )


def _trains(needed: tuple[str, ...]) -> bool:
    """Whether a function of such parameters takes a model, records and labels."""
    return len(needed) == 3 and needed[0].lower() in _MODELS


_SHIELDED = '''"""{name} behind noise that hides every label: {change}."""

import labelinf
from {module} import {function} as unshielded


def client(model, records, labels):
    """Return the update of the client, clipped as a whole and noised."""
    return labelinf.shield(unshielded(model, records, labels), {settings})
'''


def _deployer(found: ClientAudit, path: Path, name: str, model: str) -> Callable[[Path], tuple[str, str]]:
    """Return what writes the client behind the change that was found; its own module is copied beside it."""

    def deploy(folder: Path) -> tuple[str, str]:
        if path.suffix == ".py":
            shutil.copy(path, folder)
        module, _, function = name.partition(":")
        shielded = folder / "shielded.py"
        settings = found.change.removeprefix("clipped-gaussian(").removesuffix(")")
        shielded.write_text(
            _SHIELDED.format(name=name, change=found.change, module=module, function=function, settings=settings),
            encoding="utf-8",
        )
        return (
            f"written: {shielded}: its function client is yours with the noise",
            f"labelinf check {shielded} --model {model}",
        )

    return deploy

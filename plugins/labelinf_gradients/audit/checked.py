"""``labelinf check`` of a federated-learning client: its code, or updates that it sent; and its shield as files."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from labelinf_core.contracts.checked import Checked, CheckQuestion, functions_in, the_function
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.specs.own_code import copy_code
from labelinf_gradients.audit.asked import ClientQuestion, audited, records_of
from labelinf_gradients.audit.client import ClientAudit
from labelinf_gradients.audit.words import answer, lines
from labelinf_gradients.game.clients import scaled

__all__ = ["ClientCheck"]

_SAVED = (".npz", ".safetensors")
_MODELS = ("model", "module", "net", "network", "parameters", "params", "weights")
_SHAPE = "a model, records and labels: write one that returns what is sent, as FlowerClient(model, x, y).fit(...)[0]."
_SAMPLES, _OWN = 64, 300
_PATIENCE = 300.0  # seconds that what was written has for one update


class ClientCheck:
    """A client's function of a model, records and labels; or a file of updates, with ``--model``."""

    uses = frozenset({"table", "column", "model"})

    def takes(self, asked: CheckQuestion) -> bool:
        """Whether it is a module with a client, a function that comes with a model, or a file that does."""
        if asked.path.suffix == ".py" and not asked.function:
            return "model" in asked.given or any(map(_trains, functions_in(asked.path).values()))
        return "model" in asked.given and (":" in asked.thing or asked.path.suffix in _SAVED)

    def check(self, asked: CheckQuestion) -> Checked:
        """Audit the client on its own labels, or on digits.

        Raises:
            InputError: The model is missing, or something cannot be used.
        """
        model = asked.needed("model", "which function makes the client's model, f(n_inputs, n_classes)")
        own = asked.path.suffix == ".py" and not asked.function
        if own and not any(map(_trains, functions_in(asked.path).values())):
            raise InputError(f"{asked.path} has no function of three arguments, {_SHAPE}")
        data = records_of(asked.builder, asked.table, asked.column, "the table of labels")
        name = the_function(asked, _trains) if asked.path.suffix == ".py" else asked.thing
        half = data.n_records // 2
        question = ClientQuestion(
            client=name,
            model=model,
            data=data,
            builder=asked.builder,
            gain=asked.given["gain"],
            samples=min(_SAMPLES, half),
            own=min(_OWN, half),
        )
        found = audited(question)
        changed = found if isinstance(found, ClientAudit) and found.change else None
        labels = ["--labels", asked.table, *(("--column", asked.column) if asked.column else ())] if asked.table else []
        return Checked(
            what=f"{name}, {data.title}",
            decision=found,
            answer=answer(found),
            then=asked.command("labelinf", "audit", "client", name, "--model", model, *labels),
            lines=(*lines(found),),
            deploy=_deployer(changed, asked, name, model, data) if changed else None,
        )


def _trains(needed: tuple[str, ...]) -> bool:
    """Whether a function of such parameters takes a model, records and labels."""
    return len(needed) == 3 and needed[0].lower() in _MODELS


_MODULE = "labelinf_client"
_SHIELDED = '''"""{name} behind noise that hides every label: {change}."""

{imports}import labelinf
from {module} import {function} as unshielded


def client(model, records, labels):
    """Return the update of the client, clipped as a whole and noised."""
{body}
'''
_UPDATE = "    return labelinf.shield(unshielded(model, records, labels), {settings})"
_TRAINED = """    before = copy.deepcopy(model)
    return labelinf.shield(unshielded(model, records, labels), before=before, {settings})"""
_TRY = """
import sys
import numpy as np
from labelinf_core.specs.own_code import own_function
from labelinf_gradients.audit.updates import UserClient
from labelinf_gradients.game.own_network import load

name, model, width, n_classes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
network = load(model, n_inputs=width, n_classes=n_classes, seed=0, headless=True)
client = UserClient(function=own_function(name, "client"), name=name, network=network)
client(np.random.default_rng(0).normal(size=(2, width)), np.zeros(2, dtype=int))
sys.exit(client.shields in (set(), {None}))
"""


def _deployer(
    found: ClientAudit, asked: CheckQuestion, name: str, model: str, data: LabelSet
) -> Callable[[Path], tuple[str, str]]:
    """Return what writes the client behind the change that was found, with the code of it that lies beside it."""

    def deploy(folder: Path) -> tuple[str, str]:
        module, _, function = name.partition(":")
        for each in (module, model.partition(":")[0]):
            copy_code(each, asked.home, folder)
        shielded = folder / f"{_MODULE}.py"
        if shielded.exists():
            raise InputError(f"{name} needs a module of yours called {_MODULE}, which a shield writes: rename yours.")
        settings = found.change.removeprefix("clipped-gaussian(").removesuffix(")")
        shielded.write_text(
            _SHIELDED.format(
                name=name,
                change=found.change,
                imports="import copy\n\n" if found.new else "",
                module=module,
                function=function,
                body=(_TRAINED if found.new else _UPDATE).format(settings=settings),
            ),
            encoding="utf-8",
        )
        _see_that_it_runs(folder, model, data)
        sends = ", and sends the changes of the parameters, not new ones" if found.new else ""
        wrote = f"written: {shielded}: its function client is yours with the noise{sends}"
        return wrote, shlex.join(["labelinf", "check", str(shielded), "--model", model])

    return deploy


def _see_that_it_runs(folder: Path, model: str, data: LabelSet) -> None:
    """Ask what was written for one update about made records, where only its own files lie.

    Raises:
        InputError: It sends none that came out of its shield.
    """
    numbers = [str(scaled(data).shape[1]), str(data.n_classes)]
    asked = [sys.executable, "-c", _TRY, f"{_MODULE}:client", model, *numbers]
    with contextlib.suppress(subprocess.SubprocessError):
        subprocess.run(asked, cwd=folder, capture_output=True, timeout=_PATIENCE, check=True)
        return
    raise InputError(
        f"{_MODULE}.py sends no update where only its own files lie: the client may read files beside it, or "
        "return what no shield takes. Put li.shield around its change yourself."
    )

"""The recipes of ``docs/split.md`` for other frameworks, run as they stand against stand-ins of what these call."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from scipy.special import softmax

from labelinf_core.cli import main
from labelinf_split.recorder import CutRecorder

PAGE = Path(__file__).parents[2] / "docs" / "split.md"
IDS, BATCH, EPOCHS = np.arange(1000, 1150), 32, 3
BATCHES = np.split(IDS, range(BATCH, len(IDS), BATCH))
LABELS = np.random.default_rng(0).integers(0, 2, len(IDS))

Step = tuple[NDArray[Any], NDArray[Any]]


def recipe(begins: str) -> str:
    """Return the block of the page that begins so."""
    (found,) = (part for part in PAGE.read_text(encoding="utf-8").split("```text\n") if part.startswith(begins))
    return found.partition("```")[0]


def steps() -> Iterator[tuple[int, Step]]:
    """Yield the number of a batch in its epoch, its embeddings and what comes back of a linear top's mean loss."""
    rng = np.random.default_rng(1)
    top = rng.standard_normal((2, 4))
    for _, (number, ids) in itertools.product(range(EPOCHS), enumerate(BATCHES)):
        z, top = rng.standard_normal((len(ids), 4)), top + 0.05 * rng.standard_normal((2, 4))
        g = (softmax(z @ top.T, axis=1) - np.eye(2)[LABELS[ids - IDS[0]]]) @ top
        yield number, (z.astype(np.float32), (g / len(ids)).astype(np.float32))


class Callback:
    """The parts of ``sfl.ml.nn.callbacks.attack.AttackCallback`` that a recipe may lean on."""

    def __init__(self, **kwargs: Any) -> None:
        self.params = kwargs
        self._workers: dict[str, Any] | None = None
        self.device_y: Any = None

    def set_workers(self, workers: dict[str, Any], device_y: Any) -> None:
        self._workers, self.device_y = workers, device_y

    def on_train_batch_begin(self, batch: int) -> None: ...

    def on_base_backward_begin(self) -> None: ...

    def on_train_end(self, logs: Any = None) -> None: ...


class Worker:
    """A feature party's ``SLTorchModel``: forgets its embeddings when its gradients are used."""

    def __init__(self) -> None:
        self._h: Any = None
        self._gradient: Any = None
        self._callback_store: dict[str, Any] = {}

    def apply(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return func(self, *args, **kwargs)


def secretflow(several: bool) -> None:
    made: dict[str, Any] = {"AttackCallback": Callback, "CutRecorder": CutRecorder}
    exec(recipe("class Recorded"), made)
    worker, callback = Worker(), made["Recorded"]("alice", BATCHES)
    callback.set_workers({"alice": worker, "bob": Worker()}, "bob")
    for batch, (z, g) in steps():  # in the order of SLModel.fit
        callback.on_train_batch_begin(batch)
        worker._h = z
        worker._gradient = [g] if several else g
        callback.on_base_backward_begin()
        worker._h = None
    callback.on_train_end()


class Party:
    """A passive ``Party`` of VFLAIR."""

    local_pred_clone: Any = None
    local_gradient: Any = None

    def receive_gradient(self, gradient: Any) -> None:
        self.local_gradient = gradient


class MainTaskVFL:
    """VFLAIR's trainer: the active party is the last one."""

    def __init__(self) -> None:
        self.parties = [Party(), Party()]

    def train(self) -> None:
        for _, (z, g) in steps():
            self.parties[0].local_pred_clone = z
            self.parties[0].receive_gradient(g)
            assert self.parties[0].local_gradient is g


def vflair() -> None:
    made = {"CutRecorder": CutRecorder, "itertools": itertools, "np": np, "ids": IDS, "batch_size": BATCH}
    exec(recipe("recorder, party"), {**made, "vfl": MainTaskVFL()})


@pytest.mark.parametrize("run", [vflair, lambda: secretflow(False), lambda: secretflow(True)])
def test_what_a_recipe_records_is_what_was_handed_over(
    run: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run()
    saved = np.load("run.npz")
    sent = list(steps())
    assert np.array_equal(saved["embeddings"], np.concatenate([z for _, (z, _) in sent]))
    assert np.allclose(saved["gradients"], np.concatenate([g * len(g) for _, (_, g) in sent]))
    assert np.array_equal(saved["ids"], np.tile(IDS, EPOCHS))
    assert saved["step"].tolist() == [step for step, (_, (z, _)) in enumerate(sent) for _ in z]

    for name, rows in (("c", range(100)), ("k", range(100, 110))):
        lines = (f"{IDS[row]},{LABELS[row]}\n" for row in rows)
        Path(f"{name}.csv").write_text("id,label\n" + "".join(lines))
    told = CliRunner().invoke(
        main, ["audit", "split", "run.npz", "--canaries", "c.csv", "--known", "k.csv", "--top", "linear"]
    )
    assert "LEAKS" in told.stdout
    assert "linear-top: 100/100" in told.stdout

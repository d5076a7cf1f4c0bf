"""Records a run of PyTorch for ``labelinf audit split``, in the label or the feature party's loop; imports no torch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from labelinf_core.contracts.errors import InputError

__all__ = ["CutRecorder"]


class CutRecorder:
    """Keeps what passes a cut: ``z = recorder(bottom(x), ids)``, train as ever with the mean loss, then ``save``."""

    def __init__(self) -> None:
        self._sent: list[tuple[Any, Any, Any]] = []

    def __call__(self, z: Any, ids: Any) -> Any:
        """Return embeddings as they are; their gradients are kept when the loss is propagated back, if it can be."""
        if z.requires_grad:
            names, shown = _copied(ids) if hasattr(ids, "detach") else np.array(ids), _copied(z)
            z.register_hook(lambda g: self._sent.append((names, shown, _copied(g) * len(shown))))
        return z

    def save(self, path: str, **more: Any) -> None:
        """Write ``run.npz``: the first, second, ... pass of all records; ``classes=`` names the classes.

        Raises:
            InputError: No gradient came back.
        """
        if not self._sent:
            raise InputError(f"{path} is not written: no gradient came back through the recorder.")
        ids = np.unique(np.concatenate([each[0] for each in self._sent]))
        met: dict[Any, list[tuple[int, Any, Any]]] = {name: [] for name in ids.tolist()}
        for step, (names, z, g) in enumerate(self._sent):
            for row, name in enumerate(names.tolist()):
                met[name].append((step, z[row], g[row]))
        passes = min(map(len, met.values()))
        if left := sum(map(len, met.values())) - passes * len(met):
            warnings.warn(f"{path} keeps {passes} passes, as of its rarest record: {left} are left out", stacklevel=2)
        columns = [np.array([[met[i][t][k] for i in ids.tolist()] for t in range(passes)]) for k in range(3)]
        np.savez(path, step=columns[0], embeddings=columns[1], gradients=columns[2], ids=ids, **more)


def _copied(tensor: Any) -> Any:
    plain = tensor.detach().cpu()
    return np.array((plain.float() if "bfloat16" in str(plain.dtype) else plain).numpy())

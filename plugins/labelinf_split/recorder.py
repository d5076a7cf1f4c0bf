"""Records a run of PyTorch for ``labelinf audit split``, in the label or the feature party's loop; imports no torch."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["CutRecorder"]


class CutRecorder:
    """Keeps what passes a cut: ``z = recorder(bottom(x), ids)``, train as ever with the mean loss, then ``save``."""

    def __init__(self) -> None:
        self._sent: list[tuple[Any, Any, Any]] = []

    def __call__(self, z: Any, ids: Any) -> Any:
        """Return embeddings as they are; their gradients are kept when the loss is propagated back."""
        shown = z.detach().cpu().numpy().copy()
        z.register_hook(lambda g: self._sent.append((ids, shown, g.detach().cpu().numpy() * len(shown))))
        return z

    def save(self, path: str, **more: Any) -> None:
        """Write ``run.npz``: the first, second, ... pass of all records; ``classes=`` names the classes."""
        ids = np.unique(np.concatenate([np.asarray(each[0]) for each in self._sent]))
        met: dict[Any, list[tuple[int, Any, Any]]] = {name: [] for name in ids.tolist()}
        for step, (names, z, g) in enumerate(self._sent):
            for row, name in enumerate(np.asarray(names).tolist()):
                met[name].append((step, z[row], g[row]))
        passes = min(map(len, met.values()))
        columns = [np.array([[met[i][t][k] for i in ids.tolist()] for t in range(passes)]) for k in range(3)]
        np.savez(path, step=columns[0], embeddings=columns[1], gradients=columns[2], ids=ids, **more)

"""Records a run of PyTorch for ``labelinf audit split``, in the label or the feature party's loop; imports no torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelinf_core.contracts.errors import InputError

__all__ = ["CutRecorder"]


class CutRecorder:
    """Keeps what passes a cut: ``z = recorder(bottom(x), ids)``, train as ever with the mean loss, then ``save``."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, ...]] = []

    def __call__(self, z: Any, ids: Any) -> Any:
        """Return a copy of embeddings; what comes back of it, whatever is hooked on it, is kept, if it can be."""
        if not z.requires_grad:
            return z
        shown, names, passed = _copied(z), _copied(ids), z.clone()
        z.register_hook(lambda g: self.keep(shown, g, names))
        passed.retain_grad()  # for loops that read it
        return passed

    def keep(self, z: Any, g: Any, ids: Any) -> None:
        """Keep a step of any framework: embeddings, what came back of the mean loss, both ``(B, d)``, and ids."""
        own = len(z) * _copied(g).astype(np.result_type(_copied(g), np.float32))  # half precision overflows
        self._kept.append((_copied(z), own, np.full(len(z), len(self._kept)), _copied(ids)))

    def save(self, path: str, **more: Any) -> None:
        """Write ``run.npz``, a row for every record of every step; ``classes=`` names the classes.

        Raises:
            InputError: No gradient came back.
        """
        if not self._kept:
            raise InputError(f"{path} is not written: no gradient came back through the recorder.")
        z, g, step, ids = (np.concatenate(column) for column in zip(*self._kept, strict=True))
        np.savez(path, embeddings=z, gradients=g, step=step, ids=ids, **more)


def _copied(values: Any) -> Any:
    if hasattr(values, "detach"):
        plain = values.detach().cpu()
        values = (plain.float() if "bfloat16" in str(plain.dtype) else plain).numpy()
    return np.array(values)

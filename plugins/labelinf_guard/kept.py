"""Files that a board keeps beside its ledger, each sealed: one that was changed, swapped or lost is noticed.

The split decides which labels are scored, and the final release scores the submissions that were kept. Behind the
bytes of each stand 32 more, a keyed digest over what it is and what it holds: a submission is sealed together with its
number and its place in the ledger, so that another one, an older one, or one of another board is none. Readers of npy
and npz files pass over what stands behind them.

A seal shows a change to whoever has the key. It hides nothing: a copy of the folder is as private as the labels.
"""

from __future__ import annotations

import hashlib
import hmac
import io
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_guard.files import State, derived, write_private

__all__ = ["SealedFiles"]

_SEAL = hashlib.sha256().digest_size
_SPLIT = "It says which labels are public: restore it from a copy, as another one would show labels that it keeps."


@attrs.frozen(kw_only=True)
class SealedFiles:
    """The sealed files of a board.

    Attributes:
        state: Where they are.
        key: Of the board.
    """

    state: State
    key: bytes = attrs.field(repr=False)

    def write_split(self, **arrays: NDArray[Any]) -> None:
        """Keep which labels are public, and what else was drawn once."""
        packed = io.BytesIO()
        np.savez(packed, **arrays)  # type: ignore[arg-type]
        data = packed.getvalue()
        write_private(self.state.split, data + self._seal("split", data))

    def split(self, *names: str) -> tuple[NDArray[Any], ...]:
        """Return what was drawn.

        Raises:
            InputError: The file is not there, or is not what was written.
        """
        path = self.state.split
        try:
            data = self._opened("split", path.read_bytes())
        except OSError as error:
            raise InputError(f"{path} cannot be read. {_SPLIT}") from error
        if data is None:
            raise InputError(f"{path} was changed, or written by an earlier version of labelinf. {_SPLIT}")
        with np.load(io.BytesIO(data), allow_pickle=False) as kept:
            return tuple(kept[name] for name in names)

    def write_rows(self, number: int, digest: str, rows: NDArray[Any]) -> None:
        """Keep the canonical rows of a submission, by its number and its digest in the ledger."""
        packed, path = io.BytesIO(), self.state.submission(number)
        np.save(packed, rows)
        data = packed.getvalue()
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_private(path, data + self._seal(f"{number}\0{digest}", data))

    def rows(self, number: int, digest: str) -> NDArray[Any] | None:
        """Return the canonical rows of a submission; None where they are not there, or were changed."""
        try:
            data = self._opened(f"{number}\0{digest}", self.state.submission(number).read_bytes())
        except OSError:
            return None
        if data is None:
            return None
        rows: NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
        return rows

    def faults(self, submissions: Mapping[int, str]) -> Iterator[str]:
        """Say what is not as it was kept.

        Args:
            submissions: Digests of those that must be there, by number.
        """
        try:
            self.split()
        except InputError as error:
            yield str(error).rstrip(".")
        for number, digest in submissions.items():
            if self.rows(number, digest) is None:
                yield self.lost(number)

    def lost(self, number: int) -> str:
        """Return what is said of a submission that is not as it was kept."""
        return (
            f"{self.state.submission(number)} was changed or is gone: restore it from a copy, or send that submission "
            "again, which costs nothing"
        )

    def _seal(self, name: str, data: bytes) -> bytes:
        return hmac.new(derived(self.key, "file"), name.encode() + b"\0" + data, hashlib.sha256).digest()

    def _opened(self, name: str, sealed: bytes) -> bytes | None:
        """Return what was sealed under a name; None where it was not."""
        data, seal = sealed[:-_SEAL], sealed[-_SEAL:]
        return data if hmac.compare_digest(seal, self._seal(name, data)) else None

"""The host's files: labels, keys, the split. All of them are private, and none is ever in the ledger.

Beside ``board.toml`` lies a directory of the same name with ``.state``: ``key`` (32 bytes of the system's, for its
owner only), ``split.npz`` (which ids are public, drawn once, label-blind and in whole groups), ``ledger.sqlite``,
``anchor``, and the ``submissions`` that were numbered. A board that was exported has the split of its files in one
named ``.exported`` instead.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import os
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_data.encode import one_name_each
from labelinf_data.table import read_rows
from labelinf_guard.certificate.gain import effective_number
from labelinf_guard.policy import BoardPart, exact
from labelinf_privacy.deviates import uniform_below
from labelinf_privacy.words import Words

__all__ = [
    "PrivateLabels",
    "State",
    "derived",
    "draw_split",
    "known_boards",
    "new_key",
    "read_key",
    "read_labels",
    "replaced",
    "write_once",
    "write_private",
]

_KEY = 32


@attrs.frozen(kw_only=True, eq=False)
class PrivateLabels:
    """The private labels, sorted by id.

    Attributes:
        ids: Shape ``(n,)``.
        codes: Of the classes, in the order of ``board.toml``.
        groups: Number of the group of every label.
    """

    ids: tuple[str, ...]
    codes: NDArray[np.intp] = attrs.field(repr=False)
    groups: NDArray[np.intp] = attrs.field(repr=False)

    def effective(self, chosen: NDArray[np.bool_]) -> Fraction | None:
        """Return N_eff of some of the labels; None where no two of them share a group."""
        sizes = np.bincount(self.groups[chosen])
        sizes = sizes[sizes > 0]
        return None if sizes.size == 0 or sizes.max() == 1 else effective_number(int(size) for size in sizes)

    def largest_group(self) -> int:
        """Return how many labels the largest group has."""
        return int(np.bincount(self.groups).max())


@attrs.frozen(kw_only=True)
class State:
    """Where a board keeps what it must not lose.

    Attributes:
        directory: The directory.
    """

    directory: Path

    @classmethod
    def of(cls, board: Path) -> State:
        """Return the state that belongs to a ``board.toml``."""
        return cls(directory=board.with_suffix(".state"))

    @property
    def key(self) -> Path:
        """32 secret bytes."""
        return self.directory / "key"

    @property
    def split(self) -> Path:
        """Which labels are public."""
        return self.directory / "split.npz"

    def submission(self, number: int) -> Path:
        """The rows of one submission."""
        return self.directory / "submissions" / f"{number}.npy"

    @property
    def exported(self) -> Path:
        """Which labels are public in exported files, and the labels in them; beside the directory."""
        return self.directory.with_suffix(".exported")

    @property
    def ledger(self) -> Path:
        """The ledger."""
        return self.directory / "ledger.sqlite"

    @property
    def anchor(self) -> Path:
        """How far the ledger had come."""
        return self.directory / "anchor"

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the folder for oneself: of a board that is begun and one that is exported at one instant, one waits."""
        folder = os.open(self.directory.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    fresh = path.with_name(path.name + ".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name too is on the disk
    finally:
        os.close(folder)


def write_once(path: Path, data: bytes) -> None:
    """Write a private file unless it is there; of several writers one wins, and no reader sees a part."""
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    write_private(aside, data)
    try:
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
    finally:
        aside.unlink()


def known_boards(labels: Path, board: Path, key: bytes, *, fresh: bool = False) -> list[str]:
    """Write down beside a file of labels that a board scores it; return the others that do, as far as that is known.

    The note holds paths of boards and what tells one from another, for its owner only, and nothing of the labels. Where
    it cannot be read or written, and of copies of the file, nothing is known.

    Args:
        labels: The file.
        board: Path of ``board.toml``.
        key: What nobody but this board has: one that is begun again in the same place is another.
        fresh: Whether it has just been begun, so that what an earlier version wrote of that path is of another.
    """
    note = labels.with_name(f"{labels.name}.boards")
    own = os.path.relpath(board.resolve(), labels.resolve().parent)  # a folder that is moved stays what it was
    line = f"{own}\t{derived(key, 'board').hex()[:16]}"
    try:
        there = note.read_text(encoding="utf-8").splitlines() if note.exists() else []
    except (OSError, UnicodeDecodeError):
        return []
    before = [f"{name}\t" if name == own else name for name in there if fresh or name != own]
    if line not in there:
        with contextlib.suppress(OSError):
            write_private(note, "".join(f"{name}\n" for name in [*before, line]).encode())
    paths = (name.partition("\t") for name in before if name.partition("\t")[2] != line.partition("\t")[2])
    return list(dict.fromkeys(f"{path}, begun before" if path == own else path for path, *_ in paths))


def new_key(path: Path) -> bytes:
    """Draw a key from the system, and keep it."""
    key = os.urandom(_KEY)
    write_private(path, key)
    return key


def read_key(path: Path) -> bytes:
    """Return the key of a board.

    Raises:
        InputError: There is none, it is no key, or others may read it.
    """
    try:
        key, mode = path.read_bytes(), path.stat().st_mode
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. labelinf guard init makes it.") from error
    if len(key) != _KEY:
        raise InputError(f"{path} holds {len(key)} bytes, not the {_KEY} of a key. Restore it from a copy.")
    if mode & 0o077:
        raise InputError(f"{path} may be read by others. Say chmod 600 {path}.")
    return key


def derived(key: bytes, purpose: str) -> bytes:
    """Return a key for one purpose only."""
    return hmac.new(key, purpose.encode(), hashlib.sha256).digest()


def read_labels(board: Path, part: BoardPart, *, fresh: bool = False) -> PrivateLabels:
    """Read the private labels; of a ``fresh`` board every group must be written in one way.

    Raises:
        InputError: The file cannot be used; the sentence names columns and rows, and no label.
    """
    path = (board.parent / part.labels).as_posix()
    rows = read_rows(path)
    header, wanted = rows[0][1], [part.id, part.label, *([part.group] if part.group else [])]
    if missing := [name for name in wanted if name not in header]:
        raise InputError(f"{path} has no column {missing[0]!r}; columns are {', '.join(map(repr, header))}.")
    at = [header.index(name) for name in wanted]
    table = [(number, cells) for number, cells in rows[1:] if len(cells) == len(header)]
    if len(table) < len(rows) - 1 or not table:
        raise InputError(f"{path}: every row must have the header's {len(header)} cells, and there must be one.")
    known = {_number(name) if part.values else name: code for code, name in enumerate(part.classes)}
    own = [_number(cells[at[1]]) if part.values else cells[at[1]] for _, cells in table]
    if strange := [number for (number, _), label in zip(table, own, strict=True) if label not in known]:
        raise InputError(f"{path}: row {strange[0]} and {len(strange) - 1} others have a label that is no class.")
    ids = [cells[at[0]] for _, cells in table]
    if len(set(ids)) < len(ids) or "" in ids:
        raise InputError(f"{path}: every id must be there once and not be empty.")
    order = sorted(range(len(ids)), key=ids.__getitem__)
    groups = [table[place][1][at[2]] if part.group else ids[place] for place in order]
    if part.group and fresh:
        one_name_each(sorted(set(groups)), f"{path}: column {part.group!r}")
    return PrivateLabels(
        ids=tuple(ids[place] for place in order),
        codes=np.array([known[own[place]] for place in order], dtype=np.intp),
        groups=np.unique(groups, return_inverse=True)[1].astype(np.intp),
    )


def _number(cell: str) -> Decimal | str:
    """Return a number, however many zeros it is written with; or the cell, where it is none."""
    try:
        found = Decimal(cell)
    except ArithmeticError:
        return cell
    return found if found.is_finite() else cell


def draw_split(groups: NDArray[np.intp], share: float, source: Words) -> NDArray[np.bool_]:
    """Draw which labels are public: whole groups in a random order, until there are enough. No label is looked at.

    Args:
        groups: Number of the group of every label, shape ``(n,)``.
        share: Of all labels, in (0, 1].
        source: Of the randomness.
    """
    sizes = np.bincount(groups)
    order, drawn = list(range(sizes.size)), uniform_below(np.arange(sizes.size, 1, -1, dtype=np.int64), source)
    for last, chosen in zip(range(sizes.size - 1, 0, -1), drawn.tolist(), strict=True):
        order[last], order[chosen] = order[chosen], order[last]
    wanted = max(1, round(exact(share) * groups.size))
    before = np.cumsum(sizes[order]) - sizes[order]
    return np.isin(groups, np.array(order, dtype=np.intp)[before < wanted])


def replaced(codes: NDArray[np.intp], classes: int, flip: float, source: Words) -> NDArray[np.intp]:
    """Return labels of which each is another class with probability ``flip``, exactly, each other one as likely.

    Args:
        codes: Labels in 0..K-1, shape ``(n,)``.
        classes: K.
        flip: In (0, 1), of nine decimals at most.
        source: Of the randomness.
    """
    share = exact(flip)
    drawn = uniform_below(np.full(codes.size, share.denominator, dtype=np.int64), source)
    others = 1 + uniform_below(np.full(codes.size, classes - 1, dtype=np.int64), source)
    return np.where(drawn < share.numerator, (codes + others) % classes, codes)

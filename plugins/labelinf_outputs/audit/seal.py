"""What was planted, written down before anything is trained, and sealed: an audit checks that nothing was changed.

The seal is the SHA-256 of everything else in the file. Whoever planted prints it, keeps it (in a protocol, a commit, a
letter), and gives it to the audit: labels that were chosen after the model was seen do not fit it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import attrs

from labelinf_core.contracts.documents import json_text
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import read_regular

__all__ = ["Seal", "read_seal"]

_VERSION = "labelinf planted labels 1"
_LEAST = 8  # digits of a seal that are a commitment to it


@attrs.frozen(kw_only=True)
class Seal:
    """Planted labels.

    Attributes:
        classes: Name of every class.
        records: Ids of the canaries, all different.
        labels: Their planted labels, as places in ``classes``.
        control: Ids of the records that are trained on openly, many times each.
        control_labels: Their labels, as places in ``classes``.
        references: Planted labels of the canaries in every reference set.
    """

    classes: tuple[str, ...]
    records: tuple[str, ...]
    labels: tuple[int, ...]
    control: tuple[str, ...] = ()
    control_labels: tuple[int, ...] = ()
    references: tuple[tuple[int, ...], ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of all of it."""
        content = json.dumps(attrs.asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(f"{_VERSION}\n{content}".encode()).hexdigest()

    def write(self, path: Path) -> None:
        """Write the sealed file, for its owner's eyes alone."""
        content = {"format": _VERSION, "seal": self.digest, **attrs.asdict(self)}
        path.touch(mode=0o600)
        path.chmod(0o600)
        path.write_text(json_text(content) + "\n", encoding="utf-8")


def read_seal(path: str, commitment: str = "") -> Seal:
    """Read a sealed file.

    Args:
        path: The file.
        commitment: The seal as it was printed when the labels were planted, or its beginning; empty when nobody kept
            it.

    Raises:
        InputError: It is no such file, or its content does not fit its seal or the commitment.
    """
    try:
        content: Any = json.loads(read_regular(path).decode("utf-8"))
        seal = _of(content)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"{path} is no sealed file of labelinf plant.") from error
    if 0 < len(commitment) < _LEAST:
        raise InputError(
            f"a commitment of {len(commitment)} digits may fit by chance: give {_LEAST} or more of the seal."
        )
    if seal.digest != content["seal"]:
        raise InputError(f"{path} was changed after it was sealed: what was not planted is not audited.")
    if not seal.digest.startswith(commitment.lower()):
        raise InputError(f"{path} has the seal {seal.digest[:16]}..., not the one that was committed to.")
    return seal


def _of(content: Any) -> Seal:
    if content["format"] != _VERSION:
        raise ValueError("another format")
    seal = Seal(
        classes=_texts(content["classes"]),
        records=_texts(content["records"]),
        control=_texts(content["control"]),
        labels=_places(content["labels"], content),
        control_labels=_places(content["control_labels"], content),
        references=tuple(_places(labels, content) for labels in content["references"]),
    )
    counts = {len(seal.records), len(seal.labels), *map(len, seal.references)}
    ids = [*seal.records, *seal.control]
    if len(seal.classes) < 2 or counts != {len(set(seal.records))} or len(seal.control) != len(seal.control_labels):
        raise ValueError("shapes")
    if not seal.records or len(set(ids)) < len(ids):
        raise ValueError("ids")
    return seal


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise ValueError("text")
    return tuple(values)


def _places(values: Any, content: Any) -> tuple[int, ...]:
    n_classes = len(content["classes"])
    if not isinstance(values, list) or not all(type(item) is int and 0 <= item < n_classes for item in values):
        raise ValueError("labels")
    return tuple(values)

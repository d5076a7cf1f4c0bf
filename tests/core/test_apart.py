"""What a process says in which strangers' code ran is data: reading it calls nothing."""

from __future__ import annotations

import collections
import datetime
import os
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from labelinf_core.contracts.labels import LabelSet
from labelinf_core.plugin.apart import packed, plain_data


class _Calls:
    def __init__(self, function: object, *arguments: object) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[object, ...]:
        return self.function, self.arguments


def _written(module: str, name: str, *arguments: str) -> bytes:
    """Return bytes that call ``module``'s ``name`` when they are read, whatever it is."""
    text = b"".join(pickle.SHORT_BINUNICODE + bytes([len(word)]) + word.encode() for word in (module, name))
    given = b"".join(pickle.SHORT_BINUNICODE + bytes([len(word)]) + word.encode() for word in arguments)
    return (
        pickle.PROTO + b"\x04" + text + pickle.STACK_GLOBAL + pickle.MARK + given + pickle.TUPLE + pickle.REDUCE + b"."
    )


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("labelinf_core.plugin.apart", "os.system"),
        ("labelinf_core.plugin.apart", "os"),
        ("labelinf_core.plugin.apart", "io.open"),
        ("labelinf_core.plugin.apart", "packed"),
        ("labelinf_core.plugin.host", "Path"),
        ("numpy", "os.system"),
        ("numpy", "load"),
        ("pathlib", "os.system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
    ],
)
def test_nothing_is_called_that_is_no_type_of_data(module: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(pickle.UnpicklingError):
        plain_data(_written(module, name, f"touch {tmp_path / 'called'}"))
    assert not (tmp_path / "called").exists()


def test_what_reduces_to_a_call_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pickle.UnpicklingError):
        plain_data(packed(_Calls(os.system, f"touch {tmp_path / 'called'}")))
    assert not (tmp_path / "called").exists()


def test_plain_data_comes_back_as_it_was() -> None:
    said = {
        "path": Path("a/b"),
        "counts": collections.Counter("aab"),
        "day": datetime.date(2026, 1, 2),
        "float": np.float64(0.5),
        "labels": LabelSet(labels=np.array([0, 1, 1]), class_names=("a", "b"), title="x", provenance="made"),
        "many": [1, 2.5, "x", None, True, (1, frozenset({2})), range(3)],
    }
    read = plain_data(packed(said))
    assert read.pop("labels").labels.tolist() == [0, 1, 1]
    said.pop("labels")
    assert read == said


def test_an_array_comes_back_with_its_type() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    read = plain_data(packed(array))
    assert read.dtype == array.dtype
    assert (read == array).all()
    assert plain_data(packed(np.asfortranarray(array))).flags.f_contiguous


def test_what_is_no_type_of_ours_is_refused() -> None:
    with pytest.raises(pickle.UnpicklingError):
        plain_data(packed(Fraction(1, 3)))

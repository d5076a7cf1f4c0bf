from __future__ import annotations

import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_data.npy_file import NpyFile


class Bomb:
    """Leaves a trace when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (open, ("unpickled-by-mistake", "w"))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (np.array([10, 9, 10]), ("9", "10")),
        (np.array([True, False, True]), ("False", "True")),
        (np.array(["b", "a", "b"]), ("a", "b")),
        (np.array([1.5, -2.0, 1.5]), ("-2.0", "1.5")),
    ],
)
def test_reads_a_vector_of_numbers_or_strings(tmp_path: Path, values: np.ndarray, names: tuple[str, str]) -> None:
    np.save(tmp_path / "y.npy", values)

    data = NpyFile(path=str(tmp_path / "y.npy")).load()

    assert data.class_names == names
    assert data.labels.tolist() == [1, 0, 1]
    assert data.provenance == "user's file"


def test_reads_the_named_or_the_only_array_of_an_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", y=[0, 1, 1])
    np.savez(tmp_path / "two.npz", x=[0.5, 0.25], y=[1, 0])

    assert NpyFile(path=str(tmp_path / "one.npz")).load().labels.tolist() == [0, 1, 1]
    assert NpyFile(path=str(tmp_path / "two.npz"), column="y").load().labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            "",
            "two.npz has 2 arrays; name the one with the labels: column, or --column on the command line. "
            "Arrays are 'x', 'y'.",
        ),
        ("z", "two.npz has no array 'z'. Arrays are 'x', 'y'."),
    ],
)
def test_an_array_that_is_not_there_is_named(tmp_path: Path, column: str, message: str) -> None:
    np.savez(tmp_path / "two.npz", x=[0.5, 0.25], y=[1, 0])

    with pytest.raises(InputError) as caught:
        NpyFile(path=str(tmp_path / "two.npz"), column=column).load()

    assert str(caught.value) == f"{tmp_path}/{message}"


@pytest.mark.parametrize("name", ["y.npy", "y.npz"])
def test_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    bombs = np.array([Bomb(), Bomb()], dtype=object)
    if name == "y.npy":
        np.save(name, bombs)
    else:
        np.savez(name, y=bombs)

    with pytest.raises(InputError, match="not a NumPy file of plain numbers or strings"):
        NpyFile(path=name).load()

    assert not Path("unpickled-by-mistake").exists()


def test_a_bare_pickle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "y.npy").write_bytes(pickle.dumps([0, 1]))

    with pytest.raises(InputError, match="not a NumPy file of plain numbers or strings"):
        NpyFile(path=str(tmp_path / "y.npy")).load()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 2)), r"shape \(2, 2\). Labels must be a vector, not empty"),
        (np.zeros(0), r"shape \(0,\). Labels must be a vector, not empty"),
        (np.array([1j, 2]), "type complex128. Labels must be numbers or strings"),
        (np.array(["a", "nan", "b"]), "has no label at index 1. Every record needs one"),
        (np.array(["1", "0", "1.0"]), "has the number 1 also as 1.0: one or two"),
        (np.array([0.0, np.nan, 1.0]), "has nan at index 1. Every record needs a label"),
        (np.array([1, 1]), "has one class only"),
    ],
)
def test_what_is_no_vector_of_labels_is_refused(tmp_path: Path, values: np.ndarray, message: str) -> None:
    np.save(tmp_path / "y.npy", values)

    with pytest.raises(InputError, match=message):
        NpyFile(path=str(tmp_path / "y.npy")).load()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "y.npz").write_bytes(content)

    with pytest.raises(InputError, match=r"y\.npz is not a NumPy file"):
        NpyFile(path=str(tmp_path / "y.npz")).load()


def headed(text: str) -> bytes:
    """Return an .npy file of so much of a header, and four numbers."""
    line = text.encode() + b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(line)) + line + bytes(32)


BROKEN = {
    "an unfinished shape": headed("{'descr': '<f8', 'fortran_order': False, 'shape': ((((("),
    "brackets": headed("(" * 9000),
    "a shape beyond integers": headed(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({'9' * 30},)}}"),
    "a negative shape": headed("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4)}"),
    "no array": b"hello",
    "a third version": b"\x93NUMPY\x03\x00" + headed("{'descr': '<f8', 'fortran_order': False, 'shape': (4,)}")[8:],
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_whatever_a_broken_file_raises_is_one_sentence(tmp_path: Path, name: str, ending: str) -> None:
    file = tmp_path / f"y.{ending}"
    file.write_bytes(BROKEN[name])
    if ending == "npz":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("y.npy", BROKEN[name])

    with pytest.raises(InputError, match="is not a NumPy file of plain numbers or strings"):
        NpyFile(path=str(file)).load()


@pytest.mark.parametrize(("offset", "value"), [(6, 1), (8, 99)])  # the flag of a password; a way of compression
def test_an_archive_that_cannot_be_unpacked_is_one_sentence(tmp_path: Path, offset: int, value: int) -> None:
    np.savez(tmp_path / "y.npz", y=[0, 1])
    data = bytearray((tmp_path / "y.npz").read_bytes())
    for at in (data.find(b"PK\x03\x04") + offset, data.find(b"PK\x01\x02") + offset + 2):
        data[at] = value
    (tmp_path / "y.npz").write_bytes(data)

    with pytest.raises(InputError, match="is not a NumPy file of plain numbers or strings"):
        NpyFile(path=str(tmp_path / "y.npz")).load()


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_no_memory_is_given_to_what_a_header_merely_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    large = headed("{'descr': '<f4', 'fortran_order': False, 'shape': (100000, 10000)}")
    file = tmp_path / f"y.{ending}"
    file.write_bytes(large)
    if ending == "npz":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("y.npy", large)
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("it was read"))

    with pytest.raises(InputError, match="is not a NumPy file of plain numbers or strings"):
        NpyFile(path=str(file)).load()


def test_too_little_memory_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: Any, **__: Any) -> None:
        raise MemoryError

    np.save(tmp_path / "y.npy", np.arange(3))
    monkeypatch.setattr(np, "load", load)

    with pytest.raises(InputError, match="cannot be read: it needs more memory than there is"):
        NpyFile(path=str(tmp_path / "y.npy")).load()


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.npy cannot be read: No such file or directory\.$"):
        NpyFile(path=str(tmp_path / "absent.npy")).load()


def test_features_stand_beside_the_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=np.arange(6).reshape(3, 2), y=["b", "a", "b"])

    data = NpyFile(path=str(tmp_path / "d.npz"), features="x").load()

    assert data.features is not None
    assert data.features.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert data.features.dtype == np.float64
    assert data.labels.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros(3), "features are float64 of shape (3,); expected numbers of shape (3, at least 1)"),
        (np.zeros((2, 2)), "of shape (2, 2)"),
        (np.array([["a"], ["b"], ["c"]]), "features are <U1"),
        (np.array([[1.0], [np.nan], [2.0]]), "features of record 1 are not all finite"),
    ],
)
def test_faulty_features_are_one_sentence(tmp_path: Path, features: np.ndarray, message: str) -> None:
    np.savez(tmp_path / "d.npz", x=features, y=[0, 1, 0])

    with pytest.raises(InputError) as caught:
        NpyFile(path=str(tmp_path / "d.npz"), features="x").load()
    assert message in str(caught.value)


def test_a_single_array_has_no_features(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", [0, 1])

    with pytest.raises(InputError, match="holds one array, none called 'x'"):
        NpyFile(path=str(tmp_path / "y.npy"), features="x").load()

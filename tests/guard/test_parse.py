"""Submissions: one canonical form of what means the same, one of eight sentences for everything else."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import random
import resource
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelinf_guard.export.stateless import Form
from labelinf_guard.parse import Expected, FileFault, ParseError, parse

IDS = ("a", "b", "c")
CLASSES = Expected(form=Form(id="id", classes=("no", "yes"), classes_predicted=True), ids=IDS)
SHARES = Expected(form=Form(id="id", classes=("no", "yes"), classes_predicted=False), ids=IDS)
WIDE = Expected(form=Form(id="id", classes=("x", "y", "z"), classes_predicted=False), ids=IDS, most_bytes=1 << 16)


def npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=array.dtype == object)
    return file.getvalue()


SAME = [
    b"id,prediction\na,.25\nb,0.5\nc,1\n",
    b"id;prediction\na;.25\nb;0.5\nc;1\n",
    b"id\tprediction\r\na\t.25\r\nb\t0.5\r\nc\t1\r\n",
    b"prediction,id\r\n1e0,c\r\n0.5,b\r\n25e-2,a\r\n",
    b"\xef\xbb\xbfid,prediction\n\nc,1.0\na,0.250\nb,+0.5",
    b'{"a": 0.25, "b": 0.5, "c": 1}',
    b'[{"id": "c", "prediction": 1}, {"id": "a", "prediction": 0.25}, {"id": "b", "prediction": 0.5}]',
    b"id,no,yes\na,.75,.25\nb,.5,.5\nc,0,1\n",
    b"id,yes,no\na,.25,.75\nb,.1,.1\nc,1,-0\n",
    npz(ids=np.array(["b", "a", "c"]), predictions=np.array([0.5, 0.25, 1])),
    npz(ids=np.array([b"b", b"a", b"c"]), predictions=np.array([[0.5], [0.25], [1]], dtype=np.float32)),
    npy(np.array([0.25, 0.5, 1])),
    npy(np.asfortranarray([[0.75, 0.25], [0.5, 0.5], [0, 1]])),
]


@pytest.mark.parametrize("data", SAME)
def test_what_means_the_same_is_the_same(data: bytes) -> None:
    found = parse(data, SHARES)
    assert found.rows.tolist() == [[0.75, 0.25], [0.5, 0.5], [0, 1]]
    assert found.digest(b"board") == parse(SAME[0], SHARES).digest(b"board") != found.digest(b"another board")


def test_parquet_is_read_as_any_table(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for columns, fault in (
        ({"prediction": [1.0, 0.5, 0.25], "id": ["c", "b", "a"]}, None),
        ({"id": ["a", "b"], "prediction": [1.0, 0.5]}, FileFault.MISSING),
        ({"id": ["a", "b", "c"], "prediction": [1.0, None, 0.5]}, FileFault.VALUE),
        ({"id": ["a", "b", "c", "d"], "prediction": [1.0] * 4}, FileFault.UNKNOWN),
    ):
        parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
        data = (tmp_path / "rows.parquet").read_bytes()
        if fault is None:
            assert parse(data, SHARES).digest(b"") == parse(SAME[0], SHARES).digest(b"")
            continue
        with pytest.raises(ParseError) as told:
            parse(data, SHARES)
        assert told.value.fault is fault


def test_classes_are_told_by_name() -> None:
    assert parse(b"id,prediction\nc,no\nb,yes\na,no\n", CLASSES).rows.tolist() == [0, 1, 0]
    assert parse(b'{"a": "no", "b": "yes", "c": "no"}', CLASSES).rows.tolist() == [0, 1, 0]


ARRAYS = [
    *(
        [0.5, 0.25, 1.0],
        [[0.5], [0.25], [1.0]],
        [[0.5, 0.25], [0.0, 0.125], [1.0, 1.0]],
        [0, 1, 1],
        [True, False, True],
    ),
    *([0.5, -0.25, 1.0], [0.5, 1.5, 1.0], [[0.5, 0.5], [0.0, 0.0], [1.0, 0.0]], [0.5, math.nan, 1.0], [-0.0, 0.5, 7.0]),
    *([2, 0, 1], ["0", "1", "0"], ["0.5", "1", "x"], [[0, 1], [1, 0], [0, 1]], [2**60, 0, 1], [[0.1] * 3] * 3),
]


@pytest.mark.parametrize("rows", ARRAYS)
@pytest.mark.parametrize("kind", [float, np.float32, int, None])
def test_arrays_in_order_are_read_at_once_as_rows_in_any_order_are(rows: list[Any], kind: Any) -> None:
    """Forwards all of it is looked at together; backwards row by row."""
    try:
        given = np.array(rows, dtype=kind)
    except ValueError:
        given = np.array(rows)
    ids = np.array(["a", "b", "c"])
    numbers = Expected(form=dataclasses.replace(CLASSES.form, classes=("0", "1")), ids=IDS)
    values = Expected(form=dataclasses.replace(numbers.form, classes_predicted=False, between=(0.0, 5.0)), ids=IDS)
    for expected in (SHARES, CLASSES, numbers, values):
        told = []
        for data in (npz(ids=ids, predictions=given), npz(ids=ids[::-1], predictions=given[::-1])):
            try:
                told.append(parse(data, expected).rows.tolist())
            except ParseError as error:
                told.append(error.fault)
        assert repr(told[0]) == repr(told[1])


@pytest.mark.parametrize(
    "expected", [SHARES, Expected(form=dataclasses.replace(CLASSES.form, classes=("0", "1")), ids=IDS)]
)
def test_no_row_of_an_array_in_order_is_looked_at_alone(expected: Expected, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million rows took three seconds, forty times in one advice."""
    monkeypatch.delattr("labelinf_guard.parse._canonical")
    assert len(parse(npy(np.array([0, 1, 1])), expected).rows) == 3


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ids.npy", b"\0" * (1 << 20))
        archive.writestr("predictions.npy", b"\0")
    return file.getvalue()


WRONG = [
    (b"x" * (1 << 17), WIDE, FileFault.LARGE),
    (bomb(), WIDE, FileFault.LARGE),
    (b"", SHARES, FileFault.COLUMNS),
    (b"\xff\xfe\x00", SHARES, FileFault.UNREADABLE),
    (b"id,prediction\n\0", SHARES, FileFault.UNREADABLE),
    (b'id,prediction\n"a,.1\n', SHARES, FileFault.UNREADABLE),
    (b"[" * 100_000, SHARES, FileFault.UNREADABLE),
    (b'{"a": 1' + b"0" * 5000 + b"}", SHARES, FileFault.UNREADABLE),
    (npy(np.array([0.25, 0.5, 1]))[:-3], SHARES, FileFault.UNREADABLE),
    (npy(np.array([{"a": 1}], dtype=object)), SHARES, FileFault.VALUE),
    (npy(np.zeros((2,))).replace(b"(2,)", b"(99999999999,)"), SHARES, FileFault.UNREADABLE),
    (b"id,score\na,1\n", SHARES, FileFault.COLUMNS),
    (b"id,prediction,prediction\na,1,1\n", SHARES, FileFault.COLUMNS),
    (b"id,prediction\na,.1,.2\n", SHARES, FileFault.COLUMNS),
    (b"id,prediction\na,.1\n", WIDE, FileFault.COLUMNS),
    (npz(ids=np.array(["a"]), rows=np.array([1.0])), SHARES, FileFault.COLUMNS),
    (b"id,prediction\nd,.1\n", SHARES, FileFault.UNKNOWN),
    (b"id,prediction\na,.1\na,.1\n", SHARES, FileFault.DUPLICATE),
    (b'{"a": 1, "a": 1, "b": 1}', SHARES, FileFault.DUPLICATE),
    (b"id,prediction\na,.1\nb,.1\n", SHARES, FileFault.MISSING),
    (b"id,prediction\na,maybe\nb,no\nc,no\n", CLASSES, FileFault.VALUE),
    (b"id,prediction\na,-1\nb,0\nc,0\n", SHARES, FileFault.RANGE),
    (b"id,x,y,z\na,0,0,0\nb,1,0,0\nc,1,0,0\n", WIDE, FileFault.RANGE),
    *(
        (f"id,prediction\na,{cell}\nb,0\nc,0\n".encode(), SHARES, FileFault.VALUE)
        for cell in ("nan", "inf", "1e999", "0x1p-1", '"1,000"', "1_0", "", "True", "½", "१", " . ", "1e-9999")
    ),
    (b'{"a": true, "b": 1, "c": 0}', SHARES, FileFault.VALUE),
    (b'{"a": NaN, "b": 1, "c": 0}', SHARES, FileFault.VALUE),
    (b'{"a": 1e999, "b": 1, "c": 0}', SHARES, FileFault.VALUE),
]


@pytest.mark.parametrize(("data", "expected", "fault"), WRONG)
def test_everything_else_is_one_of_eight_sentences(data: bytes, expected: Expected, fault: FileFault) -> None:
    with pytest.raises(ParseError) as told:
        parse(data, expected)
    assert told.value.fault is fault
    assert str(told.value).endswith(fault.value)


def fuzz(rounds: int) -> None:
    rng = random.Random(0)
    seeds = [*SAME, *(data for data, _, _ in WRONG if len(data) < 4096)]
    sentences = {fault.value for fault in FileFault}
    told = set()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(rounds):
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.randint(1, 6)):
            place = rng.randrange(len(data) + 1)
            match rng.randrange(3):
                case 0:
                    data[place : place + 1] = rng.randbytes(rng.randint(0, 3))
                case 1:
                    data[place:place] = rng.choice([b",", b"\n", b'"', b"1e308", b"{", b"id", b"\0", b"a", b"9" * 30])
                case _:
                    del data[place : place + rng.randint(1, 9)]
        began = time.process_time()
        try:
            parse(bytes(data), rng.choice([CLASSES, SHARES, WIDE]))
        except ParseError as error:
            told.add(str(error).split(": ", 1)[-1])
        assert time.process_time() - began < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 256 * 1024  # of all of them together
    assert len(told) > 5
    assert told <= sentences


def test_a_thousand_broken_files() -> None:
    fuzz(1000)


@pytest.mark.slow
def test_ten_thousand_broken_files() -> None:
    fuzz(10_000)


_LARGE = """
import resource, sys, time
from labelinf_guard.board import _largest
from labelinf_guard.export.stateless import Form
from labelinf_guard.parse import Expected, ParseError, parse
ids = tuple(f"r{at:06d}" for at in range(25_000))
form = Form(id="id", classes=("0", "1"), classes_predicted=False)
board = Expected(form=form, ids=ids, most_bytes=_largest(ids, 2))
pieces = eval(sys.argv[1])
data = (pieces[0] + pieces[1] * ((board.most_bytes - 99) // len(pieces[1])) + pieces[2]).encode()
peak, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
try:
    parse(data, board)
except ParseError as error:
    print(error.fault.name)
assert time.process_time() - began < 1, time.process_time() - began
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 256 * 1024
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "pieces",
    [("[", "[],", "0]"), ("[", "{},", "0]"), ("[", "1.5,", "0]"), ("id,prediction\n", "r000001,.5\n", ""),
     ("id,prediction\n", ",", ""), ("id,prediction\n", '"",', ""), ('{"r000000": [', "9,", "1]}"), ("[", "[", ""),
     ("id,prediction\n", "\n", ""), ("", "id,", "")],
    ids=str,
)  # fmt: skip
def test_the_largest_files_of_a_board_take_a_second_and_256_mebibytes_at_most(pieces: tuple[str, str, str]) -> None:
    told = subprocess.run([sys.executable, "-c", _LARGE, repr(pieces)], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert told.stdout.strip() in FileFault.__members__


def test_a_line_is_named_and_never_a_value() -> None:
    with pytest.raises(ParseError) as told:
        parse(b"id,prediction\na,.1\nb,secret\nc,0\n", SHARES)
    assert str(told.value) == f"Line 3: {FileFault.VALUE.value}"
    assert len(FileFault) == 8
    assert json.dumps([fault.value for fault in FileFault]).isascii()


@pytest.mark.parametrize("columns", [2, 3, 8, 10, 17])
def test_the_order_in_which_an_array_lies_is_no_part_of_a_submission(columns: int) -> None:
    """Ten classes in Fortran order were added up otherwise: another submission, and another draw of the noise."""
    classes = tuple(f"c{number}" for number in range(columns))
    board = Expected(form=Form(id="id", classes=classes, classes_predicted=False), ids=IDS)
    for seed in range(20):
        rows = np.random.default_rng(seed).random((3, columns))
        plain, turned = (parse(npy(each), board) for each in (rows, np.asfortranarray(rows)))
        assert plain.digest(b"") == turned.digest(b"")


@pytest.mark.parametrize(("rows", "board"), [([0.5, 0.5, 1.0], WIDE), ([[0.5, 0.5]] * 3, CLASSES)])
def test_an_array_of_another_form_is_told_what_is_wrong_with_its_columns(rows: list[Any], board: Expected) -> None:
    with pytest.raises(ParseError) as caught:
        parse(npy(np.array(rows)), board)
    assert caught.value.fault is FileFault.COLUMNS


def test_a_blank_line_is_no_header() -> None:
    assert parse(b"\n\nid,prediction\na,yes\nb,no\nc,yes\n", CLASSES).rows.tolist() == [1, 0, 1]

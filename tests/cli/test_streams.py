"""Text goes out whatever stands at the other end; a plugin whose hook fails stops no command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

InstallFake = Callable[..., Path]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_encoding_will_do(encoding: str) -> None:
    command = [sys.executable, "-m", "labelinf_core", "theorems", "S16"]

    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert "S16" in done.stdout.decode(encoding)


@pytest.mark.long
def test_ascii_is_written_in_plain_letters() -> None:
    """Dots between facts were the characters xb7; an infinite noise was u221e."""
    given = ["bounds", "--records", "20", "--shares", ".5,.5", "--queries", "3"]
    command = [sys.executable, "-m", "labelinf_core", *given]

    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=True)

    assert "20 - n classes 2 - " in done.stdout.decode("ascii")
    assert "\\" not in done.stdout.decode("ascii")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk here")
@pytest.mark.parametrize("arguments", [["theorems"], ["--help"]])
def test_a_full_disk_is_one_sentence(arguments: list[str]) -> None:
    """It was a traceback of twenty lines."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "labelinf_core", *arguments], stdout=full, stderr=subprocess.PIPE, text=True
        )

    assert done.stderr == "labelinf: what was asked for cannot be written or read (No space left on device)\n"
    assert done.returncode == 4


def test_a_reader_who_has_seen_enough_is_no_error() -> None:
    command = f"{sys.executable} -m labelinf_core theorems | head -n 1"

    done = subprocess.run(command, shell=True, capture_output=True, check=False)

    assert done.stderr == b""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there every file name is Unicode")
@pytest.mark.timeout(180)
def test_names_that_are_no_text_are_played_written_and_printed(tmp_path: Path) -> None:
    """They ended the command after the whole run; then, where the record notes what was typed, before it."""
    labels, run = os.fsencode(tmp_path) + b"/y\xff.csv", os.fsencode(tmp_path) + b"/r\xff"
    Path(os.fsdecode(labels)).write_text("label\n" + "a\nb\n" * 6)
    program = [os.fsencode(sys.executable), b"-m", b"labelinf_core"]
    narrow = {**os.environ, "PYTHONIOENCODING": "cp1252"}

    def said(*arguments: bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([*program, *arguments], env=narrow, capture_output=True, check=False, cwd=tmp_path)

    suite = tmp_path / "one.toml"
    suite.write_text('trials = 1\n[[matrix]]\nlabels = "made"\nattacks = ["majority"]\ndefences = ["none"]\n')
    played = said(b"matrix", b"one.toml", b"--labels", labels, b"--workers", b"0", b"--out", run)
    forms = [said(b"report", run, b"--format", form) for form in (b"table", b"json")]
    seen = subprocess.run(
        [b"sh", b"-c", b'"$@" | head -n 1', b"sh", *program, b"report", run], capture_output=True, check=False
    )

    for done in (played, *forms):
        assert done.returncode == 0, done.stderr
        assert b"y\\udcff.csv" in done.stdout
    assert seen.stdout.startswith(b"score channel, y")
    assert b"ended" not in seen.stderr
    assert b"Traceback" not in seen.stderr


@pytest.mark.long
def test_a_hook_that_fails_is_named_and_stops_no_command(
    install_fake: InstallFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "from labelinf_core import hookimpl\nlabelinf_contract = 2\n@hookimpl\n"
        "def labelinf_statements():\n    raise SystemExit('no more')\n"
    )
    site = install_fake("labelinf-rude", entry="rude", module="rude_plugin", source=source)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))

    done = subprocess.run(
        [sys.executable, "-m", "labelinf_core", "theorems"], capture_output=True, check=False, text=True
    )

    assert done.returncode == 0
    assert "S16" in done.stdout
    assert done.stderr == (
        "labelinf: plugin 'rude' of labelinf-rude 1.0: labelinf_statements raised SystemExit in "
        "rude_plugin, line 5; what it offers there is left out\n"
    )

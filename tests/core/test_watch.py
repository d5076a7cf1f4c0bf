"""What a plugin forks or asks for ends where it began: no copy goes on with our work, no memory without end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.worker import memory_limit

FORKS = """
import os
from labelinf_core.plugin.worker import watch
with watch.over("a plugin"):
    child = os.fork()
if child:
    os.waitpid(child, 0)
print("once")
"""
ASKS = """
from labelinf_core.plugin.worker import limit_memory
limit_memory(1)
try:
    bytearray(2**29)
except MemoryError:
    print("no more")
"""


def said(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_copy_that_a_plugin_forks_does_not_go_on_with_our_work() -> None:
    """It used to wake up after the run and print a second report."""
    assert said("-c", FORKS).stdout == "once\n"


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is of Linux")
def test_memory_is_limited_to_what_the_user_says() -> None:
    assert said("-c", ASKS, LABELINF_MEMORY="0.3").stdout == "no more\n"
    assert said("-c", ASKS, LABELINF_MEMORY="2").stdout == ""


@pytest.mark.parametrize("written", ["much", "0", "-1", "nan", "inf", "0.1"])
def test_a_limit_that_is_no_number_of_gigabytes_is_the_users_mistake(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABELINF_MEMORY", written)

    with pytest.raises(InputError, match=f"LABELINF_MEMORY='{written}' must be a number of gigabytes, at least 0.25"):
        memory_limit(1)


@pytest.mark.long
def test_the_command_line_tells_it_in_one_sentence() -> None:
    told = said("-m", "labelinf_core", "theorems", LABELINF_MEMORY="lots")

    assert (told.returncode, told.stderr) == (
        2,
        "labelinf: LABELINF_MEMORY='lots' must be a number of gigabytes, at least 0.25.\n",
    )


@pytest.mark.long
def test_a_fault_of_our_own_is_shown_without_its_text() -> None:
    """The text of an exception may quote a label; where it was raised cannot."""
    code = "from labelinf_core.cli import _status\ndef command(): raise KeyError('SECRET'[:6].lower())\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}raise SystemExit(_status(command))"], capture_output=True, text=True
    )

    assert done.returncode == 4
    assert "in command" in done.stderr
    assert "KeyError, whose text is left out" in done.stderr
    assert "secret" not in done.stderr

"""Whatever is asked apart leaves this process as it was, and what arrives is plain data."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from labelinf_core.contracts.errors import ComponentError, InputError
from labelinf_core.plugin.apart import apart
from labelinf_core.plugin.watch import watch

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


class Stranger:
    """Of no type that is known here."""


def raising(error: BaseException) -> None:
    raise error


def leaves_a_child() -> int:
    if not os.fork():
        time.sleep(300)
    return 5


def goes_on_as_two() -> int:
    os.fork()
    return 5


def patches() -> int:
    np.mean = np.sum = lambda *arrays: 0.25  # type: ignore[assignment]
    return 5


@pytest.fixture(autouse=True)
def _nothing_lost() -> Iterator[None]:
    before = dict(watch.lost)
    yield
    watch.lost.clear()
    watch.lost.update(before)


@pytest.mark.parametrize(
    ("way", "told"),
    [
        (lambda: os._exit(3), "thing: its process ended with exit code 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "thing: its process was killed by SIGKILL"),
        (lambda: os.closerange(3, 64), "thing: its process ended with exit code 0"),
        (lambda: Stranger(), "is no plain data"),
        (lambda: {"deep": [Stranger]}, "is no plain data"),
        (lambda: raising(ValueError("the labels are 0110")), "thing raised ValueError in "),
        (lambda: raising(InputError("the labels are 0110")), "thing raised InputError in "),
        (lambda: sys.exit("0110"), "thing raised SystemExit in "),
        (lambda: raising(KeyboardInterrupt()), "thing raised KeyboardInterrupt in "),
    ],
)
def test_whatever_goes_wrong_apart_is_one_sentence(way: Callable[[], object], told: str) -> None:
    with pytest.raises(ComponentError) as caught:
        apart("thing", way)

    assert told in str(caught.value)
    assert "0110" not in str(caught.value)


@pytest.mark.parametrize("way", [leaves_a_child, goes_on_as_two, patches])
def test_what_is_left_behind_does_not_reach_this_process(way: Callable[[], int]) -> None:
    start = time.monotonic()

    assert apart("thing", way) == 5

    assert np.mean([1, 3]) == 2
    assert time.monotonic() - start < 60


def test_a_hang_ends_in_time_and_is_not_waited_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "patience", 0.2)

    for _ in range(2):
        with pytest.raises(ComponentError, match=r"^thing: no answer within 0.2 s$"):
            apart("thing", lambda: time.sleep(600))
        monkeypatch.setattr(watch, "patience", 600.0)


def test_a_large_answer_arrives_whole() -> None:
    assert np.array_equal(apart("thing", lambda: np.arange(10**6)), np.arange(10**6))

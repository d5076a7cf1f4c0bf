"""The host's own scorer, in a child process: with limits of time, memory and output, and with nothing of it told.

The child is started, and has imported all it needs, before the submission is numbered: neither its limit of time nor
the beat is spent on that. It gets labels and rows through a pipe, and writes one number to another. What it prints,
raises or returns instead is seen by nobody: a submission that cannot be scored is one more answer of the board, the
same for every reason.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import select
import signal
import subprocess
import sys
import threading
import weakref
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_guard.metrics import GuardMetric, UnscorableError

__all__ = ["OwnMetric"]

_CHILD = """
import importlib, inspect, io, os, resource, sys
import numpy as np
memory, seconds, function = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
given, answers = os.dup(0), os.dup(1)
null = os.open(os.devnull, os.O_RDWR)
for handle in (0, 1, 2):
    os.dup2(null, handle)
sys.path.insert(0, os.getcwd())
module, name = function.split(":")
score = getattr(importlib.import_module(module), name)
spent = resource.getrusage(resource.RUSAGE_SELF)
limit = int(spent.ru_utime + spent.ru_stime) + 1 + seconds
resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
os.write(answers, b"r")
with open(given, "rb") as file:
    data = np.load(io.BytesIO(file.read()), allow_pickle=False)
told = {"places": data["places"]} if "places" in inspect.signature(score).parameters else {}
os.write(answers, float(score(data["labels"], data["rows"], **told)).hex().encode())
"""
_STARTED = 120.0  # seconds that a child has until it has imported what it runs


def _ended(child: subprocess.Popen[bytes]) -> None:
    """End a child and all that it started: it has a session of its own."""
    if child.returncode is None:  # it holds its number as long as nobody has waited for it
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    for pipe in filter(None, (child.stdin, child.stdout)):
        with contextlib.suppress(OSError):
            pipe.close()


@attrs.frozen(kw_only=True)
class OwnMetric(GuardMetric):
    """A function of the host's, ``function(labels, rows)``, as a metric.

    One with a parameter ``places`` is told besides which rows they are: their numbers among the sorted ids.

    Attributes:
        function: ``module:function``.
        classes_predicted: Whether rows are classes.
        minimise: Whether smaller is better.
        low: Of all scores; what is below counts as this.
        high: Of all scores; what is above counts as this.
        seconds: It may take.
        memory: It may use, in bytes.
        folder: Where it is looked for.
        values: What the classes stand for, where it is called with that; empty: with classes.
    """

    function: str
    classes_predicted: bool
    minimise: bool
    low: Fraction
    high: Fraction
    seconds: float
    memory: int
    folder: str
    values: tuple[Fraction, ...] = ()
    _most: ClassVar[int] = 100
    _waiting: threading.local = attrs.field(factory=threading.local, init=False, eq=False, repr=False)

    def score(
        self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int, places: NDArray[np.intp] | None = None
    ) -> Fraction:
        """Run it; ``places`` are those of the rows, all of them where it is None.

        Raises:
            UnscorableError: It raised, took too long, or returned no finite number.
        """
        known = np.array([float(value) for value in self.values])[labels] if self.values else labels
        value = self.returned(known, rows, places)
        if not math.isfinite(value):
            raise UnscorableError
        return min(self.high, max(self.low, Fraction(value)))

    def returned(self, labels: NDArray[Any], rows: NDArray[Any], places: NDArray[np.intp] | None = None) -> float:
        """Return what the function returns for labels, or the values they stand for.

        Raises:
            UnscorableError: It raised, took too long, or returned no number.
        """
        given = io.BytesIO()
        np.savez(given, labels=labels, rows=rows, places=np.arange(labels.size) if places is None else places)
        try:
            child = self._taken() or self._started()
            try:
                answer, _ = child.communicate(given.getvalue(), timeout=self.seconds)
            finally:
                _ended(child)
            value = float.fromhex(answer[: self._most].decode("ascii"))
        except (InputError, subprocess.TimeoutExpired, OSError, ValueError, OverflowError):
            raise UnscorableError from None
        if child.returncode:
            raise UnscorableError
        return value

    def ready(self) -> None:
        """Start the child that runs the next score of this thread: what it imports takes none of the score's time.

        Raises:
            InputError: It cannot be started.
        """
        child = self._taken() or self._started()
        self._waiting.end = weakref.finalize(self._waiting, _ended, child)

    def _taken(self) -> subprocess.Popen[bytes] | None:
        """Return the child that waits in this thread, which no longer does; None where none is alive."""
        end = self._waiting.__dict__.pop("end", None)
        held = end.detach() if end else None
        child: subprocess.Popen[bytes] | None = held[2][0] if held else None
        if child is not None and child.poll() is not None:
            _ended(child)
            return None
        return child

    def _started(self) -> subprocess.Popen[bytes]:
        """Return a child that has imported the function, and waits for labels and rows.

        Raises:
            InputError: It cannot be imported.
        """
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(self.memory), str(math.ceil(self.seconds)), self.function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        assert child.stdout is not None
        handle = child.stdout.fileno()
        try:
            if select.select([handle], [], [], _STARTED)[0] and os.read(handle, 1) == b"r":
                return child
        except BaseException:
            _ended(child)
            raise
        _ended(child)
        raise InputError(
            f"{self.function} cannot be imported from {self.folder or 'this folder'} within [limits] memory and "
            f"{_STARTED:.0f} seconds: nothing was scored."
        )

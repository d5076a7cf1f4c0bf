"""The host's own scorer, in a child process: with limits of time, memory and output, and with nothing of it told.

The child gets labels and rows through a pipe, and writes one number to another. What it prints, raises or returns
instead is seen by nobody: a submission that cannot be scored is one more answer of the board, the same for every
reason.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_guard.metrics import UnscorableError

__all__ = ["Own"]

_CHILD = """
import importlib, io, os, resource, sys
import numpy as np
memory, seconds, function = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
data = np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)
answers = os.dup(1)
null = os.open(os.devnull, os.O_RDWR)
for handle in (0, 1, 2):
    os.dup2(null, handle)
sys.path.insert(0, os.getcwd())
module, name = function.split(":")
score = float(getattr(importlib.import_module(module), name)(data["labels"], data["rows"]))
os.write(answers, score.hex().encode())
"""


@contextlib.contextmanager
def _alone(command: list[str], folder: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a child in a session of its own, which ends with it: nothing that it started outlives the score."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    try:
        yield child
    finally:
        if child.returncode is None:  # it holds its number as long as nobody has waited for it
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        for pipe in filter(None, (child.stdin, child.stdout)):
            with contextlib.suppress(OSError):
                pipe.close()


@attrs.frozen(kw_only=True)
class Own:
    """A function of the host's, ``function(labels, rows)``, as a metric.

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

    def score(self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int) -> Fraction:
        """Run it.

        Raises:
            UnscorableError: It raised, took too long, or returned no finite number.
        """
        given = io.BytesIO()
        known = np.array([float(value) for value in self.values])[labels] if self.values else labels
        np.savez(given, labels=known, rows=rows)
        command = [sys.executable, "-c", _CHILD, str(self.memory), str(math.ceil(self.seconds)), self.function]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        try:
            with _alone(command, self.folder, environment) as child:
                answer, _ = child.communicate(given.getvalue(), timeout=self.seconds)
            value = float.fromhex(answer[: self._most].decode("ascii"))
        except (subprocess.TimeoutExpired, OSError, ValueError, OverflowError):
            raise UnscorableError from None
        if child.returncode or not math.isfinite(value):
            raise UnscorableError
        return min(self.high, max(self.low, Fraction(value)))

    def move(self, n: int, n_classes: int) -> None:
        """Nothing is known of it."""
        return None

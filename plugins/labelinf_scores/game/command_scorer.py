"""A scorer in any language: a program that reads and writes JSON lines.

The program is started once. For every query it reads one line and must answer with one line::

    {"labels": [0, 1, 1], "predictions": [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]}
    {"score": 0.34}
"""

from __future__ import annotations

import atexit
import functools
import json
import math
import os
import shlex
import subprocess
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.worker import Aside
from labelinf_scores.game.scoring import Query, ScorerFacts

__all__ = ["CommandScorer"]


@attrs.frozen(kw_only=True)
class CommandScorer:
    """A program that scores JSON lines.

    Attributes:
        command: The command line, split as a shell splits words; no shell is started.
        facts: What is public about it.
    """

    command: str
    facts: ScorerFacts
    _aside: Aside = attrs.field(init=False, repr=False, eq=False)

    @_aside.default
    def _asked_aside(self) -> Aside:
        return Aside(name=f"scorer cmd:{self.command}", function=functools.partial(_answer, self.command))

    def score(self, labels: NDArray[np.intp], query: Query) -> Any:
        """Return the program's answer.

        Raises:
            InputError: It cannot be started, has ended, or answers something else than one finite number.
            ComponentError: It hung before.
        """
        predictions = np.asarray(query.predictions)
        predictions = predictions if predictions.dtype.kind == "U" else predictions.astype(np.float64)
        request = {"labels": labels.tolist(), "predictions": predictions.tolist()}
        line = self._aside(json.dumps(request))
        try:
            value = float(json.loads(line)["score"])
        except (ValueError, KeyError, TypeError) as error:
            said = f"answered a line of {len(line)} characters" if line else "has ended"
            raise InputError(
                f"scorer 'cmd:{self.command}' {said}; it must answer every line with one such as {{\"score\": 0.69}}."
            ) from error
        if not math.isfinite(value):
            raise InputError(f"scorer 'cmd:{self.command}' answered a number that is not finite.")
        return value


@functools.cache
def _process(command: str, _asker: int) -> subprocess.Popen[str]:
    """Start a program, one for every copy of this process: of a shared one, somebody would read another's answers."""
    try:
        process = subprocess.Popen(
            shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
    except (OSError, ValueError) as error:
        raise InputError(f"scorer 'cmd:{command}' cannot be started ({type(error).__name__}).") from error
    atexit.register(process.kill)
    return process


def _answer(command: str, request: str) -> str:
    """Send one line and return the answer; nothing when the program has ended, which is started again for the next."""
    process = _process(command, os.getpid())
    try:
        print(request, file=process.stdin, flush=True)
        line = process.stdout.readline() if process.stdout else ""
    except OSError:
        line = ""
    if not line:
        process.kill()
        _process.cache_clear()
    return line

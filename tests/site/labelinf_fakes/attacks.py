"""Attacks that work, lie, raise, hang and die."""

from __future__ import annotations

import os
import signal
import time

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.guarantees import Promise
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle


def _promise(survives: float) -> Promise:
    return Promise(survives=survives, present=0.0, statement="labelinf tests, the reader", conditions="no noise")


@attrs.frozen(kw_only=True)
class Reader(ScoreAttack):
    """Asks about one record at a time.

    Attributes:
        confidence: Predicted probability of class 1 for the record asked about.
        pause: Seconds to wait before answering.
    """

    confidence: float = 0.75
    pause: float = 0.0

    def promise(self, threat: ThreatModel) -> Promise | None:
        return _promise(0.25 / threat.n_records) if getattr(threat, "noise_std", 0.0) == 0 else None

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        time.sleep(self.pause)
        blank = np.full(oracle.threat.n_records, 0.5)
        base = oracle.query(blank)
        labels = np.empty(len(blank), dtype=np.intp)
        for row in range(len(blank)):
            asked = blank.copy()
            asked[row] = self.confidence
            labels[row] = int(oracle.query(asked) < base)
        return Guess(labels=labels, evidence={"labels per query": 1, "margin": np.float64(0.5)})


@attrs.frozen(kw_only=True)
class Constant(ScoreAttack):
    """Guesses the majority class."""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=np.full(oracle.threat.n_records, oracle.threat.majority))


@attrs.frozen(kw_only=True)
class Says(Constant):
    """Guesses the majority class, and has a word to say.

    Attributes:
        words: Anything.
    """

    words: str = "a + b"


@attrs.frozen(kw_only=True)
class Coin(ScoreAttack):
    """Guesses at random; fails in a share of the trials, decided by its own randomness.

    Attributes:
        fails: Share of the trials that raise.
    """

    fails: float = 0.0

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        if rng.random() < self.fails:
            raise RuntimeError("the coin fell on its edge")
        return Guess(labels=rng.integers(0, oracle.threat.n_classes, oracle.threat.n_records))


@attrs.frozen(kw_only=True)
class Raises(ScoreAttack):
    """Raises."""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        raise ZeroDivisionError("this attack divides by zero")


@attrs.frozen(kw_only=True)
class Hangs(ScoreAttack):
    """Never ends."""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        time.sleep(3600)
        raise AssertionError("it was not stopped")


@attrs.frozen(kw_only=True)
class Dies(ScoreAttack):
    """Kills its own process."""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("it was not stopped")


@attrs.frozen(kw_only=True)
class Picky(ScoreAttack):
    """Declines every threat model."""

    def unsupported_reason(self, threat: ThreatModel) -> str:
        return "needs a full moon"

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        raise AssertionError("a refused attack was played")


@attrs.frozen(kw_only=True)
class Liar(Constant):
    """Promises every label and guesses the majority."""

    def promise(self, threat: ThreatModel) -> Promise | None:
        return _promise(1.0)

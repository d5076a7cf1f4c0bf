"""Where randomness comes from: 64-bit words, of the operating system when deployed, of a seed when evaluated.

A **deployed** defence draws from :class:`SystemWords`: nobody can predict what is drawn, nor draw it again. An
**evaluated** one draws from :class:`SeededWords`: the same seed gives the same game, which is what an experiment needs
and what a deployment must not have, as NumPy's generators can be continued by whoever has seen enough of their words.

Example:
    >>> from labelinf_privacy.words import SeededWords, SystemWords
    >>> source = SeededWords(np.random.default_rng(1))
    >>> source.words(2).dtype, len(SystemWords().words(3))
    (dtype('uint64'), 3)
"""

from __future__ import annotations

import os
from typing import Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["SeededWords", "SystemWords", "Words"]


class Words(Protocol):
    """A source of independent, uniform 64-bit words."""

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return the next ``n`` words, shape ``(n,)``."""


@attrs.frozen
class SystemWords:
    """Words of the operating system's generator: for what is deployed."""

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return ``n`` words that nobody can draw again."""
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


@attrs.frozen(eq=False)
class SeededWords:
    """Words of a seeded generator: for what is evaluated, and never for what is deployed.

    Attributes:
        rng: The generator; every word is one raw draw of its bits.
    """

    rng: np.random.Generator

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return the generator's next ``n`` words."""
        return np.frombuffer(self.rng.bytes(8 * n), dtype=np.uint64)

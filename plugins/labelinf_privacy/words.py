"""Where randomness comes from: 64-bit words, of the operating system when deployed, of a seed when evaluated.

Whoever must draw the same again for the same question, and nothing that others could draw, uses :class:`KeyedWords`:
a secret key makes words of a message.

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

import hashlib
import os
from typing import Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["KeyedWords", "SeededWords", "SystemWords", "Words"]

_BLOCK = 8  # words of one digest


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


@attrs.define(eq=False)
class KeyedWords:
    """Words of a keyed hash of a message and a counter (BLAKE2b, RFC 7693, which is a pseudo-random function).

    No number of words of other messages tells anything of these, which cannot be said of a generator that is seeded
    anew for every message: how NumPy's mixes seeds is no cryptography.

    Attributes:
        key: Secret, 32 bytes.
        message: What the words belong to.

    Example:
        >>> from labelinf_privacy.words import KeyedWords
        >>> bool((KeyedWords(b"k" * 32, b"m").words(3) == KeyedWords(b"k" * 32, b"m").words(3)).all())
        True
    """

    key: bytes = attrs.field(repr=False)
    message: bytes
    _used: int = attrs.field(default=0, init=False)

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return the next ``n`` words; what a digest has too many of is lost."""
        root = hashlib.blake2b(self.message, key=self.key).digest()
        first, self._used = self._used, self._used + -(-n // _BLOCK)
        digests = (hashlib.blake2b(root + i.to_bytes(8), key=self.key).digest() for i in range(first, self._used))
        return np.frombuffer(b"".join(digests), dtype=np.uint64)[:n]

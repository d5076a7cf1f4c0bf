"""An attack that an audit asks: a stranger's in copies of this process, so that it has no hand in anybody's figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.survey import strange
from labelinf_core.plugin.apart import apart
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_outputs.game.output import OutputAttack

__all__ = ["Asked"]

T = TypeVar("T")

_LONGER = 480.0  # seconds that a game may take beyond those of any part of a plugin


@attrs.frozen(kw_only=True)
class Asked:
    """An attack that questions are put to.

    Attributes:
        make: Builds it.
        apart: What it is called where it is built and asked in a copy of this process; empty: here.
    """

    make: Callable[[], OutputAttack]
    apart: str = ""

    @classmethod
    def of(cls, builder: Builder, spec: str) -> Asked:
        """Look it up.

        Raises:
            InputError: There is no such attack of this channel.
        """
        if strange(builder.host, spec):
            return cls(make=lambda: _built(builder, spec), apart=f"attack {spec}")
        return cls.here(_built(builder, spec))

    @classmethod
    def here(cls, attack: OutputAttack) -> Asked:
        """Ask an attack in this process."""
        return cls(make=lambda: attack)

    def __call__(self, question: Callable[[OutputAttack], T]) -> T:
        """Return what ``question`` finds out; plain data, as it may come from another process.

        Raises:
            PluginError: It took its process along, or did not answer in time.
        """
        if not self.apart:
            return question(self.make())
        return apart(self.apart, lambda: question(self.make()), beyond=_LONGER, once=False)


def _built(builder: Builder, spec: str) -> OutputAttack:
    attack = builder.build(Kind.ATTACK, spec, "--attack")
    if not isinstance(attack, OutputAttack):
        raise InputError(f"attack {spec!r} does not belong to the output channel.")
    return attack

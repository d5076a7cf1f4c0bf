"""An attack that an audit asks: a stranger's in copies of this process, so that it has no hand in anybody's figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import attrs

from labelinf_core.contracts.errors import InputError, PluginError
from labelinf_core.evaluator.survey import strange
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.worker import apart
from labelinf_core.specs import Builder
from labelinf_outputs.game.output import OutputAttack

__all__ = ["AttackHandle"]

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class AttackHandle:
    """An attack that questions are put to.

    Attributes:
        make: Builds it.
        apart: What it is called where it is built and asked in a copy of this process; empty: here.
        timeout: Seconds that one question may take there.
    """

    make: Callable[[], OutputAttack]
    apart: str = ""
    timeout: float = 600.0
    _lost: list[PluginError] = attrs.field(factory=list, init=False, eq=False)

    @classmethod
    def of(cls, builder: Builder, spec: str, timeout: float) -> AttackHandle:
        """Look it up.

        Args:
            builder: Builds it.
            spec: As it is written.
            timeout: Seconds that one question may take, where it does not come with labelinf.

        Raises:
            InputError: There is no such attack of this channel.
        """
        if strange(builder.host, spec):
            return cls(make=lambda: _built(builder, spec), apart=f"attack {spec}", timeout=timeout)
        return cls.here(_built(builder, spec))

    @classmethod
    def here(cls, attack: OutputAttack) -> AttackHandle:
        """Ask an attack in this process."""
        return cls(make=lambda: attack)

    def __call__(self, question: Callable[[OutputAttack], T]) -> T:
        """Return what ``question`` finds out; plain data, as it may come from another process.

        Raises:
            PluginError: It took its process along, or did not answer in time.
        """
        if not self.apart:
            return question(self.make())
        if self._lost:  # nobody waits for it twice
            raise self._lost[0]
        try:
            return apart(self.apart, lambda: question(self.make()), patience=self.timeout, once=False)
        except PluginError as error:
            self._lost.append(error)
            raise


def _built(builder: Builder, spec: str) -> OutputAttack:
    attack = builder.build(Kind.ATTACK, spec, "--attack")
    if not isinstance(attack, OutputAttack):
        raise InputError(f"attack {spec!r} does not belong to the output channel.")
    return attack

"""What every component of the score channel is held to, beside what holds for all components of its kind."""

import importlib
from collections.abc import Iterator, Mapping, Sequence

from labelinf_core.contracts.components import Rule
from labelinf_core.plugin.descriptors import Kind

__all__ = ["RULES"]

_KINDS = (Kind.ATTACK, Kind.DEFENCE, Kind.LOSS, Kind.METRIC, Kind.BOUND)


class _Rules(Mapping[Kind, Sequence[Rule]]):
    """The rules of a kind, imported when asked for: to set up the games of attacks takes seconds."""

    def __getitem__(self, kind: Kind) -> Sequence[Rule]:
        if kind not in _KINDS:
            raise KeyError(kind)
        rules: Sequence[Rule] = importlib.import_module(f"{__name__}.{kind.plural}").RULES
        return rules

    def __iter__(self) -> Iterator[Kind]:
        return iter(_KINDS)

    def __len__(self) -> int:
        return len(_KINDS)


RULES: Mapping[Kind, Sequence[Rule]] = _Rules()  #: by kind of component

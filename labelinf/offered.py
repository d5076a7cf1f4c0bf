"""Names of components for whoever completes with the tab key: ``li.names.metric.roc_auc`` is the text ``"roc-auc"``."""

from __future__ import annotations

import attrs

from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host

__all__ = ["KindNames", "Names", "names"]


@attrs.frozen
class KindNames:
    """The names of one kind of components that are installed, with underscores for hyphens.

    Attributes:
        kind: Which.
    """

    kind: Kind

    def __dir__(self) -> list[str]:
        return sorted(_known(self.kind))

    def __getattr__(self, name: str) -> str:
        if name.startswith("_") or name not in (known := _known(self.kind)):
            raise AttributeError(f"no {self.kind.value} is called {name!r}")
        return known[name]


class Names:
    """The kinds of components.

    >>> import labelinf as li
    >>> li.names.metric.roc_auc, "prime_blocks" in dir(li.names.attack)
    ('roc-auc', True)

    Raises:
        AttributeError: There is no such kind, or none of it has such a name.
    """

    def __dir__(self) -> list[str]:
        return sorted(kind.value for kind in Kind)

    def __getattr__(self, name: str) -> KindNames:
        if name not in dir(self):
            raise AttributeError(f"no kind of component is called {name!r}; there are {', '.join(dir(self))}")
        return KindNames(Kind(name))


def _known(kind: Kind) -> dict[str, str]:
    found = (item.descriptor.name for item in Host.load().catalogue(kind))
    return {name.replace("-", "_"): name for name in found}


names = Names()

"""Published tables that a plugin computes again: what ``labelinf reproduce`` lists and runs.

A plugin yields light :class:`Reproduction` objects from its hook ``labelinf_reproductions``; the function behind one is
imported when it is asked for and returns a :class:`Reproduced`. It takes nothing, or the keyword ``full``, where what
the paper played is too dear to be played every time.
"""

from __future__ import annotations

import importlib
from typing import Any

import attrs

from labelinf_core.contracts.errors import PluginError
from labelinf_core.contracts.pictures import Picture
from labelinf_core.plugin.comparisons import Compared
from labelinf_core.plugin.descriptors import Reference

__all__ = ["Absent", "Remark", "Reproduced", "Reproduction", "Table"]


@attrs.frozen(kw_only=True)
class Table:
    """One table.

    Attributes:
        title: What it shows.
        columns: Names of the columns.
        rows: Numbers and words, one tuple per row.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@attrs.frozen(kw_only=True)
class Remark:
    """One sentence with the number behind it.

    Attributes:
        says: The sentence.
        value: The number.
    """

    says: str
    value: Any


@attrs.frozen(kw_only=True)
class Absent:
    """What cannot be had here.

    Attributes:
        item: What is missing.
        loader: What would read it, and from where.
    """

    item: str
    loader: str


@attrs.frozen(kw_only=True)
class Reproduced:
    """What came of it.

    Attributes:
        title: One line.
        tables: In the order to be shown.
        remarks: What the tables say.
        pictures: The same, drawn.
        compared: What the paper says beside it.
        absent: What cannot be had here.
    """

    title: str
    tables: tuple[Table, ...]
    remarks: tuple[Remark, ...] = ()
    pictures: tuple[Picture, ...] = ()
    compared: tuple[Compared, ...] = ()
    absent: tuple[Absent, ...] = ()


@attrs.frozen(kw_only=True)
class Reproduction:
    """A published table that can be computed again.

    Attributes:
        name: How a user selects it.
        summary: One line.
        reference: Where it was published.
        target: ``module:function``.
    """

    name: str
    summary: str
    reference: Reference
    target: str

    def run(self, *, full: bool = False) -> Reproduced:
        """Compute it.

        Args:
            full: At the paper's own size, however long that takes.

        Raises:
            PluginError: The function cannot be imported or returns something else.
        """
        module, _, function = self.target.partition(":")
        try:
            compute = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError) as error:
            raise PluginError(f"reproduction {self.name!r} cannot be imported from {self.target!r}: {error}") from error
        result = compute(full=full) if "full" in (getattr(compute, "__kwdefaults__", None) or {}) else compute()
        if not isinstance(result, Reproduced):
            raise PluginError(f"reproduction {self.name!r} must return a Reproduced, got {type(result).__name__}.")
        return result

"""What the shell offers for a word: components, suites, tables, statements, a file's columns; installed by ``click``.

Plugins are read only when somebody presses the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from labelinf_core.plugin.host import Host

__all__ = ["column", "component", "named", "statements"]

Completed = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def component(kind: str, *, files: bool = False) -> Completed:
    """Offer the components of a kind, with what each does.

    Args:
        kind: Value of a :class:`~labelinf_core.plugin.descriptors.Kind`.
        files: Whether a file may stand there too.
    """

    def complete(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
        from labelinf_core.plugin.descriptors import Kind
        from labelinf_core.plugin.host import Host

        found = [
            CompletionItem(item.descriptor.name, help=item.descriptor.summary)
            for item in Host.load().catalogue(Kind(kind))
            if item.descriptor.name.startswith(word)
        ]
        return found or ([CompletionItem(word, type="file")] if files else [])

    return complete


def named(names: Callable[[Host], Iterable[tuple[str, str]]], *, files: bool = False) -> Completed:
    """Offer what ``names`` finds in the loaded plugins: pairs of a name and what it is."""

    def complete(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
        from labelinf_core.plugin.host import Host

        found = [CompletionItem(name, help=told) for name, told in names(Host.load()) if name.startswith(word)]
        return found or ([CompletionItem(word, type="file")] if files else [])

    return complete


def column(file: str) -> Completed:
    """Offer the columns of the file that another parameter names; after a comma the next.

    Args:
        file: Name of that parameter.
    """

    def complete(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
        from labelinf_core.contracts.errors import LabelinfError
        from labelinf_core.evaluator.game import columns_of
        from labelinf_core.plugin.host import Host

        before, comma, last = word.rpartition(",")
        path = context.params.get(file) or next(iter(context.args), "")  # an argument, not assigned before the end
        try:
            names = columns_of(Host.load(), str(path))
        except LabelinfError:
            names = ()
        return [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(last)]

    return complete


def statements(host: Host) -> Iterable[tuple[str, str]]:
    """Return the papers' statements by their keys."""
    return ((item.key, item.title) for item in host.statements())

"""What the shell offers for a word: names of components, suites, tables and statements; installed by ``click``.

Plugins are read only when somebody presses the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from labelinf_core.plugin.host import Host

__all__ = ["component", "named"]

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

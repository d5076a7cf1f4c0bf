"""The papers' statements: found by what people remember of them, and written down."""

from __future__ import annotations

from collections.abc import Sequence

from labelinf_core.contracts.errors import UnknownNameError
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.lookup import found, remembered
from labelinf_core.plugin.records import Registered
from labelinf_core.plugin.statements import Statement

__all__ = ["called_to_mind", "listing", "names", "shown"]


def names(text: str, statements: Sequence[Statement], components: Sequence[Registered]) -> bool:
    """Whether a text names what it calls to mind: one statement, their keys, or what is called so in every part."""
    keys = text.partition(":")[0].split(", ")
    by_key = bool(statements) and all(item.key in keys for item in statements)
    by_title = any(text.lower() in (item.title.lower(), item.erratum.lower()) for item in statements)
    if len(statements) == 1 or by_key or by_title:
        return True
    items: list[Statement | Registered] = [*statements, *components]
    known = [remembered(_named(item)) for item in items]
    parts = [remembered(part) for part in text.split(";")]
    pointed = any(len(part) > 1 or any(token[-1].isdigit() for token in part) for part in parts)
    return pointed and all(any(part <= name for name in known) for part in parts)


def called_to_mind(host: Host, text: str) -> tuple[tuple[Statement, ...], tuple[Registered, ...]]:
    """Return the statements that a text means, and the components that refer to what it means.

    Raises:
        UnknownNameError: Nothing is called so.
    """
    statements = host.statements()
    if exact := tuple(item for item in statements if text.lower() in (item.key.lower(), item.erratum.lower())):
        return exact, ()
    keys = [key.strip() for key in text.partition(":")[0].split(",")]  # as in "M5, M8: labelinf theory, ..."
    if ":" in text and {item.key for item in statements} >= set(keys):
        return tuple(item for item in statements if item.key in keys), ()
    pool: list[Statement | Registered] = [*statements, *host.catalogue()]
    best = found(text, pool, named=_named, said=_said)
    if not best:
        families = ", ".join(dict.fromkeys(f"{item.key[0]}…" for item in statements))
        raise UnknownNameError(
            f"no statement is called {text!r}. Keys read {families} and a number; labelinf theorems lists all "
            f"{len(statements)}.{host.left_out}"
        )
    return (
        tuple(item for item in best if isinstance(item, Statement)),
        tuple(item for item in best if isinstance(item, Registered)),
    )


def _named(item: Statement | Registered) -> str:
    return f"{item.key} {item.title} {item.erratum}" if isinstance(item, Statement) else _origin(item)


def _said(item: Statement | Registered) -> str:
    if isinstance(item, Statement):
        return f"{item.says} {item.repaired}"
    return f"{item.descriptor.name} {item.descriptor.summary}"


def _origin(item: Registered) -> str:
    return str(item.descriptor.reference)


def listing(statements: tuple[Statement, ...]) -> str:
    """Return all of some statements, a line each, and how many of them are true."""
    counts = ", ".join(
        f"{sum(item.status.value == status for item in statements)} {status}"
        for status in dict.fromkeys(item.status.value for item in statements)
    )
    return "\n".join(
        [*_rows(statements), "", f"{len(statements)} statements: {counts}. labelinf theorems S16 shows one whole."]
    )


def shown(statements: tuple[Statement, ...], components: tuple[Registered, ...]) -> list[str]:
    """Return what was found: one statement whole, several in a line each, and the components that refer to it."""
    told = [_whole(statements[0])] if len(statements) == 1 else _rows(statements)
    return [*told, *(f"{'component':16}{item.descriptor}: {_origin(item)}" for item in components)]


def _rows(statements: tuple[Statement, ...]) -> list[str]:
    width = max((len(item.title) for item in statements), default=0)
    return [f"{item.key:4} {item.status.value:17} {item.title:{width}}  {item.erratum}".rstrip() for item in statements]


def _whole(item: Statement) -> str:
    title = f"{item.title}: {item.says}" + (f" [{item.erratum}]" if item.erratum else "")
    rows = [
        ("counterexample", item.counterexample),
        ("repaired", item.repaired),
        ("worked", item.worked),
        *(("code", code) for code in item.code),
        *(("test", test) for test in item.tests),
    ]
    lines = [f"{label:16}{text}" for label, text in rows if text]
    return "\n".join([f"{item.key}  {item.status.value.upper()}", title, *lines])

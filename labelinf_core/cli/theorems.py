"""``labelinf theorems``: every published statement, whether it is true, its code and its test."""

from __future__ import annotations

import click

from labelinf_core.cli.completion import named, statements
from labelinf_core.cli.options import block_option, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.contracts.errors import UnknownNameError
from labelinf_core.report.statements import called_to_mind, listing, names, shown

__all__ = ["theorems"]

_NEAR = 8  # names in a message


@click.command()
@click.argument("words", nargs=-1, metavar="[show] [WORDS]...", shell_complete=named(statements))
@output_options
@block_option
def theorems(words: tuple[str, ...], as_json: bool, blocks: tuple[str, ...]) -> None:
    """List the papers' statements: what they say, whether they hold, their code and test.

    WORDS find one by its key (S16), its erratum (I-9), what people remember ("ICML Theorem 3") or a reference that a
    report prints; what is found is shown whole, with its worked number and its counterexample. After 'show' they must
    name what is found: words that several only mention end with status 2, and those are named.
    """
    host = load_host(blocks)
    text = " ".join(words[1:] if words[:1] == ("show",) else words)
    statements, components = called_to_mind(host, text) if text else (host.statements(), ())
    if words[:1] == ("show",) and text and not names(text, statements, components):
        near = [item.key for item in statements] + [f"{item.descriptor}" for item in components]
        raise UnknownNameError(
            f"no statement is called {text!r}; near: {', '.join(near[:_NEAR])}. labelinf theorems {text} lists "
            f"what mentions it."
        )
    if not text:
        tell(statements, [listing(statements)], as_json=as_json)
        return
    tell(statements, shown(statements, components), as_json=as_json)

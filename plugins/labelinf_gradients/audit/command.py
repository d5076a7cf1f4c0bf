"""``labelinf audit client``: the user's own client code, or updates that were saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.options import Share, block_option, labels_options, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.report.progress import waiting

if TYPE_CHECKING:
    from labelinf_gradients.audit.client import ClientAudit
    from labelinf_gradients.audit.saved import Saved

__all__ = ["client"]


@click.command(epilog="Without --labels it is tried on scikit-learn's digits.")
@click.argument("client", metavar="MODULE:FUNCTION|UPDATES.npz|UPDATES.safetensors")
@click.option("--model", required=True, metavar="MODULE:FUNCTION", help="Makes the module: f(n_inputs, n_classes).")
@labels_options
@click.option("--samples", type=click.IntRange(min=1), default=64, show_default=True, help="Labels to attack.")
@click.option("--batch", type=click.IntRange(min=1), default=1, show_default=True, help="Records behind an update.")
@click.option(
    "--clients", type=click.IntRange(min=1), default=1, show_default=True, help="Summed before anybody sees it."
)
@click.option("--own", type=click.IntRange(min=4), default=300, show_default=True, help="The adversary's own records.")
@click.option(
    "--gain",
    type=Share(min=0, min_open=True, max=1),
    default=0.1,
    show_default=True,
    help="What a proved change may leave any attack beyond the blind guess.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@output_options
@block_option
@click.pass_context
def client(
    context: click.Context,
    /,
    client: str,
    model: str,
    labels: str | None,
    column: str,
    as_json: bool,
    blocks: tuple[str, ...],
    **amounts: Any,
) -> None:
    """Attack what your federated-learning client sends, called as FUNCTION(module, records, labels).

    It returns its update: a gradient, a change of the parameters, or the trained module; by name, or in the order of
    the parameters. A file holds an array for every parameter, one update of one record along its first axis (of a
    language model, of any texts), or one adapter of peft.

    Exits with status 1 when labels come out, 4 when an attack failed and none got anything, and 3 otherwise: code of
    your own is attacked and never certified. What its li.shield allows any attack is printed with the conditions.
    """
    from labelinf_core.specs import Builder
    from labelinf_gradients.audit.asked import ClientQuestion, audited, records_of

    builder = Builder(load_host(blocks))
    data = records_of(builder, labels or "", column, "--labels")
    asked = ClientQuestion(client=client, model=model, data=data, builder=builder, **amounts)
    with waiting("auditing"):
        found = audited(asked)
    tell(_document(found), _shown(found), as_json=as_json)
    context.exit(found.status)


def _shown(found: ClientAudit | Saved) -> list[str]:
    """Return the answer, then what else there is to say."""
    from labelinf_core.report.console import make_console
    from labelinf_gradients.audit.words import answer, lines

    return [*answer(found).lines(make_console().width), "", *lines(found)]


def _document(found: ClientAudit | Saved) -> dict[str, Any]:
    import attrs

    known = {"contradicted": found.contradicted} if hasattr(found, "contradicted") else {}
    return {**known, **attrs.asdict(found), "leaks": found.leaks}

"""``labelinf metrics``: what a board that publishes a metric gives away with every answer, and through which noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from labelinf_core.cli.completion import component
from labelinf_core.cli.options import Share, block_option, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.report.progress import steps
from labelinf_scores.audit.boards import BoardRow

__all__ = ["metrics"]


@click.command(
    epilog="Labels a query are a plan's, or an estimate, which may be too high; rounding by itself stops none."
)
@click.option("--records", type=click.IntRange(min=4), multiple=True, help="N; may be repeated  [default: 569, 5000]")
@click.option("--share", type=Share(min=0, min_open=True, max=1, max_open=True), default=0.5, show_default=True)
@click.option("--decimals", type=click.IntRange(0, 15), multiple=True, help="May be repeated  [default: full, 4, 3]")
@click.option(
    "--metric",
    "names",
    multiple=True,
    metavar="NAME",
    shell_complete=component("metric"),
    help="May be repeated  [default: all]",
)
@output_options
@block_option
def metrics(
    records: tuple[int, ...],
    share: float,
    decimals: tuple[int, ...],
    names: tuple[str, ...],
    as_json: bool,
    blocks: tuple[str, ...],
) -> None:
    """Say how many labels every answer of a board gives away, by metric, decimals and number of records.

    Two classes, of which a share is positive. The class totals count as public.
    """
    from labelinf_scores.audit.boards import rows

    def warn(sentence: str) -> None:
        click.echo(f"labelinf: {sentence}", err=True)

    sizes, printed = records or (569, 5000), decimals or (None, 4, 3)
    with steps("working out") as progress:
        found = list(rows(load_host(blocks), sizes, share, printed, names, progress, warn))
    tell(found, _table(found), as_json=as_json)


def _table(found: Sequence[BoardRow]) -> Iterator[str]:
    yield f"{'metric':18} {'N':>6} {'decimals':>8} {'labels/query':>12}  {'attack':17} all labels through noise"
    for row in found:
        shown = "full" if row.decimals is None else str(row.decimals)
        rate = f"{row.labels_per_query:.2f}" if row.labels_per_query else "-"
        yield f"{row.metric:18} {row.records:6} {shown:>8} {rate:>12}  {row.attack or '-':17} {row.stops}"

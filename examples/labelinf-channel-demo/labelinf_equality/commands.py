"""``labelinf audit equality``: which records are known to belong together, from answers that were released."""

from __future__ import annotations

import click

from labelinf_core.contracts.exits import Exit

__all__ = ["equality"]


@click.command()
@click.argument("answers", type=click.Path(exists=True, dir_okay=False))
@click.pass_context
def equality(context: click.Context, answers: str) -> None:
    """Say what released ANSWERS, a CSV file with columns one, other and equal (0 or 1), have given away.

    Exits with status 1 when two records or more are known to have the same label.
    """
    import csv
    from pathlib import Path

    from labelinf_core.contracts.errors import InputError

    group: dict[str, str] = {}

    def root(record: str) -> str:
        while group.setdefault(record, record) != record:
            record = group[record]
        return record

    apart = []
    with Path(answers).open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            if set(row) != {"one", "other", "equal"} or row["equal"] not in ("0", "1"):
                raise InputError(f"{answers}: row {number}: expected columns one, other and equal, which is 0 or 1.")
            pair = root(row["one"]), root(row["other"])
            if row["equal"] == "1":
                group[pair[0]] = pair[1]
            else:
                apart.append((row["one"], row["other"]))
    if any(root(one) == root(other) for one, other in apart):
        raise InputError(f"{answers}: the answers contradict one another, so they are noisy: nothing is proved.")
    groups = len({root(record) for record in group})
    click.echo(f"{len(group)} records were asked about; they fall into {groups} groups of one label each.")
    context.exit(Exit.FOUND if groups < len(group) else Exit.DONE)

"""``labelinf samples``: the files that the tutorials are played on, for whoever has installed a wheel and nothing else.

``labels.csv`` (120 records) and ``training.csv`` (300) are rows of scikit-learn's breast-cancer data with three of its
features; ``board.py`` is a scorer as a host might have written it, ``audit_sklearn.py`` the training of a model.
"""

from __future__ import annotations

from pathlib import Path

import click

from labelinf_core.cli.output import output_options, tell
from labelinf_core.contracts.errors import InputError

__all__ = ["SAMPLES", "samples"]

SAMPLES = Path(__file__).with_name("samples")


@click.command()
@click.argument("into", type=click.Path(file_okay=False, path_type=Path), metavar="[FOLDER]", default=".")
@output_options
def samples(into: Path, as_json: bool) -> None:
    """Write the files that the tutorials are played on into FOLDER (default: here)."""
    files = sorted(file for file in SAMPLES.iterdir() if file.suffix in (".csv", ".py"))
    if there := [file.name for file in files if (into / file.name).exists()]:
        raise InputError(f"{into}: {', '.join(there)} would be overwritten; name another folder.")
    into.mkdir(parents=True, exist_ok=True)
    for file in files:
        (into / file.name).write_bytes(file.read_bytes())
    names = [file.name for file in files]
    tell({"folder": str(into), "files": names}, [f"written: {', '.join(names)}"], as_json=as_json)

"""``labelinf audit``: the user's own system, attacked. Every channel's room brings its own command."""

from __future__ import annotations

import click

from labelinf_core.cli.offered import Offered

__all__ = ["audit"]


@click.group(cls=Offered)
def audit() -> None:
    """Attack your own system and report what it gives away."""

"""A fraction is written in one way everywhere: 5% or .05."""

from __future__ import annotations

import re

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelinf_core.cli import main
from labelinf_core.cli.options import Share
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.fractions import fraction


@given(st.decimals(0, 1, places=6))
def test_percent_and_number_are_the_same(share: object) -> None:
    number = float(str(share))
    assert fraction(str(share), "x") == fraction(number, "x") == number
    assert fraction(f"{100 * number:.12g}%", "x") == pytest.approx(number, abs=1e-14)


@pytest.mark.parametrize(
    ("text", "said"),
    [("5", r"\(5% if that is meant\)"), ("101%", "from 0 to 1"), ("-.1", "5% or .05"), ("nan", "5% or .05"),
     ("five", "5% or .05"), ("", "5% or .05"), ("0x1", "5% or .05"), ("inf", "5% or .05")],
)  # fmt: skip
def test_what_is_neither_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        fraction(text, "--gain")


def test_every_option_of_a_fraction_reads_it_so() -> None:
    """By its name: what is called a gain or a share in one command is read as in another."""

    def options(command: click.Command, ctx: click.Context) -> list[click.Parameter]:
        if not isinstance(command, click.Group):
            return list(command.params)
        below = [command.get_command(ctx, name) for name in command.list_commands(ctx)]
        return [param for each in below if each is not None for param in options(each, ctx)]

    ctx = click.Context(main)
    rooms = [command for name in ("guard", "metrics", "plant") if (command := main.get_command(ctx, name)) is not None]
    found = [
        param
        for each in (main, *rooms)
        for param in options(each, ctx)
        if re.fullmatch("gain|share|perfect|delta", param.name or "")
    ]
    assert len(found) >= 8
    assert [param.name for param in found if not isinstance(param.type, Share)] == []

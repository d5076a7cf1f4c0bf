"""What ``labelinf check`` prints, and the page that it writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from labelinf_core.contracts.answer import headed
from labelinf_core.contracts.checked import Checked
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import read_regular
from labelinf_core.report.templates import templates

__all__ = ["check_page", "kept_page", "three_lines"]

_GENERATOR = "labelinf check"
_HEADING = 8


def three_lines(found: Checked, width: int) -> Iterator[str]:
    """Return the three lines, cut into lines of at most ``width``."""
    return headed(found.three(), width, _HEADING)


def check_page(found: Checked) -> str:
    """Return the page: the three lines, then all that was found."""
    return templates().get_template("check.html.jinja").render(found=found, generator=_GENERATOR)


def kept_page(path: Path) -> None:
    """Refuse to write over what no check has written.

    Raises:
        InputError: A file is there already, and is no page of a check.
    """
    try:
        own = not path.exists() or f'content="{_GENERATOR}"'.encode() in read_regular(path)
    except OSError:
        own = False
    if not own:
        raise InputError(f"{path} is there already, and no check has written it; name another with --html.")

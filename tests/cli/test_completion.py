"""The shell completes names of components, suites and tables, and never fails where nothing fits."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from labelinf_core.cli import main


def offered(*words: str) -> list[str]:
    *before, last = words
    found = ShellComplete(main, {}, "labelinf", "_LABELINF_COMPLETE").get_completions(before, last)
    return [item.value for item in found]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("attack", "binary-w"), "binary-weights"),
        (("matrix", "--attack", "hadam"), "hadamard"),
        (("matrix", "qui"), "quick"),
        (("matrix", "--channel", "gr"), "gradient"),
        (("bounds", "--defence", "randomised-r"), "randomised-response"),
        (("advise", "--metric", "f"), "f1"),
        (("bounds", "--labels", "breast"), "breast-cancer"),
        (("reproduce", "blia-in"), "blia-in-kind"),
    ],
)
def test_what_is_installed_is_offered(words: tuple[str, ...], name: str) -> None:
    assert name in offered(*words)
    assert all(found.startswith(words[-1]) for found in offered(*words))


def test_where_nothing_fits_nothing_or_a_file_is_offered() -> None:
    assert offered("attack", "no-such") == []
    assert offered("matrix", "--labels", "no-such") == ["no-such"]

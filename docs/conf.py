"""Sphinx configuration. The theorem table and the component catalogue are generated from the plugins themselves."""

from __future__ import annotations

from pathlib import Path

from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host

project = "labelinf"
author = "the labelinf authors"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
]
doctest_global_setup = "from labelinf_core.plugin.descriptors import *\nfrom labelinf_core.specs import *"
html_theme = "furo"
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_member_order = "bysource"
nitpick_ignore_regex = [("py:.*", ".*")]

_GENERATED = Path(__file__).parent / "generated"


def _write(name: str, lines: list[str]) -> None:
    _GENERATED.mkdir(exist_ok=True)
    text = "\n".join(lines) + "\n"
    path = _GENERATED / name
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def _theorems(host: Host) -> list[str]:
    rows = ["| | statement | says | status | repaired | code | test |", "|---|---|---|---|---|---|---|"]
    for item in host.statements():
        code = ", ".join(f"`{name}`" for name in item.code)
        tests = ", ".join(f"`{name}`" for name in item.tests)
        status = item.status.value + (f" ({item.erratum})" if item.erratum else "")
        rows.append(
            f"| {item.key} | {_cell(item.title)} | {_cell(item.says)} | {status} | {_cell(item.repaired)} | {code} | {tests} |"
        )
    return rows


def _errata(host: Host) -> list[str]:
    rows = ["| | statement | printed form fails on | repaired |", "|---|---|---|---|"]
    rows += [
        f"| {item.key} | {_cell(item.title)} | {_cell(item.counterexample)} | {_cell(item.repaired)} |"
        for item in host.statements()
        if item.counterexample
    ]
    return rows


def _catalogue(host: Host) -> list[str]:
    rows = []
    for kind in Kind:
        rows += [
            f"## {kind.plural.capitalize()}",
            "",
            "| name | channel | what it does | reference |",
            "|---|---|---|---|",
        ]
        rows += [
            f"| `{item.descriptor.name}` | {item.descriptor.channel or 'all'} | {_cell(item.descriptor.summary)} "
            f"| {_cell(str(item.descriptor.reference))} |"
            for item in host.catalogue(kind)
        ]
        rows.append("")
    return rows


_host = Host.load(strict=True)
_write("theorems.md", _theorems(_host))
_write("errata.md", _errata(_host))
_write("catalogue.md", _catalogue(_host))
exclude_patterns += ["generated"]

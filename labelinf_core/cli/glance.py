"""Commands that plugins' catalogues name, read as text: for ``--help``, which must not load a plugin or the host.

What a plugin brings by a hook instead of a catalogue is not seen here; it is found when it is called.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

__all__ = ["commands_at_a_glance"]

_ENTRY = re.compile(r"^([^\s=\[]+)\s*=\s*([\w.]+)", re.MULTILINE)
_COMMAND = re.compile(r"^\[command\.([\w-]+)\]\n((?:(?!\[).*\n?)*)", re.MULTILINE)
_SUMMARY = re.compile(r'^summary\s*=\s*"(.*)"', re.MULTILINE)


def commands_at_a_glance() -> list[tuple[str, str]]:
    """Return the name and the line of every command that stands beside the core's own, in order of names."""
    found = {}
    for module in _modules():
        for name, body in _COMMAND.findall(_catalogue(module)):
            summary = _SUMMARY.search(body)
            if summary and not re.search(r"^group\s*=", body, re.MULTILINE):
                found[name] = summary[1]
    return sorted(found.items())


def _modules() -> Iterator[str]:
    """Yield the modules that installed distributions name as plugins, those that are blocked left out."""
    blocked = {name.strip() for name in os.environ.get("LABELINF_BLOCK", "").split(",")}
    for folder in dict.fromkeys(sys.path):
        try:
            installed = sorted(
                entry for entry in os.listdir(folder or ".") if entry.endswith((".dist-info", ".egg-info"))
            )
        except OSError:
            continue
        for entry in installed:
            section = f"\n{_read(os.path.join(folder, entry, 'entry_points.txt'))}".partition("\n[labelinf]")[2]
            for name, module in _ENTRY.findall(section.partition("\n[")[0]):
                if name not in blocked:
                    yield module


def _catalogue(module: str) -> str:
    """Return the catalogue beside a plugin's module, wherever on the path it lies; empty without one."""
    package = module.rpartition(".")[0] or module
    places = (os.path.join(folder, *package.split("."), "catalogue.toml") for folder in sys.path)
    return next(filter(None, map(_read, places)), "")


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""

"""The files of a new plugin's distribution."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from importlib import resources
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import attrs
import jinja2
from packaging.version import Version

from labelinf_core.contracts.errors import InputError, PluginError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.markers import CONTRACT

__all__ = ["SHARED", "Project", "write_project"]

_HERE = "labelinf_core.scaffold:templates"
SHARED: Mapping[Kind, str] = {
    kind: f"{_HERE}/{kind.value}.py.jinja" for kind in (Kind.NOISE, Kind.BOUND, Kind.CHANNEL)
}  #: templates of the kinds that need no channel; the others are in the rooms of the channels
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_PREFIX = "labelinf-"


def _is_a_name(instance: Project, attribute: attrs.Attribute[str], value: str) -> None:
    if not _NAME.fullmatch(value) or not _NAME.fullmatch(value.removeprefix(_PREFIX)) or value == _PREFIX.rstrip("-"):
        raise InputError(
            f"{value!r} cannot name a plugin: use small letters, digits and hyphens, a letter first: labelinf-mine."
        )


@attrs.frozen(kw_only=True)
class Project:
    """A distribution with one component.

    Attributes:
        distribution: What pip calls it: small letters, digits and hyphens.
        kind: Of its component.
        template: ``package:path`` of its Jinja template.
        channel: Name of the channel that the component belongs to, if it belongs to one.
        labels: A label source that a suite of its own may play on.
    """

    distribution: str = attrs.field(validator=_is_a_name)
    kind: Kind
    template: str
    channel: str | None = None
    labels: str = ""

    @property
    def name(self) -> str:
        """What suites call the component, and the host the plugin."""
        return self.distribution.removeprefix(_PREFIX)

    @property
    def package(self) -> str:
        """What Python imports."""
        return self.distribution.replace("-", "_")

    @property
    def class_name(self) -> str:
        """The component's class."""
        return "".join(part.capitalize() for part in self.name.split("-"))

    def files(self) -> dict[str, str]:
        """Return the text of every file by its path in the project's directory."""
        places = {
            "pyproject.toml": "pyproject.toml.jinja",
            "README.md": "README.md.jinja",
            "LICENSE": "LICENSE.jinja",
            "tox.ini": "tox.ini.jinja",
            ".gitignore": "gitignore.jinja",
            ".github/workflows/ci.yml": "ci.yml.jinja",
            f"{self.package}/__init__.py": "init.py.jinja",
            f"{self.package}/py.typed": "py.typed.jinja",
            f"{self.package}/plugin.py": "plugin.py.jinja",
            f"tests/test_{self.package}.py": "test.py.jinja",
        }
        templates = jinja2.Environment(
            loader=jinja2.PackageLoader("labelinf_core.scaffold"),
            keep_trailing_newline=True,
            trim_blocks=True,
            undefined=jinja2.StrictUndefined,
            autoescape=False,  # Python and TOML, not markup
        )
        home = self.name if self.kind is Kind.CHANNEL else self.channel
        if self.kind is Kind.CHANNEL:
            places["suite.toml"] = "suite.toml.jinja"
        facts = {"project": self, "contract": CONTRACT, "channel": home, "labelinf": _compatible()}
        component = templates.from_string(_text(self.template)).render(facts)
        written = {path: templates.get_template(name).render(facts) for path, name in places.items()}
        return {**written, f"{self.package}/{self.kind.value}.py": component}


def _compatible() -> str:
    """Return which versions of labelinf have the contract that the project is written for."""
    major, minor, *_ = (*Version(version("labelinf")).release, 0)
    return (
        f"labelinf>={major}.{minor},<{major}.{minor + 1}" if major == 0 else f"labelinf>={major}.{minor},<{major + 1}"
    )


def _text(template: str) -> str:
    package, _, path = template.partition(":")
    try:
        return resources.files(package).joinpath(path).read_text(encoding="utf-8")
    except (ModuleNotFoundError, OSError) as error:
        raise PluginError(f"the template {template!r} cannot be read ({type(error).__name__}).") from error


def write_project(project: Project, directory: Path) -> None:
    """Write the project's files.

    Raises:
        InputError: The directory holds something already, or cannot be written; its package could not be imported, or
            would stand in the way of another.
    """
    if keyword.iskeyword(project.package):
        raise InputError(f"{project.package!r} is a word of Python: choose another name, such as labelinf-mine.")
    found = find_spec(project.package)
    if found is not None and found.origin is not None:
        raise InputError(f"Python has a package {project.package!r} already: choose another name.")
    try:
        if directory.exists() and any(directory.iterdir()):
            raise InputError(f"{directory} is there already and not empty; nothing was written.")
        for path, text in project.files().items():
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"{directory} cannot be written ({error.strerror}).") from error

"""What a plugin provides, as data: one TOML file beside its code instead of a hook for every kind.

A plugin whose hook ``labelinf_catalogue`` returns a :class:`Catalogue` needs no other hook: the host calls the
catalogue's own hooks as it would call the plugin's. The file lists components by kind and name::

    default-channel = "my-channel"         # of losses, metrics, attacks, defences and bounds that name none
    statements = ["statements/icml.toml"]  # read when somebody asks for statements, not before

    [attack.my-attack]
    summary = "a few labels per query in bounded precision, as the divisors of an integer"
    work = "Aggarwal et al., ICML 2021"
    statement = "Algorithm 1"
    target = ".attacks.mine:MyAttack"   # a leading dot stands for the package

    [suite.quick]
    file = ".suites:quick.toml"

and likewise ``[reproduction.NAME]`` and ``[command.NAME]``. A file of statements has the work at its head and one
table per key::

    work = "ICML 2021"

    [S16]
    where = "Lemma 2"
    status = "ok"                         # or repaired, false, open
    says = "..."
    code = [".decoders.greedy:decode"]
    tests = ["tests/theorems/icml2021/test_lemma_2.py"]

A statement about no work of that name gives its ``title`` instead of ``where``.
"""

from __future__ import annotations

import functools
import pkgutil
import tomllib
from collections.abc import Iterator
from typing import Any, TypeVar

import attrs

from labelinf_core.contracts.errors import PluginError
from labelinf_core.plugin.descriptors import Command, Descriptor, Kind, Reference, SuitePart
from labelinf_core.plugin.markers import hookimpl
from labelinf_core.plugin.reproductions import Reproduction
from labelinf_core.plugin.statements import Statement, StatementStatus

__all__ = ["Catalogue"]

T = TypeVar("T")

_EVERYWHERE = (Kind.NOISE, Kind.LABELS)  #: kinds that serve every channel
_REFERRED = ("work", "statement")
_PARTS = ("suite", "reproduction", "command")
_EXPECTED = {"str": (str, "a string"), "int": (int, "an integer"), "tuple[str, ...]": (list, "a list of strings")}


@attrs.frozen(kw_only=True, eq=False)
class Catalogue:
    """The tables of one catalogue, and the hooks that answer from them.

    Attributes:
        package: Package whose directory holds the file; what a leading dot stands for.
        file: Path of the file below the package.
        tables: The file as read.
    """

    package: str
    file: str
    tables: dict[str, Any]

    @classmethod
    def read(cls, package: str, file: str = "catalogue.toml") -> Catalogue:
        """Read the catalogue of a package; no module of it beside ``__init__`` is imported.

        Raises:
            PluginError: The file is missing, is no TOML, or has a table that is none of the known ones.
        """
        tables = _tables(package, file)
        known = {*(kind.value for kind in Kind), *_PARTS, "default-channel", "statements"}
        if unknown := sorted(tables.keys() - known):
            raise PluginError(f"{package}/{file}: unknown table {unknown[0]!r}; known are {', '.join(sorted(known))}.")
        return cls(package=package, file=file, tables=tables)

    @hookimpl
    def labelinf_components(self) -> Iterator[Descriptor]:
        """Yield the components, kind by kind.

        Raises:
            PluginError: An entry lacks a value, has one too many, or one of the wrong form.
        """
        for kind in Kind:
            shared = None if kind in _EVERYWHERE else self.tables.get("default-channel")
            for name, where, entry in self._entries(kind.value):
                entry = {"channel": name if kind is Kind.CHANNEL else shared, **entry}
                yield self._made(Descriptor, where, entry, kind=kind, name=name, reference=_reference(where, entry))

    @hookimpl
    def labelinf_statements(self) -> Iterator[Statement]:
        """Yield the statements of the files that the catalogue names."""
        for file in self.tables.get("statements", ()):
            tables = _tables(self.package, file)
            for key, entry in tables.items():
                if key != "work":
                    yield self._statement(tables.get("work", ""), f"{self.package}/{file}: {key}", key, entry)

    @hookimpl
    def labelinf_reproductions(self) -> Iterator[Reproduction]:
        """Yield the published tables that can be computed again."""
        for name, where, entry in self._entries("reproduction"):
            yield self._made(Reproduction, where, entry, name=name, reference=_reference(where, entry))

    @hookimpl
    def labelinf_commands(self) -> Iterator[Command]:
        """Yield the commands."""
        for name, where, entry in self._entries("command"):
            yield self._made(Command, where, entry, name=name)

    @hookimpl
    def labelinf_suites(self) -> Iterator[SuitePart]:
        """Yield the parts of suites."""
        for name, where, entry in self._entries("suite"):
            yield self._made(SuitePart, where, entry, suite=name)

    def _statement(self, work: str, where: str, key: str, entry: Any) -> Statement:
        entry = dict(_table(where, entry))
        if "where" in entry:
            entry["title"] = f"{work}, {entry.pop('where')}"
        word = entry.pop("status", None)
        if not isinstance(word, str) or word.upper() not in StatementStatus.__members__:
            known = ", ".join(name.lower() for name in StatementStatus.__members__)
            raise PluginError(f"{where}: status={word!r} must be one of {known}.")
        return self._made(Statement, where, entry, key=key, status=StatementStatus[word.upper()])

    def _entries(self, table: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield name, place and values of every entry of a table."""
        for name, entry in _table(f"{self.package}/{self.file}: {table}", self.tables.get(table, {})).items():
            where = f"{self.package}/{self.file}: {table}.{name}"
            yield name, where, _table(where, entry)

    def _made(self, made: type[T], where: str, entry: dict[str, Any], **given: Any) -> T:
        """Return an attrs object from the values of an entry and those known already."""
        wanted = {field.name: field for field in attrs.fields(made) if field.name not in given}  # type: ignore[arg-type]
        values = {key: value for key, value in entry.items() if "reference" not in given or key not in _REFERRED}
        if unknown := sorted(values.keys() - wanted.keys()):
            raise PluginError(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(wanted)}.")
        for name, field in wanted.items():
            if name in values:
                given[name] = self._value(f"{where}: {name}", values[name], str(field.type).removesuffix(" | None"))
            elif field.default is attrs.NOTHING:
                raise PluginError(f"{where}: {name} is missing.")
        try:
            return made(**given)
        except (TypeError, ValueError) as error:
            raise PluginError(f"{where}: {error}") from error

    def _value(self, where: str, value: Any, declared: str) -> Any:
        """Return a value of the declared type, with the package put before names that begin with a dot."""
        expected, words = _EXPECTED[declared]
        if value is None:
            return None
        if type(value) is not expected or (type(value) is list and not all(isinstance(item, str) for item in value)):
            raise PluginError(f"{where}={value!r} must be {words}.")
        if isinstance(value, list):
            return tuple(self._absolute(item) for item in value)
        return self._absolute(value) if isinstance(value, str) else value

    def _absolute(self, text: str) -> str:
        return f"{self.package}{text}" if text.startswith(".") and ":" in text and " " not in text else text


def _reference(where: str, entry: dict[str, Any]) -> Reference:
    for name in _REFERRED:
        if not isinstance(entry.get(name), str):
            raise PluginError(f"{where}: {name}={entry.get(name)!r} must be a string: where it comes from.")
    return Reference(work=entry["work"], statement=entry["statement"])


def _table(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PluginError(f"{where} must be a table, got {value!r}.")
    return value


@functools.lru_cache(maxsize=64)
def _parsed(data: bytes) -> dict[str, Any]:
    """Read TOML, once however many hosts are loaded: nobody changes the tables."""
    return tomllib.loads(data.decode())


def _tables(package: str, file: str) -> dict[str, Any]:
    try:
        data = pkgutil.get_data(package, file)
    except (OSError, ImportError) as error:
        raise PluginError(f"{package}/{file} cannot be read: {error}") from error
    if data is None:
        raise PluginError(f"{package}/{file} cannot be read: {package} does not lie in files.")
    try:
        return _parsed(data)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PluginError(f"{package}/{file} is not TOML: {error}") from error

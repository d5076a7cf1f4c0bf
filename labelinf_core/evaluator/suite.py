"""A suite file: which attacks meet which defences, on which labels.

    title = "my first suite"
    trials = 20
    seed = 0

    [[matrix]]
    labels = "my-labels"
    attacks = ["my-attack", "another(tau=0.01)"]
    defences = ["none", "my-defence(decimals=[3, 4])", ["first(epsilon=0.01)", "second(decimals=4)"]]
    budget = [10, 20]

``attacks`` may be left out: ``"strongest"``, the default, plays for every line of defences the strongest attacks that
fit, of all that are installed; ``"all"`` plays every one. A list of attacks is a restriction, and a report says so.

A defence that is itself a list is a pipeline, from the curator outward; the empty one, no defence, is written ``none``.
Keys that are not listed in :class:`Matrix` are settings of the channel. A list where one value is expected is a grid.
"""

from __future__ import annotations

import functools
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import cattrs
from cattrs.errors import ClassValidationError
from cattrs.gen import make_dict_structure_fn, override

from labelinf_core.contracts.errors import InputError, LabelinfError, PluginError
from labelinf_core.contracts.regular import read_regular
from labelinf_core.evaluator.choice import STRONGEST
from labelinf_core.evaluator.third_parties import code_in, refusal
from labelinf_core.plugin.descriptors import Kind, SuitePart
from labelinf_core.plugin.worker import apart
from labelinf_core.specs import faults, parse, strict_converter

if TYPE_CHECKING:
    from labelinf_core.plugin.host import Host

__all__ = ["Matrix", "Suite", "homes", "read_part", "read_suite", "shipped_suites"]


@attrs.frozen(kw_only=True)
class Matrix:
    """One table ``[[matrix]]``: every attack meets every defence in every setting of the channel.

    Attributes:
        labels: Label sources.
        attacks: Attacks; ``"strongest"`` and ``"all"`` among them stand for installed ones.
        defences: Defences; an item that is a list is a pipeline, from the curator outward.
        channel: Name of the channel; empty for the one that the attacks and defences belong to.
        settings: Fields of the channel (loss, scorer, queries, ...).
        part: The file of a plugin's that it stands in; empty: the user's own.
    """

    labels: list[Any] = attrs.field(validator=attrs.validators.min_len(1))
    attacks: list[Any] = attrs.field(factory=lambda: [STRONGEST], validator=attrs.validators.min_len(1))
    defences: list[Any] = attrs.field(validator=attrs.validators.min_len(1))
    channel: str = ""
    settings: dict[str, Any] = attrs.field(factory=dict)
    part: str = ""

    def home(self, host: Host) -> str:
        """Return the channel the table is played on: the one it names, or the only one its components belong to.

        Raises:
            InputError: It names none, and they belong to none or to several.
        """
        if self.channel:
            return self.channel
        found = homes(host, self.attacks, self.defences)
        if len(found) == 1:
            return found[0]
        known = ", ".join(item.descriptor.name for item in host.catalogue(Kind.CHANNEL)) or "none at all"
        belong = f"belong to several ({', '.join(found)})" if found else "do not tell"
        raise InputError(f"say which channel is played: its attacks and defences {belong}. Known channels: {known}.")


def homes(host: Host, attacks: Iterable[object], defences: Iterable[object]) -> tuple[str, ...]:
    """Return the channels that components belong to, each once; what serves all channels says nothing.

    Args:
        host: Where names are looked up; one that nobody provides says nothing either.
        attacks: As written.
        defences: As written; a pipeline is a list.
    """
    stages = [stage for item in defences for stage in (item if isinstance(item, list) else [item])]
    parts = [*((Kind.ATTACK, item) for item in attacks), *((Kind.DEFENCE, item) for item in stages)]
    return tuple(dict.fromkeys(home for kind, item in parts if (home := _home(host, kind, item))))


def _home(host: Host, kind: Kind, written: object) -> str | None:
    """Return the channel of a component; None for one of all channels, and for one that nobody provides."""
    try:
        return host.find(kind, parse(written, kind.value).name).descriptor.channel
    except LabelinfError:
        return None


MOST_TRIALS = 1_000_000  #: of a cell


@attrs.frozen(kw_only=True)
class Suite:
    """What a suite file says, before any name in it is looked up.

    Attributes:
        matrix: The tables.
        title: What a report calls it.
        trials: How often every cell is played, each time with fresh randomness.
        seed: What all randomness is derived from.
        left_out: Parts of it that plugins offer and nobody can read, a sentence each.
    """

    matrix: list[Matrix] = attrs.field(validator=attrs.validators.min_len(1))
    title: str = ""
    trials: int = attrs.field(default=20, validator=[attrs.validators.ge(1), attrs.validators.le(MOST_TRIALS)])
    seed: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    left_out: tuple[str, ...] = ()


def shipped_suites(host: Host) -> tuple[str, ...]:
    """Return the names of the suites that the loaded plugins offer."""
    return tuple(dict.fromkeys(part.suite for part in host.suites()))


def read_suite(name: str, host: Host, *, allow_code: bool = False) -> Suite:
    """Read a suite that plugins offer by its name, or a suite file by its path.

    Args:
        name: The name or the path.
        host: Whose plugins offer suites; one that several contribute to has the tables of all of them.
        allow_code: Whether a suite file may name programs and functions that are no plugin's.

    Raises:
        InputError: There is no such suite, or it is malformed (all faults come at once, one a line), or it names code.
    """
    parts = [part for part in host.suites() if part.suite == name]
    if not parts:
        suite = _parsed(_text_of_file(name, host), name)
        code = dict.fromkeys(code_in([attrs.asdict(table, recurse=False) for table in suite.matrix]))
        if code and not allow_code and (foreign := [text for text in code if text not in _inert(host)]):
            raise refusal(foreign, name)
        return suite
    read, lost = list[Suite](), list[str]()
    for part in parts:
        try:
            read.append(read_part(part))
        except LabelinfError as error:
            lost.append(f"{error} (that part of suite {name} is left out)")
    if not read:
        raise PluginError("\n".join(lost))
    tables = [table for suite in read for table in suite.matrix]
    return attrs.evolve(read[0], title=name, matrix=tables, left_out=tuple(lost))


def read_part(part: SuitePart) -> Suite:
    """Read the part of a suite that a plugin offers.

    Raises:
        LabelinfError: It cannot be read, or is malformed.
    """
    suite = _parsed(_text_of_part(part.file), part.file)
    return attrs.evolve(suite, matrix=[attrs.evolve(table, part=part.file) for table in suite.matrix])


def _inert(host: Host) -> frozenset[str]:
    """Return the settings that read like a function's address and are none, as the channels say."""
    found: frozenset[str] = frozenset()
    for _, inert in host.asked(Kind.CHANNEL, lambda channel: frozenset(channel.inert)):
        found |= inert
    return found


def _parsed(text: str, name: str) -> Suite:
    try:
        tables = tomllib.loads(text)
    except ValueError as error:  # whole numbers of thousands of digits are no TOMLDecodeError
        raise InputError(f"{name} is not valid TOML: {error}.") from error
    matrices = tables.get("matrix")
    if isinstance(matrices, list):
        tables["matrix"] = [_with_settings(matrix) for matrix in matrices]
    try:
        return _converter().structure({"title": Path(name).stem, **tables}, Suite)
    except ClassValidationError as error:
        raise InputError("\n".join(f"{name}: {fault.lstrip('.: ')}" for fault in faults(error, ""))) from error


@functools.cache
def _converter() -> cattrs.Converter:
    """Return what reads a suite: all of it but what is not written in one."""
    converter = strict_converter()
    read = make_dict_structure_fn(Suite, converter, _cattrs_forbid_extra_keys=True, left_out=override(omit=True))
    converter.register_structure_hook(Suite, read)
    return converter


def _text_of_part(file: str) -> str:
    package, _, name = file.partition(":")

    def read() -> str:
        return (resources.files(package) / name).read_text(encoding="utf-8")

    try:
        return read() if package.partition(".")[0] in sys.modules else apart(f"suite {file}", read)
    except (ModuleNotFoundError, OSError) as error:
        raise PluginError(
            f"a plugin offers a suite in {file!r}, which cannot be read ({type(error).__name__})."
        ) from error


_MOST_BYTES = 1 << 24  # of a suite


def _text_of_file(name: str, host: Host) -> str:
    try:
        return read_regular(name, _MOST_BYTES).decode("utf-8")
    except FileNotFoundError as error:
        known = ", ".join(shipped_suites(host)) or "none"
        raise InputError(f"there is no suite file {name!r}; shipped suites are {known}.{host.left_out}") from error
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not text in UTF-8 (byte {error.start + 1}).") from error


def _with_settings(matrix: object) -> object:
    """Gather the keys that belong to the channel; one attack or defence may stand without a list."""
    if not isinstance(matrix, Mapping):
        return matrix
    own = {field.name for field in attrs.fields(Matrix)} - {"settings", "part"}
    table = {key: value for key, value in matrix.items() if key in own}
    for key in {"labels", "attacks", "defences"} & table.keys():
        table[key] = table[key] if isinstance(table[key], list) else [table[key]]
    return {**table, "settings": {key: value for key, value in matrix.items() if key not in own}}

"""``labelinf check``: what a room finds in a file of a user's, in three lines, and the files that mend it.

A room brings a :class:`Checker` as a command of the group ``check``. It says what it takes by what a file is and holds;
nothing of a user's is run to find that out.
"""

from __future__ import annotations

import ast
import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import read_regular

if TYPE_CHECKING:
    from labelinf_core.specs import Builder

__all__ = ["GROUP", "CheckQuestion", "Checked", "Checker", "functions_in", "the_function"]

GROUP = "check"  #: of the commands that are checkers
_MOST = 1 << 24  # bytes of a module that is looked at


@attrs.frozen(kw_only=True)
class CheckQuestion:
    """What a user hands in.

    Attributes:
        thing: A file, a folder, ``module.py:function``, ``module:function`` or ``cmd:PROGRAM``.
        table: A second file: the private labels.
        column: Its column of labels; empty: the only one that can be meant.
        given: What further options were given, by name.
        builder: Builds components.
        progress: Called before every step with its name and how many there are.
    """

    thing: str
    table: str = ""
    column: str = ""
    given: Mapping[str, Any] = attrs.field(factory=dict)
    builder: Builder
    progress: Callable[[str, int], None] = attrs.field(default=lambda step, of: None, repr=False)

    @property
    def path(self) -> Path:
        """The thing as a path, without the function that is named of it."""
        return Path(self.thing.removesuffix(f":{self.function}") if self.function else self.thing)

    @property
    def function(self) -> str:
        """The function that is named of a file, as in ``module.py:function``; empty: none is."""
        file, _, name = self.thing.rpartition(":")
        return name if file.endswith(".py") and name.isidentifier() else ""

    @property
    def home(self) -> Path:
        """Where what a module imports is looked for: beside its file, or where the command runs."""
        return self.path.resolve().parent if self.path.suffix == ".py" and self.path.is_file() else Path().resolve()

    def command(self, *words: str) -> str:
        """Return a command that names a function of the module, as a shell takes it, wherever the module lies."""
        there = "" if self.home == Path().resolve() else f"PYTHONPATH={shlex.quote(str(self.path.parent))} "
        return there + shlex.join(words)

    @contextlib.contextmanager
    def beside(self) -> Iterator[None]:
        """Have what lies beside a module found by its imports, as long as it is checked."""
        home = str(self.home)
        sys.path.insert(0, home)
        try:
            yield
        finally:
            if home in sys.path:
                sys.path.remove(home)

    def needed(self, name: str, what: str) -> Any:
        """Return what an option holds.

        Raises:
            InputError: It was not given.
        """
        if (value := self.given.get(name)) in (None, ""):
            raise InputError(f"{self.thing}: say {what}, with --{name}.")
        return value


@attrs.frozen(kw_only=True)
class Checked:
    """What came of it.

    Attributes:
        what: What was checked, in a clause.
        decision: What the audit comes to; the word and the exit status are read of it.
        answer: How much comes out, the strongest proved remedy that leaves the thing useful, what honest users pay.
        then: The next command.
        lines: All that the audit says, line by line.
        deploy: Writes the remedy into an empty folder, and returns what it wrote and the command that runs it; None:
            there are no files. See :func:`labelinf_core.plugin.checkers.deployed`.
    """

    what: str
    decision: AuditDecision
    answer: Answer
    then: str
    lines: tuple[str, ...] = ()
    deploy: Callable[[Path], tuple[str, str]] | None = attrs.field(default=None, repr=False, eq=False)

    @property
    def leaks(self) -> str:
        """Whether labels come out: ``yes``, ``no`` where that is proved, or ``unknown``."""
        word = self.decision.claimed or self.decision.word
        if word in (AuditWord.LEAKS, AuditWord.REFUTED):
            return "yes"
        return "no" if word is AuditWord.CERTIFIED else "unknown"

    def three(self) -> Iterator[tuple[str, str]]:
        """Yield the three lines by their headings."""
        _, (_, stopped), _ = self.answer.parts()
        yield "leaks", f"{self.leaks}: {self.answer.leaks}"
        yield "remedy", "; ".join(filter(None, (stopped, self.answer.costs)))
        yield "next", self.then


class Checker(Protocol):
    """What checks one kind of thing.

    One with a frozen set ``uses`` of ``"table"``, ``"column"`` and names of options has others refused.
    """

    def takes(self, asked: CheckQuestion) -> bool:
        """Whether this is such a thing, by its name and by what it holds."""

    def check(self, asked: CheckQuestion) -> Checked:
        """Audit it.

        Raises:
            InputError: Something is missing or cannot be used; the sentence names the option that gives it.
        """


def functions_in(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the public functions at the top of a module with the names of the parameters that each needs.

    The module is read, not run; what is no Python has none.
    """
    try:
        tree = ast.parse(read_regular(path, _MOST))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            listed = [*node.args.posonlyargs, *node.args.args]
            needed = listed[: len(listed) - len(node.args.defaults)] if node.args.defaults else listed
            keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            keyword = [each for each, default in keywords if default is None]
            found[node.name] = tuple(each.arg for each in (*needed, *keyword))
    return found


def the_function(asked: CheckQuestion, fits: Callable[[tuple[str, ...]], bool]) -> str:
    """Return ``module:function`` of the one that is named, or of the one public function that fits.

    Raises:
        InputError: Several do, or none.
    """
    path = asked.path
    names = [asked.function] if asked.function else [n for n, needed in functions_in(path).items() if fits(needed)]
    if len(names) > 1:
        raise InputError(f"{path} has {len(names)} functions that can be meant; name one: {path}:{names[0]}.")
    if not names:
        raise InputError(f"no public function of {path} fits; name the one that is meant: {path}:FUNCTION.")
    return f"{path.stem}:{names[0]}"

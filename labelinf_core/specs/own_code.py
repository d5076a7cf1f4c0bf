"""Code of a user's own, named in a suite or on the command line: ``module:function``, or a program.

What is added to a name, as in ``module:function@column#number``, says what its tables call things and which of several
numbers is meant.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from labelinf_core.contracts.errors import ComponentError, InputError
from labelinf_core.contracts.gate import own_packages
from labelinf_core.contracts.regular import read_regular
from labelinf_core.plugin.host import suggested
from labelinf_core.plugin.worker import apart, unheard, watch

__all__ = ["FILES", "FUNCTION", "PROGRAMS", "copy_code", "name_of", "own_function", "parts_of", "watched_function"]

FILES = ("files:", "codabench:")  #: before a program that reads and writes files
PROGRAMS = ("cmd:", *FILES)  #: before any program
FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d][\w.]*")  #: a function; what is none is not imported
_MOST = 1 << 24  # bytes of a module that is read
_NAME = re.compile(r"(.*?)(?:@([^@#/:]+))?(?:#([^#]+))?", re.DOTALL)


def parts_of(target: str) -> tuple[str, str, str]:
    """Return the name of own code without what is added to it, the columns, and the number that is meant.

    Example:
        >>> parts_of("mine:rate@label#area"), parts_of("cmd:./rate a@b")
        (('mine:rate', 'label', 'area'), ('cmd:./rate a@b', '', ''))
    """
    found = None if target.startswith("cmd:") else _NAME.fullmatch(target)
    return (target, "", "") if found is None else (found[1], found[2] or "", found[3] or "")


def own_function(target: str, what: str, methods: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Import ``module:function``.

    Args:
        target: The module, and the name of the function within it, with dots where it is nested.
        what: What a message calls it.
        methods: An object that has one of these will do, though it cannot be called itself.

    Raises:
        InputError: It is not so written, or cannot be imported or called.
        ComponentError: The module ends the program when it is imported, or takes its process with it.
    """
    module, _, name = target.partition(":")
    instead = f" Name the module, not its file: {Path(module).stem}:{name}." if module.endswith(".py") else ""
    if not FUNCTION.fullmatch(target):
        raise InputError(f"{what} {target!r} is not written as module:function, both of them Python's names.{instead}")
    try:
        found = _imported(module)
        for part in name.split("."):
            if not hasattr(found, part):
                functions = [other for other, value in vars(found).items() if callable(value)]
                raise InputError(
                    f"{what} {target!r}: {module} has no {part!r}. {suggested(part, functions, '')}".strip()
                )
            found = getattr(found, part)
    except (ComponentError, InputError):
        raise
    except Exception as error:  # a module may raise anything when it is imported
        raise InputError(f"{what} {target!r} cannot be imported: {_told(error)}.{instead}") from error
    if not callable(found) and not any(callable(getattr(found, name, None)) for name in methods):
        raise InputError(f"{what} {target!r} is not a function.")
    return found  # type: ignore[no-any-return]  # whatever is callable


def watched_function(target: str | Callable[..., Any], what: str) -> Callable[..., Any]:
    """Import ``module:function`` and have every call of it watched over: one that hangs or exits is named.

    A function itself is watched over as well.

    What it prints is thrown away, for it may be handed private labels.

    Args:
        target: As :func:`own_function` takes it.
        what: What a message calls it.

    Raises:
        InputError: It cannot be imported or called.
        ComponentError: The module ends the program when it is imported, or takes its process with it.
    """
    function = own_function(target, what) if isinstance(target, str) else target

    @functools.wraps(function)
    def called(*args: Any, **settings: Any) -> Any:
        with watch.over(f"{what} {name_of(target)}"), unheard():
            return function(*args, **settings)

    return called


def name_of(target: str | Callable[..., Any]) -> str:
    """Return what messages call a function, which was named or passed."""
    return target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)


def copy_code(module: str, home: Path, folder: Path) -> None:
    """Copy a user's module, and all that it imports from beside it, into a folder, where they lie as they did.

    Imports are read, and nothing is run. What does not lie there is installed, and is left where it is; so is labelinf.

    Args:
        module: Its name, with dots where it is in a package, which is copied whole.
        home: The folder that its imports start from.
        folder: Where the copies go.

    Raises:
        InputError: A file cannot be read.
    """
    wanted, seen = [module], set[str]()
    while wanted:
        top = wanted.pop().partition(".")[0]
        alone, package = home / f"{top}.py", home / top
        files = [alone] if alone.is_file() else sorted(package.rglob("*.py")) if package.is_dir() else []
        for file in files if top not in {*seen, *own_packages()} else ():
            wanted += _imports(file)
            target = folder / file.relative_to(home)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        seen.add(top)


def _imports(file: Path) -> list[str]:
    """Return the modules that a file imports by their full names."""
    try:
        found = list(ast.walk(ast.parse(read_regular(file, _MOST))))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read as Python.") from error
    names = [each.name for node in found if isinstance(node, ast.Import) for each in node.names]
    return names + [node.module for node in found if isinstance(node, ast.ImportFrom) and node.module]


def _imported(module: str) -> Any:
    """Import a module; a worker tries first."""
    if module not in sys.modules and not watch.worker:
        apart(f"module {module}", functools.partial(_try, module), once=False)
    with watch.over(f"module {module}"):
        return importlib.import_module(module)


def _try(module: str) -> None:
    """See whether an import ends; one that fails is told where it counts, as everywhere else."""
    with contextlib.suppress(Exception):
        importlib.import_module(module)


def _told(error: Exception) -> str:
    """Say why an import failed; other words than those of the import system may hold what the module had read."""
    if isinstance(error, ModuleNotFoundError):
        return f"there is no module {error.name!r}"
    if isinstance(error, ImportError) and str(error).startswith("attempted relative import"):
        return "it imports from its package (from . import ...): run this above that, and name it package.module"
    return f"it raised {type(error).__name__}"

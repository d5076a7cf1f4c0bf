r"""One gate: what a component returns is looked at here before it is scored, stored or shown.

A component is somebody else's code: it can be wrong in ways that look like results. A guess of NaN is scored "0 %, held
so far", an evidence of ten million characters fills a record, a text with control characters rewrites a terminal. So
nothing a component returns is used before it has been turned into plain data of the type that its contract names. What
cannot be is that component's failure: a :class:`ComponentError` that says what was wrong with it, and nothing else is
lost. Texts are cleaned and cut instead, as what they say is not worth losing.

What a component is *handed* passes here too: :func:`sealed` arrays cannot be written to, by anyone.

Example:
    >>> clean("found\x1b[2J it" + "!" * 900, longest=12)
    'found [2J i…'
    >>> evidence({"queries": 3, "margin": float("inf")})
    {'queries': 3, 'margin': 'inf'}
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import itertools
import math
import numbers
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from labelinf_core.contracts.errors import ComponentError, InputError, LabelinfError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "LONGEST",
    "attribute_errors",
    "between",
    "clean",
    "each",
    "evidence",
    "finite",
    "guessed",
    "guessed_set",
    "guessed_values",
    "is_number",
    "named",
    "number",
    "numbers_of",
    "own_packages",
    "own_words",
    "positive",
    "said",
    "seal",
    "sealed",
    "sentence",
    "unquoted",
    "worded",
]

T = TypeVar("T")

LONGEST = 600  #: characters of a text that is shown
_WORDS = 200  # characters of a text within evidence
_ITEMS = 512  # numbers and texts of one evidence
_DEPTH = 4  # collections within collections
_LARGEST = 2**63  # whole numbers beyond are told by their size
_ABSTAIN = -1
_BETWEEN = frozenset({"attr", "attrs", "cattrs", "contextlib", "functools", "pluggy", "<string>"})  # that call for us


def clean(value: object, longest: int = LONGEST) -> str:
    """Return ``value`` as one line of printable text, cut to ``longest`` characters; whatever its ``__str__`` does."""
    try:
        text = str.__str__(str(value))
    except (Exception, SystemExit):
        text = f"a {type(value).__name__} that cannot be written"
    shown = text[: 4 * longest]
    if not shown.isprintable():
        shown = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in shown)
    line = " ".join(shown.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def said(error: BaseException) -> str:
    """Write an exception as one clause; what a component did wrong is one already."""
    if isinstance(error, ComponentError):
        return clean(error)
    return clean(f"{type(error).__name__}: {clean(error)}".removesuffix(": "))


def own_words(error: BaseException) -> bool:
    """Return whether an exception is a sentence of labelinf's own, raised where no stranger's code had a hand in it."""
    trace, names = error.__traceback__, []
    while trace is not None:
        names.append(str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0])
        trace = trace.tb_next
    ours = next((index for index, name in enumerate(names) if name in own_packages()), len(names))
    return isinstance(error, LabelinfError) and set(names[ours:]) <= own_packages() | _BETWEEN


@functools.cache
def own_packages() -> frozenset[str]:
    """Return the packages that come with labelinf: its own, and those that its entry points name."""
    try:
        points = importlib.metadata.distribution("labelinf").entry_points
    except importlib.metadata.PackageNotFoundError:
        points = importlib.metadata.EntryPoints()
    named = {point.module.partition(".")[0] for point in points if point.group == "labelinf"}
    return frozenset({"labelinf", "labelinf_core"} | named)


def unquoted(error: BaseException) -> str:
    """Write an exception as its type and its place: its own words may hold what whoever raised it was handed.

    Only sentences of labelinf's own, and Python's names of modules that are missing, are repeated.
    """
    while error.__cause__ is not None and (isinstance(error, ComponentError) or not own_words(error)):
        error = error.__cause__
    if own_words(error):
        return clean(error)
    if type(error) is ModuleNotFoundError and error.name:
        return f"ModuleNotFoundError: No module named {clean(error.name, 100)!r}"
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" in {trace.tb_frame.f_globals.get('__name__')}, line {trace.tb_lineno}" if trace is not None else ""
    return clean(f"{named(error)}{place}")


def named(error: BaseException) -> str:
    """Return the name of an exception's type, if it stands in a module: what is named while it runs may hold labels."""
    kind = type(error)
    written = getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind
    return kind.__name__ if written else "an exception"


@contextlib.contextmanager
def attribute_errors(component: object, *passing: type[Exception], quote: bool = True) -> Iterator[None]:
    """Make whatever is raised inside a failure of ``component``, unless an inner component or the user is to blame.

    Args:
        component: Whose code is about to run.
        passing: What it may raise.
        quote: Whether to quote the exception's text; not where the component is handed labels, which it may hold.

    Raises:
        ComponentError: The component raised.
    """
    try:
        yield
    except ComponentError as error:
        error.component = error.component or component
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, (InputError, *passing)):
            raise
        raise ComponentError(said(error) if quote else f"it raised {named(error)}", component) from error


def is_number(value: object) -> bool:
    """Return whether ``value`` is a real number, infinities included; truth values and NaN are none."""
    return type(found := number(value)) is float and not math.isnan(found)


def number(value: Any) -> Any:
    """Return a real number as a plain float, infinite where it is too large for one; anything else as it is."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return value
    try:
        return float.__float__(value) if isinstance(value, float) else float.__float__(float(value))
    except OverflowError:
        return math.copysign(math.inf, 1 if value > 0 else -1)  # type: ignore[operator]
    except (Exception, SystemExit):
        return value


def worded(value: Any) -> Any:
    """Return a text cleaned; anything else as it is."""
    return clean(value) if isinstance(value, str) else value


def between(low: float, high: float) -> Any:
    """Return a validator of attrs that takes numbers from ``low`` to ``high``."""

    def check(instance: Any, attribute: Any, value: object) -> None:
        if not is_number(value) or not low <= number(value) <= high:
            raise ValueError(f"{attribute.name}={clean(value, 40)} must be a number from {low:g} to {high:g}.")

    return check


positive: Any = attrs.validators.and_(attrs.validators.gt(0), attrs.validators.lt(math.inf))  #: a finite number above 0


def finite(found: object, what: str) -> dict[str, float]:
    """Return named numbers as plain floats.

    Raises:
        ComponentError: ``found`` is no mapping of names to finite numbers.
    """
    if not isinstance(found, Mapping):
        raise ComponentError(f"its {what} is a {type(found).__name__}, expected named numbers")
    for name, value in found.items():
        if not is_number(value) or math.isinf(number(value)):
            raise ComponentError(f"its {what} {clean(name, 40)!r} is {clean(value, 40)}, expected a finite number")
    return {clean(name, _WORDS): number(value) for name, value in found.items()}


def sentence(value: object, what: str) -> str:
    """Return a text that a component says.

    Raises:
        ComponentError: It is no text.
    """
    if not isinstance(value, str):
        raise ComponentError(f"its {what} is a {type(value).__name__}, expected text")
    return clean(value)


def each(values: object, expected: type[T], what: str) -> tuple[T, ...]:
    """Return what a component lists.

    Raises:
        ComponentError: It is no sequence of ``expected``, whose own fields are validated where they are made.
    """
    found = tuple(itertools.islice(values, _ITEMS + 1)) if isinstance(values, Iterable) else (values,)
    if len(found) > _ITEMS:
        raise ComponentError(f"its {what} holds more than {_ITEMS} values")
    for item in found:
        if type(item) is not expected:
            raise ComponentError(f"its {what} holds a {type(item).__name__}, expected {expected.__name__}")
    return found


def guessed(guess: object, expected: type[Any], n_records: int, n_classes: int) -> NDArray[np.intp]:
    """Return the labels that an attack guessed, as a sealed array of its own, shape ``(n_records,)``.

    Args:
        guess: What the attack returned.
        expected: The class it has to be of.
        n_records: N.
        n_classes: K.

    Raises:
        ComponentError: They are not one class 0..K-1, or ``ABSTAIN``, per record, in integers.
    """
    labels = _guess_of(guess, expected)
    if labels.shape != (n_records,):
        raise ComponentError(f"it guessed an array of shape {labels.shape}, expected ({n_records},)")
    return sealed(_classes(labels, n_classes))


def guessed_values(guess: object, expected: type[Any], n_values: int) -> NDArray[np.float64]:
    """Return the real numbers that an attack guessed, NaN where it abstains, as :func:`guessed` returns classes.

    Raises:
        ComponentError: They are not one number per value.
    """
    import numpy as np

    values = _guess_of(guess, expected)
    if values.shape != (n_values,):
        raise ComponentError(f"it guessed an array of shape {values.shape}, expected ({n_values},)")
    if values.dtype.kind not in "fiu":
        raise ComponentError(f"it guessed values of type {values.dtype}, expected real numbers")
    return sealed(values.astype(np.float64))


def guessed_set(guess: object, expected: type[Any], n_classes: int) -> NDArray[np.intp]:
    """Return the classes that an attack guessed to occur, in order; -1 names none.

    Raises:
        ComponentError: They are not classes 0..K-1, each once.
    """
    import numpy as np

    named = _guess_of(guess, expected)
    if named.ndim != 1:
        raise ComponentError(f"it guessed an array of shape {named.shape}, expected one row of classes")
    named = _classes(named, n_classes) if named.size else np.empty(0, dtype=np.intp)
    members = np.unique(named[named != _ABSTAIN])
    if members.size != np.count_nonzero(named != _ABSTAIN):
        raise ComponentError("it guessed a set that names a class twice")
    return sealed(members)


def _guess_of(guess: object, expected: type[Any]) -> NDArray[Any]:
    import numpy as np

    if not isinstance(guess, expected):
        raise ComponentError(f"it returned a {type(guess).__name__}, expected {expected.__name__}")
    try:
        return np.array(guess.labels, subok=False)
    except (Exception, SystemExit) as error:
        raise ComponentError(f"its guess is no array ({type(error).__name__})") from error


def _classes(labels: NDArray[Any], n_classes: int) -> NDArray[np.intp]:
    import numpy as np

    if labels.dtype.kind not in "iu":
        raise ComponentError(f"it guessed values of type {labels.dtype}, expected integers")
    strange = (labels != _ABSTAIN) & ((labels < 0) | (labels >= n_classes))
    if strange.any():
        raise ComponentError(f"it guessed {labels[strange][0]}, expected classes 0 to {n_classes - 1} or -1 to abstain")
    return labels.astype(np.intp)


def numbers_of(found: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of finite numbers that a component hands on, as it is.

    Raises:
        ComponentError: It is something else, or of another shape.
    """
    import numpy as np

    if type(found) is not np.ndarray or found.dtype.kind not in "fiu":
        raise ComponentError(f"it returned a {type(found).__name__}, expected an array of numbers")
    if found.shape != shape:
        raise ComponentError(f"it returned an array of shape {found.shape}, expected {shape}")
    if not np.isfinite(found).all():
        raise ComponentError("it returned numbers that are not finite")
    return found


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of ``array`` that can never be written to: its memory is an immutable ``bytes`` object."""
    import numpy as np

    return np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=array.dtype).reshape(array.shape)


def seal(record: T) -> T:
    """Return a frozen attrs object with every array in it sealed."""
    import attrs
    import numpy as np

    held: Any = record
    fields = {field.alias: getattr(held, field.name) for field in attrs.fields(type(held))}
    arrays = {name: sealed(value) for name, value in fields.items() if isinstance(value, np.ndarray)}
    evolved: T = attrs.evolve(held, **arrays)
    return evolved


def evidence(found: object) -> dict[str, Any]:
    """Return what an attack says for itself as plain data: numbers, short texts, small collections of them.

    Raises:
        ComponentError: It is something else, nests too deeply or holds too much.
    """
    if not isinstance(found, Mapping):
        raise ComponentError(f"its evidence is a {type(found).__name__}, expected named numbers and short texts")
    left = [_ITEMS]
    return {clean(key, _WORDS): _plain(value, clean(key, _WORDS), _DEPTH, left) for key, value in found.items()}


def _plain(value: Any, name: str, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        raise ComponentError(f"its evidence holds more than {_ITEMS} values; a summary is enough")
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        if getattr(value, "size", 1) > _ITEMS:
            raise ComponentError(f"its evidence {name!r} holds more than {_ITEMS} values; a summary is enough")
        value = value.tolist()
    if isinstance(value, Mapping | list | tuple):
        if depth == 0:
            raise ComponentError(f"its evidence {name!r} nests more than {_DEPTH} deep")
        if isinstance(value, Mapping):
            return {clean(key, _WORDS): _plain(item, name, depth - 1, left) for key, item in value.items()}
        return [_plain(item, name, depth - 1, left) for item in value]
    return _scalar(value, name)


def _scalar(value: object, name: str) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        whole = int.__add__(value, 0)  # a subclass may say otherwise
        return whole if abs(whole) < _LARGEST else f"about 2**{whole.bit_length()}"
    if isinstance(value, float):
        exact = float.__float__(value)
        return exact if math.isfinite(exact) else str(exact)
    if isinstance(value, str):
        return clean(value, _WORDS)
    raise ComponentError(f"its evidence {name!r} is a {type(value).__name__}, expected a number or a short text")

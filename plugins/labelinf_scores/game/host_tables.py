"""A host's own tables: her solution and a sample submission, and the function that scores one against the other.

Columns that both tables have are what is predicted, but for the one that names the rows. All other columns of the
solution are public, and are handed to the function as they are. Where the solution says which rows count (``Usage``),
the function is given those that are public, and that column only where it takes nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import ComponentError, InputError
from labelinf_core.contracts.gate import named
from labelinf_core.contracts.regular import open_regular
from labelinf_core.plugin.worker import Aside
from labelinf_core.report import words
from labelinf_scores.game.begun import Begun, loaded_anew
from labelinf_scores.game.host_files import HostError
from labelinf_scores.game.signatures import ArgumentForm, Signature, signature_of
from labelinf_scores.simulation.simulator import as_vector

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HostTable", "private_columns", "read_table"]

_FEW = 30  # numbers that may be classes, however few rows there are
_MOST = 500  # classes


@attrs.frozen(kw_only=True, eq=False)
class HostTable:
    """Labels in a host's tables.

    Attributes:
        signature: The host's function, and what it takes.
        solution: Its rows that count, in the order of the sample's.
        sample: A submission.
        key: The column that names the rows.
        targets: The solution's columns that are private.
        columns: The submission's columns that are predicted.
        values: What a label can be; empty: any number.
        one_hot: Whether every row has one of the targets: a class a row.
        left_out: Rows that do not count.
    """

    signature: Signature
    solution: pd.DataFrame = attrs.field(repr=False)
    sample: pd.DataFrame = attrs.field(repr=False)
    key: str
    targets: tuple[str, ...]
    columns: tuple[str, ...]
    values: NDArray[Any] = attrs.field(repr=False)
    one_hot: bool
    left_out: int
    _aside: Aside = attrs.field(init=False, repr=False)

    @_aside.default
    def _asked_aside(self) -> Aside:
        return Aside(name="the grader", function=self._called)

    @classmethod
    def of_tables(
        cls, function: Any, true: pd.DataFrame, shown: pd.DataFrame, targets: Sequence[str] = ()
    ) -> HostTable:
        """Put both tables together.

        Args:
            function: A scorer, as :mod:`labelinf_scores.game.signatures` takes it: of both tables, or of an array of
                each.
            true: The solution.
            shown: A sample submission.
            targets: The private columns, where they are not those that both tables have.

        Raises:
            InputError: They do not belong together, or no label is found in them.
        """
        key = _key(true, shown)
        usage = next((name for name in true if str(name).lower() == "usage"), None)
        counts = np.ones(len(true), dtype=bool)
        if usage is not None:
            counts = true[usage].astype(str).str.lower().eq("public").to_numpy()
        if not counts.any():
            raise InputError(f"no row of the solution is public: {usage} must say Public in the rows that are scored.")
        true = true[counts].reset_index(drop=True)
        shown = shown.set_index(key).loc[true[key]].reset_index()
        whole, true = true, true if usage is None else true.drop(columns=usage)
        private, predicted = _columns(true, shown, key, targets)
        block = true[list(private)].to_numpy()
        one_hot = len(private) > 1 and bool(np.isin(block, (0, 1)).all() and (block.sum(axis=1) == 1).all())
        try:
            signature = signature_of(function)
        except HostError as error:
            raise InputError(f"the grader {error}") from None
        table = cls(
            signature=signature,
            solution=true,
            sample=shown,
            key=key,
            targets=private,
            columns=predicted,
            values=np.arange(len(private)) if one_hot else _values(block),
            one_hot=one_hot,
            left_out=int((~counts).sum()),
        )
        tables = [table, *([attrs.evolve(table, solution=whole)] if usage is not None else [])]
        try:
            settled = [attrs.evolve(each, signature=signature.settled(each._accepts)) for each in tables]
            return next((each for each in settled if each._accepts(each.signature)), settled[0])
        except ComponentError:  # it hangs, or ends its process: who plays it is told
            return table

    def _accepts(self, signature: Signature) -> bool:
        """Whether a scorer has an answer about made labels and the sample when it is so called."""
        labels = np.random.default_rng(0).permutation(self.truth)
        asked = attrs.evolve(self, signature=signature)
        return bool(np.isfinite(asked.answer(labels, self.predicted)).all())

    @property
    def places(self) -> int:
        """How many labels there are."""
        return len(self.solution) * (1 if self.one_hot else len(self.targets))

    @property
    def truth(self) -> NDArray[Any]:
        """The labels: a class for every place, or a number where any is possible."""
        block = self.solution[list(self.targets)].to_numpy()
        if self.one_hot:
            return np.asarray(block.argmax(axis=1))
        flat = block.ravel()
        return np.asarray(np.searchsorted(self.values, flat) if self.values.size else flat.astype(np.float64))

    @property
    def predicted(self) -> NDArray[Any]:
        """The sample's predictions, a row for every row of the solution."""
        return np.asarray(self.sample[list(self.columns)].to_numpy())

    def answer(self, labels: NDArray[Any], rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return what the host's function says of labels and predictions, as numbers; not a number where it raises."""
        return np.array(self._aside(labels, rows), dtype=np.float64)

    def begun(self) -> Begun:
        """Return the host's function as :meth:`answer` has it, on its first day."""
        return Begun(name="the grader", load=self._begun)

    def _begun(self) -> Callable[..., Any]:
        function = self.signature.function
        module, path = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
        if getattr(sys.modules.get(module), path, None) is not function:  # nobody knows where it is from
            return self._called
        signature = attrs.evolve(self.signature, function=loaded_anew(module, path))
        return attrs.evolve(self, signature=signature)._called

    def trouble(self, labels: NDArray[Any], rows: NDArray[Any]) -> str:
        """Return what goes wrong where nothing is scored, by its kind: the function's own words may hold labels."""
        try:
            return str(Aside(name="the grader", function=self._complaint)(labels, rows))
        except ComponentError as error:
            return str(error)

    def _called(self, labels: NDArray[Any], rows: NDArray[Any]) -> list[float]:
        try:
            return [float(number) for number in as_vector(self._scored(labels, rows))]
        except Exception:  # what it says may hold labels; that it refuses is an answer
            return [float("nan")]

    def _complaint(self, labels: NDArray[Any], rows: NDArray[Any]) -> str:
        try:
            return f"it returned {type(self._scored(labels, rows)).__name__}, without a finite number"
        except HostError as error:
            return f"it {error}".removesuffix(".")
        except Exception as error:
            return f"it raised {named(error)}"

    def _scored(self, labels: NDArray[Any], rows: NDArray[Any]) -> Any:
        """Call the host's function with her tables, these labels and predictions in the place of hers."""
        n = len(self.solution)
        true, shown = self.solution.copy(), self.sample.copy()
        if self.one_hot:
            block: NDArray[Any] = np.eye(len(self.targets), dtype=self.solution[self.targets[0]].dtype)[labels]
        else:
            block = (self.values[labels] if self.values.size else labels).reshape(n, -1)
        for at, name in enumerate(self.targets):
            true[name] = block[:, at]
        predictions = rows.reshape(n, -1)
        for at, name in enumerate(self.columns):
            shown[name] = predictions[:, at]
        if self.signature.form in (ArgumentForm.FRAMES, ArgumentForm.FILES):
            return self.signature(true, shown, self.key)
        pair = (true[list(self.targets)], shown[list(self.columns)])
        return self.signature(*(table.to_numpy().squeeze() for table in pair))


def private_columns(true: pd.DataFrame, shown: pd.DataFrame) -> tuple[str, ...]:
    """Return the private columns of a solution, by a sample submission.

    Raises:
        InputError: They do not belong together.
    """
    return _columns(true, shown, _key(true, shown), ())[0]


def read_table(path: Path) -> pd.DataFrame:
    """Read a host's CSV file.

    Raises:
        InputError: It is none, or has nothing in it; or pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise InputError("a function of tables needs pandas: pip install 'labelinf[frame]'.") from None
    try:
        with open_regular(path) as file:
            table = pd.read_csv(file)
            file.seek(0)
            texts = pd.read_csv(file, dtype=str)
        led = [name for name in table if table[name].dtype.kind in "iu" and texts[name].str.match(r"0\d").any()]
        table[led] = texts[led]  # 007 is no number
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a CSV file.") from None
    except (ValueError, pd.errors.ParserError):  # its text may quote a row
        raise InputError(f"{path}: is no CSV table with a line of column names.") from None
    if len(table.columns) < 2:
        raise InputError(f"{path}: has one column, and needs that of the rows and a label; are commas its separators?")
    if table.empty:
        raise InputError(f"{path}: has no rows.")
    return table


def _key(true: pd.DataFrame, shown: pd.DataFrame) -> str:
    """Return the column whose values name the rows of both."""
    both = [name for name in shown.columns if name in true]
    for name in both:
        if true[name].is_unique and shown[name].is_unique and true[name].isin(shown[name]).all():
            return str(name)
    why = [f"{name!r} {_unfit(true[name], shown[name])}" for name in both]
    raise InputError(
        "the solution and the sample submission must share a column that names their rows; "
        + ("; ".join(why) if why else f"the solution has none of the sample's: {_named(shown.columns)}")
        + "."
    )


def _unfit(true: pd.Series[Any], shown: pd.Series[Any]) -> str:
    """Say why a column does not name the rows."""
    for column, table in ((true, "solution"), (shown, "sample")):
        if again := int(column.duplicated().sum()):
            return f"repeats itself in {words.count(again, 'row')} of the {table}"
    return f"lacks {words.count(int((~true.isin(shown)).sum()), 'row')} of the solution in the sample"


def _named(columns: Iterable[Any]) -> str:
    """Quote names of the sample's: of a solution without a line of names, they would be a row of labels."""
    return ", ".join(map(repr, columns))


def _columns(
    true: pd.DataFrame, shown: pd.DataFrame, key: str, targets: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the private columns, and those that predict them."""
    absent = [name for name in targets if name not in true]
    if absent:
        both = _named(name for name in true if name in shown)
        raise InputError(f"the solution has no column {absent[0]!r}; of the sample's it has {both}.")
    shared = [str(name) for name in true if name in shown and name != key]
    private = tuple(targets) or tuple(shared)
    others = [str(name) for name in shown if name != key and name not in true]
    if not private and others and len(true.columns) == 2:
        private = tuple(str(name) for name in true if name != key)
    if not private:
        raise InputError(
            "the solution and the sample submission share no column but that of the rows; say which of the solution's "
            "are private: --target NAME."
        )
    predicted = tuple(name for name in private if name in shown) or tuple(others)
    if not predicted:
        raise InputError("the sample submission predicts nothing: it has no column but those of the solution.")
    return private, predicted


def _values(block: NDArray[Any]) -> NDArray[Any]:
    """Return what a label can be; nothing where it can be any number."""
    try:
        values = np.unique(block.ravel())
        empty = values.dtype.kind == "f" and bool(np.isnan(values).any())
    except TypeError:
        empty = True
    if empty:
        raise InputError(
            "a private column has empty cells (NA, None and the like are read as such), or numbers beside texts; "
            "leave these rows out, or give them a label."
        )
    whole = values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == np.rint(values)).all()))
    # Class numbers, as long as many rows share theirs; fractions that hardly any two rows share are none.
    few = values.size <= (_FEW if whole or values.size <= block.size * 0.8 else 1)
    if values.dtype.kind in "fiu" and not few and values.size > block.size * (0.8 if whole else 0.25):
        return values[:0]
    if values.size > _MOST:
        raise InputError(f"the private columns have {values.size} different values; at most {_MOST} can be classes.")
    return values

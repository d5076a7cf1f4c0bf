"""What every result can do: say its answer, become a table, draw itself, show itself in a notebook."""

from __future__ import annotations

import abc
import functools
import html
import itertools
from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from labelinf_core.report.progress import waiting

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from labelinf_core.contracts.pictures import Picture

__all__ = ["WIDTH", "ShownResult", "shows"]

P = ParamSpec("P")
T = TypeVar("T")

WIDTH = 100  #: columns of an answer in words


def shows(doing: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator: while the function works, a terminal and a notebook show what it is at."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            with waiting(doing):
                return function(*args, **kwargs)

        return call

    return decorated


class ShownResult(abc.ABC):
    """A result: the answer first, then the rows, then the pictures."""

    @abc.abstractmethod
    def lines(self) -> Iterator[str]:
        """Yield the answer in words, a line each."""

    @abc.abstractmethod
    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield what is behind it, a row each."""

    def pictures(self) -> Iterator[Picture]:
        """Yield what can be drawn of it; nothing, unless a result says what."""
        yield from ()

    def frame(self) -> pd.DataFrame:
        """Return the rows as a table.

        Raises:
            InputError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise _missing("pandas", "frame") from error
        return pd.DataFrame([dict(row) for row in self.rows()])

    def plot(self, panel: int | Literal["all"] = 0, size: tuple[float, float] = (3.4, 2.7)) -> Figure:
        """Return one panel as a matplotlib figure that fits a column of a paper, or all of them, below each other.

        Args:
            panel: Which, counted from 0; or ``"all"``.
            size: Width and height of a panel in inches.

        Raises:
            InputError: matplotlib is not installed, there is no such panel, or that is no size.
        """
        from labelinf_core.contracts.errors import InputError

        every = list(self.pictures())
        if panel != "all" and panel not in range(max(1, len(every))):
            raise InputError(f"panel={panel!r} must be one of 0 to {max(0, len(every) - 1)}, or 'all'.")
        numbers = size if isinstance(size, tuple | list) and len(size) == 2 else (0, 0)
        if not all(isinstance(number, Real) and 0.5 <= number <= 100 for number in numbers):
            raise InputError(f"size={size!r} must be two numbers of inches from 0.5 to 100, such as (3.4, 2.7).")
        try:
            from labelinf.plots import drawn
        except ImportError as error:
            raise _missing("matplotlib", "plot") from error
        return drawn(every if panel == "all" else every[panel : panel + 1], size)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the answer, and the pictures as SVG."""
        from labelinf_core.report.svg import as_svg

        names = (f"p{id(self)}-{at}" for at in itertools.count())
        drawn = "".join(as_svg(picture, name=next(names), alone=True) for picture in self.pictures())
        return f'<pre>{html.escape(str(self))}</pre><div style="max-width: 46rem">{drawn}</div>'


def _missing(library: str, extra: str) -> Exception:
    from labelinf_core.contracts.errors import InputError

    return InputError(f".{extra}() needs {library}: pip install 'labelinf[{extra}]'.")

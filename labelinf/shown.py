"""What every result can do: say its answer, become a table, draw itself, show itself in a notebook."""

from __future__ import annotations

import abc
import html
import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from labelinf_core.contracts.pictures import Picture

__all__ = ["WIDTH", "ShownResult"]

WIDTH = 100  #: columns of an answer in words


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

    def plot(self) -> Figure:
        """Return the pictures as one matplotlib figure, below each other.

        Raises:
            InputError: matplotlib is not installed.
        """
        try:
            from labelinf.plots import drawn
        except ImportError as error:
            raise _missing("matplotlib", "plot") from error
        return drawn(list(self.pictures()))

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

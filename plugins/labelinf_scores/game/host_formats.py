"""Scorers as hosts of competitions and libraries write them, called with made labels and predictions.

:mod:`labelinf_scores.game.signatures` says what a scorer takes. Tables are made for those that want some: Kaggle's
``score(solution, submission, row_id_column_name)`` and ``grade(submission, answers)`` of MLE-bench get data frames,
``evaluate(test_annotation_file, user_submission_file, phase_codename, **kwargs)`` of EvalAI two CSV files; the numbers
in its ``result`` count. Programs that read and write files are run by :mod:`labelinf_scores.game.host_programs`.

Labels are called ``label`` (``target`` in data frames), predictions of one column ``prediction`` (``target``), unless
the scorer is named with a column, as in ``module:function@column``; others by the number of their class. Rows are
called ``row_id`` for a function that is told so, else ``id``. Of several numbers that have names, one is scored
(:func:`one_of`).
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.game.host_files import HostError, columns_of
from labelinf_scores.game.signatures import ArgumentForm, Signature, signature_of

__all__ = ["HostFunction", "as_called", "one_of"]

_SEVERAL = 8  # numbers that a tuple may hold; more are taken for labels


@attrs.frozen(kw_only=True)
class HostFunction:
    """A host's scorer as one of arrays of labels and predictions.

    Attributes:
        origin: What was named.
        signature: What it takes.
        column: What labels and predictions of one column are called in its tables; empty: as said above.
    """

    origin: Any = attrs.field(repr=False)
    signature: Signature
    column: str = ""

    def __call__(self, labels: NDArray[Any], predictions: NDArray[Any]) -> Any:
        """Return its answer.

        Raises:
            HostError: It wants other columns, or what is not installed.
            Exception: Whatever it raises.
        """
        form = self.signature.form
        if form not in (ArgumentForm.FRAMES, ArgumentForm.FILES):
            return self.signature(labels, predictions)
        usual = ("target", "target") if form is ArgumentForm.FRAMES else ("label", "prediction")
        truth, guess = (self.column, self.column) if self.column else usual
        key = "row_id" if self.signature.takes_key else "id"
        ids, wide = np.arange(labels.size), form is ArgumentForm.FRAMES and predictions.ndim == 2
        true = columns_of(np.eye(predictions.shape[1])[labels], "") if wide else {truth: labels}
        shown = {key: ids[: len(predictions)], **columns_of(predictions, guess)}
        try:
            answer = self.signature({key: ids, **true}, shown, key)
            return {"": answer["result"]} if form is ArgumentForm.FILES else answer
        except (KeyError, AttributeError) as error:  # which key, may be a label
            told = " and ".join(dict.fromkeys(map(repr, (truth, guess))))
            raise HostError(
                f"raised {type(error).__name__}; in its tables labels and predictions are called {told}: "
                f"if it wants another name, add that, as in MODULE:FUNCTION@NAME."
            ) from error


def as_called(scorer: Any, column: str = "") -> HostFunction:
    """Return a host's scorer as a function of labels and predictions.

    Args:
        scorer: A function, an object that scores or a class of such objects.
        column: What labels and predictions of one column are called in its tables; empty: as said above.

    Raises:
        HostError: It is a class that makes no object without arguments.
    """
    return HostFunction(origin=scorer, signature=signature_of(scorer), column=column)


def one_of(found: Any, name: str) -> tuple[Any, tuple[str, ...]]:
    """Return the number that is meant of what a scorer returned, and what all are called where there are several.

    Args:
        found: A number, a few in a tuple, or numbers by name, which may be nested as EvalAI nests them.
        name: Of the one that is meant; empty: the first.

    Raises:
        KeyError: There is none of that name; its argument lists those that there are.
    """
    if isinstance(found, tuple) and 1 < len(found) <= _SEVERAL:
        found = {str(place): number for place, number in enumerate(found)}
    if not isinstance(found, Mapping):
        return found, ()
    told = list(_named(found, ()))
    short = [path[-1] for path, _ in told]
    # The last part of a name tells numbers apart, or the whole of it does, or their places do.
    names = short if len(set(short)) == len(short) else [".".join(path) for path, _ in told]
    names = names if len(set(names)) == len(names) else [f"{each}.{place}" for place, each in enumerate(names)]
    if not told or (name and name not in names):
        raise KeyError(", ".join(names))
    return told[names.index(name) if name else 0][1], tuple(names) if len(names) > 1 else ()


def _named(found: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every number in what may be nested, with the names that lead to it."""
    if isinstance(found, Mapping):
        for key, value in found.items():
            yield from _named(value, (*path, str(key)) if key else path)
    elif isinstance(found, (list, tuple)):
        for value in found:
            yield from _named(value, path)
    elif isinstance(found, numbers.Real) and not isinstance(found, bool):
        yield path or ("score",), found

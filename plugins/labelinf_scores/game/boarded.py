"""A host's own function as a board calls it: the module that is written beside it, and what a board must know of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_scores.game.asked import Naming
from labelinf_scores.game.host_formats import HostFunction
from labelinf_scores.game.host_tables import HostTable
from labelinf_scores.game.likeness import Likeness
from labelinf_scores.game.scorers import ImportedScorer
from labelinf_scores.game.signatures import ArgumentForm, ArgumentRole, Signature
from labelinf_scores.game.solution import Solution
from labelinf_scores.metrics.unnamed import Unnamed
from labelinf_scores.simulation.formats import Classes, Columns

__all__ = ["MODULE", "OwnScorer", "of_arrays", "of_tables", "sure"]

MODULE = "labelinf_board"  #: what calls it, beside it
_SURE = 0.99  # of a class, where a submission is sure of it

_ARRAYS = '''"""{scorer} as the board calls it: with the numbers of classes, and {predictions}."""

import numpy as np
from {module} import {function} as own

CALLED = np.array({called!r})


def score(labels, rows):
    """Return the score of one submission."""
    return own({arguments})
'''

_TABLES = '''"""{scorer} as the board calls it: with tables of the rows that are scored, and {predictions}."""

from pathlib import Path

import numpy as np
from labelinf_scores.game.host_tables import read_table
from {module} import {function} as own

TABLE = read_table(Path(__file__).with_name("table.csv"))  # all rows by their ids, with the first class as every label
CALLED = np.array({called!r})


def score(labels, rows, places):
    """Return the score of one submission; places are the rows of the table that are scored."""
    solution = TABLE.iloc[places].reset_index(drop=True)
    submission = solution[[{key!r}]].copy()
    solution[{label!r}] = CALLED[labels]
    submission[{column!r}] = {rows}
    return own({arguments})
'''


@attrs.frozen(kw_only=True)
class OwnScorer:
    """A host's function, and what a board must know of it.

    Attributes:
        scorer: ``module:function``.
        files: What is written beside it, by name: the module that calls it, and its table without labels.
        n_classes: K.
        classes: Whether predictions are classes; else probabilities.
        minimise: Whether smaller scores are better.
        labels: Made labels,
        places: and the numbers of their rows among the sorted ids.
        answer: What it answers here to made labels and to probabilities as a board has them; nan: no number.
        answers: What it answered before.
    """

    scorer: str
    files: dict[str, str]
    n_classes: int
    classes: bool
    minimise: bool
    labels: NDArray[np.intp]
    places: NDArray[np.intp]
    answer: Callable[[NDArray[np.float64]], float]
    answers: Sequence[float] = ()

    def range(self) -> tuple[float, float]:
        """Return a range that holds all answers, those to all right and to all wrong too, and a tenth more.

        A score beyond it counts as its end: that costs a participant something, and tells nobody anything.
        """
        answers = [self.answer(sure(self.labels, shift, self.n_classes)) for shift in range(self.n_classes)]
        known = [answer for answer in (*answers, *self.answers) if math.isfinite(answer)]
        if not known:
            raise InputError(f"{self.scorer} answered no number on made labels: no files deploy it.")
        more = 0.1 * (max(known) - min(known)) or 1.0
        return round(min(known) - more, 6), round(max(known) + more, 6)


def of_arrays(scorer: str, likeness: Likeness) -> OwnScorer:
    """Return a function of arrays or lists as a board calls it.

    Raises:
        InputError: It takes what no board has.
    """
    host, metric, (labels, _, _) = likeness.asked.host, likeness.metric, likeness.first
    function = host.function if isinstance(host, ImportedScorer) else None
    signature = function.signature if isinstance(function, HostFunction) else None
    if signature is None or signature.form not in (ArgumentForm.ARRAYS, ArgumentForm.LISTS) or signature.lacking:
        raise InputError(f"{scorer} takes tensors or files, which no board has: no files deploy it.")
    form = getattr(metric, "form", None)
    rows, told = "rows[:, -1]", "the probability of the last class"
    if isinstance(form, Classes):
        rows, told = "CALLED[rows]", "classes by their names"
    elif isinstance(form, Columns) or likeness.asked.naming is Naming.COLUMNS:
        rows, told = "rows", "a column for every class"

    def answer(given: NDArray[np.float64]) -> float:
        found = likeness.asked.tried(labels, metric.honest(given) if isinstance(metric, Unnamed) else given[:, -1])
        return math.nan if found is None else float(found)

    ending = ".tolist()" if signature.form is ArgumentForm.LISTS else ""
    arguments = f"CALLED[labels]{ending}", f"{rows}{ending}"
    return OwnScorer(
        scorer=scorer,
        files=_module(_ARRAYS, scorer, signature, arguments, called=likeness.asked.called.tolist(), predictions=told),
        n_classes=likeness.asked.data.n_classes,
        classes=isinstance(form, Classes),
        minimise=not metric.higher,
        labels=labels,
        places=np.arange(labels.size),
        answer=answer,
        answers=likeness.answers.ravel().tolist(),
    )


def of_tables(scorer: str, solution: Solution, table: HostTable, names: tuple[str, ...]) -> OwnScorer:
    """Return a function of the host's tables as a board calls it; of the predictions it takes, probabilities go first.

    Args:
        scorer: ``module:function``.
        solution: Her rows, public and sealed.
        table: The tables that it was audited with.
        names: Of the classes.

    Raises:
        InputError: It takes what no board has.
    """
    signature, values, n_classes = table.signature, table.values, len(names)
    one = len(table.targets) == len(table.columns) == 1 and values.size == n_classes
    if signature.form is not ArgumentForm.FRAMES or not one or table.key != solution.key:
        raise InputError(
            f"{scorer}: a board runs a function of data frames whose rows one column names, with one column of classes "
            "and one of predictions. No files deploy this."
        )
    places = {name: at for at, name in enumerate(sorted(solution.ids))}
    labels = np.random.default_rng(0).permutation(table.truth)

    def told(sent: NDArray[Any]) -> float:
        found = table.answer(labels, sent)
        return float(found[0]) if found.size == 1 else math.nan

    classes = n_classes > 2 or not math.isfinite(told(np.random.default_rng(1).uniform(size=labels.size)))

    def answer(given: NDArray[np.float64]) -> float:
        return told(values[given.argmax(axis=1)] if classes else given[:, -1])

    adapter = _module(
        _TABLES,
        scorer,
        signature,
        ("solution", "submission", repr(table.key)),
        called=values.tolist(),
        predictions="classes as labels are called" if classes else "the probability of the last class",
        rows="CALLED[rows]" if classes else "rows[:, -1]",
        key=table.key,
        label=table.targets[0],
        column=table.columns[0],
    )
    blank = solution.without_labels(tuple(map(str, table.solution.columns)), names[0])
    return OwnScorer(
        scorer=scorer,
        files={**adapter, "table.csv": blank},
        n_classes=n_classes,
        classes=classes,
        minimise=answer(sure(labels, 0, n_classes)) < answer(sure(labels, 1, n_classes)),
        labels=labels,
        places=np.array([places.get(name, 0) for name in table.solution[table.key].astype(str)], dtype=np.intp),
        answer=answer,
    )


def sure(labels: NDArray[np.intp], shift: int, n_classes: int) -> NDArray[np.float64]:
    """Return a submission that is sure of a class ``shift`` from the labels, as a board has it."""
    rows = np.full((labels.size, n_classes), (1 - _SURE) / (n_classes - 1))
    rows[np.arange(labels.size), (labels + shift) % n_classes] = _SURE
    return rows


def _module(code: str, scorer: str, signature: Signature, given: Sequence[str], **parts: object) -> dict[str, str]:
    """Return the module that calls a function, by its name; given are its labels, its predictions and its key."""
    module, _, function = scorer.partition(":")
    sides = dict(zip((ArgumentRole.LABELS, ArgumentRole.PREDICTIONS, ArgumentRole.KEY), given, strict=False))
    named = ((name, sides[role]) for name, role in signature.roles.items())
    arguments = ", ".join(f"{name}={text}" if signature.keywords else text for name, text in named)
    return {f"{MODULE}.py": code.format(scorer=scorer, module=module, function=function, arguments=arguments, **parts)}

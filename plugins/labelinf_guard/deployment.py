"""A remedy as files: labels, ``board.toml``, the host's function as the board calls it, and begun."""

from __future__ import annotations

import csv
import io
import math
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.checked import CheckQuestion
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.specs.faults import strict_converter
from labelinf_core.specs.own_code import copy_code
from labelinf_data.table import read_rows
from labelinf_guard.board import Board
from labelinf_guard.certificate.statement import points
from labelinf_guard.files import write_private
from labelinf_guard.metrics import UnscorableError
from labelinf_guard.policy import BoardPart, Policy
from labelinf_guard.recommendation import toml
from labelinf_guard.remedy import BoardRemedy
from labelinf_guard.scoring import OwnMetric
from labelinf_guard.terms import metric_of
from labelinf_scores.game.asked import Naming
from labelinf_scores.game.host_formats import HostFunction
from labelinf_scores.game.likeness import Likeness
from labelinf_scores.game.scorers import ImportedScorer
from labelinf_scores.game.signatures import ArgumentForm, ArgumentRole
from labelinf_scores.metrics.unnamed import Unnamed
from labelinf_scores.simulation.formats import Classes, Columns

__all__ = ["deployed_board"]

_VALUES = 1e6  # of a score, that a board predicts quickly
_MODULE = "labelinf_board"

_ADAPTER = '''"""{scorer} as the board calls it: with the numbers of classes, and {predictions}."""

import numpy as np
from {module} import {function} as own

CALLED = np.array({called!r})


def score(labels, rows):
    """Return the score of one submission."""
    return own({arguments})
'''


def deployed_board(folder: Path, asked: CheckQuestion, scorer: str, remedy: BoardRemedy) -> tuple[str, str]:
    """Write a board into an empty folder, see that it scores, and begin it.

    Returns:
        What was written, and the command that serves it.

    Raises:
        InputError: The board cannot be begun.
    """
    assert remedy.worth is not None
    data, likeness = remedy.report.data, remedy.report.found
    policy = strict_converter().structure(tomllib.loads(remedy.worth.board), Policy)
    part = attrs.evolve(policy.board, classes=list(data.class_names), title=f"{data.title}, guarded")
    policy = attrs.evolve(policy, board=part)
    if remedy.own:
        if likeness is None:
            raise InputError(f"{scorer} answers no one number: no files deploy this.")
        policy = _of_own(folder, asked, scorer, policy, likeness)
    write_private(folder / "labels.csv", _table(asked, data).encode())
    board = folder / "board.toml"
    board.write_text(toml(policy), encoding="utf-8")
    if remedy.own and likeness is not None:
        _see_that_it_scores(policy, folder, likeness)
    with closing(Board.init(board)) as begun:
        proved, expected = begun.recommendation().proves, begun.expected
    columns = ("prediction",) if expected.classes_predicted else expected.classes
    return (
        f"begun: {board}; attackers gain at most {points(proved)} points. Its folder holds the labels: keep it to "
        f"yourself. A submission is a CSV file with the columns id, {', '.join(columns)}.",
        f"labelinf guard serve {board}",
    )


def _of_own(folder: Path, asked: CheckQuestion, scorer: str, policy: Policy, likeness: Likeness) -> Policy:
    """Write what calls the host's function, and return the policy of a board that runs it.

    Raises:
        InputError: It takes what no board has.
    """
    module, _, function = scorer.partition(":")
    host = likeness.asked.host
    function_of = host.function if isinstance(host, ImportedScorer) else None
    signature = function_of.signature if isinstance(function_of, HostFunction) else None
    if signature is None or signature.form not in (ArgumentForm.ARRAYS, ArgumentForm.LISTS) or signature.lacking:
        raise InputError(f"{scorer} takes tables, tensors or files, which no board has: no files deploy it.")
    copy_code(module, asked.home, folder)  # a board finds its scorer beside it
    classes, (rows, told) = _classes(likeness), _rows(likeness)
    ending = ".tolist()" if signature.form is ArgumentForm.LISTS else ""
    sides = {ArgumentRole.LABELS: f"CALLED[labels]{ending}", ArgumentRole.PREDICTIONS: f"{rows}{ending}"}
    arguments = [
        f"{name}={sides[role]}" if signature.keywords else sides[role] for name, role in signature.roles.items()
    ]
    adapter = folder / f"{_MODULE}.py"
    if adapter.exists():
        raise InputError(
            f"{scorer} needs a module of yours called {_MODULE}, which a board writes: call yours otherwise."
        )
    adapter.write_text(
        _ADAPTER.format(
            scorer=scorer,
            predictions=told,
            module=module,
            function=function,
            called=likeness.asked.called.tolist(),
            arguments=", ".join(arguments),
        ),
        encoding="utf-8",
    )
    low, high = _range(likeness)
    steps = max(0, min(policy.release.decimals, math.floor(math.log10(_VALUES / (high - low)))))
    own = BoardPart(
        ours=f"{_MODULE}:score",
        low=low,
        high=high,
        minimise=not likeness.metric.higher,
        predicts="classes" if classes else "probabilities",
        classes=policy.board.classes,
        title=policy.board.title,
        labels=policy.board.labels,
        id=policy.board.id,
        label=policy.board.label,
    )
    return attrs.evolve(policy, release=attrs.evolve(policy.release, decimals=steps), board=own)


def _classes(likeness: Likeness) -> bool:
    return isinstance(getattr(likeness.metric, "form", None), Classes)


def _rows(likeness: Likeness) -> tuple[str, str]:
    """Return the predictions of a board as the function takes them, as code and in words."""
    if _classes(likeness):
        return "CALLED[rows]", "classes by their names"
    if isinstance(getattr(likeness.metric, "form", None), Columns) or likeness.asked.naming is Naming.COLUMNS:
        return "rows", "a column for every class"
    return "rows[:, -1]", "the probability of the last class"


def _sure(likeness: Likeness, shift: int) -> tuple[NDArray[np.float64], Any]:
    """Return a submission that is sure of a class ``shift`` from the made labels: as a board has it, and as sent."""
    labels, _, _ = likeness.first
    n_classes = likeness.asked.data.n_classes
    rows = np.full((labels.size, n_classes), 0.01 / (n_classes - 1))
    rows[np.arange(labels.size), (labels + shift) % n_classes] = 0.99
    return rows, likeness.metric.honest(rows) if isinstance(likeness.metric, Unnamed) else rows[:, -1]


def _range(likeness: Likeness) -> tuple[float, float]:
    """Return a range that holds all answers, those to all right and to all wrong too, and a tenth more.

    A score beyond it counts as its end: that costs a participant something, and tells nobody anything.
    """
    labels, _, _ = likeness.first
    answers: list[float | None] = [*likeness.answers.ravel().tolist()]
    for shift in range(likeness.asked.data.n_classes):
        answers.append(likeness.asked.tried(labels, _sure(likeness, shift)[1]))
    known = [float(answer) for answer in answers if answer is not None and math.isfinite(answer)]
    if not known:
        raise InputError("the scorer answered no number on made labels: no files deploy it.")
    more = 0.1 * (max(known) - min(known)) or 1.0
    return round(min(known) - more, 6), round(max(known) + more, 6)


def _see_that_it_scores(policy: Policy, folder: Path, likeness: Likeness) -> None:
    """Run the host's function as the board will, on made labels.

    Raises:
        InputError: It answers otherwise than it did.
    """
    labels, _, _ = likeness.first
    metric = metric_of(policy, folder)
    assert isinstance(metric, OwnMetric)
    rows, sent = _sure(likeness, 0)
    expected = likeness.asked.tried(labels, sent)
    try:
        found = metric.returned(labels, rows.argmax(axis=1) if metric.classes_predicted else rows)
    except UnscorableError:
        found = math.nan
    if expected is None or not math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-9):
        raise InputError(
            f"{policy.board.ours} does not answer in a board as it does here: it may need files beside it, or keep "
            "state. Nothing was begun."
        )


def _table(asked: CheckQuestion, data: LabelSet) -> str:
    """Return ids and labels as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("id", "label"))
    writer.writerows(zip(_ids(asked, data), (data.class_names[label] for label in data.labels.tolist()), strict=True))
    return text.getvalue()


def _ids(asked: CheckQuestion, data: LabelSet) -> list[str]:
    """Return the ids of the rows: the table's column ``id``, or the one with a name of its own for every row.

    Raises:
        InputError: Several have one; whoever takes a measurement for ids refuses what honest teams send.
    """
    numbers = list(map(str, range(data.n_records)))
    if Path(asked.table).suffix.lower() != ".csv":
        return numbers
    (_, header), *rows = read_rows(asked.table)
    columns = {name: [cells[at] for _, cells in rows] for at, name in enumerate(header) if name != asked.column}
    for name, cells in columns.items():
        if name.lower() == "id" and (len(set(cells)) < data.n_records or "" in cells):
            raise InputError(
                f"{asked.table}: column {name!r} does not name every row once, and a board needs ids that do."
            )
    own = [name for name, cells in columns.items() if len(set(cells)) == data.n_records and "" not in cells]
    named = [name for name in own if name.lower() == "id"] or own
    if len(named) > 1:
        raise InputError(
            f"{asked.table}: columns {' and '.join(map(repr, named))} may be the ids; call one of them id."
        )
    return columns[named[0]] if named else numbers

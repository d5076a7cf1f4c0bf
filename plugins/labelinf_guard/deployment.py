"""A remedy as files: labels, ``board.toml``, the host's function as the board calls it, and begun."""

from __future__ import annotations

import math
import tomllib
from contextlib import closing
from pathlib import Path

import attrs

from labelinf_core.contracts.checked import CheckQuestion
from labelinf_core.contracts.documents import csv_text
from labelinf_core.contracts.errors import InputError
from labelinf_core.specs.faults import strict_converter
from labelinf_core.specs.own_code import copy_code
from labelinf_guard.board import Board
from labelinf_guard.certificate.statement import points
from labelinf_guard.files import write_private
from labelinf_guard.metrics import GuardMetric, UnscorableError
from labelinf_guard.policy import FinalPart, Policy
from labelinf_guard.recommendation import toml
from labelinf_guard.remedy import BoardRemedy
from labelinf_guard.scoring import OwnMetric
from labelinf_guard.terms import certificate_of, metric_of
from labelinf_scores.game.boarded import MODULE, OwnScorer, of_arrays, of_tables, sure
from labelinf_scores.game.host_tables import HostTable
from labelinf_scores.game.solution import Solution

__all__ = ["deployed_board"]

_VALUES = 1e6  # of a score, that a board predicts quickly
_FIRST = 3  # teams that may be named by the sealed rows


def deployed_board(
    folder: Path, asked: CheckQuestion, scorer: str, remedy: BoardRemedy, table: HostTable | None = None
) -> tuple[str, str]:
    """Write a board into an empty folder, see that it scores, and begin it.

    Args:
        folder: The folder.
        asked: What was checked.
        scorer: ``module:function``.
        remedy: The board to take.
        table: The host's tables, where her function takes tables.

    Returns:
        What was written, and the command that serves it.

    Raises:
        InputError: The board cannot be begun.
    """
    assert remedy.worth is not None
    data, own, found = remedy.data, None, remedy.found
    solution = Solution.read(asked.table, asked.column, data)
    policy = strict_converter().structure(tomllib.loads(remedy.worth.board), Policy)
    part = attrs.evolve(
        policy.board,
        id=solution.key,
        label=solution.label,
        classes=list(data.class_names),
        title=f"{Path(asked.table).name}, guarded",
    )
    policy = attrs.evolve(policy, board=part)
    if remedy.own:
        if table is not None:
            own = of_tables(scorer, solution, table, data.class_names)
        elif found is not None:
            own = of_arrays(scorer, found)
        else:
            raise InputError(f"{scorer} answers no one number: no files deploy this.")
        copy_code(scorer.partition(":")[0], asked.home, folder)  # a board finds its scorer beside it
        policy = _written(own, folder, policy)
    rows = zip(solution.ids, (data.class_names[label] for label in data.labels.tolist()), strict=True)
    write_private(folder / "labels.csv", csv_text((solution.key, solution.label), rows).encode())
    board = folder / "board.toml"
    board.write_text(toml(policy), encoding="utf-8")
    if own is not None:
        _see_that_it_scores(own, metric_of(policy, folder))
    with closing(Board.init(board)) as begun:
        proved, expected, winners = begun.recommendation().proves, begun.expected, _winners(begun, folder)
    if winners:
        board.write_text(f"{board.read_text(encoding='utf-8')}\n{winners}", encoding="utf-8")
    what = "" if expected.form.classes_predicted else f" (the probability of {expected.form.classes[-1]})"
    drawn = "scores all rows" if policy.public.share == 1 else "draws the public rows anew"
    drawn = f" It {drawn}, whatever {solution.usage} says." if solution.usage else ""
    return (
        f"begun: {board}; attackers gain at most {points(proved)} points.{drawn} Its folder holds the labels: keep it "
        f"to yourself. A submission is a CSV file with the columns {', '.join(expected.columns)}"
        f"{what * (len(expected.columns) == 2)}. At the end: labelinf guard release {board} --final.",
        f"labelinf guard serve {board}",
    )


def _winners(board: Board, folder: Path) -> str:
    """Return how to have winners named by the sealed rows at the end, and what that tells; empty where all of it."""
    try:
        policy = attrs.evolve(board.policy, final=FinalPart(ranks=_FIRST))
        after = certificate_of(policy, metric_of(policy, folder), board.sizes()).after
    except (InputError, ValueError):  # no label is sealed: all are public
        return ""
    return f"""\
# Before the first submission: to have the first {_FIRST} named by the sealed rows at the end (attackers gain at most
# {points(after or 1.0)} points then), write this, delete board.state and labels.csv.boards, say labelinf guard init:
# [final]
# ranks = {_FIRST}
"""


def _written(own: OwnScorer, folder: Path, policy: Policy) -> Policy:
    """Write what calls it into the board's folder, and return the policy of a board that runs it.

    Raises:
        InputError: A file is in the way, or it answered no number.
    """
    for name, data in own.files.items():
        if (folder / name).exists():
            raise InputError(f"{own.scorer} needs a file {name}, which a board writes: call yours otherwise.")
        write_private(folder / name, data.encode())
    low, high = own.range()
    steps = max(0, min(policy.release.decimals, math.floor(math.log10(_VALUES / (high - low)))))
    part = attrs.evolve(
        policy.board,
        metric="",
        parameters={},
        ours=f"{MODULE}:score",
        low=low,
        high=high,
        minimise=own.minimise,
        predicts="classes" if own.classes else "probabilities",
    )
    return attrs.evolve(policy, release=attrs.evolve(policy.release, decimals=steps), board=part)


def _see_that_it_scores(own: OwnScorer, metric: GuardMetric) -> None:
    """Run it as the board will, on made labels.

    Raises:
        InputError: It answers otherwise than it did.
    """
    assert isinstance(metric, OwnMetric)
    rows = sure(own.labels, 0, own.n_classes)
    try:
        found = metric.returned(own.labels, rows.argmax(axis=1) if own.classes else rows, own.places)
    except UnscorableError:
        found = math.nan
    if not math.isclose(found, own.answer(rows), rel_tol=1e-6, abs_tol=1e-9):
        raise InputError(
            f"{own.scorer} does not answer in a board as it does here: it may take several columns of predictions (a "
            "board takes one), need files beside it, or keep state. Nothing was begun."
        )

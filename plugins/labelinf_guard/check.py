"""``labelinf check`` of a scoring function: what it gives away, the board that stops it, and that board begun.

A function of tables (``solution``, ``submission``) is audited as one of labels and predictions, in tables of two
columns that are called as hers are. Where it needs more of her table than that, it is run on that table itself.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import attrs

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.checked import Checked, CheckQuestion, functions_in, the_function
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.game import labels_spec
from labelinf_core.evaluator.labels import load_labels
from labelinf_core.specs import Spec
from labelinf_guard.deployment import deployed_board
from labelinf_guard.remedy import BoardRemedy
from labelinf_scores.audit.decision import ScorerDecision
from labelinf_scores.audit.grader_command import lines as grader_lines
from labelinf_scores.audit.own_tables import graded, own_tables, takes_one_column
from labelinf_scores.audit.report import Goal, audited
from labelinf_scores.audit.words import answer
from labelinf_scores.commands import lines
from labelinf_scores.game.grader_folders import found_grader, found_tables
from labelinf_scores.game.host_tables import private_columns, read_table
from labelinf_scores.game.likeness import Likeness
from labelinf_scores.game.scorers import ImportedScorer, is_own
from labelinf_scores.game.signatures import ArgumentForm, ArgumentRole, roles_of
from labelinf_scores.game.solution import Solution

__all__ = ["BoardCheck"]

_PROGRAMS = ("cmd:", "files:")
_SEVERAL = "your function scores several columns of predictions, and a board takes one; publish final scores once"


class BoardCheck:
    """A scoring function, with the table of its private labels."""

    uses = frozenset({"table", "column", "queries"})

    def takes(self, asked: CheckQuestion) -> bool:
        """Whether it is a program, a function of labels and predictions, or a module or a folder that has one."""
        if asked.thing == "sklearn" or asked.thing.startswith(_PROGRAMS):
            return True
        if asked.path.is_dir():
            return not asked.table and any(asked.path.rglob("*.py"))
        if asked.path.suffix == ".py" and not asked.function:
            return any(map(_may_score, functions_in(asked.path).values()))
        return ":" in asked.thing and "model" not in asked.given and bool(asked.function or not asked.path.exists())

    def check(self, asked: CheckQuestion) -> Checked:
        """Audit the function, and plan a board for its labels.

        Raises:
            InputError: The labels are missing, or something cannot be used.
        """
        if asked.path.is_dir():
            grader, (solution, sample) = found_grader(asked.path), found_tables(asked.path, None, None)
            column = asked.column or private_columns(read_table(solution), read_table(sample))[0]
            asked = attrs.evolve(asked, thing=grader, table=str(solution), column=column)
        if not asked.table:
            raise InputError(
                f"{asked.thing} is a scoring function: name the table with the private labels after it, as in "
                f"labelinf check {asked.thing} solution.csv."
            )
        program = asked.thing.startswith(_PROGRAMS)
        scorer = the_function(asked, _scores) if asked.path.suffix == ".py" and not program else asked.thing
        data, whole = _labels(asked), _labels(asked, whole=True)
        gain, queries, table = asked.given["gain"], asked.given.get("queries", 0), _of_tables(asked, scorer, whole)
        named = scorer if table is None else f"{scorer}@{table.label}"
        decision, leaks, found, said = _shown(asked, scorer, named, table, data, whole)
        remedy = BoardRemedy.of(whole, found, gain, queries)
        labels = [asked.table, *["--column", asked.column] * bool(asked.column)]
        labels += ["--queries", str(queries)] * bool(queries)
        audit = ["labelinf", "audit", "scorer", named, "--labels", *labels]
        if remedy.own and table is not None and not takes_one_column(scorer, asked.table, asked.column, whole):
            remedy = attrs.evolve(remedy, worth=None, wider=0.0, why=_SEVERAL)
            audit = ["labelinf", "audit", "grader", scorer, "--solution", asked.table, "--sample", "SUBMISSION.csv"]
        again = ["labelinf", "check", asked.thing, *labels, "--gain", f"{100 * (remedy.wider or gain):g}%"]
        public = "" if whole.n_records == data.n_records else f" Audited: {data.title.partition(', ')[2]}."

        def deploy(folder: Path) -> tuple[str, str]:
            made = own_tables(scorer, asked.table, asked.column, whole) if table is not None and remedy.own else ()
            return deployed_board(folder, asked, scorer.partition("@")[0], remedy, next(iter(made), None))

        return Checked(
            what=f"{named} on {data.title}",
            decision=decision,
            answer=Answer(leaks=leaks + public, stopped=remedy.sentence()),
            then=shlex.join([*again, "--deploy", "board"]) if remedy.worth or remedy.wider else asked.command(*audit),
            lines=(*said, *remedy.lines()),
            deploy=None if remedy.worth is None else deploy,
        )


def _shown(
    asked: CheckQuestion, scorer: str, named: str, table: Solution | None, data: LabelSet, whole: LabelSet
) -> tuple[ScorerDecision, str, Likeness | None, list[str]]:
    """Return the decision, what leaks, what the function is like, and all lines.

    A table is audited as labels and predictions; itself, where that fails, or where it has more columns than these.
    """
    goal, queries = Goal(aim=asked.given["gain"]), asked.given.get("queries", 0)
    if table is None or not set(table.columns) - {table.key, table.label, table.usage}:
        try:
            report = audited(named, data, asked.builder, queries=queries, goal=goal, progress=asked.progress)
            return report.decision, answer(report).leaks, report.found, [*lines(report)]
        except InputError:
            if table is None:
                raise
    own = graded(scorer, asked.table, asked.column, whole, queries=queries)
    return own.decision, own.answer.leaks, None, [*grader_lines(own)]


def _labels(asked: CheckQuestion, *, whole: bool = False) -> LabelSet:
    """Return the labels that are scored, or with those that a column ``Usage`` calls private."""
    spec = labels_spec(asked.builder.host, asked.table, column=asked.column)
    if whole and isinstance(spec, Spec) and spec.name == "csv":
        spec = attrs.evolve(spec, params={**spec.params, "all_rows": True})
    return load_labels(asked.builder, spec, "the table of labels", reals=True)


def _of_tables(asked: CheckQuestion, scorer: str, whole: LabelSet) -> Solution | None:
    """Return the host's table where her function takes tables; None where it takes arrays, or is a program."""
    own = "@" not in scorer and not scorer.startswith(_PROGRAMS) and is_own(scorer)
    if not own or ArgumentForm.FRAMES.value not in ImportedScorer.load(scorer).called:
        return None
    return Solution.read(asked.table, asked.column, whole)


def _may_score(needed: tuple[str, ...]) -> bool:
    """Whether labels and predictions are among parameters of such names, whatever else is needed."""
    return {ArgumentRole.LABELS, ArgumentRole.PREDICTIONS} <= set(roles_of(needed).values())


def _scores(needed: tuple[str, ...]) -> bool:
    """Whether parameters of such names are labels and predictions, and nothing else is needed but a key."""
    return _may_score(needed) and len(roles_of(needed)) == len(needed)

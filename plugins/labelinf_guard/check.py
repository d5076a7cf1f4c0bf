"""``labelinf check`` of a scoring function: what it gives away, the board that stops it, and that board begun."""

from __future__ import annotations

import shlex

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.checked import Checked, CheckQuestion, functions_in, the_function
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.game import labels_spec
from labelinf_core.evaluator.labels import load_labels
from labelinf_guard.deployment import deployed_board
from labelinf_guard.remedy import BoardRemedy
from labelinf_scores.audit.report import Goal, audited
from labelinf_scores.audit.words import answer
from labelinf_scores.commands import lines
from labelinf_scores.game.signatures import ArgumentRole, roles_of

__all__ = ["BoardCheck"]

_PROGRAMS = ("cmd:", "files:")


class BoardCheck:
    """A scoring function, with the table of its private labels."""

    def takes(self, asked: CheckQuestion) -> bool:
        """Whether it is a program, a function of labels and predictions, or a module that has one."""
        if asked.thing == "sklearn" or asked.thing.startswith(_PROGRAMS):
            return True
        if asked.path.suffix == ".py" and not asked.function:
            return any(map(_scores, functions_in(asked.path).values()))
        return ":" in asked.thing and "model" not in asked.given and bool(asked.function or not asked.path.exists())

    def check(self, asked: CheckQuestion) -> Checked:
        """Audit the function, and plan a board for its labels.

        Raises:
            InputError: The labels are missing, or something cannot be used.
        """
        if not asked.table:
            raise InputError(
                f"{asked.thing} is a scoring function: name the table with the private labels after it, as in "
                f"labelinf check {asked.thing} solution.csv."
            )
        scorer = the_function(asked, _scores) if asked.path.suffix == ".py" else asked.thing
        spec = labels_spec(asked.builder.host, asked.table, column=asked.column)
        data = load_labels(asked.builder, spec, "the table of labels", reals=True)
        gain, queries = asked.given["gain"], asked.given.get("queries", 0)
        report = audited(scorer, data, asked.builder, queries=queries, goal=Goal(aim=gain), progress=asked.progress)
        remedy = BoardRemedy.of(report, gain, queries)
        labels = [asked.table, *(("--column", asked.column) if asked.column else ())]
        budget = ["--queries", str(queries)] if queries else []
        gained = ["--gain", f"{100 * (remedy.wider or gain):g}%"]
        again = ["labelinf", "check", asked.thing, *labels, *budget, *gained, "--deploy", "board"]
        closer = ["labelinf", "audit", "scorer", scorer, "--labels", *labels]
        return Checked(
            what=f"{scorer} on {data.title}",
            decision=report.decision,
            answer=Answer(leaks=answer(report).leaks, stopped=remedy.sentence()),
            then=shlex.join(again) if remedy.worth or remedy.wider else asked.command(*closer),
            lines=(*lines(report), *remedy.lines()),
            deploy=None if remedy.worth is None else lambda folder: deployed_board(folder, asked, scorer, remedy),
        )


def _scores(needed: tuple[str, ...]) -> bool:
    """Whether parameters of such names are labels and predictions, and nothing else is needed but a key."""
    roles = roles_of(needed)
    return {ArgumentRole.LABELS, ArgumentRole.PREDICTIONS} <= set(roles.values()) and len(roles) == len(needed)

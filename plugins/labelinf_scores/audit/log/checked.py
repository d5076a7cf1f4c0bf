"""``labelinf check`` of a board's log: a folder or a file of submissions, with the scores that were released."""

from __future__ import annotations

from labelinf_core.contracts.checked import Checked, CheckQuestion
from labelinf_scores.audit.log.report import answer, lines, report

__all__ = ["LogCheck"]


class LogCheck:
    """Submissions, with ``--scores`` and ``--metric``; with the table of labels, or without."""

    uses = frozenset({"table", "column", "scores", "metric"})

    def takes(self, asked: CheckQuestion) -> bool:
        """Whether it is a folder without Python in it, or anything that comes with scores."""
        if "scores" in asked.given:
            return asked.path.exists()
        return asked.path.is_dir() and not any(asked.path.glob("*.py")) and not any(asked.path.glob("*.toml"))

    def check(self, asked: CheckQuestion) -> Checked:
        """Say which labels the log has determined.

        Raises:
            InputError: Scores or metric are missing, or a file cannot be used.
        """
        found = report(
            asked.thing,
            scores=asked.needed("scores", "which CSV file has the columns submission and score"),
            labels=asked.table or None,
            column=asked.column,
            metric_names=(asked.needed("metric", "which metric the scores are, such as roc-auc"),),
            progress=asked.progress,
        )
        return Checked(
            what=f"the log in {asked.thing}",
            decision=found,
            answer=answer(found),
            then=f"labelinf guard plan --records {len(found.ids)} --metric {asked.given['metric']}",
            lines=(*lines(found),),
        )

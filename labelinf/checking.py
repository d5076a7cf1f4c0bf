"""One function for whatever somebody publishes, as ``labelinf check``."""

from __future__ import annotations

import os
from pathlib import Path

from labelinf.results import AuditResult
from labelinf.shown import WIDTH, shows
from labelinf_core.contracts.checked import CheckQuestion
from labelinf_core.contracts.fractions import fraction
from labelinf_core.plugin.checkers import checked, deployed, new_folder
from labelinf_core.plugin.host import Host
from labelinf_core.report.checked import three_lines
from labelinf_core.specs import Builder

__all__ = ["check"]


@shows("checking")
def check(
    thing: str | os.PathLike[str],
    table: str | os.PathLike[str] = "",
    *,
    column: str = "",
    queries: int | None = None,
    scores: str = "",
    metric: str = "",
    model: str = "",
    seal: str = "",
    gain: str | float = 0.05,
    deploy: str | os.PathLike[str] = "",
) -> AuditResult:
    """Check whatever you publish, as ``labelinf check`` does: does it give private labels away, what stops that?

    >>> import labelinf as li, numpy as np, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "predictions.csv")
    ...     np.savetxt(file, np.full((9, 2), 0.5), delimiter=",")
    ...     li.check(file).word.value  # of a finished model nothing is shown until labels were planted
    'no leak shown'

    Args:
        thing: A scoring function's file or ``module:function``, a folder of submissions, a client's file, a file of
            predictions.
        table: The private labels, a file.
        column: Its column of labels.
        queries: Answers that an attacker gets, of all teams together.
        scores: Of submissions: a CSV file with the columns submission and score.
        metric: Which metric those scores are.
        model: Of a client: ``module:function`` that makes its model.
        seal: Of predictions: the file that ``labelinf plant`` sealed.
        gain: What a remedy may leave attackers over the blind guess, a fraction: ``"5%"`` or ``.05``.
        deploy: A new folder, into which the remedy is written.

    Returns:
        What was found; its words are the command's three lines.

    Raises:
        InputError: Something is missing or cannot be used; the sentence says what.
    """
    host = Host.load()
    said = {"queries": queries, "scores": scores, "metric": metric, "model": model, "seal": seal}
    given = {"gain": fraction(gain, "gain"), **{name: value for name, value in said.items() if value}}
    question = CheckQuestion(
        thing=os.fspath(thing), table=os.fspath(table), column=column, given=given, builder=Builder(host)
    )
    if deploy:
        new_folder(Path(deploy))
    with question.beside():
        found = checked(question, host)
        found, wrote = deployed(found, Path(deploy)) if deploy else (found, "")
    words = (*three_lines(found, WIDTH), *filter(None, (wrote,)))
    return AuditResult(report=found, decision=found.decision, words=words, table=())

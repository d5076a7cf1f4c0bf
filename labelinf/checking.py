"""One function for whatever somebody publishes, as ``labelinf check``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from labelinf.results import AuditResult
from labelinf.shown import WIDTH
from labelinf_core.contracts.checked import CheckQuestion
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.fractions import fraction
from labelinf_core.plugin.checkers import checked
from labelinf_core.plugin.host import Host
from labelinf_core.report.checked import three_lines
from labelinf_core.specs import Builder

__all__ = ["check"]

_OPTIONS = ("queries", "scores", "metric", "model", "seal")


def check(
    thing: str | os.PathLike[str],
    table: str | os.PathLike[str] = "",
    *,
    column: str = "",
    gain: str | float = 0.05,
    deploy: str | os.PathLike[str] = "",
    **given: Any,
) -> AuditResult:
    """Check whatever you publish, as ``labelinf check`` does: does it give private labels away, what stops that?

    Args:
        thing: A scoring function's file or ``module:function``, a folder of submissions, a client's file, a file of
            predictions.
        table: The private labels, a file.
        column: Its column of labels.
        gain: What a remedy may leave attackers over the blind guess, a fraction: ``"5%"`` or ``.05``.
        deploy: A new folder, into which the remedy is written.
        **given: ``queries``, ``scores``, ``metric``, ``model`` and ``seal``, as the command takes them.

    Returns:
        What was found; its words are the command's three lines.

    Raises:
        InputError: Something is missing or cannot be used; the sentence says what.
    """
    if unknown := sorted(set(given) - set(_OPTIONS)):
        raise InputError(f"check takes no {unknown[0]!r}; it takes {', '.join(_OPTIONS)}.")
    host = Host.load()
    given["gain"] = fraction(gain, "gain")
    question = CheckQuestion(
        thing=os.fspath(thing), table=os.fspath(table), column=column, given=given, builder=Builder(host)
    )
    with question.beside():
        found = checked(question, host)
        wrote: tuple[str, ...] = ()
        if deploy:
            if found.deploy is None:
                raise InputError("deploy: no files deploy this; the remedy says what to do.")
            wrote = found.deploy(Path(deploy))
    return AuditResult(report=found, decision=found.decision, words=(*three_lines(found, WIDTH), *wrote), table=())

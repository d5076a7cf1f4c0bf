"""One game in full: every label that it recovered beside the true one, and what is known of it, line by line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labelinf_core.report import asides, words

if TYPE_CHECKING:
    from labelinf_core.contracts.components import Outcome
    from labelinf_core.evaluator.results import CellResult

__all__ = ["recovered", "summary"]


def recovered(result: CellResult, outcome: Outcome) -> Iterator[tuple[int, str, str]]:
    """Yield every record with the recovered and the true label, in the user's own class names."""
    names = result.labels.class_names
    if outcome.guess is None or outcome.truth is None:
        return
    for record, (guess, truth) in enumerate(zip(outcome.guess, outcome.truth, strict=True)):
        yield record, _word(guess, names), _word(truth, names)


def _word(value: Any, names: Sequence[str]) -> str:
    """Write a class by its name, a real number as it is, and nothing where nothing is guessed."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return names[value] if 0 <= value < len(names) else ""


def summary(result: CellResult, outcome: Outcome) -> Iterator[str]:
    """Yield what was recovered and spent, the theory, the verdict, and what was heard besides."""
    share, blind = words.percent(outcome.n_correct / outcome.n_records), words.percent(result.implied.baseline)
    yield f"recovered  {outcome.n_correct} of {outcome.n_records} labels: {share} % (majority guess: {blind} %)"
    yield f"spent      {outcome.queries} queries, {words.duration(result.trials[0].seconds)} s"
    promise = result.implied.promise
    if promise is not None:
        certain, needed = "certified" if promise.certified else "not certified", words.number(promise.survives)
        yield f"theory     {certain}: stopped by noise above {needed}, {words.number(promise.present)} can be present"
        yield f"           {promise.statement}: {promise.conditions}"
    for item in result.implied.ceilings:
        yield f"ceiling    {words.ceiling(item, result.implied.baseline)}, {item.statement}: {item.conditions}"
    yield f"verdict    {words.verdict(result)}"
    if outcome.n_correct < outcome.n_records and (doubt := result.trials[0].doubt):
        yield f"doubt      {doubt}"
    if beside := asides.sentence(result):
        yield f"beside     {beside}"
    for key, value in result.trials[0].evidence.items():
        yield f"evidence   {key}: {words.number(value) if isinstance(value, float) else value}"

"""Observes a finished model in which nothing was planted: is it right more often of records that it was trained on?

The guess is the class that the model favours more than reference models do, which were trained on other records of the
same source; without any, the class that it predicts. Records that it was not trained on are the **placebo**: what is
guessed of them is what features tell. Nothing is proved of labels that nobody drew. The two groups need not be alike,
so that more right guesses of the first are memory of them, or a difference between the groups; as many are no
acquittal, as other attacks and other references might see more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.statistics.proportions import clopper_pearson
from labelinf_data.table import columns_of
from labelinf_outputs.attacks.answering import best_class
from labelinf_outputs.audit.planted import classes_of, like_the_model, release_of
from labelinf_outputs.audit.predictions import read_predictions
from labelinf_outputs.audit.words import share, wrapped
from labelinf_outputs.game.view import View

__all__ = ["ObservedModel", "observe"]


@attrs.frozen(kw_only=True)
class ObservedModel(AuditDecision):
    """What was seen; no bound, and never an answer.

    Attributes:
        trained: Share of labels guessed of records that the model was trained on.
        placebo: The same of records that it was not trained on.
        p_alike: Fisher's exact p-value, two-sided, that both are guessed as often.
        references: Reference models.
    """

    trained: Interval
    placebo: Interval
    p_alike: float
    references: int

    @property
    def word(self) -> AuditWord:
        """Nothing is proved."""
        return AuditWord.UNSHOWN

    @property
    def says(self) -> str:
        """The answer in a sentence."""
        return "NOTHING IS PROVED: no label was planted. What follows is an observation, whatever it comes to."

    def lines(self) -> Iterator[str]:
        """Yield what was seen, for a terminal."""
        yield from wrapped(f"observed    {self.says}")
        by = f"what it favours more than references, {self.references}" if self.references else "its prediction"
        yield f"guessed by {by}"
        yield f"  trained on      {share(self.trained)}"
        yield f"  not trained on  {share(self.placebo)}, the placebo"
        yield f"  as often of both: p {self.p_alike:.2g}"
        yield from wrapped(
            "More of the first: the model remembers them, or the groups differ otherwise. As many: these attacks saw "
            "nothing. To prove anything, plant labels and train anew (labelinf plant)."
        )

    def document(self) -> dict[str, Any]:
        """Return it for a program."""
        return {"decision": {"word": "observed", "status": self.status, "says": self.says}, **attrs.asdict(self)}


def observe(predictions: str, records: str, references: Sequence[str] = (), *, view: View) -> ObservedModel:
    """Read files and compare.

    Args:
        predictions: What the model says, with record ids.
        records: CSV file with columns ``record``, ``label`` and ``seen``: 1 for a record that the model was trained on,
            0 for one that neither it nor a reference was.
        references: What reference models say, with record ids; they were trained on none of these records.
        view: What the predictions are.

    Raises:
        InputError: A file cannot be used as it is.
    """
    columns = columns_of(records, "seen", "record")
    if missing := {"record", "label"} - columns.keys():
        raise InputError(f"{records} has no column {min(missing)!r}. It needs 'record', 'label' and 'seen'.")
    if odd := [row for row, cell in enumerate(columns["seen"], 2) if cell not in ("0", "1")]:
        raise InputError(f"{records}: row {odd[0]}: seen must be 1 (the model was trained on it) or 0 (it was not).")
    seen = np.array(columns["seen"]) == "1"
    if seen.all() or not seen.any():
        raise InputError(f"{records} must hold records that were trained on and others, the placebo: seen 1 and 0.")
    said = read_predictions(predictions, view, columns["label"])
    names, ids = said.classes(predictions), columns["record"]
    labels = classes_of(records, "label", columns["label"], names)
    gains = release_of(predictions, said, names, ids).log_probabilities
    for path in references:
        other = read_predictions(path, view, columns["label"])
        like_the_model(path, said, other.decimals)
        gains = gains - release_of(path, other, names, ids).log_probabilities / len(references)
    right = best_class(gains) == labels
    return _compared(right[seen], right[~seen], len(references))


def _compared(trained: Any, placebo: Any, references: int) -> ObservedModel:
    from scipy.stats import fisher_exact

    counts = [(int(group.sum()), group.size) for group in (trained, placebo)]
    return ObservedModel(
        trained=clopper_pearson(*counts[0]),
        placebo=clopper_pearson(*counts[1]),
        p_alike=float(fisher_exact([[hit, of - hit] for hit, of in counts]).pvalue),
        references=references,
    )

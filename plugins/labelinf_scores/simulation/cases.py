"""Records that have a number of their own in an answer: one query shows them all."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.knowledge import Knowledge
from labelinf_scores.simulation.simulator import Submission, Vector

__all__ = ["Cases", "cases"]

_DRAWS = 48  # labellings: so many that no number keeps step with a record by chance


@attrs.frozen(kw_only=True, eq=False)
class Cases:
    """Which number of an answer shows which record.

    Attributes:
        submission: What is to be asked.
        places: Records, shape ``(b,)``.
        numbers: The number of each in an answer, shape ``(b,)``.
        values: What it is for every class, shape ``(b, K)``.
    """

    submission: Submission
    places: NDArray[np.intp]
    numbers: NDArray[np.intp]
    values: NDArray[np.float64]

    def read(self, knowledge: Knowledge) -> NDArray[np.intp]:
        """Ask, write down every class that its number shows, and return the records."""
        seen = knowledge.answer(self.submission)[self.numbers]
        shown = np.isclose(self.values, seen[:, None], rtol=1e-9, atol=1e-12)
        sure = shown.sum(axis=1) == 1
        knowledge.labels[self.places[sure]] = shown[sure].argmax(axis=1)
        return np.asarray(self.places[sure])


def cases(knowledge: Knowledge, submission: Submission) -> Cases | None:
    """Return which records a submission shows by numbers of their own, as simulation has it; None where none is."""
    nobody = np.zeros((0,), dtype=np.intp)
    drawn = [knowledge.drawn(nobody, nobody) for _ in range(_DRAWS)]
    labels = np.array([one for one in drawn if one is not None])
    answers = np.array([knowledge.game(one, submission) for one in labels])
    if answers.shape[1] < 2:
        return None
    own = {_pattern(column): place for place, column in zip(knowledge.open, labels[:, knowledge.open].T, strict=True)}
    found = [(own[key], number) for number, column in enumerate(answers.T) if (key := _pattern(column)) in own]
    pairs = [(i, d) for i, d in found if len(np.unique(labels[:, i])) == knowledge.game.n_classes]
    if not pairs:
        return None
    places, numbers = np.array(pairs).T
    values = [[answers[labels[:, i] == c, d][0] for c in range(knowledge.game.n_classes)] for i, d in pairs]
    return Cases(submission=submission, places=places, numbers=numbers, values=np.array(values))


def _pattern(column: Vector | NDArray[np.intp]) -> bytes:
    """Return which entries are alike."""
    _, first, names = np.unique(column, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[names].astype(np.int32).tobytes()

"""What comes of a trial, and who counts it: the core, which holds the private values.

A channel hands back what was guessed, and about what: numbers of records, whose labels the core looks up, or values
that it planted itself. It names a *measure*, and the core counts. A channel that counted could report anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from labelinf_core.contracts.errors import ComponentError
from labelinf_core.contracts.gate import between, blamed, clean, each, evidence, guessed, number
from labelinf_core.contracts.images import Gallery

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ABSTAIN",
    "Audited",
    "Equal",
    "Guess",
    "Outcome",
    "Overlap",
    "Placebo",
    "Redrawn",
    "Trialled",
    "counted",
]

ABSTAIN = -1  #: a guess that declines to name a label


@attrs.frozen(kw_only=True, eq=False)
class Guess:
    """What an attack answers.

    Attributes:
        labels: Guessed classes 0..K-1 or ``ABSTAIN``, shape ``(n_records,)``.
        evidence: What the attack can say for itself, as plain numbers and strings (labels per query, margin, ...).
    """

    labels: NDArray[np.intp]
    evidence: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Equal:
    """A guess counts where it equals the label; an abstention is wrong."""

    def placed(self, guess: NDArray[np.intp], truth: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the guesses as they stand."""
        return guess


@attrs.frozen(kw_only=True)
class Overlap:
    """Within every group of ``size`` the order carries nothing: what counts is the overlap of two multisets of labels.

    Attributes:
        size: Values of a group; the number of all values is a multiple of it.
    """

    size: int = attrs.field(validator=attrs.validators.ge(1))

    def placed(self, guess: NDArray[np.intp], truth: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the guesses, reordered within every group so that as many as possible stand beside their equals."""
        result = guess.copy()
        for start in range(0, len(truth), self.size) if self.size > 1 else ():
            pool = guess[start : start + self.size].tolist()
            own = truth[start : start + self.size].tolist()
            placed = [pool.pop(pool.index(label)) if label in pool else None for label in own]
            result[start : start + self.size] = [pool.pop(0) if label is None else label for label in placed]
        return result


@attrs.frozen(kw_only=True, eq=False)
class Redrawn:
    """The same attack on labels that nothing it was shown depends on, but for its declared view.

    Attributes:
        guess: What it answered.
        values: The labels redrawn, as :attr:`Trialled.planted`.
        chance: Probability that a guess is correct when the view says nothing about the labels.
        declared: Whether the threat model declares that the view contains the labels.
    """

    guess: Guess
    values: NDArray[np.intp]
    chance: float
    declared: bool = False


@attrs.frozen(kw_only=True)
class Placebo:
    """How an attack fares on labels that nothing it was shown depends on, but for its declared view.

    Attributes:
        n_correct: Redrawn labels guessed correctly.
        n_records: Labels there were to guess.
        chance: Probability that a guess is correct when the view says nothing about the labels.
        declared: Whether the threat model declares that the view contains the labels.
    """

    n_correct: int
    n_records: int
    chance: float = attrs.field(converter=number, validator=between(0, 1))
    declared: bool = attrs.field(default=False, validator=attrs.validators.instance_of(bool))


@attrs.frozen(kw_only=True)
class Audited:
    """What a trial says about a certificate of label-DP.

    Attributes:
        at_least: The epsilon that the trial proves, at 95 % confidence.
        delta: The delta that goes with it.
        certified: The epsilon that is certified; infinity when none is.
        p_value: Probability of so many correct guesses, or more, under the certificate; 1 when there is none.
    """

    at_least: float = attrs.field(converter=number, validator=between(0, math.inf))
    delta: float = attrs.field(converter=number, validator=between(0, 1))
    certified: float = attrs.field(converter=number, validator=between(0, math.inf))
    p_value: float = attrs.field(converter=number, validator=between(0, 1))


@attrs.frozen(kw_only=True, eq=False)
class Trialled:
    """What a channel hands back of a trial: guesses, and what they are about. It counts nothing.

    Attributes:
        guess: What the attack answered, a class for every value.
        records: Numbers of the records that it is about, each at most once; None: ``planted`` holds the values.
        planted: Classes 0..K-1 that the channel planted, or drew afresh, in the order of the guesses.
        measure: When a guess counts.
        queries: Queries spent, or releases observed.
        evidence: What the trial shows beside the guesses.
        doubt: Why it shows nothing, as a clause, unless the attack succeeded: the game was played on what was learnt
            of a stage, and that is known to be wrong, or not to be all. Empty: nothing speaks against it.
        placebo: The same attack on labels redrawn afterwards, in channels that can tell memory from leakage.
        audited: What the trial says about a certificate of label-DP, in channels that can prove an epsilon.
        gallery: Private inputs and what was rebuilt of them, to look at.
    """

    guess: Guess
    records: NDArray[np.intp] | None = None
    planted: NDArray[np.intp] | None = None
    measure: Equal | Overlap = Equal()  # frozen, without fields
    queries: int
    evidence: Mapping[str, Any] = attrs.field(factory=dict)
    doubt: str = ""
    placebo: Redrawn | None = None
    audited: Audited | None = None
    gallery: Gallery | None = None


@attrs.frozen(kw_only=True, eq=False)
class Outcome:
    """One trial of one cell, as the core has counted it.

    Attributes:
        n_correct: Labels guessed correctly.
        n_records: Labels there were to guess.
        queries: Queries spent, or releases observed.
        evidence: What the trial shows beside the guesses.
        doubt: Why it shows nothing, as a clause, unless the attack succeeded.
        guess: The guessed labels, shape ``(n_records,)``; shown by ``labelinf attack``, not recorded.
        truth: The labels that were to be guessed, in the same order.
        placebo: How the same attack fared on labels redrawn afterwards.
        audited: What the trial says about a certificate of label-DP.
        gallery: Private inputs and what was rebuilt of them.
    """

    n_correct: int
    n_records: int
    queries: int
    evidence: Mapping[str, Any] = attrs.field(factory=dict)
    doubt: str = ""
    guess: NDArray[np.intp] | None = None
    truth: NDArray[np.intp] | None = None
    placebo: Placebo | None = None
    audited: Audited | None = None
    gallery: Gallery | None = None


def counted(trial: object, labels: NDArray[np.intp], n_classes: int, attack: object) -> Outcome:
    """Count a trial.

    Args:
        trial: What a channel handed back.
        labels: The private labels, of which it names records.
        n_classes: K.
        attack: Whose guess it is.

    Raises:
        ComponentError: The channel hands back something else, or the attack guessed something else.
    """
    import numpy as np

    if type(trial) is not Trialled:
        raise ComponentError(f"its trial is a {type(trial).__name__}, expected Trialled")
    if type(trial.measure) not in (Equal, Overlap):
        raise ComponentError(f"its measure is a {type(trial.measure).__name__}, expected Equal or Overlap")
    if type(trial.queries) is not int or trial.queries < 0:
        raise ComponentError(f"its trial says queries={clean(trial.queries, 40)}, expected a whole number from 0")
    if (trial.records is None) == (trial.planted is None):
        raise ComponentError("its trial must name records, or hold the values that it planted")
    records = None if trial.records is None else _numbers(trial.records, len(labels), "record numbers")
    if records is not None and np.unique(records).size != records.size:
        raise ComponentError("its trial names a record twice")
    truth = _numbers(trial.planted, n_classes, "planted values") if records is None else labels[records]
    if type(trial.measure) is Overlap and truth.size % trial.measure.size:
        raise ComponentError(f"{truth.size} values are no groups of {trial.measure.size}")
    guess = trial.measure.placed(_checked(trial.guess, truth.size, n_classes, attack), truth)
    shown, of = guess, truth
    if records is not None:  # where nothing was attacked nothing was guessed
        shown, of = np.full(len(labels), ABSTAIN, dtype=np.intp), labels
        shown[records] = guess
    return Outcome(
        n_correct=int(np.count_nonzero(guess == truth)),
        n_records=truth.size,
        queries=trial.queries,
        evidence=evidence(trial.evidence),
        doubt=clean(trial.doubt),
        guess=shown,
        truth=of,
        placebo=None if trial.placebo is None else _placebo(trial.placebo, n_classes, attack),
        audited=None if trial.audited is None else each((trial.audited,), Audited, "audit")[0],
        gallery=None if trial.gallery is None else each((trial.gallery,), Gallery, "gallery")[0],
    )


def _placebo(redrawn: object, n_classes: int, attack: object) -> Placebo:
    import numpy as np

    if type(redrawn) is not Redrawn:
        raise ComponentError(f"its placebo is a {type(redrawn).__name__}, expected Redrawn")
    values = _numbers(redrawn.values, n_classes, "redrawn values")
    guess = _checked(redrawn.guess, values.size, n_classes, attack)
    correct = int(np.count_nonzero(guess == values))
    return Placebo(n_correct=correct, n_records=values.size, chance=redrawn.chance, declared=redrawn.declared)


def _checked(guess: object, size: int, n_classes: int, attack: object) -> NDArray[np.intp]:
    with blamed(attack):
        return guessed(guess, Guess, size, n_classes)


def _numbers(values: object, below: int, what: str) -> NDArray[np.intp]:
    """Return whole numbers from 0 to below a limit, at least one.

    Raises:
        ComponentError: They are something else.
    """
    import numpy as np

    found = np.array(values, subok=False)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= below:
        raise ComponentError(f"its {what} must be whole numbers from 0 to {below - 1}, one for every guess")
    return found.astype(np.intp)

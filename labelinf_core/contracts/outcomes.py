"""What comes of a trial, and who counts it: the core, which holds the private values.

A channel hands back what was guessed, and about what: numbers of records, whose labels the core looks up, or values
that it planted itself. It names a *measure*, and the core counts. A channel that counted could report anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from labelinf_core.contracts.errors import ComponentError
from labelinf_core.contracts.gate import (
    attribute_errors,
    between,
    clean,
    each,
    evidence,
    guessed,
    guessed_set,
    guessed_values,
    number,
)
from labelinf_core.contracts.images import Gallery
from labelinf_core.contracts.measures import ABSTAIN, MEASURES, Equal, Measured, Overlap, Sets, Within

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
    "Sets",
    "Trialled",
    "Within",
    "counted",
    "looked_at",
]

_NOTHING_TO_READ = "a blind guess gets all that there is to guess in a trial: plant several values that differ"
_IMPROBABLE = 1e-9  # of one trial whose values were drawn as the channel says


@attrs.frozen(kw_only=True, eq=False)
class Guess:
    """What an attack answers.

    Attributes:
        labels: Guessed classes 0..K-1 or ``ABSTAIN``, shape ``(n_records,)``; what another measure asks for, where the
            channel names one: real numbers or NaN (:class:`Within`), the classes that occur (:class:`Sets`).
        confidence: Ranks the guesses, one number each: an audit looks at the surest ones. None: the attack does not
            know.
        evidence: What the attack can say for itself, as plain numbers and strings (labels per query, margin, ...).
    """

    labels: NDArray[Any]
    confidence: NDArray[np.float64] | None = None
    evidence: Mapping[str, Any] = attrs.field(factory=dict)

    def surest(self) -> NDArray[np.intp]:
        """Return which values were guessed, surest first, abstentions left out."""
        import numpy as np

        confidence = np.zeros(len(self.labels)) if self.confidence is None else self.confidence
        order = np.argsort(-np.asarray(confidence), kind="stable")
        return np.asarray(order[np.asarray(self.labels)[order] != ABSTAIN], dtype=np.intp)

    def ranked(self, truth: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return whether each guess is right, surest first, abstentions left out."""
        import numpy as np

        made = self.surest()
        right: NDArray[np.bool_] = np.asarray(self.labels)[made] == truth[made]
        return right


@attrs.frozen(kw_only=True, eq=False)
class Redrawn:
    """The same attack on labels that nothing it was shown depends on, but for its declared view.

    Attributes:
        guess: What it answered.
        values: The labels redrawn, as :attr:`Trialled.planted`: uniformly, if they are classes. The core knows what
            chance is then; whoever draws them otherwise is called leaky sooner, never later.
        declared: Whether the threat model declares that the view contains the labels.
    """

    guess: Guess
    values: NDArray[Any]
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
        provable: The most that so many values could have proved.
    """

    at_least: float = attrs.field(converter=number, validator=between(0, math.inf))
    delta: float = attrs.field(converter=number, validator=between(0, 1))
    certified: float = attrs.field(converter=number, validator=between(0, math.inf))
    p_value: float = attrs.field(converter=number, validator=between(0, 1))
    provable: float = attrs.field(default=math.inf, converter=number, validator=between(0, math.inf))


@attrs.frozen(kw_only=True, eq=False)
class Trialled:
    """What a channel hands back of a trial: guesses, and what they are about. It counts nothing.

    Attributes:
        guess: What the attack answered, a class for every value, or what the measure asks for.
        records: Numbers of the records that it is about, each at most once; None: ``planted`` holds the values.
        planted: Classes 0..K-1 that the channel planted, or drew afresh, in the order of the guesses; real numbers
            where the measure is a tolerance.
        measure: When a guess counts.
        queries: Queries spent, or releases observed.
        evidence: What the trial shows beside the guesses.
        doubt: Why it shows nothing, as a clause, unless the attack succeeded: the game was played on what was learnt
            of a stage, and that is known to be wrong, or not to be all. Empty: nothing speaks against it.
        placebo: The same attack on labels redrawn afterwards, in channels that can tell memory from leakage.
        uniform: Whether the planted classes were drawn uniformly and independently of all else: then their guesses
            prove an epsilon, and the core says which. Otherwise they have the class shares of the labels. Values that
            were surely not drawn so are refused.
        gallery: Private inputs and what was rebuilt of them, to look at.
    """

    guess: Guess
    records: NDArray[np.intp] | None = None
    planted: NDArray[Any] | None = None
    measure: Measured = Equal()  # noqa: RUF009 - frozen, without fields
    queries: int
    evidence: Mapping[str, Any] = attrs.field(factory=dict)
    doubt: str = ""
    placebo: Redrawn | None = None
    uniform: bool = False
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
        chance: Share that the best guess gets which is the same for every value, or for every group.
        placebo: How the same attack fared on labels redrawn afterwards.
        audited: What the trial says about a certificate of label-DP.
        gallery: Private inputs and what was rebuilt of them.
    """

    n_correct: int
    n_records: int
    queries: int
    evidence: Mapping[str, Any] = attrs.field(factory=dict)
    doubt: str = ""
    guess: NDArray[Any] | None = None
    truth: NDArray[Any] | None = None
    chance: float | None = None
    placebo: Placebo | None = None
    audited: Audited | None = None
    gallery: Gallery | None = None


def counted(
    trial: object,
    labels: NDArray[np.intp],
    n_classes: int,
    attack: object,
    certified: Callable[[], tuple[float, float]] = lambda: (math.inf, 0.0),
) -> Outcome:
    """Count a trial.

    Args:
        trial: What a channel handed back.
        labels: The private labels, of which it names records.
        n_classes: K.
        attack: Whose guess it is.
        certified: Returns the label-DP of all that was released, as epsilon and delta, where it is audited.

    Raises:
        ComponentError: The channel hands back something else, or the attack guessed something else.
    """
    import numpy as np

    if type(trial) is not Trialled:
        raise ComponentError(f"its trial is a {type(trial).__name__}, expected Trialled")
    if type(trial.measure) not in MEASURES:
        known = ", ".join(item.__name__ for item in MEASURES)
        raise ComponentError(f"its measure is a {type(trial.measure).__name__}, expected one of {known}")
    if type(trial.queries) is not int or trial.queries < 0:
        raise ComponentError(f"its trial says queries={clean(trial.queries, 40)}, expected a whole number from 0")
    measure, values = trial.measure, _truth(trial, labels, n_classes)
    guess, truth = _beside(measure, trial.guess, values, n_classes, attack)
    chance = _blind(trial, values, labels, n_classes)
    shown, of = guess, truth
    if trial.records is not None and type(measure) is not Sets:  # where nothing was attacked nothing was guessed
        shown, of = np.full(len(labels), ABSTAIN, dtype=np.intp), labels
        shown[np.asarray(trial.records)] = guess
    return Outcome(
        n_correct=int(np.count_nonzero(guess == truth)),
        n_records=truth.size,
        queries=trial.queries,
        evidence=evidence(trial.evidence),
        doubt=clean(trial.doubt) or (_NOTHING_TO_READ if chance >= 1 else ""),
        guess=shown,
        truth=of,
        chance=chance,
        placebo=None if trial.placebo is None else _placebo(trial.placebo, measure, n_classes, attack),
        audited=_audited(trial, guess, values, n_classes, certified) if trial.uniform is True else None,
        gallery=None if trial.gallery is None else each((trial.gallery,), Gallery, "gallery")[0],
    )


def _blind(trial: Trialled, values: NDArray[Any], labels: NDArray[np.intp], n_classes: int) -> float:
    """Return what the best blind guess gets, whatever the channel says: of classes by their shares.

    Those are equal where the planted classes are uniform, and else those of the private labels. What was planted tells
    whether it was drawn so.

    Raises:
        ComponentError: It was not.
    """
    import numpy as np

    uniform = trial.uniform is True
    shares = np.bincount(labels, minlength=n_classes) / labels.size
    shares = np.full(n_classes, 1 / n_classes) if uniform else shares
    if trial.planted is not None and isinstance(trial.measure, Equal | Overlap) and _unlike(values, shares):
        wrong = (
            "are not uniform" if uniform else "have not the class shares of the labels, and it calls them not uniform"
        )
        raise ComponentError(f"the values that it planted {wrong}; it must name records, or plant them as it says")
    return _best(trial.measure, values, shares)


def _best(measure: Measured, values: NDArray[Any], shares: NDArray[np.float64]) -> float:
    """Return the share of the best guess that looks at nothing: of classes by their shares, of others by the values."""
    if isinstance(measure, Within | Sets):
        return measure.chance(values, len(shares))
    return measure.blind(shares.tolist())


def _unlike(values: NDArray[np.intp], shares: NDArray[np.float64]) -> bool:
    """Whether some class is by far too frequent, or too rare, among values that were drawn by class shares."""
    import numpy as np

    from labelinf_core.statistics.proportions import no_query_p_value

    counts = np.bincount(values, minlength=len(shares)).tolist()
    tails = [
        no_query_p_value(count, values.size, share)
        for held, of in zip(counts, shares.tolist(), strict=True)
        for count, share in ((held, of), (values.size - held, 1 - of))
    ]
    return min(tails) * len(tails) <= _IMPROBABLE


def _audited(
    trial: Trialled,
    guess: NDArray[np.intp],
    values: NDArray[np.intp],
    n_classes: int,
    certified: Callable[[], tuple[float, float]],
) -> Audited:
    """Set the certificate against the guesses, the surest ones first, for shares that are fixed beforehand.

    Raises:
        ComponentError: The values are not classes that were planted, each guessed by itself.
    """
    from labelinf_core.statistics import epsilon_bounds

    if trial.planted is None or type(trial.measure) is not Equal:
        raise ComponentError("its trial calls values uniform that are not planted classes, each guessed by itself")
    epsilon, delta = certified()
    right = Guess(labels=guess, confidence=_confidence(trial.guess, values.size)).ranked(values)
    proved = epsilon_bounds.one_run_epsilon(right, n_canaries=values.size, n_classes=n_classes, delta=delta)
    return Audited(
        at_least=proved.epsilon,
        delta=delta,
        certified=epsilon,
        p_value=epsilon_bounds.ranked_p_value(right, epsilon, n_canaries=values.size, n_classes=n_classes, delta=delta),
        provable=proved.provable,
    )


def _truth(trial: Trialled, labels: NDArray[np.intp], n_classes: int) -> NDArray[Any]:
    """Return what was to be guessed: labels of the records that are named, or what was planted.

    Raises:
        ComponentError: It names something else, or both or neither.
    """
    import numpy as np

    if (trial.records is None) == (trial.planted is None):
        raise ComponentError("its trial must name records, or hold the values that it planted")
    if trial.records is None:
        return _values(trial.measure, trial.planted, n_classes, "planted values")
    if type(trial.measure) is Within:
        raise ComponentError("its trial names records, whose labels are classes: within a tolerance are planted values")
    records = _numbers(trial.records, len(labels), "record numbers")
    if np.unique(records).size != records.size:
        raise ComponentError("its trial names a record twice")
    return _values(trial.measure, labels[records], n_classes, "labels")


def _values(measure: Measured, found: object, n_classes: int, what: str) -> NDArray[Any]:
    import numpy as np

    if type(measure) is Within:
        return _reals(found, what)
    values = _numbers(found, n_classes, what)
    if type(measure) is Overlap and values.size % measure.size:
        raise ComponentError(f"{values.size} values are no groups of {measure.size}")
    return np.unique(values) if type(measure) is Sets else values


def _beside(
    measure: Measured, guess: object, truth: NDArray[Any], n_classes: int, attack: object
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return guesses and values of one length: right is what is equal."""
    import numpy as np

    with attribute_errors(attack):
        found = _guessed(measure, guess, truth.size, n_classes)
        _confidence(guess, truth.size)
    placed = measure.placed(found, truth)
    missing = placed.size - truth.size
    return placed, np.append(truth, np.full(missing, ABSTAIN)) if missing else truth


def looked_at(guess: Any, measure: Measured, size: int, n_classes: int) -> Guess:
    """Return a guess whose labels, confidence and evidence are what they should be, as arrays of its own.

    Raises:
        ComponentError: They are something else.
    """
    labels = _guessed(measure, guess, size, n_classes)
    own = {"labels": labels, "confidence": _confidence(guess, size), "evidence": evidence(guess.evidence)}
    found: Guess = attrs.evolve(guess, **own)
    return found


def _guessed(measure: Measured, guess: object, size: int, n_classes: int) -> NDArray[Any]:
    if type(measure) is Within:
        return guessed_values(guess, Guess, size)
    return guessed_set(guess, Guess, n_classes) if type(measure) is Sets else guessed(guess, Guess, size, n_classes)


def _confidence(guess: Any, size: int) -> NDArray[np.float64] | None:
    """Return how sure an attack is of each guess; None where it does not know.

    Raises:
        ComponentError: It is not one number for every guess.
    """
    import numpy as np

    if guess.confidence is None:
        return None
    found = np.array(guess.confidence, dtype=float, subok=False)
    if found.shape != (size,) or np.isnan(found).any():
        told = f"of shape {found.shape}" if found.shape != (size,) else f"{np.isnan(found).sum()} times NaN"
        raise ComponentError(f"its confidence must be {size} numbers, one per guess; it is {told}")
    return found


def _placebo(redrawn: object, measure: Measured, n_classes: int, attack: object) -> Placebo:
    import numpy as np

    if type(redrawn) is not Redrawn:
        raise ComponentError(f"its placebo is a {type(redrawn).__name__}, expected Redrawn")
    values = _values(measure, redrawn.values, n_classes, "redrawn values")
    guess, truth = _beside(measure, redrawn.guess, values, n_classes, attack)
    return Placebo(
        n_correct=int(np.count_nonzero(guess == truth)),
        n_records=truth.size,
        chance=_best(measure, values, np.full(n_classes, 1 / n_classes)),
        declared=redrawn.declared,
    )


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


def _reals(values: object, what: str) -> NDArray[np.float64]:
    """Return real numbers, at least one.

    Raises:
        ComponentError: They are something else.
    """
    import numpy as np

    found = np.array(values, subok=False)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "fiu" or not np.isfinite(found).all():
        raise ComponentError(f"its {what} must be finite numbers, one for every guess")
    return found.astype(np.float64)

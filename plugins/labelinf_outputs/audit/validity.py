"""Is this an audit at all? What was not planted, or does not stand where it should, proves nothing: it is **void**.

An accusation needs labels that nothing but the model could have told, and an acquittal needs a pipe that carries
signal. Both can fail without a trace in the numbers: original labels are guessed from the features, labels shifted by a
row are guessed by nobody. So these are looked for, each by a test that an honest audit fails with probability
``IMPROBABLE`` at most.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import special

from labelinf_core.contracts.components import ABSTAIN
from labelinf_core.statistics.proportions import p_value
from labelinf_outputs.audit.planted import Planted

__all__ = ["IMPROBABLE", "carries_signal", "voids"]

IMPROBABLE = 1e-3  #: probability that one check calls an honest audit void
_MANY = 50  # planted labels of a class, from which the chi-square distribution is near enough that far out
_DRAWN = 3999
_SHIFTS = (-3, -2, -1, 1, 2, 3)


def voids(planted: Planted) -> tuple[str, ...]:
    """Say why the planted labels are not what every number of an audit takes them for; nothing when they may be.

    Models that are audited together are one audit: their labels are looked at as one, and the rest shares its level.
    """
    models, level = planted.models, IMPROBABLE / len(planted.models)
    each = (reason for model in models for reason in (*_of_rows(model, level), *_of_references(model, level)))
    labels = np.concatenate([model.labels for model in models])
    return tuple(dict.fromkeys((*_of_labels(labels, len(planted.class_names)), *each)))


def carries_signal(planted: Planted, said: NDArray[np.intp]) -> bool:
    """Whether guesses of the labels that were trained on openly are right, or wrong, too often for chance.

    Args:
        planted: What is known, the control among it.
        said: The guesses, shape ``(n_control,)``.
    """
    if planted.control is None:
        return False
    labels = planted.control[1]
    right, made = int((said == labels).sum()), int((said != ABSTAIN).sum())
    chance = 1 / len(planted.class_names)
    return 2 * min(p_value(right, made, chance), p_value(made - right, made, 1 - chance)) <= IMPROBABLE * 10


def _of_labels(labels: NDArray[np.intp], n_classes: int) -> Iterator[str]:
    counts = np.bincount(labels, minlength=n_classes)
    expected = labels.size / n_classes
    if expected >= _MANY:
        p_uniform = float(special.chdtrc(counts.size - 1, ((counts - expected) ** 2 / expected).sum()))
    else:
        p_uniform = _p_drawn(counts)
    if p_uniform <= IMPROBABLE:
        yield f"the planted labels are not uniform over the classes (p = {p_uniform:.1g}); they must be drawn so"


def _p_drawn(counts: NDArray[np.intp]) -> float:
    """Return the p-value of the chi-square statistic among drawn ones: exact, where its limit is not reached yet."""
    rng, even = np.random.default_rng(0), np.full(counts.size, 1 / counts.size)
    uneven = int(np.square(counts).sum())
    as_uneven = sum(int(np.square(rng.multinomial(counts.sum(), even)).sum()) >= uneven for _ in range(_DRAWN))
    return (1 + as_uneven) / (1 + _DRAWN)


def _of_rows(planted: Planted, level: float) -> Iterator[str]:
    said, labels = _top(planted.release.log_probabilities), planted.labels
    chance = 1 / len(planted.class_names)
    right = int((said == labels).sum())
    if min(p_value(right, labels.size, chance), p_value(labels.size - right, labels.size, 1 - chance)) <= level:
        return
    fitting = [
        rows
        for rows in (_SHIFTS if labels.size > 2 * max(_SHIFTS) else ())
        if _p(int((said == np.roll(labels, rows)).sum()), labels.size, planted) <= level / len(_SHIFTS)
    ]
    # Means over groups (a target mean without the record itself) fit several neighbours; a shift fits one row.
    if len(fitting) == 1:
        yield (
            f"the predictions fit the labels of other rows, {abs(fitting[0])} further "
            f"{'up' if fitting[0] > 0 else 'down'}: rows are shifted between the files; join them on record ids"
        )


def _of_references(planted: Planted, level: float) -> Iterator[str]:
    if planted.references is None:
        return
    said, labels = planted.references.log_probabilities, planted.labels
    correct = int((_top(said.mean(axis=0)) == labels).sum())
    if (p := _p(correct, labels.size, planted)) <= level:
        yield (
            f"the reference models alone, which never saw them, guess {correct} of {labels.size} planted labels "
            f"(p = {p:.1g}): these labels follow from the features, or the references were not independent"
        )
    own = planted.references.trained
    n_remembered = int((_top(said) == own).sum())
    remembered = _p(n_remembered, own.size, planted)
    n_back = int((_top(planted.release.log_probabilities) == labels).sum())
    # One lucky and one unlucky draw of a mechanism are no other pipeline: the shares themselves must differ.
    most = special.betaincinv(n_remembered + 1, max(own.size - n_remembered, 1), 1 - level / 2)
    differ = p_value(n_back, labels.size, float(most)) <= level / 2
    if differ and _p(n_back, labels.size, planted) <= level / 10 and remembered > 10 * IMPROBABLE:
        yield (
            "the model gives planted labels back, and the reference models do not give back theirs: they are "
            "shuffled, or not of the same pipeline"
        )


def _top(values: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.asarray(values.argmax(axis=-1), dtype=np.intp)


def _p(correct: int, guesses: int, planted: Planted) -> float:
    return p_value(correct, guesses, 1 / len(planted.class_names))

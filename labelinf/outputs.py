"""Labels planted in a training set, and the audit of a model that was trained on it: as functions."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelinf.labels import label_texts, label_vector, labels_first
from labelinf.objects import written
from labelinf.results import AuditResult, attacked_picture
from labelinf.shown import ShownResult, shows
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.fractions import fraction
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_outputs.audit import words
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.outputs import audit_outputs as audited
from labelinf_outputs.audit.plant import Planting, drawn, training
from labelinf_outputs.audit.planted import Planted, by_hand, references_of, sealed_of
from labelinf_outputs.audit.predictions import Predictions, predictions_of, read_predictions
from labelinf_outputs.audit.seal import Seal, read_seal
from labelinf_outputs.game.view import Outputs, View

__all__ = ["PlantedTraining", "audit_outputs", "plant"]


@attrs.frozen(kw_only=True, repr=False, eq=False)
class PlantedTraining(ShownResult):
    """Labels that were planted in a training set. Train on ``x[planted.index]`` with ``planted.labels[planted.index]``.

    Attributes:
        seal: Which records are canaries or control, and what was drawn; ``seal.write(path)`` keeps it.
        classes: Names of the classes in the order of the columns of predictions: sorted, as scikit-learn sorts them.
        index: Rows to train on, those of control many times, shape ``(n_rows,)``.
        labels: What to train every record on, shape ``(n_records,)``, of the type that was passed.
        references: The same of every reference set, shape ``(R, n_records)``.
        doubts: Sentences about what is doubtful of it.
    """

    seal: Seal
    classes: tuple[str, ...]
    index: NDArray[np.intp]
    labels: NDArray[Any]
    references: NDArray[Any]
    doubts: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield how much was planted, and the seal."""
        canaries, control = len(self.seal.records), len(self.seal.control)
        yield f"{canaries} planted labels of {len(self.classes)} classes, {control} records of control."
        yield from self.doubts
        yield f"seal {self.seal.digest}"

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield one row a canary."""
        for record, label in zip(self.seal.records, self.seal.labels, strict=True):
            yield {"record": int(record), "planted": self.seal.classes[label]}


def plant(
    y: ArrayLike,
    *,
    share: str | float = 0.1,
    references: int = 8,
    control: int = 20,
    copies: int = 10,
    seed: int | None = None,
) -> PlantedTraining:
    """Plant labels drawn at random in a training set, to audit later what a model tells of them.

    >>> import labelinf as li
    >>> planted = li.plant([0, 1] * 100, share="20%", control=5, copies=3, seed=0)
    >>> len(planted.seal.records), planted.index.shape, planted.labels.shape
    (40, (210,), (200,))

    Args:
        y: Labels as they are, shape ``(n_records,)``.
        share: Fraction of all records whose labels are drawn anew, ``"10%"`` or ``.1``: the canaries.
        references: Reference sets: other labels of the same canaries, on which models are trained to compare with.
        control: Records trained on openly, by which an audit sees that a model learns at all.
        copies: How often each of those is trained on.
        seed: Draws again what was drawn before; whoever knows it knows the labels. The system's randomness if None.

    Raises:
        InputError: There are too few records or classes, or a share is none.
    """
    labels_first(y, "plant(y)")
    texts, given = label_texts(y), label_vector(y)
    ids = list(map(str, range(len(texts))))
    how = Planting(share=fraction(share, "share"), references=references, control=control, copies=copies)
    seal, doubts = drawn(ids, texts, how, np.random.default_rng(seed), "y")
    values = dict(zip(texts, given, strict=True))
    index, _ = training(seal, seal.labels, ids, texts, copies)
    sets = [training(seal, labels, ids, texts, copies)[1] for labels in (seal.labels, *seal.references)]
    own, *others = (np.array([values[text] for text in texts], dtype=given.dtype) for texts in sets)
    return PlantedTraining(
        seal=seal,
        doubts=doubts,
        classes=tuple(map(str, np.unique(given))),
        index=np.array(index, dtype=np.intp),
        labels=own,
        references=np.array(others, dtype=given.dtype).reshape(references, len(texts)),
    )


@shows("auditing")
def audit_outputs(
    y: ArrayLike | PlantedTraining | None,
    probabilities: ArrayLike | str | Path | None = None,
    *,
    logits: ArrayLike | str | Path | None = None,
    top_1: ArrayLike | str | Path | None = None,
    rounded: int | None = None,
    references: Any = None,
    pool: int = 0,
    seal: str | Path | None = None,
    commitment: str = "",
    classes: Sequence[Any] = (),
    epsilon: float | None = None,
    delta: str | float = 0.0,
    mu: float | None = None,
    attacks: Sequence[Any] = (),
    seed: int = 0,
    timeout: float = 600.0,
    planted: None = None,
) -> AuditResult:
    """Audit a trained model: does it give back the labels that were planted in its training data?

    >>> import labelinf as li, numpy as np
    >>> planted = np.random.default_rng(0).integers(0, 2, 200)
    >>> told = np.where(planted[:, None] == [0, 1], 0.9, 0.1)
    >>> li.audit_outputs(planted, told, attacks=["lia-threshold"]).word.value
    'leaks'

    Args:
        y: What :func:`plant` planted; or labels that you drew yourself, uniformly, independently of everything and
            before training, shape ``(n_records,)``; None with ``seal``.
        probabilities: What the model says of every record, shape ``(n_records, n_classes)`` or ``(n_records,)`` for
            the second of two classes; or a file of it.
        logits: Instead: the same before the softmax.
        top_1: Instead: only the predicted classes, shape ``(n_records,)``.
        rounded: Decimals that the probabilities show.
        references: What reference models say: of a :func:`plant`, one such array each, in the order of its sets; else
            their probabilities, shape ``(R, n_records, n_classes)``, and their labels, ``(R, n_records)``.
        pool: Audit the last so many of those too, with a :func:`plant`.
        seal: The file that ``labelinf plant`` wrote, with predictions in files.
        commitment: The seal that was printed then, or its beginning.
        classes: Names of the classes in the order of the columns, as ``model.classes_``; sorted when empty.
        epsilon: The label-DP that is claimed, in nats.
        delta: The delta of that claim, a fraction.
        mu: Instead: Gaussian label-DP.
        attacks: Specs, or objects of your own, instead of all that are loaded.
        seed: Of the placebo's labels.
        timeout: Seconds that one game of an attack may take that does not come with labelinf.
        planted: What labels were called before 0.2; they come first.

    Returns:
        What was found, one row an attack.

    Raises:
        InputError: Something cannot be used as it is.
    """
    labels_first("" if planted is not None else y, "audit_outputs(y, probabilities)")
    if (y is None) == (seal is None):
        raise InputError("say what was planted: labels that were drawn, what li.plant returned, or None and seal=FILE.")
    said, view = _declared(probabilities, logits, top_1, rounded)
    if seal is not None:
        known = _of_seal(read_seal(str(seal), commitment), said, references or (), view, pool, classes)
    elif isinstance(y, PlantedTraining):
        known = _of_seal(y.seal, said, references or (), view, pool, classes or y.classes)
    else:
        known = _by_hand(label_vector(y), said, references, view, classes)  # type: ignore[arg-type]  # not None
    builder = Builder(Host.load())
    found = audited(
        known,
        builder,
        attacks=tuple(map(str, written(builder, Kind.ATTACK, attacks))),
        claim=_claimed(epsilon, fraction(delta, "delta"), mu),
        rng=np.random.default_rng(seed),
        timeout=timeout,
    )
    table = tuple(
        {
            "attack": item.attack,
            "word": item.word.value,
            "correct": item.correct,
            "guesses": item.guesses,
            "accuracy": item.accuracy.value if item.accuracy else None,
            "accuracy_low": item.accuracy.low if item.accuracy else None,
            "accuracy_high": item.accuracy.high if item.accuracy else None,
            "baseline": 1 / found.n_classes,
            "p_chance": item.p_chance,
            "p_placebo": item.p_placebo,
            "trouble": item.refusal,
        }
        for item in found.findings
    )
    return AuditResult(
        report=found,
        decision=found.decision,
        words=tuple(words.lines(found, str(known.view))),
        table=table,
        drawn=attacked_picture("What a model gives back of planted labels", table),
    )


def _claimed(epsilon: float | None, delta: float, mu: float | None) -> PrivacyClaim:
    if (mu is not None and (epsilon is not None or delta)) or (delta and epsilon is None):
        raise InputError("claim epsilon, with a delta if need be, or mu; not both.")
    inf = math.inf
    return PrivacyClaim(epsilon=inf if epsilon is None else epsilon, delta=delta, mu=inf if mu is None else mu)


def _declared(probabilities: Any, logits: Any, top_1: Any, rounded: int | None) -> tuple[Any, View]:
    """Return the predictions and what they show."""
    kinds = zip((Outputs.PROBABILITIES, Outputs.LOGITS, Outputs.TOP_ONE), (probabilities, logits, top_1), strict=True)
    given = [(said, kind) for kind, said in kinds if said is not None]
    if len(given) != 1:
        raise InputError("say what the model shows with one of probabilities, logits and top_1.")
    said, shown = given[0]
    if rounded is not None and shown is not Outputs.PROBABILITIES:
        raise InputError("rounded belongs to probabilities.")
    return said, View(outputs=shown, resolution=0.0 if rounded is None else 10.0**-rounded)


def _read(said: Any, view: View, classes: Sequence[Any], labels: Sequence[str], place: str) -> tuple[str, Predictions]:
    """Return predictions with their name in messages, of a file or an array."""
    if isinstance(said, str | os.PathLike):
        return os.fspath(said), read_predictions(os.fspath(said), view, labels)
    return place, predictions_of(place, np.asarray(said), view, tuple(map(str, classes)), labels)


def _of_seal(
    seal: Seal, said: Any, references: Sequence[Any], view: View, pool: int, classes: Sequence[Any]
) -> Planted:
    names = ("the predictions", *(f"reference {at}" for at in range(1, len(references) + 1)))
    pairs = zip(names, (said, *references), strict=True)
    return sealed_of(
        [_read(each, view, classes, seal.classes, name) for name, each in pairs], seal, view=view, pool=pool
    )


def _by_hand(y: NDArray[Any], said: Any, references: Any, view: View, classes: Sequence[Any]) -> Planted:
    """Put together what is known of labels that the user drew: a canary every row."""
    labels, names = list(map(str, y)), tuple(classes)
    width = 0 if isinstance(said, str | os.PathLike) else max(np.shape(said)[1:], default=2)
    if not names and width:
        counted = np.arange(width).astype(y.dtype)
        names = tuple(np.unique(y if {*labels} - {*map(str, counted)} else counted))
    _, shown = _read(said, view, names, labels, "the predictions")
    if len(shown.probabilities) != len(labels):
        raise InputError(f"{len(labels)} planted labels for predictions of {len(shown.probabilities)} records.")
    rows, known = np.arange(len(labels)), None
    if references is not None:
        arrays = dict(zip(("probabilities", "labels"), map(np.asarray, references), strict=True))
        known = references_of("references", arrays, rows, shown, view)
    return by_hand(shown, rows, {"label": labels}, known, view=view, place="y")

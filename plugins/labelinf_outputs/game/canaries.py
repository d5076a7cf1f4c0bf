"""The curator of the model-output channel: plants canaries, trains victims, and shows their outputs.

A :class:`CanaryGame` is one split of the data with one choice of canaries. Its *members* are models of one pipeline,
each with planted labels, mechanism draws and initial weights of its own: member 0 is the victim and the others are
reference models, trained when somebody asks for them. Members are exchangeable, so each can also be audited with the
others as its references: E models give E audits.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import ABSTAIN, LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_outputs.game.output import (
    ActiveOutputDefence,
    OutputDefence,
    OutputOracle,
    OutputThreat,
    References,
    Release,
)
from labelinf_outputs.game.training import Predictor, Recipe, Train, TrainingTask, one_hot
from labelinf_outputs.game.uses import counted
from labelinf_outputs.game.victims import make_victim
from labelinf_outputs.game.view import LossOracle, Outputs, View

__all__ = ["CanaryGame", "Member", "TrainingPlan", "prepared"]

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

_PLACEBO = 2**32  # members count from 0; this stream is nobody's


@attrs.frozen(kw_only=True)
class TrainingPlan:
    """What is trained on what, whatever is shown of it.

    Attributes:
        victim: Name of the victim.
        recipe: How it is trained unless a defence changes it.
        canaries: Share of the training records whose labels are planted.
        test: Share of all records kept for measuring accuracy.
    """

    victim: str
    recipe: Recipe
    canaries: float
    test: float

    def sizes(self, n_records: int) -> tuple[int, int]:
        """Return how many records are trained on, and how many of them are canaries.

        Raises:
            InputError: There are too few records for one canary and one test record.
        """
        training = n_records - int(self.test * n_records)
        planted = int(self.canaries * training)
        if planted < 1 or training == n_records:
            raise InputError(
                f"{n_records} records are too few for canaries={self.canaries:g} and test={self.test:g}: there would "
                f"be {planted} canaries and {n_records - training} test records, at least one of each is needed."
            )
        return training, planted

    def threat(self, data: LabelSet, declared: View) -> OutputThreat:
        """Return what the adversary knows who is shown ``declared`` of a victim without a defence.

        Raises:
            InputError: There are too few records.
        """
        n_training, n_canaries = self.sizes(data.n_records)
        return OutputThreat(
            n_records=n_canaries,
            n_classes=data.n_classes,
            prior=(1 / data.n_classes,) * data.n_classes,
            declared=declared,
            n_training=n_training,
            victim=self.victim,
        )


@attrs.frozen(kw_only=True, eq=False)
class Member:
    """One trained model and everything that is private about it.

    Attributes:
        planted: Planted labels of the canaries, before every mechanism.
        trained: Labels of the canaries that the model was trained on; ``ABSTAIN`` where none was.
        own: The model's own log-probabilities of the canaries, before any defence of the outputs.
        released: Released probabilities of the canaries.
        intact: Whether the released probabilities are the model's own.
        test_accuracy: Share of unseen records whose released top class is their label.
        train_accuracy: Share of the other training records whose released top class is their label.
    """

    planted: Labels = attrs.field(repr=False)
    trained: Labels = attrs.field(repr=False)
    own: Floats = attrs.field(repr=False)
    released: Floats = attrs.field(repr=False)
    intact: bool
    test_accuracy: float
    train_accuracy: float

    def log_probabilities(self, view: View) -> Floats:
        """Return what ``view`` shows, in logarithms."""
        if view.outputs is Outputs.LOGITS and self.intact:
            return self.own
        shown: Floats = np.log(np.maximum(self.released, view.smallest))
        return shown

    def losses(self, labels: Labels) -> Floats:
        """Return the model's own loss of every canary, were ``labels`` its labels; NaN where there is no label."""
        return np.where(labels == ABSTAIN, np.nan, -self.own[np.arange(labels.size), labels])


class CanaryGame:
    """One split, one choice of canaries, and as many models as are asked for.

    Args:
        plan: What is trained.
        data: Records with features.
        defences: The pipeline, in the order in which data flow.
        seed: Everything random follows from it.

    Raises:
        InputError: There are no features, too few records, or the victim does not exist.
    """

    def __init__(self, plan: TrainingPlan, data: LabelSet, defences: tuple[OutputDefence, ...], seed: int) -> None:
        if data.features is None:
            raise InputError(f"labels {data.title!r} come without features; the output channel trains on features.")
        n_training, self.n_canaries = plan.sizes(data.n_records)
        order = np.random.default_rng(seed).permutation(data.n_records)
        self.n_classes = data.n_classes
        self._training, self._test = order[:n_training], order[n_training:]
        self._features, self._labels = data.features, data.labels
        self._recipe = plan.recipe
        self._defences = defences
        self._threats = plan.threat(data, View()).through(defences).before
        self._victim = make_victim(plan.victim)
        self._seed = seed
        self._members: dict[int, Member] = {}

    def member(self, index: int) -> Member:
        """Return member ``index``, training it when it is first asked for."""
        if index not in self._members:
            self._members[index] = self._make(np.random.default_rng([self._seed, index]))
        return self._members[index]

    def oracle(self, threat: OutputThreat, target: int = 0) -> OutputOracle:
        """Return what the adversary of member ``target`` sees."""
        member = self.member(target)
        truth = member.planted if threat.view.loss is LossOracle.PLANTED else member.trained
        return self.sham(threat, truth, target)

    def placebo(self, threat: OutputThreat, target: int = 0) -> tuple[OutputOracle, Labels]:
        """Return the same view recomputed with labels that the model never saw, and these labels."""
        redrawn = np.random.default_rng([self._seed, target, _PLACEBO]).integers(
            0, self.n_classes, self.n_canaries, dtype=np.intp
        )
        return self.sham(threat, redrawn, target), redrawn

    def sham(self, threat: OutputThreat, truth: Labels, target: int = 0) -> OutputOracle:
        """Return the view of member ``target`` with losses computed with ``truth``."""
        member, view = self.member(target), threat.view
        release = Release(
            probabilities=member.released,
            log_probabilities=member.log_probabilities(view),
            losses=member.losses(truth) if view.reveals_label else None,
            features=self._features[self._training[: self.n_canaries]] if view.features else None,
        )
        others = [index for index in range(view.references + 1) if index != target][: view.references]
        return OutputOracle(threat, release, lambda: self._references(others, view))

    def _references(self, members: Sequence[int], view: View) -> References:
        chosen = [self.member(index) for index in members]
        return References(
            log_probabilities=np.array([member.log_probabilities(view) for member in chosen]),
            planted=np.array([member.planted for member in chosen]),
            trained=np.array([member.trained for member in chosen]),
        )

    def _make(self, rng: np.random.Generator) -> Member:
        planted = rng.integers(0, self.n_classes, self.n_canaries, dtype=np.intp)
        labels = self._labels[self._training].copy()
        labels[: self.n_canaries] = planted
        task = TrainingTask(
            features=self._features[self._training],
            targets=one_hot(labels, self.n_classes),
            recipe=self._recipe,
            records=np.arange(labels.size),
        )
        actives = []
        for item, threat in zip(self._defences, self._threats, strict=True):
            with gate.attribute_errors(item, quote=False):
                actives.append(item.start(threat, rng))
        trained = self._pipeline(actives)(gate.seal(task), rng)
        own = trained.model.log_probabilities(task.features)
        released, intact = self._released(actives, own, rng)
        others = slice(self.n_canaries, None)
        return Member(
            planted=planted,
            trained=trained.training_labels[: self.n_canaries],
            own=own[: self.n_canaries],
            released=released[: self.n_canaries],
            intact=intact,
            test_accuracy=self._accuracy(trained.model, actives, rng),
            train_accuracy=float(np.mean(released[others].argmax(axis=1) == labels[others])),
        )

    def _pipeline(self, actives: Sequence[ActiveOutputDefence]) -> Train:
        train: Train = self._victim.train
        for stage in reversed([*zip(self._defences, actives, self._threats, strict=True)]):
            train = counted(*stage, train)
        return train

    def _accuracy(self, model: Predictor, actives: Sequence[ActiveOutputDefence], rng: np.random.Generator) -> float:
        released, _ = self._released(actives, model.log_probabilities(self._features[self._test]), rng)
        return float(np.mean(released.argmax(axis=1) == self._labels[self._test]))

    def _released(
        self, actives: Sequence[ActiveOutputDefence], own: Floats, rng: np.random.Generator
    ) -> tuple[Floats, bool]:
        """Return what leaves the curator, and whether that is what the model said."""
        said = np.exp(own)
        released = said
        for defence, active in zip(self._defences, actives, strict=True):
            with gate.attribute_errors(defence, quote=False):
                released = gate.numbers_of(active.release(released, rng), own.shape)
        return released, released is said


@functools.lru_cache(maxsize=32)
def prepared(plan: TrainingPlan, data: LabelSet, defences: tuple[OutputDefence, ...], seed: int) -> CanaryGame:
    """Return a game, the same one for the same arguments: every attack meets the victims that are trained already."""
    return CanaryGame(plan, data, defences, seed)

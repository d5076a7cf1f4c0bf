"""The game of the model-output channel: real features, a really trained victim, planted labels, a placebo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import (
    ABSTAIN,
    Defence,
    Guess,
    LabelSet,
    Measure,
    Rule,
    Setting,
)
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.planted import PlantedChannel, Round
from labelinf_core.plugin.descriptors import Kind
from labelinf_outputs.game.canaries import CanaryGame, TrainingPlan, prepared
from labelinf_outputs.game.output import OutputAttack, OutputDefence, OutputOracle, OutputThreat
from labelinf_outputs.game.training import Recipe, TrainingTask, one_hot
from labelinf_outputs.game.victims import make_victim
from labelinf_outputs.game.view import LossOracle, Outputs, View

__all__ = ["CanaryRound", "OutputChannel"]

_TRIED = 64  # records that a victim is tried on before anything is played


@attrs.frozen(kw_only=True, eq=False)
class CanaryRound(Round):
    """One victim, with what its guesser is shown.

    Attributes:
        game: The split, the canaries and the models.
        threat: What is public.
    """

    game: CanaryGame
    threat: OutputThreat

    @classmethod
    def of(cls, game: CanaryGame, threat: OutputThreat) -> CanaryRound:
        """Return the round in which the first model of ``game`` is attacked."""
        return cls(labels=game.member(0).planted, view=game.oracle(threat), game=game, threat=threat)

    def sham(self, labels: NDArray[np.intp]) -> OutputOracle:
        """Return the same view recomputed with labels that the model never saw."""
        return self.game.sham(self.threat, labels)

    def evidence(self, guess: Guess) -> Mapping[str, Any]:
        """Say what a trial shows beside the share of correct guesses."""
        victim = self.game.member(0)
        trained = victim.trained != ABSTAIN
        memorised = float(np.mean(guess.labels[trained] == victim.trained[trained])) if trained.any() else None
        return {
            "training_label_accuracy": memorised,
            "test_accuracy": victim.test_accuracy,
            "train_accuracy": victim.train_accuracy,
            "certificate": self.threat.certificate,
            "view": str(self.threat.view),
        }


@attrs.frozen(kw_only=True)
class OutputChannel(PlantedChannel):
    """A model is trained on labels, some of them planted, and its outputs on those records are shown.

    Every trial splits the records anew, plants labels anew and trains anew; all attacks of one trial meet the same
    victims.

    Attributes:
        victim: What is trained: ``mlp`` (our network in NumPy), ``memory`` (forgets nothing), ``logistic``, ``forest``,
            ``neighbours``, or ``module:factory`` for any class with ``fit`` and ``predict_proba``.
        epochs: Passes over the training records; 0 leaves it to the victim.
        canaries: Share of the training records whose labels are planted, in (0, 1).
        test: Share of the records kept for measuring accuracy, in (0, 1).
        outputs: What is shown of every canary: ``probabilities``, ``logits`` or ``top-1``.
        loss: Whether losses are shown: ``none``, ``planted`` (computed with the label to be inferred) or ``trained``.
        references: Models of the same pipeline that the adversary may train itself.
        features: Show the canaries' features.
    """

    default_labels: ClassVar[str] = "breast-cancer"
    rank: ClassVar[int] = 20
    attacks: ClassVar[type[OutputAttack]] = OutputAttack
    defences: ClassVar[type[OutputDefence]] = OutputDefence
    uniform: ClassVar[bool] = True

    victim: str = "mlp"
    epochs: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    canaries: float = attrs.field(default=0.2, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])
    test: float = attrs.field(default=0.25, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])
    outputs: Outputs = Outputs.PROBABILITIES
    loss: LossOracle = LossOracle.NONE
    references: int = attrs.field(default=8, validator=attrs.validators.ge(0))
    features: bool = False

    @classmethod
    def measures(cls) -> tuple[Measure, ...]:
        """Return the accuracy that is left, and what a trial shows beside the labels recovered."""
        return (
            Measure(key="test_accuracy", title="test accuracy"),
            Measure(key="training_label_accuracy", title="trained", of="trial", better="lower", unit="share"),
            Measure(key="certificate", title="certificate", of="trial", unit="text"),
        )

    @classmethod
    def templates(cls) -> Mapping[Kind, str]:
        """Return what new components of this channel are begun from."""
        kinds = (Kind.ATTACK, Kind.DEFENCE)
        return {kind: f"labelinf_outputs:templates/{kind.value}.py.jinja" for kind in kinds}

    @classmethod
    def rules(cls) -> Mapping[Kind, Sequence[Rule]]:
        """Return the contract of this channel's components."""
        from labelinf_outputs.rules import RULES

        return RULES

    @property
    def plan(self) -> TrainingPlan:
        """What is trained."""
        recipe = Recipe(epochs=self.epochs or None)
        return TrainingPlan(victim=self.victim, recipe=recipe, canaries=self.canaries, test=self.test)

    def known(self, data: LabelSet) -> OutputThreat:
        """Return what the adversary knows of a victim without a defence.

        Raises:
            InputError: There are too few records.
        """
        shown = View(outputs=self.outputs, loss=self.loss, references=self.references, features=self.features)
        return self.plan.threat(data, shown)

    def check(self, data: LabelSet) -> None:
        """Train the victim on a few records and look at what it predicts.

        Raises:
            InputError: There are no features, or the victim cannot be trained or predicts no probabilities.
        """
        if data.features is None:
            raise InputError(f"labels {data.title!r} come without features; the output channel trains on features.")
        first = [int(np.argmax(data.labels == k)) for k in range(data.n_classes)]
        rows = np.unique([*first, *range(min(_TRIED, data.n_records))])
        targets = one_hot(data.labels[rows], data.n_classes)
        task = TrainingTask(features=data.features[rows], targets=targets, recipe=self.plan.recipe)
        trained = make_victim(self.victim).train(task, np.random.default_rng(0))
        trained.model.log_probabilities(data.features[rows])

    def utility(self, data: LabelSet, defences: tuple[Defence, ...], rng: np.random.Generator) -> Mapping[str, float]:
        """Return the share of unseen records that the released top class of a victim gets right.

        Raises:
            InputError: As :meth:`threat` and :meth:`check`.
        """
        self.threat(Setting(data=data, defences=defences))
        game = self._game(data, defences, rng)
        return {"test_accuracy": float(game.member(0).test_accuracy)}

    def begin(self, data: LabelSet, threat: OutputThreat, rng: np.random.Generator) -> CanaryRound:
        """Plant labels and train, the same model whenever ``rng`` is in the same state."""
        return CanaryRound.of(self._game(data, threat.defences, rng), threat)

    def _game(self, data: LabelSet, defences: tuple[Any, ...], rng: np.random.Generator) -> CanaryGame:
        return prepared(self.plan, data, defences, int.from_bytes(rng.bytes(16)))

"""The game of the model-output channel: real features, a really trained victim, planted labels, a placebo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import (
    ABSTAIN,
    Audited,
    Channel,
    Defence,
    LabelSet,
    Measure,
    Redrawn,
    Rule,
    Setting,
    Trialled,
    of_channel,
)
from labelinf_core.contracts.errors import ComponentError, InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_outputs.game.canaries import CanaryGame, Member, TrainingPlan, prepared
from labelinf_outputs.game.output import OutputAttack, OutputDefence, OutputGuess, OutputOracle, OutputThreat
from labelinf_outputs.game.training import Recipe, TrainingTask, one_hot
from labelinf_outputs.game.victims import make_victim
from labelinf_outputs.game.view import LossOracle, Outputs, View
from labelinf_privacy import epsilon_bounds

__all__ = ["OutputChannel", "ranked", "surest"]

_TRIED = 64  # records that a victim is tried on before anything is played
_VICTIMS = 3  # whose accuracy is averaged


@attrs.frozen(kw_only=True)
class OutputChannel(Channel):
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
    counts_only: ClassVar[bool] = True

    needs_features: ClassVar[bool] = True

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

    def undefended(self, setting: Setting) -> OutputThreat:
        """Return what the adversary of ``setting`` knows of a victim without a defence.

        Raises:
            InputError: There are no features or too few records, or a component belongs to another channel.
        """
        if setting.attack is not None:
            of_channel(setting.attack, OutputAttack, "attack", "output")
        _defences(setting)
        shown = View(outputs=self.outputs, loss=self.loss, references=self.references, features=self.features)
        return self.plan.threat(setting.data, shown)

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
        """Return the share of unseen records that the released top class gets right, over a few victims.

        Raises:
            InputError: As :meth:`threat` and :meth:`check`.
        """
        game = self.game(Setting(data=data, defences=defences), rng)
        return {"test_accuracy": float(np.mean([game.member(index).test_accuracy for index in range(_VICTIMS)]))}

    def game(self, setting: Setting, rng: np.random.Generator) -> CanaryGame:
        """Return the game of one trial; the same one whenever ``rng`` is in the same state."""
        seed = int.from_bytes(rng.bytes(16))
        return prepared(self.plan, setting.data, _defences(setting), seed)

    def trial(self, setting: Setting, *, curator_rng: np.random.Generator, attack_rng: np.random.Generator) -> Trialled:
        """Play one trial, and the same attack on the placebo."""
        attack = of_channel(setting.attack, OutputAttack, "attack", "output")
        threat = self.threat(setting)
        game = self.game(setting, curator_rng)
        victim = game.member(0)
        # The attack has a threat model of its own: whatever it does to it, the audit reads another.
        guess = _guess(attack, game.oracle(self.threat(setting)), attack_rng, victim.planted)
        sham, redrawn = game.placebo(self.threat(setting))
        again = _guess(attack, sham, attack_rng, redrawn)
        return Trialled(
            guess=guess,
            planted=victim.planted,
            queries=1,
            evidence={**guess.evidence, **_evidence(guess, victim, threat)},
            audited=_audited(guess, victim, threat),
            placebo=Redrawn(guess=again, values=redrawn, declared=threat.view.reveals_label),
        )


def surest(guess: OutputGuess) -> NDArray[np.intp]:
    """Return which canaries were guessed, most confident guess first, abstentions left out."""
    confidence = np.zeros(guess.labels.size) if guess.confidence is None else guess.confidence
    order = np.argsort(-confidence, kind="stable")
    return np.asarray(order[guess.labels[order] != ABSTAIN], dtype=np.intp)


def ranked(guess: OutputGuess, truth: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return whether each guess is correct, most confident first, abstentions left out."""
    made = surest(guess)
    correct: NDArray[np.bool_] = guess.labels[made] == truth[made]
    return correct


def _audited(guess: OutputGuess, victim: Member, threat: OutputThreat) -> Audited:
    """Set the certificate against the guesses, the most confident ones first, for the shares fixed beforehand."""
    found, delta = ranked(guess, victim.planted), threat.label_delta
    sizes = epsilon_bounds.guess_counts(victim.planted.size)
    each = [
        epsilon_bounds.claim_p_value(
            int(found[:size].sum()),
            size if delta else min(size, found.size),
            threat.label_epsilon,
            n_classes=threat.n_classes,
            delta=delta,
            n_canaries=victim.planted.size,
        )
        for size in sizes
        if found.size
    ]
    return Audited(
        at_least=_proved(found, victim, threat).epsilon,
        delta=delta,
        certified=threat.label_epsilon,
        p_value=min(1.0, len(sizes) * min(each, default=1.0)),
    )


def _proved(found: NDArray[np.bool_], victim: Member, threat: OutputThreat) -> epsilon_bounds.EpsilonBound:
    return epsilon_bounds.one_run_epsilon(
        found, n_canaries=victim.planted.size, n_classes=threat.n_classes, delta=threat.label_delta
    )


def _evidence(guess: OutputGuess, victim: Member, threat: OutputThreat) -> Mapping[str, Any]:
    """Say what a trial shows beside the share of correct guesses.

    Against an (epsilon, delta) certificate the bound is of that form.
    """
    bound = _proved(ranked(guess, victim.planted), victim, threat)
    trained = victim.trained != ABSTAIN
    memorised = float(np.mean(guess.labels[trained] == victim.trained[trained])) if trained.any() else None
    return {
        "epsilon_at_least": bound.epsilon,
        "epsilon_at_delta": threat.label_delta,
        "epsilon_provable": bound.provable,
        "training_label_accuracy": memorised,
        "test_accuracy": victim.test_accuracy,
        "train_accuracy": victim.train_accuracy,
        "certificate": threat.certificate,
        "view": str(threat.view),
    }


def _guess(
    attack: OutputAttack, oracle: OutputOracle, rng: np.random.Generator, truth: NDArray[np.intp]
) -> OutputGuess:
    """Return what an attack guesses, looked at."""
    n_classes = oracle.threat.n_classes
    with gate.blamed(attack):
        guess = attack.run(oracle, rng)
        labels = gate.guessed(guess, OutputGuess, truth.size, n_classes)
        confidence = None if guess.confidence is None else np.array(guess.confidence, dtype=float, subok=False)
        if confidence is not None and (confidence.shape != truth.shape or np.isnan(confidence).any()):
            raise ComponentError(f"its confidence must be {truth.size} numbers, one per guess")
        evidence = gate.evidence(guess.evidence)
    return OutputGuess(labels=labels, confidence=confidence, evidence=evidence)


def _defences(setting: Setting) -> tuple[OutputDefence, ...]:
    return tuple(of_channel(item, OutputDefence, "defence", "output") for item in setting.defences)

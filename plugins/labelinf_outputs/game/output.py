"""The model-output channel: a model is trained on private labels, and its outputs are shown.

The game (Khan et al., BLIA, 2025, section 3, corrected): some training records are **canaries**. Their labels are
replaced by labels drawn uniformly from the K classes, independently of everything; the defences do to all labels
whatever they do; a victim is trained. The adversary sees what the :class:`View` declares and guesses the planted
labels. Nobody who has not seen them can expect more than 1/K.

Two scores are kept apart: success against the **planted** label, which label-DP limits, and against the label the model
was **trained** on, which is memorisation and which no label-DP mechanism is meant to prevent.

The **placebo** is part of every trial: the same attack, on a view in which whatever depends on the labels other than
through the model (a loss oracle) is recomputed with labels redrawn after training. An attack that beats 1/K there reads
the label from the view and not from the model, and what it did says nothing about memorisation.

A **defence** has two stages. :meth:`OutputDefence.train` is a middleware around training: it sees the task first and
asks the next stage to train, as often as need be. :meth:`OutputDefence.release` changes the probabilities that leave
the curator. A pipeline is written in the order in which data flow: labels, training, outputs.
"""

from __future__ import annotations

import abc
import enum
import math
from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Attack, Defence, Guess
from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.training import Train, Trained, TrainingTask

__all__ = [
    "LossOracle",
    "OutputAttack",
    "OutputDefence",
    "OutputGuess",
    "OutputOracle",
    "OutputThreat",
    "Outputs",
    "References",
    "Release",
    "View",
]

Floats = NDArray[np.float64]


class Outputs(enum.Enum):
    """What a model shows of a record."""

    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    TOP_ONE = "top-1"


class LossOracle(enum.Enum):
    """Which label the losses that are shown, if any, were computed with."""

    NONE = "none"
    PLANTED = "planted"
    """The label to be inferred: then its loss *is* the label, and no label-DP is left."""
    TRAINED = "trained"
    """The label the model was trained on, after every mechanism."""


@attrs.frozen(kw_only=True)
class View:
    """Everything the adversary is shown, declared beforehand.

    Attributes:
        outputs: What the model shows of every canary.
        resolution: Smallest difference of released probabilities; 0 when they are not rounded.
        loss: Whether the model's loss on every canary is shown, and with which label it was computed.
        references: Models of the same pipeline that the adversary trained itself, with planted labels of its own.
        features: Whether the canaries' features are shown.
    """

    outputs: Outputs = Outputs.PROBABILITIES
    resolution: float = 0.0
    loss: LossOracle = LossOracle.NONE
    references: int = 0
    features: bool = False

    @property
    def reveals_label(self) -> bool:
        """Whether the declared view contains the label itself."""
        return self.loss is not LossOracle.NONE

    @property
    def smallest(self) -> float:
        """What a probability that is shown as 0 may have been: half a step of rounding, or next to nothing."""
        return self.resolution / 2 if self.resolution else 1e-15

    def __str__(self) -> str:
        parts = [self.outputs.value]
        if self.resolution:
            parts.append(f"rounded to {self.resolution:g}")
        if self.reveals_label:
            parts.append(f"losses with the {self.loss.value} label")
        if self.references:
            parts.append(f"{self.references} reference models")
        return ", ".join([*parts, *["features"] * self.features])


@attrs.frozen(kw_only=True)
class OutputThreat(ThreatModel):
    """What the adversary of the model-output channel knows.

    ``n_records`` counts the canaries and ``prior`` is uniform: planted labels follow nothing.

    Attributes:
        view: What is shown.
        n_training: Records the victim is trained on, canaries included.
        victim: What is trained, as the channel names it.
        mixed: Whether a stage before has let labels of some records reach the targets of others: no mechanism that
            comes later can certify anything about single labels.
        defences: What stands between, in the order in which data flow.
    """

    view: View = View()
    n_training: int = 0
    victim: str = ""
    mixed: bool = False
    defences: tuple[Defence, ...] = ()

    @property
    def certificate(self) -> str:
        """What is guaranteed of everything shown, in words."""
        if math.isinf(self.label_epsilon):
            return "none"
        also = f", delta = {self.label_delta:g}" if self.label_delta else ""
        return f"label-DP, epsilon = {self.label_epsilon:g}{also}"


@attrs.frozen(kw_only=True, eq=False)
class Release:
    """What one model shows of the canaries.

    Attributes:
        probabilities: Shape ``(n_canaries, n_classes)``; one-hot rows when only the top class is shown.
        log_probabilities: Their logarithms, a probability shown as 0 replaced by ``view.smallest``; exact where logits
            are shown.
        losses: Shape ``(n_canaries,)``, or None.
        features: Shape ``(n_canaries, n_features)``, or None.
    """

    probabilities: Floats
    log_probabilities: Floats
    losses: Floats | None = None
    features: Floats | None = None


@attrs.frozen(kw_only=True, eq=False)
class References:
    """What the adversary's own models show of the same canaries, and what they were trained on.

    Attributes:
        log_probabilities: As in :class:`Release`, shape ``(n_references, n_canaries, n_classes)``.
        planted: The adversary's own planted labels, shape ``(n_references, n_canaries)``.
        trained: The labels its models were trained on, after every mechanism; ``ABSTAIN`` where none was.
    """

    log_probabilities: Floats
    planted: NDArray[np.intp]
    trained: NDArray[np.intp]


class OutputOracle:
    """The adversary's whole view.

    Attributes:
        threat: What is public.
    """

    __slots__ = ("_references", "_release", "threat")

    def __init__(self, threat: OutputThreat, release: Release, references: Callable[[], References]) -> None:
        self.threat = threat
        self._release = release
        self._references = references

    def query(self) -> Release:
        """Return what the model shows of the canaries. Asking again shows the same."""
        return self._release

    def references(self) -> References:
        """Return the adversary's reference models.

        Raises:
            QueryRefusedError: The declared view has none.
        """
        if self.threat.view.references < 1:
            raise QueryRefusedError("the declared view has no reference models.")
        return self._references()


@attrs.frozen(kw_only=True, eq=False)
class OutputGuess(Guess):
    """What an attack of this channel answers: labels, and how sure it is of each.

    Attributes:
        confidence: Ranks the guesses, shape ``(n_canaries,)``: an audit looks at the most confident ones. None when
            the attack does not know.
    """

    confidence: Floats | None = None


class OutputAttack(Attack, abc.ABC):
    """An attack of the model-output channel."""

    @abc.abstractmethod
    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> OutputGuess:
        """Guess the planted labels.

        Args:
            oracle: The only way to the curator; ``oracle.threat`` is what is public.
            rng: The attack's own randomness.
        """


class OutputDefence(Defence):
    """A defence of the model-output channel. Overrides the stages it has, and says in :meth:`effect` what it changes.

    It must be hashable: victims are prepared once for every pipeline of defences.
    """

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train on ``task``; by default as it is.

        Args:
            task: Records and labels, the canaries with their planted labels, as the stages before left them.
            train: The next stage towards the victim.
            rng: The curator's randomness; the adversary never sees it.
        """
        return train(task, rng)

    def release(self, probabilities: Floats, rng: np.random.Generator) -> Floats:
        """Return what leaves the curator, shape ``(n, n_classes)``; by default ``probabilities`` itself."""
        return probabilities

    def tell(self, threat: ThreatModel) -> ThreatModel:
        """Return ``threat`` with what this defence changes in it.

        Raises:
            InputError: ``threat`` is of another channel.
        """
        if not isinstance(threat, OutputThreat):
            raise InputError(f"defence {type(self).__name__} does not belong to this channel (it is an OutputDefence).")
        return self.effect(threat)

    def effect(self, threat: OutputThreat) -> OutputThreat:
        """Return ``threat`` with what this defence changes in it; by default nothing: no certificate."""
        return threat

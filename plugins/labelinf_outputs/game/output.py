"""The model-output channel: a model is trained on private labels, and its outputs are shown.

The game (Khan et al., BLIA, 2025, section 3, corrected): some training records are **canaries**. Their labels are
replaced by labels drawn uniformly from the K classes, independently of everything; the defences do to all labels
whatever they do; a victim is trained. The adversary sees what the ``View`` declares and guesses the planted
labels. Nobody who has not seen them can expect more than 1/K.

Two scores are kept apart: success against the **planted** label, which label-DP limits, and against the label the model
was **trained** on, which is memorisation and which no label-DP mechanism is meant to prevent.

The **placebo** is part of every trial: the same attack, on a view in which whatever depends on the labels other than
through the model (a loss oracle) is recomputed with labels redrawn after training. An attack that beats 1/K there reads
the label from the view and not from the model, and what it did says nothing about memorisation.

A **defence** has two stages. :meth:`OutputDefence.train` is a middleware around training: it sees the task first and
asks the next stage to train, as often as need be. :meth:`OutputDefence.release` changes the probabilities that leave
the curator. A pipeline is written in the order in which data flow: labels, training, outputs. What a defence does is
said in ``OutputDefence.effects``, and the run counts how often every label is trained on: who trains more often
than declared fails.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import ClassVar, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Attack, Defence, Guess
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.effects import EFFECTS, OutputFacts
from labelinf_outputs.game.training import Train, Trained, TrainingTask
from labelinf_outputs.game.victims import ANEW
from labelinf_outputs.game.view import View

__all__ = [
    "ActiveOutputDefence",
    "OutputAttack",
    "OutputDefence",
    "OutputOracle",
    "OutputThreat",
    "References",
    "Release",
]

Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True)
class OutputThreat(ThreatModel):
    """What the adversary of the model-output channel knows.

    ``n_records`` counts the canaries and ``prior`` is uniform: planted labels follow nothing.

    Attributes:
        declared: What the channel shows of the model, before the defences.
        n_training: Records the victim is trained on, canaries included.
        victim: What is trained, as the channel names it.
    """

    vocabulary: ClassVar[frozenset[type]] = frozenset(EFFECTS)

    declared: View = attrs.field(factory=View)
    n_training: int = 0
    victim: str = ""

    def start(self) -> OutputFacts:
        """Return what is known of a victim without a defence."""
        return OutputFacts(view=self.declared)

    @property
    def starts_anew(self) -> bool:
        """Whether every model that is trained starts anew: a victim of somebody's own may keep labels for the next."""
        return self.victim in ANEW

    @property
    def view(self) -> View:
        """What is shown behind all stages."""
        shown: View = self.facts.view
        return shown

    @property
    def shows_labels(self) -> bool:
        """Whether losses that are computed with the label are shown."""
        return self.view.reveals_label

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

    def without(self, player: int) -> References:
        """Return all but one, for which it can then play the victim."""
        others = np.arange(len(self.planted)) != player
        return References(
            log_probabilities=self.log_probabilities[others], planted=self.planted[others], trained=self.trained[others]
        )


class OutputOracle:
    """The adversary's whole view. Its arrays cannot be written to: other attacks of the same trial are shown them."""

    __slots__ = ("_references", "_release", "_threat")

    def __init__(self, threat: OutputThreat, release: Release, references: Callable[[], References]) -> None:
        self._threat = threat
        self._release = gate.seal(release)
        self._references = references

    @property
    def threat(self) -> OutputThreat:
        """What is public."""
        return self._threat

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
        return gate.seal(self._references())


class OutputAttack(Attack, abc.ABC):
    """An attack of the model-output channel."""

    def unsupported_reason(self, threat: ThreatModel) -> str:
        """Why it cannot be played under ``threat``; what it lacks on this channel says :meth:`missing_requirement`."""
        return self.missing_requirement(threat) if isinstance(threat, OutputThreat) else "needs a model's outputs"

    def missing_requirement(self, threat: OutputThreat) -> str:
        """What this attack lacks, as a short clause; empty when it can be played."""
        return ""

    @abc.abstractmethod
    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        """Guess the planted labels.

        Args:
            oracle: The only way to the curator; ``oracle.threat`` is what is public.
            rng: The attack's own randomness.
        """


class ActiveOutputDefence(Protocol):
    """A defence while one model is trained and shown."""

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train on ``task``; see :meth:`OutputDefence.train`."""

    def release(self, probabilities: Floats, rng: np.random.Generator) -> Floats:
        """Return what leaves the curator; see :meth:`OutputDefence.release`."""


class OutputDefence(Defence):
    """A defence of the model-output channel. Overrides the stages it has, and says in ``effects`` what they do.

    It must be hashable: victims are prepared once for every pipeline of defences.
    """

    def start(self, threat: OutputThreat, rng: np.random.Generator) -> ActiveOutputDefence:
        """Return this defence's part in one game: the defence itself, unless it has something to remember.

        Args:
            threat: What is known of the stages nearer to the labels.
            rng: The curator's randomness; the adversary never sees it.
        """
        return self

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train on ``task``; by default as it is.

        Args:
            task: Records and labels, the canaries with their planted labels, as the stages before left them.
            train: The next stage towards the victim.
            rng: The curator's randomness.
        """
        return train(task, rng)

    def release(self, probabilities: Floats, rng: np.random.Generator) -> Floats:
        """Return what leaves the curator, shape ``(n, n_classes)``; by default ``probabilities`` itself."""
        return probabilities

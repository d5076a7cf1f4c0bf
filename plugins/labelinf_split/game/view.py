"""What the feature party knows and sees, and what attacks and defences of this channel derive from.

Two parties hold features of the same records, one of them the labels too. The *feature party* sends an embedding of
every record, the *label party* computes the loss and sends back its gradient at the embedding, the **cut**. Labels of
some records, the canaries, are planted; the feature party guesses them from all that it was sent.
"""

from __future__ import annotations

import abc
import enum
import math
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN, Attack, Defence, Guess
from labelinf_core.contracts.threat import ThreatModel
from labelinf_split.game.effects import EFFECTS, SplitFacts

if TYPE_CHECKING:
    from labelinf_split.game.channel import SplitChannel

__all__ = ["CutBatch", "Side", "SplitAttack", "SplitDefence", "SplitThreat", "SplitView"]

Floats = NDArray[Any]
Labels = NDArray[np.intp]


class Side(enum.Enum):
    """A network on one side of the cut: no layer, one, or two with rectified linear units between."""

    NONE = "none"
    LINEAR = "linear"
    MLP = "mlp"


@attrs.frozen(kw_only=True)
class SplitThreat(ThreatModel):
    """What is public of a run; ``n_records`` counts the canaries, and ``prior`` is uniform.

    Attributes:
        run: How both parties train, and what the feature party knows.
        width: Entries of an embedding, d.
        n_training: Records that are trained on, canaries first.
        nameless: Classes of which no label is known, where labels of others are.
    """

    vocabulary: ClassVar[frozenset[type]] = frozenset(EFFECTS)

    run: SplitChannel
    width: int
    n_training: int = 1
    nameless: int = 0

    @property
    def rounding(self) -> float:
        """How far an entry of a gradient may be off, as a share of the longest gradient of its step."""
        return 1e-9 if self.run.precision == "double" else 3e-5

    @property
    def drawn(self) -> bool:
        """Whether labels that are trained on may be drawn, so that no gradient proves those that were planted."""
        return math.isfinite(self.label_epsilon) or not self.facts.known

    @property
    def shown_epochs(self) -> int:
        """Epochs to look at: the first alone where nothing is changed, for tops drift; else all."""
        return 1 if self.facts.intact else self.run.epochs

    def start(self) -> SplitFacts:
        """Return what is known of a run without a defence."""
        run, bare = self.run, self.run.top is Side.NONE
        return SplitFacts(
            releases=run.epochs,
            width=self.width,
            radius=math.sqrt(1 - 1 / self.n_classes) if bare else math.inf,
            line=run.top is Side.LINEAR and run.frozen and self.n_classes == 2,
            stateless=run.frozen or (bare and not run.label_features),
        )


@attrs.frozen(kw_only=True, eq=False)
class SplitView:
    """What the feature party was sent, and has itself. T epochs, n records, d entries, S steps.

    Attributes:
        threat: What is public.
        embeddings: What it sent, shape ``(T, n, d)``; what it sent last, where a record passes no more.
        gradients: What it was sent for every record, of the record's own loss, shape ``(T, n, d)``; None if encrypted.
        step: In which step, shape ``(T, n)``; numbered from 0, -1 where a record is left out or passes no more.
        features: Its own features, shape ``(n, p)``.
        targets: Rows of the canaries, shape ``(m,)``.
        shots: Rows whose labels it knows, and these labels, shape ``(2, s)``.
        top_weights: Weights of a linear top at every step, shape ``(S, K, d)``, if they are known.
        own: Its own weights at every step, in a row, and their mean gradients, shape ``(S, 2, w)``, if encrypted.
    """

    threat: SplitThreat
    embeddings: Floats = attrs.field(repr=False)
    gradients: Floats | None = attrs.field(repr=False)
    step: Labels = attrs.field(repr=False)
    features: Floats = attrs.field(repr=False)
    targets: Labels = attrs.field(repr=False)
    shots: Labels = attrs.field(repr=False)
    top_weights: Floats | None = attrs.field(default=None, repr=False)
    own: Floats | None = attrs.field(default=None, repr=False)

    @property
    def sent(self) -> Floats:
        """The gradients in double precision, shape ``(T, n, d)``, 0 where there is none; there must be some."""
        assert self.gradients is not None  # an attack that needs them says so in unsupported_reason
        return np.where(self.step[:, :, None] >= 0, self.gradients, 0).astype(np.float64)

    @property
    def n_steps(self) -> int:
        """S."""
        return int(self.step.max()) + 1

    def rows_of(self, step: int) -> tuple[Labels, Labels]:
        """Return epochs and records of a step."""
        epochs, rows = np.nonzero(self.step == step)
        return epochs, rows

    def guess(self, labels: Labels, confidence: Floats, **evidence: Any) -> Guess:
        """Return what is guessed of the canaries, from labels and confidences of all records."""
        shown = np.nan_to_num(confidence[self.targets].astype(np.float64), nan=0.0, posinf=1e300, neginf=-1e300)
        return Guess(labels=labels[self.targets], confidence=shown, evidence=evidence)

    def nearest(self, scores: Floats, **evidence: Any) -> Guess:
        """Return the guess of the class with the largest score, shape ``(n, K)``, confident by the distance, if any."""
        ordered = np.sort(scores, axis=1)
        margin = ordered[:, -1] - ordered[:, -2]
        return self.guess(np.where(margin > 0, scores.argmax(axis=1), ABSTAIN), margin, **evidence)

    def of_class(self, values: Floats) -> Floats:
        """Return the means of ``values`` over the known records of every class, NaN without any."""
        rows, known = self.shots
        none = np.full(values.shape[1:], np.nan)
        picked = [values[rows[known == k]] for k in range(self.threat.n_classes)]
        return np.stack([part.mean(axis=0) if len(part) else none for part in picked])


@attrs.frozen(kw_only=True, eq=False)
class CutBatch:
    """What a label party computes in one step.

    ``gradients`` are of every record's own loss, as stages before left them, shape ``(B, d)``; ``labels`` what is
    trained on, behind all label mechanisms; ``top`` the weights of a linear top, shape ``(K, d)``, else None.
    """

    gradients: Floats
    labels: Labels
    top: Floats | None


class SplitAttack(Attack, abc.ABC):
    """An attack of this channel; ``named`` says whether it needs known labels."""

    named: ClassVar[bool] = True

    def unsupported_reason(self, threat: ThreatModel) -> str:
        """Why it cannot be played under ``threat``; what it lacks on this channel says :meth:`lacking`."""
        if not isinstance(threat, SplitThreat):
            return "needs the gradients of a cut"
        if self.named and (threat.nameless or not threat.run.shots):
            return "needs known labels of every class"
        return self.lacking(threat)

    def lacking(self, threat: SplitThreat) -> str:
        """What this attack lacks, as a short clause; empty when it can be played."""
        return "needs the gradients of the cut" if threat.run.encrypted else ""

    @abc.abstractmethod
    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess the planted labels, or abstain."""


class SplitDefence(Defence):
    """A defence of this channel: overrides what it has, and says in ``effects`` what that does. It is hashable."""

    def trained(self, labels: Labels, n_classes: int, rng: np.random.Generator) -> Labels:
        """Return the labels to train on instead, once for the whole run; by default as they are."""
        return labels

    def released(self, batch: CutBatch, rng: np.random.Generator) -> Floats:
        """Return the gradients to send instead, shape ``(B, d)``; by default as they are."""
        return batch.gradients

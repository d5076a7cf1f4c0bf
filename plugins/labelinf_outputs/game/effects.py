"""What defences of the model-output channel do, as data, and what follows from it for the labels.

Labels flow through the pipeline towards the victim, and the facts follow them: how often a stage may meet one label
(``times``), and what is certified of everything that comes out. The first mechanism that randomises labels decides the
certificate: whoever stands behind it sees its answers only, so all of that is post-processing.

Example:
    >>> from labelinf_outputs.game.view import View
    >>> from labelinf_outputs.game.effects import Mixed, OutputFacts, Randomised, Retrained
    >>> start = OutputFacts(view=View())
    >>> fold([Retrained(times=5), Randomised(epsilon=0.2)], start).label_epsilon
    1.0
    >>> fold([Randomised(epsilon=0.2), Retrained(times=5)], start).label_epsilon
    0.2
    >>> fold([Mixed(), Randomised(epsilon=0.2)], start).label_epsilon
    inf
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import attrs

from labelinf_core.contracts.effects import Effect, Unknown, fold
from labelinf_outputs.game.view import LossOracle, Outputs, View

__all__ = [
    "EFFECTS",
    "Coarsened",
    "Mixed",
    "OutputFacts",
    "Randomised",
    "Retrained",
    "TopOne",
    "Unknown",
    "allowed_uses",
    "fold",
]


@attrs.frozen(kw_only=True)
class OutputFacts:
    """What is known of a pipeline of this channel.

    Attributes:
        view: What the adversary is shown.
        model_epsilon: Label-DP of the model; infinity when nothing is certified.
        model_delta: The delta that goes with it.
        times: How often the next stage towards the victim may be given one label; infinity when nobody knows, or when
            labels of some records reach the targets of others.
    """

    view: View
    model_epsilon: float = math.inf
    model_delta: float = 0.0
    times: float = 1.0

    @property
    def certified(self) -> bool:
        """Whether a mechanism stands in the pipeline whose guarantee holds."""
        return math.isfinite(self.model_epsilon)

    @property
    def label_epsilon(self) -> float:
        """Label-DP of everything shown: none where a planted label is in view."""
        return math.inf if self.view.loss is LossOracle.PLANTED else self.model_epsilon

    @property
    def label_delta(self) -> float:
        """The delta that goes with it."""
        return 0.0 if math.isinf(self.label_epsilon) else self.model_delta

    def unknown(self) -> OutputFacts:
        """Return these facts after a stage of which nothing is known; the view is what the adversary sees anyway."""
        return OutputFacts(view=self.view, times=math.inf)


@attrs.frozen(kw_only=True)
class Randomised(Effect[OutputFacts]):
    """A mechanism on labels: whatever it trains, returns as training labels and releases is private.

    Attributes:
        epsilon: Of label-DP, for one use of each label, at least 0.
        delta: The delta that goes with it, in [0, 1].
    """

    epsilon: float = attrs.field(validator=attrs.validators.ge(0))
    delta: float = attrs.field(default=0.0, validator=[attrs.validators.ge(0), attrs.validators.le(1)])

    def after(self, facts: OutputFacts) -> OutputFacts:
        """Compose over the uses that stages before make of one label (basic composition)."""
        if facts.certified or math.isinf(facts.times):
            return facts
        delta = min(facts.times * self.delta, 1.0)
        return attrs.evolve(facts, model_epsilon=facts.times * self.epsilon, model_delta=delta)


@attrs.frozen(kw_only=True)
class Retrained(Effect[OutputFacts]):
    """Trains on one record up to so many times, with the record's own label or what is made of it alone.

    Attributes:
        times: Over all calls of the next stage, at least 1.
    """

    times: int = attrs.field(validator=attrs.validators.ge(1))

    def after(self, facts: OutputFacts) -> OutputFacts:
        """Multiply the uses."""
        return attrs.evolve(facts, times=facts.times * self.times)


@attrs.frozen(kw_only=True)
class Mixed(Effect[OutputFacts]):
    """Lets labels of some records reach the targets of others: no mechanism behind can certify single labels."""

    def after(self, facts: OutputFacts) -> OutputFacts:
        """Nobody knows how often a label is used."""
        return attrs.evolve(facts, times=math.inf)


@attrs.frozen(kw_only=True)
class Coarsened(Effect[OutputFacts]):
    """Released probabilities differ meaningfully by ``step`` only: they are rounded to it, or as noisy as that.

    Attributes:
        step: Above 0.
        noisy: Whether they are noisy: then no class stands alone any more, whatever was shown before.
    """

    step: float = attrs.field(validator=attrs.validators.gt(0))
    noisy: bool = False

    def after(self, facts: OutputFacts) -> OutputFacts:
        """Tell the adversary."""
        view = attrs.evolve(facts.view, resolution=max(facts.view.resolution, self.step))
        alone = view.outputs is Outputs.TOP_ONE and self.noisy
        return attrs.evolve(facts, view=attrs.evolve(view, outputs=Outputs.PROBABILITIES) if alone else view)


@attrs.frozen(kw_only=True)
class TopOne(Effect[OutputFacts]):
    """Shows the predicted class only."""

    def after(self, facts: OutputFacts) -> OutputFacts:
        """Tell the adversary."""
        return attrs.evolve(facts, view=attrs.evolve(facts.view, outputs=Outputs.TOP_ONE))


EFFECTS: tuple[type[Effect[OutputFacts]], ...] = (Randomised, Retrained, Mixed, Coarsened, TopOne)
#: what a stage can say; a subclass or an effect of somebody else's making is unknown


def allowed_uses(effects: Iterable[Effect[Any]]) -> float:
    """Return how often a stage with ``effects`` may train on one record; a mechanism answers for itself."""
    facts = fold(effects, OutputFacts(view=View()))
    return math.inf if facts.certified else facts.times

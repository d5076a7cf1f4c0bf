"""What stages between a label party and a feature party do, as data, and what follows for the labels.

Labels that are randomised once, before anything is trained, are private whatever happens to them afterwards (V16).
Gaussian noise of a public scale makes all releases of a record's gradient together private (V14), **only** if nothing
else that is released depends on its label, and one label moves a gradient by a known radius at most.
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.effects import Effect, fold

__all__ = ["EFFECTS", "CutChanged", "CutNoise", "LabelsRandomised", "LabelsSmoothed", "SplitFacts", "fold"]

_ROUNDED = 1 + 1e-5  # what gradients in single precision may lie further apart, and more


@attrs.frozen(kw_only=True)
class SplitFacts:
    """What is known of a pipeline.

    Attributes:
        releases: How often a gradient of one record is released, T.
        width: Entries of one gradient, d.
        radius: Of a ball about a public point that holds the gradients of all labels of a record; infinity: not known.
        line: Whether these lie on the public line of a weight, half a weight from a public point at most.
        stateless: Whether nothing at the label party depends on labels but what is released.
        smoothing: Share of every label that is spread evenly over all classes.
        intact: Whether gradients are released as they are computed.
        label_epsilon: Label-DP of the labels that are trained on; infinity without.
        label_delta: None goes with it.
        shift: How far all releases of a record lie from a reference, in standard deviations; infinity: not known.
        known: Whether every stage so far says what it does.
    """

    releases: int = 1
    width: int = 1
    radius: float = math.inf
    line: bool = False
    stateless: bool = False
    smoothing: float = 0.0
    intact: bool = True
    label_epsilon: float = math.inf
    label_delta: float = 0.0
    shift: float = math.inf
    known: bool = True

    def unknown(self) -> SplitFacts:
        """Return these facts after a stage of which nothing is known: it may read clean labels, and keep them."""
        bare = SplitFacts(releases=self.releases, width=self.width, smoothing=self.smoothing)
        return attrs.evolve(bare, intact=False, known=False)

    def changed(self, shift: float) -> SplitFacts:
        """Return these facts where gradients are no longer what they were, of a shift that is known or not."""
        return attrs.evolve(self, radius=math.inf, line=False, intact=False, shift=shift)


@attrs.frozen(kw_only=True)
class LabelsRandomised(Effect[SplitFacts]):
    """Every label is replaced once, before training, by one stored draw of pure label-DP ``epsilon``."""

    epsilon: float = attrs.field(validator=attrs.validators.ge(0))

    def after(self, facts: SplitFacts) -> SplitFacts:
        """All stages see drawn labels only: whatever they do is post-processing."""
        least = min(facts.label_epsilon, self.epsilon) if facts.known else math.inf
        return attrs.evolve(facts, label_epsilon=least)


@attrs.frozen(kw_only=True)
class LabelsSmoothed(Effect[SplitFacts]):
    """A public ``share`` of every label is spread evenly over all classes."""

    share: float = attrs.field(validator=[attrs.validators.ge(0), attrs.validators.lt(1)])

    def after(self, facts: SplitFacts) -> SplitFacts:
        """Tell the adversary."""
        return attrs.evolve(facts, smoothing=1 - (1 - facts.smoothing) * (1 - self.share))


@attrs.frozen(kw_only=True)
class CutChanged(Effect[SplitFacts]):
    """A gradient is replaced: by a function of itself and fresh coins ``alone``, or of labels or other records too."""

    alone: bool

    def after(self, facts: SplitFacts) -> SplitFacts:
        """Keep what is proved of noise nearer to the labels, unless one label now reaches other records."""
        kept = facts.changed(facts.shift if self.alone else math.inf)
        return attrs.evolve(kept, stateless=facts.stateless and self.alone)


@attrs.frozen(kw_only=True)
class CutNoise(Effect[SplitFacts]):
    """Every entry is cut to a grid of a ``step``, and has Gaussian noise of a public ``scale``, rounded to that grid.

    Nothing is longer than ``norm`` before. Of a ``line`` only the coefficient of its weight is treated so, and kept.
    """

    scale: float = attrs.field(validator=attrs.validators.gt(0))
    step: float = attrs.field(validator=attrs.validators.gt(0))
    norm: float = math.inf
    line: bool = False

    def after(self, facts: SplitFacts) -> SplitFacts:
        """Add the squares of T releases, about one reference; cutting moves an entry by one step at most."""
        radius = min(facts.radius, self.norm) * _ROUNDED + math.sqrt(facts.width) * self.step
        if self.line:
            radius = 0.5 * _ROUNDED + self.step if facts.line else math.inf
        holds = facts.stateless and facts.known
        return facts.changed(min(facts.shift, math.sqrt(facts.releases) * radius / self.scale if holds else math.inf))


EFFECTS = (LabelsRandomised, LabelsSmoothed, CutChanged, CutNoise)
#: what a stage can say; a subclass or an effect of somebody else's making is unknown

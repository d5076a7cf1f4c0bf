"""A game on planted labels: its author writes what is released, and the core does the rest.

The core plants labels, asks the channel what is shown, lets the attack guess, redraws labels for the placebo, and
counts. A channel says two things::

    @attrs.frozen(kw_only=True)
    class Split(PlantedChannel):
        attacks: ClassVar = SplitAttack
        defences: ClassVar = SplitDefence

        def known(self, data):  # what the adversary knows where nothing stands between
            return SplitThreat.planted(data, n_records=100)

        def release(self, data, labels, threat, rng):  # what it sees, once
            return train(data.features[:100], labels, threat.defences, rng)

A channel whose labels come with what is released (samples that are drawn with their features) begins a
:class:`Round` of its own. The core has not planted those labels: they prove no epsilon, unless the very class that
begins the round says ``uniform = True``.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, final

import attrs

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Attack, Channel, Defence, LabelSet, Setting, of_channel
from labelinf_core.contracts.outcomes import Equal, Guess, Redrawn, Trialled, looked_at

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from labelinf_core.contracts.images import Gallery
    from labelinf_core.contracts.measures import Measured
    from labelinf_core.contracts.threat import ThreatModel

__all__ = ["PlantedChannel", "Round"]


@attrs.frozen(kw_only=True, eq=False)
class Round:
    """One trial, before anybody guesses. Channels derive from it to say what a guess shows beside the labels.

    Attributes:
        labels: What is to be guessed, shape ``(n,)``.
        view: What the adversary sees: ``attack.run`` is handed it.
        measure: When a guess counts.
        queries: Releases that are observed.
    """

    labels: NDArray[np.intp] = attrs.field(repr=False)
    view: Any = attrs.field(repr=False)
    measure: Measured = Equal()  # noqa: RUF009 - frozen, without fields
    queries: int = 1

    def sham(self, labels: NDArray[np.intp]) -> Any:
        """Return the view with whatever it shows of the labels themselves shown of ``labels``, drawn afterwards.

        By default as it is: nothing that is shown depends on labels that were drawn later.
        """
        return self.view

    def evidence(self, guess: Guess) -> Mapping[str, Any]:
        """Return what a guess shows beside the labels that are right; nothing by default."""
        return {}

    def gallery(self, guess: Guess) -> Gallery | None:
        """Return pictures to look at; none by default."""
        return None


class PlantedChannel(Channel):
    """A channel in which something that depends on planted labels is released once.

    Attributes:
        attacks: What its attacks derive from.
        defences: What its defences derive from.
        uniform: Whether labels are drawn uniformly and independently of all else. Then every attack meets the placebo,
            and its guesses prove an epsilon. A class that begins rounds of its own says so in its own body.
    """

    attacks: ClassVar[type[Attack]]
    defences: ClassVar[type[Defence]]
    uniform: ClassVar[bool] = True
    counts_only: ClassVar[bool] = True
    needs_features: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "begin" in vars(cls) and "uniform" not in vars(cls):
            cls.uniform = False

    @abc.abstractmethod
    def known(self, data: LabelSet) -> ThreatModel:
        """Return what the adversary knows where nothing stands between; ``n_records`` counts the labels to guess.

        Raises:
            InputError: The settings and the labels do not fit together.
        """

    def release(self, data: LabelSet, labels: NDArray[np.intp], threat: Any, rng: np.random.Generator) -> Any:
        """Return what the adversary sees.

        Args:
            data: The label set, of which the features are used.
            labels: The planted labels, one for every record of the threat model.
            threat: What is public, ``threat.defences`` the stages between.
            rng: The curator's randomness, the defences' too.
        """
        raise NotImplementedError(f"{type(self).__name__} says in release() what its adversary sees.")

    def begin(self, data: LabelSet, threat: Any, rng: np.random.Generator) -> Round:
        """Plant labels uniformly and release what depends on them."""
        import numpy as np

        labels = gate.sealed(rng.integers(0, threat.n_classes, threat.n_records, dtype=np.intp))
        return Round(labels=labels, view=self.release(data, labels, threat, rng))

    @final
    def undefended(self, setting: Setting) -> ThreatModel:
        """Return what the adversary of ``setting`` knows where nothing stands between.

        Raises:
            InputError: The settings, the labels and the components do not fit together.
        """
        name = type(self).__name__.removesuffix("Channel").lower()
        if setting.attack is not None:
            of_channel(setting.attack, self.attacks, "attack", name)
        for defence in setting.defences:
            of_channel(defence, self.defences, "defence", name)
        return self.known(setting.data)

    @final
    def trial(self, setting: Setting, *, curator_rng: np.random.Generator, attack_rng: np.random.Generator) -> Trialled:
        """Play one trial, and where labels are uniform the same attack on labels that are drawn afterwards."""
        attack: Any = setting.attack
        threat: ThreatModel = self.threat(setting)
        begun = self.begin(setting.data, threat, curator_rng)
        with gate.attribute_errors(attack):
            guess = _guess(attack, begun, begun.view, threat.n_classes, attack_rng)
            evidence, gallery = {**guess.evidence, **begun.evidence(guess)}, begun.gallery(guess)
            placebo = None
            if self.uniform:
                redrawn = gate.sealed(curator_rng.integers(0, threat.n_classes, begun.labels.size))
                again = _guess(attack, begun, begun.sham(redrawn), threat.n_classes, attack_rng)
                placebo = Redrawn(guess=again, values=redrawn, declared=threat.shows_labels)
        return Trialled(
            guess=guess,
            planted=begun.labels,
            measure=begun.measure,
            queries=begun.queries,
            evidence=evidence,
            placebo=placebo,
            uniform=self.uniform,
            gallery=gallery,
        )


def _guess(attack: Any, begun: Round, view: Any, n_classes: int, rng: np.random.Generator) -> Guess:
    """Return what an attack guesses from a view, looked at."""
    guess = attack.run(view, rng)
    return looked_at(guess, begun.measure, begun.labels.size, n_classes)

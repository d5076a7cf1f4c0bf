"""What a run consists of: cells, each named for ever by what is in it.

A cell's name is the SHA-256 of its content in canonical JSON: the channel, the attack and every defence with all
parameters spelled out, the *content* of the labels (not the path they were read from), and the versions of the
distributions that provide the components. Two cells with the same content are one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import attrs

from labelinf_core.contracts.components import LabelSet, Measure
from labelinf_core.evaluator.records import to_json
from labelinf_core.plugin.descriptors import NO_DEFENCE

__all__ = ["Cell", "LabelFacts", "Plan", "Shown", "digest_of"]


@attrs.frozen(kw_only=True)
class Shown:
    """How a report names the parts of a cell: as the user wrote them, one point of every grid.

    Attributes:
        attack: For example ``"powers-blocks(tau=0.01)"``.
        defences: From the curator outward.
        channel: For example ``"score(loss=log-loss)"``.
        reference: The statement that the attack implements.
    """

    attack: str
    defences: tuple[str, ...]
    channel: str
    reference: str

    @property
    def pipeline(self) -> str:
        """The defences as one text; ``none`` when there is none."""
        return " + ".join(self.defences) or NO_DEFENCE


@attrs.frozen(kw_only=True)
class Cell:
    """One attack against one pipeline of defences, in one setting of a channel, on one label set.

    Attributes:
        channel: Full spec of the channel.
        attack: Full spec of the attack.
        defences: Full specs, from the curator outward.
        digest: SHA-256 of the labels.
        versions: Distributions that provide the components, and their versions.
        labels: Spec of the label source, as written; where the labels come from, not what they are.
        shown: How a report names it.
    """

    channel: str
    attack: str
    defences: tuple[str, ...]
    digest: str
    versions: Mapping[str, str] = attrs.field(hash=False)
    labels: str = attrs.field(eq=False)
    shown: Shown = attrs.field(eq=False)

    @property
    def written(self) -> tuple[str, ...]:
        """The defences as records write them: the empty pipeline has a name too."""
        return self.defences or (NO_DEFENCE,)

    @property
    def game(self) -> tuple[str, ...]:
        """What is played, whatever version plays it: all randomness of the attack is derived from this."""
        return (self.channel, self.digest, self.attack, *self.written)

    @property
    def id(self) -> str:
        """Name of the cell: 64 hexadecimal digits."""
        return _sha256({"game": self.game, "versions": self.versions})


@attrs.frozen(kw_only=True)
class LabelFacts:
    """What a report says about a label set."""

    title: str
    provenance: str
    n_records: int
    class_names: tuple[str, ...]
    class_counts: tuple[int, ...]
    digest: str

    @property
    def majority_share(self) -> float:
        """Accuracy of the majority guess."""
        return max(self.class_counts) / self.n_records


@attrs.frozen(kw_only=True)
class Plan:
    """Everything a run needs to know.

    Attributes:
        title: What a report calls it.
        trials: How often every cell is played.
        seed: What all randomness is derived from.
        cells: The cells, in the order of the suite.
        labels: Facts about every label set.
        environment: Versions of Python and of the numerical libraries.
        measures: What every channel measures beside the share of labels recovered, by the channel's name.
    """

    title: str
    trials: int
    seed: int
    cells: tuple[Cell, ...]
    labels: tuple[LabelFacts, ...]
    environment: Mapping[str, str]
    measures: Mapping[str, tuple[Measure, ...]] = attrs.field(factory=dict)

    @property
    def digest(self) -> str:
        """Name of the plan; a run record goes on only with the plan it was made for."""
        return _sha256([self.trials, self.seed, sorted(cell.id for cell in self.cells), self.environment])


def digest_of(data: LabelSet) -> str:
    """Return the SHA-256 of what is in a label set: labels, class names and features."""
    parts = hashlib.sha256(to_json([data.class_names, data.labels.shape]).encode())
    parts.update(data.labels.astype("<i8").tobytes())
    if data.features is not None:
        parts.update(data.features.astype("<f8").tobytes())
    return parts.hexdigest()


def _sha256(content: object) -> str:
    return hashlib.sha256(to_json(content).encode()).hexdigest()

"""What a run consists of: cells, each named for ever by what is in it.

A cell's name is the SHA-256 of its content in canonical JSON: the channel, the attack and every defence with all
parameters spelled out, the *content* of the labels (not the path they were read from), and the versions of the
distributions that provide the components. Two cells with the same content are one.

**The key.** A digest of private labels would confirm a guess of them, and randomness that is derived from content alone
would let anybody replay a run on labels of which he knows the results. So private labels enter a name, and through it
every random stream, as a digest that is keyed with a secret of the run. The secret stands in the run record and nowhere
else: whoever holds that record can replay the run byte for byte, nobody else can.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import TypeVar

import attrs

from labelinf_core.contracts.components import LabelSet, Measure
from labelinf_core.evaluator.records import to_json
from labelinf_core.plugin.descriptors import NO_DEFENCE

K = TypeVar("K", "Cell", "LabelFacts")

__all__ = ["Cell", "LabelFacts", "Plan", "Role", "Shown", "digest_of", "new_key"]


class Role(enum.IntEnum):
    """Why a cell stands in a plan. Where two tables ask for the same cell, the smaller role wins."""

    NAMED = 0
    """The suite names its attack: it is played."""

    CANDIDATE = 1
    """It is played where its attack is among the strongest."""


@attrs.frozen(kw_only=True)
class Shown:
    """How a report names the parts of a cell: as the user wrote them, one point of every grid.

    Attributes:
        attack: For example ``"my-attack(tau=0.01)"``.
        defences: From the curator outward.
        channel: For example ``"my-channel(budget=10)"``.
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
        digest: SHA-256 of the labels, keyed when they are private: what names and random streams are derived from.
        versions: Distributions that provide the components, and their versions.
        labels: Spec of the label source, as written; where the labels come from, not what they are.
        shown: How a report names it.
        code: Programs and functions of the user's own that it runs, and the SHA-256 of their files; it never leaves the
            run record.
        content: SHA-256 of the labels themselves; it never leaves the run record.
        public: Whether anybody may know the labels.
        foreign: Whether it runs other code than labelinf's own: a third party's, or a user's.
        lost: Why it cannot be played, when planning has found out that a plugin's part of it cannot be had.
        role: Why it stands in the plan.
    """

    channel: str
    attack: str
    defences: tuple[str, ...]
    digest: str
    versions: Mapping[str, str] = attrs.field(hash=False)
    labels: str = attrs.field(eq=False)
    shown: Shown = attrs.field(eq=False)
    code: Mapping[str, str] = attrs.field(factory=dict, hash=False, repr=False)
    content: str = attrs.field(eq=False, default="", repr=False)
    public: bool = attrs.field(eq=False, default=False)
    foreign: bool = attrs.field(eq=False, default=False)
    lost: str = attrs.field(eq=False, default="")
    role: Role = attrs.field(eq=False, default=Role.NAMED)

    @property
    def written(self) -> tuple[str, ...]:
        """The defences as records write them: the empty pipeline has a name too."""
        return self.defences or (NO_DEFENCE,)

    @property
    def target(self) -> tuple[str, ...]:
        """What an attack meets: the same for all that play against one line of defences."""
        return (self.channel, self.digest, *self.written)

    @property
    def curator(self) -> tuple[str, ...]:
        """What a trial draws or trains is the same for all cells with this, whatever of it is shown to an attack."""
        return (self.digest, *self.written)

    @property
    def game(self) -> tuple[str, ...]:
        """What is played, whatever version plays it: all randomness of the attack is derived from this."""
        return (self.channel, self.digest, self.attack, *self.written)

    @property
    def contest(self) -> tuple[str, ...]:
        """What is played, whatever version plays it under whatever key: the same in two runs on the same labels."""
        return (self.channel, self.content, self.attack, *self.written)

    @functools.cached_property
    def id(self) -> str:
        """Name of the cell: 64 hexadecimal digits."""
        code = {"code": self.code} if self.code else {}
        return _sha256({"game": self.game, "versions": self.versions} | code)


@attrs.frozen(kw_only=True)
class LabelFacts:
    """What a report says about a label set.

    Attributes:
        title: What a report calls it.
        provenance: Where it comes from.
        n_records: Labels in it.
        class_names: The user's own names.
        class_counts: Labels of every class; empty where they are not told.
        digest: As in a cell.
        content: As in a cell.
        public: As in a cell.
        majority_share: Accuracy of the majority guess.
    """

    title: str
    provenance: str
    n_records: int
    class_names: tuple[str, ...]
    class_counts: tuple[int, ...]
    digest: str
    content: str = attrs.field(default="", repr=False)
    public: bool = False
    majority_share: float = attrs.field()

    @majority_share.default
    def _of_counts(self) -> float:
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
        counts_only: Names of the channels whose threat model reads class counts only.
        fresh_order: Names of the channels that play the labels in a fresh random order.
        installed: How many attacks are installed for every channel, by its name.
        key: Secret of the run, in hexadecimal digits; empty when all labels are public.
        left_out: What the suite asks for and a plugin's fault keeps out, as sentences.
    """

    title: str
    trials: int
    seed: int
    cells: tuple[Cell, ...]
    labels: tuple[LabelFacts, ...]
    environment: Mapping[str, str]
    measures: Mapping[str, tuple[Measure, ...]] = attrs.field(factory=dict)
    counts_only: tuple[str, ...] = ()
    fresh_order: tuple[str, ...] = ()
    installed: Mapping[str, int] = attrs.field(factory=dict)
    key: str = attrs.field(default="", repr=False)
    left_out: tuple[str, ...] = ()

    def keyed(self, key: str) -> Plan:
        """Return the same plan under another key; names of what is played on public labels stay."""
        if all(facts.public for facts in self.labels):
            return attrs.evolve(self, key="")
        return attrs.evolve(
            self,
            key=key,
            cells=tuple(_keyed(cell, key) for cell in self.cells),
            labels=tuple(_keyed(facts, key) for facts in self.labels),
        )

    @property
    def digest(self) -> str:
        """Name of the plan; a run record goes on only with the plan it was made for."""
        return _sha256([self.trials, self.seed, sorted(cell.id for cell in self.cells), self.environment])


def new_key() -> str:
    """Return a secret for a new run: 32 bytes from the system, in hexadecimal digits."""
    return secrets.token_hex(32)


def _keyed(item: K, key: str) -> K:
    if item.public:
        return item
    digest = hmac.new(bytes.fromhex(key), item.content.encode(), hashlib.sha256).hexdigest()
    return attrs.evolve(item, digest=digest)


def digest_of(data: LabelSet) -> str:
    """Return the SHA-256 of what is in a label set: labels, class names, features and groups."""
    parts = hashlib.sha256(to_json([data.class_names, data.labels.shape]).encode())
    parts.update(data.labels.astype("<i8").tobytes())
    if data.features is not None:
        parts.update(data.features.astype("<f8").tobytes())
    if data.groups is not None:
        parts.update(b"groups" + data.groups.astype("<i8").tobytes())
    return parts.hexdigest()


def _sha256(content: object) -> str:
    return hashlib.sha256(to_json(content).encode()).hexdigest()

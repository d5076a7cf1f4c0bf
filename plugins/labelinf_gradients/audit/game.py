"""Clients about whose records an adversary sees updates, and the attacks on those."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Guess, LabelSet
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import LabelinfError, UnfitError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_gradients.attacks.common import spread_counts
from labelinf_gradients.audit.change import Sends
from labelinf_gradients.audit.readers import Looked, best_readers, look_at
from labelinf_gradients.audit.scale import UpdateScale
from labelinf_gradients.audit.updates import Update
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.clients import scaled
from labelinf_gradients.game.effects import Batched, Dropped, NoiseAdded, NormClipped
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat, Shared
from labelinf_gradients.game.networks import Network
from labelinf_gradients.game.torch_network import TorchNetwork

__all__ = ["ClientGame", "Player", "Score", "Together", "format_known", "guessed"]

_NEAR = 0.003  # of an update: where gradients leave more, whole equations are not worth their time
_SHARP = 1e-5  # of a difference of parameters: coarser roundings leave about what a half does
_CHOICE = "defence-aware"  # of attacks that are played each by itself
_BROAD = ("matched-filter", "matched-filter(direction=ones)", "matched-filter(direction=singular)", "llg", "row-minima")

Player = Callable[[GradientOracle, np.random.Generator], NDArray[np.intp]]


@attrs.frozen(kw_only=True)
class Score:
    """How an attack did.

    Attributes:
        attack: Its name.
        correct: How many it recovered.
        counted: Of what: labels, or label counts of batches, which is less.
        failed: What went wrong; empty when it was played to its end.
        unfit: What the module or the adversary lacks, for which it cannot be played at all.
    """

    attack: str
    correct: int = 0
    counted: str = "labels"
    failed: str = ""
    unfit: str = ""


@attrs.frozen(kw_only=True, eq=False)
class Together:
    """Clients with the same code whose updates are summed before anybody sees them: secure aggregation.

    Attributes:
        client: Their code, as it is or behind a change.
        clients: How many they are.
        sends: The parameters that they send.
    """

    client: Sends
    clients: int
    sends: frozenset[str] = frozenset()

    def __call__(self, x: NDArray[Any], classes: NDArray[np.intp]) -> Update:
        """Return the sum of what all of them send, each about its share of some records."""
        parts = np.arange(len(x)).reshape(self.clients, -1)
        sent = [self.client(x[rows], classes[rows]) for rows in parts]
        return {name: np.sum([update[name] for update in sent], axis=0) for name in sent[0]}


@attrs.frozen(kw_only=True, eq=False)
class ClientGame:
    """Clients about whose records an adversary with others of its own sees updates.

    Attributes:
        together: The clients.
        scale: How large the updates of each are.
        network: Their module.
        data: All records.
        held: The adversary's.
        private: The clients', a row for all that are summed.
    """

    together: Together
    scale: UpdateScale
    network: Network
    data: LabelSet
    held: NDArray[np.intp]
    private: NDArray[np.intp]

    @functools.cached_property
    def own(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The adversary's records and their classes."""
        return scaled(self.data)[self.held], self.data.labels[self.held]

    @property
    def headed(self) -> bool:
        """Whether what is sent of the last layer has a row for every class."""
        head, sends = self.network.classifier_names[:1], self.together.sends
        return bool(head) and head[0] in sends and len(self.network.classifier.weights) == self.data.n_classes

    def sent(self, labels: NDArray[np.intp]) -> list[Update]:
        """Return what is seen of the private records with some labels."""
        x = scaled(self.data)
        return [self.together(x[rows], classes) for rows, classes in zip(self.private, labels, strict=True)]

    def threats(self, like: Update) -> tuple[GradientThreat, ...]:
        """Return what the adversary may suppose of the mean of updates: an attack is played under the first it admits.

        A gradient, where it is near to one; a gradient times a factor; some of its entries; a gradient in noise.
        """
        scale = self.scale
        noise = NoiseAdded(std=scale.noise / abs(scale.factor) / math.sqrt(self.together.clients))
        scaled_ = NormClipped(norm=min(1e300, scale.clip / abs(scale.factor)))
        supposed: list[tuple[Effect[Any], ...]] = [()] if scale.left <= _NEAR else []
        supposed += [(scaled_,), (Dropped(),)]
        if scale.noise:
            supposed.append((noise,) if math.isinf(scale.clip) else (scaled_, noise))
        return tuple(self._threat(like, effects) for effects in supposed)

    def _threat(self, like: Update, effects: tuple[Effect[Any], ...]) -> GradientThreat:
        names = self.network.classifier_names
        return GradientThreat(
            n_records=self.private.size,
            n_classes=self.data.n_classes,
            prior=self.data.prior,
            shared=Shared.ALL if set(like) - set(names) else Shared.LAST,
            has_bias=any(name.endswith("bias") or name in names[1:] for name in like),
            head_bias=len(names) > 1 and names[1] in like,
            auxiliary=len(self.held),
            precision=format_known(self.scale.precision, like, self.network),
            effects=(Batched(size=self.private.shape[1]), *effects),
        )

    def seen(self, sent: list[Update]) -> Mapping[str, NDArray[Any]]:
        """Return updates as mean gradients, as far as their factor makes them that."""
        divisor = self.together.clients * self.scale.factor
        dtype = np.float64 if self.scale.precision == "float64" else np.float32
        return {name: np.array([update[name] / divisor for update in sent], dtype=dtype) for name in sent[0]}

    def oracle(self, threat: GradientThreat, sent: list[Update]) -> GradientOracle:
        """Return what attacks are given."""
        return GradientOracle(threat, self.network, self.seen(sent), auxiliary=self.own)

    def players(self, builder: Builder, like: Update, rng: np.random.Generator) -> dict[str, Player]:
        """Return the attacks on a last layer that fit, and the best readers; the latter alone without such a layer."""
        found: dict[str, Player] = {}
        threats = self.threats(like)
        for name in dict.fromkeys((*GradientChannel.strongest(threats[0]), *_BROAD)) if self.headed else ():
            attack = builder.build(Kind.ATTACK, name, "audit client")
            admitted = [threat for threat in threats if not attack.unsupported_reason(threat)]
            if admitted and name != _CHOICE:
                found[name] = functools.partial(_played, attack, admitted[0])
        return {**found, **self._readers(threats[0], rng)}

    def _readers(self, threat: GradientThreat, rng: np.random.Generator) -> dict[str, Player]:
        """Return the best readers of updates, learnt of the clients' own code on the adversary's records."""
        (x, classes), network = self.own, self.network
        known = not isinstance(network, TorchNetwork) or bool(network.head.weight)
        look = functools.partial(
            look_at,
            n_classes=threat.n_classes,
            layer=network.classifier if known else None,
            names=network.classifier_names,
        )

        def sent(rows: NDArray[np.intp], labels: NDArray[np.intp]) -> Update:
            return {name: part[0] for name, part in self.seen([self.together(x[rows], labels)]).items()}

        found = best_readers(sent, look, classes, np.array(threat.prior), threat.batch, rng)
        return {name: functools.partial(_read, look, read) for name, read in found.items()}


def format_known(seen: str, like: Update, network: Network) -> str:
    """Return the format of an update; what the rounding of parameters leaves of a small difference is as a half."""
    pairs = [(old.astype(np.float64), like[name]) for name, old in network.parameters.items() if name in like]
    if seen not in ("float32", "float64") or any(((o + u).astype(np.float32) != o + u).any() for o, u in pairs):
        return seen
    old, moved = (math.hypot(*(float(np.linalg.norm(pair[side])) for pair in pairs)) for side in (0, 1))
    return "float16" if 2.0**-24 * old > _SHARP * moved else "float32"


def guessed(
    players: Mapping[str, Player],
    oracle: GradientOracle,
    rng: np.random.Generator,
    begins: Callable[[str], None] = lambda name: None,
) -> tuple[dict[str, NDArray[np.intp]], list[Score]]:
    """Return what every attack guesses, a batch a row, and those that failed or cannot be played here."""
    found, failed = {}, []
    for name, player in players.items():
        begins(name)
        try:
            found[name] = player(oracle, rng).reshape(-1, oracle.threat.batch)
        except UnfitError as error:
            failed.append(Score(attack=name, unfit=str(error)))
        except LabelinfError as error:
            failed.append(Score(attack=name, failed=str(error)))
    return found, failed


def _read(
    look: Callable[[Iterable[Update]], Looked],
    read: Callable[[Looked], NDArray[np.intp]],
    oracle: GradientOracle,
    _: np.random.Generator,
) -> NDArray[np.intp]:
    names = tuple(oracle.releases)
    updates = (dict(zip(names, parts, strict=True)) for parts in zip(*oracle.releases.values(), strict=True))
    return spread_counts(read(look(updates)))


def _played(
    attack: GradientAttack, threat: GradientThreat, seen: GradientOracle, rng: np.random.Generator
) -> NDArray[np.intp]:
    oracle = GradientOracle(threat, seen.network, seen.releases, auxiliary=seen.auxiliary)
    with gate.attribute_errors(attack):
        guess = attack.run(oracle, rng)
        return gate.guessed(guess, Guess, oracle.threat.n_records, oracle.threat.n_classes)

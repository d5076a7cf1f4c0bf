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
from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.errors import InputError, LabelinfError, UnfitError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_gradients.attacks.common import spread_counts
from labelinf_gradients.audit.change import Shielded
from labelinf_gradients.audit.conduct import Conduct
from labelinf_gradients.audit.moves import Optimiser
from labelinf_gradients.audit.readers import Looked, best_readers, look_at
from labelinf_gradients.audit.updates import Update, UserClient
from labelinf_gradients.batches import counts
from labelinf_gradients.batches.rehearsal import ReferenceSamples, chosen_counts
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.clients import scaled
from labelinf_gradients.game.effects import (
    Batched,
    Dropped,
    EntriesRounded,
    LocalSteps,
    NoiseAdded,
    NormClipped,
    Smoothed,
)
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat, Shared
from labelinf_gradients.game.networks import Network, softmax
from labelinf_gradients.game.torch_network import TorchNetwork

__all__ = ["ClientGame", "Player", "Score", "Together", "guessed"]

_IMITATION = "imitation"
_SHARP = 1e-5  # of a difference of parameters: coarser roundings leave about what a half does
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
    """

    client: UserClient | Shielded
    clients: int

    @property
    def names(self) -> set[str]:
        """The parameters that they send."""
        return set(self.client.like if isinstance(self.client, Shielded) else self.client.sends)

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
        conduct: What each does.
        network: Their module.
        data: All records.
        held: The adversary's.
        private: The clients', a row for all that are summed.
    """

    together: Together
    conduct: Conduct
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
        head, sends = self.network.classifier_names[:1], self.together.names
        return bool(head) and head[0] in sends and len(self.network.classifier.weights) == self.data.n_classes

    def sent(self, labels: NDArray[np.intp]) -> list[Update]:
        """Return what is seen of the private records with some labels."""
        x = scaled(self.data)
        return [self.together(x[rows], classes) for rows, classes in zip(self.private, labels, strict=True)]

    def threat(self, like: Update) -> GradientThreat:
        """Return what the adversary knows."""
        clients, size = self.together.clients, self.private.shape[1]
        sizes = {"batch": size // clients, "clients": clients, "own": len(self.held), "n_records": self.private.size}
        return _threat_of(self.conduct, self.network, like, self.data, **sizes)

    def oracle(self, threat: GradientThreat, sent: list[Update]) -> GradientOracle:
        """Return what attacks are given."""
        return GradientOracle(threat, self.network, self._normal(sent), auxiliary=self.own)

    def players(self, builder: Builder, threat: GradientThreat, rng: np.random.Generator) -> dict[str, Player]:
        """Return the attacks that fit, and one that imitates the clients; without a last layer, what needs none."""
        if not self.headed:
            return self._readers(threat, rng)
        found: dict[str, Player] = {
            name: functools.partial(_played, attack) for name, attack in _attacks(builder, threat).items()
        }
        return {**found, _IMITATION: functools.partial(_imitated, self.together, self._normal)}

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
            return {name: part[0] for name, part in self._normal([self.together(x[rows], labels)]).items()}

        found = best_readers(sent, look, classes, np.array(threat.prior), threat.batch, rng)
        return {name: functools.partial(_read, look, read) for name, read in found.items()}

    def _normal(self, sent: list[Update]) -> Mapping[str, NDArray[Any]]:
        return _normal(sent, conduct=self.conduct, network=self.network, clients=self.together.clients)


def _threat_of(
    conduct: Conduct,
    network: Network,
    like: Update,
    data: LabelSet,
    *,
    n_records: int,
    batch: int,
    own: int,
    clients: int = 1,
) -> GradientThreat:
    """Return what the adversary of clients with this conduct knows of the mean of their updates."""
    factor = conduct.factor if math.isfinite(conduct.factor) else 1.0
    effects: list[Any] = [Batched(size=batch * clients)]
    if conduct.smoothing:
        effects.append(Smoothed(most=conduct.smoothing))
    if conduct.steps > 1 and conduct.optimiser is Optimiser.SGD:
        effects.append(LocalSteps(steps=conduct.steps, rate=conduct.rate))
    if conduct.by_record or (math.isnan(conduct.factor) and conduct.known):
        effects.append(NormClipped(norm=conduct.clip if math.isfinite(conduct.clip) else 1e300))
    if conduct.kept < 1 or conduct.silent:
        effects.append(Dropped())
    if conduct.levels or conduct.optimiser not in (None, Optimiser.SGD):
        effects.append(EntriesRounded())
    if conduct.noise:
        effects.append(NoiseAdded(std=conduct.noise / factor / math.sqrt(clients)))
    if not conduct.known:
        effects.append(Unknown(stage="client"))
    names = network.classifier_names
    return GradientThreat(
        n_records=n_records,
        n_classes=data.n_classes,
        prior=data.prior,
        shared=Shared.ALL if set(like) - set(names) else Shared.LAST,
        has_bias=any(name.endswith("bias") or name in names[1:] for name in like),
        head_bias=len(names) > 1 and names[1] in like,
        auxiliary=own,
        precision=_precision(conduct, like, network),
        effects=tuple(effects),
    )


def _precision(conduct: Conduct, like: Update, network: Network) -> str:
    """Return the format of an update; what the rounding of parameters leaves of a small difference is as a half."""
    if conduct.precision != "float32":
        return conduct.precision
    pairs = [(old.astype(np.float64), like[name]) for name, old in network.parameters.items() if name in like]
    difference = all(np.array_equal((old + update).astype(np.float32), old + update) for old, update in pairs)
    old, moved = (math.hypot(*(float(np.linalg.norm(pair[side])) for pair in pairs)) for side in (0, 1))
    return "float16" if difference and 2.0**-24 * old > _SHARP * moved else "float32"


def _normal(sent: list[Update], *, conduct: Conduct, network: Network, clients: int) -> Mapping[str, NDArray[Any]]:
    """Return updates as mean gradients, up to what is not known of them."""
    divisor = clients * conduct.sign * (conduct.factor if math.isfinite(conduct.factor) else 1.0)
    dtype = np.float64 if conduct.precision == "float64" else np.float32
    decay = {name: conduct.decay * network.parameters[name] for name in sent[0]} if conduct.decay else {}
    return {
        name: np.array([update[name] / divisor - decay.get(name, 0) for update in sent], dtype=dtype)
        for name in sent[0]
    }


def _attacks(builder: Builder, threat: GradientThreat) -> dict[str, GradientAttack]:
    found = {}
    for name in dict.fromkeys((*GradientChannel.strongest(threat), *_BROAD)):
        attack = builder.build(Kind.ATTACK, name, "audit client")
        if not attack.unsupported_reason(threat):
            found[name] = attack
    return found


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


def _played(attack: GradientAttack, oracle: GradientOracle, rng: np.random.Generator) -> NDArray[np.intp]:
    with gate.attribute_errors(attack):
        guess = attack.run(oracle, rng)
        return gate.guessed(guess, Guess, oracle.threat.n_records, oracle.threat.n_classes)


def _imitated(
    together: Together,
    normal: Callable[[list[Update]], Mapping[str, NDArray[Any]]],
    oracle: GradientOracle,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Play an adversary who runs the clients' own code on records of its own, and learns what updates look like."""
    if oracle.auxiliary is None:
        raise InputError("it needs records of its own.")
    (x, classes), network, threat = oracle.auxiliary, oracle.network, oracle.threat
    features = network.features(x).astype(np.float64)
    errors = softmax(network.classifier(features)) - np.eye(threat.n_classes)[classes]
    own = ReferenceSamples(errors=errors, features=features, classes=classes, prior=np.array(threat.prior))
    weight = network.classifier_names[0]

    def sent(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.asarray(normal([together(x[rows], classes[rows])])[weight][0], dtype=np.float64)

    blind = np.array(threat.best_counts, dtype=np.intp)
    others = {
        "blind guess": lambda part: np.tile(blind, (len(part), 1)),
        "row minima": lambda part: counts.by_yin(part, threat.batch),
        "row sums": lambda part: counts.by_llg(part, threat.batch),
    }
    found, _ = chosen_counts(
        oracle.weight_gradients.astype(np.float64), own, batch=threat.batch, others=others, rng=rng, conduct=sent
    )
    return spread_counts(found)

"""Attacks somebody's own client, and says what comes out, what that proves, and the smallest change that helps."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Defence, Guess, LabelSet
from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.errors import InputError, LabelinfError, UnfitError
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_gradients.attacks.common import spread_counts
from labelinf_gradients.audit.chance import of_batches, overlaps, p_value
from labelinf_gradients.audit.conduct import Conduct
from labelinf_gradients.audit.moves import Optimiser
from labelinf_gradients.audit.probe import probe
from labelinf_gradients.audit.updates import Client, Update
from labelinf_gradients.batches import counts
from labelinf_gradients.batches.rehearsal import Own, chosen_counts
from labelinf_gradients.bounds.certificates import GradientCertificate
from labelinf_gradients.defences.clipping import ClippedGaussian
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.clients import scaled
from labelinf_gradients.game.effects import Added, Batched, Clipped, Dropped, LocalSteps, Rounded, Smoothed
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat, Shared
from labelinf_gradients.game.networks import Network, softmax

__all__ = ["Audit", "Control", "Score", "Together", "audit_client", "smallest_change"]

_IMITATION = "imitation"
_SURE = 0.05  # how seldom what is no leak is called one
_SHARP = 1e-5  # of a difference of parameters: coarser roundings leave about what a half does
_MULTIPLIERS = (0.05, 50.0)
_BROAD = ("matched-filter", "matched-filter(direction=ones)", "matched-filter(direction=singular)", "llg", "row-minima")

_Player = Callable[[GradientOracle, np.random.Generator], NDArray[np.intp]]


@attrs.frozen(kw_only=True)
class Score:
    """How an attack did.

    Attributes:
        attack: Its name.
        correct: Labels that it recovered.
        failed: What went wrong; empty when it was played to its end.
        unfit: What the module or the adversary lacks, for which it cannot be played at all.
    """

    attack: str
    correct: int = 0
    failed: str = ""
    unfit: str = ""


@attrs.frozen(kw_only=True)
class Control:
    """What the strongest attack makes of updates for which the client was given labels drawn at random.

    Attributes:
        given: How many of these labels it recovers: what comes out by the labels alone.
        own: How many of the records' own classes it recovers all the same: what the records give away.
        p_own: How probable so many are without looking.
    """

    given: int
    own: int
    p_own: float

    @property
    def by_records(self) -> bool:
        """Whether the records give their classes away, whatever the labels are."""
        return self.p_own <= _SURE


@attrs.frozen(kw_only=True)
class Audit:
    """What an audit of a client found.

    Attributes:
        conduct: What the client does.
        batch: Records behind an update.
        clients: Whose updates are summed before anybody sees them.
        n_records: Labels attacked.
        baseline: Share that the best blind guess has.
        scores: Every attack that fits, the strongest first.
        share: What the strongest attack recovered, an interval that allows for having chosen among all; a batch is one
            observation, for its labels stand or fall together.
        p_value: How probable it is that the best of guesses that know nothing of the labels has as many right.
        control: The strongest attack again, with other labels; None where it found nothing.
        change: The smallest certified change, as ``labelinf`` writes it; empty without one.
        allows: The share of labels that any attack has behind it at most.
    """

    conduct: Conduct
    batch: int
    clients: int
    n_records: int
    baseline: float
    scores: tuple[Score, ...]
    share: Interval
    p_value: float
    control: Control | None = None
    change: str = ""
    allows: float = 1.0

    @property
    def leaks(self) -> bool:
        """Whether labels surely come out, and more of them than the blind guess has."""
        return self.p_value <= _SURE and self.share.value > self.baseline

    @property
    def failed(self) -> bool:
        """Whether something that fits could not be played to its end."""
        return any(score.failed for score in self.scores)


@attrs.frozen(kw_only=True, eq=False)
class Together:
    """Clients with the same code whose updates are summed before anybody sees them: secure aggregation.

    Attributes:
        client: Their code.
        clients: How many they are.
    """

    client: Client
    clients: int

    def __call__(self, x: NDArray[Any], classes: NDArray[np.intp]) -> Update:
        """Return the sum of what all of them send, each about its share of some records."""
        parts = np.arange(len(x)).reshape(self.clients, -1)
        sent = [self.client(x[rows], classes[rows]) for rows in parts]
        return {name: np.sum([update[name] for update in sent], axis=0) for name in sent[0]}


def audit_client(
    client: Client,
    data: LabelSet,
    builder: Builder,
    *,
    samples: int,
    batch: int,
    own: int,
    gain: float,
    rng: np.random.Generator,
    clients: int = 1,
    progress: Callable[[str, int], None] = lambda step, of: None,
) -> Audit:
    """Probe a client, attack it with all that fits, and look for the smallest change that is proved to help.

    Args:
        client: The client.
        data: Records and labels; the client's and the adversary's own are drawn from it, apart.
        builder: Of the attacks that are installed.
        samples: Labels to attack.
        batch: Records behind an update of one client.
        own: Labelled records that the adversary holds.
        gain: What the change may leave any attack beyond the blind guess.
        rng: Of all draws.
        clients: Whose updates are summed before anybody sees them; their code is probed alone.
        progress: Called before every step with its name and how many there are.

    Raises:
        InputError: There are too few records, or the client fails.
    """
    x, size = scaled(data), batch * clients
    held, others = _drawn(data, samples, size, own, rng)
    private = others[: samples // size * size].reshape(-1, size)
    progress("probing", 1)
    conduct = probe(client, x[held], data.labels[held], batch)
    together = Together(client=client, clients=clients)
    sent = [together(x[rows], data.labels[rows]) for rows in private]
    threat = threat_of(
        conduct, client.network, sent[0], data, n_records=private.size, batch=batch, clients=clients, own=own
    )
    normal = functools.partial(_normal, conduct=conduct, network=client.network, clients=clients)
    oracle = GradientOracle(threat, client.network, normal(sent), auxiliary=(x[held], data.labels[held]))
    players: dict[str, _Player] = {
        name: functools.partial(_played, attack) for name, attack in _attacks(builder, threat).items()
    }
    players[_IMITATION] = functools.partial(_imitated, together, normal)
    truth, pool = data.labels[private], data.labels[others]
    guesses, failed = _guesses(players, oracle, rng, lambda name: progress(name, len(players) + 2))
    right = {name: overlaps(guess, truth) for name, guess in guesses.items()}
    ranked = sorted(right, key=lambda name: (-int(right[name].sum()), name))
    found = Audit(
        conduct=conduct,
        batch=batch,
        clients=clients,
        n_records=private.size,
        baseline=threat.baseline,
        scores=(*(Score(attack=name, correct=int(right[name].sum())) for name in ranked), *failed),
        share=of_batches(right[ranked[0]] if ranked else np.zeros(len(private), dtype=np.intp), size, tried=len(right)),
        p_value=p_value(list(guesses.values()), truth, pool, rng),
    )
    if found.leaks:
        given = rng.choice(data.n_classes, size=private.shape, p=data.prior)
        other = [together(x[rows], labels) for rows, labels in zip(private, given, strict=True)]
        again = GradientOracle(threat, client.network, normal(other), auxiliary=oracle.auxiliary)
        found = attrs.evolve(found, control=_control(players[ranked[0]], again, given, truth, pool, rng))
    progress("what stops it", len(players) + 2)
    change, allows = smallest_change(data, gain)
    return attrs.evolve(found, change=change, allows=allows)


def _drawn(
    data: LabelSet, samples: int, size: int, own: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the adversary's own records, and all others in the order in which they are attacked.

    Raises:
        InputError: There are too few.
    """
    if samples < size or samples + own > data.n_records:
        raise InputError(
            f"{samples} attacked and {own} own records are needed, {size} of them behind an update, and there are "
            f"{data.n_records}; change --samples, --own, --batch or --clients."
        )
    order = rng.permutation(data.n_records)
    return order[:own], order[own:]


def _control(
    player: _Player,
    oracle: GradientOracle,
    given: NDArray[np.intp],
    truth: NDArray[np.intp],
    pool: NDArray[np.intp],
    rng: np.random.Generator,
) -> Control | None:
    """Play the strongest attack on updates of the same records with other labels."""
    guesses, _ = _guesses({"": player}, oracle, rng)
    if not guesses:
        return None
    (guess,) = guesses.values()
    return Control(
        given=int(overlaps(guess, given).sum()),
        own=int(overlaps(guess, truth).sum()),
        p_own=p_value([guess], truth, pool, rng),
    )


def threat_of(
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
        effects.append(Clipped(norm=conduct.clip if math.isfinite(conduct.clip) else 1e300))
    if conduct.kept < 1 or conduct.silent:
        effects.append(Dropped())
    if conduct.levels or conduct.optimiser not in (None, Optimiser.SGD):
        effects.append(Rounded())
    if conduct.noise:
        effects.append(Added(std=conduct.noise / factor / math.sqrt(clients)))
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
    pairs = [(network.parameters[name].astype(np.float64), update) for name, update in like.items()]
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
        if not attack.refusal(threat):
            found[name] = attack
    return found


def _guesses(
    players: Mapping[str, _Player],
    oracle: GradientOracle,
    rng: np.random.Generator,
    begins: Callable[[str], None] = lambda name: None,
) -> tuple[dict[str, NDArray[np.intp]], list[Score]]:
    """Return what every attack guesses, a batch a row, and those that failed or cannot be played here."""
    found, failed = {}, []
    for name, player in players.items():
        begins(name)
        try:
            found[name] = player(oracle, rng).reshape(len(oracle.weight_gradients), -1)
        except UnfitError as error:
            failed.append(Score(attack=name, unfit=str(error)))
        except LabelinfError as error:
            failed.append(Score(attack=name, failed=str(error)))
    return found, failed


def _played(attack: GradientAttack, oracle: GradientOracle, rng: np.random.Generator) -> NDArray[np.intp]:
    with gate.blamed(attack):
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
    own = Own(errors=errors, features=features, classes=classes, prior=np.array(threat.prior))
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


def smallest_change(data: LabelSet, gain: float) -> tuple[str, float]:
    """Return the smallest noise multiplier whose certificate leaves any attack ``gain`` beyond the blind guess.

    One record per update, clipped, with noise on a grid: what is proved is proved of that alone. Larger batches may
    hide more, and nothing is proved of that.

    Args:
        data: What labels are drawn from.
        gain: Beyond the share of the largest class.

    Returns:
        The defence as ``labelinf`` writes it, and the share of labels that its certificate allows.
    """
    threat = GradientThreat(n_records=1, n_classes=data.n_classes, prior=data.prior)

    def allowed(multiplier: float) -> float:
        defence: Defence = ClippedGaussian(multiplier=multiplier)
        ceilings = GradientCertificate().ceilings(threat.behind(defence))
        return min((line.accuracy for line in ceilings), default=1.0)

    low, high = _MULTIPLIERS
    target = max(data.prior) + gain
    if allowed(high) > target:
        return "", 1.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if allowed(middle) <= target else (middle, high)
    rounded = math.ceil(high * 1000) / 1000
    return f"clipped-gaussian(multiplier={rounded:g})", allowed(rounded)

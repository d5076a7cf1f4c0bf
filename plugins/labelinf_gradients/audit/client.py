"""Attacks somebody's own client, and says what comes out, what that proves, and the smallest change that helps."""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.specs import Builder
from labelinf_core.statistics.epsilon_bounds import epsilon_lower_bound
from labelinf_gradients.audit.chance import of_batches, overlaps, p_value
from labelinf_gradients.audit.change import Tried, allowed, behind, flat, smallest_multiplier, usual_norm
from labelinf_gradients.audit.game import ClientGame, Player, Score, Together, guessed
from labelinf_gradients.audit.scale import UpdateScale
from labelinf_gradients.audit.updates import UserClient
from labelinf_gradients.defences.clipping import ClippedGaussian
from labelinf_gradients.game.clients import scaled
from labelinf_gradients.game.gradient import GradientOracle

__all__ = ["DELTA", "ClientAudit", "Control", "Score", "Together", "audit_client"]

DELTA = 1e-5  #: of the label-DP that is refuted
_SURE = 0.01  # how seldom what is no leak is called one: an audit is run at every change of a client's code
_LOOKED_AT = 8  # updates whose length is looked at


@attrs.frozen(kw_only=True)
class Control:
    """What the strongest attack makes of updates for which the client was given labels drawn at random.

    Attributes:
        given: How many of these labels it recovers: what comes out by the labels alone.
        own: How many of the records' own classes it recovers all the same: what the records give away.
        p_given: How probable so many of the labels are without looking.
        p_own: How probable so many of the records' own classes are without looking.
        epsilon: Of label-DP, with a delta of :data:`DELTA`, what an update is proved to exceed; 0 of batches.
    """

    given: int
    own: int
    p_given: float
    p_own: float
    epsilon: float = 0.0

    @property
    def by_labels(self) -> bool:
        """Whether the labels come out, whatever the records are."""
        return self.p_given <= _SURE

    @property
    def by_records(self) -> bool:
        """Whether the records give their classes away, whatever the labels are."""
        return self.p_own <= _SURE


@attrs.frozen(kw_only=True)
class ClientAudit(AuditDecision):
    """What an audit of a client found.

    Attributes:
        batch: Records behind an update.
        clients: Whose updates are summed before anybody sees them.
        n_records: Labels attacked.
        baseline: Share that the best blind guess has.
        scores: Every attack that fits, the strongest first.
        share: What the strongest attack recovered, an interval that allows for having chosen among all; a batch is one
            observation, for its labels stand or fall together.
        p_value: How probable it is that the best of guesses that know nothing of the labels has as many right.
        control: The strongest attack again, with other labels; None where it found nothing.
        change: The smallest certified noise around a client's whole update, as ``labelinf`` writes it; empty without.
        allows: The share of labels that any attack has right behind it at most, of one update about every record.
        tried: What attacks had of the client behind that change; None without one.
        shield: What every update came out of, where the client has that change already; ``allows`` is of it then.
        enough: Whether that leaves any attack no more than was asked for.
        tells_more: Whether something that is no parameter was sent as well, and differed; nobody looked at it.
        repeats: Whether what goes into its shield is the same for the same records, whatever else the client was asked
            before; a shield hides one update about a record, and none of what was kept for a later one.
        new: Whether it sends new parameters or the trained module, and no change of them.
        headed: Whether it sends a last layer with a row for every class; otherwise most attacks cannot be played.
    """

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
    tried: Tried | None = None
    shield: ClippedGaussian | None = None
    enough: bool = False
    tells_more: bool = False
    repeats: bool = True
    new: bool = False
    headed: bool = True

    @property
    def counted(self) -> str:
        """What is counted."""
        return _counted(self.batch * self.clients)

    @property
    def refuted(self) -> bool:
        """Whether updates are seen not to be each of their own records: a shield or a change hides no more then."""
        if not self.repeats:
            return True
        behind = self.share if self.shield is not None else self.tried.share if self.tried is not None else None
        return behind is not None and behind.low > self.allows

    @property
    def word(self) -> AuditWord:
        """The answer in a word; what a client is seen to do proves nothing, so that no client is certified."""
        if self.leaks:
            return AuditWord.LEAKS
        return AuditWord.BROKEN if self.failed else AuditWord.UNSHOWN

    @property
    def held(self) -> bool:
        """Whether what comes out is within what its shield is proved to allow, if nothing else leaves the client."""
        return self.shield is not None and self.enough and not self.refuted and not self.tells_more

    @property
    def leaks(self) -> bool:
        """Whether labels surely come out, more of them than the blind guess has, and than is proved to be little."""
        return not self.held and self.p_value <= _SURE and self.share.value > self.baseline

    @property
    def failed(self) -> bool:
        """Whether something that fits could not be played to its end."""
        return any(score.failed for score in self.scores)


def audit_client(
    client: UserClient,
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
) -> ClientAudit:
    """Attack a client with all that fits, and look for the smallest change that is proved to help.

    Args:
        client: The client.
        data: Records and labels; the client's and the adversary's own are drawn from it, apart.
        builder: Of the attacks that are installed.
        samples: Labels to attack; those of one update where those are more.
        batch: Records behind an update of one client.
        own: Labelled records that the adversary holds.
        gain: What the change may leave any attack beyond the blind guess.
        rng: Of all draws.
        clients: Whose updates are summed before anybody sees them.
        progress: Called before every step with its name and how many there are.

    Raises:
        InputError: There are too few records, or the client fails.
    """
    size = batch * clients
    samples = max(samples, size)
    held, others = _drawn(data, samples, size, own, rng)
    private = others[: samples // size * size].reshape(-1, size)
    progress("measuring", 1)
    x, classes = scaled(data)[held], data.labels[held]
    together = Together(client=client, clients=clients, sends=frozenset(client(x[:batch], classes[:batch])))
    game = ClientGame(
        together=together, scale=UpdateScale(), network=client.network, data=data, held=held, private=private
    )
    if game.headed:
        game = attrs.evolve(game, scale=UpdateScale.measured(client, client.network, x, classes, batch))
    sent = game.sent(data.labels[private])
    threat, *_ = game.threats(sent[0])
    oracle = game.oracle(threat, sent)
    players = game.players(builder, sent[0], rng)
    truth, pool = data.labels[private], data.labels[others]
    of = 2 * len(players) + 2
    guesses, failed = guessed(players, oracle, rng, lambda name: progress(name, of))
    right = {name: overlaps(guess, truth) for name, guess in guesses.items()}
    ranked = sorted(right, key=lambda name: -int(right[name].sum()))
    found = ClientAudit(
        headed=game.headed,
        batch=batch,
        clients=clients,
        n_records=private.size,
        baseline=threat.baseline,
        scores=(
            *(Score(attack=name, correct=int(right[name].sum()), counted=_counted(size)) for name in ranked),
            *failed,
        ),
        share=of_batches(right[ranked[0]] if ranked else np.zeros(len(private), dtype=np.intp), size, tried=len(right)),
        p_value=p_value(list(guesses.values()), truth, pool, rng),
    )
    if found.leaks:
        given = rng.integers(data.n_classes, size=private.shape)
        again = game.oracle(threat, game.sent(given))
        found = attrs.evolve(found, control=_control(players[ranked[0]], again, given, truth, pool, rng))
    # Whoever counts labels knows the adversary's own, and sees an update about each of the others.
    everybody = attrs.evolve(threat, n_records=len(others), population=data.n_records, features_public=False)
    multiplier = smallest_multiplier(everybody, gain, clients)
    found = attrs.evolve(found, tells_more=client.tells_more, new=True in client.new)
    shield = next(iter(client.shields)) if len(client.shields) == 1 and not client.tells_more else None
    if shield is not None:
        allows = allowed(shield.multiplier, everybody, clients)
        enough = allows <= threat.baseline + gain
        return attrs.evolve(found, shield=shield, allows=allows, enough=enough)
    if math.isinf(multiplier):
        return found
    # Of the adversary's own records: a norm that was taken from private ones would tell of them.
    rows = np.arange(_LOOKED_AT * batch).reshape(_LOOKED_AT, batch) % len(x)
    own_updates = [flat(client(x[each], classes[each])) for each in rows]
    norm, size = usual_norm(np.linalg.norm(own_updates, axis=1)), own_updates[0].size
    defence = ClippedGaussian(norm=norm, multiplier=multiplier)
    tried = _tried(game, defence, size, builder, rng, lambda name: progress(f"behind the change, {name}", of))
    change = f"clipped-gaussian(norm={defence.norm:g}, multiplier={multiplier:g})"
    return attrs.evolve(found, change=change, allows=allowed(multiplier, everybody, clients), tried=tried)


def _counted(size: int) -> str:
    """Say what is counted: of updates about several records how often every label stands behind them, in no order."""
    return "labels" if size == 1 else "label counts"


def _drawn(
    data: LabelSet, samples: int, size: int, own: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the adversary's own records, and all others in the order in which they are attacked.

    Raises:
        InputError: There are too few.
    """
    if samples + own > data.n_records:
        raise InputError(
            f"{samples} attacked and {own} own records are needed, {size} of them behind an update, and there are "
            f"{data.n_records}; change --samples, --own, --batch or --clients."
        )
    order = rng.permutation(data.n_records)
    return order[:own], order[own:]


def _control(
    player: Player,
    oracle: GradientOracle,
    given: NDArray[np.intp],
    truth: NDArray[np.intp],
    pool: NDArray[np.intp],
    rng: np.random.Generator,
) -> Control | None:
    """Play the strongest attack on updates of the same records with other labels."""
    guesses, _ = guessed({"": player}, oracle, rng)
    if not guesses:
        return None
    (guess,), k, n = guesses.values(), oracle.threat.n_classes, given.size
    right, others = int(overlaps(guess, given).sum()), rng.integers(k, size=10 * n)
    exceeded = epsilon_lower_bound(right, n, n_classes=k, delta=DELTA, n_canaries=n)
    return Control(
        given=right,
        own=int(overlaps(guess, truth).sum()),
        p_given=p_value([guess], given, np.append(given, others), rng),
        p_own=p_value([guess], truth, pool, rng),
        epsilon=exceeded if n == len(given) else 0.0,
    )


def _tried(
    game: ClientGame,
    defence: ClippedGaussian,
    size: int,
    builder: Builder,
    rng: np.random.Generator,
    begins: Callable[[str], None],
) -> Tried | None:
    """Play the attacks on the clients behind the change, which the adversary knows; None where none can be played."""
    truth = game.data.labels[game.private]
    shielded = behind(game.together.client, defence, rng.spawn(1)[0])
    noise = math.hypot(game.scale.noise, defence.multiplier * defence.norm)
    scale = attrs.evolve(game.scale, left=1.0, noise=noise, clip=defence.norm, precision="float32")
    changed = attrs.evolve(game, together=attrs.evolve(game.together, client=shielded), scale=scale)
    sent = changed.sent(truth)
    oracle = changed.oracle(changed.threats(sent[0])[0], sent)
    guesses, _ = guessed(changed.players(builder, sent[0], rng), oracle, rng, begins)
    if not guesses:
        return None
    right = {name: overlaps(guess, truth) for name, guess in guesses.items()}
    best = max(right, key=lambda name: int(right[name].sum()))
    return Tried(
        attack=best,
        correct=int(right[best].sum()),
        share=of_batches(right[best], truth.shape[1], tried=len(right)),
        louder=defence.multiplier * math.sqrt(size),
    )

"""The contracts of the kinds of component, shared by every channel.

A component is a frozen, keyword-only attrs class. Its fields are its parameters: typed, validated, with a default
wherever one makes sense and units in the docstring. Suites, the command line, ``labelinf plugins show`` and the run
record all read them from the class.

A channel refines :class:`Attack` and :class:`Defence` with what its adversary sees and what its curator does.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, final

import attrs

from labelinf_core.contracts.effects import Effect, Unknown
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.gate import between, number, worded
from labelinf_core.contracts.labels import LabelSet, LabelSource
from labelinf_core.contracts.noise import LabelNoise, Noise, NoiseModel, Weights
from labelinf_core.contracts.outcomes import (
    ABSTAIN,
    Audited,
    Equal,
    Guess,
    Outcome,
    Overlap,
    Placebo,
    Redrawn,
    Sets,
    Trialled,
    Within,
    counted,
)
from labelinf_core.contracts.threat import third_party
from labelinf_core.plugin.descriptors import Kind

if TYPE_CHECKING:
    import numpy as np

    from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Promise
    from labelinf_core.contracts.threat import ThreatModel

__all__ = [
    "ABSTAIN",
    "BASES",
    "HALF_WIDTH",
    "Attack",
    "Audited",
    "Bound",
    "Channel",
    "Defence",
    "Equal",
    "Guess",
    "LabelNoise",
    "LabelSet",
    "LabelSource",
    "Loss",
    "Measure",
    "Metric",
    "Noise",
    "NoiseModel",
    "Outcome",
    "Overlap",
    "Placebo",
    "Redrawn",
    "Rule",
    "Sets",
    "Setting",
    "Trialled",
    "TunableParameter",
    "Weights",
    "Within",
    "of_channel",
]

T = TypeVar("T")

Rule = tuple[str, Callable[[Any], None]]  #: a name, and what raises AssertionError when a component breaks the rule


class Loss:
    """What a curator's score adds up. Refined by the channel that plays on scores."""


class Metric:
    """What a leaderboard scores. Refined by the channel that plays on scores."""


class Attack:
    """Recovers labels from what a channel's oracle shows. Refined by every channel.

    Attributes:
        blind: Whether it guesses without looking; whatever holds against it alone is untested.
    """

    blind: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _without(cls, ("refusal", "lacks"), "an attack gives an unsupported_reason() (contract 2)")

    def unsupported_reason(self, threat: ThreatModel) -> str:
        """Why this attack cannot be played under ``threat``, as a short clause; empty when it can."""
        return ""

    def promise(self, threat: ThreatModel) -> Promise | None:
        """What is certain before playing; None when this attack never promises anything."""
        return None


@attrs.frozen(kw_only=True)
class TunableParameter:
    """One strength of a defence that can be turned, for ``labelinf advise``.

    Attributes:
        title: What is turned, with its symbol and unit: ``"Gaussian noise, standard deviation s of an answer"``.
        template: The defence's spec with ``{}`` where the strength stands.
        weakest: A strength that hardly protects.
        strongest: A strength beyond which nobody would go; below ``weakest`` when less is stronger.
        integer: Whether strengths are whole numbers.
    """

    title: str = attrs.field(converter=worded, validator=attrs.validators.instance_of(str))
    template: str = attrs.field(validator=attrs.validators.instance_of(str))
    weakest: float = attrs.field(converter=number, validator=between(-math.inf, math.inf))
    strongest: float = attrs.field(converter=number, validator=between(-math.inf, math.inf))
    integer: bool = False

    def at_least(self, strength: float, other: float) -> bool:
        """Whether a strength protects at least as much as another."""
        return strength >= other if self.strongest > self.weakest else strength <= other

    def spec(self, strength: float) -> str:
        """Return the defence turned to ``strength``."""
        return self.template.format(int(strength) if self.integer else repr(float(strength)))


class Defence:
    """Stands between a curator and the world. Refined by every channel.

    By Kerckhoffs' principle the adversary knows the defence and its parameters, never its random draws. What it denies
    to attacks it does not say: it states effects, and bounds say what follows.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _without(cls, ("ceilings", "tell"), "a defence states effects(), and a Bound says what they deny (contract 2)")
        _without(cls, ("knobs",), "a defence lists tunable_parameters() (contract 2)")

    def deployment(self, threat: ThreatModel) -> tuple[str, ...]:
        """Return, line by line, what whoever deploys this is granted, and the files to do it with; by default nothing.

        Args:
            threat: What is public, with the effects of the stages nearer to the curator.
        """
        return ()

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Return what this defence does, from the curator outward.

        Args:
            threat: What is public, with the effects of the stages nearer to the curator.

        Returns:
            Effects of the channel; ``()`` says that nothing is changed. By default ``Unknown``: no promise and no
            certificate holds behind a stage that does not say what it does.
        """
        return (Unknown(stage=type(self).__name__),)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """Return the strengths that advice may turn when there is nothing else between; none by default."""
        return ()


class Bound(abc.ABC):
    """A statement that puts a number on a threat model without playing anything.

    It may use what the core has folded, ``threat.facts``, and values of the exact types that it lists.

    Attributes:
        several_metrics: Whether it was made for boards that publish several scores of one submission. Not inherited:
            who does not say so in its own class body is not asked about them.
    """

    several_metrics: ClassVar[bool] = False

    @abc.abstractmethod
    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return the lines this statement contributes; none when it does not apply."""

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """Return what this statement denies to every attack under ``threat``."""
        return ()


@attrs.frozen(kw_only=True, eq=False)
class Setting:
    """Everything a channel needs to play one trial.

    Attributes:
        data: The private labels.
        attack: The adversary; None when only the threat model is asked for.
        defences: What stands between, from the curator outward.
    """

    data: LabelSet
    attack: Attack | None = None
    defences: tuple[Defence, ...] = ()


HALF_WIDTH = "_half_width"  #: ends the name of half an interval: that of a measure's cost, where chance decides it


@attrs.frozen(kw_only=True)
class Measure:
    """Something that a channel measures beside the share of labels recovered: a column of its own in every report.

    Attributes:
        key: Name of the number in what :meth:`Channel.utility` returns, or in a trial's evidence.
        title: Heading of the column, short.
        of: ``"defences"``: what a pipeline costs honest users, measured once; ``"trial"``: what every trial shows.
        better: Which way is better for whoever defends.
        unit: ``"share"`` for what is shown in percent, ``"text"`` for a trial's words, otherwise the unit's name or
            empty.
    """

    key: str = attrs.field(converter=worded, validator=attrs.validators.instance_of(str))
    title: str = attrs.field(converter=worded, validator=attrs.validators.instance_of(str))
    of: Literal["defences", "trial"] = attrs.field(
        default="defences", validator=attrs.validators.in_(("defences", "trial"))
    )
    better: Literal["higher", "lower"] = attrs.field(
        default="higher", validator=attrs.validators.in_(("higher", "lower"))
    )
    unit: str = attrs.field(default="", converter=worded, validator=attrs.validators.instance_of(str))


class Channel(abc.ABC):
    """A game between a curator and an adversary. Its fields are the game's settings (loss, scorer, budget, ...).

    Attributes:
        needs_features: Whether it can be played on labels that come with features only.
        knows_groups: Whether what it says of labels heeds that those of one group depend on each other; a channel that
            does not is not played on labels that come in groups.
        default_labels: Label source that the command line plays on when the user names none.
        rank: Where it stands among the channels, smaller first; the first that fits is meant where none is named.
        counts_only: Whether :meth:`threat` reads nothing of the labels but how many there are of every class.
        fresh_order: Whether :meth:`trial` reads the labels in a fresh random order only, so that what comes of it
            depends on the class counts and on chance, not on who has which label. Neither is taken for granted: what a
            channel does not say is published as if it could hold any label.
        inert: Values of settings that read like a function's address (``module:function``) and run no code of a user's.
    """

    needs_features: ClassVar[bool] = False
    knows_groups: ClassVar[bool] = False
    default_labels: ClassVar[str] = ""
    rank: ClassVar[int] = 50
    counts_only: ClassVar[bool] = False
    fresh_order: ClassVar[bool] = False
    inert: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def strongest(cls, threat: ThreatModel | None = None) -> tuple[str, ...]:
        """Return the attacks of this room that may be the strongest, as specs, the one to try first first.

        Args:
            threat: What they would meet; when omitted, all that may be the strongest under any threat model.

        Returns:
            ``()``, the default: any may be. What is not named is left out where something that is named fits.
        """
        return ()

    @classmethod
    def measures(cls) -> tuple[Measure, ...]:
        """Return what a report shows beside the share of labels recovered; nothing by default."""
        return ()

    @classmethod
    def rules(cls) -> Mapping[Kind, Sequence[Rule]]:
        """Return the contract of this channel's components, rule by rule, for ``labelinf plugins check``."""
        return {}

    @classmethod
    def templates(cls) -> Mapping[Kind, str]:
        """Return the template of each kind of component that can be begun for this channel: ``package:path``, Jinja."""
        return {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _without(cls, ("threat",), "a channel says in undefended() what is known before any stage (contract 2)")
        _without(cls, ("play",), "a channel returns guesses from trial(), and the core counts them (contract 2)")

    @abc.abstractmethod
    def undefended(self, setting: Setting) -> ThreatModel:
        """Return what the adversary of ``setting`` knows and may spend where nothing stands between.

        Raises:
            InputError: The settings, the labels and the components do not fit together.
        """

    def fitted(self, threat: ThreatModel) -> ThreatModel:
        """Return ``threat``, behind all stages, as the game is played: how many records fit, say. By default as it is.

        Raises:
            InputError: It cannot be played behind these stages.
        """
        return threat

    @final
    def threat(self, setting: Setting) -> Any:
        """Return what the adversary of ``setting`` knows and may spend: what its stages state, folded.

        Raises:
            InputError: The settings, the labels and the components do not fit together.
        """
        found = self.fitted(self.undefended(setting).through(setting.defences))
        return attrs.evolve(found, game=third_party(self, "channel") or found.game)

    def spending(self, threat: ThreatModel, queries: int) -> ThreatModel | None:
        """Return ``threat`` with no more than ``queries`` to spend, for what an attack did not use.

        None, the default, where what is observed does not depend on what is asked.
        """
        return None

    def check(self, data: LabelSet) -> None:  # noqa: B027
        """Try what the user plugged into this channel (a scorer, a model) before anything is played.

        Raises:
            InputError: It does not work.
        """

    def utility(self, data: LabelSet, defences: tuple[Defence, ...], rng: np.random.Generator) -> Mapping[str, float]:
        """Return what ``defences`` cost those they are not meant for, in one draw of ``rng``, as named numbers.

        The core draws several times and says how far they lie apart; by default there is nothing to say.
        """
        return {}

    @abc.abstractmethod
    def trial(self, setting: Setting, *, curator_rng: np.random.Generator, attack_rng: np.random.Generator) -> Trialled:
        """Play one trial and return what was guessed. The attack sees its oracle and ``attack_rng``, nothing else."""

    @final
    def play(self, setting: Setting, *, curator_rng: np.random.Generator, attack_rng: np.random.Generator) -> Outcome:
        """Play one trial and count it."""
        trial = self.trial(setting, curator_rng=curator_rng, attack_rng=attack_rng)

        def certified() -> tuple[float, float]:
            threat = self.threat(setting)
            return threat.label_epsilon, threat.label_delta

        return counted(trial, setting.data.labels, setting.data.n_classes, setting.attack, certified)


def _without(cls: type, gone: Sequence[str], instead: str) -> None:
    """Refuse a class that still goes a road which is gone.

    Raises:
        TypeError: It defines one of the methods ``gone``.
    """
    for name in gone:
        if name in vars(cls):
            raise TypeError(f"{cls.__name__}.{name}() is not asked any more: {instead}.")


def of_channel(value: object, expected: type[T], role: str, channel: str) -> T:
    """Return ``value``, which is of the channel that asks for it.

    Args:
        value: A component or a threat model.
        expected: The channel's own class.
        role: How a sentence names it: ``"attack"``.
        channel: Name of the channel.

    Raises:
        InputError: It belongs to another channel.
    """
    if not isinstance(value, expected):
        raise InputError(
            f"{role} {type(value).__name__} does not belong to the {channel} channel (it is no {expected.__name__})."
        )
    return value


BASES: dict[Kind, type[Any]] = {
    Kind.LOSS: Loss,
    Kind.METRIC: Metric,
    Kind.ATTACK: Attack,
    Kind.NOISE: Noise,
    Kind.DEFENCE: Defence,
    Kind.BOUND: Bound,
    Kind.LABELS: LabelSource,
    Kind.CHANNEL: Channel,
}  #: the class every component of a kind derives from

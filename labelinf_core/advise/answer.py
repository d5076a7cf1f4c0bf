"""Advice on every knob of a game, and its answer: what leaks, what is proved to stop it, what that costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from labelinf_core.advise.search import Advice, Advisor
from labelinf_core.advise.target import Target
from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.components import Measure, TunableParameter
from labelinf_core.contracts.errors import InputError, PluginError
from labelinf_core.evaluator.game import AttackedGame, asked
from labelinf_core.plugin.descriptors import NO_DEFENCE, Kind
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.worker import watch
from labelinf_core.report import words

__all__ = ["AdviceReport", "advised", "answer_of"]

_MOST = 3  # settings that an answer names
_KNOBS = 40  # whose games advice may take the time of, in a worker


@attrs.frozen(kw_only=True)
class AdviceReport:
    """The smallest setting of every defence of a game that reaches a target.

    Attributes:
        game: Labels and channel, in words.
        channel: Name of the channel.
        standing: What stands already.
        target: What was to be reached, in words.
        found: One advice a knob.
        failed: Knobs that nothing is known of, a sentence each.
        measures: What costs are counted in.
        played: Whether attacks were played at all.
    """

    game: str
    channel: str
    standing: str
    target: str
    found: tuple[Advice, ...]
    failed: tuple[str, ...]
    measures: tuple[Measure, ...]
    played: bool


def advised(host: Host, chosen: Mapping[str, Any], progress: Callable[[str, int], None]) -> AdviceReport:
    """Turn every knob of the game that the options say.

    Args:
        host: Where names are looked up.
        chosen: The options.
        progress: Called before every knob with its title and how many there are; not from a worker.

    Raises:
        InputError: An attack cannot be built, the target cannot be meant, or a text of ``only`` is in no knob.
        ComponentError: A third party's code ended the worker that asked for advice behind it, or was late.
    """

    def question() -> AdviceReport:
        game = AttackedGame.read(host, chosen, [*chosen["attacks"], *chosen["also"]])
        advisor, only = _advisor(game, chosen), chosen["only"]
        every = advisor.tunable_parameters()
        for text in (text for text in only if every and not any(_holds(knob, text) for knob in every)):
            titles = "; ".join(dict.fromkeys(knob.title for knob in every))
            raise InputError(f"--only {text!r}: no setting's title or spec contains it; there are {titles}.")
        tunable_parameters = [knob for knob in every if not only or any(_holds(knob, text) for text in only)]
        found, failed = [], []
        for knob in tunable_parameters:
            if not watch.worker:
                progress(knob.title, len(tunable_parameters))
            try:
                found.append(advisor.advise(knob))
            except PluginError as error:
                failed.append(str(error))
        return AdviceReport(
            game=f"{game.labels}; {game.spec.compact}",
            channel=game.spec.name,
            standing=" + ".join(game.written) or NO_DEFENCE,
            target=str(advisor.target),
            found=tuple(found),
            failed=tuple(failed),
            measures=tuple(game.channel.measures()),
            played=chosen["questions"] > 0 and game.data.perfect is None,
        )

    return asked("advice", host, chosen, question, _KNOBS * chosen["patience"])


def _holds(knob: TunableParameter, text: str) -> bool:
    return text in knob.title + knob.template


def _advisor(game: AttackedGame, chosen: Mapping[str, Any]) -> Advisor:
    """Return who answers, for what the options say."""
    named = (*chosen["attacks"], *chosen["also"])
    for spec in named:  # a slip in a name is the user's, not a failure of the attack
        game.builder.build(Kind.ATTACK, spec, "--attack")
    if (chosen["target"] is None) == (chosen["gain"] is None):
        raise InputError("say what is to be reached: --target (60%, no-exact-recovery, epsilon<=1) or --gain (5%).")
    blind = game.channel.threat(game.setting).baseline
    perfect = game.data.perfect
    if perfect is not None and chosen["target"]:
        raise InputError("--posteriors asks for a gain over a perfect model: say --gain, such as 5%, not --target.")
    if perfect is not None:
        target = Target.over(chosen["gain"], perfect)
    else:
        target = Target.parse(chosen["target"], blind) if chosen["target"] else Target.gaining(chosen["gain"], blind)
    played = chosen["questions"] > 0 and perfect is None
    return Advisor(
        builder=game.builder,
        name=game.spec.name,
        channel=game.channel,
        data=game.data,
        base=game.defences,
        target=target,
        attacks=tuple(dict.fromkeys(named)) if played else (),
        strongest=played and not chosen["attacks"],
        seed=chosen["seed"],
        questions=chosen["questions"],
        patience=chosen["patience"],
    )


def answer_of(found: Sequence[Advice], measures: Sequence[Measure], *, played: bool = True) -> Answer:
    """Return the answer in three parts.

    Args:
        found: What came of every knob.
        measures: What costs are counted in.
        played: Whether attacks were played at all.
    """
    proved = [item for item in found if item.certified is not None]
    told = [text for item in proved if (text := words.cost(item.certified_cost, measures))]
    return Answer(
        leaks=_leaks(found) if played else "nothing was played",
        stopped=_few([f"{item.setting} ({item.statement})" for item in proved]) or "nothing here that is proved",
        costs="; ".join(told[:_MOST]),
    )


def _leaks(found: Sequence[Advice]) -> str:
    by = list(dict.fromkeys(item.strongest_attack for item in found if item.strongest_attack))
    alarms = [item.contradiction for item in found if item.contradiction]
    return "; ".join([*(f"CONTRADICTION: {alarm}" for alarm in alarms), _exceeded(found, by)])


def _exceeded(found: Sequence[Advice], by: Sequence[str]) -> str:
    if by:
        return f"more than the target, by {_few(by)} at weak settings"
    if any(item.forced is not None for item in found):
        return "no attack was seen to exceed the target"
    return "not known: no attack could be played"


def _few(texts: Sequence[str]) -> str:
    more = f"; and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return "; ".join(texts[:_MOST]) + more

"""What would stop a scorer from giving labels away: the smallest change of each kind that is proved to reach a target.

What is proved is proved of what the probe learnt. So every change is played on the scorer itself before it is told,
against the strongest attack on it that can be played there, and left out where that exceeds the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import attrs
import numpy as np

from labelinf_core.advise.search import Advice, Advisor
from labelinf_core.advise.target import Target
from labelinf_core.contracts.components import Defence, LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_scores.audit.probe import Picture
from labelinf_scores.audit.scorer import Extraction
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.scorers import is_own

__all__ = ["Change", "changes_for", "exceeds"]

_CLIP = 1e-15  # what an unclipped scorer would have to do first: without a clip nothing is proved


@attrs.frozen(kw_only=True)
class Change:
    """A change that is proved to reach the target, if the probe is right, and did so when it was played.

    Attributes:
        advice: The change, what proves it and what it costs.
        behind: What the strongest attack that could be played got on this very scorer behind it.
    """

    advice: Advice
    behind: Extraction


def exceeds(leak: Extraction, target: Target) -> bool:
    """Whether what an attack got in one game is more than the target tolerates."""
    if leak.accuracy is None:
        return False
    return leak.accuracy.value > target.accuracy if target.accuracy is not None else leak.exact


def changes_for(
    play: Callable[..., Iterator[Extraction]],
    data: LabelSet,
    picture: Picture,
    leaks: Sequence[Extraction],
    *,
    scorer: str,
    builder: Builder,
    target: Target,
    queries: int,
    seed: int,
) -> Iterator[Change]:
    """Yield the smallest change of every kind that reaches ``target``, on top of the scorer's own clip.

    Args:
        play: Plays attacks on the scorer behind defences (:func:`audit_scorer`).
        data: The private labels.
        picture: What was learnt.
        leaks: What every attack got.
        scorer: Its name, as a user writes it.
        builder: Builds defences and attacks.
        target: What is to be reached.
        queries: The adversary's budget; 0 is unlimited.
        seed: Of all that is drawn.
    """
    clip = () if not picture.clippable or picture.limits.clip else (_clip(builder),)
    advisor = Advisor(
        builder=builder,
        name="score",
        channel=_Pictured(picture=picture, scorer=scorer, queries=queries),
        data=data,
        base=clip,
        target=target,
        attacks=(),
    )
    strongest = [leak.attack for leak in sorted(leaks, key=lambda leak: -leak.labels_per_query) if leak.accuracy]
    general = [] if picture.mean else shipped()["general"]
    strongest += [spec for spec in shipped()["attacks" if picture.mean else "metrics"] if spec not in strongest]
    for knob in advisor.knobs():
        advice = advisor.advise(knob)
        if advice.certified is None:
            continue
        try:
            stages = builder.pipeline((advice.setting,), "audit")
            behind = _played(play, strongest, general, stages, seed)
        except InputError:  # it does not fit in front of this scorer
            continue
        if behind is not None and behind.accuracy is not None and not exceeds(behind, target):
            yield Change(advice=advice, behind=behind)


def _played(
    play: Callable[..., Iterator[Extraction]],
    strongest: Sequence[str],
    general: Sequence[str],
    stages: tuple[Defence, ...],
    seed: int,
) -> Extraction | None:
    """Return the most that the first of the strongest attacks that can be played there gets, and the general ones.

    What read the most without a defence need not behind one. Where all refuse, nothing was played, and None or a
    refusal is returned.
    """
    games = (next(iter(play(attacks=[spec], rng=np.random.default_rng(seed), defences=stages))) for spec in strongest)
    first = next((game for game in games if not game.refusal), None)
    others = [spec for spec in general if first is None or spec != first.attack]
    played = [*play(attacks=others, rng=np.random.default_rng(seed), defences=stages)] if others else []
    played = [game for game in (first, *played) if game is not None]
    return max(played, key=lambda game: (bool(game.failure), _share(game)), default=None)


def _share(game: Extraction) -> float:
    return -1.0 if game.accuracy is None else game.accuracy.value


def _clip(builder: Builder) -> ScoreDefence:
    stage: ScoreDefence = builder.build(Kind.DEFENCE, f"clip(epsilon={_CLIP!r})", "audit")
    return stage


@attrs.frozen(kw_only=True)
class _Pictured(ScoreChannel):
    """The board, which need not be asked again what it does."""

    picture: Picture

    def _picture(self, data: LabelSet) -> Picture | None:
        return self.picture if is_own(self.scorer) else None

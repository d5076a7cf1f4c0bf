"""Outsiders: what derives from what ships, stages of anybody's in every room, and tiny games with them, walked through.

    python benchmarks/outsiders.py --minutes 15

What a stranger states in our words may only be vouched for, what it says in words of its own is unknown, and what
derives from what ships certifies nothing. Tiny games (``benchmarks/walked.py``) are played to the end.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from pathlib import Path
from typing import Any

import attrs
import hypothesis
import numpy as np
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import InputError, LabelinfError
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_gradients.game import effects as gradient
from labelinf_gradients.game.gradient import GradientDefence
from labelinf_outputs.game import effects as output
from labelinf_outputs.game.output import OutputDefence
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.shipped import LOSSES, METRICS

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "examples" / "labelinf-channel-demo")]

from labelinf_equality.game import EqualityChannel, EqualityDefence, Flipped
from walked import BOARDS, BUILDER, GUARDS, TINY, Seen, Tiny, TooManyError

# What derives from what ships, in whatever it overrides, certifies nothing: N is large enough that no 64 bits count.

OVERRIDES: dict[str, Any] = {
    "costs": lambda self, predictions, numbers: np.zeros((len(predictions), 2)),
    "score": lambda self, labels, predictions, *numbers: float(np.sum(labels)),
    "span": lambda self, clip: 1e-9,
    "largest": lambda self, clip, n_classes: 1e-9,
    "link": lambda self, a, s, totals: a * 0,
    "sensitivity": lambda self, n_records: 1e-9,
    "values": lambda self, totals: 2.0,
}
NUMERIC = (
    *("clip(epsilon=0.1)", "round(decimals=0)", "ladder(step=0.5)", "laplace-dp(epsilon=0.1, queries=1)"),
    *(
        "score-noise(model=grid-gaussian(scale=9))",
        "score-noise(model=grid-laplace(scale=9))",
        "query-limit(queries=1)",
    ),
)


@attrs.frozen(kw_only=True)
class Derived:
    """A board of something that derives from what ships, behind stages that would certify what ships."""

    base: type
    overrides: str
    stages: tuple[str, ...]

    def verdict(self) -> Seen:
        """Say what is claimed of it all the same.

        Raises:
            InputError: It fits no board.
        """
        scored = _derived(self.base, self.overrides)
        labels = np.random.default_rng(0).permutation(np.arange(400) % 2)
        data = LabelSet(labels=labels, class_names=("0", "1"), title="made", provenance="made")
        loss = self.base in LOSSES
        channel = ScoreChannel(loss=scored, scorer="float64") if loss else ScoreChannel(metric=scored)
        threat = channel.threat(Setting(data=data, defences=BUILDER.pipeline(self.stages, "search")))
        found = [item for item in theory(BUILDER, "score", threat).ceilings if item.reached < 0.7]
        if found or math.isfinite(threat.label_epsilon) or threat.known:
            return Seen(claims=1, false=f"{found}, epsilon {threat.label_epsilon}")
        for item in BUILDER.host.catalogue(Kind.ATTACK):
            if item.descriptor.channel == "score":
                promise = BUILDER.build(Kind.ATTACK, item.descriptor.name, "search").promise(threat)
                if promise is not None and promise.stated:
                    return Seen(claims=1, false=f"{item.descriptor.name} promises {promise}")
        return Seen(claims=1)


def _derived(base: type, overrides: str) -> Any:
    """Return something of a class that derives from one of ours.

    Raises:
        InputError: It needs more than its name.
    """
    try:
        return type(f"My{base.__name__}", (base,), {overrides: OVERRIDES[overrides]})()
    except TypeError as error:
        raise InputError(str(error)) from error


DERIVED = st.builds(
    Derived,
    base=st.sampled_from((LOSSES | METRICS).imported()),
    overrides=st.sampled_from(sorted(OVERRIDES)),
    stages=st.lists(st.sampled_from(NUMERIC), max_size=3).map(tuple),
)


def _stranger(base: type) -> Any:
    """Return a stage of a room that does nothing, and states what it is told to."""

    def effects(self: Any, threat: Any) -> tuple[Effect[Any], ...]:
        return (self.said,)

    def start(self: Any, threat: Any, rng: Any, ask: Any) -> Any:
        return ask

    body = {"__annotations__": {"said": Effect[Any]}, "effects": effects, "__module__": __name__}
    return attrs.frozen(kw_only=True)(
        type("Stranger", (base,), {**body, **({"start": start} if base is EqualityDefence else {})})
    )


@attrs.frozen(kw_only=True)
class Mine(Effect[Any]):
    """Computes whatever facts it likes."""

    def after(self, facts: Any) -> Any:
        """Say that everything is private."""
        names = {"model_epsilon": 0.01, "clip": 0.01, "clip_sum": 0.01, "bounded": True, "error": 0.5, "sticky": True}
        return attrs.evolve(facts, **{name: value for name, value in names.items() if hasattr(facts, name)})


SAID: dict[str, tuple[Effect[Any], ...]] = {
    "gradient": (
        *(
            gradient.NormClipped(norm=1e-6),
            gradient.NormClipped(norm=1e-6, order=1),
            gradient.Dropped(),
            gradient.EntriesRounded(),
        ),
        *(gradient.Lengthened(), gradient.Smoothed(most=0.5), gradient.MixedPairs(), gradient.Withheld()),
        *(gradient.Batched(size=2), gradient.LocalSteps(steps=1, rate=0.1)),
        gradient.NoiseAdded(std=1e6, step=1e-9, proof=gradient.GaussianNoise(std=1e6)),
        gradient.NoiseAdded(std=1e6, step=1e-9, proof=gradient.LaplaceNoise(norm=1.0, privacy=0.01)),
    ),
    "output": (
        *(output.Randomised(epsilon=0.01), output.Retrained(times=2), output.Mixed(), output.Coarsened(step=0.1)),
        output.TopOne(),
    ),
    "equality": (Flipped(probability=0.5, sticky=True),),
}  #: every effect of every other room; the last is an outsider's own
STAGES = {
    "gradient": ("clipped-gaussian(multiplier=8)", "clipped-laplace(epsilon=0.1)", "gradient-clip(norm=1)"),
    "output": ("label-rr(epsilon=0.1)", "alibi(epsilon=0.1)", "pate(epsilon=0.1)", "top-1-only"),
    "equality": (),
}
STRANGERS = {
    "gradient": _stranger(GradientDefence),
    "output": _stranger(OutputDefence),
    "equality": _stranger(EqualityDefence),
}
RECORDS = LabelSet(
    labels=np.arange(40) % 2,
    features=np.random.default_rng(0).random((40, 3)),
    class_names=("0", "1"),
    title="made",
    provenance="made",
)


@attrs.frozen(kw_only=True)
class Elsewhere:
    """A pipeline of another room, with a stranger's stage that states what it likes, in our words or in its own.

    Attributes:
        room: Of :data:`SAID`.
        stages: Shipped ones.
        place: Where among them the stranger's stands.
        said: What it states.
        derived: Whether it states that in a word of its own, which derives from ours.
        own: Whether what is trained is somebody's own.
    """

    room: str
    stages: tuple[str, ...]
    place: int
    said: Effect[Any]
    derived: bool = False
    own: bool = False

    def verdict(self) -> Seen:
        """Return what is claimed: what is not vouched for is a false certificate, and so is what nobody understands.

        Raises:
            InputError: The stages do not fit together.
        """
        said = _own_word(self.said) if self.derived else self.said
        stages: list[Any] = list(BUILDER.pipeline(self.stages, "search"))
        stages.insert(min(self.place, len(stages)), STRANGERS[self.room](said=said))
        threat = self._channel().threat(Setting(data=RECORDS, defences=tuple(stages)))
        found = theory(BUILDER, self.room, threat).ceilings
        last = type(said) not in threat.vocabulary and self.place >= len(self.stages)
        false = [item for item in found if last or not item.vouched]
        if last and math.isfinite(threat.label_epsilon):
            return Seen(claims=1, false=f"epsilon {threat.label_epsilon} of {said}")
        return Seen(claims=len(found), false=str(false) if false else "")

    def _channel(self) -> Any:
        if self.room == "equality":
            return EqualityChannel()
        own = {"gradient": "(network='mine:net')", "output": "(victim='mine:model')"}[self.room] if self.own else ""
        return BUILDER.build(Kind.CHANNEL, f"{self.room}{own}", "search")


def _own_word(said: Effect[Any]) -> Effect[Any]:
    """Return the same in a word that derives from ours."""
    kind = type(f"My{type(said).__name__}", (type(said),), {"__module__": __name__, "after": Mine.after})
    found: Effect[Any] = kind(**{field.name: getattr(said, field.name) for field in attrs.fields(type(said))})
    return found


def _elsewhere(room: str) -> st.SearchStrategy[Elsewhere]:
    stages = st.lists(st.sampled_from(STAGES[room]), max_size=3).map(tuple) if STAGES[room] else st.just(())
    return st.builds(
        Elsewhere,
        room=st.just(room),
        stages=stages,
        place=st.integers(0, 3),
        said=st.sampled_from((*SAID[room], Mine())),
        derived=st.booleans(),
        own=st.booleans(),
    )


ELSEWHERE = st.sampled_from(sorted(SAID)).flatmap(_elsewhere)
ALL = {
    "tiny games": TINY,
    "tiny boards of metrics": BOARDS,
    "tiny guards": GUARDS,
    "what derives from ours": DERIVED,
    "other rooms": ELSEWHERE,
}
AT_ONCE = {"tiny guards": 5}  #: of a guard every way is a board that is begun


@attrs.frozen(kw_only=True)
class Sum:
    """What a search has seen.

    Attributes:
        games: Made up, that fitted together.
        claims: Held against all that can happen.
        walked: Games that were walked through for it.
        margin: The nearest.
    """

    games: int = 0
    claims: int = 0
    walked: int = 0
    margin: float = math.inf

    def and_also(self, other: Sum | Seen) -> Sum:
        """Return both together; what was seen of one game is one."""
        games = other.games if isinstance(other, Sum) else 1
        return Sum(
            games=self.games + games,
            claims=self.claims + other.claims,
            walked=self.walked + other.walked,
            margin=min(self.margin, other.margin),
        )


def search(cases: Any, examples: int, deadline: float = math.inf, **settings: Any) -> Sum:
    """Try so many out.

    Raises:
        AssertionError: A claim is false.
    """
    total = [Sum()]

    @hypothesis.settings(max_examples=examples, deadline=None, database=None, **settings)
    @hypothesis.given(cases)
    def try_out(case: Tiny | Derived | Elsewhere) -> None:
        if time.monotonic() > deadline:
            return
        try:
            seen = case.verdict()
        except (LabelinfError, TooManyError):  # it does not fit together, or is too large
            return
        total[0] = total[0].and_also(seen)
        assert not seen.false, f"{case}: {seen.false}"

    try_out()
    return total[0]


def main() -> None:
    """Search until the time is up, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    deadline = time.monotonic() + 60 * parser.parse_args().minutes
    total = dict.fromkeys(ALL, Sum())
    for name, cases in itertools.cycle(ALL.items()):
        if time.monotonic() > deadline:
            break
        found = search(cases, AT_ONCE.get(name, 100), deadline, suppress_health_check=list(hypothesis.HealthCheck))
        total[name] = total[name].and_also(found)
    for name, one in total.items():
        walked = f", {one.walked} games walked through, nearest margin {one.margin:.3g}" if one.walked else ""
        print(f"{name}: {one.games} pipelines, {one.claims} claims{walked}")
    print(f"no claim was false; {time.process_time() / 60:.1f} minutes of processor time")


if __name__ == "__main__":
    main()

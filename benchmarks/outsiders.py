"""Outsiders in tiny games, played to the end: every labelling, every coin; what is claimed against the true posterior.

Hypothesis makes a pipeline up: shipped stages and strangers' in any order, around a shipped loss or a scorer that tells
all it is handed, in two or three classes. Stages run as they are; what they draw is walked through, not drawn. So the
share that the best guess of a few queries gets is exact, and so is every posterior ratio: a ceiling or an epsilon below
it is false, without a p-value. Strangers' stages do what they state, or anything else; what these state may only be
vouched for, and what those state must hold.

    python benchmarks/outsiders.py --minutes 15
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import attrs
import hypothesis
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.effects import Effect, Unknown
from labelinf_core.contracts.errors import ComponentError, InputError, LabelinfError, QueryRefusedError
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_gradients.game import effects as gradient
from labelinf_gradients.game.gradient import GradientDefence
from labelinf_outputs.game import effects as output
from labelinf_outputs.game.output import OutputDefence
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_privacy.randomised_response import keep_probability
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveDefence, Curator, Query, ScoreDefence
from labelinf_scores.game.effects import (
    Added,
    Budgeted,
    Clipped,
    Hidden,
    Laddered,
    Ledgered,
    Moved,
    Perturbed,
    Ranked,
    Refusing,
    Reordered,
    Rounded,
    Sampled,
)
from labelinf_scores.game.threat import ScoreThreat, score_threat
from labelinf_scores.metrics.shipped import LOSSES, METRICS

BUILDER = Builder(Host.load())
PATHS = 600  #: ways that a game can go, beyond which it is not walked through
_NEAR = 1e-9


class TooManyError(Exception):
    """A game has more ways to go than are walked through."""


class Coins:
    """Stands for a generator, and makes every choice once: the same code, run again and again, takes every way."""

    def __init__(self) -> None:
        self._way: list[tuple[int, tuple[float, ...]]] = []
        self._at = 0

    def spawn(self, n: int) -> list[Coins]:
        """Return itself: there is one way through a game."""
        return [self] * n

    def choose(self, weights: tuple[float, ...]) -> int:
        """Return one of the choices, the next one in its turn."""
        if self._at == len(self._way):
            self._way.append((0, weights))
        chosen = self._way[self._at][0]
        self._at += 1
        return chosen

    def permutation(self, n: int) -> NDArray[np.intp]:
        """Return an order of so many records."""
        left = list(range(n))
        return np.array([left.pop(self.choose((1 / len(left),) * len(left))) for _ in range(n)], dtype=np.intp)

    def ways(self) -> Iterator[Callable[[], float]]:
        """Yield once for every way; what is yielded tells how likely the way was that was taken."""
        for _ in range(PATHS):
            self._at = 0
            yield lambda: math.prod(weights[chosen] for chosen, weights in self._way)
            while self._way and self._way[-1][0] == len(self._way[-1][1]) - 1:
                self._way.pop()
            if not self._way:
                return
            chosen, weights = self._way.pop()
            self._way.append((chosen + 1, weights))
        raise TooManyError


def flipped(labels: NDArray[np.intp], epsilon: float, n_classes: int, coins: Coins) -> NDArray[np.intp]:
    """Return labels after randomised response, in the place of the shipped sampler."""
    keep = keep_probability(epsilon, n_classes)
    weights = (keep, *[(1 - keep) / (n_classes - 1)] * (n_classes - 1))
    return np.array([(label + coins.choose(weights)) % n_classes for label in labels], dtype=np.intp)


def told(labels: NDArray[np.intp]) -> float:
    """Return labels as one number."""
    return float(sum((1 + int(label)) * 4**row for row, label in enumerate(labels)))


@attrs.frozen(kw_only=True)
class Telling:
    """A scorer of somebody's own: tells all that it is handed, fails by it, or has kept it.

    Attributes:
        how: ``all``, ``fails``, ``keeps`` or ``far``.
        kept: What it was handed before.
    """

    how: str
    kept: list[float] = attrs.field(factory=list, eq=False)

    def score(self, labels: NDArray[np.intp], query: Query) -> float:
        """Return labels, and whose they are, as a number; or what it does instead."""
        whole = (
            told(labels)
            + float(np.sum(query.predictions[..., 0] if query.predictions.ndim == 2 else query.predictions)) / 8
        )
        self.kept.append(whole)
        if self.how == "fails" and labels[0] == 1:
            raise InputError("there is no score of such labels.")
        return {"all": whole, "fails": 0.5, "keeps": sum(self.kept), "far": math.fmod(told(labels), 3) * 1e300}[
            self.how
        ]


@attrs.frozen(kw_only=True)
class Strange(ScoreDefence):
    """A stranger's stage: does one thing, and states something.

    Attributes:
        act: What it does: the name of a method of :class:`_Acting`.
        said: What it states; empty: nothing at all.
    """

    act: str
    said: tuple[Effect[Any], ...] | None

    def start(self, threat: ScoreThreat, rng: Any) -> ActiveDefence:
        """Begin."""
        return _Acting(self.act, rng, threat.n_classes)

    def does(self, threat: ScoreThreat) -> tuple[Effect[Any], ...]:
        """State it."""
        return (Unknown(stage="strange"),) if self.said is None else self.said


class _Acting(ActiveDefence):
    def __init__(self, act: str, coins: Any, n_classes: int) -> None:
        self._do, self._coins, self._classes = getattr(self, f"_{act}"), coins, n_classes
        self._rows: Any = None
        self._last = math.inf

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Any) -> Any:
        return self._do(labels, query, ask)

    def _through(self, labels: Any, query: Query, ask: Any) -> Any:
        return ask(labels, query)

    def _leak(self, labels: Any, query: Query, ask: Any) -> Any:
        return told(labels)

    def _two(self, labels: Any, query: Query, ask: Any) -> Any:
        if self._rows is None:
            self._rows = np.sort(self._coins.permutation(labels.size)[:2])
        return ask(labels[self._rows], attrs.evolve(query, predictions=query.predictions[self._rows]))

    def _flip(self, labels: Any, query: Query, ask: Any) -> Any:
        if self._rows is None:
            self._rows = flipped(labels, 0.5, self._classes, self._coins)
        return ask(self._rows, query)

    def _anew(self, labels: Any, query: Query, ask: Any) -> Any:
        return ask(flipped(labels, 0.5, self._classes, self._coins), query)

    def _order(self, labels: Any, query: Query, ask: Any) -> Any:
        if self._rows is None:
            self._rows = self._coins.permutation(labels.size)
        return ask(labels[self._rows], query)

    def _coarse(self, labels: Any, query: Query, ask: Any) -> Any:
        return round(float(ask(labels, query)) / 0.5) * 0.5

    def _bit(self, labels: Any, query: Query, ask: Any) -> Any:
        return float(ask(labels, query) > 1)

    def _nudge(self, labels: Any, query: Query, ask: Any) -> Any:
        return ask(labels, query) + 2.0**-20 * told(labels)

    def _refuse(self, labels: Any, query: Query, ask: Any) -> Any:
        if query.predictions.flat[0] > 0.5:
            raise QueryRefusedError("too sure of the first record.")
        return ask(labels, query)


_BLIND = Moved(bound=math.inf, blind=True)
HONEST = (
    *(("through", ()), ("leak", None), ("leak", (Moved(bound=math.inf),)), ("two", (Sampled(size=2),))),
    *(("flip", (Perturbed(epsilon=0.5),)), ("anew", (Perturbed(epsilon=0.5, fresh=True),))),
    *(("order", (Reordered(),)), ("coarse", (Rounded(step=0.5),)), ("refuse", (Refusing(),)), ("refuse", None)),
    ("bit", (_BLIND, Ledgered(bits=2.0), Budgeted(queries=2, shared=True))),
    ("nudge", (Moved(bound=2.0**-20 * 4**7),)),
)
LIES = (
    *(Sampled(size=1), Perturbed(epsilon=0.01), Reordered(), Ledgered(bits=0.5), Hidden(count=1), Ranked()),
    *(Laddered(step=5.0), Rounded(step=9.0), Clipped(epsilon=0.4), Refusing()),
    *(Budgeted(queries=1, shared=True, epsilon=0.01), Added(model=GridLaplace(scale=1e6)), _BLIND),
)
SHIPPED = (
    *("subset(share=0.5)", "subset(share=0.3)", "subset(share=0.75)", "subset(share=0.5, fresh=true)"),
    *("randomised-response(epsilon=0.4)", "randomised-response(epsilon=1.5)", "permute-labels"),
    *("randomised-response(epsilon=0.7, fresh=true)", "randomised-response(epsilon=1, debiased=true)"),
    *("bounded-answers(values=2, queries=1)", "bounded-answers(values=3, queries=2, high=30, best=true)"),
    *("bounded-answers(values=2, queries=3, low=8, high=40, best=true, higher=false)", "query-limit(queries=1)"),
    *("clip(epsilon=0.2)", "clip(epsilon=0.45)", "round(decimals=0)", "round(decimals=1)", "ladder(step=0.4)"),
    *("ladder(step=2)", "enforce-row-sums", "refuse-constructions", "query-limit(queries=2)"),
)
SCORERS = ("float64", "float64", "sklearn", "exact", "bfloat16", "all", "all", "fails", "keeps", "far")


@attrs.frozen(kw_only=True)
class Tiny:
    """A made-up game that is walked through.

    Attributes:
        labels: As many of every class as are public.
        stages: Shipped ones as they are written, strangers' as what they do and state.
        scorer: Of the shipped log-loss, or of somebody's own (:class:`Telling`).
        queries: How many are asked.
    """

    labels: tuple[int, ...]
    stages: tuple[str | Strange, ...]
    scorer: str
    queries: int
    classes: int

    @property
    def honest(self) -> bool:
        """Whether every stage does what it states."""
        return all(isinstance(stage, str) or (stage.act, stage.said) in HONEST for stage in self.stages)

    def threat(self) -> ScoreThreat:
        """Return what is public.

        Raises:
            InputError: The stages do not fit together.
        """
        data = LabelSet(
            labels=np.array(self.labels), class_names=tuple("abc"[: self.classes]), title="made", provenance="made"
        )
        stages = [BUILDER.build(Kind.DEFENCE, one, "search") if isinstance(one, str) else one for one in self.stages]
        own = self.scorer not in ("float64", "sklearn", "exact", "bfloat16")
        threat = ScoreChannel(scorer="float64" if own else self.scorer).threat(Setting(data=data))
        if own:  # what a probe finds of it counts for nothing; of so few labels it finds nothing
            threat = attrs.evolve(threat, own_effects=(Unknown(stage=self.scorer),))
        return score_threat(threat.through(stages))

    def verdict(self) -> tuple[int, float, str]:
        """Return how many claims were held against the posterior, the least margin, and a claim that is false."""
        threat = self.threat()
        said = [item for item in theory(BUILDER, "score", threat).ceilings if not item.vouched or self.honest]
        epsilon = threat.label_epsilon if threat.label_delta == 0 and (self.honest or not threat.vouching) else math.inf
        useful = [item for item in said if item.reached < 1]
        if not useful and math.isinf(epsilon):
            return 0, math.inf, ""
        limit = threat.query_budget
        asked = self.queries if limit is None else min(self.queries, limit)
        seen = {labels: self._transcripts(threat, labels, asked) for labels in self._labellings(epsilon)}
        known = {labels: one for labels, one in seen.items() if sorted(labels) == sorted(self.labels)}
        share, whole = _posterior(known, self.classes)
        worst = min(
            (min(item.reached - share, item.exact + item.allowance - whole) for item in useful), default=math.inf
        )
        for item in useful:
            if item.reached < share - _NEAR or min(1.0, item.exact + item.allowance) < whole - _NEAR:
                return len(useful), worst, f"{item}: {share:.4f} of labels, all of them {whole:.4f}"
        if (ratio := _loss(seen)) > epsilon + 1e-6:
            return len(useful), worst, f"epsilon {epsilon:.4f}, and {ratio:.4f} was lost"
        return len(useful) + math.isfinite(epsilon), worst, ""

    def _labellings(self, epsilon: float) -> Iterator[tuple[int, ...]]:
        """Yield those of these class counts, or all where neighbours are compared."""
        if math.isfinite(epsilon):
            yield from itertools.product(range(self.classes), repeat=len(self.labels))
        else:
            yield from sorted(set(itertools.permutations(self.labels)))

    def _transcripts(self, threat: ScoreThreat, labels: tuple[int, ...], asked: int) -> dict[Any, float]:
        found: dict[Any, float] = defaultdict(float)
        coins = Coins()
        replaced = mock.patch("labelinf_scores.defences.randomised_response.perturb", flipped)
        with replaced:
            for likely in coins.ways():
                curator = Curator.start(np.array(labels), threat, self._scorer(threat), coins)  # type: ignore[arg-type]
                answers = tuple(_answer(curator, query) for query in _queries(len(labels), self.classes, asked))
                found[answers] += likely()
        return found

    def _scorer(self, threat: ScoreThreat) -> Any:
        if self.scorer in ("float64", "sklearn", "exact", "bfloat16"):
            return ScoreChannel(scorer=self.scorer)._scorer(threat)
        return Telling(how=self.scorer)


def _queries(n: int, classes: int, asked: int) -> Iterator[Query]:
    """Yield queries whose scores tell all labels apart, if they are shown, each in another order of the records."""
    for turn in range(asked):
        steps = np.roll(2.0 ** np.arange(n), turn)
        if classes == 2:
            yield Query(predictions=1 / (1 + np.exp(steps / 4)))
            continue
        weights = np.exp(-np.outer(np.roll(3.0 ** np.arange(n), turn) / 8, np.arange(classes)))
        yield Query(predictions=weights / weights.sum(axis=1, keepdims=True))


def _answer(curator: Curator, query: Query) -> Any:
    try:
        answered = curator.answer(query)
    except (LabelinfError, InputError, ComponentError) as error:
        return type(error).__name__
    return str(answered)


def _posterior(seen: dict[tuple[int, ...], dict[Any, float]], classes: int) -> tuple[float, float]:
    """Return the share of labels, and the probability of all, that the best guesses get."""
    together: dict[Any, dict[tuple[int, ...], float]] = defaultdict(dict)
    for labels, transcripts in seen.items():
        for transcript, likely in transcripts.items():
            together[transcript][labels] = likely / len(seen)
    n, share, whole = len(next(iter(seen))), 0.0, 0.0
    for one in together.values():
        whole += max(one.values())
        for row in range(n):
            of = [0.0] * classes
            for labels, likely in one.items():
                of[labels[row]] += likely
            share += max(of) / n
    return share, whole


def _loss(seen: dict[tuple[int, ...], dict[Any, float]]) -> float:
    """Return the largest logarithm of a ratio of what two labellings that differ in one label are answered."""
    most = 0.0
    for one, other in itertools.permutations(seen, 2):
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
            for transcript, likely in seen[one].items():
                unlikely = seen[other].get(transcript, 0.0)
                most = max(most, math.log(likely / unlikely) if unlikely > 0 else math.inf)
    return most


def _strange() -> st.SearchStrategy[Strange]:
    honest = st.sampled_from(HONEST).map(lambda pair: Strange(act=pair[0], said=pair[1]))
    lying = st.builds(
        Strange,
        act=st.sampled_from(["through", "leak", "nudge"]),
        said=st.lists(st.sampled_from(LIES), min_size=1, max_size=2).map(tuple),
    )
    return st.one_of(honest, honest, lying)


def _tiny(classes: int) -> st.SearchStrategy[Tiny]:
    shipped = st.sampled_from(SHIPPED)
    more = st.lists(st.integers(0, classes - 1), max_size=4 - classes)
    return st.builds(
        Tiny,
        labels=more.map(lambda found: (*range(classes), *found)),
        stages=st.lists(st.one_of(shipped, shipped, _strange()), min_size=1, max_size=4).map(tuple),
        scorer=st.sampled_from(SCORERS),
        queries=st.integers(1, 3),
        classes=st.just(classes),
    )


TINY = st.sampled_from([2, 2, 3]).flatmap(_tiny)


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

    def verdict(self) -> tuple[int, float, str]:
        """Return as :meth:`Tiny.verdict`.

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
            return 1, math.inf, f"{found}, epsilon {threat.label_epsilon}"
        for item in BUILDER.host.catalogue(Kind.ATTACK):
            if item.descriptor.channel == "score":
                promise = BUILDER.build(Kind.ATTACK, item.descriptor.name, "search").promise(threat)
                if promise is not None and promise.stated:
                    return 1, math.inf, f"{item.descriptor.name} promises {promise}"
        return 1, math.inf, ""


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
    base=st.sampled_from((*LOSSES, *METRICS)),
    overrides=st.sampled_from(sorted(OVERRIDES)),
    stages=st.lists(st.sampled_from(NUMERIC), max_size=3).map(tuple),
)


@attrs.frozen(kw_only=True)
class Elsewhere:
    """A pipeline of another room, with a stranger's stage that states what it likes, in our words or in its own."""

    room: str
    stages: tuple[str, ...]
    place: int
    said: Effect[Any]

    def verdict(self) -> tuple[int, float, str]:
        """Return as :meth:`Tiny.verdict`: what is not vouched for is a false certificate.

        Raises:
            InputError: The stages do not fit together.
        """
        stranger = _GradientStranger if self.room == "gradient" else _OutputStranger
        stages: list[Any] = list(BUILDER.pipeline(self.stages, "search"))
        stages.insert(min(self.place, len(stages)), stranger(said=self.said))
        channel = BUILDER.build(Kind.CHANNEL, self.room, "search")
        data = LabelSet(
            labels=np.arange(40) % 2,
            features=np.random.default_rng(0).random((40, 3)),
            class_names=("0", "1"),
            title="made",
            provenance="made",
        )
        threat = channel.threat(Setting(data=data, defences=tuple(stages)))
        found = theory(BUILDER, self.room, threat).ceilings
        own = type(self.said) not in threat.vocabulary
        false = [item for item in found if (own and self.place >= len(self.stages)) or not item.vouched]
        return len(found), math.inf, str(false) if false else ""


@attrs.frozen(kw_only=True)
class _GradientStranger(GradientDefence):
    said: Effect[Any]

    def effects(self, threat: Any) -> tuple[Effect[Any], ...]:
        """State what it was told to."""
        return (self.said,)


@attrs.frozen(kw_only=True)
class _OutputStranger(OutputDefence):
    said: Effect[Any]

    def effects(self, threat: Any) -> tuple[Effect[Any], ...]:
        """State what it was told to."""
        return (self.said,)


@attrs.frozen(kw_only=True)
class Mine(Effect[Any]):
    """Computes whatever facts it likes."""

    def after(self, facts: Any) -> Any:
        """Say that everything is private."""
        names = {"model_epsilon": 0.01, "clip": 0.01, "clip_sum": 0.01, "bounded": True}
        return attrs.evolve(facts, **{name: value for name, value in names.items() if hasattr(facts, name)})


ELSEWHERE = st.one_of(
    st.builds(
        Elsewhere,
        room=st.just("gradient"),
        stages=st.lists(
            st.sampled_from(["clipped-gaussian(multiplier=8)", "clipped-laplace(epsilon=0.1)"]), max_size=2
        ).map(tuple),
        place=st.integers(0, 2),
        said=st.sampled_from([gradient.Clipped(norm=1e-6), gradient.Dropped(), gradient.Lengthened(), Mine()]),
    ),
    st.builds(
        Elsewhere,
        room=st.just("output"),
        stages=st.lists(st.sampled_from(["label-rr(epsilon=0.1)", "alibi(epsilon=0.1)", "top-1-only"]), max_size=2).map(
            tuple
        ),
        place=st.integers(0, 2),
        said=st.sampled_from([output.Randomised(epsilon=0.01), output.Retrained(times=2), output.TopOne(), Mine()]),
    ),
)
ALL = {"tiny games": TINY, "what derives from ours": DERIVED, "other rooms": ELSEWHERE}


def search(cases: Any, examples: int, deadline: float = math.inf, **settings: Any) -> tuple[int, int, float]:
    """Try so many out; return how many there were, how many claims were held against them, and the nearest margin.

    Raises:
        AssertionError: A claim is false.
    """
    found: list[tuple[int, float]] = []

    @hypothesis.settings(max_examples=examples, deadline=None, database=None, **settings)
    @hypothesis.given(cases)
    def try_out(case: Tiny | Derived | Elsewhere) -> None:
        if time.monotonic() > deadline:
            return
        try:
            claims, margin, false = case.verdict()
        except (LabelinfError, TooManyError):  # it does not fit together, or is too large
            return
        found.append((claims, margin))
        assert not false, f"{case}: {false}"

    try_out()
    return len(found), sum(claims for claims, _ in found), min((margin for _, margin in found), default=math.inf)


def main() -> None:
    """Search until the time is up, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    deadline = time.monotonic() + 60 * parser.parse_args().minutes
    total = dict.fromkeys(ALL, (0, 0, math.inf))
    for name, cases in itertools.cycle(ALL.items()):
        if time.monotonic() > deadline:
            break
        games, claims, margin = search(cases, 200, deadline, suppress_health_check=list(hypothesis.HealthCheck))
        one = total[name]
        total[name] = (one[0] + games, one[1] + claims, min(one[2], margin))
    for name, (games, claims, margin) in total.items():
        print(f"{name}: {games} games, {claims} claims held against all that can happen, nearest margin {margin:.3g}")
    print(f"no claim was false; {time.process_time() / 60:.1f} minutes of processor time")


if __name__ == "__main__":
    main()

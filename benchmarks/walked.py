"""Tiny games, played to the end: every labelling, every coin; what is claimed against the true posterior.

Hypothesis makes a pipeline up: shipped stages and strangers' in any order, boards of a guard with any policy, around a
loss, a metric, several metrics at once, or a scorer that tells all it is handed, in two or three classes. Stages run as
they are; what they draw is walked through, not drawn. So the share that the best guess of a few queries gets is exact,
and so is every posterior ratio: a ceiling or an epsilon below it is false, without a p-value. Strangers' stages do what
they state, or anything else; what these state may only be vouched for, and what those state must hold.

    python benchmarks/outsiders.py --minutes 15
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.effects import Effect, Unknown
from labelinf_core.contracts.errors import ComponentError, InputError, LabelinfError, QueryRefusedError
from labelinf_core.contracts.threat import vouching
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_guard.board import Board
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_privacy.noise.multiplicative import Multiplicative
from labelinf_privacy.randomised_response import keep_probability
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, Curator, Query, ScoreDefence
from labelinf_scores.game.effects import (
    Added,
    Budgeted,
    Clipped,
    Confined,
    Hidden,
    Laddered,
    Ledgered,
    Moved,
    Perturbed,
    Ranked,
    Refusing,
    Reordered,
    Rounded,
    RowSums,
    Sampled,
    Scaled,
    Supposed,
)
from labelinf_scores.game.threat import ScoreThreat, score_threat

BUILDER = Builder(Host.load())
MEMORY = Path("/dev/shm")
PATHS = 600  #: ways that a game can go, beyond which it is not walked through
_NEAR = 1e-9
_OF_SHARES = "all have the class shares"  # says a ceiling that takes nothing else to be known of labels


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


def dealt(groups: NDArray[np.intp], share: float, source: Any) -> NDArray[np.bool_]:
    """Return which labels of a guard are public, in the place of what draws them."""
    splits = list(itertools.combinations(range(groups.size), max(1, round(share * groups.size))))
    return np.isin(np.arange(groups.size), splits[source.rng.choose((1 / len(splits),) * len(splits))])


def exchanged(codes: NDArray[np.intp], classes: int, flip: float, source: Any) -> NDArray[np.intp]:
    """Return labels of a guard as it replaces them, in the place of what draws them."""
    weights = (1 - flip, *[flip / (classes - 1)] * (classes - 1))
    return np.array([(code + source.rng.choose(weights)) % classes for code in codes], dtype=np.intp)


def settled(self: Board, score: Fraction) -> int:
    """Return the answer that a guard settles by, in the place of what draws its noise: each with its exact chance.

    Noise takes more values than can be walked through, and is told through few answers: what is summed is the chance of
    all noise that ends in one of them. What underflows, 38 deviations away, is left out.
    """
    noise = self.noise()
    if noise is None or self.policy.release.show != "scores":
        return _SETTLED(self, score)
    ends = [math.ceil(self.scale.edge(symbol) / noise.step) for symbol in range(1, self.scale.answers)]
    chances = _told_with(float(noise.variance), tuple(end - noise.steps(score) for end in ends))
    told = [symbol for symbol, chance in enumerate(chances) if chance]
    return told[self._words.rng.choose(tuple(chances[symbol] for symbol in told))]


_SETTLED = Board._settled_by


@functools.lru_cache(maxsize=1024)
def _told_with(variance: float, ends: tuple[int, ...]) -> tuple[float, ...]:
    """Return the chances that discrete Gaussian noise lies below the first end, between the others, and beyond."""
    far = math.ceil(38 * math.sqrt(variance))
    weights = np.exp(-(np.arange(-far, far + 1.0) ** 2) / (2 * variance))
    parts = np.split(weights, np.clip(np.array(ends) + far, 0, weights.size))
    return tuple(math.fsum(part) / math.fsum(weights) for part in parts)


DRAWN = {
    "labelinf_scores.defences.randomised_response.perturb": flipped,
    "labelinf_guard.begin.draw_split": dealt,
    "labelinf_guard.begin.replaced": exchanged,
    "labelinf_guard.board.Board._settled_by": settled,
}  #: what draws in floats or words, and what makes the same choices by coins


def told(labels: NDArray[np.intp]) -> float:
    """Return labels as one number."""
    return float((1 + labels) @ 4.0 ** np.arange(labels.size))


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
        rows = query.predictions[..., 0] if query.predictions.ndim == 2 else query.predictions
        whole = told(labels) + float(np.sum(rows)) / 8
        self.kept.append(whole)
        if self.how == "fails" and labels[0] == 1:
            raise InputError("there is no score of such labels.")
        far = math.fmod(told(labels), 3) * 1e300
        return {"all": whole, "fails": 0.5, "keeps": sum(self.kept), "far": far}[self.how]


@attrs.frozen(kw_only=True)
class Strange(ScoreDefence):
    """A stranger's stage: does one thing, and states something.

    Attributes:
        act: What it does: the name of a method of :class:`_Acting`.
        said: What it states; empty: nothing at all.
    """

    act: str
    said: tuple[Effect[Any], ...] | None

    def start(self, threat: ScoreThreat, rng: Any) -> ActiveScoreDefence:
        """Begin."""
        return _Acting(self.act, rng, threat.n_classes)

    def does(self, threat: ScoreThreat) -> tuple[Effect[Any], ...]:
        """State it."""
        return (Unknown(stage="strange"),) if self.said is None else self.said


class _Acting(ActiveScoreDefence):
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
    *(Confined(low=0.5, high=0.5), RowSums(), Scaled(model=Multiplicative(alpha=0.1)), Supposed(bound=0.0, std=0.0)),
    *(Sampled(size=1, fresh=True), Sampled(size=1, others=True), Perturbed(epsilon=0.01, debiased=True)),
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
GUARDED = (
    *("guarded-board(share=0.5)", "guarded-board(share=0.25)", "guarded-board(share=0.5, bits=2)"),
    *("guarded-board(bits=1)", "guarded-board(flip=0.3)", "guarded-board(flip=0.2, share=0.5)"),
    *("guarded-board(decimals=0, answers=2)", "guarded-board(share=0.5, rule='uniform')"),
    *(f"guarded-board(decimals=1, share=0.5, bits=3, show='{show}')" for show in ("records", "ranks")),
    *("guarded-board(noise=0.5, decimals=0, share=0.5)", "guarded-board(noise=0.1, decimals=0, share=0.25)"),
    *("guarded-board(noise=0.3, decimals=0, flip=0.2)", "guarded-board(noise=0.4, decimals=0, bits=2)"),
)  #: the policies of a guard
METRICS = (
    *("accuracy", "error", "balanced-accuracy", "youden", "cohen-kappa", "mcc", "f1", "precision", "recall", "jaccard"),
    *("roc-auc", "gini", "average-precision", "ndcg"),
)
OF_CLASSES = ("accuracy", "error", "balanced-accuracy", "cohen-kappa", "mcc")  #: of any number of classes
SCORERS = ("float64", "float64", "sklearn", "exact", "bfloat16", "all", "all", "fails", "keeps", "far")


@attrs.frozen(kw_only=True)
class Seen:
    """What came of holding a game against what is claimed of it.

    Attributes:
        claims: Ceilings and epsilons that were held against all that can happen.
        walked: Games that were walked through for it: labellings, and for each the ways of all coins.
        margin: By how much the nearest claim was not reached.
        false: A claim that is; empty: none.
    """

    claims: int = 0
    walked: int = 0
    margin: float = math.inf
    false: str = ""


@attrs.frozen(kw_only=True)
class Tiny:
    """A made-up game that is walked through.

    Attributes:
        labels: As many of every class as are public, one for every group.
        stages: Shipped ones as they are written, strangers' as what they do and state.
        scorer: Of the shipped log-loss, or of somebody's own (:class:`Telling`).
        metrics: What is published of every submission instead of a loss, all at once.
        queries: How many are asked.
        classes: K.
        group: Records of a group, all of one label. An epsilon is of one of them.
    """

    labels: tuple[int, ...]
    stages: tuple[str | Strange, ...]
    scorer: str = "sklearn"
    metrics: tuple[str, ...] = ()
    queries: int
    classes: int
    group: int = 1

    @property
    def honest(self) -> bool:
        """Whether every stage does what it states."""
        return all(isinstance(stage, str) or (stage.act, stage.said) in HONEST for stage in self.stages)

    @property
    def own(self) -> bool:
        """Whether the scorer is somebody's own."""
        return not self.metrics and self.scorer not in ("float64", "sklearn", "exact", "bfloat16")

    @property
    def board(self) -> ScoreChannel:
        """The game."""
        if self.metrics:
            first, *others = (BUILDER.build(Kind.METRIC, name, "search") for name in self.metrics)
            return ScoreChannel(metric=first, besides=tuple(others))
        return ScoreChannel(scorer="float64" if self.own else self.scorer)

    def threat(self) -> ScoreThreat:
        """Return what is public.

        Raises:
            InputError: The stages do not fit together.
        """
        data = LabelSet(
            labels=self._records(self.labels),
            groups=np.repeat(np.arange(len(self.labels)), self.group) if self.group > 1 else None,
            class_names=tuple("abc"[: self.classes]),
            title="made",
            provenance="made",
        )
        stages = [BUILDER.build(Kind.DEFENCE, one, "search") if isinstance(one, str) else one for one in self.stages]
        threat = self.board.threat(Setting(data=data))
        if self.own:  # what a probe finds of it counts for nothing; of so few labels it finds nothing
            threat = attrs.evolve(threat, own_effects=(Unknown(stage=self.scorer),))
        return score_threat(threat.through(stages))

    def verdict(self) -> Seen:
        """Hold every claim against the posterior."""
        threat = self.threat()
        said = [item for item in theory(BUILDER, "score", threat).ceilings if not item.vouched or self.honest]
        pure = threat.label_delta == 0 and (self.honest or not vouching(threat))
        epsilon = threat.label_epsilon if pure else math.inf
        useful = [item for item in said if item.reached < 1]
        by_shares = [item for item in said if item.accuracy < 1 and _OF_SHARES in item.conditions and not self.metrics]
        if not useful and not by_shares and math.isinf(epsilon):
            return Seen()
        limit = threat.query_budget
        asked = self.queries if limit is None else min(self.queries, limit)
        walked, every = [0], bool(by_shares) or math.isfinite(epsilon)
        labellings = self._drawn() if every else self._counted()
        seen = {labels: self._transcripts(threat, labels, asked, walked) for labels in labellings}
        share, whole = _posterior(seen, self._counted(), self.classes)
        drawn, _ = _posterior(seen, self._drawn(), self.classes) if by_shares else (0.0, 0.0)
        lost, false = _loss(seen) if math.isfinite(epsilon) else 0.0, ""
        margins = [min(item.reached - share, min(1.0, item.exact + item.allowance) - whole) for item in useful]
        margins += [item.accuracy - drawn for item in by_shares]
        if worst := [item for item, margin in zip([*useful, *by_shares], margins, strict=True) if margin < -_NEAR]:
            false = (
                f"{worst[0]}: {share:.4f} of labels, all of them {whole:.4f}; by their shares {-min(margins):.4f} more"
            )
        elif lost > self.group * epsilon + 1e-6:
            false = f"epsilon {epsilon:.4f} of a record, and {lost:.4f} of {self.group} was lost"
        claims = len(margins) + math.isfinite(epsilon)
        return Seen(claims=claims, walked=walked[0], margin=min(margins, default=math.inf), false=false)

    def _records(self, labels: tuple[int, ...]) -> NDArray[np.intp]:
        """Return the label of every record."""
        return np.repeat(np.array(labels, dtype=np.intp), self.group)

    def _counted(self) -> dict[tuple[int, ...], float]:
        """Return how likely labellings are whose class counts are known: all orders alike."""
        orders = sorted(set(itertools.permutations(self.labels)))
        return dict.fromkeys(orders, 1 / len(orders))

    def _drawn(self) -> dict[tuple[int, ...], float]:
        """Return how likely labellings are that are drawn by the class shares: for counts nothing is allowed."""
        shares = [self.labels.count(label) / len(self.labels) for label in range(self.classes)]
        every = itertools.product(range(self.classes), repeat=len(self.labels))
        return {labels: math.prod(shares[one] for one in labels) for labels in every}

    def _transcripts(
        self, threat: ScoreThreat, labels: tuple[int, ...], asked: int, walked: list[int]
    ) -> dict[Any, float]:
        """Return how probable every transcript is; add to ``walked`` how many ways there were."""
        found: dict[Any, float] = defaultdict(float)
        coins = Coins()
        boards = [(one, told) for one, told in zip(self.board._boards, threat.members or (threat,), strict=True)]
        private = self._records(labels)
        queries = list(_masks(private.size, asked) if self.metrics else _queries(private.size, self.classes, asked))
        with contextlib.ExitStack() as replaced:
            for target, choosing in DRAWN.items():
                replaced.enter_context(mock.patch(target, choosing))
            if MEMORY.is_dir():  # a guard begins a board for every way, and waits for the disk
                replaced.enter_context(mock.patch("tempfile.tempdir", str(MEMORY)))
            for likely in coins.ways():
                curators = [
                    Curator.start(private, told, self._scorer(board, told), coins)  # type: ignore[arg-type]
                    for board, told in boards
                ]
                found[tuple(_answer(curator, query) for query in queries for curator in curators)] += likely()
                walked[0] += 1
        return found

    def _scorer(self, board: ScoreChannel, threat: ScoreThreat) -> Any:
        return Telling(how=self.scorer) if self.own else board._scorer(threat)


def _masks(n: int, asked: int) -> Iterator[Query]:
    """Yield queries that predict 0 or 1: the first record, the two behind it, and every second one."""
    for mask in (1, 6, 10)[:asked]:
        yield Query(predictions=(mask >> np.arange(n) & 1).astype(float))


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


def _posterior(
    seen: dict[tuple[int, ...], dict[Any, float]], prior: dict[tuple[int, ...], float], classes: int
) -> tuple[float, float]:
    """Return the share of labels, and the probability of all, that the best guesses get."""
    together: dict[Any, dict[tuple[int, ...], float]] = defaultdict(dict)
    for labels, before in prior.items():
        for transcript, likely in seen[labels].items():
            together[transcript][labels] = likely * before
    n, share, whole = len(next(iter(prior))), 0.0, 0.0
    for one in together.values():
        whole += max(one.values())
        for row in range(n):
            of = [0.0] * classes
            for labels, likely in one.items():
                of[labels[row]] += likely
            share += max(of) / n
    return share, whole


def _loss(seen: dict[tuple[int, ...], dict[Any, float]]) -> float:
    """Return the largest logarithm of a ratio of what two labellings that differ in one group are answered."""
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


def _labels(classes: int, most: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    more = st.lists(st.integers(0, classes - 1), max_size=most - classes)
    return more.map(lambda found: (*range(classes), *found))


def _tiny(classes: int, **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Tiny]:
    shipped = st.sampled_from(SHIPPED)
    drawn = {
        "labels": _labels(classes),
        "stages": st.lists(st.one_of(shipped, shipped, _strange()), min_size=1, max_size=4).map(tuple),
        "queries": st.integers(1, 3),
        "classes": st.just(classes),
        "group": st.sampled_from([1, 1, 2]),
    }
    return st.builds(Tiny, **{**drawn, **known})


def _several(metrics: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(metrics), min_size=1, max_size=2, unique=True).map(tuple)


def _guards(classes: int) -> st.SearchStrategy[Tiny]:
    """Return guards that stand before the scorer, and at most one stage before the world."""
    behind = st.lists(st.one_of(st.sampled_from(SHIPPED), _strange()), max_size=1)
    return _tiny(
        classes,
        labels=_labels(classes, 4 if classes == 2 else 3),
        group=st.sampled_from([1, 1, 2] if classes == 2 else [1]),  # of three classes in pairs one takes minutes
        metrics=st.one_of(st.just(()), _several(METRICS if classes == 2 else OF_CLASSES)),
        stages=st.builds(lambda guard, rest: (guard, *rest), st.sampled_from(GUARDED), behind),
    )


TINY = st.sampled_from([2, 2, 3]).flatmap(lambda classes: _tiny(classes, scorer=st.sampled_from(SCORERS)))
BOARDS = st.one_of(_tiny(2, metrics=_several(METRICS)), _tiny(3, metrics=_several(OF_CLASSES)))
GUARDS = st.sampled_from([2, 2, 3]).flatmap(_guards)

"""Looks for a false certificate: random games of every room, their defences and attacks; what is said against play.

    python benchmarks/false_certificates.py --minutes 60

Hypothesis makes a game up and shrinks one that convicts: scorers, losses and arithmetics, metrics, networks and formats
of gradients, victims and views of outputs, each behind random lines of defences, met by any attack, those on low bits
included. Whatever is promised with a certificate has to come out in every game; what a ceiling or an epsilon denies may
not be seen; on boards of metrics scikit-learn may not be called another scorer than it is. Suspects are played again,
with other randomness, before they count.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import hypothesis
import numpy as np
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from labelinf_core.contracts.components import Attack, Guess, LabelSet, Outcome, Setting
from labelinf_core.contracts.errors import InputError, LabelinfError, QueryRefusedError
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.statistics import proportions
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle

BUILDER = Builder(Host.load())
SUSPECT, GUILTY = 1e-3, 1e-7  #: p-values of the first and of the second look
FIRST, SECOND = 8, 60  #: games of either


def _own(labels: Any, predictions: Any) -> float:
    n_classes = np.shape(predictions)[1] if np.ndim(predictions) == 2 else 2
    return float(log_loss(labels, predictions, labels=range(n_classes)))


OWN: dict[str, Callable[[Any, Any], float]] = {
    "summed": lambda labels, predictions: _own(labels, predictions) * len(labels),
    "negated": lambda labels, predictions: -_own(labels, predictions),
    "rounded": lambda labels, predictions: round(_own(labels, predictions), 3),
    "single": lambda labels, predictions: _own(labels, np.asarray(predictions, dtype=np.float32)),
    "affine": lambda labels, predictions: 3 - 7 * _own(labels, predictions),
    "partial": lambda labels, predictions: _own(labels[::2], predictions[::2]),
}
_wild = types.ModuleType("wildscorers")
vars(_wild).update(OWN)
sys.modules["wildscorers"] = _wild

KNOWN = ("float64", "sklearn", "float32", "sklearn:float32", "exact", "bfloat16")
SCORERS = (*(4 * KNOWN), *(f"wildscorers:{name}" for name in OWN))
LOSSES = ("log-loss", "log-loss", "log-loss", "squared-euclidean", "itakura-saito", "norm-like")
NOISE = ("grid-laplace(scale=50)", "grid-gaussian(scale=50)", "geometric(scale=50, step=0.5)", "laplace(scale=50)")
GUARDED = (
    *("guarded-board(noise=0.1)", "guarded-board(share=0.5)", "guarded-board(bits=4)", "guarded-board(flip=0.3)"),
    *("guarded-board(noise=2, share=0.5)", "guarded-board(decimals=1, answers=5)", "guarded-board(rule='uniform')"),
    *(f"guarded-board(decimals=1, bits=9, show='{show}')" for show in ("records", "ranks")),
)
STAGES = (
    *("clip(epsilon=0.01)", "clip(epsilon=0.3)", "clip(epsilon=1e-17)", "round(decimals=2)", "enforce-row-sums"),
    *(f"score-noise(model={model}, sticky={sticky})" for model in NOISE for sticky in ("true", "false")),
    *("score-noise(model=uniform(tau=1))", "score-noise(model=multiplicative(alpha=0.1))", "round(decimals=0)"),
    *("laplace-dp(epsilon=0.2, queries=40)", "gaussian-dp(epsilon=0.2, delta=1e-6, queries=40)", "snapping"),
    *("laplace-dp(epsilon=3, queries=5)", "query-limit(queries=2)", "minimum-batch", "refuse-constructions"),
    *("randomised-response(epsilon=0.3)", "randomised-response(epsilon=1.5, fresh=true)"),
    *("subset(share=0.5)", "subset(share=0.5, fresh=true)", "ladder(step=0.05)", "permute-labels", "query-limit"),
    *("privacy-budget(epsilon=0.5)", "worst-case-noise(tau=0.1)", "thresholdout", "guarded-board"),
)
ATTACKS = tuple(
    item.descriptor.name
    for item in BUILDER.host.catalogue(Kind.ATTACK)
    if item.descriptor.channel == "score" and item.descriptor.name not in shipped()["metrics"]
)
BEST = ("repeat", "ulp-grid", "mixed-radix", "averaging", "hadamard", "unnormalised-weights", "hybrid", "prime-blocks")


@attrs.frozen(kw_only=True)
class Repeat(ScoreAttack):
    """Asks the same about one record again and again: of two values the rarer one is that of the flipped label."""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        n = oracle.threat.n_records
        k = oracle.threat.n_classes
        labels, each = np.full(n, oracle.threat.majority), int(min(oracle.remaining, 20 * n)) // n
        for record in range(n):
            predictions = np.full((n, k), 1 / k)
            predictions[record] = [0.99 / (k - 1)] * (k - 1) + [0.01]
            try:
                answers = np.array([float(oracle.query(predictions)) for _ in range(each)])
            except QueryRefusedError:
                continue
            if answers.size > 1 and np.ptp(answers) > 0:
                labels[record] = k - 1 if answers.mean() < np.median(answers) else record % (k - 1)
        return Guess(labels=labels)


@attrs.frozen(kw_only=True)
class Case:
    """A made-up game on the labels that are scored."""

    scorer: str
    loss: str
    stages: tuple[str, ...]
    attack: str
    labels: tuple[int, ...]
    classes: int = 2
    queries: int = 40
    model: str = ""
    groups: int = 1

    def verdict(self, games: int, seed: int) -> tuple[float, str]:
        """Play; return as :func:`judged`."""
        n = len(self.labels)
        data = LabelSet(
            labels=np.array(self.labels),
            class_names=tuple("abcd"[: self.classes]),
            title="made",
            provenance="made",
            features=np.arange(float(n))[:, None],
            groups=None if self.groups == 1 else np.arange(n) // self.groups,
        )
        said = f"loss={self.loss}, scorer='{self.scorer}', queries={self.queries}"
        said += f", model={self.model}" if self.model else ""
        channel = BUILDER.build(Kind.CHANNEL, f"score({said})", "search")
        attack: Attack = Repeat() if self.attack == "repeat" else BUILDER.build(Kind.ATTACK, self.attack, "search")
        return judged("score", channel, data, self.stages, attack, games, seed)


def judged(
    room: str, channel: Any, data: LabelSet, stages: Sequence[str], attack: Attack, games: int, seed: int
) -> tuple[float, str]:
    """Play games of a room; return how improbable what was seen is if all claims are true, and the claim."""
    defences = tuple(BUILDER.build(Kind.DEFENCE, stage, "search") for stage in stages)
    setting = Setting(data=data, attack=attack, defences=defences)
    threat = channel.threat(setting)
    if attack.unsupported_reason(threat):
        return 1.0, "not played"
    promise = attack.promise(threat)
    ceilings = theory(BUILDER, room, threat).ceilings
    certified = promise is not None and promise.certified
    if not (certified or ceilings):
        return 1.0, "nothing claimed"
    rng, played = np.random.default_rng(seed), []
    for _ in range(games):
        one, two = rng.spawn(2)
        played.append(channel.play(setting, curator_rng=one, attack_rng=two))
    shares = [outcome.n_correct / outcome.n_records for outcome in played]
    if certified and min(shares) < 1:
        return 0.0, f"certified, and {min(shares):.0%} came out"
    if not ceilings:
        return 1.0, "certified, and it all came out"
    refuted = min((outcome.audited.p_value for outcome in played if outcome.audited), default=1.0) * games
    if refuted <= SUSPECT:
        return refuted, "an epsilon, and more came out"
    chances = {item: _denied(item, played) for item in ceilings}
    item = min(chances, key=lambda one: chances[one])
    return chances[item], f"{item.statement}, at most {item.reached:.1%}, and {np.mean(shares):.1%} came out"


def _denied(ceiling: Ceiling, played: Sequence[Outcome]) -> float:
    """Return how improbable it is that a ceiling holds: its mean, all labels at once, or a line for every game."""
    shares = [outcome.n_correct / outcome.n_records for outcome in played]
    whole = min(1.0, ceiling.exact + ceiling.allowance)
    chances = [
        proportions.betting_p_value(shares, ceiling.reached),
        proportions.p_value(sum(share == 1 for share in shares), len(shares), whole),
    ]
    if line := ceiling.game:
        each = (
            proportions.game_p_value(outcome.n_correct, outcome.n_records, share=line.share, bits=line.bits)
            for outcome in played
        )
        chances.append(proportions.combined(list(each)))
    return min(1.0, len(chances) * min(chances))


def _labels(classes: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Return labels in which every class occurs, of any shares, rare classes included."""
    more = st.one_of(st.lists(st.integers(0, classes - 1), max_size=12), st.lists(st.just(0), min_size=4, max_size=20))
    return more.map(lambda found: (*range(classes), *found))


def _case(classes: int) -> st.SearchStrategy[Case]:
    stages = st.lists(st.sampled_from(STAGES), max_size=3).map(lambda more: ("clip(epsilon=0.01)", *more))
    return st.builds(
        Case,
        scorer=st.sampled_from(SCORERS),
        loss=st.sampled_from(LOSSES),
        stages=st.one_of(stages, stages, st.sampled_from(GUARDED).map(lambda one: (one,))),
        attack=st.sampled_from((*ATTACKS, *(4 * BEST))),
        labels=_labels(classes),
        classes=st.just(classes),
        queries=st.sampled_from([1, 4, 40, 40, 40, 200]),
        model=st.sampled_from([*(9 * [""]), "batch", "rows", "hidden-rows"]),
        groups=st.sampled_from([1, 1, 1, 2, 5]),
    ).map(_fitting)


def _fitting(case: Case) -> Case:
    """Return a case whose parts fit: boards of models and guarded ones, and the rounded formats, score what ships."""
    if case.model:
        case = attrs.evolve(case, scorer="sklearn", attack="mutnet")
    if case.stages[0].startswith("guarded") or "sklearn" in case.scorer:
        case = attrs.evolve(case, loss="log-loss")
    return case


CASES = st.sampled_from([2, 2, 3, 4]).flatmap(_case)


BOARDS = (
    *("accuracy", "error", "precision", "recall", "specificity", "balanced-accuracy", "youden", "f1", "jaccard"),
    *("f-beta(beta=0.1)", "f-beta(beta=100)", "cohen-kappa", "mcc", "lift", "roc-auc", "gini", "ndcg", "ndcg(k=2)"),
    *("average-precision", "reciprocal-rank", "precision-at-k(k=2)", "precision-at-k", "lift-at-k(k=3)"),
)
OF_CLASSES = ("accuracy", "cohen-kappa", "mcc", "macro-f1", "weighted-f1", "balanced-accuracy", "quadratic-kappa")
OF_VALUES = ("mse", "rmse", "r2", "rmsle", "mae", "pinball(alpha=0.01)", "d2-absolute")
READERS = (
    *("detecting-counts", "dithered-counts", "spaced-ranks", "ranked-block", "first-positive"),
    *("linear-weights", "thresholds", "detecting-grades", "detecting-classes"),
)
VALUES = ("0123", ("-3", "0", "0.1", "7"), ("1700000000", "1700000060", "1700086400", "1700000001"))
BETWEEN = (
    *(f"round(decimals={decimals})" for decimals in range(8)),
    *(f"score-noise(model=uniform(tau=1e-{digits}))" for digits in (2, 5, 11)),
    *("worst-case-noise(tau=1e-3)", "worst-case-noise(tau=1e-9)"),
)


@attrs.frozen(kw_only=True)
class Board:
    """A made-up board that publishes a metric.

    Attributes:
        denied: Whether what is denied to attacks is held against many games, and not only promises against one.
    """

    metric: str
    labels: tuple[int, ...]
    names: tuple[str, ...] = ("0", "1")
    stages: tuple[str, ...] = ()
    queries: int = 0
    denied: bool = False

    def verdict(self, games: int, seed: int) -> tuple[float, str]:
        """Play every attack that reads the metric; return as :meth:`Case.verdict`."""
        data = LabelSet(labels=np.array(self.labels), class_names=self.names, title="made", provenance="made")
        channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, self.metric, "search"), queries=self.queries)
        defences, certified = BUILDER.pipeline(self.stages, "search"), False
        for name in READERS:
            attack = BUILDER.build(Kind.ATTACK, name, "search")
            setting = Setting(data=data, attack=attack, defences=defences)
            threat = channel.threat(setting)
            if attack.unsupported_reason(threat):
                continue
            if self.denied:
                chance, claim = judged("score", channel, data, self.stages, attack, games, seed)
                if chance <= SUSPECT:
                    return chance, f"{name}: {claim}"
                certified = certified or claim.endswith("came out")
                continue
            promise = attack.promise(threat)
            rngs = np.random.default_rng(seed).spawn(2)
            outcome = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
            sure = (promise is not None and promise.certified) or outcome.evidence.get("recovery") == "certified"
            if sure and outcome.n_correct < len(self.labels):
                return 0.0, f"{name} is certified, and {outcome.n_correct} of {len(self.labels)} came out"
            if threat.known and "contradiction" in outcome.evidence:
                return 0.0, f"{name}: a contradiction with what scikit-learn computes came out"
            certified = certified or sure
        return 1.0, "certified, and it all came out" if certified else "nothing claimed"


def _boards(metrics: tuple[str, ...], n_classes: int, names: tuple[tuple[str, ...], ...]) -> st.SearchStrategy[Board]:
    return st.builds(
        Board,
        metric=st.sampled_from(metrics),
        labels=st.lists(st.integers(0, n_classes - 1), min_size=2, max_size=12).map(tuple),
        names=st.sampled_from(names),
        stages=st.lists(st.sampled_from(BETWEEN), max_size=2).map(tuple),
        queries=st.sampled_from([0, 0, 0, 1, 2, 5, 17]),
    )


DENYING = st.builds(
    Board,
    metric=st.sampled_from((*BOARDS, *OF_CLASSES)),
    labels=_labels(2),
    stages=st.sampled_from(
        (
            *((one,) for one in GUARDED),
            *((f"round(decimals={digits})", f"query-limit(queries={few})") for digits in (0, 1, 3) for few in (1, 4)),
            *((f"ladder(step={step})",) for step in (0.02, 0.3)),
            *(("randomised-response(epsilon=0.5)", "round(decimals=3)"), ("subset(share=0.5)",)),
            *((f"score-noise(model={model.replace('50', '1')})", "query-limit(queries=4)") for model in NOISE),
        )
    ),
    queries=st.sampled_from([0, 1, 5, 17]),
    denied=st.just(True),
)
ALL_BOARDS = st.one_of(
    DENYING,
    _boards(BOARDS, 2, (("0", "1"),)),
    _boards(OF_CLASSES, 4, (tuple("0123"),)),
    _boards(OF_VALUES, 4, tuple(map(tuple, VALUES))),
)


def _clouds(classes: int) -> LabelSet:
    """Return 240 records in the plane, a cloud for every class; a third of all entries is zero."""
    rng = np.random.default_rng(classes)
    labels = np.arange(240) % classes
    features = np.maximum(rng.normal(size=(240, 5)) + 1.5 * np.cos(labels[:, None] + np.arange(5)), 0)
    names = tuple("abcd"[:classes])
    return LabelSet(labels=labels, features=features, class_names=names, title="made", provenance="made")


CLOUDS = {classes: _clouds(classes) for classes in (2, 3, 4)}


@attrs.frozen(kw_only=True)
class Trained:
    """A made-up game on gradients or outputs: something is trained on records that stand in clouds."""

    room: str
    settings: tuple[str, ...]
    stages: tuple[str, ...]
    attack: str
    classes: int = 2

    def verdict(self, games: int, seed: int) -> tuple[float, str]:
        """Play; return as :func:`judged`."""
        channel = BUILDER.build(Kind.CHANNEL, f"{self.room}({', '.join(self.settings)})", "search")
        attack: Attack = BUILDER.build(Kind.ATTACK, self.attack, "search")
        return judged(self.room, channel, CLOUDS[self.classes], self.stages, attack, games, seed)


def _trained(room: str, settings: Mapping[str, Sequence[str]], proving: Sequence[str]) -> st.SearchStrategy[Trained]:
    """Return games of a room: often something that certifies, among all stages that the room ships."""
    shipped = {
        kind: [item.descriptor.name for item in BUILDER.host.catalogue(kind) if item.descriptor.channel == room]
        for kind in (Kind.ATTACK, Kind.DEFENCE)
    }
    proofs, others = st.lists(st.sampled_from(proving), max_size=2), st.sampled_from(shipped[Kind.DEFENCE])
    return st.builds(
        Trained,
        room=st.just(room),
        settings=st.tuples(*(st.sampled_from([f"{name}={one}" for one in some]) for name, some in settings.items())),
        stages=st.tuples(st.lists(others, max_size=1), proofs, st.lists(others, max_size=1)).map(
            lambda parts: tuple(itertools.chain(*parts))
        ),
        attack=st.sampled_from(shipped[Kind.ATTACK]),
        classes=st.sampled_from(sorted(CLOUDS)),
    )


GRADIENTS = _trained(
    "gradient",
    {
        **{"precision": ["float64", "float64", "float32", "float16", "bfloat16"], "shared": ["last", "all"]},
        **{"targets": ["one-hot", "one-hot", "smoothing", "mixup"], "bias": ["true", "false"]},
        **{"batch": ["1", "1", "1", "3"], "activation": ["relu", "relu", "tanh"], "epochs": ["0", "2"]},
        **{"features_public": ["false", "false", "true"], "members": ["false", "true"], "auxiliary": ["30", "0"]},
        **{"hidden": ["[4]"], "samples": ["6"]},
    },
    (
        *(f"clipped-laplace(epsilon={epsilon})" for epsilon in (0.3, 1, 4, 20)),
        *(f"clipped-gaussian(multiplier={multiplier})" for multiplier in (0.25, 1, 4)),
        "clipped-gaussian(multiplier=1, exposures=3)",
    ),
)
OUTPUTS = _trained(
    "output",
    {
        **{"victim": ["memory", "memory", "memory", "logistic", "neighbours"], "canaries": ["0.3", "0.6"]},
        **{"outputs": ["probabilities", "probabilities", "logits", "top-1"], "loss": ["none", "none", "trained"]},
        **{"references": ["4"], "features": ["false", "true"], "test": ["0.4"]},
    },
    (
        *(f"{name}(epsilon={epsilon})" for name in ("label-rr", "alibi", "resampling-rr") for epsilon in (0.3, 2)),
        *("rr-with-prior(epsilon=1)", "lp-2st(epsilon=1)", "lp-mst(epsilon=1, stages=3)"),
        *("alibi(epsilon=1, prior='learned')", "pate(epsilon=1, teachers=3, votes=10)"),
        *("pate-fm(epsilon=1, teachers=3, votes=10)",),
    ),
)


def search(examples: int, deadline: float = float("inf"), cases: Any = CASES, **settings: Any) -> dict[str, int]:
    """Try that many games out; return how many were claimed something of.

    Raises:
        AssertionError: A claim is false.
    """
    counts = {"played": 0, "claimed": 0}

    @hypothesis.settings(max_examples=examples, deadline=None, database=None, **settings)
    @hypothesis.given(cases)
    def try_out(case: Case | Board | Trained) -> None:
        if time.monotonic() > deadline:
            return
        try:
            chance, claim = case.verdict(FIRST, 0)
            counts["played"] += 1
            counts["claimed"] += claim.endswith("came out")
            if chance <= SUSPECT:
                chance, claim = case.verdict(SECOND, 1)
                assert chance > GUILTY, f"{case}: {claim}"
        except (InputError, LabelinfError):  # it does not fit together, and was told so
            return

    try_out()
    return counts


def main() -> None:
    """Search until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    deadline, total = time.monotonic() + 60 * options.minutes, {"played": 0, "claimed": 0}
    for cases in itertools.cycle((CASES, ALL_BOARDS, GRADIENTS, OUTPUTS)):
        if time.monotonic() > deadline:
            break
        found = search(100, deadline, cases, suppress_health_check=list(hypothesis.HealthCheck))
        total = {name: total[name] + count for name, count in found.items()}
        print(f"so far {total}, {time.process_time() / 60:.0f} minutes of processor time", file=sys.stderr, flush=True)
    print(f"{total['played']} games made up, {total['claimed']} with a claim that was tried; no claim was false")


if __name__ == "__main__":
    main()

"""Looks for a false certificate: random scorers, losses, defences and attacks; what the product says against play.

    python benchmarks/false_certificates.py --minutes 60

Hypothesis makes a game up and shrinks one that convicts. Whatever is promised with a certificate has to come out in
every game; what a ceiling denies may not be seen. Suspects are played again, with other randomness, before they count.
"""

from __future__ import annotations

import argparse
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import attrs
import hypothesis
import numpy as np
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from labelinf_core.contracts.components import Attack, Guess, LabelSet, Setting
from labelinf_core.contracts.errors import InputError, LabelinfError, QueryRefusedError
from labelinf_core.evaluator import statistics
from labelinf_core.evaluator.play import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
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
SCORERS = (*KNOWN, *KNOWN, *(f"wildscorers:{name}" for name in OWN))
LOSSES = ("log-loss", "log-loss", "log-loss", "squared-euclidean", "itakura-saito", "norm-like")
NOISE = ("grid-laplace(scale=50)", "grid-gaussian(scale=50)", "geometric(scale=50, step=0.5)", "laplace(scale=50)")
STAGES = (
    *("clip(epsilon=0.01)", "clip(epsilon=0.3)", "clip(epsilon=1e-17)", "round(decimals=2)", "enforce-row-sums"),
    *(f"score-noise(model={model}, sticky={sticky})" for model in NOISE for sticky in ("true", "false")),
    *("score-noise(model=uniform(tau=1))", "score-noise(model=multiplicative(alpha=0.1))"),
    *("laplace-dp(epsilon=0.2, queries=40)", "gaussian-dp(epsilon=0.2, delta=1e-6, queries=40)", "snapping"),
    *("randomised-response(epsilon=0.3)", "randomised-response(epsilon=1.5, fresh=true)"),
    *("subset(share=0.5)", "subset(share=0.5, fresh=true)", "ladder(step=0.05)", "permute-labels", "query-limit"),
    *("privacy-budget(epsilon=0.5)", "worst-case-noise(tau=0.1)", "thresholdout", "guarded-board"),
)
ATTACKS = (
    "repeat",
    "ulp-grid",
    "mixed-radix",
    "averaging",
    "hadamard",
    "unnormalised-weights",
    "hybrid",
    "prime-blocks",
    "log-primes",
)


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
    """A made-up game."""

    scorer: str
    loss: str
    stages: tuple[str, ...]
    attack: str
    n: int
    classes: int = 2

    def verdict(self, games: int, seed: int) -> tuple[float, str]:
        """Play; return how improbable what was seen is if all claims are true, and the claim."""
        rng = np.random.default_rng(seed)
        data = LabelSet(
            labels=np.arange(self.n) % self.classes,
            class_names=tuple("abcd"[: self.classes]),
            title="made",
            provenance="made",
        )
        channel = BUILDER.build(Kind.CHANNEL, f"score(loss={self.loss}, scorer='{self.scorer}', queries=40)", "search")
        attack: Attack = Repeat() if self.attack == "repeat" else BUILDER.build(Kind.ATTACK, self.attack, "search")
        defences = tuple(BUILDER.build(Kind.DEFENCE, stage, "search") for stage in self.stages)
        setting = Setting(data=data, attack=attack, defences=defences)
        threat = channel.threat(setting)
        if attack.refusal(threat):
            return 1.0, "not played"
        promise = attack.promise(threat)
        ceilings = theory(BUILDER, "score", defences, threat).ceilings
        certified = promise is not None and promise.certified
        if not (certified or ceilings):
            return 1.0, "nothing claimed"
        shares = []
        for _ in range(games):
            one, two = rng.spawn(2)
            shares.append(channel.play(setting, curator_rng=one, attack_rng=two).n_correct / self.n)
        if certified and min(shares) < 1:
            return 0.0, f"certified, and {min(shares):.0%} came out"
        if not ceilings:
            return 1.0, "certified, and it all came out"
        allowed = min((min(1.0, item.accuracy + item.allowance) for item in ceilings), default=1.0)
        return statistics.betting_p_value(shares, allowed), f"at most {allowed:.1%}, and {np.mean(shares):.1%} came out"


CASES = st.builds(
    Case,
    scorer=st.sampled_from(SCORERS),
    loss=st.sampled_from(LOSSES),
    stages=st.lists(st.sampled_from(STAGES), min_size=0, max_size=3).map(
        lambda more: ("guarded-board(noise=0.1)",) if "guarded-board" in more else ("clip(epsilon=0.01)", *more)
    ),
    attack=st.sampled_from(ATTACKS),
    n=st.sampled_from([2, 3, 8]),
    classes=st.sampled_from([2, 2, 3, 4]),
).filter(lambda case: case.n >= case.classes)


def search(examples: int, deadline: float = float("inf"), **settings: Any) -> dict[str, int]:
    """Try that many games out; return how many were claimed something of.

    Raises:
        AssertionError: A claim is false.
    """
    counts = {"played": 0, "claimed": 0}

    @hypothesis.settings(max_examples=examples, deadline=None, database=None, **settings)
    @hypothesis.given(CASES)
    def try_out(case: Case) -> None:
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
    while time.monotonic() < deadline:
        for name, count in search(200, deadline, suppress_health_check=list(hypothesis.HealthCheck)).items():
            total[name] += count
    print(f"{total['played']} games made up, {total['claimed']} with a claim that was tried; no claim was false")


if __name__ == "__main__":
    main()

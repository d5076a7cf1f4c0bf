"""What a model's outputs give away about planted labels: the audit's numbers, each with its interval.

Usage::

    python benchmarks/outputs.py memorising       # ceilings, placebo: breast cancer, randomised response, epsilon 1
    python benchmarks/outputs.py best-epoch       # the published attack beside the calibrated one, at the best epoch
    python benchmarks/outputs.py defences         # utility, strongest attack, epsilon and certificate of every defence
    python benchmarks/outputs.py shown            # rounded, first classes, the predicted class
    python benchmarks/outputs.py learned          # the learned attack beside calibration and likelihood ratios
    python benchmarks/outputs.py coverage         # how often the bound is wrong, and what it proves
    python benchmarks/outputs.py power            # how often a claim of half the truth is refuted
    python benchmarks/outputs.py victims          # models that people have against a claim of 1
    python benchmarks/outputs.py observational    # why there is no audit without canaries
    python benchmarks/outputs.py regression       # planted values, behind RRonBins and behind nothing
    python benchmarks/outputs.py road             # whole audits with an attack that is chosen on references
    python benchmarks/outputs.py                  # all of them: several minutes

Every number is over models trained from scratch. Intervals are at 95 %: Clopper-Pearson over all canaries of all models
where these are independent, over models where they are not (``+-``).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence

import attrs
import numpy as np
from scipy.stats import binom
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from labelinf_core.contracts.components import ABSTAIN, Guess, LabelSet, Setting
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.statistics import epsilon_bounds
from labelinf_core.statistics.proportions import clopper_pearson, p_value
from labelinf_data.bundled import BreastCancer, Digits
from labelinf_outputs.attacks.calibrated import Calibrated
from labelinf_outputs.attacks.delta_margin import DeltaMargin
from labelinf_outputs.attacks.learned import Learned
from labelinf_outputs.attacks.lira import Lira
from labelinf_outputs.attacks.loss_inversion import LossInversion
from labelinf_outputs.attacks.quantile import Quantile
from labelinf_outputs.attacks.rmia import Rmia
from labelinf_outputs.attacks.threshold import Level, Threshold
from labelinf_outputs.audit.asked import AttackHandle
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.committed import commit
from labelinf_outputs.audit.outputs import audit_outputs
from labelinf_outputs.audit.planted import Planted
from labelinf_outputs.audit.power import Power
from labelinf_outputs.audit.predictions import log_softmax
from labelinf_outputs.audit.trained import trained
from labelinf_outputs.defences.alibi import Alibi
from labelinf_outputs.defences.label_rr import LabelRr
from labelinf_outputs.defences.lp_2st import Lp2st
from labelinf_outputs.defences.output_noise import OutputNoise
from labelinf_outputs.defences.pate import Pate
from labelinf_outputs.defences.recipes import EarlyStopping, TargetSmoothing, WeightDecay
from labelinf_outputs.defences.rounded_outputs import RoundedOutputs
from labelinf_outputs.defences.soft_labels import SoftLabels
from labelinf_outputs.defences.temperature import Temperature
from labelinf_outputs.defences.top_one_only import TopOneOnly
from labelinf_outputs.game.canaries import CanaryGame
from labelinf_outputs.game.channel import OutputChannel
from labelinf_outputs.game.output import (
    OutputAttack,
    OutputDefence,
    OutputOracle,
    OutputThreat,
    References,
    Release,
)
from labelinf_outputs.game.view import LossOracle, View
from labelinf_outputs.labels.census_like import CensusLike
from labelinf_outputs.labels.digits_parity import DigitsParity
from labelinf_privacy.label_noise.resampled_response import effective_epsilon
from labelinf_privacy.rr_on_bins import RrOnBins

EPOCHS = (10, 20, 30, 40, 60)
SPLITS = 4  # splits of the data; each serves as many audits as it has members
MEMBERS = 9


def games(
    channel: OutputChannel, data: LabelSet, defences: Sequence[OutputDefence], count: int, first: int = 0
) -> tuple[OutputThreat, list[CanaryGame]]:
    threat = channel.threat(Setting(data=data, defences=tuple(defences)))
    return threat, [CanaryGame(channel.plan, data, tuple(defences), seed) for seed in range(first, first + count)]


def interval(correct: int, count: int) -> str:
    found = clopper_pearson(correct, count)
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


class Tally:
    """Counts of one attack over many models."""

    def __init__(self) -> None:
        self.shares: list[float] = []
        self.epsilons: list[float] = []
        self.memorised: list[float] = []
        self.correct = self.placebo = self.canaries = 0

    def add(
        self, attack: OutputAttack, game: CanaryGame, threat: OutputThreat, target: int, rng: np.random.Generator
    ) -> None:
        guess = attack.run(game.oracle(threat, target), rng)
        sham, redrawn = game.placebo(threat, target)
        member = game.member(target)
        hits = guess.labels == member.planted
        self.correct += int(hits.sum())
        self.canaries += hits.size
        self.placebo += int((attack.run(sham, rng).labels == redrawn).sum())
        self.shares.append(float(hits.mean()))
        bound = epsilon_bounds.one_run_epsilon(
            guess.ranked(member.planted),
            n_canaries=hits.size,
            n_classes=threat.n_classes,
            delta=threat.label_delta if threat.n_classes == 2 else 0.0,
        )
        self.epsilons.append(bound.epsilon)
        seen = member.trained != ABSTAIN
        self.memorised.append(float((guess.labels[seen] == member.trained[seen]).mean()) if seen.any() else np.nan)

    @property
    def spread(self) -> float:
        return float(1.96 * np.std(self.shares, ddof=1) / len(self.shares) ** 0.5)

    def word(self, declared: bool, tests: int) -> str:
        p = min(p_value(self.placebo, self.canaries, 0.5) * tests, 1.0)
        return "ok" if p > 0.01 else "view reveals label" if declared else "leaky: void"


def audited(
    attacks: dict[str, OutputAttack], threat: OutputThreat, played: Sequence[CanaryGame], targets: int
) -> dict[str, Tally]:
    rng = np.random.default_rng(0)
    tallies = {name: Tally() for name in attacks}
    for game in played:
        for target in range(targets):
            for name, attack in attacks.items():
                tallies[name].add(attack, game, threat, target, rng)
    return tallies


def memorising() -> None:
    """Randomised response at epsilon 1 on a victim that memorises all of its training labels."""
    ceiling = epsilon_bounds.label_dp_ceiling(1.0, 2)
    print(f"breast cancer, 20 % canaries, randomised response, epsilon 1: ceiling {ceiling:.4f}")
    data = BreastCancer().load()
    channel = OutputChannel(canaries=0.2, epochs=300, loss=LossOracle.PLANTED)
    threat, played = games(channel, data, [LabelRr(epsilon=1.0)], SPLITS)
    attacks: dict[str, OutputAttack] = {
        "LIA-Threshold": Threshold(),
        "calibrated": Calibrated(),
        "LiRA": Lira(),
        "LIA-Delta-Margin": DeltaMargin(),
        "loss inversion": LossInversion(),
    }
    print(f"{'attack':18} {'planted label':24} {'p > ceiling':>12} {'trained':>8} {'placebo':>8}  epsilon >=")
    for name, tally in audited(attacks, threat, played, MEMBERS).items():
        above = p_value(tally.correct, tally.canaries, ceiling)
        share = interval(tally.correct, tally.canaries)
        print(
            f"{name:18} {share:24} {above:12.2g} {np.mean(tally.memorised):8.3f} "
            f"{tally.placebo / tally.canaries:8.3f}  {np.mean(tally.epsilons):.2f} "
            f"{tally.word(True, len(attacks))}"
        )


def best_epoch() -> None:
    """The published threshold attack beside the calibrated one, at the epoch of best test accuracy."""
    for data in (DigitsParity().load(), CensusLike().load()):
        accuracy = {}
        for epochs in EPOCHS:  # chosen on splits that the attacks never meet
            _, played = games(OutputChannel(canaries=0.05, epochs=epochs), data, [], 5, first=1000)
            accuracy[epochs] = float(np.mean([game.member(0).test_accuracy for game in played]))
        best = max(accuracy, key=lambda epochs: accuracy[epochs])
        shown = ", ".join(f"{epochs}: {share:.3f}" for epochs, share in accuracy.items())
        print(f"{data.title} ({data.provenance}), 5 % canaries; test accuracy by epoch {shown}; best at {best}")
        threat, played = games(OutputChannel(canaries=0.05, epochs=best, references=8), data, [], SPLITS)
        attacks: dict[str, OutputAttack] = {f"LIA-Threshold {item.value}": Threshold(level=item) for item in Level}
        attacks |= {"calibrated, plain mean": Calibrated(balanced=False), "calibrated": Calibrated(), "LiRA": Lira()}
        for name, tally in audited(attacks, threat, played, MEMBERS).items():
            print(
                f"  {name:24} {np.mean(tally.shares):.3f} +- {tally.spread:.3f}   epsilon >= "
                f"{np.mean(tally.epsilons):.2f}   placebo {tally.placebo / tally.canaries:.3f}"
            )


def defences() -> None:
    """Utility, published attack, calibrated attack, epsilon and certificate."""
    binary: list[list[OutputDefence]] = [
        [],
        [EarlyStopping(epochs=20)],
        [EarlyStopping(epochs=10)],
        [WeightDecay(factor=0.01)],
        [WeightDecay(factor=0.1)],
        [TargetSmoothing(smoothing=0.2)],
        [SoftLabels()],
        [RoundedOutputs(decimals=1)],
        [TopOneOnly()],
        [Temperature(temperature=10.0)],
        [OutputNoise()],
        [LabelRr(epsilon=2.0)],
        [LabelRr(epsilon=2.0), EarlyStopping(epochs=20)],
        [LabelRr(epsilon=2.0), SoftLabels()],
        [Alibi(epsilon=2.0)],
        [Lp2st(epsilon=2.0)],
        [Pate(epsilon=8.0, votes=300)],
    ]
    rows(CensusLike().load(), 0.05, 40, binary)
    many: list[list[OutputDefence]] = [[]]
    for epsilon in (4.0, 2.0):
        many += [[LabelRr(epsilon=epsilon)], [Alibi(epsilon=epsilon)], [Lp2st(epsilon=epsilon)]]
        many += [[LabelRr(epsilon=epsilon), EarlyStopping(epochs=20)]]
    rows(Digits().load(), 0.1, 60, many)


def rows(data: LabelSet, canaries: float, epochs: int, pipelines: Sequence[Sequence[OutputDefence]]) -> None:
    print(f"{data.title}, {epochs} epochs unless stopped, {canaries:.0%} canaries")
    print(f"  {'defence':52} {'test':>6} {'threshold':>10} {'calibrated':>11} {'epsilon >=':>11}  certificate")
    for pipeline in pipelines:
        threat, played = games(OutputChannel(canaries=canaries, epochs=epochs), data, pipeline, 1)
        tallies = audited({"threshold": Threshold(), "calibrated": Calibrated()}, threat, played, MEMBERS)
        test = np.mean([game.member(i).test_accuracy for game in played for i in range(MEMBERS)])
        known = np.isfinite(threat.label_epsilon)
        limit = epsilon_bounds.label_dp_ceiling(threat.label_epsilon, threat.n_classes, threat.label_delta)
        print(
            f"  {' + '.join(map(str, pipeline)) or 'none':52} {test:6.3f} {np.mean(tallies['threshold'].shares):10.3f} "
            f"{np.mean(tallies['calibrated'].shares):11.3f} {np.mean(tallies['calibrated'].epsilons):11.2f}  "
            f"{f'at most {limit:.3f}' if known else 'none'}"
        )


@attrs.frozen(kw_only=True)
class FirstClasses(OutputDefence):
    """Shows the likeliest classes, what ties with the last of them too; the others share what is left."""

    shown: int = 3

    def release(self, probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Keep the likeliest."""
        kept = probabilities >= np.sort(probabilities, axis=1)[:, [-self.shown]]
        left = 1 - (probabilities * kept).sum(axis=1, keepdims=True)
        return np.where(kept, probabilities, left / np.maximum((~kept).sum(axis=1, keepdims=True), 1))


def shown() -> None:
    """What is guessed where less is shown."""
    one = RoundedOutputs(decimals=1)
    rows(CensusLike().load(), 0.05, 40, [[], [one], [TopOneOnly()]])
    rows(Digits().load(), 0.1, 60, [[], [one], [FirstClasses()], [one, FirstClasses()], [TopOneOnly()]])


def coverage(audits: int = 2000) -> None:
    """How often the bound of committed guesses is above the truth, 5 % at most by its proof, and what it proves.

    Mechanisms are drawn by :func:`answers`, which shares no code with the audit; the guesser reads all that they say.
    """
    print(f"{audits} audits a row; mean proved, of right guesses alone, above the truth in")
    rng, wrong, rows = np.random.default_rng(0), 0, 0
    for n_classes, m in ((2, 40), (2, 200), (2, 300), (10, 300)):
        rows_of = [("response", PrivacyClaim(epsilon=e)) for e in (0.0, 0.5, 1.0, 2.0, 4.0)]
        rows_of += [(name, PrivacyClaim(epsilon=e)) for name in ("left out", "laplace") for e in (0.5, 2.0)]
        rows_of += [("disaster", PrivacyClaim(epsilon=1.0, delta=delta)) for delta in (1e-5, 1e-2, 0.2)]
        rows_of += [("gaussian", PrivacyClaim(mu=mu)) for mu in (1.0, 2.0)]
        for name, claim in rows_of:
            hits = answers(name, claim, n_classes, (audits, m), rng)
            for guesses in (m, m // 4) if name in ("gaussian", "disaster", "laplace") else (m,):
                proved, alone = proofs(hits[:, :guesses], claim, n_classes, m)
                above = int((proved > claim.level).sum())
                wrong, rows = wrong + above, rows + 1
                row = f"  K = {n_classes:2} {guesses:3} of {m:3} {name:8} {claim!s:28}"
                print(f"{row}: {proved.mean():.3f} {alone:.3f}  {above / audits:.2%}")
    p = p_value(wrong, rows * audits, 0.05)
    print(f"  all {rows} rows: {interval(wrong, rows * audits)}; p against 5 %: {p:.2g}")


def answers(
    name: str, claim: PrivacyClaim, n_classes: int, shape: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """Return which labels the best guess of a mechanism's answers gets right, surest first."""
    labels, odds = rng.integers(0, n_classes, shape), np.exp(claim.epsilon)
    if name in ("response", "disaster"):
        told = rng.random(shape) * (n_classes - 1 + odds) < odds
        return told | (rng.random((shape[0], 1)) < claim.delta)
    if name == "left out":  # it names a class; the guess is that one, which it hardly ever is
        return rng.random(shape) * (1 + (n_classes - 1) * odds) < 1
    noise = (
        rng.laplace(0, 2 / claim.epsilon, (*shape, n_classes))
        if name == "laplace"
        else (np.sqrt(2) / claim.mu * rng.standard_normal((*shape, n_classes)))
    )
    said = np.eye(n_classes)[labels] + noise
    top = np.sort(said, axis=2)
    order = np.argsort(top[..., -2] - top[..., -1], axis=1)
    return np.take_along_axis(said.argmax(axis=2) == labels, order, axis=1)


def proofs(hits: np.ndarray, claim: PrivacyClaim, n_classes: int, m: int) -> tuple[np.ndarray, float]:
    """Return what every audit proves, and the mean of what right guesses alone would."""
    guesses = hits.shape[1]
    correct, places = np.unique(hits.sum(axis=1), return_inverse=True)
    known = {"n_classes": n_classes, "n_canaries": m}
    proved = np.array([claim.proved(int(c), guesses - int(c), guesses, **known) for c in correct])[places]
    if claim.gaussian:
        return proved, float("nan")
    alone = [epsilon_bounds.epsilon_lower_bound(int(c), guesses, delta=claim.delta, **known) for c in correct]
    return proved, float(np.array(alone)[places].mean())


def power(audits: int = 10_000, m: int = 300) -> None:
    """How often a claim is refuted of a mechanism that is twice as loud, or that draws replaced labels from all.

    Beside it the most that any test at 5 % reaches against the first. Randomised response of the claim keeps the claim,
    so no valid test has more power than the best one of it against randomised response of twice that (Neyman and
    Pearson): the number of right guesses is all that tells them apart, and lots are drawn at the edge.
    """
    rng = np.random.default_rng(1)
    for n_classes in (2, 5, 10, 100):
        for claimed in (0.3, 0.5, 1.0, 2.0):
            shares = []
            for true in (2 * claimed, effective_epsilon(claimed, n_classes)):
                hits = answers("response", PrivacyClaim(epsilon=true), n_classes, (audits, m), rng)
                proved, _ = proofs(hits, PrivacyClaim(epsilon=claimed), n_classes, m)
                shares.append(interval(int((proved > claimed).sum()), audits))
            test = Power(claim=PrivacyClaim(epsilon=claimed), n_classes=n_classes)
            sizes = (int(size) for size in np.geomspace(10, 20_000, 2000))
            enough = next(size for size in sizes if test.of(size, 2 * claimed) >= 0.99)
            print(
                f"  K = {n_classes:3} m = {m} claim {claimed}: twice {shares[0]}, no test more than "
                f"{most_power(claimed, n_classes, m):.4f}, 99 % from about {enough} canaries; resampled {shares[1]}"
            )


def most_power(claimed: float, n_classes: int, m: int) -> float:
    """Return the power of the best test at 5 % of randomised response with ``claimed`` against twice that."""
    null, loud = (binom(m, epsilon_bounds.label_dp_ceiling(level, n_classes)) for level in (claimed, 2 * claimed))
    counts = np.arange(m + 2)
    edge = int(np.argmax(null.sf(counts - 1) <= epsilon_bounds.BETA)) - 1
    lot = (epsilon_bounds.BETA - null.sf(edge)) / null.pmf(edge)
    return float(loud.sf(edge) + lot * loud.pmf(edge))


def road(audits: int = 1000, references: int = 4, m: int = 200) -> None:
    """Whole audits, the attack chosen on references: models of two classes that lean towards their training labels."""
    builder, rng = Builder(Host.load(strict=True)), np.random.default_rng(1)
    for epsilon in (0.0, 1.0, 2.0, np.inf):
        keep = epsilon_bounds.label_dp_ceiling(epsilon, 2)
        wrong, proved, words = 0, [], Counter[str]()
        for _ in range(audits):
            planted = rng.integers(0, 2, (references + 1, m))
            trained = np.where(rng.random(planted.shape) < keep, planted, 1 - planted)
            odds = rng.standard_normal(m) + 2 * trained - 1 + 0.5 * rng.standard_normal(planted.shape)
            logs = log_softmax(np.stack([np.zeros_like(odds), odds], axis=2))
            given = Planted(
                release=Release(probabilities=np.exp(logs[0]), log_probabilities=logs[0]),
                labels=planted[0],
                class_names=("0", "1"),
                view=View(references=references),
                references=References(log_probabilities=logs[1:], planted=planted[1:], trained=planted[1:]),
            )
            found = audit_outputs(given, builder, attacks=["lia-threshold", "calibrated"], rng=rng)
            wrong += found.decision.level > epsilon
            proved.append(found.decision.level)
            words[found.decision.word.value] += 1
        print(
            f"  randomised response, epsilon {epsilon:3}: proved {np.mean(proved):.2f} (largest {max(proved):.2f}), "
            f"above the truth in {interval(wrong, audits)}; {dict(words)}"
        )


def victims(audits: int = 10, claimed: float = 1.0) -> None:
    """Audit models that people have as one command does; what takes an epsilon is given the claimed one."""
    builder, data, claim = Builder(Host.load(strict=True)), BreastCancer().load(), PrivacyClaim(epsilon=claimed)
    for name in ("mlp", "forest", "boosting", "neighbours", "logistic", "dp-forest", "dp-bayes"):
        words, proved, accuracies = Counter[str](), [], []
        for seed in range(audits):
            planted, accuracy = trained(name, data, claim, seed)
            found = audit_outputs(planted, builder, claim=claim, rng=np.random.default_rng(seed)).decision
            words[(found.claimed or found.word).value] += 1
            proved.append(found.level)
            accuracies.append(accuracy)
        print(
            f"  {name:11} {np.mean(accuracies):.1%} of unseen records right, proved {np.mean(proved):.2f} "
            f"(largest {max(proved):.2f}); {dict(words)}"
        )


def observational(audits: int = 1000, m: int = 1000, guesses: int = 100) -> None:
    """Why no audit without canaries: a model that has seen no label of the records is accused.

    The features tell 95 % of the labels, to a model trained on others; the proxy that is to stand in for nature tells
    75 %. Where the label that is shown contradicts the model, the adversary says "drawn by the proxy".
    """
    rng = np.random.default_rng(0)
    proved = []
    for _ in range(audits):
        real = rng.random(m) < 0.5
        agrees = rng.random(m) < np.where(real, 0.95, 0.75)
        said_proxy = np.flatnonzero(~agrees)[:guesses]
        right, made = int((~real[said_proxy]).sum()), said_proxy.size
        proved.append(PrivacyClaim().proved(right, made - right, made, n_classes=2, n_canaries=m))
    accused = interval(int((np.array(proved) > 0).sum()), audits)
    print(f"  labels nobody has seen: epsilon >= {np.mean(proved):.2f} is 'proved', more than 0 in {accused}")


def regression(epsilons: Sequence[float] = (1.0, 2.0, 4.0), audits: int = 20) -> None:
    """Planted values on a grid of five, behind RRonBins and behind nothing; a forest that remembers them."""
    features, y = load_diabetes(return_X_y=True)
    grid, rng = np.linspace(25, 345, 5), np.random.default_rng(0)
    prior = np.bincount(np.abs(y[:, None] - grid).argmin(axis=1), minlength=5) / y.size
    print(f"diabetes, 120 canaries on 5 points, {audits} models; the mean predicts {y.std():.1f} off, epsilon proved")
    for epsilon in (*epsilons, np.inf):
        errors, proved = [], []
        for seed in range(audits):
            order = rng.permutation(y.size)
            canaries, test = order[:120], order[-110:]
            planted, labels = rng.integers(0, 5, 120), y.copy()
            labels[canaries] = grid[planted]
            if np.isfinite(epsilon):
                labels = RrOnBins.of(grid.tolist(), prior.tolist(), epsilon).perturb(labels, rng)
            model = RandomForestRegressor(60, bootstrap=False, max_features=5, random_state=seed)
            model.fit(features[order[:-110]], labels[order[:-110]])
            said = np.abs(model.predict(features[canaries])[:, None] - grid).argmin(axis=1)
            right = int((said == planted).sum())
            proved.append(PrivacyClaim().proved(right, 120 - right, 120, n_classes=5, n_canaries=120))
            errors.append(float(np.sqrt(np.mean((model.predict(features[test]) - y[test]) ** 2))))
        loss = RrOnBins.of(grid.tolist(), prior.tolist(), epsilon).loss if np.isfinite(epsilon) else 0.0
        print(
            f"  epsilon {epsilon:3}: label error {loss**0.5:5.1f}, test error {np.mean(errors):5.1f}, "
            f"proved {np.mean(proved):.2f} (largest {max(proved):.2f})"
        )


class Committed(OutputAttack):
    """What an audit does: choose among attacks on the references, then play the chosen one."""

    def __init__(self, attacks: Mapping[str, OutputAttack]) -> None:
        self.attacks = attacks
        self.chosen = Counter[str]()

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        """Choose, then play."""
        threat, nothing = oracle.threat, np.zeros(oracle.threat.n_records, dtype=np.intp)
        known = Planted(
            release=oracle.query(),
            labels=nothing,
            class_names=tuple(map(str, range(threat.n_classes))),
            view=threat.view,
            references=oracle.references(),
        )
        name = commit(
            {key: AttackHandle.here(item) for key, item in self.attacks.items()}, known, threat, PrivacyClaim()
        ).attack
        self.chosen[name] += 1
        return self.attacks[name].run(oracle, rng)


def learned() -> None:
    """The attack that an audit commits to beside those it chooses from, over models of three splits.

    ``<`` stands where fewer labels are guessed than by the threshold, by two standard errors of the difference.
    """
    sources = ((Digits().load(), 0.1, 60), (DigitsParity().load(), 0.05, 30), (CensusLike().load(), 0.05, 40))
    choice: dict[str, OutputAttack] = {
        "lia-threshold": Threshold(),
        "calibrated": Calibrated(),
        "LiRA": Lira(),
        "learned": Learned(),
        "RMIA": Rmia(),
        "quantile": Quantile(),
    }
    for data, canaries, epochs in sources:
        for pipeline in ([], [LabelRr(epsilon=2.0)]):
            committed = Committed(choice)
            channel = OutputChannel(canaries=canaries, epochs=epochs, features=True)
            threat, played = games(channel, data, pipeline, 3)
            tallies = audited({**choice, "committed": committed}, threat, played, MEMBERS)
            plain = np.array(tallies["lia-threshold"].shares)
            print(f"  {data.title}, {epochs} epochs, {' + '.join(map(str, pipeline)) or 'none'}")
            for name, tally in tallies.items():
                more = np.array(tally.shares) - plain
                below = more.mean() < -2 * np.std(more, ddof=1) / len(more) ** 0.5
                print(f"    {name:14} {np.mean(tally.shares):.3f} +- {tally.spread:.3f} {'<' if below else ''}")
            print(f"    committed to: {dict(committed.chosen)}")


SECTIONS = {
    section.__name__.replace("_", "-"): section
    for section in (
        *(memorising, best_epoch, defences, shown, learned, coverage),
        *(power, victims, observational, regression, road),
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="all when none is given")
    for name in parser.parse_args().sections or SECTIONS:
        print(f"== {name}")
        SECTIONS[name]()


if __name__ == "__main__":
    main()

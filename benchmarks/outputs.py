"""What a model's outputs give away about planted labels: the audit's numbers, each with its interval.

Usage::

    python benchmarks/outputs.py memorising       # ceilings, placebo: breast cancer, randomised response, epsilon 1
    python benchmarks/outputs.py best-epoch       # the published attack beside the calibrated one, at the best epoch
    python benchmarks/outputs.py broken           # resampling at nominal epsilon .3 is caught, replacing is not accused
    python benchmarks/outputs.py defences         # utility, strongest attack, epsilon and certificate of every defence
    python benchmarks/outputs.py learned          # the learned attack beside calibration and likelihood ratios
    python benchmarks/outputs.py coverage         # how often the bound is wrong, what it proves, with what power
    python benchmarks/outputs.py gaussian         # the same for Gaussian DP and for delta > 0, K = 2 and 10
    python benchmarks/outputs.py pooled           # one model, and several audited together
    python benchmarks/outputs.py observational    # why there is no audit without canaries
    python benchmarks/outputs.py road             # whole audits with an attack that is chosen on references
    python benchmarks/outputs.py speed            # the epsilon bound; one cell of the quick suite
    python benchmarks/outputs.py                  # all of them: several minutes

Every number is over models trained from scratch. Intervals are at 95 %: Clopper-Pearson over all canaries of all models
where these are independent, over models where they are not (``+-``).
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

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
from labelinf_outputs.audit.predictions import log_softmax
from labelinf_outputs.defences.alibi import Alibi
from labelinf_outputs.defences.label_rr import LabelRr
from labelinf_outputs.defences.lp_2st import Lp2st
from labelinf_outputs.defences.output_noise import OutputNoise
from labelinf_outputs.defences.pate import Pate
from labelinf_outputs.defences.recipes import EarlyStopping, TargetSmoothing, WeightDecay
from labelinf_outputs.defences.resampling_rr import ResamplingRr
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


def broken(seeds: int = 100) -> None:
    """The one-run bound on a mechanism that resamples and on one that replaces, nominal epsilon .3, 600 canaries."""
    data = DigitsParity().load()
    channel = OutputChannel(canaries=0.4452, epochs=100, references=0)
    rng = np.random.default_rng(0)
    for defence, count in ((ResamplingRr(epsilon=0.3), 10), (LabelRr(epsilon=0.3), seeds)):
        threat, played = games(channel, data, [defence], count)
        found, shares = [], []
        for game in played:
            truth = game.member(0).planted
            guess = Threshold().run(game.oracle(threat), rng)
            found.append(epsilon_bounds.one_run_epsilon(guess.ranked(truth), n_canaries=truth.size).epsilon)
            shares.append(float((guess.labels == truth).mean()))
        accused = sum(epsilon > 0.3 for epsilon in found)
        print(
            f"{type(defence).__name__:14} {threat.n_records} canaries: success {np.mean(shares):.3f}, "
            f"epsilon >= {np.mean(found):.2f} (largest {max(found):.2f}); above .3 in {accused} of {count} models "
            f"{interval(accused, count)}"
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


def coverage(audits: int = 4000) -> None:
    """The bound of the committed guesses on models that echo the labels they were trained on, beside the best of four.

    ``wrong`` is how often the bound exceeds the true epsilon, 5 % at most by its proof; ``refuted`` how often a claim
    of the nominal epsilon is.
    """
    print(f"{audits} audits a row; mean proved, refuted and wrong: committed | best of 4 shares")
    rng = np.random.default_rng(0)
    for n_classes, m in ((2, 40), (2, 300), (10, 300)):
        for nominal, resampled in ((0.0, False), (0.3, True), (0.5, False), (1.0, False), (2.0, False), (2.0, True)):
            row(n_classes, m, nominal, resampled, audits, rng)
        row(n_classes, m, 4.0, False, audits, rng)


def row(n_classes: int, m: int, nominal: float, resampled: bool, audits: int, rng: np.random.Generator) -> None:
    true = effective_epsilon(nominal, n_classes) if resampled else nominal
    hits = rng.random((audits, m)) < epsilon_bounds.label_dp_ceiling(true, n_classes)
    counts = epsilon_bounds.guess_counts(m)
    correct = np.stack([hits[:, :count].sum(axis=1) for count in counts], axis=1)
    shared = epsilon_bounds.BETA / len(epsilon_bounds.GUESS_SHARES)
    known = {"n_classes": n_classes}
    committed = [PrivacyClaim().proved(c, m - c, m, n_canaries=m, **known) for c in range(m + 1)]
    best = [[epsilon_bounds.epsilon_lower_bound(c, r, beta=shared, **known) for c in range(r + 1)] for r in counts]
    of_four = np.max([np.array(each)[correct[:, i]] for i, each in enumerate(best)], axis=0)
    found = np.column_stack([np.array(committed)[correct[:, 0]], of_four])
    mean, refuted, wrong = found.mean(axis=0), (found > nominal).mean(axis=0), (found > true).mean(axis=0)
    print(
        f"  K = {n_classes:2} m = {m:3} nominal {nominal:3.1f} true {true:4.2f}: {mean[0]:.2f} | {mean[1]:.2f}   "
        f"refuted {refuted[0]:6.1%} | {refuted[1]:6.1%}   wrong {wrong[0]:5.2%} | {wrong[1]:5.2%}"
    )


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


def gaussian(audits: int = 1000) -> None:
    """Claims that allow disasters: what is proved of Gaussian noise, and of who tells all with probability delta."""
    print(f"{audits} audits a row; of all guesses, the surest half, the surest quarter: mean proved (wrong)")
    rng = np.random.default_rng(0)
    for n_classes in (2, 10):
        for mu in (1.0, 2.0, 3.0):
            labels = rng.integers(0, n_classes, (audits, 300))
            said = np.eye(n_classes)[labels] + np.sqrt(2) / mu * rng.standard_normal((audits, 300, n_classes))
            top = np.sort(said, axis=2)
            order = np.argsort(top[..., -2] - top[..., -1], axis=1)
            hits = np.take_along_axis(said.argmax(axis=2) == labels, order, axis=1)
            shares = _by_shares(hits, PrivacyClaim(mu=mu), n_classes)
            print(f"  K = {n_classes:2} m = 300 Gaussian DP, mu = {mu:g}: {shares}")
        for epsilon, delta in ((1.0, 1e-5), (1.0, 1e-2), (2.0, 1e-3)):
            keep = epsilon_bounds.label_dp_ceiling(epsilon, n_classes)
            hits = (rng.random((audits, 300)) < keep) | (rng.random((audits, 1)) < delta)
            claim = PrivacyClaim(epsilon=epsilon, delta=delta)
            print(f"  K = {n_classes:2} m = 300 {claim}: {_by_shares(hits, claim, n_classes)}")


def _by_shares(hits: np.ndarray, claim: PrivacyClaim, n_classes: int) -> str:
    parts = []
    for guesses in (300, 150, 75):
        correct, places = np.unique(hits[:, :guesses].sum(axis=1), return_inverse=True)
        known = {"n_classes": n_classes, "n_canaries": 300}
        proved = np.array([claim.proved(int(c), guesses - int(c), guesses, **known) for c in correct])[places]
        parts.append(f"{proved.mean():.2f} ({(proved > claim.level).mean():.2%})")
    return ", ".join(parts)


def pooled(audits: int = 1000) -> None:
    """One model, and several audited together: randomised response on 100 canaries each."""
    rng = np.random.default_rng(0)
    for epsilon in (1.0, 4.0):
        for models in (1, 4, 16):
            drawn = rng.binomial(100 * models, epsilon_bounds.label_dp_ceiling(epsilon, 2), audits)
            m = 100 * models
            proved = np.array([PrivacyClaim().proved(int(c), m - int(c), m, n_classes=2, n_canaries=m) for c in drawn])
            wrong = interval(int((proved > epsilon).sum()), audits)
            print(f"  epsilon {epsilon:g}, {models:2} models of 100 canaries: {proved.mean():.2f}, wrong {wrong}")


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


def speed() -> None:
    """CPU time of the bound and of one cell."""
    hits = np.arange(1000) < 731
    start = time.process_time()
    for _ in range(200):
        epsilon_bounds.one_run_epsilon(hits, n_canaries=1000)
    print(f"one-run epsilon, 1 000 canaries: {(time.process_time() - start) / 200 * 1e3:.3f} ms a call")
    start = time.process_time()
    for _ in range(20):
        epsilon_bounds.one_run_epsilon(hits, n_canaries=1000, delta=1e-5)
    print(f"the same for (epsilon, delta):   {(time.process_time() - start) / 20 * 1e3:.1f} ms a call")
    start = time.process_time()
    threat, played = games(OutputChannel(canaries=0.2, epochs=200), BreastCancer().load(), [LabelRr()], 1)
    audited({"calibrated": Calibrated()}, threat, played, 1)
    print(f"one cell, one trial (victim, 8 references, attack, placebo): {time.process_time() - start:.2f} s")


SECTIONS = {
    "memorising": memorising,
    "best-epoch": best_epoch,
    "broken": broken,
    "defences": defences,
    "learned": learned,
    "coverage": coverage,
    "gaussian": gaussian,
    "pooled": pooled,
    "observational": observational,
    "road": road,
    "speed": speed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="all when none is given")
    for name in parser.parse_args().sections or SECTIONS:
        print(f"== {name}")
        SECTIONS[name]()


if __name__ == "__main__":
    main()

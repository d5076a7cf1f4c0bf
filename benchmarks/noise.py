"""How much noise each attack survives, at the same number of queries, beside the papers' own method.

Usage::

    python benchmarks/noise.py                         # thresholds at N = 64, q = N and 4 N; a minute or two
    python benchmarks/noise.py --sizes 1024 --factors 1
    python benchmarks/noise.py --few --sizes 256       # fewer queries than labels
    python benchmarks/noise.py --sklearn               # N = q = 1024 at 6.7 L / N through scikit-learn itself
    python benchmarks/noise.py --curve --sizes 1024    # floor, observation and ceiling over the noise; a minute

The papers spend a query on one label when noise is large (*one label*: Algorithm 3 of ICML 2021 with m = 1, its
repeats averaged). Thresholds are the standard deviation (Gaussian), scale (Laplace) or bound (uniform) of the noise at
which 99 % of the labels are still right, in units of L / N, found by bisection in whole games; *ratio* is against one
label. The curve sets what was observed between what the attack reaches by theory, ``Phi(L sqrt(q) / (2 N s))``, and the
lowest ceiling that any statement sets to every attack: they meet at q = N. With fewer queries the attack does not reach
that number, and the gap to the ceiling is shown.

Theory: Gaussian .2149 sqrt(q / N) for one label and .2149 sqrt(q) for Hadamard signs, uniform .372 sqrt(q).
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

from labelinf_core.contracts.components import LabelSet, NoiseModel, Setting
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.statistics.proportions import label_accuracy
from labelinf_papers.attacks.powers_blocks import PowersBlocks
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_privacy.noise.laplace import Laplace
from labelinf_privacy.noise.uniform import Uniform
from labelinf_scores.attacks.averaging import Averaging
from labelinf_scores.attacks.hadamard import HadamardAttack
from labelinf_scores.attacks.linear_program import LinearProgram
from labelinf_scores.bounds.counting import Counting
from labelinf_scores.bounds.gaussian_capacity import GaussianCapacity
from labelinf_scores.bounds.hadamard import hadamard_std
from labelinf_scores.bounds.private_scores import PrivateScores
from labelinf_scores.decoders.least_squares import sign_accuracy
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack
from labelinf_scores.metrics.log_loss import LogLoss

CLIP = 2.0**-52
SPAN = math.log((1 - CLIP) / CLIP)
NOISES = {
    "gaussian": lambda size: Gaussian(scale=size),
    "laplace": lambda size: Laplace(scale=size),
    "uniform": lambda size: Uniform(tau=size),
}
_GAMES = 16
ONE_LABEL, HADAMARD, PROGRAM = "one label", "hadamard", "linear program"


def play(
    attack: ScoreAttack,
    n: int,
    queries: int,
    model: NoiseModel | None,
    *,
    seed: int,
    scorer: str,
    even: bool = False,
) -> float:
    """Return the share of labels that one game recovers."""
    labels = np.arange(n) % 2 if even else np.random.default_rng(seed).integers(0, 2, n)
    data = LabelSet(labels=labels, class_names=("0", "1"), title="random", provenance="made")
    guards: list[ScoreDefence] = [] if scorer == "sklearn" else [Clip(epsilon=CLIP)]
    if model is not None:
        guards.append(ScoreNoise(model=model))
    channel = ScoreChannel(loss=LogLoss(), scorer=scorer, queries=queries)
    curator, adversary = np.random.default_rng(seed + 1).spawn(2)
    outcome = channel.play(
        Setting(data=data, attack=attack, defences=tuple(guards)), curator_rng=curator, attack_rng=adversary
    )
    return outcome.n_correct / n


def threshold(attack: ScoreAttack, n: int, queries: int, noise: str, guess: float) -> float:
    """Return the largest noise, in units of L / N, under which 99 % of the labels come out."""
    games = max(1, 1024 // n)
    low, high = guess / 4, guess * 4
    for _ in range(7):
        middle = math.sqrt(low * high)
        model = NOISES[noise](middle * SPAN / n)
        share = np.mean([play(attack, n, queries, model, seed=seed, scorer="float64") for seed in range(games)])
        low, high = (middle, high) if share >= 0.99 else (low, middle)
    return math.sqrt(low * high)


def thresholds(n: int, factor: int) -> None:
    """Print one block: every noise, every attack."""
    queries = factor * n
    attacks: dict[str, ScoreAttack] = {ONE_LABEL: Averaging(most_repeats=factor), HADAMARD: HadamardAttack()}
    if n <= 64:
        attacks[PROGRAM] = LinearProgram(queries_per_label=factor)
    print(f"\nN = {n}, q = {queries}: noise survived at 99 %, in units of L / N")
    print(f"{'noise':10}{'attack':16}{'threshold':>10}{'ratio':>8}{'s':>8}")
    for noise, constant in (("gaussian", 0.215), ("laplace", 0.135), ("uniform", 0.372)):
        papers = 0.0
        for name, attack in attacks.items():
            start = time.perf_counter()
            gain = math.sqrt(factor) * (1 if name == ONE_LABEL else math.sqrt(n))
            found = threshold(attack, n, queries, noise, constant * gain)
            papers = papers or found
            print(f"{noise:10}{name:16}{found:10.3f}{found / papers:8.1f}{time.perf_counter() - start:8.1f}")


def few_queries(n: int) -> None:
    """Print what comes out when there are fewer queries than labels."""
    print(f"\nN = {n}, Gaussian noise of .5 L / N: share of labels recovered")
    print(f"{'queries':>8}{'one label':>12}{'hadamard':>12}{'ratio of what is gained':>26}")
    model = Gaussian(scale=0.5 * SPAN / n)
    for share in (0.25, 0.5, 0.625, 0.75, 1.0):
        queries = int(share * n)
        one = np.mean([play(PowersBlocks(), n, queries, model, seed=s, scorer="float64") for s in range(4)])
        all_at_once = np.mean([play(HadamardAttack(), n, queries, model, seed=s, scorer="float64") for s in range(4)])
        gained = (all_at_once - 0.5) / max(one - 0.5, 1e-3)
        print(f"{queries:8}{one:12.3f}{all_at_once:12.3f}{gained:26.1f}")


def curve(n: int) -> None:
    """Print floor, observation and ceiling over the noise, for as many queries as labels and for fewer."""
    print(
        f"\nN = {n}, Gaussian noise s, two equal classes; share of labels recovered, 95 % interval over {_GAMES} games"
    )
    print(f"{'queries':>8}{'s N / L':>9}{'theory':>9}{'observed':>10}{'interval':>18}{'ceiling':>9}{'gap':>8}  by")
    outside = 0
    for queries in (n, n // 2, n // 8):
        for row, accuracy in enumerate((0.99, 0.95, 0.9, 0.8, 0.7, 0.6)):
            std = hadamard_std(SPAN, n, n, accuracy)
            games = [
                play(HadamardAttack(), n, queries, Gaussian(scale=std), seed=100 * row + s, scorer="float64", even=True)
                for s in range(_GAMES)
            ]
            seen, lowest = label_accuracy(games, n), _lowest_ceiling(n, queries, std)
            theory = sign_accuracy(queries, 2 * n * std / SPAN)
            outside += queries >= n and not seen.low <= theory <= seen.high
            print(
                f"{queries:8}{std * n / SPAN:9.2f}{theory:9.4f}{seen.value:10.4f}"
                f"{f'[{seen.low:.4f}, {seen.high:.4f}]':>18}{lowest.accuracy:9.4f}{lowest.accuracy - seen.value:8.4f}"
                f"  {lowest.statement.removeprefix('labelinf theory, ')}"
            )
    print(f"{outside} of 6 observations at q = N lie outside their own interval of the theory")


def _lowest_ceiling(n: int, queries: int, std: float) -> Ceiling:
    data = LabelSet(labels=np.arange(n) % 2, class_names=("0", "1"), title="even", provenance="made")
    channel = ScoreChannel(loss=LogLoss(), scorer="float64", queries=queries)
    guards = (Clip(epsilon=CLIP), ScoreNoise(model=Gaussian(scale=std)))
    threat = channel.threat(Setting(data=data, defences=guards))
    found = [
        ceiling for bound in (PrivateScores(), GaussianCapacity(), Counting()) for ceiling in bound.ceilings(threat)
    ]
    return min(found, key=lambda ceiling: ceiling.accuracy)


def through_sklearn() -> None:
    """Print the mark to reach: N = q = 1024 under Gaussian noise of 6.7 L / N."""
    n, model = 1024, Gaussian(scale=6.7 * SPAN / 1024)
    expected = 0.5 * (1 + math.erf(math.sqrt(n) / (2 * 6.7) / math.sqrt(2)))
    for name, attack in ((ONE_LABEL, PowersBlocks()), (HADAMARD, HadamardAttack())):
        start = time.perf_counter()
        share = np.mean([play(attack, n, n, model, seed=seed, scorer="sklearn") for seed in range(4)])
        print(f"{name:12} {share:.4f} of 4 x 1024 labels in {time.perf_counter() - start:.1f} s")
    print(f"expected for hadamard: Phi(L sqrt(q) / (2 N s)) = {expected:.4f}")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description="How much noise each attack survives.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64])
    parser.add_argument("--factors", type=int, nargs="+", default=[1, 4], help="queries per label")
    parser.add_argument("--few", action="store_true", help="fewer queries than labels")
    parser.add_argument("--curve", action="store_true", help="floor, observation and ceiling over the noise")
    parser.add_argument("--sklearn", action="store_true", help="through scikit-learn's own log_loss")
    options = parser.parse_args()
    if options.sklearn:
        through_sklearn()
    elif options.curve:
        curve(max(options.sizes))
    elif options.few:
        few_queries(max(options.sizes))
    else:
        for n in options.sizes:
            for factor in options.factors:
                thresholds(n, factor)


if __name__ == "__main__":
    main()

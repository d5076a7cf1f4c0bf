"""How many queries the label sets of the papers take, through scikit-learn's own log_loss, beside the papers' method.

Usage::

    python benchmarks/score_queries.py                       # sets up to 2 201 labels: half a minute
    python benchmarks/score_queries.py --part rounded        # the same behind 5 and 4 decimals
    python benchmarks/score_queries.py --part large          # 25 000 and 70 000 labels, 6 and 10 classes: half an hour
    python benchmarks/score_queries.py --part float32
    python benchmarks/score_queries.py --part signs          # sign designs: a slow format, and far too few answers
    python benchmarks/score_queries.py --part decode         # the adversary's own time for 25 000 labels, and memory
    python benchmarks/score_queries.py --sets haberman imdb --attacks binary-weights primes --part small

Every line is one whole game on all labels of a set, in random order: *right* are the labels recovered, *certified* says
whether that was proved beforehand. *N/5* are the queries of Table 2 of ICML 2021 and *ratio* how many times fewer the
attack takes; ``primes`` is the papers' own attack in the same run (five primes a query; ``primes-best`` takes as many
as can be certified). *marks* are numbers to reach, from the issue that asked for them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Sequence

import numpy as np

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_data.published import COUNTS, Counts
from labelinf_papers.attacks.prime_blocks import PrimeBlocks
from labelinf_scores.attacks.adaptive_weights import AdaptiveWeights
from labelinf_scores.attacks.binary_weights import BinaryWeights
from labelinf_scores.attacks.conway_guy import ConwayGuyWeights
from labelinf_scores.attacks.hadamard import HadamardAttack
from labelinf_scores.attacks.hybrid import Hybrid
from labelinf_scores.attacks.joint_weights import JointWeights
from labelinf_scores.attacks.mixed_radix import MixedRadix
from labelinf_scores.attacks.unnormalised_weights import UnnormalisedWeights
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Query, ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.plans.block_plan import decode_blocks

ATTACKS: dict[str, ScoreAttack] = {
    "primes": PrimeBlocks(size=5),
    "primes-best": PrimeBlocks(size=0),
    "binary-weights": BinaryWeights(),
    "adaptive-weights": AdaptiveWeights(),
    "conway-guy": ConwayGuyWeights(),
    "hybrid": Hybrid(),
    "joint-weights": JointWeights(),
    "joint-weights-free": JointWeights(proper=False),
    "mixed-radix": MixedRadix(),
    "unnormalised-weights": UnnormalisedWeights(),
}
JOINT = ["joint-weights", "joint-weights-free"]
PROPER = ["primes", "primes-best", "binary-weights", "adaptive-weights", "conway-guy", "hybrid", "unnormalised-weights"]
PROPER += JOINT
MANY_CLASSES = ["mixed-radix", "adaptive-weights", "hybrid", "unnormalised-weights"]
FEW = ["binary-weights", "adaptive-weights", "hybrid", "unnormalised-weights", *JOINT]  # on sets that take minutes
MARKS = {
    ("haberman", "binary-weights"): 7,
    ("breast-cancer", "binary-weights"): 13,
    ("banknote", "binary-weights"): 30,
    ("titanic", "binary-weights"): 49,
    ("imdb", "binary-weights"): 596,
    ("imdb", "adaptive-weights"): 575,
    ("imdb", "joint-weights-free"): 475,
    ("imdb", "joint-weights"): 520,
    ("made-70000", "joint-weights"): 1500,
    ("made-70000", "binary-weights"): 1708,
    ("satellite", "mixed-radix"): 402,
    ("mnist", "mixed-radix"): 6364,
    ("titanic, 5 decimals", "hybrid"): 156,
    ("titanic, 4 decimals", "hybrid"): 195,
    ("imdb, 5 decimals", "hybrid"): 1989,
    ("imdb, 4 decimals", "hybrid"): 2725,
}
SMALL = ["haberman", "breast-cancer", "banknote", "titanic"]
LARGE = ["imdb", "made-70000", "satellite", "mnist"]
HEADER = (
    f"{'set':<22}{'N':>6}{'K':>3}{'N/5':>7}  {'attack':<21}{'queries':>8}{'mark':>6}{'ratio':>7}{'right':>8}  certified"
)


def labels_of(name: str) -> LabelSet:
    """Return a published label set, or made labels of two classes."""
    if name in COUNTS:
        return Counts(name=name).load()
    n = int(name.removeprefix("made-"))
    labels = np.random.default_rng(0).integers(0, 2, n)
    return LabelSet(labels=labels, class_names=("0", "1"), title=name, provenance="made")


def play(name: str, attack_name: str, defences: Sequence[ScoreDefence] = (), scorer: str = "sklearn") -> None:
    """Play one game and print its line."""
    attack, data = ATTACKS[attack_name], labels_of(name)
    channel = ScoreChannel(loss=LogLoss(), scorer=scorer)
    setting = Setting(data=data, attack=attack, defences=tuple(defences))
    threat = channel.threat(setting)
    title = name + "".join(f", {item.decimals} decimals" for item in defences if isinstance(item, RoundScore))
    paper, mark = -(-data.n_records // 5), MARKS.get((title, attack_name), "") if scorer == "sklearn" else ""
    start = f"{title:<22}{data.n_records:>6}{data.n_classes:>3}{paper:>7}  {attack_name:<21}"
    begun = time.process_time()
    if refusal := attack.unsupported_reason(threat):
        print(f"{start}{'-':>8}{mark:>6}  {refusal}", flush=True)
        return
    promise = attack.promise(threat)
    planned = time.process_time()
    rngs = np.random.default_rng(1).spawn(2)
    outcome = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
    seconds = f"planned in {planned - begun:.1f} s, played in {time.process_time() - planned:.1f} s"
    share = "all" if outcome.n_correct == data.n_records else f"{outcome.n_correct / data.n_records:.2%}"
    certified = "yes" if promise is not None and promise.certified else "no"
    print(
        f"{start}{outcome.queries:>8}{mark:>6}{paper / outcome.queries:>7.1f}{share:>8}  {certified:<4} {seconds}",
        flush=True,
    )


def peak_memory() -> float:
    """Return the largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def decode(n: int) -> None:
    """Print what the adversary spends on planning, building queries and decoding, apart from the curator's time.

    Memory is that of everything, the curator included, above what the process took before the plan was made.
    """
    import sklearn.metrics  # noqa: F401  (its import is nobody's expense)

    data = labels_of(f"made-{n}")
    before = peak_memory()
    channel, attack = ScoreChannel(loss=LogLoss()), BinaryWeights()
    threat: ScoreThreat = channel.threat(Setting(data=data, attack=attack))
    planner = attack.planner(threat)
    begun = time.process_time()
    blocks = list(planner.blocks())
    planned = time.process_time()
    scorer = channel.curator(data.labels, threat, np.random.default_rng(0)).scorer
    neutral = np.tile(planner.rows.neutral.prediction, (n, 1))
    scores, building = [], 0.0
    for block in blocks:
        start = time.process_time()
        sent = neutral.copy()
        sent[block.records] = planner.predictions(block)
        building += time.process_time() - start
        scores.append(scorer.score(data.labels, Query(predictions=sent)))
    found, decoded = np.empty(0), []
    for _ in range(5):
        start = time.process_time()
        found = np.concatenate(decode_blocks(blocks, scores))
        decoded.append(time.process_time() - start)
    print(
        f"N = {n}: {len(blocks)} queries; planned in {planned - begun:.2f} s, built in {building:.2f} s, decoded in "
        f"{1000 * min(decoded):.1f} ms (CPU, best of {len(decoded)}; first {1000 * decoded[0]:.1f}); "
        f"{int((found == data.labels).sum())} right; peak memory {peak_memory() - before:.0f} MiB above {before:.0f}",
        flush=True,
    )


def decode_apart() -> None:
    """Print :func:`decode` of large sets."""
    for n in (25_000, 70_000):  # each in a process of its own: memory that was freed still counts
        worker = multiprocessing.get_context("spawn").Process(target=decode, args=(n,))
        worker.start()
        worker.join()


def signs() -> None:
    """Print what sign designs take on the slowest format, and what they read from far fewer answers than labels."""
    attack = HadamardAttack()
    for n, scorer, queries, games in ((1001, "bfloat16", 0, 1), (2000, "float64", 24, 40)):
        channel, right = ScoreChannel(loss=LogLoss(), scorer=scorer, queries=queries), 0
        setting = Setting(data=labels_of(f"made-{n}"), attack=attack)
        begun = time.process_time()
        for seed in range(games):
            curator_rng, attack_rng = np.random.default_rng(seed).spawn(2)
            right += channel.play(setting, curator_rng=curator_rng, attack_rng=attack_rng).n_correct
        spent = (time.process_time() - begun) / games
        print(
            f"hadamard, N = {n}, {scorer}, {queries or 'any'} queries: {right / (games * n):.1%} right, {spent:.2f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["small", "large", "rounded", "float32", "signs", "decode"], default="small")
    parser.add_argument("--sets", nargs="+", metavar="SET", help=f"{', '.join(COUNTS)} or made-N")
    parser.add_argument("--attacks", nargs="+", choices=list(ATTACKS))
    arguments = parser.parse_args()
    if alone := {"decode": decode_apart, "signs": signs}.get(arguments.part):
        alone()
        return
    print(HEADER)
    default_sets = {"large": LARGE, "rounded": ["titanic", "imdb"]}.get(arguments.part, SMALL)
    for name in arguments.sets or default_sets:
        many = labels_of(name).n_classes > 2
        defences = [(RoundScore(decimals=d),) for d in (5, 4)] if arguments.part == "rounded" else [()]
        scorer = "float32" if arguments.part == "float32" else "sklearn"
        attacks = MANY_CLASSES if many else PROPER
        if arguments.part == "large":
            attacks = ["mixed-radix", "adaptive-weights"] if many else FEW
        if arguments.part == "rounded":
            attacks = ["binary-weights", "conway-guy", "hybrid"]
        for stages in defences:
            for attack in arguments.attacks or attacks:
                play(name, attack, stages, scorer)


if __name__ == "__main__":
    main()

"""How many queries give every label of a leaderboard away, through scikit-learn's own function of its metric.

Usage::

    python benchmarks/metrics.py                  # real labels of breast cancer and digits: three minutes
    python benchmarks/metrics.py --part large     # 5 000 and 25 000 made labels: ten minutes
    python benchmarks/metrics.py --part rounded   # behind decimals

Every line is one whole game on all labels, in random order. *right* are the labels recovered, *decided* those that the
attack names, *certified* says whether it was proved beforehand that all come out. *any* is the least number of queries
of any attack by counting, *fixed* that of any whose queries are fixed beforehand (M7, M15); *mark* the number of a
prototype. The class totals count as public; an attack that must ask for them first spends one query more (M4).
*adversary* is the attack's own processor time, its plan included; *scorer* the library's. Of an AUC a line follows:
bits in the labels, bits that a query tells, and the mean entropy of its answer while nothing is known.
"""

from __future__ import annotations

import argparse
import math
import time
import unittest.mock
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_scores.bounds.metric_limits import fewest_queries
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import ScoredMetric, Totals
from labelinf_scores.metrics.readings.ranks import RocAuc

COUNTS = ("accuracy", "precision", "recall", "f1", "jaccard", "mcc", "cohen-kappa", "balanced-accuracy")
_PART = " on 30 %"  # of a source: records that are scored
PARTS: dict[str, list[tuple[str, str, str, int | None, int | None]]] = {
    "exact": [
        ("detecting-counts", "accuracy", "breast-cancer", None, 164),
        *[("count-tree", name, "breast-cancer", None, 164) for name in COUNTS],
        ("spaced-ranks", "roc-auc", "breast-cancer", None, 58),
        ("spaced-ranks", "roc-auc", "made 1797", None, 148),
        ("spaced-ranks", "roc-auc", "made 2201", None, 173),
        ("ranked-block", "ndcg", "breast-cancer", None, 18),
        ("ranked-block", "ndcg", "made 2201", None, 69),
        ("ranked-block", "ndcg(k=10)", "breast-cancer", None, 57),
        ("ranked-block", "ndcg(k=16)", "breast-cancer", None, 36),
        ("ranked-block", "average-precision", "breast-cancer", None, 24),
        ("ranked-block", "average-precision", "made 2201", None, 118),
        ("first-positive", "reciprocal-rank", "breast-cancer", None, 357),
        ("count-tree", "precision-at-k", "breast-cancer", None, None),
        ("linear-weights", "mse", "digits", None, 148),
        ("linear-weights", "rmse", "digits", None, 148),
        ("linear-weights", "r2", "digits", None, 151),
        ("linear-weights", "rmsle", "digits", None, 201),
        ("thresholds", "mae", "digits", None, 193),
        ("thresholds", "d2-absolute", "digits", None, None),
        ("detecting-grades", "quadratic-kappa", "digits", None, 717),
        ("detecting-grades", "linear-kappa", "digits", None, None),
        ("detecting-classes", "accuracy", "digits", None, 2061),
        ("detecting-classes", "macro-f1", "wine", None, 81),
        ("detecting-classes", "accuracy", "wine", None, 97),
        ("ranked-columns", "roc-auc-ovr", "wine", None, None),
        ("ranked-columns", "roc-auc-ovo", "wine", None, None),
        ("scored-subset", "accuracy", "breast-cancer on 30 %", None, 247),
        ("count-tree", "precision", "made 2201 with 22", None, 97),
    ],
    "rounded": [
        ("count-tree", "accuracy", "breast-cancer", 3, None),
        *[("dithered-counts", name, "breast-cancer", 1, None) for name in ("roc-auc", "macro-f1", "quadratic-kappa")],
        ("ranked-columns", "roc-auc-ovr", "wine", 3, None),
        ("ranked-columns", "roc-auc-ovo", "wine", 3, None),
        ("shifted-levels", "mae", "wine", 1, None),
        ("shifted-levels", "rmse", "wine", 0, None),
        ("dithered-counts", "accuracy", "breast-cancer", 2, 434),
        ("dithered-counts", "accuracy", "made 2201", 3, 608),
        ("dithered-counts", "accuracy", "made 2201", 2, 2266),
        ("count-tree", "precision", "breast-cancer", 2, None),
        ("count-tree", "precision", "made 5000", 3, 1214),
        ("count-tree", "precision", "made 5000", 2, 1763),
        *[("spaced-ranks", "roc-auc", "breast-cancer", d, mark) for d, mark in ((5, 62), (4, 101), (3, 246), (2, 577))],
        *[("ranked-block", "ndcg", "breast-cancer", d, None) for d in (5, 4)],
        *[("linear-weights", "mse", "digits", d, mark) for d, mark in ((5, 226), (2, 258), (0, 301))],
        *[("linear-weights", "rmse", "digits", d, mark) for d, mark in ((5, 451), (4, 600), (3, 900), (2, 1798))],
    ],
    "large": [
        ("spaced-ranks", "roc-auc", "made 5000", None, 355),
        ("spaced-ranks", "roc-auc", "made 25000", None, 1434),
        ("count-tree", "f1", "made 25000", None, 4198),
        ("count-tree", "precision", "made 25000", 3, 6038),
        ("dithered-counts", "accuracy", "made 25000", 4, 5950),
        ("dithered-counts", "accuracy", "made 25000", 3, 19834),
        *[("count-tree", name, "made 25000 with 50", None, 241) for name in ("precision", "f1", "accuracy")],
    ],
}


def labels_of(name: str) -> LabelSet:
    """Return real labels, or made ones of which 37 % are positive, or as many as are said."""
    if name.startswith("made "):
        size, _, rare = name.removeprefix("made ").partition(" with ")
        n_records = int(size)
        n_positive = int(rare) if rare else round(0.37 * n_records)
        labels = (np.arange(n_records) < n_positive).astype(np.intp)
        return LabelSet(labels=labels, class_names=("0", "1"), title=name, provenance="made")
    bunch = load_bunch(name.removesuffix(_PART))
    names = tuple(map(str, bunch.target_names))
    return LabelSet(labels=np.asarray(bunch.target, dtype=np.intp), class_names=names, title=name, provenance="real")


def limits(data: LabelSet, metric: ScoredMetric, decimals: int | None) -> tuple[str, str]:
    """Return the fewest queries of any attack, and of one whose queries are fixed beforehand."""
    counts = tuple(np.bincount(data.labels, minlength=data.n_classes).tolist())
    found = fewest_queries(metric.of_classes(data.n_classes), Totals(counts=counts), decimals)
    return tuple("-" if limit is None else str(limit) for limit in found)  # type: ignore[return-value]


def entropy(predictions: NDArray[np.float64], positive: int) -> float:
    """Return that of the positives' sum of midranks, which is nearly normal, on the grid of its steps, in bits."""
    ranks, n = rankdata(predictions), predictions.size
    steps = np.gcd.reduce((2 * (np.unique(ranks) - ranks.min())).astype(np.int64)) / 2
    return math.log2(2 * math.pi * math.e * positive * (n - positive) / (n - 1) * ranks.var() / steps**2) / 2


def play(builder: Builder, attack: str, metric: str, source: str, decimals: int | None, mark: int | None) -> str:
    """Play one game and return its line."""
    data = labels_of(source)
    scored_by: ScoredMetric = builder.build(Kind.METRIC, metric, "metric")
    channel = ScoreChannel(metric=scored_by)
    rounding = ("subset(share=0.3)",) if source.endswith(_PART) else ()
    rounding = rounding if decimals is None else (f"round(decimals={decimals})",)
    played = builder.build(Kind.ATTACK, attack, "attack")
    setting = Setting(data=data, attack=played, defences=builder.pipeline(rounding, "defences"))
    scored, entropies = 0.0, list[float]()

    def timed(metric: ScoredMetric, labels: NDArray[np.intp], predictions: NDArray[np.float64]) -> float:
        nonlocal scored
        if isinstance(metric, RocAuc):
            entropies.append(entropy(predictions, int(labels.sum())))
        begun = time.process_time()
        value: float = score(metric, labels, predictions)
        scored += time.process_time() - begun
        return value

    kind = type(scored_by)
    score, started = kind.score, time.process_time()
    promise = played.promise(channel.threat(setting))
    with unittest.mock.patch.object(kind, "score", timed):
        outcome = channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))
    seconds = time.process_time() - started - scored
    sure = "yes" if promise is not None and promise.certified else "after"
    shown = "full" if decimals is None else str(decimals)
    decided = outcome.evidence.get("labels decided", "-")
    everything, fixed = limits(data, scored_by, decimals)
    bits = math.log2(math.comb(data.n_records, int(data.labels.sum()))) if entropies else 0.0
    of = f"\n{bits:.0f} bits in the labels, {bits / outcome.queries:.2f} a query, of {np.mean(entropies or 0):.2f}"
    return (
        f"{metric:18} {source:21} {shown:>5} {outcome.queries:7} {mark or '-':>6} {everything:>6} {fixed:>6} "
        f"{outcome.n_correct / outcome.n_records:7.1%} {decided:7} {sure:>9} {seconds:8.1f} s "
        f"{scored:6.1f} s{of if entropies else ''}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=list(PARTS), default="exact")
    part = parser.parse_args(arguments).part
    print(
        f"{'metric':18} {'labels':21} {'dec.':>5} {'queries':>7} {'mark':>6} {'any':>6} {'fixed':>6} {'right':>7} "
        f"{'decided':>7} {'certified':>9} {'adversary':>10} {'scorer':>8}"
    )
    builder = Builder(Host.load())
    for line in PARTS[part]:
        print(play(builder, *line), flush=True)


if __name__ == "__main__":
    main()

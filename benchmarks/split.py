"""Split learning: certificates outside what they assume, and published attacks beside ours and beside no attack at all.

Usage::

    python benchmarks/split.py certificate    # 1 000 games a line outside the solver's assumptions
    python benchmarks/split.py attacks        # breast-cancer and digits, every defence: canaries read
    python benchmarks/split.py placebo        # natural labels: completion, features alone, task reassignment
    python benchmarks/split.py state          # V15: a label from the OTHER records' noised gradients; V14's ceiling
    python benchmarks/split.py                # all of them: some minutes

Intervals are at 95 %: Clopper-Pearson over all canaries of all runs.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import defaultdict
from typing import Any

import attrs
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.metrics.cluster import contingency_matrix
from sklearn.preprocessing import scale

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.statistics.proportions import clopper_pearson
from labelinf_data.bundled import BreastCancer, Digits
from labelinf_split.attacks.published import METHODS, ModelCompletion
from labelinf_split.bounds import CutCeilings
from labelinf_split.game.channel import SplitChannel
from labelinf_split.game.training import SplitRun, recorded
from labelinf_split.game.view import Side
from labelinf_split.recovery import Solved, solve_step

BUILDER = Builder(Host.load())
OUTSIDE = ("smoothing", "features", "scale", "wide top", "near-copies", "like rows", "K > d + 1")


def outside(kind: str, seed: int) -> tuple[Any, Any, Any, int]:
    """Return a step that is not what the solver assumes, or K > d + 1: gradients, embeddings, labels, K."""
    rng = np.random.default_rng([seed, 9])
    n_classes, width, n = int(rng.integers(2, 6)), int(rng.integers(1, 7)), int(rng.integers(8, 33))
    if kind == "K > d + 1":
        n_classes, width = n_classes + 2, 1 + n_classes // 3
    top, z = rng.standard_normal((n_classes, width)), rng.standard_normal((n, width))
    labels = rng.integers(0, n_classes, n)
    top[1] = top[0] + 10.0 ** rng.uniform(-9, -1) * top[1] if kind == "like rows" else top[1]
    if kind == "near-copies":  # of one person more than there are classes, at most
        who, apart = rng.integers(0, n_classes + 1, n), 10.0 ** rng.uniform(-9, -3) * rng.standard_normal(z.shape)
        z, labels = z[who] * (1 + apart), labels[who]
    logits, scale = z @ top.T, 1.0
    soft = np.eye(n_classes)[labels]
    if kind == "smoothing":
        share = 10.0 ** rng.uniform(-3, -0.3)
        soft = (1 - share) * soft + share / n_classes
    elif kind == "features":
        logits = logits + 10.0 ** rng.uniform(-3, 0.5) * rng.standard_normal(logits.shape)
    elif kind == "scale":
        scale = float(rng.choice([0.5, 2.0, rng.uniform(0.8, 1.25)]))
    elif kind == "wide top":
        hidden, top = rng.standard_normal((width, 8)), rng.standard_normal((n_classes, 8))
        q = softmax(np.maximum(z @ hidden, 0) @ top.T, axis=1) - soft
        return ((q @ top) * (z @ hidden > 0)) @ hidden.T, z, labels, n_classes
    return scale * (softmax(logits, axis=1) - soft) @ top, z, labels, n_classes


def false_certificates(kind: str, games: int, first: int = 0) -> tuple[int, int]:
    """Return how many of so many steps are certified, and how many of these have a wrong label."""
    certified = false = 0
    for seed in range(first, first + games):
        g, z, labels, n_classes = outside(kind, seed)
        fit = solve_step(g, z, n_classes, 3e-5, np.random.default_rng(seed))
        if fit is not None and fit.solved is not Solved.NONE and fit.sure.any():
            said, truth = fit.labels[fit.sure].tolist(), labels[fit.sure].tolist()
            certified += 1
            false += not len(set(zip(said, truth, strict=True))) == len(set(said)) == len(set(truth))
    return certified, false


def certificate(games: int = 1000) -> None:
    for kind in OUTSIDE:
        certified, false = false_certificates(kind, games)
        print(f"{kind:12} {games} steps: {certified} certified, {false} of them with a wrong label")


def play(data: LabelSet, defence: str, seed: int, **settings: Any) -> tuple[SplitRun, Any]:
    channel, stages = SplitChannel(**settings), BUILDER.pipeline([defence] if defence else [], "benchmark")
    threat = channel.threat(Setting(data=data, defences=stages))
    planted = np.random.default_rng(seed).integers(0, data.n_classes, threat.n_records, dtype=np.intp)
    return recorded(threat, data, planted, seed), planted


def read(spec: str, played: list[tuple[SplitRun, Any]]) -> str:
    """Return what share of the canaries an attack reads, with its interval; nothing where it cannot be played."""
    attack = BUILDER.build(Kind.ATTACK, spec, "benchmark")
    if attack.unsupported_reason(played[0][0].view.threat):
        return ""
    right = [attack.run(run.view, np.random.default_rng(0)).labels == planted for run, planted in played]
    found = clopper_pearson(int(np.sum(right)), np.size(right))
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


PUBLISHED = ("cut-norm", "cut-direction", "cut-clusters(of='embeddings')", "model-completion")
OURS = ("cut-argmin", "odd-sign", "linear-top", "noise-subspace", "cut-clusters")
DEFENCES = ("", "max-norm", "marvell(power=1)", "marvell(power=4)", "iso-noise(ratio=2)", "cut-levels")
DEFENCES += ("cut-levels(step=0, limit=0.1)", "cut-gaussian(scale=4)", "cut-label-rr(epsilon=1)")


def attacks(runs: int = 3) -> None:
    """Print canaries read, every attack by itself: no best of several is taken."""
    for data, top, defence in itertools.product((BreastCancer().load(), Digits().load()), Side, DEFENCES):
        if data.n_classes > 2 and "marvell" in defence:  # it is of two classes
            continue
        played = [play(data, defence, seed, top=top, label_features=True, epochs=20) for seed in range(runs)]
        ceilings = CutCeilings().ceilings(played[0][0].view.threat)
        most = ", ".join(f"{item.accuracy:.3f}" for item in ceilings) or "-"
        print(f"{data.title}, {top.value} top, {defence or 'none'}; at most {most}")
        for spec in (*PUBLISHED, *OURS):
            if told := read(spec, played):
                print(f"    {'' if spec in PUBLISHED else '* '}{spec}: {told}")


def placebo(runs: int = 6) -> None:
    """Print what completion gets of natural labels, what features get alone, and what is left when labels are redrawn.

    Task reassignment (arXiv 2603.18680): the labels of all records are redrawn before the run, so that whatever is
    guessed of the natural ones was never in it. Canaries are the same for single records. Enumerating what clusters are
    called (arXiv 2603.03777) finds the best of all K! names at most, here of K-means: beside labels drawn for nobody.
    """
    for data, top in itertools.product((BreastCancer().load(), Digits().load()), (Side.LINEAR, Side.MLP)):
        rows: dict[str, list[float]] = defaultdict(list)
        for seed in range(runs):
            settings = {"top": top, "label_features": True, "epochs": 20, "shots": 10 if data.n_classes == 2 else 4}
            run, planted = play(data, "", seed, **settings)
            drawn = np.random.default_rng([seed, 7]).integers(0, data.n_classes, data.n_records, dtype=np.intp)
            other, _ = play(attrs.evolve(data, labels=drawn), "", seed, **settings)
            shown: dict[str, Any] = {on: (run.view, on) for on in ("embeddings", "features", "both")}
            shown["task reassigned"] = attrs.evolve(run.view, embeddings=other.view.embeddings), "embeddings"
            left, m = np.setdiff1d(np.arange(planted.size, run.natural.size), run.view.shots[0]), planted.size
            for (name, (view, on)), method in itertools.product(shown.items(), METHODS):
                said = ModelCompletion(on=on, method=method).scores(view).argmax(axis=1)
                rows[f"{name}, {method}"].append(float(np.mean((said == run.natural)[left])))
                rows[f"{name}, {method}, canaries"].append(float(np.mean(said[:m] == planted)))
            for on, points in (("embeddings", run.view.embeddings[-1]), ("features", run.view.features)):
                found = KMeans(data.n_classes, n_init=8, random_state=seed).fit_predict(scale(points))
                for whose, labels in (("natural", run.natural), ("canaries", planted), ("nobody's", drawn[:m])):
                    counts = contingency_matrix(found[: labels.size], labels)
                    best = counts[linear_sum_assignment(counts, maximize=True)].sum()
                    rows[f"best names, {on}, {whose}"].append(float(best / labels.size))
        print(f"{data.title}, {top.value} top, {runs} runs")
        for name, shares in rows.items():
            print(f"    {name:40} {np.mean(shares):.3f} ± {1.96 * np.std(shares, ddof=1) / math.sqrt(runs):.3f}")


def toy(trials: int = 1000, rate: float = 1.0, scale: float = 2.0) -> tuple[float, float]:
    """Return how often one label is read from its own noised gradient, and from 400 others' of the next step (V15)."""
    own = others = 0
    for trial in range(trials):
        rng = np.random.default_rng([trial, 15])
        w, z, y = np.zeros(2), np.array([1.0, 0.0]), int(rng.integers(2))
        w += np.array([0.3, 0.0]) * rng.standard_normal()
        p = 1 / (1 + math.exp(-float(w @ z)))
        own += int(((p - y) * w + scale * rng.standard_normal(2)) @ w < 0) == y
        moved = [w - rate * (p - guess) * z for guess in (0, 1)]
        q, labels = 1 / (1 + np.exp(-rng.standard_normal(400))), rng.integers(0, 2, 400)  # of others, whose q is known
        sent = (q - labels)[:, None] * moved[y] + scale * rng.standard_normal((400, 2))
        off = [float(np.square(sent - (q - labels)[:, None] * new).sum()) for new in moved]
        others += int(off[1] < off[0]) == y
    return own / trials, others / trials


def state(runs: int = 20) -> None:
    own, others = toy()
    print(f"V15, top trained on clean labels, batch 1: own release {own:.3f}, from the others' {others:.3f}")
    data = BreastCancer().load()
    for epochs in (1, 5, 20):
        played = [play(data, "cut-gaussian(scale=4)", seed, top=Side.NONE, epochs=epochs) for seed in range(runs)]
        (ceiling,) = CutCeilings().ceilings(played[0][0].view.threat)
        print(f"V14, no top, scale 4, T = {epochs}: {read('cut-argmin', played)}, at most {ceiling.accuracy:.4f}")


PARTS = {"certificate": certificate, "attacks": attacks, "placebo": placebo, "state": state}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="default: all")
    for name in parser.parse_args().parts or PARTS:
        PARTS[name]()

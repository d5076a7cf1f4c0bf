"""What honest leaderboards give away by their own logs: labels proved determined, by rows, skill and decimals.

Usage::

    python benchmarks/log.py made       # a stated generator: skill, rows, decimals, several seeds
    python benchmarks/log.py shared     # the same, by the share of error that all teams have in common
    python benchmarks/log.py skills     # the same, by how far skills differ, and who shares the error how much
    python benchmarks/log.py guesses    # a vote and solving for the labels, on logs that its weight was not chosen on
    python benchmarks/log.py real       # real models on bundled data, at the AUC they have
    python benchmarks/log.py speed      # the joint proof at 3 000 labels and 200 rows, and single records
    python benchmarks/log.py made shared skills --labels 300 --seeds 5
    python benchmarks/log.py made real --picture docs/log.svg

Of 1 000 labels and one seed everything takes some ten minutes of a processor, of 300 labels and five seeds five.

**Generator.** N labels, each 1 with probability 1/2. A team's score of record i is ``d_t y_i + w_t sqrt(rho) s_i +
sqrt(1 - rho) e_ti``: the errors ``s`` are shared by all teams, ``e`` is a team's own, both standard normal; skills d
are such that the mean AUC is the one stated. With one skill d and one weight w = 1 the shared error stays in every
difference of two teams' scores; where skills differ and the weight does not, differences cancel it, and far fewer rows
are needed. The figures are properties of such a log, not constants of leaderboards.

Counts are the labels that one joint certificate proves, a lower bound of what is determined. Seconds are the
processor's.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from labelinf_data.bundled import load_bunch
from labelinf_scores.audit.log.certificate import Log, dual_bound, relax
from labelinf_scores.audit.log.determined import Known, determine
from labelinf_scores.audit.log.guess import guess, point
from labelinf_scores.metrics.readings import Released, Totals
from labelinf_scores.metrics.readings.registry import metric

SECONDS = 1200.0
ROWS = (0.05, 0.1, 0.2, 0.4)  # of the number of labels
DECIMALS = (None, 4)
PROTOTYPE_LABELS = 1000
PROTOTYPE = {  # labels proved by the first draft's joint certificate, exactly and to 4 decimals, one seed
    (0.95, 50): (0, 0), (0.95, 100): (440, 290), (0.95, 200): (1000, 929), (0.95, 400): (1000, 1000),
    (0.85, 50): (0, 0), (0.85, 100): (0, 0), (0.85, 200): (0, 0), (0.85, 400): (1000, 739),
    (0.75, 50): (0, 0), (0.75, 100): (0, 0), (0.75, 200): (0, 0), (0.75, 400): (1000, 335),
}  # fmt: skip


@attrs.frozen(kw_only=True)
class Teams:
    """The generator's parameters; ``skills`` and ``weights`` are ranges, relative to one."""

    auc: float
    shared: float = 0.5
    skills: tuple[float, float] = (1.0, 1.0)
    weights: tuple[float, float] | None = (1.0, 1.0)

    def draw(self, rows, n, seed):
        """Return labels and a row of scores for every team; without ``weights`` they go with the skill."""
        rng = np.random.default_rng(seed)
        labels = (rng.random(n) < 0.5).astype(np.intp)
        common = rng.standard_normal(n)
        own = rng.standard_normal((rows, n))
        skill = rng.uniform(*self.skills, size=(rows, 1))
        weight = skill if self.weights is None else rng.uniform(*self.weights, size=(rows, 1))
        errors = weight * np.sqrt(self.shared) * common + np.sqrt(1 - self.shared) * own
        return labels, np.sqrt(2) * ndtri(self.auc) * skill * labels + errors


def log_of(labels, columns, decimals):
    """Read the AUC of every column of scores; the log, and the AUCs."""
    totals = Totals.binary(n_records=labels.size, n_positive=int(labels.sum()))
    aucs = [float(roc_auc_score(labels, column)) for column in columns]
    printed = [Fraction(auc) if decimals is None else Fraction(f"{auc:.{decimals}f}") for auc in aucs]
    released = Released(decimals=decimals)
    readings = (metric("roc-auc").reading(c, v, totals, released) for c, v in zip(columns, printed, strict=True))
    return Log.of(list(readings), totals.counts), aucs


def determined(log, labels):
    """Return how many labels one joint certificate proves."""
    return determine(log, labels, seconds=SECONDS, witnesses=False, singly=False).count(Known.DETERMINED)


def counted(labels, columns, lengths):
    """Return for the first so many rows the mean AUC, and the labels proved of exact scores and of four decimals.

    What some rows determine more rows do, so that nothing is tried after all.
    """
    counts = []
    for decimals in DECIMALS:
        log, aucs = log_of(labels, columns, decimals)
        own = []
        for length in lengths:
            done = bool(own) and own[-1] == labels.size
            own.append(labels.size if done else determined(log.until(length), labels))
            print(f"{length} rows, {decimals} decimals: {own[-1]}", file=sys.stderr, flush=True)
        counts.append(own)
    return [(float(np.mean(aucs[:length])), *both) for length, *both in zip(lengths, *counts, strict=True)]


def ranged(counts):
    """Return the median of some counts, and the least and the largest where they differ."""
    low, middle, high = min(counts), sorted(counts)[len(counts) // 2], max(counts)
    return f"{middle}" if low == high else f"{middle} ({low}-{high})"


def drawn(teams, lengths, n, seeds):
    """Play the generator with several seeds; for every length the mean AUC, and two lists of counts."""
    logs = [counted(*teams.draw(max(lengths), n, seed), lengths) for seed in range(seeds)]
    for at in range(len(lengths)):
        mean, exact, printed = zip(*(log[at] for log in logs), strict=True)
        yield float(np.mean(mean)), list(exact), list(printed)


def made(n, seeds):
    print(f"made: N = {n}, one skill, shared error .5, {seeds} seeds: labels proved, median (least-most)")
    corrections = f" {'prototype':>11}" if n == PROTOTYPE_LABELS else ""
    print(f"{'AUC':>5} {'rows':>5} {'realised':>9} {'exact':>16} {'4 dec.':>16}{corrections}")
    curves, lengths = {}, [round(share * n) for share in ROWS]
    for auc in (0.95, 0.85, 0.75):
        for rows, (mean, exact, printed) in zip(lengths, drawn(Teams(auc=auc), lengths, n, seeds), strict=True):
            middle = (sorted(exact)[seeds // 2], sorted(printed)[seeds // 2])
            curves.setdefault(f"made, AUC {auc:.2f}", []).append((rows / n, *middle))
            theirs = f" {'{} / {}'.format(*PROTOTYPE[auc, rows]):>11}" if corrections else ""
            print(f"{auc:5} {rows:5} {mean:9.3f} {ranged(exact):>16} {ranged(printed):>16}{theirs}", flush=True)
    return {name: (n, points) for name, points in curves.items()}


def shared(n, seeds):
    print(f"shared: N = {n}, one skill, {seeds} seeds: labels proved, by the share of error in common")
    print(f"{'AUC':>5} {'rows':>5} {'shared':>7} {'exact':>16} {'4 dec.':>16}")
    for auc, rows in ((0.95, n // 5), (0.85, 2 * n // 5)):
        for share in (0.0, 0.25, 0.5, 0.75, 0.9):
            ((_, exact, printed),) = drawn(Teams(auc=auc, shared=share), [rows], n, seeds)
            print(f"{auc:5} {rows:5} {share:7} {ranged(exact):>16} {ranged(printed):>16}", flush=True)


def skills(n, seeds):
    kinds = {
        "skills 2/3 to 4/3, one weight": Teams(auc=0.95, skills=(2 / 3, 4 / 3)),
        "one skill, one weight": Teams(auc=0.95),
        "skills 2/3 to 4/3, weights with them": Teams(auc=0.95, skills=(2 / 3, 4 / 3), weights=None),
        "one skill, weights .6 to 1.4": Teams(auc=0.95, weights=(0.6, 1.4)),
    }
    rows = round(0.06 * n)
    print(f"skills: N = {n}, {rows} rows of AUC .95, shared error .5, {seeds} seeds: labels proved")
    print(f"{'teams':<38} {'realised':>9} {'exact':>16} {'4 dec.':>16}")
    for name, teams in kinds.items():
        ((mean, exact, printed),) = drawn(teams, [rows], n, seeds)
        print(f"{name:<38} {mean:9.3f} {ranged(exact):>16} {ranged(printed):>16}", flush=True)


def guesses(n, seeds):
    """How many labels are guessed right on logs that the guess's one weight was not chosen on."""
    print(f"guesses: N = {n}, {seeds} seeds from 100 on, AUC to 4 decimals: labels guessed right, mean")
    print(f"{'AUC':>5} {'shared':>7} {'rows':>5} {'vote':>7} {'flat prior':>11} {'prior the vote':>15}")
    for auc, share in itertools.product((0.9, 0.8, 0.7), (0.25, 0.75)):
        found = np.zeros((len(ROWS), 3))
        for seed in range(100, 100 + seeds):
            labels, columns = Teams(auc=auc, shared=share).draw(round(max(ROWS) * n), n, seed)
            log, _ = log_of(labels, columns, 4)
            for at, rows in enumerate(round(part * n) for part in ROWS):
                told, own = log.until(rows), guess(log.until(rows), columns[:rows], labels)
                flat = point(told, np.full(n, labels.mean()))
                top = np.argsort(-flat, kind="stable")[: labels.sum()]
                found[at] += own.vote, (labels == np.isin(np.arange(n), top)).mean(), own.point
        for part, means in zip(ROWS, found / seeds, strict=True):
            vote, plain, voted = (f"{100 * value:.1f} %" for value in means)
            print(f"{auc:5} {share:7} {round(part * n):5} {vote:>7} {plain:>11} {voted:>15}", flush=True)


def models(labels, data, features, n_models=400):
    """Return true labels of 1 000 test records, and what models on bootstraps of few features say of them."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(0)
    order = rng.permutation(labels.size)
    train, test = order[:-1000], order[-1000:]
    columns = []
    for index in range(n_models):
        few = rng.permutation(data.shape[1])[: int(rng.integers(*features))]
        rows = train[rng.integers(0, train.size, int(rng.integers(60, 600)))]
        model = [
            LogisticRegression(max_iter=200, C=0.01),
            GaussianNB(var_smoothing=0.1),
            KNeighborsClassifier(n_neighbors=25),
            RandomForestClassifier(n_estimators=20, min_samples_leaf=5, random_state=index),
            ExtraTreesClassifier(n_estimators=20, min_samples_leaf=5, random_state=index),
        ][index % 5]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model.fit(data[rows][:, few], labels[rows])
        columns.append(fitted.predict_proba(data[test][:, few])[:, 1])
    return labels[test], columns


def real(n=1000, seeds=1):
    """Logistic regressions, naive Bayes, forests and nearest neighbours on bootstraps and subsets of features."""
    bunch = load_bunch("digits")
    labels = (bunch.target >= 5).astype(np.intp)
    print("real: digits below 5 or not, N = 1000; labels proved determined")
    print(f"{'features':>9} {'rows':>5} {'mean AUC':>9} {'exact':>7} {'4 dec.':>7}")
    curves = {}
    for features in ((4, 20), (16, 49)):
        truth, columns = models(labels, bunch.data, features)
        lengths = [round(share * truth.size) for share in ROWS]
        for rows, (mean, exact, printed) in zip(lengths, counted(truth, columns, lengths), strict=True):
            print(f"{features[0]:4} to {features[1] - 1:<2} {rows:4} {mean:9.3f} {exact:7} {printed:7}", flush=True)
            curves.setdefault(features, [mean]).append((rows / truth.size, exact, printed))
    return {f"real models, mean AUC {mean:.2f}": (1000, points) for mean, *points in curves.values()}


def speed(n=3000, seeds=1):
    """Time the joint proof, from readings to the exact bound, and the proof of one record."""
    print("speed: N = 3000, 200 rows of AUC .95, shared error .5; seconds of the processor, reading not counted")
    for name, teams in (("skills 2/3 to 4/3", Teams(auc=0.95, skills=(2 / 3, 4 / 3))), ("one skill", Teams(auc=0.95))):
        labels, columns = teams.draw(200, 3000, 0)
        for decimals in DECIMALS:
            log, _ = log_of(labels, columns, decimals)
            for what, wanted in (("all", np.ones(3000, dtype=bool)), ("record 0", np.arange(3000) == 0)):
                start = time.process_time()
                bound = dual_bound(log, labels, wanted, relax(log, labels, wanted))
                spent = time.process_time() - start
                shown = "exact" if decimals is None else f"{decimals} decimals"
                print(f"{name:<18} {shown:<11} {what:<9} bound {float(bound):10.3g} {spent:6.1f} s", flush=True)


def draw(curves, path):
    """Draw labels determined against rows."""
    from labelinf_core.contracts.pictures import Picture, Series
    from labelinf_core.report.svg import as_svg

    series = [
        Series(name=name, points=tuple((100 * rows, 100 * printed / n) for rows, _, printed in points))
        for name, (n, points) in curves.items()
    ]
    picture = Picture(
        title="Rows of an honest leaderboard against labels determined",
        x="submissions with their AUC to 4 decimals, % of the number of labels",
        y="labels proved determined, %",
        series=tuple(series),
    )
    Path(path).write_text(as_svg(picture, alone=True), encoding="utf-8")


def main():
    parts = {"made": made, "shared": shared, "skills": skills, "guesses": guesses, "real": real, "speed": speed}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    parser.add_argument("--labels", type=int, default=1000, help="N of the generator")
    parser.add_argument("--seeds", type=int, default=1, help="logs that are drawn of every kind")
    parser.add_argument("--picture", metavar="FILE.svg", help="draw what was counted in the parts made and real")
    options = parser.parse_args()
    curves = {}
    for part in options.parts or parts:
        curves |= parts[part](options.labels, options.seeds) or {}
    if options.picture:
        draw(curves, options.picture)


if __name__ == "__main__":
    main()

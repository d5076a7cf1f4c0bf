"""What honest leaderboards give away by their own logs: labels proved determined, by rows, skill and decimals.

Usage::

    python benchmarks/log.py made       # a stated generator: skill, shared error, decimals
    python benchmarks/log.py real       # real models on bundled data, at the AUC they have
    python benchmarks/log.py speed      # the joint proof at 3 000 labels and 200 rows
    python benchmarks/log.py            # all of them

**Generator.** N labels, each 1 with probability 1/2. A team's score of record i is ``d y_i + sqrt(rho) s_i +
sqrt(1 - rho) e_i``: the errors ``s`` are shared by all teams, ``e`` is a team's own, both standard normal; d is set so
that the mean AUC is the one stated. Skill and the share of common error are the same for all teams of a log. The
figures are properties of such a log, not constants of leaderboards: where skills differ and the error is shared with
one weight, far fewer rows are needed.

Counts are the labels that one joint certificate proves, a lower bound of what is determined.
"""

from __future__ import annotations

import argparse
import time
import warnings
from fractions import Fraction

import numpy as np
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from labelinf_data.bunches import load_bunch
from labelinf_scores.audit.log.certificate import Log
from labelinf_scores.audit.log.determined import Known, determine
from labelinf_scores.metrics.readings import Released, Totals, metric

SECONDS = 120.0


def log_of(labels, columns, decimals):
    """Read the AUC of every column of scores."""
    totals = Totals.binary(n_records=labels.size, n_positive=int(labels.sum()))
    aucs = [float(roc_auc_score(labels, column)) for column in columns]
    printed = [Fraction(auc) if decimals is None else Fraction(f"{auc:.{decimals}f}") for auc in aucs]
    released = Released(decimals=decimals)
    readings = (metric("roc-auc").reading(c, v, totals, released) for c, v in zip(columns, printed, strict=True))
    return Log(readings=tuple(readings), n_positive=totals.n_positive), float(np.mean(aucs))


def determined(log, labels):
    start = time.perf_counter()
    found = determine(log, labels, seconds=SECONDS, witnesses=False, singly=False)
    return found.count(Known.DETERMINED), time.perf_counter() - start


def teams(auc, rows, shared, n, seed):
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.5).astype(np.intp)
    common = rng.standard_normal(n)
    skill = np.sqrt(2) * ndtri(auc)
    own = rng.standard_normal((rows, n))
    return labels, skill * labels + np.sqrt(shared) * common + np.sqrt(1 - shared) * own


def made(n=1000):
    print(f"made: N = {n}, shared error .5; labels proved determined of {n}")
    print(f"{'AUC':>5} {'rows':>5} {'realised':>9} {'exact':>7} {'4 dec.':>7} {'s':>7}")
    for auc in (0.95, 0.85, 0.75):
        for rows in (50, 100, 200, 400):
            labels, columns = teams(auc, rows, 0.5, n, 0)
            counts, seconds = [], 0.0
            for decimals in (None, 4):
                log, mean = log_of(labels, columns, decimals)
                count, spent = determined(log, labels)
                counts.append(count)
                seconds += spent
            print(f"{auc:5} {rows:5} {mean:9.3f} {counts[0]:7} {counts[1]:7} {seconds:7.1f}", flush=True)


def real():
    """Logistic regressions, naive Bayes, forests and nearest neighbours on bootstraps and subsets of features."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    bunch, rng = load_bunch("digits"), np.random.default_rng(0)
    labels = (bunch.target >= 5).astype(np.intp)
    order = rng.permutation(labels.size)
    train, test = order[:797], order[797:]
    columns = []
    for index in range(400):
        features = rng.permutation(64)[: int(rng.integers(4, 20))]
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
            fitted = model.fit(bunch.data[rows][:, features], labels[rows])
        columns.append(fitted.predict_proba(bunch.data[test][:, features])[:, 1])
    print(f"real: digits below 5 or not, N = {test.size}; labels proved determined")
    print(f"{'rows':>5} {'mean AUC':>9} {'exact':>7} {'4 dec.':>7}")
    for rows in (50, 100, 200, 400):
        counts = []
        for decimals in (None, 4):
            log, mean = log_of(labels[test], columns[:rows], decimals)
            counts.append(determined(log, labels[test])[0])
        print(f"{rows:5} {mean:9.3f} {counts[0]:7} {counts[1]:7}", flush=True)


def speed():
    labels, columns = teams(0.95, 200, 0.5, 3000, 0)
    log, mean = log_of(labels, columns, None)
    count, spent = determined(log, labels)
    print(f"speed: N = 3000, 200 exact rows of mean AUC {mean:.3f}: {count} proved in {spent:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["made", "real", "speed", []], default=[])
    chosen = parser.parse_args().parts or ["speed", "made", "real"]
    for part in chosen:
        {"made": made, "real": real, "speed": speed}[part]()


if __name__ == "__main__":
    main()

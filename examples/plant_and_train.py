"""Plants labels, trains a model on them, and writes the three files that ``labelinf audit outputs`` reads.

    python plant_and_train.py FOLDER [--mechanism none|rr|broken] [--epsilon 1]

The data and the model are scikit-learn's, for want of yours: replace ``records`` and ``model``, keep the rest. The
mechanism stands for whatever protects your labels; it is applied to *all* of them, planted ones included.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

CANARIES = 0.3  # share of the records whose labels are planted: more prove more, and cost accuracy
REFERENCES = 8  # models of the same pipeline with other planted labels


def records():
    """Return features and labels 0..K-1."""
    return load_breast_cancer(return_X_y=True)


def model(seed):
    """Return an untrained model."""
    return RandomForestClassifier(n_estimators=60, random_state=seed)


def protect(labels, n_classes, mechanism, epsilon, rng):
    """Randomised response; or a common mistake, which keeps as many labels and then draws from all classes."""
    if mechanism == "none":
        return labels
    keep = math.exp(epsilon) / (math.exp(epsilon) + n_classes - 1)
    other = rng.integers(0 if mechanism == "broken" else 1, n_classes, labels.size)
    replaced = other if mechanism == "broken" else (labels + other) % n_classes
    return np.where(rng.random(labels.size) < keep, labels, replaced)


def main():
    """Train one victim and its references, and write what an auditor needs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mechanism", choices=["none", "rr", "broken"], default="none")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    features, labels = records()
    n_classes = int(labels.max()) + 1
    canaries = rng.permutation(labels.size)[: int(CANARIES * labels.size)]

    def train(seed):
        planted = rng.integers(0, n_classes, canaries.size)  # uniform, independent of everything
        mixed = labels.copy()
        mixed[canaries] = planted
        trained_on = protect(mixed, n_classes, given.mechanism, given.epsilon, rng)
        fitted = model(seed).fit(features, trained_on)
        return fitted.predict_proba(features[canaries]), planted, trained_on[canaries]

    said, planted, trained_on = train(seed=0)
    others = [train(seed=number) for number in range(1, REFERENCES + 1)]
    given.folder.mkdir(parents=True, exist_ok=True)
    names = [f"class {k}" for k in range(n_classes)]
    write(given.folder / "predictions.csv", names, said.round(6))
    chosen = [(names[a], names[b]) for a, b in zip(planted, trained_on, strict=True)]
    write(given.folder / "canaries.csv", ["label", "trained"], chosen)
    np.savez(
        given.folder / "references.npz",
        probabilities=np.array([item[0] for item in others]),
        labels=np.array([item[1] for item in others]),
        trained=np.array([item[2] for item in others]),
    )


def write(path, header, rows):
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


if __name__ == "__main__":
    main()

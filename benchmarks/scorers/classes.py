"""Scorers of classes and texts: strings are compared as hosts compare them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from sklearn import metrics

from .contract import Array, chosen, scored

TOPICS = ("business", "politics", "science", "sport")
GRADES = (0, 1, 2, 3, 4)
TEXTS = (
    "the cat sat on the mat",
    "the dog sat on the red mat today",
    "no finding",
    "a small effusion on the left side",
    "a large effusion on the right",
)
OF_TOPICS: dict[str, Any] = {"labels": TOPICS, "sample": chosen(*TOPICS)}
OF_TEXTS: dict[str, Any] = {"labels": TEXTS, "sample": chosen(*TEXTS)}


@scored("classes", "sklearn.metrics.f1_score(average='macro') on class strings; SemEval boards", **OF_TOPICS)
def macro_f1(y: Array, x: Array) -> float:
    return float(metrics.f1_score(y, x, average="macro", labels=list(TOPICS), zero_division=0))


@scored("classes", "sklearn.metrics.f1_score(average='weighted') on class strings, 4 decimals", **OF_TOPICS)
def weighted_f1(y: Array, x: Array) -> float:
    return round(float(metrics.f1_score(y, x, average="weighted", labels=list(TOPICS), zero_division=0)), 4)


@scored(
    "classes",
    "SemEval 2016 task 4: macro-averaged mean absolute error of ordered classes",
    labels=GRADES,
    sample=chosen(*GRADES),
)
def macro_absolute_error(y: Array, x: Array) -> float:
    return float(np.mean([np.abs(x[y == k] - k).mean() for k in np.unique(y)]))


@scored(
    "several",
    "Kaggle, APTOS 2019 Blindness Detection: quadratic weighted kappa",
    labels=GRADES,
    shares=(0.35, 0.15, 0.25, 0.1, 0.15),
    sample=chosen(*GRADES),
)
def quadratic_kappa(y: Array, x: Array) -> float:
    return float(metrics.cohen_kappa_score(y, x, weights="quadratic"))


@scored("many", "Kaggle, Digit Recognizer: accuracy of ten classes", labels=tuple(range(10)), sample=chosen(*range(10)))
def accuracy_of_ten(y: Array, x: Array) -> float:
    return float(np.mean(y == x))


def _normal(text: str) -> str:
    return " ".join(word for word in str(text).lower().split() if word not in {"a", "an", "the"})


@scored("many", "SQuAD's evaluation script: exact match of normalised texts", **OF_TEXTS)
def exact_match(y: Array, x: Array) -> float:
    return 100.0 * sum(_normal(a) == _normal(b) for a, b in zip(y, x, strict=True)) / len(y)


def _grams(text: str, n: int) -> Counter[tuple[str, ...]]:
    words = str(text).split()
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


@scored("classes", "Papineni et al. 2002: corpus BLEU, up to two words", labels=TEXTS, sample=chosen(*TEXTS))
def bleu(y: Array, x: Array) -> float:
    precision = []
    for n in (1, 2):
        hits = sum((_grams(a, n) & _grams(b, n)).total() for a, b in zip(y, x, strict=True))
        precision.append(hits / max(1, sum(_grams(b, n).total() for b in x)))
    long, short = sum(len(str(a).split()) for a in y), sum(len(str(b).split()) for b in x)
    brevity = min(1.0, float(np.exp(1 - long / max(1, short))))
    return brevity * float(np.sqrt(precision[0] * precision[1]))


@scored("classes", "SQuAD's evaluation script: mean F1 of the words of two texts", **OF_TEXTS)
def word_f1(y: Array, x: Array) -> float:
    total = 0.0
    for a, b in zip(y, x, strict=True):
        left, right = _grams(_normal(a), 1), _grams(_normal(b), 1)
        total += 2 * (left & right).total() / (left.total() + right.total())
    return round(100.0 * total / len(y), 3)

"""Boards that show little: medals, one bit, improved or not, the best so far, a rank among rivals."""

from __future__ import annotations

import attrs
import numpy as np
from sklearn import metrics

from .contract import Array, chosen, scored

BITS = chosen(0, 1)


@scored("bits", "Kaggle's medals, as seven bars of AUC")
def medals_of_auc(y: Array, x: Array) -> int:
    return int(np.searchsorted((0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9), metrics.roc_auc_score(y, x), side="right"))


@scored("bits", "MLE-bench's report of a submission: medal by thresholds of accuracy, a text", sample=BITS)
def medals_of_accuracy(y: Array, x: Array) -> str:
    bars = (0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8)
    names = ("none", "entered", "below median", "above median", "bronze", "silver", "gold", "first")
    return names[int(np.searchsorted(bars, np.mean(y == x), side="right"))]


@scored("bits", "GitHub Classroom autograding: passed if accuracy is at least a half", sample=BITS)
def passed(y: Array, x: Array) -> bool:
    return bool(np.mean(y == x) >= 0.5)


@scored("bits", "a grader that fails the task by an exception (Gradescope's autograder tests)", sample=BITS)
def failing_test(y: Array, x: Array) -> str:
    if metrics.f1_score(y, x, zero_division=0) < 0.4:
        raise AssertionError("your F1 is below the baseline")
    return "ok"


@scored("bits", "Kaggle's board: rank among rivals with fixed scores, AUC")
def rank_among_rivals(y: Array, x: Array) -> str:
    rivals = np.linspace(0.35, 0.95, 20)
    return f"{1 + int(np.sum(rivals > metrics.roc_auc_score(y, x)))} of 21"


@attrs.define
class _Board:
    """The best score of one team."""

    best: float | None = None

    def better(self, score: float) -> bool:
        """Keep the score if it is the best so far, and say whether it is."""
        if self.best is not None and score <= self.best:
            return False
        self.best = score
        return True


@scored("bits", "Kaggle: 'your submission is not an improvement of your best score'", stateful=True, sample=BITS)
class improved_or_not(_Board):  # noqa: N801 - named as the functions are
    def __call__(self, y: Array, x: Array) -> str:
        return "improved" if self.better(float(np.mean(y == x))) else "not an improvement"


@scored("bits", "Blum and Hardt 2015: boards that show a team's best AUC so far", stateful=True)
class best_auc_so_far(_Board):  # noqa: N801
    def __call__(self, y: Array, x: Array) -> float | None:
        self.better(float(metrics.roc_auc_score(y, x)))
        return self.best


@scored("bits", "Blum and Hardt 2015: the Ladder with steps of .02, accuracy", stateful=True, sample=BITS)
class ladder_of_accuracy(_Board):  # noqa: N801
    def __call__(self, y: Array, x: Array) -> float:
        score = float(np.mean(y == x))
        if self.best is None or score >= self.best + 0.02:
            self.best = round(score / 0.02) * 0.02
        return self.best

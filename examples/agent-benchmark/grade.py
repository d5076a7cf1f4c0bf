"""A grader as benchmarks of agents have one: it alone sees the answers, and tells an agent its score."""

import pandas as pd
from sklearn.metrics import roc_auc_score


def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Return the area under the curve."""
    both = answers.merge(submission, on="id", suffixes=("_true", "_told"), validate="one_to_one")
    return round(roc_auc_score(both["insult_true"], both["insult_told"]), 5)

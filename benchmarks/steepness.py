"""How steep honest models are, on data and splits that the default of ``refuse-constructions`` was not set on.

    python benchmarks/steepness.py      half a minute

Eight models learn on one half of a data set and predict the other, clipped to [1e-6, 1 - 1e-6]; what is printed is the
largest change of a logit per standard deviation of the features, and how many lie above the default.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from labelinf_scores.defences.refuse_constructions import RefuseConstructions
from labelinf_scores.detector import Neighbours, detector

MODELS = {
    "logistic": lambda seed: LogisticRegression(max_iter=500),
    "neighbours": lambda seed: KNeighborsClassifier(15),
    "naive Bayes": lambda seed: GaussianNB(),
    "support vectors": lambda seed: SVC(probability=True, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(60, random_state=seed),
    "boosted trees": lambda seed: HistGradientBoostingClassifier(max_iter=40, random_state=seed),
    "network": lambda seed: MLPClassifier((32,), random_state=seed),
    "discriminant": lambda seed: LinearDiscriminantAnalysis(),
}


def main() -> None:
    """Print a line for every data set and split."""
    most = RefuseConstructions().most_steep
    for load in (load_wine, load_digits, load_breast_cancer):
        x, y = load(return_X_y=True)
        for seed in (7, 8):
            seen, held = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y)
            neighbours, steep = Neighbours.of(StandardScaler().fit_transform(x[held])), {}
            for name, model in MODELS.items():
                fitted = make_pipeline(StandardScaler(), model(seed)).fit(x[seen], y[seen])
                rows = fitted.predict_proba(x[held]).clip(1e-6, 1 - 1e-6)
                steep[name] = detector(rows / rows.sum(axis=1, keepdims=True), neighbours).steepness
            told = ", ".join(f"{name} {value:.1f}" for name, value in steep.items())
            above = sum(value > most for value in steep.values())
            print(f"{load.__name__[5:]}, split {seed}: {above} of {len(steep)} above {most:g}: {told}")


if __name__ == "__main__":
    main()

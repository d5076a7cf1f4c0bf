"""What is published of split learning against any top: length, direction, clusters, and model completion.

Known labels say what a length or a direction stands for, and name clusters. Lengths tell classes of different shares
apart, early, and the other way round later (V8). Of three classes and more two records of different classes can have a
positive cosine (V5b), so that gradients are whitened before they are clustered. Completion guesses what embeddings and
labels have in common, and features do that too (V9; "distribution alignment" in arXiv 2603.18680): the best of the same
three methods on features alone, one of them semi-supervised, is its baseline, and only what lies above it is leakage.
"""

from __future__ import annotations

from typing import Literal, get_args

import attrs
import numpy as np

from labelinf_core.contracts.components import ABSTAIN, Guess
from labelinf_split.game.view import Floats, Labels, SplitAttack, SplitThreat, SplitView
from labelinf_split.recovery import unit, whitened

__all__ = ["METHODS", "CutClusters", "CutDirection", "CutNorm", "ModelCompletion"]

_Clustered = Literal["gradients", "embeddings"]
_Shown = Literal["embeddings", "features", "both"]
_Method = Literal["logistic", "centroids", "spreading"]

METHODS: tuple[_Method, ...] = get_args(_Method)


def _directions(view: SplitView) -> Floats:
    """Return the direction of every record's mean gradient, epochs of like lengths, shape ``(n, d)``; 0 without one."""
    sent, passed = view.sent[: view.threat.shown_epochs], view.step[: view.threat.shown_epochs] >= 0
    typical = np.linalg.norm(sent, axis=2).sum(axis=1) / np.maximum(passed.sum(axis=1), 1)
    return unit((sent / np.maximum(typical, 1e-300)[:, None, None]).mean(axis=0))


@attrs.frozen(kw_only=True)
class CutNorm(SplitAttack):
    """Guesses the class whose known records have gradients of the nearest length (Li et al., ICLR 2022)."""

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess."""
        sent, passed = view.sent[: view.threat.shown_epochs], view.step[: view.threat.shown_epochs] >= 0
        logs = np.log(np.maximum(np.linalg.norm(sent, axis=2), 1e-300)) * passed
        length = logs.sum(axis=0) / np.maximum(passed.sum(axis=0), 1)
        return view.nearest(np.nan_to_num(-np.abs(length[:, None] - view.of_class(length)), nan=-1e300))


@attrs.frozen(kw_only=True)
class CutDirection(SplitAttack):
    """Guesses the class whose known records have the most similar mean direction (Li et al.; Fu et al., 2022)."""

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess; known labels choose whether lengths count, and of two classes one may be what is unlike the other."""
        alike = unit(unit(view.sent[: view.threat.shown_epochs]).mean(axis=0))
        tried = [found @ unit(view.of_class(found)).T for found in (_directions(view), alike)]
        scores, (rows, known) = np.nan_to_num(tried), view.shots
        return view.nearest(scores[(scores[:, rows].argmax(axis=2) == known).sum(axis=1).argmax()])


@attrs.frozen(kw_only=True)
class CutClusters(SplitAttack):
    """Guesses the name of a record's cluster.

    Attributes:
        of: ``gradients``, by their cosine; or ``embeddings``, those of the last epoch, by their spectrum.
    """

    of: _Clustered = attrs.field(default="gradients", validator=attrs.validators.in_(get_args(_Clustered)))

    def lacking(self, threat: SplitThreat) -> str:
        """Gradients may be hidden."""
        return super().lacking(threat) if self.of == "gradients" else ""

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess."""
        from sklearn.cluster import KMeans

        n_classes, last = view.threat.n_classes, view.embeddings[-1].astype(np.float64)
        seen = _directions(view) if self.of == "gradients" else last - last.mean(axis=0)
        points = unit(whitened(seen, n_classes - 1))
        many = n_classes if points.any() else 1
        own = KMeans(many, n_init=8, random_state=int(rng.integers(2**31))).fit_predict(points)
        said = np.zeros((n_classes, n_classes))  # what known labels say of every cluster
        np.add.at(said, (own[view.shots[0]], view.shots[1]), 1)
        names = np.where(said.any(axis=1), said.argmax(axis=1), ABSTAIN)
        return view.guess(names[own], np.zeros(len(own)))


@attrs.frozen(kw_only=True)
class ModelCompletion(SplitAttack):
    """Guesses what a classifier says that was trained on the known labels.

    Attributes:
        on: ``embeddings`` of the last epoch, ``features`` alone, which is no attack but its baseline, or ``both``.
        method: ``logistic`` regression, nearest ``centroids``, or label ``spreading`` over all records (Zhou et al.,
            NeurIPS 2003), which is semi-supervised.
    """

    on: _Shown = attrs.field(default="embeddings", validator=attrs.validators.in_(get_args(_Shown)))
    method: _Method = attrs.field(default="logistic", validator=attrs.validators.in_(METHODS))

    def lacking(self, threat: SplitThreat) -> str:
        """Nothing but known labels."""
        return ""

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess."""
        return view.nearest(self.scores(view))

    def scores(self, view: SplitView) -> Floats:
        """Return how much speaks for every class of every record, shape ``(n, K)``."""
        shown = {"embeddings": (view.embeddings[-1],), "features": (view.features,)}
        parts = shown.get(self.on, (view.features, view.embeddings[-1]))
        points = np.concatenate([np.asarray(part, dtype=np.float64) for part in parts], axis=1)
        spread = points.std(axis=0)
        points = (points - points.mean(axis=0)) / np.where(spread > 1e-9, spread, 1)
        if self.method == "centroids":
            off = np.linalg.norm(points[:, None] - view.of_class(points), axis=2)
            return np.asarray(-np.nan_to_num(off, nan=1e300))
        scores = np.zeros((len(points), view.threat.n_classes))
        classes = np.unique(view.shots[1])
        scores[:, classes] = 1 if len(classes) == 1 else _trained(points, view.shots, self.method)
        return scores


def _trained(points: Floats, shots: Labels, method: str) -> Floats:
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import LabelSpreading

    if method == "logistic":
        model = LogisticRegression(max_iter=5000).fit(points[shots[0]], shots[1])
        return np.asarray(model.predict_proba(points))
    labels = np.full(len(points), -1)
    labels[shots[0]] = shots[1]
    model = LabelSpreading(kernel="knn", n_neighbors=min(10, len(points) - 1), max_iter=500, tol=1e-2)
    return np.asarray(np.nan_to_num(model.fit(points, labels).label_distributions_))

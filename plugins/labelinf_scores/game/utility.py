"""What a defence costs those it is not meant for: honest participants of a leaderboard.

A panel of real models of differing quality (from a linear model on all features to the class shares alone) is trained
on bundled features, every prediction made by a model that has not seen the record. The panel's predictions go through
the very pipeline that stands against attacks, and the released scores are held against the undefended ones: how far
off they are, how well they still rank the models, and how many of the best are no longer among the best.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Defence, LabelSet, Setting
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_data.bundled import load_bunch
from labelinf_scores.game.curator import Curator
from labelinf_scores.game.scoring import Query
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows
from labelinf_scores.metrics.unnamed import Unnamed

__all__ = ["UNHURT", "USEFUL", "HonestSubmission", "Panel", "ScoreGame", "Utility", "honest_panel", "utility"]

_FOLDS = 5
_LEAST = 1e-3  # a participant under log-loss stays away from certainty
_TOP = 3
USEFUL = 0.5  #: a rank correlation of honest participants, below which their order is mostly chance


@attrs.frozen(kw_only=True, eq=False)
class HonestSubmission:
    """One honest participant's predictions.

    Attributes:
        model: What made them.
        probabilities: Out-of-fold, shape ``(n_records, n_classes)``.
    """

    model: str
    probabilities: NDArray[np.float64] = attrs.field(repr=False)


@attrs.frozen(kw_only=True, eq=False)
class Panel:
    """Honest submissions for one label set.

    Attributes:
        data: The labels they predict.
        submissions: One per model.
    """

    data: LabelSet
    submissions: tuple[HonestSubmission, ...]

    def resized(self, n_records: int, rng: np.random.Generator) -> Panel:
        """Return a panel of ``n_records`` records drawn from these with replacement.

        A defence that is calibrated to the number of records, or scores a share of them, costs what it costs there.
        """
        if n_records == self.data.n_records:
            return self
        rows = rng.integers(0, self.data.n_records, n_records)
        features = None if self.data.features is None else self.data.features[rows]
        data = attrs.evolve(self.data, labels=self.data.labels[rows], features=features)
        drawn = tuple(attrs.evolve(item, probabilities=item.probabilities[rows]) for item in self.submissions)
        return Panel(data=data, submissions=drawn)


@attrs.frozen(kw_only=True)
class Utility:
    """What became of honest scores.

    Attributes:
        mean_error: Mean absolute difference between released and undefended score; infinity when all were refused.
        max_error: Largest such difference.
        rank_correlation: Kendall's tau-b of released and undefended scores, in [-1, 1]; 0 when nothing can be ranked.
        top_flips: Mean number of the three best models that are not among the three best released.
        refused: Share of submissions that were refused.
        submissions: Models in the panel.
        repeats: Times the panel was played.
    """

    mean_error: float
    max_error: float
    rank_correlation: float
    top_flips: float
    refused: float
    submissions: int
    repeats: int


UNHURT = Utility(
    mean_error=0.0, max_error=0.0, rank_correlation=1.0, top_flips=0.0, refused=0.0, submissions=8, repeats=1
)


class ScoreGame(Protocol):
    """What is needed of the score channel to serve honest participants."""

    def threat(self, setting: Setting) -> ScoreThreat:
        """Return what is public."""

    def curator(self, labels: NDArray[np.intp], threat: ScoreThreat, rng: np.random.Generator) -> Curator:
        """Start a curator for ``labels``."""


@functools.cache
def honest_panel(name: str) -> Panel:
    """Return the panel for a bundled label set; it is trained once per process, in about two seconds.

    Args:
        name: ``"breast-cancer"`` (569 records, two classes) or ``"digits"`` (1 797 records, ten classes).
    """
    bunch = load_bunch(name)
    data = LabelSet(
        labels=np.asarray(bunch.target, dtype=np.intp),
        class_names=tuple(map(str, bunch.target_names)),
        title=name,
        provenance="real",
        features=np.asarray(bunch.data, dtype=np.float64),
    )
    return Panel(data=data, submissions=tuple(_submit(title, model, data) for title, model in _models()))


def _models() -> Sequence[tuple[str, Any]]:
    """Return classifiers of differing quality; everything random in them is seeded."""
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_selection import SelectKBest
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    return (
        ("logistic regression", make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=500))),
        ("logistic regression, strongly regularised", make_pipeline(StandardScaler(), LogisticRegression(C=0.003))),
        ("logistic regression, two features", make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression())),
        ("random forest", RandomForestClassifier(n_estimators=20, min_samples_leaf=2, random_state=0)),
        ("nearest neighbours", make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors=15))),
        ("decision tree of depth 3", DecisionTreeClassifier(max_depth=3, random_state=0)),
        ("naive Bayes", GaussianNB(var_smoothing=1e-2)),
        ("class shares alone", DummyClassifier(strategy="prior")),
    )


def _submit(title: str, model: Any, data: LabelSet) -> HonestSubmission:
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant features, early stops: whatever honest participants live with
        raw = cross_val_predict(model, data.features, data.labels, cv=folds, method="predict_proba")
    cautious = np.clip(raw, _LEAST, None)
    return HonestSubmission(model=title, probabilities=cautious / cautious.sum(axis=1, keepdims=True))


def utility(
    game: ScoreGame, defences: tuple[Defence, ...], panel: Panel, rng: np.random.Generator, *, repeats: int = 5
) -> Utility:
    """Play the panel through a curator, each time in a fresh order of submissions.

    Every submission is asked once. A limit on queries is each participant's own and does not bind here; a privacy
    budget is everyone's together, and who comes after it is spent is refused.

    Args:
        game: Loss and scorer of the curator.
        defences: What stands between, from the curator outward.
        panel: Who takes part.
        rng: Of the defences' draws and of the orders.
        repeats: Games to average over, at least 1.

    Raises:
        InputError: The channel, the labels and the defences do not fit together.
    """
    plain = game.threat(Setting(data=panel.data))
    threat = game.threat(Setting(data=panel.data, defences=defences))
    queries = [_query(submission, threat) for submission in panel.submissions]
    truth, _ = _released(game, plain, panel, queries, range(len(queries)), rng)
    games = []
    for _ in range(repeats):
        order = rng.permutation(len(queries))
        games.append(_released(game, threat, panel, queries, order, rng))
    return _summary(truth, games)


def _query(submission: HonestSubmission, threat: ScoreThreat) -> Query:
    """Probabilities; their logits for a loss that takes logits, the likeliest class for a metric that takes classes."""
    rows = submission.probabilities
    if isinstance(threat.metric, Unnamed):
        return Query(predictions=threat.metric.honest(rows))
    if threat.metric is not None and threat.metric.rows in (Rows.COUNTS, Rows.CLASSES, Rows.GRADES):
        return Query(predictions=rows.argmax(axis=1))
    if threat.metric is not None and threat.metric.columns:
        return Query(predictions=rows)
    if threat.metric is not None:  # classes count as numbers: the expected one
        return Query(predictions=rows @ np.arange(threat.n_classes))
    if threat.loss.takes_logits:
        rows = np.log(rows)
        return Query(predictions=rows[:, 1] - rows[:, 0] if threat.n_classes == 2 else rows)
    return Query(predictions=rows[:, 1] if threat.n_classes == 2 else rows)


def _released(
    game: ScoreGame,
    threat: ScoreThreat,
    panel: Panel,
    queries: Sequence[Query],
    order: Sequence[int] | NDArray[np.intp],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return every released score, negated where more is better (NaN: refused), and when it was submitted."""
    curator = game.curator(panel.data.labels, threat, rng)
    scores, turns = np.full(len(queries), math.nan), np.zeros(len(queries), dtype=np.intp)
    granted = len(queries) if threat.shared_budget is None else threat.shared_budget
    for turn, index in enumerate(order):
        turns[index] = turn
        if turn >= granted:
            continue
        try:
            scores[index] = float(curator.answer(queries[index]))
        except QueryRefusedError:
            continue
    higher = threat.metric is not None and threat.metric.higher
    return -scores if higher else scores, turns  # the least is the best from here on


def _summary(truth: NDArray[np.float64], games: Sequence[tuple[NDArray[np.float64], NDArray[np.intp]]]) -> Utility:
    errors = np.abs(np.array([scores for scores, _ in games]) - truth)
    answered = np.isfinite(errors)
    return Utility(
        mean_error=float(errors[answered].mean()) if answered.any() else math.inf,
        max_error=float(errors[answered].max()) if answered.any() else math.inf,
        rank_correlation=float(np.mean([_kendall(truth, scores) for scores, _ in games])),
        top_flips=float(np.mean([_flips(truth, scores, turns) for scores, turns in games])),
        refused=float(1 - answered.mean()),
        submissions=len(truth),
        repeats=len(games),
    )


def _kendall(truth: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    """Return Kendall's tau-b over the submissions that were answered."""
    answered = np.isfinite(scores)
    first = np.sign(np.subtract.outer(truth[answered], truth[answered]))
    second = np.sign(np.subtract.outer(scores[answered], scores[answered]))
    norm = math.sqrt(np.count_nonzero(first) * np.count_nonzero(second))
    return float((first * second).sum() / norm) if norm else 0.0


def _flips(truth: NDArray[np.float64], scores: NDArray[np.float64], turns: NDArray[np.intp]) -> int:
    """Return how many of the best models are missing from the best released; of equal scores the earlier counts."""
    shown = np.lexsort((turns, np.where(np.isfinite(scores), scores, math.inf)))
    return len(set(np.argsort(truth)[:_TOP]) - set(shown[:_TOP]))

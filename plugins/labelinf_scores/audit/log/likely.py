"""How many labels the answers of any scorer make likely: a search that runs it, counted by the host's own labels.

The search never sees a label. Beside what it finds stand the blind guess (the commonest class), a plain vote of the
submissions, which the search does not start from, and a **placebo**: the same search on answers to labels in another
order, counted by the true ones, of which those answers say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.labels import LabelSet
from labelinf_core.statistics.proportions import clopper_pearson, p_value
from labelinf_scores.audit.log.guess import right, vote
from labelinf_scores.audit.log.scored import ScoredLog
from labelinf_scores.audit.log.search import End, LabelSearch
from labelinf_scores.game.asked import Asked, namings
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.game.scoring import Query
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings import Released
from labelinf_scores.simulation.simulator import Simulator

__all__ = ["Likely", "likely", "replayed"]

_ALARM = 0.01  # chance that luck is called a leak


@attrs.frozen(kw_only=True)
class Likely:
    """What a search found, in labels that are right.

    Attributes:
        records: N.
        right: Of the search's guess.
        same: Labels that are the same wherever it ended as well as at its best.
        fits: Whether the best end fits every answer that was used.
        ends: How many ends are as good as the best.
        blind: Share that the commonest class has.
        vote: Share that a plain vote of the submissions has right, without any answer; 0 where none is taken.
        placebo: Right where the answers say nothing of the labels.
        used: Submissions whose answers were used: as many as the calls allow.
        calls: Labellings that were scored.
        granted: Most of them.
    """

    records: int
    right: int
    same: int
    fits: bool
    ends: int
    blind: float
    vote: float
    placebo: int
    used: int
    calls: int
    granted: int

    @property
    def leaks(self) -> bool:
        """Whether the guess beats the blind one and the placebo beyond luck."""
        chance = max(self.blind, clopper_pearson(self.placebo, self.records).high)
        return self.right > 0 and p_value(self.right, self.records, chance) <= _ALARM


def replayed(board: ScoredLog, scorer: str, released: Sequence[Released]) -> tuple[Asked | None, str]:
    """Return a scorer as it gave the scores that were released, or the first submission whose score it does not give.

    Raises:
        InputError: It cannot be loaded, or raises however classes are called.
    """
    data = LabelSet(labels=_labels(board), class_names=board.classes, title="", provenance="user's file")
    host, misfit, raised = make_scorer(scorer, LogLoss(), data.n_classes), "", InputError("")
    for naming in namings(data):
        asked = Asked(host=host, data=data, naming=naming)
        try:
            lost = _lost(board, asked, released)
        except InputError as error:
            raised = error
            continue
        if not lost:
            return asked, ""
        misfit = misfit or lost
    if not misfit:
        raise raised
    return None, misfit


def _lost(board: ScoredLog, asked: Asked, released: Sequence[Released]) -> str:
    for name, rows, score, shown in zip(board.names, board.predictions, board.scores, released, strict=True):
        if not shown.shows(score, float(asked.score(_labels(board), Query(predictions=rows)))):
            return name
    return ""


def likely(
    board: ScoredLog,
    asked: Asked,
    released: Sequence[Released],
    *,
    known: bool = True,
    granted: int,
    seed: int = 0,
    progress: Callable[[str], None] = lambda doing: None,
) -> Likely:
    """Search the labels of a log, and those of a placebo.

    Args:
        board: With labels, for counting and for the placebo.
        asked: The scorer, which gives the released scores.
        released: How each of them left the host.
        known: Whether the class totals are known to the search.
        granted: Most labellings that are scored.
        seed: Of the search.
        progress: Told what is done.
    """
    truth = _labels(board)
    most = granted // 8 // (truth.size * (len(board.classes) - 1))  # a model takes a quarter of a search at most
    some = np.unique(np.linspace(0, len(board.names) - 1, max(1, min(most, len(board.names)))).astype(int))
    streams = np.random.default_rng(seed).spawn(3)
    made = streams[2].permutation(truth)
    redrawn = [_printed(asked.score(made, Query(predictions=board.predictions[at])), released[at]) for at in some]

    def searched(scores: Sequence[Fraction], rng: np.random.Generator, doing: str) -> tuple[list[End], int]:
        progress(doing)
        ends = [released[at].interval(score, Fraction(0)) for at, score in zip(some, scores, strict=True)]
        search = LabelSearch(
            game=Simulator(
                score=lambda labels, rows: asked.score(labels, Query(predictions=rows)),
                n_records=truth.size,
                n_classes=len(board.classes),
                limit=granted // 2,
            ),
            rows=[board.predictions[at] for at in some],
            low=np.array([float(low) for low, _ in ends]),
            high=np.array([float(high) for _, high in ends]),
            totals=board.totals.counts,
            known=known,
            rng=rng,
        )
        found = search.run(doing)
        return [end for end in found if end.misfit == found[0].misfit], search.game.calls

    best, calls = searched([board.scores[at] for at in some], streams[0], "searching the labels")
    placebo, more = searched(redrawn, streams[1], "searching a placebo")
    return Likely(
        records=truth.size,
        right=_right(best, truth),
        same=int(np.all([end.labels == best[0].labels for end in best], axis=0).sum()) if best else 0,
        fits=bool(best) and not best[0].misfit,
        ends=len(best),
        blind=float(np.bincount(truth).max() / truth.size),
        vote=_voted(board),
        placebo=_right(placebo, truth),
        used=some.size,
        calls=calls + more,
        granted=granted,
    )


def _labels(board: ScoredLog) -> NDArray[np.intp]:
    if board.labels is None:
        raise InputError("--scorer needs --labels: what a search finds is counted by them.")
    return board.labels


def _printed(answer: float, released: Released) -> Fraction:
    """Return an answer as the board would have shown it."""
    if released.decimals is None:
        return Fraction(float(answer))
    unit = Fraction(10) ** -released.decimals
    steps = Fraction(float(answer)) / unit
    return (int(steps) if released.truncated else round(steps)) * unit


def _right(ends: Sequence[End], truth: NDArray[np.intp]) -> int:
    """Return how many labels are right of what most of some ends say."""
    if not ends:
        return 0
    votes = sum(end.labels[:, None] == np.arange(truth.max() + 1) for end in ends)
    return int((np.argmax(votes, axis=1) == truth).sum())


def _voted(board: ScoredLog) -> float:
    """Return what a plain vote of the submissions has right, without any answer; 0 where none is taken."""
    truth = _labels(board)
    if board.predictions[0].dtype.kind == "U":
        return 0.0
    if board.predictions[0].ndim == 2:
        return float((np.mean(board.predictions, axis=0).argmax(axis=1) == truth).mean())
    return right(vote(board.predictions), truth) if len(board.classes) == 2 else 0.0

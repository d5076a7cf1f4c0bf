"""A function that returns whatever it likes, attacked by running it: real labels, several numbers, a host's tables."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Within
from labelinf_core.contracts.errors import LabelinfError, QueriesExhaustedError
from labelinf_core.contracts.gate import unquoted
from labelinf_scores.attacks.simulate import played
from labelinf_scores.audit.scorer import Extraction
from labelinf_scores.game.begun import Begun
from labelinf_scores.simulation.formats import Numbers, SubmissionFormat, telling
from labelinf_scores.simulation.reals import RealReading, read_reals
from labelinf_scores.simulation.simulator import Board, Labels, Simulator, afforded

__all__ = ["UNSCORED", "made_reals", "simulated", "tolerated"]

UNSCORED = "the scorer takes no submission that was tried"
_TOLERANCE = 0.01  # of the interquartile range
_PRIOR = 10  # made targets a record
_ASKED = 4  # labellings that tell whether a function keeps state
_ANEW = 6_000  # labellings that are scored each by a function on its first day


def simulated(
    answer: Board,
    truth: Labels,
    forms: Sequence[SubmissionFormat],
    *,
    n_classes: int = 0,
    queries: int = 0,
    rng: np.random.Generator,
    simulations: int = 60_000,
    tolerance: float | None = None,
    begun: Callable[[], Begun] | None = None,
) -> Extraction:
    """Play the attack that runs a function on made labels, in the format in which its answers differ most.

    A function that keeps state is played again as one: it is run on its first day for every labelling, and given the
    past that the host's has.

    Args:
        answer: What is audited: returns what it shows of labels and a submission.
        truth: The private labels; the attack knows their class totals, or of real numbers their quartiles.
        forms: What submissions may look like, the likeliest first.
        n_classes: K; 0: labels are real numbers.
        queries: The budget; 0 is unlimited.
        rng: For the attack.
        simulations: Most labellings that are scored; fewer where there are many labels.
        tolerance: How near a guess of a real number must be; a hundredth of their interquartile range if None.
        begun: Returns the same function on its first day; None: nobody can have that.
    """
    play = functools.partial(
        _played, truth=truth, forms=forms, n_classes=n_classes, queries=queries, rng=rng, tolerance=tolerance
    )
    limit = afforded(simulations, truth.size)
    game = Simulator(score=answer, n_records=truth.size, n_classes=max(2, n_classes), limit=limit)
    if begun is None:
        return play(game, answer)
    days = begun()
    first = attrs.evolve(game, score=days.anew, limit=min(limit, _ANEW), restarted=days.board)
    found = None if _differ(game, first, forms) else play(game, begun().board())
    if found is not None and (found.exact or not _differ(game, first, forms)):
        return found
    again = play(attrs.evolve(first, calls=0), begun().board())
    return again if found is None or again.right > found.right else found


def _differ(game: Simulator, first: Simulator, forms: Sequence[SubmissionFormat]) -> bool:
    """Whether a function that was called before answers otherwise than on its first day, and then the same again."""
    rng = np.random.default_rng(0)
    for form in forms:
        rows = form.spread(game.n_records, rng)
        for _ in range(_ASKED):
            labels = rng.integers(game.n_classes, size=game.n_records)
            there, again = (attrs.evolve(first, calls=0)(labels, rows) for _ in range(2))
            if np.array_equal(there, again) and not np.array_equal(attrs.evolve(game, calls=0)(labels, rows), there):
                return True
    return False


def _played(game: Simulator, answer: Board, **given: Any) -> Extraction:
    """Play it once; the attack's own mistake is no finding, and no traceback."""
    try:
        return _once(game, answer, **given)
    except LabelinfError:
        raise
    except Exception as error:
        return Extraction(attack="simulate", failure=unquoted(error))


def _once(
    game: Simulator,
    answer: Board,
    *,
    truth: Labels,
    forms: Sequence[SubmissionFormat],
    n_classes: int,
    queries: int,
    rng: np.random.Generator,
    tolerance: float | None,
) -> Extraction:
    began, prior = time.perf_counter(), np.zeros(0) if n_classes else made_reals(truth)
    spent = 0

    def ask(rows: NDArray[Any]) -> Any:
        nonlocal spent
        if queries and spent >= queries:
            raise QueriesExhaustedError(f"all {queries} queries are spent.")
        spent += 1
        return answer(truth, rows)

    def made() -> Labels:
        return rng.integers(n_classes, size=truth.size) if n_classes else rng.choice(prior, truth.size)

    form = telling(game, forms, made, rng)
    if form is None:
        return Extraction(attack="simulate", refusal=UNSCORED)
    if n_classes:
        totals = np.bincount(truth, minlength=game.n_classes)
        guess = played(game, ask, form, tuple(totals.tolist()), rng)
        right, baseline, measure, evidence = guess.labels == truth, float(totals.max() / truth.size), "", guess.evidence
    else:
        near = tolerated(truth, tolerance)
        numbers = [form if isinstance(form, Numbers) else Numbers()]
        found = read_reals(game, ask, numbers, prior, rng=rng, limit=queries or None, tolerance=near)
        if found.drawn:
            return Extraction(attack="simulate", refusal="the scorer draws, and real labels are not read through noise")
        if not spent:
            return Extraction(attack="simulate", refusal="no submission that was tried shows anything of a label")
        right, baseline, measure = _judged(found, truth, near)
        evidence = {"labels read": int(found.read.sum()), "replayed": found.replayed, "simulations": game.calls}
    return Extraction.counted(
        "simulate", right, baseline, queries=spent, began=began, evidence=evidence, measure=measure
    )


def tolerated(reals: NDArray[np.float64], tolerance: float | None) -> float:
    """Return the tolerance that was given, else a hundredth of the interquartile range, or of the range."""
    low, quarter, rest, high = np.quantile(reals, [0, 0.25, 0.75, 1])
    return float(_TOLERANCE * (rest - quarter or high - low)) if tolerance is None else tolerance


def made_reals(truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers of the same range and quartiles, in order: training labels tell a participant as much."""
    return np.interp(np.linspace(0, 4, _PRIOR * truth.size), np.arange(5), np.quantile(truth, [0, 0.25, 0.5, 0.75, 1]))


def _judged(found: RealReading, truth: NDArray[np.float64], tolerance: float) -> tuple[NDArray[np.bool_], float, str]:
    """Return which values are right, what the best constant has, and by which measure.

    Where the scorer sees no more of the labels than their order, it is ranks that are right within half of one.
    """
    guess, measure, said = found.values, Within(tolerance=tolerance), f"within {tolerance:.3g}"
    if found.ranks_only:
        guess, truth, measure, said = _ranks(guess), _ranks(truth), Within(tolerance=0.5), "by rank"
    return measure.placed(guess, truth) == truth, measure.chance(truth, 0), said


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks; equals have the mean of theirs."""
    _, place, many = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(many) - (many + 1) / 2)[place])

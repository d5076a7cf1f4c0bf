"""What a user's scorer is like: found by running it on made labels, never on private ones.

Whoever attacks a scorer has its code and runs it, so nothing has to be recognised: ``simulate`` plays any. A metric
that gives every answer (:mod:`.agreement`) may be *said*, and lets attacks made for it be tried first. That is all it
decides: no statement, certificate, noise or remedy rests on it, no attack that fails shows anything, and what the
scorer does elsewhere is unknown to every bound. Every number of questions is fixed beforehand: no clock decides here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.errors import InconclusiveError, InputError, QueryRefusedError
from labelinf_core.contracts.labels import LabelSet
from labelinf_scores.game.agreement import Fit, agreement, made_labels
from labelinf_scores.game.asked import Asked, namings
from labelinf_scores.game.scoring import Query, Scorer, ScorerFacts
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import ScoredMetric
from labelinf_scores.metrics.readings.sums import MeanLoss
from labelinf_scores.metrics.unadditive import Unadditive
from labelinf_scores.metrics.unnamed import Unnamed
from labelinf_scores.simulation.formats import Columns

__all__ = ["Likeness", "likeness", "remembered"]

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

_FORMS = 6  # submissions of a form that is tried
_AGAIN = 4  # times that one question is asked
_SAMPLE = 16  # records of which all must be scored, or every one is looked at
_DRAWS = 12  # labellings in which a record's label is exchanged, before it is taken for one that is not scored
_MOST = 5_000  # records, of more of which nobody looks which are scored


@attrs.frozen(kw_only=True, eq=False)
class Likeness:
    """A user's scorer, how it is asked, and what it agrees with.

    Attributes:
        title: Its name.
        asked: The scorer, in units of the metric.
        metric: What it agrees with; :class:`Unnamed` where nothing does.
        name: The metric's; empty where nothing agrees.
        fit: How its answers follow it.
        answers: Those that were compared, or that were given to submissions of the form.
        clip: Probability next to which it charges what a loss does.
        scored: Which records are scored, shape ``(n_records,)``; more may seem to be.
        draws: Whether one question has several answers at once.
        dumb: Why nothing can be read, in a clause; empty where something may be.
        first: A question, and what it was answered before all others.
        questions: How many were asked.
    """

    title: str
    asked: Asked
    metric: ScoredMetric
    name: str = ""
    fit: Fit = attrs.field(factory=Fit)
    answers: Floats
    clip: float = 0.0
    scored: NDArray[np.bool_]
    draws: bool = False
    dumb: str = ""
    first: tuple[Labels, NDArray[np.float64], float | None]
    questions: int

    @property
    def changed(self) -> bool:
        """Whether the first question is answered otherwise by now, which is asked; what draws may always do so."""
        labels, predictions, answer = self.first
        plain = attrs.evolve(self.asked, rows=None, scale=1.0, offset=0.0)
        return not self.draws and plain.tried(labels, predictions) != answer

    @property
    def among(self) -> str:
        """Which of several numbers is scored, in a clause; empty where there is but one."""
        return str(getattr(self.asked.host, "among", ""))

    def sentence(self) -> str:
        """Say it in one line."""
        clauses = [self.dumb or f"agrees with no metric that ships, on {self.questions} made questions"]
        if self.name:
            clauses = [f"agrees with {self.name}{self.fit.sentence()} on every one of {self.answers.size} answers"]
        if self.draws:
            clauses.append("answers one question in several ways, so that it draws or keeps state")
        if not self.scored.all():
            clauses.append(f"{int(self.scored.sum())} of {self.scored.size} records are scored, as far as was seen")
        clauses.append(f"asked with labels as {self.asked.naming.value}")
        if not getattr(self.asked.host, "plain", True):
            clauses.append(str(getattr(self.asked.host, "called", "")))
        return ", ".join(filter(None, (*clauses, self.among)))

    @property
    def document(self) -> Mapping[str, object]:
        """What a machine reads of it; which records are scored is not in it."""
        return {
            "agrees with": self.name or None,
            "scale": self.fit.scale,
            "offset": self.fit.offset,
            "decimals": self.fit.decimals,
            "significant digits": self.fit.digits or None,
            "clip": self.clip,
            "labels": self.asked.naming.value,
            "called": getattr(self.asked.host, "called", "") or None,
            "records scored": int(self.scored.sum()),
            "draws": self.draws,
            "tells nothing": self.dumb,
            "questions": self.questions,
        }

    def threat(self, data: LabelSet, queries: int) -> ScoreThreat:
        """Return what attacks plan with, and what is known to nobody for certain.

        Args:
            data: The private labels, of which the class totals are public.
            queries: The budget; 0: any number.
        """
        metric, facts = self.metric, self.asked.facts
        mean = isinstance(metric, MeanLoss)
        return ScoreThreat(
            n_records=data.n_records,
            n_classes=data.n_classes,
            prior=data.prior,
            loss=metric.additive
            if isinstance(metric, MeanLoss)
            else Unadditive(metric=metric, n_records=data.n_records),
            metric=None if mean else metric,
            arithmetic=facts.arithmetic,
            summation=facts.summation,
            input_format=facts.input_format,
            scorer_clip=self.clip,
            scorer_least=0.0 if self.clip else None,
            own_effects=(*facts.effects, *self.fit.effects(self.answers), Unknown(stage=self.title)),
            values=tuple(map(float, self.asked.called)) if metric.of_values else (),
            granted=queries or None,
            groups=data.group_sizes,
        )


def likeness(scorer: Scorer, data: LabelSet, title: str) -> Likeness:
    """Run a scorer on made labels, and return which shipped metric gives its answers, if any.

    Args:
        scorer: The user's.
        data: How many labels there are, and what classes are called; of the labels themselves nothing.
        title: The scorer's name.

    Raises:
        InputError: It takes no submission that was tried, or has no answer about made labels.
    """
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _Finder(host=scorer, data=data, title=title, rng=rng).found()


def remembered(name: str, scorer: Scorer, data: LabelSet) -> Likeness:
    """Return the likeness of a scorer that is played again and again, found once a process.

    Raises:
        InputError: It cannot be asked, or returns several numbers of which none is named.
        InconclusiveError: Its answers tell nothing.
    """
    own = getattr(scorer, "function", None)
    own = getattr(own, "origin", own)
    key = name, id(own), data.n_records, data.class_names
    if key not in _KNOWN:
        _KNOWN[key] = own, likeness(scorer, data, f"scorer {name!r}")  # held, so that its identity is nobody else's
        if numbers := getattr(scorer, "unnamed", ()):
            raise InputError(f"scorer {name!r} returns several numbers; name the one to play: {', '.join(numbers)}.")
    found = _KNOWN[key][1]
    if found.dumb:
        raise InconclusiveError(f"INCONCLUSIVE: scorer {name!r}: {found.sentence()}. Nothing was played on it.")
    return found


_KNOWN: dict[tuple[object, ...], tuple[object, Likeness]] = {}


@attrs.define(kw_only=True, eq=False)
class _Finder:
    """Asks a scorer, and counts how often."""

    host: Scorer
    data: LabelSet
    title: str
    rng: np.random.Generator
    questions: int = 0

    def score(self, labels: Labels, query: Query) -> object:
        """Return the scorer's answer."""
        self.questions += 1
        return self.host.score(labels, query)

    @property
    def facts(self) -> ScorerFacts:
        """What is public about it."""
        return self.host.facts

    def found(self) -> Likeness:
        """Return all that is found."""
        asked, metric, told = self._way()
        tries = [(self._labels(), x) for x in self._submissions(metric)]
        first = (*tries[0], asked.tried(*tries[0]))
        again = {asked.tried(*tries[1]) for _ in range(_AGAIN)}
        answers = np.array([a for question in tries if (a := asked.tried(*question)) is not None])
        plain = Likeness(
            title=self.title,
            asked=attrs.evolve(asked, host=self.host),
            metric=metric,
            answers=answers,
            scored=np.ones(self.data.n_records, dtype=bool),
            draws=len(again) > 1,
            dumb=self._dumb(asked, tries, told),
            first=first,
            questions=self.questions,
        )
        if plain.draws or plain.dumb:
            return plain
        plain = attrs.evolve(plain, scored=self._scored(asked, metric))
        columns = isinstance(metric.form, Columns)
        if plain.scored.all() and (agreed := agreement(asked, self.rng, columns=columns)):
            plain = attrs.evolve(
                plain,
                asked=attrs.evolve(agreed.asked, host=self.host),
                metric=agreed.metric,
                name=agreed.name,
                fit=agreed.fit,
                answers=agreed.answers,
                clip=agreed.clip,
            )
        return attrs.evolve(plain, questions=self.questions)

    # How it is asked.

    def _way(self) -> tuple[Asked, Unnamed, int]:
        """Return how it is asked so that most answers differ, what a submission looks like then, and how many do."""
        ways: list[tuple[Asked, Unnamed, int]] = []
        for naming in namings(self.data):
            asked = Asked(host=self, data=self.data, naming=naming)
            metrics = [Unnamed(form=form, classes=classes) for form, classes in asked.forms()]
            for metric in metrics:
                told = {asked.tried(self._labels(), x) for x in self._submissions(metric)} - {None}
                ways.append((asked, metric, len(told)))
            if max(many for _, _, many in ways) > 1:
                break
        best = max(ways, key=lambda way: way[2])
        if not best[2]:
            raise InputError(self._refusal())
        return best

    def _refusal(self) -> str:
        """Say what it was sent, and what it says in its own case: that of an answer before that of an exception."""
        n, k, refusals = self.data.n_records, self.data.n_classes, []
        for predictions in (np.full((n, k), 1 / k), np.full(n, 1 / k)):
            try:
                self.host.score(np.arange(n) % k, Query(predictions=predictions))
            except (InputError, QueryRefusedError) as error:
                refusals.append(str(error))
        told = min(refusals, key=lambda refusal: " raised " in refusal, default=f"{self.title} answers no submission.")
        return (
            f"{told} It was sent made labels with one number, {k} columns or a class a record. If it takes something "
            f"else, give your solution and one submission that it scores: labelinf audit grader."
        )

    # What it is asked.

    def _labels(self) -> Labels:
        return made_labels(self.data.n_records, self.data.n_classes, self.rng)

    def _submissions(self, metric: Unnamed) -> Iterator[NDArray[np.float64]]:
        """Yield submissions of a form, no two rows alike."""
        for _ in range(_FORMS):
            yield metric.form.spread(self.data.n_records, self.rng)

    def _dumb(self, asked: Asked, tries: Sequence[tuple[Labels, NDArray[np.float64]]], told: int) -> str:
        """Say why nothing can be read; empty where something may be."""
        answers = [[asked.tried(labels, x) for labels, _ in tries] for _, x in tries]
        if len({answer for row in answers for answer in row}) == 1 and self.data.n_records >= _FORMS:
            return "all answers that were tried are the same" + ", otherwise than before: it keeps state" * (told > 1)
        if all(len(set(row)) == 1 for row in answers):
            return "answers that were tried do not depend on the labels that it is given, or it keeps what it answered"
        return ""

    def _scored(self, asked: Asked, metric: Unnamed) -> NDArray[np.bool_]:
        """Return which records are scored: whose labels, exchanged for others, were seen to move an answer."""
        n = self.data.n_records
        everyone = np.arange(n)
        drawn = [
            (self._labels(), self._labels(), x) for x in self._submissions(metric) for _ in range(_DRAWS // _FORMS)
        ]
        known = [(one, other, x, asked.tried(one, x)) for one, other, x in drawn]

        def moved(places: NDArray[np.intp]) -> Iterator[bool]:
            for one, other, x, answer in known:
                mixed = one.copy()
                mixed[places] = np.where(one == other, (one + 1) % self.data.n_classes, other)[places]
                yield asked.tried(mixed, x) != answer

        few = self.rng.permutation(everyone)[:_SAMPLE]
        if n > _MOST or all(any(moved(few[i : i + 1])) for i in range(few.size)):
            return np.ones(n, dtype=bool)
        scored, waiting = np.zeros(n, dtype=bool), [everyone]
        while waiting:
            places = waiting.pop()
            if not any(moved(places)):
                continue
            scored[places] = places.size == 1
            waiting += [half for half in np.array_split(places, 2) if places.size > 1]
        shown = [list(moved(np.array([place]))) for place in np.flatnonzero(scored)[:_SAMPLE]]
        rare = not shown or min(map(sum, shown)) < _DRAWS / 2  # of a median or a bar nobody can tell
        return np.ones(n, dtype=bool) if rare else scored

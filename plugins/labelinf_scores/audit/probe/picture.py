"""What is known of a host's scorer: learnt by asking; as a threat model, and as a scorer of the metric.

One value and one adapter serve the audit, ``attack``, ``matrix`` and ``advise``: what was learnt is what they play on.
Nothing is certain of what was only learnt: no answer refuted it, which the next one may. So it is known to nobody, and
no promise and no ceiling comes of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Effect, Unknown
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.contracts.labels import group_sizes
from labelinf_scores.audit.probe.identify import VALUES, Explained
from labelinf_scores.audit.probe.limits import Limits
from labelinf_scores.audit.probe.links import PLAIN
from labelinf_scores.audit.probe.noisy import drifted
from labelinf_scores.game.effects import Confined, Moved, Rounded, RowSums
from labelinf_scores.game.facts import ScoreFacts
from labelinf_scores.game.scoring import Query, Scorer, ScorerFacts
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.readings.sums import MeanLoss
from labelinf_scores.metrics.unadditive import Unadditive

__all__ = ["Picture", "Seen"]

_POINTS = 65  # of the metric's range at which errors of reading are computed


@attrs.frozen(kw_only=True, eq=False)
class Picture:
    """What is known of a scorer.

    Attributes:
        title: The scorer's name.
        found: The metric that explains every answer, and how.
        limits: What becomes of extreme predictions.
        noise: Standard deviation of an answer; 0 without noise.
        facts: What the scorer's own arithmetic is, or is taken for.
        queries: Questions that were asked.
        seconds: What one answer takes.
        among: Which of several numbers was scored, in a clause.
    """

    title: str
    found: Explained
    limits: Limits
    noise: float = 0.0
    facts: ScorerFacts
    queries: int
    seconds: float
    among: str = ""

    @property
    def metric(self) -> ScoredMetric:
        """The metric."""
        return self.found.metric

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.found.panel.ask.spelling.values)

    @property
    def mean(self) -> bool:
        """Whether it is the plain mean of a loss."""
        return isinstance(self.metric, MeanLoss)

    @property
    def clippable(self) -> bool:
        """Whether probabilities are scored record by record, so that a clip has a meaning."""
        return self.metric.rows is Rows.COSTS

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which records are scored."""
        return self.found.scored

    @property
    def changed(self) -> bool:
        """Whether the first question is answered otherwise by now, which is asked; one that fails by now has failed."""
        panel = self.found.panel
        return drifted(panel) if self.noise else panel.turned

    @property
    def document(self) -> dict[str, Any]:
        """What a machine reads of it; which records are scored, or by which row, is not in it."""
        fit, limits = self.found.fit, self.limits
        return {
            "metric": self.found.name,
            "predictions": self.found.panel.ask.spelling.shape.value,
            "labels": self.found.panel.ask.spelling.naming.value,
            "link": fit.link.name or "none",
            "scale": fit.scale,
            "offset": fit.offset,
            "decimals": self.decimals,
            "step": fit.level.step,
            "significant digits": fit.level.digits or None,
            "single precision": fit.level.single,
            "unexplained error": fit.level.room if fit.level.loose else 0.0,
            "clip": limits.clip,
            "refused beyond the clip": limits.refused,
            "least prediction": limits.low if math.isfinite(limits.low) else None,
            "greatest prediction": limits.high if math.isfinite(limits.high) else None,
            "rows are normalised": limits.normalised,
            "noise": self.noise,
            "records scored": int(self.scored.sum()),
            "rows permuted": self.found.panel.ask.order is not None,
            "seconds an answer": self.seconds,
            "queries": self.queries,
        }

    @property
    def decimals(self) -> int | None:
        """Decimals of the answers; None: in full, or on another grid."""
        step = self.found.fit.level.step
        decimals = round(-math.log10(step)) if step else None
        return decimals if decimals is not None and 10.0**-decimals == step else None

    def sentence(self) -> str:
        """Say it in one line."""
        fit = self.found.fit
        link = f", through {fit.link.name}" if fit.link.name else ""
        plain = "" if (fit.scale, fit.offset) == (1, 0) else f" times {fit.scale:.6g} plus {fit.offset:.6g}"
        part = "" if self.scored.all() else f", on {int(self.scored.sum())} of {self.scored.size} records"
        rows = ", rows of predictions permuted" if self.found.panel.ask.order is not None else ""
        clauses = [f"{self.found.name}{link}{plain}{part}{rows}", self.digits, *self._edges()]
        if self.noise:
            clauses.append(f"noise of standard deviation {self.noise:.3g}")
        if self.found.beyond:
            clauses.append(self.found.beyond)
        clauses.append(self.found.panel.ask.spelling.sentence())
        if self.among:
            clauses.append(self.among)
        clauses.append(f"{1000 * self.seconds:.3g} ms an answer")
        return ", ".join(clauses)

    @property
    def digits(self) -> str:
        """To how many digits it answers, in a clause."""
        level = self.found.fit.level
        if level.single:
            return "single precision"
        if level.loose:
            return f"all digits, off by up to {level.room:.2g} for no reason that is known"
        if level.digits:
            return f"{level.digits} significant digit{'s' * (level.digits > 1)}"
        if not level.step:
            return "all digits"
        return f"in steps of {level.step:.6g}" if self.decimals is None else f"{self.decimals} decimals"

    def _edges(self) -> Iterator[str]:
        if self.clippable:
            word = "refuses probabilities below" if self.limits.refused else "clip about"
            yield f"{word} {self.limits.clip:.2g}" if self.limits.clip else "no clip found"
        if self.limits.confined:
            yield f"cuts or refuses predictions outside about [{self.limits.low:.3g}, {self.limits.high:.3g}]"
        if self.mean:
            yield "rows are normalised" if self.limits.normalised else "rows need not sum to one"

    def scorer(self, scorer: Scorer) -> Seen:
        """Return the scorer as one of the metric, on the records that are scored."""
        return Seen(host=scorer, picture=self)

    def threat(
        self,
        labels: NDArray[np.intp],
        queries: int,
        groups: NDArray[np.intp] | None = None,
        *,
        believed: bool = False,
    ) -> ScoreThreat:
        """Return what an attack is told: all that is known, and the class totals of the scored labels.

        Args:
            labels: All private labels, of which the totals of those that are scored are public.
            queries: The budget; 0: any number.
            groups: Number of every record's group, where they are known; those that are scored count.
            believed: Whether what was learnt counts as known; for attacks to plan with.
        """
        metric, n = self.metric, int(self.scored.sum())
        counts = np.bincount(labels[self.scored], minlength=self.n_classes)
        clip, off = self.limits.clip, 2 * self.limits.error
        return ScoreThreat(
            n_records=n,
            n_classes=self.n_classes,
            prior=tuple((counts / n).tolist()),
            loss=metric.additive if isinstance(metric, MeanLoss) else Unadditive(metric=metric, n_records=n),
            metric=None if isinstance(metric, MeanLoss) else metric,
            arithmetic="float32" if self.found.fit.level.single else self.facts.arithmetic,
            summation=self.facts.summation,
            # Rows just inside the clip cost what they say, and none beyond it more, however well the clip is known.
            scorer_clip=clip * (1 + off) if self.clippable else 0.0,
            scorer_least=0.0 if self.limits.refused else clip * max(0.0, 1 - off),
            own_effects=(*self._effects(), *(() if believed else (Unknown(stage=self.title),))),
            values=self.found.panel.ask.spelling.values if metric.of_values else (),
            granted=queries or None,
            groups=() if groups is None else group_sizes(groups[self.scored]),
        )

    def _effects(self) -> Iterator[Effect[ScoreFacts]]:
        fit = self.found.fit
        if self.mean and self.limits.normalised:
            yield RowSums()
        low, high = self._ends
        if math.isfinite(low) or math.isfinite(high):
            yield Confined(low=low, high=high)
        if fit.level.step and fit.link is PLAIN:
            yield Rounded(step=fit.level.step / abs(fit.scale))
        if bound := self.off:
            yield Moved(bound=bound, std=bound / math.sqrt(3), fresh=False, blind=True)
        if self.noise:
            yield Moved(bound=math.inf, std=self.noise / abs(fit.scale), fresh=True, blind=True)

    @property
    def _ends(self) -> tuple[float, float]:
        """Between which predicted numbers an attack keeps; where digits are counted, the farther tell the less."""
        low, high, panel = self.limits.low, self.limits.high, self.found.panel
        if not self.found.fit.level.digits or panel.ask.rows not in VALUES:
            return low, high
        made = np.concatenate([trial.predictions for trial in panel.trials])
        return max(low, float(made.min())), min(high, float(made.max()))

    @property
    def _worst(self) -> list[float]:
        """The metric of the worst predictions that an attack sends, where these have ends."""
        shape, classes = self.scored.size, self.n_classes
        zeros = np.zeros(shape, dtype=np.intp)
        if self.clippable:
            row = np.full(classes, (1 - self.limits.clip) / max(1, classes - 1))
            row[0] = self.limits.clip
            sent = [(zeros, np.full(shape, row[1]) if classes == 2 else np.tile(row, (shape, 1)))]
        else:
            ends = self._ends
            sent = [(zeros + k, np.full(shape, end)) for k in range(classes) for end in ends if math.isfinite(end)]
        found = [self.found.own(labels, predictions) for labels, predictions in sent]
        return [value for value in found if math.isfinite(value)]

    @property
    def off(self) -> float:
        """How far the metric may be off that is read from an answer, beyond a plain rounding."""
        panel = self.found.panel
        own = np.array([self.found.fit.back(answer) for answer in panel.answers])
        own = np.append(own[np.isfinite(own)], self._worst if self.found.fit.level.digits else [])
        with np.errstate(all="ignore"):
            off = self.found.fit.off(np.linspace(own.min(), own.max(), _POINTS))
        return 2 * float(np.nanmax(off)) if self.found.fit.link.name or not self.found.fit.plain else float(off.max())


@attrs.frozen(kw_only=True, eq=False)
class Seen:
    """A host's scorer as one of the metric that explains it: shape, rows, records and link undone.

    Attributes:
        host: The host's.
        picture: What is known of it.
    """

    host: Scorer
    picture: Picture

    @property
    def facts(self) -> ScorerFacts:
        """What is public about it."""
        return self.host.facts

    def score(self, labels: NDArray[np.intp], query: Query) -> Any:
        """Return the metric's score of the scored records.

        Args:
            labels: Of the scored records.
            query: One row for each of them.

        Raises:
            QueryRefusedError: The answer tells less of the metric than it does elsewhere.
        """
        found = self.picture.found
        ask, scored = found.panel.ask, found.scored
        if self._as_it_is:
            return self.host.score(labels, query)
        if labels.size < scored.sum():  # a stage sends some of the rows
            if ask.order is not None or not scored.all():
                raise QueryRefusedError("the scorer picks rows by their place, and was sent some of them.")
            scored = np.ones(labels.size, dtype=bool)
        full = np.zeros(scored.size, dtype=np.intp)
        full[scored] = labels
        own = np.asarray(query.predictions, dtype=np.float64)
        rows = found.metric.rows
        elsewhere = ask.spelling.values[0] if rows in (Rows.REALS, Rows.LEVELS) else 0.0
        neutral = 1 / self.picture.n_classes if own.ndim == 2 else 0.5 if rows is Rows.COSTS else elsewhere
        predictions = np.full((scored.size, *own.shape[1:]), neutral)
        predictions[scored] = own
        if ask.order is not None:
            placed = np.empty_like(predictions)
            placed[ask.order] = predictions
            predictions = placed
        written = ask.spelling.predictions(predictions, rows)
        answer = float(self.host.score(ask.spelling.labels(full), Query(predictions=written)))
        metric = found.fit.back(answer)
        if not math.isfinite(metric):
            raise QueryRefusedError("the answer is none that the scorer's link can give.")
        most = 2 * self.picture.off if found.fit.link is not PLAIN else self.picture.off
        if (found.fit.link is not PLAIN or found.fit.level.digits) and float(found.fit.off(metric)) > most:
            raise QueryRefusedError("an answer so far from all honest ones is too coarse to be read.")
        return metric

    @property
    def _as_it_is(self) -> bool:
        """Whether it is a scorer of our own, which takes numbers of any kind, and computes the metric itself."""
        found = self.picture.found
        plain = found.fit.plain and bool(found.scored.all()) and found.panel.ask.order is None
        return plain and not any(isinstance(effect, Unknown) for effect in self.host.facts.effects)

"""The guarded board for a host's labels and scorer: the one that serves honest teams best and is proved enough.

Of a function that agrees with a metric that ships it is a board of that metric. Of any other it is a board that runs
the function on a secret part of the rows, which is proved whatever the function is.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_guard.certificate.statement import points
from labelinf_guard.plan import PlanQuestion, PolicyRow, table
from labelinf_guard.recommendation import Recommendation
from labelinf_scores.game.likeness import Likeness
from labelinf_scores.game.utility import USEFUL

__all__ = ["BoardRemedy"]

_ANSWERS = 1_000  # of all teams together, to plan with where nobody says how many
_WIDER = (0.075, 0.1, 0.15, 0.2, 0.3)  # gains that are tried where the target leaves no useful board
_DECIMALS = 3


@attrs.frozen(kw_only=True)
class BoardRemedy:
    """What would stop a scorer.

    Attributes:
        data: The labels that a board would keep.
        found: What the scorer agrees with; None: it was compared with nothing.
        worth: The board to take; None: none leaves the ranking of honest teams useful.
        own: Whether that board runs the host's own function.
        why: Why there is none.
        wider: The least gain that was tried which leaves a useful board; 0: none does, or the one asked for.
    """

    data: LabelSet
    found: Likeness | None = None
    worth: Recommendation | None = None
    own: bool = False
    why: str = ""
    wider: float = 0.0

    @classmethod
    def of(cls, data: LabelSet, found: Likeness | None, gain: float, queries: int) -> BoardRemedy:
        """Look for the best board with this gain, and for the least gain that leaves a useful one.

        Args:
            data: The labels that the board would keep.
            found: What the scorer agrees with, if anything.
            gain: What attackers may have over the blind guess, as a share.
            queries: Answers of all teams together; 0: nobody says how many.
        """
        answers, left, none = queries or _ANSWERS, 1 - max(data.prior), _none(data, gain)
        named, blank = "" if found is None else found.name, cls(data=data, found=found)
        ways = () if none else ((False, named), (True, "accuracy"))
        for own, metric in ways:  # what is proved of a part of the rows asks no metric
            try:
                rows = blank._rows(metric, gain, answers, own=own) if metric else None
            except InputError:  # that metric needs more than its name
                continue
            if rows is None:
                continue
            if (worth := _useful(rows, answers)) is not None:
                return attrs.evolve(blank, worth=worth, own=own)
            for wider in (each for each in _WIDER if gain < each < left):
                if (worth := _useful(blank._rows(metric, wider, answers, own=own), answers)) is not None:
                    ranks = f" (ranking {worth.kendall.text(2)})" if worth.kendall else ""
                    why = f"{_few(data, rows, answers)}; --gain {100 * wider:g}% leaves one{ranks}"
                    return attrs.evolve(blank, own=own, why=why, wider=wider)
            why = f"{_few(data, rows, answers)}; publish final scores once instead"
            return attrs.evolve(blank, own=own, why=why)
        return attrs.evolve(blank, why=none or "no guarded board scores this")

    def sentence(self) -> str:
        """Say the remedy and what honest users pay."""
        if self.worth is None:
            return f"none that is proved leaves the board useful: {self.why}"
        kendall = self.worth.kendall
        ranks = "" if kendall is None else f"; it keeps {kendall.text(2)} of 1 of honest teams' ranking"
        what = "a guarded board that runs your function" if self.own else "a guarded board"
        return (
            f"{what} ({self.worth.policy}): attackers gain at most {points(self.worth.proves)} points over what they "
            f"know anyway, all teams together, in {self.worth.answers} answers{ranks}"
        )

    def lines(self) -> Iterator[str]:
        """Yield all that there is to say of the board."""
        if self.worth is not None:
            yield from ("", "the board to deploy", *self.worth.lines())

    def _rows(self, metric: str, gain: float, answers: int, *, own: bool) -> tuple[PolicyRow, ...]:
        """Return the policies; of the host's own function those alone whose proof asks nothing of it."""
        decimals = self.found.fit.decimals if self.found is not None else None
        question = PlanQuestion(
            records=self.data.n_records,
            classes=self.data.n_classes,
            metric=metric,
            decimals=_DECIMALS if decimals is None else min(_DECIMALS, decimals),
            teams=1,
            submissions=answers,
            gain=gain,
        )
        rows = (row for row in table(question) if row.worth is not None)
        return tuple(row for row in rows if not own or row.split)


def _none(data: LabelSet, gain: float) -> str:
    """Say why no board is looked for; empty where one is."""
    left = 1 - max(data.prior)
    if data.reals is not None:
        return "nothing is proved of labels that are any real numbers; rounded to a few grades they are classes"
    if gain < left:
        return ""
    return f"a gain of {100 * gain:g} points may be all labels, of which a blind guess leaves {100 * left:.1f} %"


def _useful(rows: tuple[PolicyRow, ...], answers: int) -> Recommendation | None:
    """Return the board with the best ranking of honest teams that surely grants all answers; None: that is chance."""
    sure = [row.worth for row in rows if row.worth is not None and row.worth.answers >= answers]
    ranked = [(worth.kendall.mean, worth) for worth in sure if worth.kendall is not None]
    mean, best = max(ranked, key=lambda pair: pair[0], default=(0.0, None))
    return best if mean >= USEFUL else None


def _few(data: LabelSet, rows: tuple[PolicyRow, ...], answers: int) -> str:
    """Say which property of the board forbids a useful one."""
    taus = [row.kendall.mean for row in rows if row.kendall is not None]
    best = f"; the best keeps {max(taus):.2f} of 1 of honest teams' ranking, which is mostly chance" if taus else ""
    return f"{data.n_records} labels are too few for {answers} exact answers{best}"

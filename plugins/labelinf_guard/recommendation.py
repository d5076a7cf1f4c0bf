"""What a board is worth: its policy, what it proves and assumes, how many answers it grants, and what honest teams pay.

One function computes it, from what ``board.toml`` decides and how many labels there are; ``labelinf guard plan``,
``init`` and ``status`` render it, and ``labelinf advise`` does for a guarded board.

The contest of honest teams is made: 40 of them, of skill .86 +- .017, any two of which disagree on the correctness of
14 % of the records. A score of n records is then a team's skill and an own error of variance ``.14 / (2 n)``; what all
teams share moves nobody past another. Scores of other metrics are taken for as many shares of their range. Rank
correlation (Kendall) is with the scores on all records, undefended.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_guard.begin import rules_of
from labelinf_guard.certificate.statement import Certificate, counted, counts_said, points
from labelinf_guard.ledger.book import Book
from labelinf_guard.ledger.charge import MILLIBITS
from labelinf_guard.metrics import GuardMetric
from labelinf_guard.policy import Policy, exact
from labelinf_guard.terms import Sizes, certificate_of, scale_of
from labelinf_scores.game.utility import USEFUL

__all__ = ["ContestSpread", "Recommendation", "apart", "honest", "of_each_team", "recommend", "toml"]

_TEAMS, _SKILL, _SPREAD, _DISAGREE = 40, 0.86, 0.017, 0.141
_CONTESTS = 100
_PRICE = 7.0  #: bits of an honest answer of three decimals to plan with


@attrs.frozen(kw_only=True)
class ContestSpread:
    """What chance decides: its mean, and between what nine contests of ten lie.

    Attributes:
        mean: Over all contests.
        low: That one contest of twenty is below.
        high: That one contest of twenty is above.
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, drawn: NDArray[np.float64]) -> ContestSpread:
        """Return the spread of what was drawn."""
        low, high = np.quantile(drawn, [0.05, 0.95])
        return cls(mean=float(drawn.mean()), low=float(low), high=float(high))

    def text(self, decimals: int) -> str:
        """Write it."""
        return f"{self.mean:.{decimals}f} ({self.low:.{decimals}f} to {self.high:.{decimals}f})"


@attrs.frozen(kw_only=True)
class Recommendation:
    """A board as its host should know it before its first submission.

    Attributes:
        policy: In words.
        proves: Points over a perfect model, as a share, before the final release.
        assumes: What that rests on, in clauses.
        answers: Submissions of all teams together that are surely answered, whatever they ask.
        likely: How many, at the price of an honest answer; ``answers`` where no budget of bits limits them.
        team: Submissions of each team, and of each team on one day.
        kendall: Rank correlation of honest teams, as long as they are answered; None where the leader alone is known.
        displaced: How many of the first three are not.
        board: Text of ``board.toml``.
    """

    policy: str
    proves: float
    assumes: tuple[str, ...]
    answers: int
    likely: int
    team: tuple[int, int]
    kendall: ContestSpread | None
    displaced: ContestSpread | None
    board: str

    def lines(self) -> list[str]:
        """Return all of it but the file, to read."""
        return [
            f"policy   {self.policy}",
            f"proves   {points(self.proves)} points over a perfect model, all teams together",
            *(f"assumes  {clause}" for clause in self.assumes),
            f"grants   {self._grants()}; of each team {of_each_team(self.team, self.answers)}",
            f"honest   {self._honest()}",
        ]

    def _grants(self) -> str:
        sure = f"{counted(self.answers, 'answer')} of all teams together"
        if self.likely == self.answers:
            return sure
        return f"{sure}, whatever they ask; about {self.likely} that surprise no more than honest ones; closed then"

    def _honest(self) -> str:
        if self.kendall is None or self.displaced is None:
            return "the leader alone is known"
        poor = "; most of that order is chance: a sealed final release tells more" * (self.kendall.mean < USEFUL)
        return (
            f"in a close contest of {_TEAMS} made teams: rank correlation (Kendall) {self.kendall.text(2)} with the "
            f"undefended scores; of the first three {self.displaced.text(1)} are others (in nine contests of ten){poor}"
        )


def of_each_team(team: tuple[int, int], answers: int) -> str:
    """Say how much one team may send, in all and a day; a quota of all the board's answers limits nobody."""
    daily = f"{min(team[1], answers)} a day"
    return f"{counted(team[0], 'submission')}, {daily}" if team[0] < answers else daily


def recommend(policy: Policy, metric: GuardMetric, sizes: Sizes) -> Recommendation:
    """Return what a board of so many labels is worth.

    Raises:
        InputError: It proves less than its target, or what it may tell is less than one answer.
    """
    found, rules = certificate_of(policy, metric, sizes), rules_of(policy, metric, sizes)
    answers = likely = Book(rules=rules).sure()
    if rules.budget >= 0 and policy.release.show == "scores":
        price = max(1.0, _PRICE + math.log2(scale_of(policy, metric).answers / 1001))
        likely = max(answers, min(policy.budget.per_board, int(rules.budget / MILLIBITS / price)))
    kendall, displaced = _costs(policy, metric, sizes)
    return Recommendation(
        policy=_words(policy, None if rules.budget < 0 else rules.budget / MILLIBITS),
        proves=found.now,
        assumes=_assumptions(found),
        answers=answers,
        likely=likely,
        team=(policy.budget.per_team, policy.budget.per_team_day),
        kendall=kendall,
        displaced=displaced,
        board=toml(policy),
    )


def _words(policy: Policy, bits: float | None) -> str:
    """Return a policy in words: what is scored, what becomes of a score, and how many bits are told, if limited."""
    part, share, flip = policy.release, policy.public.share, policy.public.flip
    shown = {
        "scores": f"scores of {counted(part.decimals, 'decimal')}",
        "records": f"record of all teams, {counted(part.decimals, 'decimal')}",
        "ranks": "ranks alone",
    }[part.show]
    said = [
        f"{100 * share:.4g} % public" * (share < 1),
        f"{100 * flip:.4g} % of labels replaced once" * (flip > 0),
        f"{shown}, noise s = {part.noise:.3g} on a grid" if part.noise else shown,
        "" if bits is None else f"surprise ledger of {bits:.0f} bits",
    ]
    return ", ".join(filter(None, said))


def toml(policy: Policy) -> str:
    """Return the text of a ``board.toml`` that says the same: what has another value than when it is left out."""
    tables = []
    for table in attrs.fields(Policy):
        part = getattr(policy, table.name)
        known = {field.name: (getattr(part, field.name), field.default) for field in attrs.fields(type(part))}
        if table.name == "board" and policy.board.values:
            del known["classes"]
        said = [f"{name} = {_toml(value)}" for name, (value, usual) in known.items() if value not in (usual, [], {})]
        if said:
            tables.append("\n".join([f"[{table.name}]", *said, ""]))
    return "\n".join(tables)


def honest(
    records: int, share: float, deviation: float, decimals: int, *, seed: int = 0
) -> tuple[ContestSpread, ContestSpread]:
    """Return Kendall's tau of released with undefended scores, and how many of the first three are displaced.

    Args:
        records: N.
        share: Of them that is scored.
        deviation: Of the noise.
        decimals: Of an answer.
        seed: Of the contests.
    """
    from scipy.stats import kendalltau

    if records < 1 or not 0 < share <= 1:
        raise InputError(f"share={share} of records={records} must be more than none of them.")
    rng = np.random.default_rng(seed)
    public = max(1.0, share * records)
    skill = rng.normal(_SKILL, _SPREAD, (_CONTESTS, _TEAMS))
    error = math.sqrt(_DISAGREE / 2)
    seen = skill + rng.normal(0, error / math.sqrt(public), skill.shape)
    rest = skill + rng.normal(0, error / math.sqrt(max(1.0, records - public)), skill.shape)
    undefended = share * seen + (1 - share) * rest
    released = np.round(seen + rng.normal(0, deviation, skill.shape) if deviation else seen, decimals)
    taus = [float(kendalltau(one, other).statistic) for one, other in zip(undefended, released, strict=True)]
    first = [np.argsort(-scores, axis=1, kind="stable")[:, :3] for scores in (undefended, released)]
    lost = [3 - len(set(one) & set(other)) for one, other in zip(*(part.tolist() for part in first), strict=True)]
    return ContestSpread.of(np.array(taus)), ContestSpread.of(np.array(lost, dtype=np.float64))


def apart(policy: Policy) -> float:
    """Return ``1 - f K / (K - 1)``: how much of a label is left where each was replaced with probability f."""
    classes = len(policy.board.classes)
    return float(1 - exact(policy.public.flip) * Fraction(classes, classes - 1))


def _costs(
    policy: Policy, metric: GuardMetric, sizes: Sizes
) -> tuple[ContestSpread, ContestSpread] | tuple[None, None]:
    """Return what honest teams lose; of records the leader alone is known."""
    part, records = policy.release, sizes.public + sizes.sealed
    if part.show == "records":
        return None, None
    noise = part.noise / float(metric.high - metric.low)
    if policy.public.flip:  # of the records on which two teams disagree, a replaced one says the opposite
        left = apart(policy)
        noise = math.hypot(noise, math.sqrt((1 - left**2) * _DISAGREE / 2 / sizes.public)) / left
    decimals = 6 if part.noise or policy.public.flip or part.show == "ranks" else part.decimals
    return honest(records, sizes.public / records, noise, decimals)


def _assumptions(found: Certificate) -> tuple[str, ...]:
    terms = found.terms
    said = (
        "whoever attacks knows the true relation of labels and features; learning it is not counted",
        f"given that, labels of different {terms.group or 'records'} are independent of one another",
        counts_said(terms),
    )
    if terms.perfect is None:
        return said
    return (*said, f"a perfect model is right on {100 * terms.perfect:g} % (yours to assume; not measured)")


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }" if value else "{}"
    return json.dumps(value)

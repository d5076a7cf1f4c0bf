"""Which policy to take: what each proves, what the best known attack gets, and what honest teams lose.

Every policy is a ``board.toml`` of which one number is sought: the largest public share, the least noise or the fewest
replaced labels with which the target is proved. What it is worth :mod:`labelinf_guard.recommendation` says.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_guard.certificate.noise import FEWEST_STEPS
from labelinf_guard.certificate.statement import Certificate, certify, counted, points
from labelinf_guard.metrics import GuardMetric
from labelinf_guard.policy import BoardPart, BudgetPart, FinalPart, Policy, PublicPart, ReleasePart, TargetPart, exact
from labelinf_guard.recommendation import ContestSpread, Recommendation, apart, honest, recommend
from labelinf_guard.release import FINE
from labelinf_guard.terms import Sizes, metric_of, noise_of, scale_of, steps_of, terms_of

__all__ = ["PlanQuestion", "PolicyRow", "lines", "table"]

_RANKS = 10
_SHARES = 10_000  # public shares are multiples of its inverse
_NOISES, _FINER = 1400, 1.01  # deviations that are tried, each so many times the one before
_NONE = "No live board can be proved for so few records. What is left: no live scores, and one sealed final release."


@attrs.frozen(kw_only=True, slots=False)
class PlanQuestion:
    """The question.

    Attributes:
        records: N.
        classes: K, unless labels are values.
        values: Least and greatest value and the step between, where labels are numbers of a grid.
        metric: One that ships.
        low: Of all its scores, where it runs in a child: see ``board.toml``.
        high: The same from above.
        decimals: Of an answer.
        teams: How many.
        submissions: Of every team.
        gain: The target, as a share.
        perfect: ``p*``, if it is assumed.
        counts_known: Whether attackers may know the class counts.
    """

    records: int
    classes: int = 2
    values: tuple[float, ...] = ()
    metric: str = "accuracy"
    low: float | None = None
    high: float | None = None
    decimals: int = 3
    teams: int = 100
    submissions: int = 100
    gain: float = 0.1
    perfect: float | None = None
    counts_known: bool = True

    @property
    def answers(self) -> int:
        """Of all teams together."""
        return self.teams * self.submissions

    @cached_property
    def policy(self) -> Policy:
        """A board of these labels, this metric and these teams, that scores all labels."""
        classes = {"values": list(self.values)} if self.values else {"classes": [str(k) for k in range(self.classes)]}
        return Policy(
            board=BoardPart(
                labels="labels.csv", id="id", label="label", metric=self.metric, low=self.low, high=self.high, **classes
            ),
            public=PublicPart(share=1.0),
            release=ReleasePart(decimals=self.decimals),
            budget=BudgetPart(per_team=self.submissions, per_board=self.answers),
            target=TargetPart(
                gain=self.gain, perfect=-1.0 if self.perfect is None else self.perfect, counts_known=self.counts_known
            ),
        )

    @cached_property
    def scored(self) -> GuardMetric:
        """The metric."""
        return metric_of(self.policy, Path())

    def sizes(self, policy: Policy) -> Sizes:
        """Return how many labels a policy scores."""
        public = max(1, round(exact(policy.public.share) * self.records))
        return Sizes(public=public, sealed=self.records - public)

    def certificate(self, policy: Policy) -> Certificate:
        """Return what a policy proves whose ledger limits no bits."""
        return certify(terms_of(policy, self.scored, self.sizes(policy), math.inf))

    def meets(self, policy: Policy) -> bool:
        """Whether a policy proves the target without a limit of bits; of sealed labels also after a final release."""
        found = self.certificate(policy)
        if found.after is None:
            return found.now <= self.gain
        share = float(found.terms.share)
        return found.after <= share * found.terms.left + (1 - share) * self.gain


@attrs.frozen(kw_only=True)
class PolicyRow:
    """One policy.

    Attributes:
        policy: In words.
        proves: Points over a perfect model, as a share; None: nothing.
        attack: What the best known attack gains of labels that are fair coins, as a share.
        kendall: Rank correlation of honest teams; None where they are no longer answered.
        displaced: How many of the first three are not.
        note: What else to know.
        worth: All there is to know of it, with its ``board.toml``; None where it meets no target.
        recommended: Whether it is the one to take.
        split: Whether its proof is of a secret part of the labels alone, whatever is computed of them.
    """

    policy: str
    proves: float | None
    attack: float | None = None
    kendall: ContestSpread | None = None
    displaced: ContestSpread | None = None
    note: str = ""
    worth: Recommendation | None = None
    recommended: bool = False
    split: bool = False


def table(asked: PlanQuestion, progress: Callable[[str, int], None] = lambda policy, of: None) -> list[PolicyRow]:
    """Return every policy that meets the target, the best for honest teams recommended, and what doing nothing proves.

    Args:
        asked: The question.
        progress: Called before every policy with its name and how many there are.

    Raises:
        InputError: There is no such metric, of such labels.
    """
    makers = {
        "a public split": _split,
        "noise": _noise,
        "a ledger": _ledger,
        "replaced labels": _replaced,
        "the record": _records,
    }
    scale_of(asked.policy, asked.scored)  # what cannot be scored at all is said once
    found = []
    for name, make in makers.items():
        progress(name, len(makers) + 1)
        if (row := make(asked)) is not None:
            found.append(row)
    progress("the final release", len(makers) + 1)
    if useful := [row for row in found if row.kendall is not None]:
        best = max(useful, key=lambda row: row.kendall.mean if row.kendall else 0.0)
        found = [attrs.evolve(row, recommended=row is best) for row in found]
    bare = asked.certificate(asked.policy)
    said = f"nothing: {bare.terms.public.bits:.0f} bits of answers for {counted(asked.records, 'label')}"
    return [*found, *_final(asked), *_ranks(asked), PolicyRow(policy=said, proves=_or_void(bare))]


def lines(rows: Sequence[PolicyRow]) -> list[str]:
    """Return a table to read, and what is recommended with the file that deploys it."""
    wide = max([54, *(len(row.policy) for row in rows)])
    said = [f"{'policy':{wide}} {'proves, points':>14} {'best attack':>11} {'Kendall':>8} {'top 3 out':>9}"]
    for row in rows:
        proves = "void" if row.proves is None else points(row.proves)
        attack = "" if row.attack is None else f"{100 * row.attack:.1f}"
        kendall = "" if row.kendall is None else f"{row.kendall.mean:.2f}"
        displaced = "" if row.displaced is None else f"{row.displaced.mean:.1f}"
        said.append(
            f"{row.policy:{wide}} {proves:>14} {attack:>11} {kendall:>8} {displaced:>9}"
            f"{'  recommended' if row.recommended else ''}{row.note and '  ' + row.note}".rstrip()
        )
    said.append(
        "points over a perfect model (that knows the class counts, where attackers do), all teams together; best "
        "attack: known, on labels that are fair coins"
    )
    best = next((row.worth for row in rows if row.recommended), None)
    if best is None:
        return [*said, _NONE]
    return [*said, "", "recommended", *best.lines(), "", *(f"  {line}".rstrip() for line in best.board.splitlines())]


def _split(asked: PlanQuestion) -> PolicyRow | None:
    """The largest public share of which so many exact answers may be told."""
    policy = _shared(asked)
    if policy is None:
        return None
    row = _row(asked, policy, asked.sizes(policy).public / asked.records * _coin(asked))
    return attrs.evolve(row, split=True)


def _shared(asked: PlanQuestion) -> Policy | None:
    def of(share: int) -> Policy:
        return attrs.evolve(asked.policy, public=PublicPart(share=share / _SHARES))

    most = bisect_left(range(1, _SHARES), True, key=lambda share: not asked.meets(of(share)))
    return of(most) if most else None


def _noise(asked: PlanQuestion) -> PolicyRow | None:
    """The least noise behind which all answers may be told of all records."""
    move = asked.scored.move(asked.records, len(asked.policy.board.classes))
    if move is None:
        return None
    least = max(float(move) * math.sqrt(asked.answers) / 20, float(move * FEWEST_STEPS / FINE) * 1.01)

    def of(noise: float) -> Policy:
        return attrs.evolve(asked.policy, release=attrs.evolve(asked.policy.release, noise=noise))

    policy = _quietest(asked, least, of)
    if policy is None:
        return None
    told = noise_of(policy, asked.scored, asked.records, policy.release.noise)
    distance = steps_of(told, 1, asked.answers).distance() / 2 if told and asked.answers >= asked.records else None
    return _row(asked, policy, distance, note="" if asked.counts_known else "if counts are unknown")


def _quietest(asked: PlanQuestion, least: float, of: Callable[[float], Policy]) -> Policy | None:
    """Return the policy of the least noise, of three digits, that meets the target; None where none does."""

    def policy(step: int) -> Policy:
        return of(float(f"{least * _FINER ** (step + 1):.3g}"))

    found = bisect_left(range(_NOISES), True, key=lambda step: asked.meets(policy(step)))
    return policy(found) if found < _NOISES else None


def _ledger(asked: PlanQuestion) -> PolicyRow | None:
    """As many bits as the target allows, told exactly."""
    if asked.meets(asked.policy):
        return None
    try:
        found = _row(asked, asked.policy)
    except InputError:  # known class counts alone are worth more
        return None
    if not (found.worth and found.worth.answers):
        return None
    likely = found.worth.likely
    attack = math.erf(math.sqrt(likely / asked.records / 2)) / 2
    return attrs.evolve(found, attack=attack, note=f"about {counted(likely, 'answer')} in all, then closed")


def _replaced(asked: PlanQuestion) -> PolicyRow | None:
    """The least share of labels that is replaced, behind which so many exact answers may be told."""
    steps = range(1, round(1000 * _coin(asked)))  # of a thousandth

    def of(flip: int) -> Policy:
        return attrs.evolve(asked.policy, public=PublicPart(share=1.0, flip=flip / 1000))

    least = bisect_left(steps, True, key=lambda flip: asked.meets(of(flip)))
    if least == len(steps):
        return None
    policy = of(steps[least])
    return _row(asked, policy, apart(policy) * _coin(asked), note="protects every label, for ever")


def _records(asked: PlanQuestion) -> PolicyRow | None:
    """The record of the board alone, of all records: of two decimals."""
    policy = attrs.evolve(asked.policy, release=ReleasePart(show="records", decimals=2))
    return _row(asked, policy, note="the leader alone is known") if asked.meets(policy) else None


def _row(asked: PlanQuestion, policy: Policy, attack: float | None = None, *, note: str = "") -> PolicyRow:
    worth = recommend(policy, asked.scored, asked.sizes(policy))
    enough = worth.likely >= asked.answers
    return PolicyRow(
        policy=worth.policy,
        proves=worth.proves,
        attack=attack,
        kendall=worth.kendall if enough else None,
        displaced=worth.displaced if enough else None,
        note=note,
        worth=worth,
    )


def _ranks(asked: PlanQuestion) -> Iterator[PolicyRow]:
    policy = attrs.evolve(asked.policy, release=ReleasePart(show="ranks"))
    try:
        proves = _or_void(asked.certificate(policy))
    except InputError:  # of so many submissions no board gives ranks
        return
    kendall, displaced = honest(asked.records, 1.0, 0.0, 6)
    yield PolicyRow(
        policy=f"ranks alone of {counted(asked.answers, 'answer')}",
        proves=proves,
        kendall=kendall,
        displaced=displaced,
        attack=_coin(asked) if asked.answers > asked.records else None,
        note="no defence: each label by one comparison",
    )


def _final(asked: PlanQuestion) -> Iterator[PolicyRow]:
    """What a final release, exact or with noise and the exact order of ten, adds to the split."""
    split = _shared(asked)
    if split is None or not asked.sizes(split).sealed:  # so wide a target that all are public
        return
    ranks = min(_RANKS, asked.teams)

    def of(noise: float, ranks: int = ranks) -> Policy:
        return attrs.evolve(split, final=FinalPart(scores=asked.teams, noise=noise, ranks=ranks))

    said = f"then, final release of {counted(asked.teams, 'exact score')}"
    yield PolicyRow(policy=said, proves=_or_void(asked.certificate(of(0.0, 0)), end=True))
    sealed = asked.sizes(split).sealed
    move = asked.scored.move(sealed, len(split.board.classes))
    if move is None or asked.meets(of(0.0)):
        return
    if quiet := _quietest(asked, float(move * FEWEST_STEPS / FINE) * 1.01, of):
        order = f", order of {ranks}" if ranks > 1 else ""
        said = f"then, final release with noise s = {quiet.final.noise:.3g}{order}"
        yield PolicyRow(policy=said, proves=_or_void(asked.certificate(quiet), end=True))


def _coin(asked: PlanQuestion) -> float:
    """Return what is to be gained of labels of which every class is as likely."""
    return 1 - 1 / len(asked.policy.board.classes)


def _or_void(found: Certificate, *, end: bool = False) -> float | None:
    proves = found.after if end and found.after is not None else found.now
    return None if proves >= found.terms.left - 1e-9 else proves

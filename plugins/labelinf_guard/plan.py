"""Which policy to take: what each proves, what the best known attack gets, and what honest teams lose.

The contest of honest teams is made: 40 of them, of skill .86 +- .017, any two of which disagree on the correctness of
14 % of the records. A score of n records is then a team's skill and an own error of variance ``.14 / (2 n)``; what all
teams share moves nobody past another. Scores of other metrics are taken for as many shares of their range. Rank
correlation (Kendall) is with the scores on all records, undefended; its own error is about .05, so that one decimal
would do for a single contest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import attrs
import numpy as np

from labelinf_core.contracts.errors import InputError
from labelinf_guard.certificate.gain import bits_of_gain
from labelinf_guard.certificate.noise import FEWEST_STEPS, StepNoise, capacity_bits, order_bits, score_variance
from labelinf_guard.certificate.statement import Part, Terms, certify, points, sealed_gain
from labelinf_guard.certificate.transcripts import transcript_bits
from labelinf_guard.metrics import Metric
from labelinf_guard.policy import BoardPart, Policy, ReleasePart, exact
from labelinf_guard.release import FINE
from labelinf_guard.terms import metric_of, scale_of
from labelinf_guard.values import Deviation

__all__ = ["Asked", "Row", "honest", "lines", "table"]

_TEAMS, _SKILL, _SPREAD, _DISAGREE = 40, 0.86, 0.017, 0.141
_CONTESTS = 100
_PRICE = 7.0  #: bits of an honest answer of three decimals to plan with
_RANKS = 10


@attrs.frozen(kw_only=True, slots=False)
class Asked:
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
        """A board of these labels and this metric."""
        classes = {"values": list(self.values)} if self.values else {"classes": [str(k) for k in range(self.classes)]}
        part = BoardPart(labels="l", id="i", label="y", metric=self.metric, low=self.low, high=self.high, **classes)
        return Policy(board=part, release=ReleasePart(decimals=self.decimals))

    @cached_property
    def scored(self) -> Metric:
        """The metric."""
        return metric_of(self.policy, Path())

    @property
    def n_classes(self) -> int:
        """K; values are classes of their own."""
        return len(self.policy.board.classes)

    def levels(self, decimals: int) -> int:
        """Return how many answers of so many decimals there are."""
        return scale_of(attrs.evolve(self.policy, release=ReleasePart(decimals=decimals)), self.scored).answers

    def noise(self, deviation: float) -> StepNoise:
        """Return the noise of all answers about all records, of which one label moves the score by ``move``."""
        move = self.scored.move(self.records, self.n_classes)
        assert move is not None
        return StepNoise(moved=FINE, answers=self.answers, variance=(exact(deviation) / move * FINE) ** 2)

    def terms(
        self,
        public: int,
        *,
        bits: float = math.inf,
        noise: StepNoise | None = None,
        flip: Fraction = Fraction(0),
        final: float | None = None,
    ) -> Terms:
        """Return the terms of a board that scores ``public`` labels."""
        return Terms(
            classes=self.n_classes,
            public=Part(labels=public, bits=bits, noise=noise, flip=flip),
            sealed=Part(labels=self.records - public),
            perfect=self.perfect,
            counts_known=self.counts_known,
            final=final,
            values=bool(self.values),
        )


@attrs.frozen(kw_only=True)
class Row:
    """One policy.

    Attributes:
        policy: In words.
        proves: Points over a perfect model, as a share; None: nothing.
        attack: What the best known attack gains of labels that are fair coins, as a share.
        kendall: Rank correlation of honest teams; None where they are no longer answered.
        displaced: How many of the first three are not.
        note: What else to know.
        recommended: Whether it is the one to take.
    """

    policy: str
    proves: float | None
    attack: float | None
    kendall: float | None = None
    displaced: float | None = None
    note: str = ""
    recommended: bool = False


def table(asked: Asked, progress: Callable[[str, int], None] = lambda policy, of: None) -> list[Row]:
    """Return every policy that meets the target, the first of them recommended, and what doing nothing proves.

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
    found = []
    for name, make in makers.items():
        progress(name, len(makers) + 1)
        if (row := make(asked)) is not None:
            found.append(row)
    progress("the final release", len(makers) + 1)
    useful = [row for row in found if row.kendall is not None and row.kendall >= 0.6]
    if useful:
        best = max(useful, key=lambda row: row.kendall or 0.0)
        found = [attrs.evolve(row, recommended=row is best) for row in found]
    return [*found, *_final(asked), _ranks(asked), _nothing(asked)]


def lines(rows: Sequence[Row]) -> list[str]:
    """Return a table to read."""
    wide = max([54, *(len(row.policy) for row in rows)])
    said = [f"{'policy':{wide}} {'proves, points':>14} {'best attack':>11} {'Kendall':>8} {'top 3 out':>9}"]
    for row in rows:
        proves = "void" if row.proves is None else points(row.proves)
        attack = "" if row.attack is None else f"{100 * row.attack:.1f}"
        kendall = "" if row.kendall is None else f"{row.kendall:.2f}"
        displaced = "" if row.displaced is None else f"{row.displaced:.1f}"
        said.append(
            f"{row.policy:{wide}} {proves:>14} {attack:>11} {kendall:>8} {displaced:>9}"
            f"{'  recommended' if row.recommended else ''}{row.note and '  ' + row.note}".rstrip()
        )
    if not any(row.recommended for row in rows):
        said.append(
            "No live board that is worth having can be proved for so few records. What is left: no live scores, and "
            "one sealed final release."
        )
    return [
        *said,
        "points over a perfect model (that knows the class counts, where attackers do), all teams together; best "
        "attack: known, on labels that are fair coins",
        "model: whoever attacks knows the true relation of labels and features; learning it is not counted",
    ]


def _split(asked: Asked) -> Row | None:
    """The largest public share of which any number of exact answers may be told."""
    public = _most(asked.records - 1, lambda n: certify(asked.terms(n)).now <= asked.gain)
    if public == 0:
        return None
    share = public / asked.records
    kendall, displaced = honest(asked.records, share, 0.0, asked.decimals)
    return Row(
        policy=f"{100 * share:.0f} % public, {asked.decimals} decimals, any number of answers",
        proves=certify(asked.terms(public)).now,
        attack=share * (1 - 1 / asked.n_classes),
        kendall=kendall,
        displaced=displaced,
    )


def _noise(asked: Asked) -> Row | None:
    """The least noise behind which all answers may be told of all records."""
    move = asked.scored.move(asked.records, asked.n_classes)
    if move is None:
        return None

    def proves(deviation: float) -> float:
        return certify(asked.terms(asked.records, noise=asked.noise(deviation))).now

    most = float(move) * math.sqrt(asked.answers)
    low, high = max(most / 20, float(move * FEWEST_STEPS / FINE) * 1.001), most * 1e6
    if proves(high) > asked.gain:
        return None
    for _ in range(30):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if proves(middle) <= asked.gain else (middle, high)
    kendall, displaced = honest(asked.records, 1.0, high / float(asked.scored.high - asked.scored.low), 6)
    return Row(
        policy=f"noise on a grid, s = {high:.2g}, {asked.answers} answers",
        proves=proves(high),
        attack=asked.noise(high).distance() / 2 if asked.answers >= asked.records else None,
        kendall=kendall,
        displaced=displaced,
        note="" if asked.counts_known else "if counts are unknown",
    )


def _ledger(asked: Asked) -> Row | None:
    """As many bits as the target allows, told exactly."""
    terms = asked.terms(asked.records)
    bits = bits_of_gain(asked.gain, asked.records, classes=asked.n_classes, perfect=asked.perfect) - terms.rare
    price = max(1.0, _PRICE + math.log2(asked.levels(asked.decimals) / 1001))
    answers = int(bits / price) if 0 < bits < math.inf else 0
    if answers < 1:
        return None
    enough = answers >= asked.answers
    kendall, displaced = honest(asked.records, 1.0, 0.0, asked.decimals) if enough else (None, None)
    reached = 0.5 * (1 + math.erf(math.sqrt(answers / asked.records) / math.sqrt(2))) - 0.5
    return Row(
        policy=f"surprise ledger, {asked.decimals} decimals, {bits:.0f} bits",
        proves=certify(asked.terms(asked.records, bits=bits)).now,
        attack=reached,
        kendall=kendall,
        displaced=displaced,
        note=f"about {answers} answers in all, then closed",
    )


def _replaced(asked: Asked) -> Row | None:
    """The least share of labels that is replaced, behind which any number of exact answers may be told."""
    steps = round(1000 * (1 - 1 / asked.n_classes))  # of a thousandth
    kept = _most(
        steps - 1, lambda n: certify(asked.terms(asked.records, flip=Fraction(steps - n, 1000))).now <= asked.gain
    )
    flip = Fraction(steps - kept, 1000)
    if kept == 0:
        return None
    replaced, apart = float(flip), float(1 - flip * Fraction(asked.n_classes, asked.n_classes - 1))
    # of the records on which two teams disagree, a replaced one says the opposite
    deviation = math.sqrt(max(0.0, 1 - apart**2) * _DISAGREE / 2 / asked.records) / apart
    kendall, displaced = honest(asked.records, 1.0, deviation, 6)
    return Row(
        policy=f"{100 * replaced:.1f} % of labels replaced once, any number of answers",
        proves=certify(asked.terms(asked.records, flip=flip)).now,
        attack=apart * (1 - 1 / asked.n_classes),
        kendall=kendall,
        displaced=displaced,
        note="protects every label, for ever",
    )


def _records(asked: Asked) -> Row | None:
    """The record of the board alone, of all records: of two decimals."""
    bits = transcript_bits("records", asked.levels(2), asked.answers)
    proves = certify(asked.terms(asked.records, bits=bits)).now
    if proves > asked.gain:
        return None
    return Row(
        policy=f"record of all teams, 2 decimals, {asked.answers} answers",
        proves=proves,
        attack=None,
        note="the leader alone is known",
    )


def _ranks(asked: Asked) -> Row:
    bits = transcript_bits("ranks", 0, asked.answers)
    kendall, displaced = honest(asked.records, 1.0, 0.0, 6)
    return Row(
        policy=f"ranks alone of {asked.answers} answers",
        proves=_or_void(asked, certify(asked.terms(asked.records, bits=bits)).now),
        attack=1 - 1 / asked.n_classes if asked.answers > asked.records else None,
        kendall=kendall,
        displaced=displaced,
        note="no defence: each label by one comparison",
    )


def _final(asked: Asked) -> list[Row]:
    """What a final release with noise of a sampling error and the exact order of ten adds to the split."""
    public = _most(asked.records - 1, lambda n: certify(asked.terms(n)).now <= asked.gain)
    sealed = asked.records - public
    move = asked.scored.move(sealed, asked.n_classes) if sealed else None
    if public == 0 or move is None:
        return []
    order = order_bits(asked.teams, _RANKS)
    allowed = bits_of_gain(asked.gain, sealed, classes=asked.n_classes, perfect=asked.perfect)
    rest = allowed - order - asked.terms(public).rare
    full = asked.teams * math.log2(asked.levels(asked.decimals) + 1)
    said = f"then, final release of {asked.teams} exact scores"
    exact_gain = certify(asked.terms(public, final=full)).after
    rows = [Row(policy=said, proves=_or_void(asked, exact_gain), attack=None)]
    variance = score_variance(move * sealed, sealed, classes=asked.n_classes, counts_known=asked.counts_known)
    if isinstance(asked.scored, Deviation) and asked.scored.root:  # a root is no mean of numbers
        variance = None
    if 0 < rest < full and variance is not None:
        deviation = math.sqrt(float(variance) / (2 ** (2 * rest / asked.teams) - 1)) * 1.0001
        bits = order + capacity_bits(asked.teams, variance, exact(deviation) ** 2)
        after = float(asked.terms(public).share) * asked.terms(public).left + sealed_gain(asked.terms(public), bits)
        words = f"then, final release with noise s = {deviation:.2g}, order of {_RANKS}"
        rows.append(Row(policy=words, proves=_or_void(asked, after), attack=None))
    return rows


def _nothing(asked: Asked) -> Row:
    bits = asked.answers * math.log2(asked.levels(asked.decimals) + 1)
    proves = _or_void(asked, certify(asked.terms(asked.records, bits=bits)).now)
    return Row(policy=f"nothing: {bits:.0f} bits of answers for {asked.records} labels", proves=proves, attack=None)


def _or_void(asked: Asked, gain: float | None) -> float | None:
    return None if gain is None or gain >= asked.terms(asked.records).left - 1e-9 else gain


def _most(limit: int, holds: Callable[[int], bool]) -> int:
    """Return the largest number up to ``limit`` for which something holds that holds for all smaller ones; 0: none."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def honest(records: int, share: float, deviation: float, decimals: int, *, seed: int = 0) -> tuple[float, float]:
    """Return Kendall's tau of released with undefended scores, and how many of the first three are displaced.

    Args:
        records: N.
        share: Of them that is scored.
        deviation: Of the noise.
        decimals: Of an answer.
        seed: Of the contests.
    """
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
    taus = [_kendall(one, other) for one, other in zip(undefended, released, strict=True)]
    first = [np.argsort(-scores, axis=1, kind="stable")[:, :3] for scores in (undefended, released)]
    kept = [len(set(one) & set(other)) for one, other in zip(*(part.tolist() for part in first), strict=True)]
    return float(np.mean(taus)), 3 - float(np.mean(kept))


def _kendall(one: np.ndarray, other: np.ndarray) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(one, other).statistic)

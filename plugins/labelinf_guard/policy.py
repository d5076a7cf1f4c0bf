"""``board.toml``: everything a host decides, read strictly, all faults at once.

    [board]
    title = "Retinopathy"
    labels = "private/labels.csv"       # a column of ids, one of labels, optionally one of groups
    id = "image"
    label = "grade"
    group = "patient"                   # labels of one group may depend on each other
    classes = ["0", "1"]                # public, so that no label decides what is told about a file
    metric = "log-loss"                 # or ours = "ourmetrics:score" with low and high
    parameters = { clip = 0.01 }
    # values = [0.0, 5.0, 0.5]          # instead of classes, for metric = "mse" and others of values: a grid

    [public]
    share = 0.2                         # a fixed subset, drawn by init, in whole groups; 1 = no split
    secret = true
    flip = 0.0                          # each public label is replaced by another class with this probability, once

    [release]
    show = "scores"                     # or "records": the best of all teams so far; or "ranks": how many were better
    decimals = 3
    low = 0.5                           # what is below is told as this (left out: nothing is); high likewise
    noise = 0.0                         # deviation of the discrete Gaussian noise, in units of the score
    rule = "near"                       # how answers are predicted and charged; or "uniform"
    beat = 10.0                         # seconds; answers leave at multiples of it

    [budget]
    bits = -1.0                         # of all answers together; -1: as many as the target allows
    per_team = 100
    per_team_day = 5
    per_day = 1000

    [final]
    scores = 0                          # how many sealed scores will be released, once
    noise = 0.0                         # their noise; 0 releases them exactly
    ranks = 0                           # how many first ranks are released exactly; without scores, names alone
    ends = "2027-01-31"                 # when a platform shows private scores: for exported files (left out: unknown)

    [target]
    gain = 0.1                          # over a perfect model, before the final release
    doubt = 1e-6
    perfect = -1.0                      # what a perfect model scores in accuracy, if you will assume it; -1: nothing
    counts_known = true
    accept_void = false

What is left out has the value shown, but ``low``, ``high``, ``ends``, and the names in ``[board]``, which have none.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
from cattrs.errors import ClassValidationError

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import read_regular
from labelinf_core.specs.faults import faults, strict_converter

__all__ = [
    "BoardPart",
    "BudgetPart",
    "FinalPart",
    "LimitsPart",
    "Policy",
    "PublicPart",
    "ReleasePart",
    "TargetPart",
    "exact",
    "read_policy",
]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MOST_VALUES = 10_000
_LEAST = """\
[board]
labels = "labels.csv"
id = "id"                 # a column of that file
label = "label"           # another
classes = ["0", "1"]
metric = "accuracy"

[public]
share = 0.1               # labelinf guard plan says how large it may be"""
_ge, _gt, _le = attrs.validators.ge, attrs.validators.gt, attrs.validators.le


def exact(value: float) -> Fraction:
    """Return the number that a host who writes ``value`` means: 1/5 for 0.2."""
    return Fraction(repr(value))


def _finite(_: Any, attribute: attrs.Attribute[float], value: float) -> None:
    if not math.isfinite(value):
        raise ValueError(f"{attribute.name}={value} must be a finite number")


def _grid(values: list[float]) -> list[str]:
    """Return the numbers from the first to the second, in steps of the third, all with the same decimals."""
    if not values:
        return []
    if len(values) != 3 or not all(map(math.isfinite, values)) or not (values[0] < values[1] and values[2] > 0):
        raise ValueError("values must be three numbers, as in [0.0, 5.0, 0.5]: least, greatest and step")
    low, high, step = map(exact, values)
    if (high - low) % step or (high - low) / step > _MOST_VALUES:
        raise ValueError(f"values={values}: whole steps must lead to the greatest, {_MOST_VALUES} at most")
    digits = max(max(0, -int(Decimal(repr(value)).normalize().as_tuple().exponent)) for value in values)
    return [
        f"{Decimal((low + k * step).numerator) / (low + k * step).denominator:.{digits}f}"
        for k in range(int((high - low) / step) + 1)
    ]


@attrs.frozen(kw_only=True)
class BoardPart:
    """Labels and metric.

    Attributes:
        title: Of the board.
        labels: CSV file, beside ``board.toml`` unless absolute.
        id: Column of ids.
        label: Column of labels.
        group: Column of groups; empty: every label is one.
        values: Least and greatest label and the step between, where labels are numbers of a grid; instead of classes.
        classes: Names of the classes, in order; the last one is the positive one. Where a metric is of values they
            are numbers, and predictions are cut to their range.
        metric: One that ships: of the guard's own, or of the metrics of scores, which run as ``ours`` do; empty when
            ``ours`` is given.
        parameters: Of that metric.
        ours: ``module:function`` of the host's own, called as ``function(labels, predictions)``.
        predicts: What ``ours`` takes: ``classes``, ``probabilities`` or, with labels as the numbers they are,
            ``values``.
        low: Of all scores of ``ours``, or of a metric of scores, which must be said: what is below counts as this.
        high: The same from above.
        minimise: Whether smaller scores of ``ours`` are better.
    """

    labels: str = attrs.field(validator=attrs.validators.min_len(1))
    id: str = attrs.field(validator=attrs.validators.min_len(1))
    label: str = attrs.field(validator=attrs.validators.min_len(1))
    values: list[float] = attrs.field(factory=list)
    classes: list[str] = attrs.field(
        default=attrs.Factory(lambda part: _grid(part.values), takes_self=True), validator=attrs.validators.min_len(2)
    )
    title: str = "A guarded board"
    group: str = ""
    metric: str = ""
    parameters: dict[str, float] = attrs.field(factory=dict)
    ours: str = ""
    predicts: str = attrs.field(
        default="probabilities", validator=attrs.validators.in_(("classes", "probabilities", "values"))
    )
    low: float | None = attrs.field(default=None, validator=attrs.validators.optional(_finite))
    high: float | None = attrs.field(default=None, validator=attrs.validators.optional(_finite))
    minimise: bool = False

    def __attrs_post_init__(self) -> None:
        if bool(self.metric) == bool(self.ours):
            raise ValueError("give either metric, one that ships, or ours = 'module:function'")
        if self.values and self.classes != _grid(self.values):
            raise ValueError("give either classes or values")
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("classes must differ from each other")
        if self.low is not None and self.high is not None and self.high <= self.low:
            raise ValueError(f"high={self.high} must be above low={self.low}")


@attrs.frozen(kw_only=True)
class PublicPart:
    """Which labels the board scores.

    Attributes:
        share: Of all labels, in (0, 1].
        secret: Whether nobody is told which.
        flip: Probability with which each of them is replaced by another class, once, before anything is scored.
    """

    share: float = attrs.field(default=0.2, validator=[_gt(0), _le(1)])
    secret: bool = True
    flip: float = attrs.field(default=0.0, validator=[_ge(0), attrs.validators.lt(1)])


@attrs.frozen(kw_only=True)
class ReleasePart:
    """What becomes of a score before it is told.

    Attributes:
        show: ``scores``; ``records``: the best of all teams, after every submission; ``ranks``: of every submission,
            among those before it.
        decimals: Of the answer.
        low: What is below is told as this.
        high: What is above is told as this.
        noise: Deviation of the noise, in units of the score.
        rule: ``near`` or ``uniform``: how scores are predicted.
        beat: Seconds between the moments at which answers leave; 0 for boards without a clock.
    """

    show: str = attrs.field(default="scores", validator=attrs.validators.in_(("scores", "records", "ranks")))
    decimals: int = attrs.field(default=3, validator=[_ge(0), _le(6)])
    low: float | None = attrs.field(default=None, validator=attrs.validators.optional(_finite))
    high: float | None = attrs.field(default=None, validator=attrs.validators.optional(_finite))
    noise: float = attrs.field(default=0.0, validator=[_ge(0), _finite])
    rule: str = attrs.field(default="near", validator=attrs.validators.in_(("near", "uniform")))
    beat: float = attrs.field(default=10.0, validator=[_gt(0), _le(86_400)])


@attrs.frozen(kw_only=True)
class BudgetPart:
    """How much is told.

    Attributes:
        bits: Of all answers together; -1: as many as the target allows.
        per_team: Submissions of one team.
        per_team_day: Of one team on one day.
        per_day: Of all teams on one day.
        per_board: Of all teams.
    """

    bits: float = attrs.field(default=-1.0, validator=[_ge(-1), _finite])
    per_team: int = attrs.field(default=100, validator=_ge(1))
    per_team_day: int = attrs.field(default=5, validator=_ge(1))
    per_day: int = attrs.field(default=1000, validator=_ge(1))
    per_board: int = attrs.field(default=100_000, validator=_ge(1))


@attrs.frozen(kw_only=True)
class FinalPart:
    """The final release: what is told of the sealed labels when the board is closed. It can be closed in any case.

    Attributes:
        scores: How many are released; 0: none.
        noise: Deviation of their noise, in units of the score.
        ranks: How many first ranks of the exact order are released; without scores, of all teams that were answered.
        ends: Day, as 2027-01-31, on which a platform without a ledger shows private scores; empty where it is unknown.
    """

    scores: int = attrs.field(default=0, validator=_ge(0))
    noise: float = attrs.field(default=0.0, validator=[_ge(0), _finite])
    ranks: int = attrs.field(default=0, validator=_ge(0))
    ends: str = attrs.field(default="")

    @ends.validator
    def _is_a_day(self, attribute: attrs.Attribute[str], value: str) -> None:
        if value and not _DAY.fullmatch(value):
            raise ValueError(f"ends={value!r} must be a day such as 2027-01-31")


@attrs.frozen(kw_only=True)
class TargetPart:
    """What the certificate has to prove.

    Attributes:
        gain: Over a perfect model, before the final release, as a share of all labels.
        doubt: Of the game's sentence.
        perfect: Accuracy of a perfect model, assumed; -1: nothing is.
        counts_known: Whether attackers may know the class counts.
        accept_void: Start a board of which nothing is proved.
    """

    gain: float = attrs.field(default=0.1, validator=[_gt(0), _le(1)])
    doubt: float = attrs.field(default=1e-6, validator=[_gt(0), _le(0.5)])
    perfect: float = attrs.field(default=-1.0, validator=[_ge(-1), _le(1)])
    counts_known: bool = True
    accept_void: bool = False


@attrs.frozen(kw_only=True)
class LimitsPart:
    """What a submission and the host's own scorer may use.

    Attributes:
        bytes: Of a file, and of what it unpacks to; never more than as many ids can need.
        seconds: Of the scorer.
        memory: Of the scorer, in bytes.
    """

    bytes: int = attrs.field(default=1 << 26, validator=_ge(1))
    seconds: float = attrs.field(default=5.0, validator=_gt(0))
    memory: int = attrs.field(default=1 << 31, validator=_ge(1 << 20))


@attrs.frozen(kw_only=True)
class Policy:
    """All of ``board.toml``.

    Attributes:
        board: Labels and metric.
        public: Which labels are scored.
        release: What becomes of a score.
        budget: How much is told.
        final: The final release.
        target: What has to be proved.
        limits: Of files and scorers.
    """

    board: BoardPart
    public: PublicPart = attrs.field(factory=PublicPart)
    release: ReleasePart = attrs.field(factory=ReleasePart)
    budget: BudgetPart = attrs.field(factory=BudgetPart)
    final: FinalPart = attrs.field(factory=FinalPart)
    target: TargetPart = attrs.field(factory=TargetPart)
    limits: LimitsPart = attrs.field(factory=LimitsPart)

    def __attrs_post_init__(self) -> None:
        if self.perfect is not None and self.perfect * len(self.board.classes) < 1 - 1e-9:
            raise ValueError(f"[target] perfect={self.perfect} is below what the likeliest class scores")
        if self.public.flip * len(self.board.classes) >= len(self.board.classes) - 1:
            raise ValueError(f"[public] flip={self.public.flip} leaves nothing of the labels: it must be below 1 - 1/K")
        if exact(self.public.flip).denominator > 10**9:
            raise ValueError(f"[public] flip={self.public.flip} must have nine decimals at most")
        if self.release.show != "scores" and self.release.noise:
            raise ValueError(f'[release] noise is for scores: with show = "{self.release.show}" it must be 0')
        if (self.final.scores or self.final.ranks) and self.public.share == 1:
            raise ValueError(
                "[final] scores and ranks are of sealed labels, and with [public] share = 1 there are none"
            )

    @property
    def rule(self) -> str:
        """How answers are predicted and charged."""
        return self.release.rule if self.release.show == "scores" else self.release.show

    @property
    def perfect(self) -> float | None:
        """The assumption about a perfect model, if there is one."""
        return None if self.target.perfect < 0 else self.target.perfect

    def fingerprint(self) -> str:
        """Return a hash of everything decided: what the ledger's first row commits to."""
        text = json.dumps(attrs.asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


_MOST_BYTES = 1 << 24  # of board.toml


def read_policy(path: Path) -> Policy:
    """Read ``board.toml``.

    Raises:
        InputError: It cannot be read, or says something that cannot be; all faults at once, one a line.
    """
    try:
        tables = tomllib.loads(read_regular(path, _MOST_BYTES).decode("utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{path} is not there. It is yours to write; the least that it says is:\n\n{_LEAST}"
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from error
    try:
        return strict_converter().structure(tables, Policy)
    except ClassValidationError as error:
        raise InputError("\n".join(f"{path}: {fault.lstrip('.: ')}" for fault in faults(error, ""))) from error

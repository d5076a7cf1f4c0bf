"""From what a host decides, and how many labels there are, to the terms of a certificate. No label is looked at."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_guard.certificate.gain import bits_of_gain
from labelinf_guard.certificate.noise import FEWEST_STEPS, StepNoise, capacity_bits, order_bits, score_variance
from labelinf_guard.certificate.statement import FORM, Certificate, Part, Terms, certify, counted, sealed_gain
from labelinf_guard.certificate.transcripts import transcript_bits
from labelinf_guard.export.stateless import OF_VALUES
from labelinf_guard.files import PrivateLabels
from labelinf_guard.metrics import METRICS, GuardMetric, metric_named
from labelinf_guard.policy import Policy, exact
from labelinf_guard.release import FINE, AnswerScale, ReleaseNoise
from labelinf_guard.scoring import OwnMetric
from labelinf_guard.shipped import shipped, written

__all__ = [
    "Sizes",
    "budget_of",
    "certificate_of",
    "final_ratio",
    "metric_of",
    "noise_of",
    "scale_of",
    "sizes_of",
    "steps_of",
    "terms_of",
    "values_of",
]

_MOST_VALUE = 10**12
_MOST_ANSWERS = 1_500_000  # predicted in a second
_MOST_RANKS = 200_000
_MOST_SCORE = 1_000_000  # of which ranks tell all decimals apart that they look at
_MOST_NOISE = 1 << 30  # of what one label moves


@attrs.frozen(kw_only=True)
class Sizes:
    """How many labels there are: all that a certificate knows of them.

    Attributes:
        public: Labels that are scored.
        sealed: The others.
        public_effective: N_eff of the public ones where they come in groups; None where they do not.
        sealed_effective: The same of the others.
        largest: Labels of the largest group.
        public_groups: Groups among the public ones.
        form: Of the arithmetic about them.
    """

    public: int
    sealed: int
    public_effective: Fraction | None = None
    sealed_effective: Fraction | None = None
    largest: int = 1
    public_groups: int = attrs.field(default=attrs.Factory(lambda sizes: sizes.public, takes_self=True))
    form: int = FORM


def sizes_of(labels: PrivateLabels, public: NDArray[np.bool_], form: int = FORM) -> Sizes:
    """Count labels and groups, public and sealed; no label is looked at."""
    return Sizes(
        public=int(np.count_nonzero(public)),
        sealed=int(np.count_nonzero(~public)),
        public_effective=labels.effective(public),
        sealed_effective=labels.effective(~public),
        largest=labels.largest_group(),
        public_groups=int(np.unique(labels.groups[public]).size),
        form=form,
    )


def metric_of(policy: Policy, folder: Path) -> GuardMetric:
    """Return the metric of a board.

    Raises:
        InputError: There is none of that name or with those parameters, or nobody knows its range.
    """
    part, values = policy.board, values_of(policy)
    if part.metric in METRICS or (part.metric in OF_VALUES and not part.parameters):
        return metric_named(part.metric, part.parameters, part.classes)
    function, classes_predicted, minimise = part.ours, part.predicts == "classes", part.minimise
    if part.metric:
        word = written(part.metric, part.parameters)
        found, classes_predicted = shipped(word, len(part.classes))
        function, minimise = f"labelinf_guard.shipped:{word}|{len(part.classes)}", not found.higher
    if part.low is None or part.high is None:
        raise InputError(
            f"[board] low and high must be given with {f'metric = {part.metric!r}' if part.metric else 'ours'}: scores "
            "beyond them count as the nearer one; low = 0.0 and high = 1.0 where no score is beyond these."
        )
    return OwnMetric(
        function=function,
        classes_predicted=classes_predicted,
        minimise=minimise,
        low=exact(part.low),
        high=exact(part.high),
        seconds=policy.limits.seconds,
        memory=policy.limits.memory,
        folder=str(folder),
        values=values,
    )


def values_of(policy: Policy) -> tuple[Fraction, ...]:
    """Return what the classes stand for where the metric is of values; empty where it is not.

    Raises:
        InputError: A class is no number.
    """
    part = policy.board
    if part.metric in METRICS or (part.ours and part.predicts != "values"):
        return ()
    if part.metric and not shipped(written(part.metric, part.parameters), len(part.classes))[0].of_values:
        return ()
    try:
        found = tuple(Fraction(Decimal(name)) for name in part.classes)
    except (ArithmeticError, ValueError) as error:
        raise InputError("[board] classes must be numbers where a metric is of values; or give values.") from error
    if len(set(map(float, found))) < len(found) or max(map(abs, found)) > _MOST_VALUE:
        raise InputError(f"[board] classes must be different numbers, none beyond {_MOST_VALUE:g}.")
    if part.metric == "rmsle" and min(found) < 0:
        raise InputError("[board] metric = 'rmsle' needs values that are not below zero.")
    return found


def scale_of(policy: Policy, metric: GuardMetric) -> AnswerScale:
    """Return the scores a board can tell.

    Raises:
        InputError: They are none, or too many for one to be predicted in time.
    """
    part, low, high = policy.release, metric.low, metric.high
    largest = max(abs(low), abs(high))  # ranks compare scores before they are cut
    if part.low is not None:
        low = max(low, exact(part.low))
    if part.high is not None:
        high = min(high, exact(part.high))
    if low >= high:
        raise InputError("[release] low must be below high, and one of them within the range of the metric.")
    ranked = part.show == "ranks"
    if ranked and (policy.budget.per_board > _MOST_RANKS or largest > _MOST_SCORE):
        raise InputError(
            f"ranks are for boards of at most {_MOST_RANKS} submissions ([budget] per_board), and of scores of at most "
            f"{_MOST_SCORE}."
        )
    scale = AnswerScale(low=low, high=high, decimals=part.decimals)
    if scale.answers > _MOST_ANSWERS:
        raise InputError(
            f"scores of this range and [release] decimals = {policy.release.decimals} can take {scale.answers} values; "
            f"a board predicts {_MOST_ANSWERS} at most. Take fewer decimals, or a smaller range of low and high."
        )
    return scale


def noise_of(policy: Policy, metric: GuardMetric, labels: int, deviation: float) -> ReleaseNoise | None:
    """Return the noise of a score of so many labels; None without.

    Raises:
        InputError: Nothing is known of how far one label moves this metric.
    """
    if deviation == 0:
        return None
    move = metric.move(labels, len(policy.board.classes))
    if move is None:
        raise InputError(
            "noise proves nothing for this metric: one label may move it by an amount that is not public. Use "
            "accuracy, log-loss, brier, mae, mse or rmse with noise, or no noise."
        )
    least = Fraction(FEWEST_STEPS, FINE)
    if not least <= exact(deviation) / move < _MOST_NOISE:
        raise InputError(
            f"noise={deviation} is out of all proportion: one label moves this score by {float(move):.2g}. Take a "
            f"noise of {float(least * move):.2g} at least, and of {float(_MOST_NOISE * move):.2g} at most."
        )
    return ReleaseNoise(deviation=exact(deviation), move=move)


def steps_of(noise: ReleaseNoise, largest: int, answers: int) -> StepNoise:
    """Return the noise of so many answers, each of which a group of ``largest`` labels moves at most."""
    return StepNoise(moved=FINE * largest, answers=answers, variance=noise.variance)


def terms_of(policy: Policy, metric: GuardMetric, sizes: Sizes, bits: float) -> Terms:
    """Return the terms of a board whose ledger charges ``bits`` bits in all, at most.

    Raises:
        InputError: The noise proves nothing for this metric, or no label is left for the final release.
    """
    last = policy.final.scores or policy.final.ranks
    if last and not sizes.sealed:
        raise InputError(
            f"[final] scores and ranks are of sealed labels, and with [public] share = {policy.public.share} all "
            f"{sizes.public} labels are public: take a smaller share."
        )
    noise = noise_of(policy, metric, sizes.public, policy.release.noise)
    answers = scale_of(policy, metric).answers
    bits = min(bits, transcript_bits(policy.release.show, answers, policy.budget.per_board))
    final = _final_bits(policy, metric, sizes) if last else None
    return Terms(
        classes=len(policy.board.classes),
        public=Part(
            labels=sizes.public,
            effective=sizes.public_effective,
            bits=bits,
            noise=None if noise is None else steps_of(noise, sizes.largest, policy.budget.per_board),
            units=sizes.public_groups,
            flip=exact(policy.public.flip),
        ),
        sealed=Part(labels=sizes.sealed, effective=sizes.sealed_effective),
        perfect=policy.perfect,
        counts_known=policy.target.counts_known,
        final=final,
        released=_released(policy) if last else "",
        secret=policy.public.secret,
        doubt=policy.target.doubt,
        values=bool(values_of(policy)),
        form=sizes.form,
        group="" if sizes.public_effective is None and sizes.sealed_effective is None else policy.board.group,
    )


def budget_of(policy: Policy, metric: GuardMetric, sizes: Sizes) -> float:
    """Return how many bits may be told: what ``board.toml`` says, or what the target allows.

    Raises:
        InputError: The target cannot be met, however little is told.
    """
    if policy.budget.bits >= 0:
        return policy.budget.bits
    if certify(terms_of(policy, metric, sizes, math.inf)).now <= policy.target.gain:
        return math.inf
    terms = terms_of(policy, metric, sizes, 0.0)
    rest = policy.target.gain - sealed_gain(terms, 0.0)
    allowed = bits_of_gain(
        max(0.0, rest / float(terms.share)),
        sizes.public,
        classes=len(policy.board.classes),
        perfect=terms.within,
        effective=sizes.public_effective,
    )
    bits = math.floor((allowed - terms.rare) * 1024) / 1024
    if bits > 0:
        return bits
    if policy.target.accept_void:
        return math.inf
    raise InputError(
        f"{100 * policy.target.gain:g} points over a perfect model cannot be proved for {sizes.public} scored labels, "
        f"however little is told: take a smaller [public] share, a larger [target] gain, or accept_void = true."
    )


def certificate_of(policy: Policy, metric: GuardMetric, sizes: Sizes) -> Certificate:
    """Return what a board proves when all that it may tell is told.

    Raises:
        InputError: The target cannot be met and ``accept_void`` does not say that it need not be.
    """
    found = certify(terms_of(policy, metric, sizes, budget_of(policy, metric, sizes)))
    if policy.target.accept_void:
        return found
    if found.void or found.now > policy.target.gain + 1e-9:
        raise InputError(
            f"this board proves {100 * found.now:.1f} points over a perfect model, the target is "
            f"{100 * policy.target.gain:g}"
            + (f" ({100 * found.after:.1f} points after the final release)" if found.after is not None else "")
            + ". Tell less, add noise, take a smaller [public] share, or accept_void = true."
        )
    return found


def final_ratio(policy: Policy, metric: GuardMetric, sizes: Sizes) -> Fraction | None:
    """Return V / s**2 of a score of the final release; None where there is no noise, or nothing is proved of it.

    Rounding to the noise's grid moves a score by half a step more.

    Raises:
        InputError: There is to be noise, and it proves nothing for this metric.
    """
    noise = noise_of(policy, metric, sizes.sealed, policy.final.noise)
    if noise is None or policy.board.metric == "rmse":  # a root is no mean of numbers
        return None
    varies = score_variance(
        noise.move * sizes.sealed * Fraction(FINE + 1, FINE),
        sizes.sealed,
        classes=len(policy.board.classes),
        effective=sizes.sealed_effective,
        counts_known=policy.target.counts_known,
    )
    return None if varies is None else varies / noise.deviation**2


def _released(policy: Policy) -> str:
    scores, ranks = policy.final.scores, policy.final.ranks
    said = [f"{counted(scores, 'score')} of {counted(policy.release.decimals, 'decimal')}"] if scores else []
    return " and ".join([*said, *([counted(ranks, "first rank")] if ranks else [])])


def _final_bits(policy: Policy, metric: GuardMetric, sizes: Sizes) -> float:
    """Return what the final release tells of the sealed labels; its submissions are fixed before any of it is told."""
    scores, ranks = policy.final.scores, policy.final.ranks
    bits = scores * math.log2(scale_of(policy, metric).answers + 1)
    ratio = final_ratio(policy, metric, sizes)
    if ratio is not None:
        bits = min(bits, capacity_bits(scores, ratio, Fraction(1)))
    return bits + (order_bits(scores or policy.budget.per_board, ranks) if ranks else 0.0)

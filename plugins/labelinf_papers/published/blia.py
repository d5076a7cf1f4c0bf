"""The tables of Khan et al., BLIA, 2025, computed again from the printed figures.

42 settings (six benchmarks, seven budgets) with two attacks each: 84 success rates. Table 1 gives the numbers of
canaries, so every rate is k/n and has an exact p-value. What the figures say:

* 37 of 84 exceed one half at the 1 % level, 33 after Holm's correction; the paper's "consistently exceeding 50 %" does
  not hold.
* 15 of the 72 entries with a finite budget exceed what epsilon-label-DP allows to *any* attack, 14 after Holm. So they
  were not measured against the label that was protected, or the attack sees it (Delta-Margin is given its loss), or the
  mechanism is not the stated one, or the canaries' labels could be guessed from their features. There may be others.
* On IMDB, Delta-Margin is right wherever the threshold attack is, and on half of its errors: what a loss computed with
  the label to be inferred would give.
* The IMDB thresholds and some train accuracies fit randomised response that *resamples* instead of replacing; others
  fit neither. That is an inference from printed numbers, not a proof.

Table 2 prints 52.08 for Big-Vul where Table 8 has 52.09; the latter is used.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from importlib import resources

import attrs
import numpy as np
from scipy import special

from labelinf_core.statistics import epsilon_bounds
from labelinf_core.statistics.proportions import holm, p_value

__all__ = [
    "LossIdentity",
    "MechanismFit",
    "PrintedRow",
    "SuccessRate",
    "entries",
    "keeps",
    "loss_identity",
    "rows",
    "threshold_fit",
    "train_fit",
]


@attrs.frozen(kw_only=True)
class PrintedRow:
    """One printed row.

    Attributes:
        benchmark: Name of the data set.
        train_size: Training records (Table 1).
        canaries: Canaries (Table 1).
        epsilon: Nominal budget; infinity without label-DP.
        train_accuracy: Share.
        threshold: Share of canaries that LIA-Threshold got right.
        delta_margin: Share of canaries that LIA-Delta-Margin got right.
    """

    benchmark: str
    train_size: int
    canaries: int
    epsilon: float
    train_accuracy: float
    threshold: float
    delta_margin: float


@attrs.frozen(kw_only=True)
class SuccessRate:
    """One success rate and what it is worth.

    Attributes:
        row: Where it stands.
        attack: ``"threshold"`` or ``"delta-margin"``.
        correct: Canaries guessed correctly: the whole number that the rate rounds.
        p_chance: Exact p-value against one half.
        ceiling: What label-DP allows; 1 without a budget.
        p_ceiling: Exact p-value of exceeding the ceiling; 1 without a budget.
        p_chance_holm: ``p_chance`` adjusted for all entries.
        p_ceiling_holm: ``p_ceiling`` adjusted for all entries with a budget.
    """

    row: PrintedRow
    attack: str
    correct: int
    p_chance: float
    ceiling: float
    p_ceiling: float
    p_chance_holm: float = 1.0
    p_ceiling_holm: float = 1.0

    @property
    def rate(self) -> float:
        """Share of the canaries guessed correctly, as printed."""
        return self.row.threshold if self.attack == "threshold" else self.row.delta_margin


def rows() -> tuple[PrintedRow, ...]:
    """Return the printed tables: Table 3 and Tables 4 to 8 of the appendix."""
    text = (resources.files("labelinf_papers.published") / "blia.csv").read_text(encoding="utf-8")
    return tuple(
        PrintedRow(
            benchmark=line["benchmark"],
            train_size=int(line["train_size"]),
            canaries=int(line["canaries"]),
            epsilon=float(line["epsilon"]),
            train_accuracy=float(line["train_accuracy"]) / 100,
            threshold=float(line["threshold"]) / 100,
            delta_margin=float(line["delta_margin"]) / 100,
        )
        for line in csv.DictReader(text.splitlines())
    )


def entries() -> tuple[SuccessRate, ...]:
    """Return all 84 entries with their p-values."""
    bare = [_entry(row, attack) for row in rows() for attack in ("threshold", "delta-margin")]
    chance = holm([item.p_chance for item in bare])
    limited = [index for index, item in enumerate(bare) if math.isfinite(item.row.epsilon)]
    excess = dict(zip(limited, holm([bare[index].p_ceiling for index in limited]), strict=True))
    return tuple(
        attrs.evolve(item, p_chance_holm=chance[index], p_ceiling_holm=excess.get(index, 1.0))
        for index, item in enumerate(bare)
    )


def _entry(row: PrintedRow, attack: str) -> SuccessRate:
    correct = _correct(row, attack)
    ceiling = epsilon_bounds.label_dp_ceiling(row.epsilon, 2)
    return SuccessRate(
        row=row,
        attack=attack,
        correct=correct,
        p_chance=p_value(correct, row.canaries, 0.5),
        ceiling=ceiling,
        p_ceiling=p_value(correct, row.canaries, ceiling),
    )


def _correct(row: PrintedRow, attack: str) -> int:
    rate = row.threshold if attack == "threshold" else row.delta_margin
    return round(rate * row.canaries)


@attrs.frozen(kw_only=True)
class LossIdentity:
    """How well ``SR_DeltaMargin = (1 + SR_Threshold) / 2`` describes a benchmark.

    Attributes:
        published: Printed Delta-Margin rates, in the order of the table.
        predicted: What the identity makes of the threshold rates.
        chi_square: Of the Delta-Margin errors against Bin(threshold errors, 1/2).
        p_value: Of that chi-square, with as many degrees of freedom as rows.
    """

    published: tuple[float, ...]
    predicted: tuple[float, ...]
    chi_square: float
    p_value: float


def loss_identity(benchmark: str = "IMDB") -> LossIdentity:
    """Hold the printed figures of a benchmark against the identity."""
    table = [row for row in rows() if row.benchmark == benchmark]
    errors = np.array([row.canaries - _correct(row, "threshold") for row in table])
    found = np.array([row.canaries - _correct(row, "delta-margin") for row in table])
    chi_square = float((((found - errors / 2) ** 2) / (errors / 4)).sum())
    return LossIdentity(
        published=tuple(row.delta_margin for row in table),
        predicted=tuple((1 + row.threshold) / 2 for row in table),
        chi_square=chi_square,
        p_value=float(special.chdtrc(len(table), chi_square)),
    )


@attrs.frozen(kw_only=True)
class MechanismFit:
    """How well a mechanism explains a column, the memorised share fixed by the row without label-DP.

    Attributes:
        rms: Root mean square of the residuals over the finite budgets.
        chi_square: Of the same residuals, for binomial counts.
        p_value: Of that chi-square, with as many degrees of freedom as finite budgets.
    """

    rms: float
    chi_square: float
    p_value: float


def keeps(epsilon: float, *, resampling: bool) -> float:
    """Return the probability that a label survives: p under randomised response, ``(1 + p) / 2`` when it resamples."""
    p = epsilon_bounds.label_dp_ceiling(epsilon, 2)
    return (1 + p) / 2 if resampling else p


def threshold_fit(benchmark: str, *, resampling: bool) -> MechanismFit:
    """Fit ``A q + (1 - A)(1 - q)`` to the threshold rates, q the probability that a label survives."""
    table = [row for row in rows() if row.benchmark == benchmark]
    return _fit([row.threshold for row in table], table, [row.canaries for row in table], resampling)


def train_fit(benchmark: str, *, resampling: bool) -> MechanismFit:
    """Fit ``A q + (1 - A)(1 - q)`` to the train accuracies."""
    table = [row for row in rows() if row.benchmark == benchmark]
    return _fit([row.train_accuracy for row in table], table, [row.train_size for row in table], resampling)


def _fit(
    observed: Sequence[float], table: Sequence[PrintedRow], counts: Sequence[int], resampling: bool
) -> MechanismFit:
    memorised = next(value for value, row in zip(observed, table, strict=True) if math.isinf(row.epsilon))
    finite = [i for i, row in enumerate(table) if math.isfinite(row.epsilon)]
    survive = np.array([keeps(table[i].epsilon, resampling=resampling) for i in finite])
    predicted = memorised * survive + (1 - memorised) * (1 - survive)
    residuals = np.array([observed[i] for i in finite]) - predicted
    variances = predicted * (1 - predicted) / np.array([counts[i] for i in finite])
    chi_square = float((residuals**2 / variances).sum())
    return MechanismFit(
        rms=float(np.sqrt((residuals**2).mean())),
        chi_square=chi_square,
        p_value=float(special.chdtrc(len(finite), chi_square)),
    )

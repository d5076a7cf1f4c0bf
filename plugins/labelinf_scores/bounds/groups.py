"""Labels that come in groups: records of one patient may all have one label, and then one answer tells them all.

Groups are independent of one another; within a group labels may depend on each other in any way. Then (N labels, groups
of m labels, K classes, none likelier than p):

* **B bits in all answers** gain at most ``sqrt(ln2 (B + C) / 2 N_eff)`` over a perfect model, ``N_eff = (sum m)^2 / sum
  m^2`` and ``C = (K - 1) log2(N + 1)`` for class counts that are known (``bounds.gain``); all labels come out with
  probability ``2^(B + C) p^G`` at most, G the number of groups: nobody foresees a group better than one of its labels.
* **Privacy of one record** is that of m records for whoever wants one label of a group of m: any two settings of the
  group are m steps apart, and mixtures of pairs are no further apart than the worst pair.
* **A share t of the records is ever seen**: of a group of m one is seen with probability ``min(1, m t)`` at most.

Nothing is known of a threat model that names no groups: its records are *assumed* independent, and that is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.bounds.gain import gain_ceiling

__all__ = ["counts_answer", "effective", "grouped_accuracy", "grouped_exact", "grouped_gain", "on_average", "said"]


def effective(threat: ThreatModel, averaged: int | None = None) -> float:
    """Return N_eff: the number of independent labels that those of ``threat`` are worth; N where no groups are known.

    Args:
        threat: What is known of the labels.
        averaged: Records of which a score is the mean, where it is not of all: a group may fill them.
    """
    n_records = averaged or threat.n_records
    sizes = threat.groups or ((1, threat.n_records),)
    if averaged and not threat.groups:
        return float(averaged)
    return max(1.0, n_records**2 / sum(count * min(size, n_records) ** 2 for size, count in sizes))


def counts_answer(threat: ThreatModel) -> float:
    """Return what knowing the class counts is worth as one more answer, in bits, however labels depend."""
    return (threat.n_classes - 1) * math.log2(threat.n_records + 1)


def grouped_gain(threat: ThreatModel, bits: float) -> float:
    """Return the most that answers of ``bits``, and the class counts, raise the share over a perfect model's."""
    least = 1 / threat.n_classes
    if math.isinf(bits):
        return 1 - least
    return gain_ceiling(bits=bits + counts_answer(threat), n_effective=effective(threat), least=least)


def grouped_accuracy(threat: ThreatModel, bits: float) -> float:
    """Return the largest mean accuracy where nothing but answers of ``bits``, and the class counts, tells of labels."""
    return min(1.0, threat.baseline + grouped_gain(threat, bits))


def grouped_exact(threat: ThreatModel, bits: float) -> float:
    """Return the largest probability that all labels come out of answers of ``bits`` and the class counts."""
    n_groups = sum(count for _, count in threat.groups) or threat.n_records
    log2 = bits + counts_answer(threat) + n_groups * math.log2(threat.baseline)
    return math.exp2(min(0.0, log2))


def on_average(threat: ThreatModel, reached: Callable[[int], float]) -> float:
    """Return the mean over all records of what is reached against a group of so many; of one each, without groups."""
    sizes = threat.groups or ((1, threat.n_records),)
    found, total = 0.0, 0.0
    for size, count in sizes:
        found = 1.0 if found >= 1 else reached(size)  # a larger group has no more to lose than everything
        total += size * count * found
    return min(1.0, total / threat.n_records)


def said(threat: ThreatModel) -> str:
    """Say what a ceiling takes for independent: groups that are known, or else every record, which is an assumption."""
    if not threat.groups:
        return "records are assumed independent of one another (--groups names those that are not)"
    n_groups = sum(count for _, count in threat.groups)
    return (
        f"records of different groups are independent, those of one may depend on each other in any way: "
        f"{threat.n_records} records in {n_groups} groups count as {effective(threat):.4g}"
    )

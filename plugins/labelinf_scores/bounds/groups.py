"""Labels that come in groups: records of one patient may all have one label, and then one answer tells them all.

Groups are independent of one another; within a group labels may depend on each other in any way. Then (N labels, groups
of m labels, K classes):

* **Class counts alone may tell every label**: counts of 2 and 1 name those of a pair and one apart, and of 60 groups of
  62 and 60 of 61 one labelling is left. Which counts do is not known of labels in general, so that nothing that holds
  for known counts is proved by counting. Groups of one size that are *alike* (in whichever order they stand, and the
  records of each, is as likely, whatever they hold) leave one road: labels with the same counts are told apart by
  exchanging two groups whole (``counts_allowance``).
* **Privacy of one record** is that of m records for whoever wants one label of a group of m: any two settings of the
  group are m steps apart, and mixtures of pairs are no further apart than the worst pair.
* **A share t of the records is ever seen**: of a group of m one is seen with probability ``min(1, m t)`` at most.
* **B bits in all answers** gain at most ``sqrt(ln2 (B + C) / 2 N_eff)`` over a perfect model, on average over the
  counts, ``N_eff = (sum m)^2 / sum m^2`` and ``C = (K - 1) log2(N + 1)`` for counts that are known (``bounds.gain``).

Nothing is known of a threat model that names no groups: its records are *assumed* independent, and that is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.bounds.gain import gain_ceiling

__all__ = ["alike", "counts_answer", "effective", "grouped_gain", "on_average", "said"]


def effective(threat: ThreatModel) -> float:
    """Return N_eff: how many independent labels those of ``threat`` are worth; N where no groups are known."""
    return threat.n_records**2 / sum(count * size**2 for size, count in threat.groups or ((1, threat.n_records),))


def counts_answer(threat: ThreatModel) -> float:
    """Return what knowing the class counts is worth as one more answer, in bits, however labels depend."""
    return (threat.n_classes - 1) * math.log2(threat.n_records + 1)


def grouped_gain(threat: ThreatModel, bits: float) -> float:
    """Return the most that answers of ``bits``, and the class counts, raise the share over a perfect model's."""
    least = 1 / threat.n_classes
    if math.isinf(bits):
        return 1 - least
    return gain_ceiling(bits=bits + counts_answer(threat), n_effective=effective(threat), least=least)


def on_average(threat: ThreatModel, reached: Callable[[int], float]) -> float:
    """Return the mean over all records of what is reached against a group of so many; of one each, without groups."""
    sizes = threat.groups or ((1, threat.n_records),)
    found, total = 0.0, 0.0
    for size, count in sizes:
        found = 1.0 if found >= 1 else reached(size)  # a larger group has no more to lose than everything
        total += size * count * found
    return min(1.0, total / threat.n_records)


def alike(threat: ThreatModel) -> tuple[int, int] | None:
    """Return the size and the number of groups that can be exchanged whole; None where class counts may tell them."""
    if not threat.groups:
        return 1, threat.n_records
    (size, count), *others = threat.groups
    return (size, count) if count > 1 and not others else None


def said(threat: ThreatModel) -> str:
    """Say what a ceiling takes for independent: groups that are known, or else every record, which is an assumption."""
    if not threat.groups:
        return "records are assumed independent of one another (--groups names those that are not)"
    n_groups = sum(count for _, count in threat.groups)
    named = f"{threat.n_records} records in {n_groups} groups"
    if alike(threat):
        return (
            f"{named}: records of one may depend on each other in any way; groups are alike, and so are the records "
            f"of each"
        )
    return f"{named} of several sizes, or in one: class counts alone may tell every label, so that nothing is promised"

"""Points over a perfect model: what answers of few bits add to what is known without them, whatever that is.

A participant has features, and a model that is right on most labels before anything is released; ten honest scores may
teach it more about the *law* than about any label. So what few bits limit is the gain over a perfect model, which knows
the law and the class counts: labels are independent given what it knows, record i with largest posterior ``p_i``.

**Gain of B bits.** E share - p <= min( sqrt(ln2 B / 2N), sqrt(ln2 (1 - p) B / N), 1 - p ), p the mean of the p_i, any
number of classes, any profile. *Proof.* One record, I bits, gain g, D = 1 - p_i. For p_i <= 1/2 Pinsker's inequality
has g^2 <= ln2 I / 2 <= ln2 D I. For p_i > 1/2 merge the other classes: I >= h(D) - h(D - g) >= g^2 / (D ln2). Add up
by Cauchy and Schwarz, and sum I_i <= B.

**Groups.** Labels of one patient may be the same label. With independent groups of m_g labels, weights w_g = m_g / N,
the gain is at most sqrt(ln2 B sum w_g^2 / 2): Pinsker's inequality for each group, and Cauchy and Schwarz. So groups
count by their *effective number* (sum m)^2 / sum m^2, not by their number.

Example:
    >>> round(gain_ceiling(bits=726, n_effective=25_000, perfect=0.86), 3)
    0.053
"""

from __future__ import annotations

import math

__all__ = ["gain_ceiling"]


def gain_ceiling(*, bits: float, n_effective: float, perfect: float | None = None, least: float = 0.0) -> float:
    """Return the most that answers raise the expected share of labels over a perfect model's.

    Args:
        bits: B, in all answers; class counts that a perfect model would not know are one more answer.
        n_effective: N, or the effective number of groups.
        perfect: The mean share that a perfect model has, where labels are independent one by one; None: not known.
        least: What any model has at least, such as 1 / K.
    """
    any_model = math.sqrt(math.log(2) * bits / (2 * n_effective))
    if perfect is None:
        return min(any_model, 1 - least)
    return min(any_model, math.sqrt(math.log(2) * (1 - perfect) * bits / n_effective), 1 - perfect)

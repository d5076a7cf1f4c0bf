"""What a certificate says, again, in whole numbers: from the terms in a ledger's first row, and from nothing else.

Shares are in millionths, rounded up; bits in units of ``1 / POWER``, None for no limit. For every part of the labels
the least of what was charged, what can be told at all, the noise of answers and that of labels prove.
"""

from __future__ import annotations

import math
from typing import Any

from labelinf_guard.ledger.whole import ONE, POWER, lattice_above, log_above, log_below, tail_above

__all__ = ["form_of", "gain_again", "gains_again", "line_again"]

_LN2 = (693147, 693148)  # millionths, from below and from above
_MILLIBIT = POWER // 1024
_CHARGED = ("as one more answer", "to sealed labels by the spread of their sum (B18)")
_FORMS = ("1", "2")  # of the arithmetic
Terms = dict[str, Any]
Bits = int | None


def form_of(terms: Terms) -> str:
    """Return how class totals are charged; empty where there are no terms, or of no form of arithmetic known here."""
    if "noise" not in terms or repr(terms.get("form", 1)) not in _FORMS:
        return ""
    charged = _CHARGED[_spreads(terms) and terms["sealed"] > 0]
    return f"known class totals charged {charged}" if terms["known"] else "class totals taken for unknown"


def gains_again(terms: Terms, rules: dict[str, Any]) -> tuple[int, int | None]:
    """Return the gain before the final release, and after it, in millionths of all labels, rounded up.

    Args:
        terms: Of the first row.
        rules: The row itself: budget, rule, answers and submissions of the board.
    """
    left = _left(terms)
    inside = _left({**terms, "perfect": None}) if terms["grouped"] else left
    public, sealed = terms["public"], terms["sealed"]
    scored = _scored(terms, rules, inside) * public

    def together(bits: int) -> int:
        rest = gain_again(bits + _counts(terms), sealed, terms["classes"], inside, terms["sealed_effective"])
        rest *= sealed
        if not bits and _spreads(terms):
            rest = min(rest, _spread(public, sealed, left))
        return int(min(left, -(-(scored + rest) // (public + sealed))))

    return together(0), None if terms["final"] is None else together(_final(terms))


def line_again(terms: Terms, rules: dict[str, Any], line: int) -> bool:
    """Return whether a line, in thousandths of the labels, is one that is proved of one list of guesses."""
    if terms["perfect"] is None or terms["grouped"]:
        return False
    bits, (top, bottom), labels = _told(terms, rules), terms["perfect"], terms["public"] + terms["sealed"]
    count = -(-line * labels // 1000)
    tried = [(bits, count, labels, (top, bottom))] if bits is not None else []
    if terms["sealed"]:
        tried.append((0, count - terms["public"], terms["sealed"], (top, bottom)))
    if terms["flip"][0]:
        more = -(-terms["public"] * _left(terms) * _apart(terms) // (labels * ONE))
        tried.append((0, count, labels, (top * ONE + more * bottom, bottom * ONE)))
    doubt = log_below(terms["doubt"][0]) - log_above(terms["doubt"][1] * max(1, len(tried)))
    allowed = doubt - _counts(terms) + POWER // 10**5  # of the floats that printed it
    return any(_rare(told, right, of, share, allowed) for told, right, of, share in tried)


def gain_again(bits: Bits, labels: int, classes: int, left: int, effective: list[int] | None = None) -> int:
    """Return the least gain, in millionths, that so many bits about so many labels provably do not exceed."""
    if labels == 0:
        return 0
    low, high = 0, left
    while bits is not None and low < high:
        middle = (low + high) // 2
        if _enough(bits, labels, classes, left, middle, effective):
            high = middle
        else:
            low = middle + 1
    return high


def _rare(bits: int, count: int, labels: int, share: tuple[int, int], allowed: int) -> bool:
    """Whether so many right guesses are above the mean by one, and rare enough."""
    if share[0] >= share[1] or count > labels:
        return count > labels
    if (count - 1) * share[1] < labels * share[0]:
        return False
    return tail_above(count, labels, share) <= allowed - bits


def _enough(bits: int, labels: int, classes: int, left: int, gain: int, effective: list[int] | None) -> bool:
    """Whether a gain costs at least so many bits."""
    if gain >= left:
        return True
    told = _LN2[1] * bits * ONE
    if effective is not None and effective[0] < labels * effective[1]:
        return told * effective[1] <= 2 * gain * gain * effective[0] * POWER
    if classes > 2:
        square = gain * gain * labels * POWER
        return told <= 2 * square or told * left <= square * ONE
    # 2 D N (1 - h(q)), q = (D - gain) / (2 D), against B
    right, whole = left - gain, 2 * left
    wrong = whole - right
    entropy = whole * log_above(whole) - right * log_below(right) - wrong * log_below(wrong)  # times whole * POWER
    return 2 * labels * (whole * POWER - entropy) * left >= bits * ONE * whole


def _scored(terms: Terms, rules: dict[str, Any], left: int) -> int:
    """Return the gain in the public labels, as a share of them."""
    public, classes, known = terms["public"], terms["classes"], terms["known"]
    effective, told = terms["effective"], _told(terms, rules)
    found = [gain_again(None if told is None else told + _counts(terms), public, classes, left, effective)]
    if terms["noise"] is not None:
        if not known:
            moved, answers, top, bottom = terms["noise"]
            found.append(-(-left * lattice_above(moved * answers, answers * top, bottom) // ONE))
        if not known or (classes == 2 and not terms["grouped"]):
            found.append(gain_again(_noisy(terms, left) + _counts(terms), public, classes, left, effective))
    if terms["flip"][0]:
        if not known and not terms["grouped"]:
            found.append(-(-left * _apart(terms) // ONE))
        found.append(gain_again(_flipped(terms, left) + _counts(terms), public, classes, left, effective))
    return min(found)


def _told(terms: Terms, rules: dict[str, Any]) -> Bits:
    """Return the bits of all answers: the budget, or what can be told at all."""
    submissions, levels = rules["per_board"], terms["levels"]
    match rules["rule"]:
        case "ranks":
            most = log_above(math.factorial(submissions + 1))
        case "records":
            most = log_above(math.comb(submissions + levels - 1, levels - 1))
        case _:
            most = submissions * log_above(levels + 1)
    return most if rules["budget"] < 0 else min(most, rules["budget"] * _MILLIBIT)


def _final(terms: Terms) -> int:
    part = terms["final"]
    bits = part["scores"] * log_above(part["levels"] + 1)
    if part["ratio"] is not None:
        top, bottom = part["ratio"]
        bits = min(bits, -(-part["scores"] * (log_above(bottom + top) - log_below(bottom)) // 2))
    among = part.get("among", part["scores"])
    return int(bits + log_above(math.perm(among, min(part["ranks"], among))))


def _counts(terms: Terms) -> int:
    """Return ``(K - 1) log2(N + 1)``, where the class counts are known, each rounded up to 1/1024."""
    each = -(-log_above(terms["public"] + terms["sealed"] + 1) // _MILLIBIT) * _MILLIBIT
    return (terms["classes"] - 1) * each if terms["known"] else 0


def _spreads(terms: Terms) -> bool:
    """Whether known totals tell of labels that no answer depends on by the spread of their sum alone."""
    return bool(terms.get("form", 1) > 1 and terms["known"] and terms["classes"] == 2 and not terms["grouped"])


def _spread(public: int, sealed: int, left: int) -> int:
    """Return what known totals tell of sealed labels, in millionths of one label.

    It is the root of ``4 n m D (1 - D) / 3 (N - 1)``: their sum is all that is told, and two draws of it lie no
    further apart.
    """
    square = 4 * public * sealed * left * (ONE - left)
    return 1 + math.isqrt((square - 1) // (3 * (public + sealed - 1))) if square else 0


def _left(terms: Terms) -> int:
    """Return what a perfect model leaves, in millionths."""
    classes = terms["classes"]
    most = -(-ONE * (classes - 1) // classes)
    if terms["perfect"] is None:
        return int(most)
    top, bottom = terms["perfect"]
    return int(min(most, -(-ONE * (bottom - top) // bottom)))


def _noisy(terms: Terms, left: int) -> int:
    """Return the bits of all records behind the noise of the answers."""
    moved, answers, below, above = terms["noise"]
    top, bottom = moved * moved * answers * above, below  # mu**2
    if terms["classes"] == 2 and not terms["grouped"]:
        moved = left * (ONE - left) * (4 if terms["known"] else 1) * top
        whole = ONE * ONE * bottom
        return int(-(-terms["public"] * (log_above(whole + moved) - log_below(whole)) // 2))
    share = (1, 1) if terms["grouped"] else (terms["classes"] - 1, terms["classes"])
    return int(-(-terms["units"] * share[0] * top * POWER * ONE // (share[1] * bottom * 2 * _LN2[0])))


def _apart(terms: Terms) -> int:
    """Return ``1 - f K / (K - 1)`` in millionths."""
    (top, bottom), classes = terms["flip"], terms["classes"]
    return int(-(-ONE * (bottom * (classes - 1) - top * classes) // (bottom * (classes - 1))))


def _flipped(terms: Terms, left: int) -> int:
    """Return the bits of all labels behind the noise of labels: ``h(seen) - h(f)``, or a channel's capacity."""
    (top, bottom), classes = terms["flip"], terms["classes"]
    lost = _entropy(top, bottom)[0]
    if classes == 2:
        seen = left * (bottom - top) + (ONE - left) * top
        return int(terms["public"] * max(0, _entropy(seen, ONE * bottom)[1] - lost))
    spread = top * log_below(classes - 1) // bottom
    return int(terms["public"] * max(0, log_above(classes) - lost - spread))


def _entropy(top: int, bottom: int) -> tuple[int, int]:
    """Return ``h(top / bottom)`` from below and from above, for a share between 0 and 1."""
    rest = bottom - top
    if not top or not rest:
        return 0, 0
    high = log_above(bottom) - (top * log_below(top) + rest * log_below(rest)) // bottom
    return high - 6, high

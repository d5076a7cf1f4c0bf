"""What a defender wants to be true."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.fractions import fraction
from labelinf_core.contracts.guarantees import Ceiling, Interval
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.statistics import proportions

__all__ = ["Target"]

_DEVIATIONS = 3.0  # standard errors beyond which a game more is not worth playing

_NUMBER = re.compile(r"[\d.]+\s*%?")
_EPSILON = re.compile(r"eps(?:ilon)?\s*(?:<=|=)\s*(\d+(?:\.\d+)?)")


@attrs.frozen(kw_only=True)
class Target:
    """At most a share of the labels, no exact recovery, or a privacy budget.

    Attributes:
        accuracy: Largest share of labels that an attack may guess, or None.
        exact: Largest probability of recovering all labels, or None.
        epsilon: Largest label-DP budget over the whole game, or None.
        blind: Accuracy of the best blind guess, which an accuracy is held against.
        points: Largest gain over a perfect model, or None.
    """

    accuracy: float | None = None
    exact: float | None = None
    epsilon: float | None = None
    blind: float = 0.0
    points: float | None = None

    @classmethod
    def parse(cls, text: str, blind: float = 0.0) -> Target:
        """Read ``60%``, ``no-exact-recovery`` or ``epsilon<=1``.

        Args:
            text: What was written.
            blind: Accuracy of the best blind guess.

        Raises:
            InputError: It is none of these, or whoever guesses blindly exceeds it already.
        """
        if _NUMBER.fullmatch(text.strip()):
            share = fraction(text, "--target")
            if not 0 < share < 1:
                raise InputError(f"--target {text}: a share of labels must lie between 0 % and 100 %, such as 60%.")
            if share <= blind:
                raise InputError(
                    f"--target {text}: guessing the most frequent class has {blind:.1%} of the labels already, without "
                    f"any release; ask for more, or for a gain over it (--gain 5%)."
                )
            return cls(accuracy=share, blind=blind)
        if match := _EPSILON.fullmatch(text.strip()):
            return cls(epsilon=float(match[1]))
        if text.strip() in ("no-exact-recovery", "no exact recovery"):
            return cls(exact=0.05)
        raise InputError(
            f"--target {text!r}: expected a share of labels such as 60%, no-exact-recovery (at most 5 % of games), or "
            f"epsilon<=1."
        )

    @classmethod
    def gaining(cls, gain: float, blind: float) -> Target:
        """Return a gain over the best blind guess, a fraction of the labels.

        Raises:
            InputError: There is not so much to gain.
        """
        return cls(accuracy=blind + _points(gain, blind, "the best blind guess"), blind=blind)

    @classmethod
    def over(cls, gain: float, perfect: float) -> Target:
        """Return a gain over a perfect model, as :meth:`gaining` does."""
        return cls(points=_points(gain, perfect, "a perfect model"), blind=perfect)

    def __str__(self) -> str:
        if self.accuracy is not None:
            said = f"attackers guess at most {self.accuracy:.1%}, {100 * (self.accuracy - self.blind):.1f} points"
            return f"{said} over the best blind guess ({self.blind:.1%})"
        if self.points is not None:
            return f"at most {100 * self.points:.1f} points over a perfect model, right on {self.blind:.1%} as assumed"
        if self.exact is not None:
            return f"all labels recovered in at most {self.exact:.0%} of games"
        return f"label-DP with epsilon <= {self.epsilon:g} of a record, or a group, over the whole game"

    def certified(self, threat: ThreatModel, ceilings: Iterable[Ceiling]) -> bool:
        """Whether what is proved reaches the target."""
        if self.accuracy is not None:
            return any(ceiling.reached <= self.accuracy for ceiling in ceilings)
        if self.exact is not None:
            return any(ceiling.exact <= self.exact for ceiling in ceilings)
        if self.points is not None:
            return False
        together = max((size for size, _ in threat.groups), default=1)  # labels of one patient are protected as one
        return threat.label_delta == 0 and together * threat.label_epsilon <= (self.epsilon or 0.0)

    @property
    def most(self) -> float:
        """The largest share that is tolerated: of labels, or of games in which all were recovered."""
        return self.accuracy if self.accuracy is not None else 1.0 if self.exact is None else self.exact

    def interval(self, games: Sequence[tuple[float, float]], n_records: int) -> Interval:
        """Return what games show of the share that is tolerated, with its interval.

        Args:
            games: Share of labels guessed, and 1 where all were, game by game.
            n_records: Labels of a game.
        """
        if self.accuracy is not None:
            return proportions.label_accuracy([share for share, _ in games], n_records)
        return proportions.exact_recovery([exact == 1 for _, exact in games])

    def is_settled(self, accuracy: float, exact: float, *, labels: int, games: int) -> bool:
        """Whether further games would hardly change on which side of the target an attack is.

        Args:
            accuracy: Mean share of labels guessed.
            exact: Share of games in which all were.
            labels: Labels guessed in all.
            games: Games played.
        """
        if self.accuracy is not None:
            error = math.sqrt(self.accuracy * (1 - self.accuracy) / labels)
            return abs(accuracy - self.accuracy) > _DEVIATIONS * error
        return games > 1 and exact in (0.0, 1.0)

    def withstood(self, accuracy: float, exact: float) -> bool:
        """Whether one attack's accuracy and exact-recovery rate stay within the target; no play shows an epsilon."""
        if self.accuracy is not None:
            return accuracy <= self.accuracy
        return self.exact is None or exact <= self.exact


def _points(gain: float, known: float, over: str) -> float:
    if not 0 < gain < 1 - known:
        raise InputError(
            f"--gain {100 * gain:g}%: expected points over {over} ({known:.1%}), above 0 and below "
            f"{100 * (1 - known):.1f}, such as {min(5.0, 50 * (1 - known)):.2g}%."
        )
    return gain

"""What a defender wants to be true."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.contracts.threat import ThreatModel

__all__ = ["Target"]

_DEVIATIONS = 3.0  # standard errors beyond which a game more is not worth playing

_ACCURACY = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_EPSILON = re.compile(r"eps(?:ilon)?\s*(?:<=|=)\s*(\d+(?:\.\d+)?)")


@attrs.frozen(kw_only=True)
class Target:
    """No attack above an accuracy, no exact recovery, or a privacy budget.

    Attributes:
        accuracy: Largest share of labels that an attack may guess, or None.
        exact: Largest probability of recovering all labels, or None.
        epsilon: Largest label-DP budget over the whole game, or None.
    """

    accuracy: float | None = None
    exact: float | None = None
    epsilon: float | None = None

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read ``60%``, ``no-exact-recovery`` or ``epsilon<=1``.

        Raises:
            InputError: It is none of these.
        """
        if match := _ACCURACY.fullmatch(text.strip()):
            if not 0 < float(match[1]) < 100:
                raise InputError(f"--target {text}: a share of labels must lie between 0 % and 100 %, such as 60%.")
            return cls(accuracy=float(match[1]) / 100)
        if match := _EPSILON.fullmatch(text.strip()):
            return cls(epsilon=float(match[1]))
        if text.strip() in ("no-exact-recovery", "no exact recovery"):
            return cls(exact=0.05)
        raise InputError(
            f"--target {text!r}: expected a share of labels such as 60%, no-exact-recovery (at most 5 % of games), or "
            f"epsilon<=1."
        )

    def __str__(self) -> str:
        if self.accuracy is not None:
            return f"no attack above {self.accuracy:.1%} of labels"
        if self.exact is not None:
            return f"all labels recovered in at most {self.exact:.0%} of games"
        return f"label-DP with epsilon <= {self.epsilon:g} over the whole game"

    def certified(self, threat: ThreatModel, ceilings: Iterable[Ceiling]) -> bool:
        """Whether what is proved reaches the target."""
        if self.accuracy is not None:
            return any(ceiling.accuracy <= self.accuracy for ceiling in ceilings)
        if self.exact is not None:
            return any(ceiling.exact <= self.exact for ceiling in ceilings)
        return threat.label_delta == 0 and threat.label_epsilon <= (self.epsilon or 0.0)

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

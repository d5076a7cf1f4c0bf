"""What the adversary knows and may spend."""

from __future__ import annotations

from typing import Any

import attrs

from labelinf_core.contracts.effects import Effect, Unknown

__all__ = ["ThreatModel"]


@attrs.frozen(kw_only=True)
class ThreatModel:
    """What is public in every channel. Channels add their own facts.

    Attributes:
        n_records: N, the number of private labels, at least 1.
        n_classes: K, at least 2.
        prior: Share of every class, length K, sums to one. Treated as public: a defender should assume so.
        label_epsilon: Label-DP budget of everything released over the whole game (two label vectors that differ in
            one record); infinity when there is none.
        label_delta: The delta that goes with it.
        effects: What the stages between do, from the curator outward.
        groups: How many groups there are of every size, as pairs (records, groups), small ones first: labels of one
            group may depend on each other. Empty: not known.
        perfect: Share of the labels that a perfect model, which knows all else that tells of them, is right on; None:
            nothing is assumed.
        premise: What was declared, and could only be tried out, on which all that is certain rests; empty: nothing.
    """

    n_records: int = attrs.field(validator=attrs.validators.ge(1))
    n_classes: int = attrs.field(validator=attrs.validators.ge(2))
    prior: tuple[float, ...] = attrs.field()
    label_epsilon: float = float("inf")
    label_delta: float = 0.0
    effects: tuple[Effect[Any], ...] = ()
    groups: tuple[tuple[int, int], ...] = attrs.field(default=())
    perfect: float | None = attrs.field(
        default=None, validator=attrs.validators.optional([attrs.validators.ge(0), attrs.validators.le(1)])
    )
    premise: str = ""

    @groups.validator
    def _are_of_all_records(self, attribute: attrs.Attribute[Any], value: tuple[tuple[int, int], ...]) -> None:
        if value and (min(map(min, value)) < 1 or sum(size * count for size, count in value) != self.n_records):
            raise ValueError(f"groups={value} must hold {self.n_records} records in all, each group at least one.")

    @prior.validator
    def _is_a_distribution(self, attribute: attrs.Attribute[tuple[float, ...]], value: tuple[float, ...]) -> None:
        if len(value) != self.n_classes or min(value) < 0 or abs(sum(value) - 1) > 1e-9:
            raise ValueError(f"prior={value} must be {self.n_classes} shares that are not negative and sum to one.")

    @property
    def unsaid(self) -> tuple[str, ...]:
        """Stages that do not say what they do: nothing is promised behind them, and certified only by the channel."""
        return tuple(effect.stage for effect in self.effects if isinstance(effect, Unknown))

    @property
    def majority(self) -> int:
        """The most frequent class."""
        return max(range(self.n_classes), key=lambda k: self.prior[k])

    @property
    def baseline(self) -> float:
        """Accuracy of the majority guess, the most that is known before anything is released."""
        return self.prior[self.majority]

"""What is known of a soft label before it is recovered: which entries are free, and what the others have in common."""

from __future__ import annotations

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_gradients.game.gradient import LabelFamily

__all__ = ["AUTO", "BY_FAMILY", "MIXUP", "MIXUP_EQUAL", "ONE_HOT", "SMOOTHING", "Pattern", "patterns_for"]


@attrs.frozen(kw_only=True)
class Pattern:
    """A family of labels: ``excluded`` entries are free, the others are all zero or merely all equal.

    Attributes:
        name: As a user writes it.
        excluded: Size of the exclusion set S (Wang et al., ICLR 2024, eq. 5): 1 for one-hot and smoothing, 2 for mixup.
        zero: Whether the entries outside S are known to be zero; otherwise they are only known to be equal.
    """

    name: str
    excluded: int = attrs.field(validator=attrs.validators.ge(1))
    zero: bool

    @property
    def has_weight(self) -> bool:
        """Whether labels of the family differ in more than their classes."""
        return self.excluded > 1 or not self.zero

    @property
    def least_classes(self) -> int:
        """Fewest classes for which one label fits a generic gradient (labelinf theory, identifiability by counting)."""
        return self.excluded + (2 if self.zero else 3)

    def continuum_classes(self, *, scaled: bool = False) -> int:
        """Most classes for which *every* scale fits, so that nothing can be recovered.

        Args:
            scaled: The gradient is known up to a factor only: one more unknown.
        """
        return self.excluded + (0 if self.zero else 1) + scaled


ONE_HOT = Pattern(name="one-hot", excluded=1, zero=True)
SMOOTHING = Pattern(name="smoothing", excluded=1, zero=False)
MIXUP = Pattern(name="mixup", excluded=2, zero=True)
MIXUP_EQUAL = Pattern(name="mixup-equal", excluded=2, zero=False)  #: mixed and smoothed: the rest is only equal

AUTO = (
    ONE_HOT,
    SMOOTHING,
    MIXUP,
    MIXUP_EQUAL,
)  #: families in the order in which they are tried when the family is not known
BY_FAMILY = {LabelFamily.ONE_HOT: ONE_HOT, LabelFamily.SMOOTHING: SMOOTHING, LabelFamily.MIXUP: MIXUP}


def patterns_for(family: str | Pattern) -> tuple[Pattern, ...]:
    """Return the patterns to try for a family's name, ``"auto"`` or a pattern of one's own.

    Raises:
        InputError: No family has this name.
    """
    if isinstance(family, Pattern):
        return (family,)
    known = {pattern.name: (pattern,) for pattern in AUTO} | {"auto": AUTO}
    if family not in known:
        raise InputError(f"label family {family!r} is not known; choose one of {', '.join(known)}.")
    return known[family]

"""What a client does, as far as that was learnt, and in words."""

from __future__ import annotations

import math

import attrs

from labelinf_gradients.audit.moves import Optimiser

__all__ = ["NOTHING", "Conduct"]


@attrs.frozen(kw_only=True)
class Conduct:
    """What a client does.

    Attributes:
        known: Whether what it sent is explained.
        sign: -1 where it sends a change of its parameters, 1 where a gradient.
        factor: What the gradient is multiplied by, apart from the sign; NaN where that differs, or noise hides it.
        clip: Largest norm of what it sends, where it clips; infinity otherwise.
        by_record: Whether it clips every record's own gradient.
        smoothing: Of its labels.
        decay: Share of the parameters in every gradient.
        in_training: Whether its module is in training mode, where that makes a difference.
        precision: Format of its numbers.
        noise: Standard deviation of independent noise on an entry.
        kept: Share of the entries that it sends.
        silent: Share of the batches about which it sends nothing at all.
        levels: How many different values its entries have, as far as seen; 0 where they are not few, 1 for signs.
        steps: Local steps behind one update.
        about: Whether other numbers of steps explain it too.
        rate: Length of a step.
        optimiser: What takes them; None where an update is one gradient.
        or_else: What explains it as well.
        left: What this leaves unexplained: a share of an update, or standard errors of its noise.
        remarks: What is seen of a client that is not explained.
    """

    known: bool = True
    sign: int = 1
    factor: float = 1.0
    clip: float = math.inf
    by_record: bool = False
    smoothing: float = 0.0
    decay: float = 0.0
    in_training: bool = False
    precision: str = "float32"
    noise: float = 0.0
    kept: float = 1.0
    silent: float = 0.0
    levels: int = 0
    steps: int = 1
    about: bool = False
    rate: float = math.nan
    optimiser: Optimiser | None = None
    or_else: Optimiser | None = None
    left: float = 0.0
    remarks: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What it is, in words."""
        if not self.known:
            return "; ".join(("unknown: like nothing that was tried", *self.remarks))
        return ", ".join(part for part in (self._what, *self._details) if part)

    @property
    def _what(self) -> str:
        if self.optimiser is not None:
            return self._training
        what = f"the gradient of labels smoothed by {self.smoothing:.3g}" if self.smoothing else "the gradient"
        if self.levels == 1:
            return f"the signs of {what}"
        if math.isnan(self.factor):
            return f"{what} times a factor that {'noise hides' if self.noise else 'differs'}"
        vague = self.noise or self.levels or self.precision in ("float16", "bfloat16")
        factor = f"{self.sign * self.factor:.{2 if vague else 4}g}"
        return what if factor == "1" else f"{what} times {factor}"

    @property
    def _training(self) -> str:
        if self.optimiser is None:
            return ""
        steps = f"{'about ' * self.about}{self.steps} step{'s' * (self.steps > 1)}"
        who = self.optimiser.value + (f" (or {self.or_else.value})" if self.or_else else "")
        return f"what {steps} of {who} moved, rate {self.rate:.2g}"

    @property
    def _details(self) -> tuple[str, ...]:
        bits = math.ceil(math.log2(self.levels + 1)) if self.levels > 1 else 0
        half = self.precision in ("float16", "bfloat16") and not self.levels
        return (
            f"with weight decay {self.decay:.3g}" if self.decay else "",
            "in training mode" if self.in_training else "",
            f"{self.kept:.1%} of the entries" if self.kept < 1 else "",
            f"nothing at all about {self.silent:.0%} of the batches" if self.silent else "",
            f"rounded to {self.levels} different values (about {bits} bits), as far as they show" if bits else "",
            f"{'every record ' * self.by_record}clipped to {self.clip:.4g}" if math.isfinite(self.clip) else "",
            f"in noise of standard deviation {self.noise:.3g}, as far as that shows" if self.noise else "",
            f"in {self.precision}" if half else "",
        )


NOTHING = Conduct(
    known=False, precision="float64", remarks=("no last layer with a row for every class is sent",)
)  #: of a client on which most attacks cannot be played

"""What a recorded run gives away of planted labels: what the guesses of one attack, fixed beforehand, prove.

Void is what was not planted at random: labels that are not uniform, or that features alone guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs
import numpy as np
from scipy import special

from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.components import ABSTAIN
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.gate import unquoted
from labelinf_core.statistics.both_tails import both_tails_epsilon, both_tails_p_value
from labelinf_core.statistics.epsilon_bounds import BETA, label_dp_ceiling
from labelinf_core.statistics.proportions import p_value
from labelinf_split.attacks.published import METHODS, ModelCompletion
from labelinf_split.game.view import Labels, SplitAttack, SplitView

__all__ = ["SplitAudit", "audited"]

_POWER = 0.95  # against twice a claim, to pass it
_IMPROBABLE = 1e-3  # probability that a check calls an honest audit void


@attrs.frozen(kw_only=True)
class SplitAudit(AuditDecision):
    """The answer: guesses made, right ones, and those right of labels that were drawn afterwards (``placebo``).

    ``certified`` is the share of canaries whose labels gradients themselves prove, ``certificate`` what that is worth;
    ``failed`` says what broke, ``voids`` why this is no audit. ``epsilon`` is proved; ``power`` is how probably as many
    guesses refute a run that keeps labels as twice the ``claim`` allows.
    """

    attack: str
    n_canaries: int
    n_classes: int
    guesses: int = 0
    correct: int = 0
    placebo: int = 0
    certified: float = 0.0
    certificate: str = "none"
    failed: str = ""
    voids: tuple[str, ...] = ()
    claim: float | None = None
    epsilon: float = 0.0
    power: float = 0.0

    @property
    def word(self) -> AuditWord:
        """The answer in a word."""
        if self.voids:
            return AuditWord.VOID
        if self.failed:
            return AuditWord.BROKEN
        return AuditWord.LEAKS if self.epsilon > 0 else AuditWord.UNSHOWN

    @property
    def claimed(self) -> AuditWord | None:
        """What became of the claim; None without one."""
        if self.claim is None or self.voids or self.failed:
            return None
        if self.epsilon > self.claim:
            return AuditWord.REFUTED
        return AuditWord.WITHSTOOD if self.epsilon > 0 and self.power >= _POWER else AuditWord.UNSHOWN


def audited(
    view: SplitView, labels: Labels, attacks: Mapping[str, SplitAttack], *, claim: float | None, seed: int
) -> SplitAudit:
    """Play attacks of which one counts, and say what its guesses prove.

    Of ``attacks``, by name, the first counts, unless another parts most steps into what lies on a line and what does
    not, which is seen without any label. ``labels`` are in the order of ``view.targets``.

    Raises:
        InputError: The first attack cannot be played here.
    """
    n_classes, first = view.threat.n_classes, next(iter(attacks))
    if lacks := attacks[first].unsupported_reason(view.threat):
        raise InputError(f"{first} cannot be played: it {lacks}.")
    found = SplitAudit(attack=first, n_canaries=labels.size, n_classes=n_classes, claim=claim)
    fitting = {name: each for name, each in attacks.items() if not each.unsupported_reason(view.threat)}
    try:
        with np.errstate(all="ignore"):
            voids = tuple(_voids(view, labels))
            guesses = {name: each.run(view, np.random.default_rng(seed)) for name, each in fitting.items()}
    except Exception as error:  # what breaks on a strange file has shown nothing, and says so
        return attrs.evolve(found, failed=unquoted(error))
    counted = next((name for name, each in guesses.items() if each.evidence.get("steps_parted", 0) > 0.5), first)
    guess, redrawn = guesses[counted], np.random.default_rng([seed, 1]).integers(0, n_classes, labels.size)
    made, correct = int((guess.labels != ABSTAIN).sum()), int((guess.labels == labels).sum())
    return attrs.evolve(
        found,
        attack=counted,
        voids=voids,
        guesses=made,
        correct=correct,
        placebo=int((guess.labels == redrawn).sum()),
        certified=float(guess.evidence.get("certified", 0.0)),
        certificate=str(guess.evidence.get("certificate", "none")),
        epsilon=both_tails_epsilon(correct, made, n_classes=n_classes) if made and not voids else 0.0,
        power=0.0 if claim is None else _power(claim, made, n_classes),
    )


def _power(claim: float, made: int, n_classes: int) -> float:
    for right in range(made // n_classes, made + 1) if made else ():
        if both_tails_p_value(right, made, claim, n_classes=n_classes) <= BETA:
            return p_value(right, made, label_dp_ceiling(2 * claim, n_classes))
    return 0.0


def _voids(view: SplitView, labels: Labels) -> Iterator[str]:
    """Yield why the labels are not what every number takes them for."""
    n_classes, expected = view.threat.n_classes, labels.size / view.threat.n_classes
    square = float((np.square(np.bincount(labels, minlength=n_classes) - expected) / expected).sum())
    if (p := float(special.chdtrc(n_classes - 1, square))) <= _IMPROBABLE:
        yield f"the canaries' labels are not uniform over the classes (p = {p:.1g})"
    for method in METHODS if view.threat.run.shots else ():
        guess = ModelCompletion(on="features", method=method).run(view, np.random.default_rng(0))
        right = int((guess.labels == labels).sum())
        if (p := p_value(right, labels.size, 1 / n_classes)) <= _IMPROBABLE / len(METHODS):
            yield f"features alone guess {right} of {labels.size} canaries by {method} (p = {p:.1g}): not drawn"

"""What a recorded run gives away of planted labels: what the guesses of one attack, fixed beforehand, prove.

Void is what was not planted at random: labels that are not uniform, or that are guessed without any gradient, by the
attack that counts or from features alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.components import ABSTAIN, Guess
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.gate import unquoted
from labelinf_core.statistics.both_tails import both_tails_epsilon, both_tails_p_value
from labelinf_core.statistics.epsilon_bounds import BETA, label_dp_ceiling
from labelinf_core.statistics.proportions import p_value
from labelinf_split.attacks.logits import CutArgmin
from labelinf_split.attacks.published import METHODS, ModelCompletion
from labelinf_split.attacks.solved import SURE
from labelinf_split.game.view import Labels, Side, SplitAttack, SplitView

__all__ = ["SplitAudit", "audited"]

_BROKE = "broke"
_PREMISES = "An id stands for two people, labels change between passes, or the top is another"
_POWER = 0.95  # against twice a claim, to pass it
_IMPROBABLE = 1e-3  # probability that a check calls an honest audit void


@attrs.frozen(kw_only=True)
class SplitAudit(AuditDecision):
    """The answer: guesses made, right ones, and those right of labels that were drawn afterwards (``placebo``).

    ``certified`` is the share of canaries whose labels gradients themselves prove, ``certificate`` what that is worth;
    ``failed`` says what broke, ``voids`` why this is no audit, ``limits`` why no claim passes. ``epsilon`` is proved;
    ``power`` is how probably as many guesses refute a run that keeps labels as twice the ``claim`` allows.
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
    limits: tuple[str, ...] = ()
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
        passes = self.epsilon > 0 and self.power >= _POWER and not self.limits
        return AuditWord.WITHSTOOD if passes else AuditWord.UNSHOWN


def audited(
    view: SplitView, labels: Labels, name: str, attack: SplitAttack, *, claim: float | None, seed: int
) -> SplitAudit:
    """Play the attack that counts, and say what its guesses prove of ``labels``, in the order of ``view.targets``.

    Raises:
        InputError: It cannot be played here.
    """
    n_classes = view.threat.n_classes
    if lacks := attack.unsupported_reason(view.threat):
        raise InputError(f"{name} cannot be played: it {lacks}.")
    guess, redrawn = _played(attack, view, seed), np.random.default_rng([seed, 1]).integers(0, n_classes, labels.size)
    voids = tuple(_voids(view, labels, name, attack))
    made, correct = int((guess.labels != ABSTAIN).sum()), int((guess.labels == labels).sum())
    certified = float(guess.evidence.get("certified", 0.0))
    wrong = int(((np.asarray(guess.confidence) >= SURE) & (guess.labels != labels)).sum()) if certified else 0
    refuted = (f"{wrong} labels that seemed certified are not those that were planted. {_PREMISES}",) if wrong else ()
    return SplitAudit(
        attack=name,
        n_canaries=labels.size,
        n_classes=n_classes,
        claim=claim,
        voids=voids,
        limits=(*refuted, *_limits(view)),
        guesses=made,
        correct=correct,
        placebo=int((guess.labels == redrawn).sum()),
        certified=0.0 if wrong else certified,
        certificate="none" if wrong else str(guess.evidence.get("certificate", "none")),
        failed=str(guess.evidence.get(_BROKE, "")),
        epsilon=both_tails_epsilon(correct, made, n_classes=n_classes) if made and not voids else 0.0,
        power=0.0 if claim is None else _power(claim, made, n_classes),
    )


def _played(attack: SplitAttack, view: SplitView, seed: int) -> Guess:
    """Return what is guessed: nothing by an attack that broke, with the reason."""
    try:
        with np.errstate(all="ignore"):
            return attack.run(view, np.random.default_rng(seed))
    except Exception as error:
        nothing = np.full(view.targets.size, ABSTAIN)
        return Guess(labels=nothing, confidence=np.zeros(nothing.size), evidence={_BROKE: unquoted(error)})


def _power(claim: float, made: int, n_classes: int) -> float:
    rights = range(made // n_classes, made + 1) if made else ()
    refuting = (right for right in rights if both_tails_p_value(right, made, claim, n_classes=n_classes) <= BETA)
    return next((p_value(right, made, label_dp_ceiling(2 * claim, n_classes)) for right in refuting), 0.0)


def _uniform(labels: Labels, n_classes: int) -> float:
    """Return how probably uniform labels are as uneven, by simulation: few of many classes follow no chi-square."""
    drawn = np.random.default_rng(0).multinomial(labels.size, [1 / n_classes] * n_classes, size=5000)
    uneven = np.square(drawn).sum(axis=1) >= np.square(np.bincount(labels)).sum()
    return float((1 + uneven.sum()) / (1 + uneven.size))


def _limits(view: SplitView) -> Iterator[str]:
    """Yield what keeps attacks from reading every label, as a limit of the audit and no merit of the run."""
    n_classes = view.threat.n_classes
    if without := sorted({*range(n_classes)} - {*view.shots[1].tolist()}) if view.threat.nameless else []:
        yield f"No label is known of class {', '.join(str(k + 1) for k in without)} of {n_classes}, in their order"


def _voids(view: SplitView, labels: Labels, counted: str, attack: SplitAttack) -> Iterator[str]:
    """Yield why the labels are not what every number takes them for.

    Controls see no gradients, and the embeddings that were sent before a record's own label was ever used.
    """
    n_classes = view.threat.n_classes
    if (p := _uniform(labels, n_classes)) <= _IMPROBABLE:
        yield f"the canaries' labels are not uniform over the classes (p = {p:.1g})"
    first = np.broadcast_to(view.embeddings[:1], view.embeddings.shape)
    alone = attrs.evolve(view.threat, run=attrs.evolve(view.threat.run, label_features=False))
    blank = attrs.evolve(view, threat=alone, embeddings=first, gradients=np.zeros(first.shape))
    controls: dict[SplitAttack, str] = {attack: f"by {counted} without gradients"}
    if view.threat.run.top is Side.NONE:
        controls[CutArgmin()] = "from embeddings alone"
    for method in METHODS if view.threat.run.shots else ():
        controls[ModelCompletion(on="features", method=method)] = f"from features alone by {method}"
    for control, name in controls.items():
        guess = _played(control, blank, 0)
        if _BROKE in guess.evidence:
            yield f"what is guessed {name} is not known: {guess.evidence[_BROKE]}"
        made, right = int((guess.labels != ABSTAIN).sum()), int((guess.labels == labels).sum())
        if (p := both_tails_p_value(right, made, 0.0, n_classes=n_classes)) <= _IMPROBABLE / len(controls):
            yield f"{right} of {made} canaries are guessed {name} (p = {p:.1g}): not drawn"

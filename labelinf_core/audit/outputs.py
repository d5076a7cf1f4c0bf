"""Audits a model that exists already: its predictions on canaries, the labels that were planted, and nothing else.

Every attack of the model-output channel that the declared view allows is played, and again on the placebo: planted
labels redrawn, losses recomputed. Guesses of an attack that passes the placebo are counted against chance and, where an
epsilon is claimed, against its ceiling. The largest epsilon that any of them proves is the audit's answer; beside it
stands the most that so many canaries could have proved.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import special

from labelinf_core import auditing
from labelinf_core.audit.output_files import Planted
from labelinf_core.channels.output import OutputAttack, OutputGuess, OutputOracle, OutputThreat, References, Release
from labelinf_core.channels.output_channel import ranked
from labelinf_core.descriptors import Kind
from labelinf_core.errors import InputError, QueryRefusedError
from labelinf_core.evaluator.placebo import LEVEL
from labelinf_core.evaluator.statistics import clopper_pearson
from labelinf_core.guarantees import Interval
from labelinf_core.specs import Builder

__all__ = ["Audit", "Finding", "Word", "audit_outputs", "output_attacks"]

Labels = NDArray[np.intp]


class Word(enum.Enum):
    """What an audit says of one attack."""

    REFUTES = "refutes the claim"
    """It guesses more than the claimed epsilon allows."""
    LEAKS = "leaks"
    """It beats chance."""
    NOTHING = "nothing found"
    LEAKY = "leaky: void"
    """It also guesses labels that were redrawn afterwards."""
    VIEW_REVEALS = "view reveals label"
    """The same, and the declared view contains a loss computed with the label."""
    REFUSED = "not played"


@attrs.frozen(kw_only=True)
class Finding:
    """What one attack found.

    Attributes:
        attack: Its spec.
        word: The short answer.
        refusal: Why it was not played; empty when it was.
        correct: Correct guesses.
        guesses: Guesses made; the rest are abstentions.
        accuracy: Share of the guesses that are correct, with its interval.
        p_chance: Exact p-value against 1/K, Holm-adjusted over the attacks.
        p_ceiling: Exact p-value of exceeding the claimed epsilon's ceiling, Holm-adjusted; 1 without a claim.
        placebo: Correct guesses of the redrawn labels.
        p_placebo: Exact p-value of that, Holm-adjusted.
        epsilon: What the guesses prove, at error probability ``auditing.BETA`` over all attacks.
    """

    attack: str
    word: Word
    refusal: str = ""
    correct: int = 0
    guesses: int = 0
    accuracy: Interval | None = None
    p_chance: float = 1.0
    p_ceiling: float = 1.0
    placebo: int = 0
    p_placebo: float = 1.0
    epsilon: auditing.EpsilonBound | None = None


@attrs.frozen(kw_only=True)
class Audit:
    """The answer.

    Attributes:
        n_canaries: Planted labels.
        n_classes: K.
        claimed: The epsilon that was claimed; infinity without a claim.
        delta: The delta that goes with it.
        ceiling: What the claim allows any attack to expect.
        provable: The most that so many canaries could have proved, one attack played alone.
        findings: One for every attack.
        notes: Doubts about the planted labels themselves.
    """

    n_canaries: int
    n_classes: int
    claimed: float
    delta: float
    ceiling: float
    provable: float
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def epsilon(self) -> float:
        """The largest epsilon proved by an attack that passes the placebo."""
        honest = [f.epsilon.epsilon for f in self.findings if f.word not in _VOID and f.epsilon]
        return max(honest, default=0.0)

    @property
    def refuted(self) -> bool:
        """Whether the claim is."""
        return any(finding.word is Word.REFUTES for finding in self.findings)

    @property
    def leaks(self) -> bool:
        """Whether an attack that passes the placebo beats chance."""
        return any(finding.word in (Word.LEAKS, Word.REFUTES) for finding in self.findings)


_VOID = (Word.LEAKY, Word.VIEW_REVEALS)


@attrs.frozen(kw_only=True)
class _Bout:
    """One attack as it was played."""

    attack: str
    ranked: NDArray[np.bool_]
    placebo: NDArray[np.bool_]


def output_attacks(builder: Builder) -> tuple[str, ...]:
    """Return the names of all loaded attacks of this channel."""
    catalogue = builder.host.catalogue(Kind.ATTACK)
    return tuple(item.descriptor.name for item in catalogue if item.descriptor.channel == "output")


def audit_outputs(
    planted: Planted,
    builder: Builder,
    *,
    attacks: Sequence[str] = (),
    claimed: float = math.inf,
    delta: float = 0.0,
    rng: np.random.Generator,
) -> Audit:
    """Play attacks against predictions and say what they prove.

    Args:
        planted: What is known.
        builder: Builds the attacks.
        attacks: Their specs; all of this channel when empty.
        claimed: The epsilon of label-DP that is to be tested, if any.
        delta: The delta that goes with it; two classes only.
        rng: For the redrawn labels, and for the attacks.

    Raises:
        InputError: There is no such attack, or ``delta`` is claimed for more than two classes.
    """
    n_classes = len(planted.class_names)
    if delta > 0 and n_classes > 2:
        raise InputError(f"delta={delta:g} must be 0 for {n_classes} classes: the bound is proved for two.")
    threat = OutputThreat(
        n_records=planted.labels.size, n_classes=n_classes, prior=(1 / n_classes,) * n_classes, view=planted.view
    )
    built = {spec: builder.build(Kind.ATTACK, spec, "--attack") for spec in attacks or output_attacks(builder)}
    refused = {spec: attack.refusal(threat) for spec, attack in built.items()}
    # Streams of their own: the labels may have been planted with the very generator that is passed in.
    streams = dict(zip(built, rng.spawn(len(built)), strict=True))
    bouts = [_play(spec, attack, planted, threat, streams[spec]) for spec, attack in built.items() if not refused[spec]]
    found = {item.attack: item for item in _judge(bouts, threat, claimed, delta)}
    return Audit(
        n_canaries=threat.n_records,
        n_classes=n_classes,
        claimed=claimed,
        delta=delta,
        ceiling=auditing.label_dp_ceiling(claimed, n_classes, delta),
        provable=auditing.provable_epsilon(threat.n_records, n_classes),
        findings=tuple(
            found.get(spec, Finding(attack=spec, word=Word.REFUSED, refusal=refused[spec])) for spec in built
        ),
        notes=tuple(_doubts(planted)),
    )


def _play(spec: str, attack: object, planted: Planted, threat: OutputThreat, rng: np.random.Generator) -> _Bout:
    if not isinstance(attack, OutputAttack):
        raise InputError(f"attack {spec!r} does not belong to the output channel.")
    redrawn = rng.integers(0, threat.n_classes, threat.n_records, dtype=np.intp)
    sham = planted.release
    if sham.losses is not None:
        sham = attrs.evolve(sham, losses=-sham.log_probabilities[np.arange(redrawn.size), redrawn])
    return _Bout(
        attack=spec,
        ranked=ranked(_guess(attack, planted.release, planted.references, threat, rng), planted.labels),
        placebo=ranked(_guess(attack, sham, planted.references, threat, rng), redrawn),
    )


def _guess(
    attack: OutputAttack,
    release: Release,
    references: References | None,
    threat: OutputThreat,
    rng: np.random.Generator,
) -> OutputGuess:
    def known() -> References:
        if references is None:
            raise QueryRefusedError("the declared view has no reference models.")
        return references

    return attack.run(OutputOracle(threat, release, known), rng)


def _judge(bouts: Sequence[_Bout], threat: OutputThreat, claimed: float, delta: float) -> list[Finding]:
    """Count every bout, correcting for there being several."""
    chance = 1 / threat.n_classes
    ceiling = auditing.label_dp_ceiling(claimed, threat.n_classes, delta)

    def adjusted(which: Sequence[NDArray[np.bool_]], probability: float) -> tuple[float, ...]:
        return auditing.holm([auditing.p_value(int(item.sum()), item.size, probability) for item in which])

    guesses, shams = [bout.ranked for bout in bouts], [bout.placebo for bout in bouts]
    p_values = zip(adjusted(guesses, chance), adjusted(guesses, ceiling), adjusted(shams, chance), strict=True)
    findings = []
    for bout, (p_chance, p_ceiling, p_placebo) in zip(bouts, p_values, strict=True):
        bound = auditing.one_run_epsilon(
            bout.ranked,
            n_canaries=threat.n_records,
            n_classes=threat.n_classes,
            beta=auditing.BETA / len(bouts),
            delta=delta,
        )
        correct, made = int(bout.ranked.sum()), bout.ranked.size
        finding = Finding(
            attack=bout.attack,
            word=_word(p_placebo, bound.epsilon > claimed, p_chance, threat),
            correct=correct,
            guesses=made,
            accuracy=clopper_pearson(correct, made) if made else None,
            p_chance=p_chance,
            p_ceiling=p_ceiling,
            placebo=int(bout.placebo.sum()),
            p_placebo=p_placebo,
            epsilon=bound,
        )
        findings.append(finding)
    return findings


def _word(p_placebo: float, refuted: bool, p_chance: float, threat: OutputThreat) -> Word:
    if p_placebo <= LEVEL:
        return Word.VIEW_REVEALS if threat.view.reveals_label else Word.LEAKY
    if refuted:
        return Word.REFUTES
    return Word.LEAKS if p_chance <= LEVEL else Word.NOTHING


def _doubts(planted: Planted) -> list[str]:
    """Say why the planted labels may not be what every number here takes them for."""
    counts = np.bincount(planted.labels, minlength=len(planted.class_names))
    expected = planted.labels.size / counts.size
    p_uniform = float(special.chdtrc(counts.size - 1, ((counts - expected) ** 2 / expected).sum()))
    notes = []
    if p_uniform <= LEVEL:
        notes.append(
            f"the planted labels are not uniform over the classes (p = {p_uniform:.1g}); they must be drawn so."
        )
    if planted.references is not None:
        said = planted.references.log_probabilities.mean(axis=0).argmax(axis=1)
        correct = int((said == planted.labels).sum())
        p_guessable = auditing.p_value(correct, said.size, 1 / counts.size)
        if p_guessable <= LEVEL:
            notes.append(
                f"the reference models alone, which never saw them, guess {correct} of {said.size} planted labels "
                f"(p = {p_guessable:.1g}): the labels follow from the features, or the references were not independent."
            )
    return notes
